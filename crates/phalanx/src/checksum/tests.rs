use super::Sum;

/// The checksum of bytes at once.
fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    let mut sum = Sum::new(seed);
    sum.update(bytes);
    sum.finish()
}

/// `docs/snapshot-format.md`, step by step, with the secret that it prints.
mod described {
    /// The 192 bytes of the secret, as the document has them.
    pub(super) fn secret() -> Vec<u8> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/snapshot-format.md");
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().skip_while(|line| !line.starts_with("The *secret* is")).skip(1);
        let digits = lines.skip_while(|line| line.is_empty()).take_while(|line| line.starts_with("    "));
        let digits: String = digits.flat_map(str::split_whitespace).collect();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let secret: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        assert_eq!(secret.len(), 192);
        secret
    }

    const P32: [u64; 4] = [0, 0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d];
    const P64: [u64; 6] = [
        0,
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];

    fn word(bytes: &[u8], at: usize) -> u64 {
        (0..8).fold(0, |word, byte| word | u64::from(bytes[at + byte]) << (8 * byte))
    }
    fn half(bytes: &[u8], at: usize) -> u64 {
        (0..4).fold(0, |word, byte| word | u64::from(bytes[at + byte]) << (8 * byte))
    }
    fn fold(a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    }
    fn finish(x: u64) -> u64 {
        let x = (x ^ x >> 37).wrapping_mul(0x1656_6791_9e37_79f9);
        x ^ x >> 32
    }
    fn old_finish(x: u64) -> u64 {
        let x = (x ^ x >> 33).wrapping_mul(P64[2]);
        let x = (x ^ x >> 29).wrapping_mul(P64[3]);
        x ^ x >> 32
    }

    pub(super) fn checksum(secret: &[u8], seed: u64, bytes: &[u8]) -> u64 {
        let (n, len) = (bytes.len(), bytes.len() as u64);
        let mix = |at: usize, key: usize| {
            let a = word(bytes, at) ^ word(secret, key).wrapping_add(seed);
            fold(a, word(bytes, at + 8) ^ word(secret, key + 8).wrapping_sub(seed))
        };
        match n {
            0 => old_finish(seed ^ word(secret, 56) ^ word(secret, 64)),
            1..=3 => {
                let (first, middle, last) = (bytes[0], bytes[n / 2], bytes[n - 1]);
                let joined = u64::from(last) | len << 8 | u64::from(first) << 16 | u64::from(middle) << 24;
                old_finish(joined ^ (half(secret, 0) ^ half(secret, 4)).wrapping_add(seed))
            }
            4..=8 => {
                let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
                let joined = half(bytes, n - 4) | half(bytes, 0) << 32;
                let x = joined ^ (word(secret, 8) ^ word(secret, 16)).wrapping_sub(seed);
                let x = (x ^ x.rotate_left(49) ^ x.rotate_left(24)).wrapping_mul(0x9fb2_1c65_1e98_df25);
                let x = (x ^ (x >> 35).wrapping_add(len)).wrapping_mul(0x9fb2_1c65_1e98_df25);
                x ^ x >> 28
            }
            9..=16 => {
                let a = word(bytes, 0) ^ (word(secret, 24) ^ word(secret, 32)).wrapping_add(seed);
                let b = word(bytes, n - 8) ^ (word(secret, 40) ^ word(secret, 48)).wrapping_sub(seed);
                finish(len.wrapping_add(a.swap_bytes()).wrapping_add(b).wrapping_add(fold(a, b)))
            }
            17..=128 => {
                let pairs = (n - 1) / 32 + 1;
                let both = |i: usize| mix(16 * i, 32 * i).wrapping_add(mix(n - 16 - 16 * i, 32 * i + 16));
                finish((0..pairs).map(both).fold(len.wrapping_mul(P64[1]), u64::wrapping_add))
            }
            129..=240 => {
                let first = (0..8).map(|i| mix(16 * i, 16 * i));
                let x = finish(first.fold(len.wrapping_mul(P64[1]), u64::wrapping_add));
                let rest = (8..n / 16).map(|i| mix(16 * i, 16 * (i - 8) + 3));
                finish(rest.fold(x, u64::wrapping_add).wrapping_add(mix(n - 16, 119)))
            }
            _ => long(secret, seed, bytes),
        }
    }

    fn long(secret: &[u8], seed: u64, bytes: &[u8]) -> u64 {
        let n = bytes.len();
        let mut key = Vec::new();
        for at in (0..192).step_by(16) {
            key.extend(word(secret, at).wrapping_add(seed).to_le_bytes());
            key.extend(word(secret, at + 8).wrapping_sub(seed).to_le_bytes());
        }
        let mut lanes = [P32[3], P64[1], P64[2], P64[3], P64[4], P32[2], P64[5], P32[1]];
        let stripe = |lanes: &mut [u64; 8], from: usize, key_at: usize| {
            for i in 0..8 {
                let value = word(bytes, from + 8 * i);
                let keyed = value ^ word(&key, key_at + 8 * i);
                lanes[i ^ 1] = lanes[i ^ 1].wrapping_add(value);
                lanes[i] = lanes[i].wrapping_add((keyed & 0xffff_ffff) * (keyed >> 32));
            }
        };
        let stripes = (n - 1) / 64;
        for at in 0..stripes {
            stripe(&mut lanes, 64 * at, 8 * (at % 16));
            if at % 16 == 15 {
                for (i, lane) in lanes.iter_mut().enumerate() {
                    *lane = (*lane ^ *lane >> 47 ^ word(&key, 128 + 8 * i)).wrapping_mul(P32[1]);
                }
            }
        }
        stripe(&mut lanes, n - 64, 121);
        let pairs = (0..4)
            .map(|i| fold(lanes[2 * i] ^ word(&key, 11 + 16 * i), lanes[2 * i + 1] ^ word(&key, 11 + 16 * i + 8)));
        finish(pairs.fold((n as u64).wrapping_mul(P64[1]), u64::wrapping_add))
    }
}

fn noise(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(i).wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

#[test]
fn every_length_and_seed_has_the_checksum_that_is_described() {
    let (secret, bytes) = (described::secret(), noise(9000));
    for len in (0..1300).chain([2047, 2048, 2049, 4096, 5000, 8191, 8192, 8193]) {
        for seed in [0, 1, u64::MAX, (len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)] {
            let bytes = &bytes[len % 33..][..len];
            assert_eq!(checksum(seed, bytes), described::checksum(&secret, seed, bytes), "{len} bytes, seed {seed}");
            #[cfg(feature = "snapshot")]
            assert_eq!(super::checksum(seed, bytes), checksum(seed, bytes), "{len} bytes, seed {seed}");
        }
    }
}

#[test]
fn the_checksum_is_that_of_the_reference_implementation() {
    let sanity: Vec<u8> = {
        let mut state = 2_654_435_761_u64;
        let step = |state: &mut u64| {
            let byte = (*state >> 56) as u8;
            *state = state.wrapping_mul(11_400_714_785_074_694_797);
            byte
        };
        (0..2367).map(|_| step(&mut state)).collect()
    };
    let seed = 11_400_714_785_074_694_797;
    for (len, plain, seeded) in REFERENCE {
        assert_eq!(checksum(0, &sanity[..len]), plain, "{len} bytes");
        assert_eq!(checksum(seed, &sanity[..len]), seeded, "{len} bytes with a seed");
    }
}

/// What `XXH3_64bits_withSeed` of xxHash 0.8.4 returns: the length, the result with seed 0, the result with another seed.
const REFERENCE: [(usize, u64, u64); 13] = [
    (0, 0x2d06_8005_38d3_94c2, 0xa8a6_b918_b2f0_364a),
    (1, 0xc44b_dff4_074e_ecdb, 0x032b_e332_dd76_6ef8),
    (6, 0x27b5_6a84_cd2d_7325, 0x8458_9c11_6ab5_9ab9),
    (12, 0xa713_daf0_dfbb_77e7, 0xe730_3e1b_2336_de0e),
    (24, 0xa3fe_70bf_9d35_10eb, 0x850e_80fc_35bd_d690),
    (48, 0x397d_a259_ecba_1f11, 0xadc2_cbaa_44ac_c616),
    (80, 0xbcde_fbbb_2c47_c90a, 0xc6dd_0cb6_9953_2e73),
    (195, 0xcd94_217e_e362_ec3a, 0xba68_003d_370c_b3d9),
    (403, 0xcdeb_804d_65c6_dea4, 0x6259_f6ec_fd64_43fd),
    (512, 0x617e_4959_9013_cb6b, 0x3ce4_57de_14c2_7708),
    (2048, 0xdd59_e2c3_a5f0_38e0, 0x66f8_1670_669a_babc),
    (2240, 0x6e73_a905_39cf_2948, 0x757b_a848_7d1b_5247),
    (2367, 0xcb37_aeb9_e5d3_61ed, 0xd2db_3415_b942_b42a),
];

#[test]
fn every_bit_every_length_and_the_seed_change_the_checksum() {
    for len in [1, 7, 16, 100, 200, 700] {
        let bytes = noise(len);
        let sum = checksum(7, &bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(checksum(7, &other), sum, "bit {bit} of {len} bytes");
        }
        assert_ne!(checksum(8, &bytes), sum, "{len} bytes");
    }
    let mut sums: Vec<u64> = (0..1000).map(|len| checksum(7, &vec![0; len])).collect();
    sums.sort_unstable();
    sums.dedup();
    assert_eq!(sums.len(), 1000);
}

#[test]
fn pieces_make_no_difference() {
    let bytes = noise(1400);
    for (one, two) in (0..300).flat_map(|one| [0, 1, 63, 64, 65, 255, 256, 257, 1024].map(|two| (one, one + two))) {
        let mut sum = Sum::new(3);
        sum.update(&bytes[..one]);
        sum.update(&bytes[one..two]);
        sum.update(&bytes[two..]);
        #[cfg(feature = "snapshot")]
        assert_eq!(sum.len(), 1400);
        assert_eq!(sum.finish(), checksum(3, &bytes));
    }
}

#[test]
fn pieces_of_several_blocks_make_no_difference() {
    let bytes = noise(10_000);
    let ends = [0, 1, 64, 960, 1000, 1023, 1024, 1025, 1088, 2047, 2048, 2049, 3072, 4000];
    for (one, more) in ends.iter().flat_map(|one| ends.map(|more| (*one, more))) {
        for len in [0, 1, 1023, 1024, 1025].map(|rest| one + more + rest) {
            let mut sum = Sum::new(3);
            sum.update(&bytes[..one]);
            sum.update(&bytes[one..one + more]);
            sum.update(&bytes[one + more..len]);
            assert_eq!(sum.finish(), checksum(3, &bytes[..len]), "{one}, {more} of {len} bytes");
        }
    }
}

#[test]
fn two_strings_in_a_row_are_told_from_others() {
    let sum = |strings: &[&[u8]]| {
        let mut sum = Sum::default();
        strings.iter().for_each(|string| sum.add(string));
        sum.finish()
    };
    let sums = [sum(&[b"ab", b"c"]), sum(&[b"a", b"bc"]), sum(&[b"abc", b""]), sum(&[b"", b"abc"]), sum(&[b"abc"])];
    assert!((0..5).all(|a| (0..a).all(|b| sums[a] != sums[b])), "{sums:x?}");
}

/// A sum that is linear in its words lets small changes to words at equal distances cancel. So did one of eight lanes of
/// additions, by `+1, -1, -2 << 32, +1 << 32` in four words that were 64 bytes apart.
#[test]
fn small_changes_at_equal_distances_do_not_cancel() {
    let changes: [i64; 9] = [0, 1, -1, 2, -2, 1 << 32, -1 << 32, 2 << 32, -2 << 32];
    // Columns as worlds have them: zeros, whole numbers, floats, noise.
    let columns = (0..4).map(|kind| -> Vec<u8> {
        let word = |i: u64| match kind {
            0 => 0,
            1 => i,
            2 => u64::from((i as f32).to_bits()) | u64::from((i as f32 / 2.0).to_bits()) << 32,
            _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9),
        };
        (0..400).flat_map(|i| word(i).to_le_bytes()).collect()
    });
    let mut guesses = 0;
    for column in columns {
        // In words: 8 are the 64 bytes of a stripe, 128 a block of the hash.
        for (distance, first, len) in [(8, 0, 40), (8, 3, 47), (8, 120, 160), (1, 5, 35), (128, 2, 400)] {
            let whole = checksum(1, &column[..len * 8]);
            for guess in 1..changes.len().pow(4) {
                let mut bytes = column[..len * 8].to_vec();
                for i in 0..4 {
                    let word = &mut bytes.as_chunks_mut::<8>().0[first + i * distance];
                    let change = changes[guess / changes.len().pow(i as u32) % changes.len()];
                    *word = u64::from_le_bytes(*word).wrapping_add(change as u64).to_le_bytes();
                }
                assert_ne!(checksum(1, &bytes), whole, "guess {guess}, words {distance} apart, from {first}");
                guesses += 1;
            }
        }
    }
    assert_eq!(guesses, 4 * 5 * 6560);
}
