use super::*;
use alloc::string::ToString;

/// The textbook formulas for 1,000 entities: the size, the bytes of the linear store, then the bytes of the sparse set
/// at utilisations of 0.1 to 1.0.
#[rustfmt::skip]
const TABLE: [(u64, u64, [u64; 10]); 16] = [
    (  8,   8125, [ 8800,  9600, 10400, 11200, 12000, 12800, 13600,  14400,  15200,  16000]),
    ( 16,  16125, [ 9600, 11200, 12800, 14400, 16000, 17600, 19200,  20800,  22400,  24000]),
    ( 24,  24125, [10400, 12800, 15200, 17600, 20000, 22400, 24800,  27200,  29600,  32000]),
    ( 32,  32125, [11200, 14400, 17600, 20800, 24000, 27200, 30400,  33600,  36800,  40000]),
    ( 40,  40125, [12000, 16000, 20000, 24000, 28000, 32000, 36000,  40000,  44000,  48000]),
    ( 48,  48125, [12800, 17600, 22400, 27200, 32000, 36800, 41600,  46400,  51200,  56000]),
    ( 56,  56125, [13600, 19200, 24800, 30400, 36000, 41600, 47200,  52800,  58400,  64000]),
    ( 64,  64125, [14400, 20800, 27200, 33600, 40000, 46400, 52800,  59200,  65600,  72000]),
    ( 72,  72125, [15200, 22400, 29600, 36800, 44000, 51200, 58400,  65600,  72800,  80000]),
    ( 80,  80125, [16000, 24000, 32000, 40000, 48000, 56000, 64000,  72000,  80000,  88000]),
    ( 88,  88125, [16800, 25600, 34400, 43200, 52000, 60800, 69600,  78400,  87200,  96000]),
    ( 96,  96125, [17600, 27200, 36800, 46400, 56000, 65600, 75200,  84800,  94400, 104000]),
    (104, 104125, [18400, 28800, 39200, 49600, 60000, 70400, 80800,  91200, 101600, 112000]),
    (112, 112125, [19200, 30400, 41600, 52800, 64000, 75200, 86400,  97600, 108800, 120000]),
    (120, 120125, [20000, 32000, 44000, 56000, 68000, 80000, 92000, 104000, 116000, 128000]),
    (128, 128125, [20800, 33600, 46400, 59200, 72000, 84800, 97600, 110400, 123200, 136000]),
];

/// By row of the table, the number of tenths at which the sparse set is cheaper than the linear store.
const SPARSE_WINS: [usize; 16] = [0, 5, 6, 7, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9];

/// The same where the linear store spends a byte on each flag, `(C + 1)·N` bytes in all.
const SPARSE_WINS_BYTES: [usize; 16] = [1, 5, 7, 7, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 9, 9];

fn cells() -> impl Iterator<Item = (usize, usize, Model)> {
    (0..16).flat_map(|row| {
        (0..10).map(move |column| {
            let model = Model::new(TABLE[row].0, 1000, (column + 1) as f64 / 10.0).unwrap();
            (row, column, model)
        })
    })
}

#[test]
fn every_cell_follows_the_textbook_formulas() {
    let mut seen = 0;
    for (row, column, model) in cells() {
        let (size, linear, sparse) = TABLE[row];
        assert_eq!(model.textbook_linear(), linear, "size {size}");
        assert_eq!(model.textbook_sparse(), sparse[column], "size {size}, column {column}");
        seen += 1;
    }
    assert_eq!(seen, 160);
}

#[test]
fn every_cell_has_the_cheaper_layout() {
    for (row, column, model) in cells() {
        let sparse_wins = model.textbook_sparse() < model.textbook_linear();
        assert_eq!(sparse_wins, column < SPARSE_WINS[row], "size {}, column {column}", model.size());
        assert_ne!(model.textbook_sparse(), model.textbook_linear(), "no cell is a tie");
    }
}

#[test]
fn byte_flags_all_cells() {
    for (row, column, model) in cells() {
        assert_eq!(model.textbook_linear_bytes(), TABLE[row].0 * 1000 + 1000);
        let sparse_wins = model.textbook_sparse() < model.textbook_linear_bytes();
        assert_eq!(sparse_wins, column < SPARSE_WINS_BYTES[row], "size {}, column {column}", model.size());
    }
}

#[test]
fn bits_round_up() {
    assert_eq!(Model::new(0, 1, 1.0).unwrap().textbook_linear(), 1);
    assert_eq!(Model::new(0, 8, 1.0).unwrap().textbook_linear(), 1);
    assert_eq!(Model::new(0, 9, 1.0).unwrap().textbook_linear(), 2);
}

#[test]
fn allocated_bytes() {
    let model = Model::new(16, 1000, 0.5).unwrap();
    assert_eq!(model.live(), 500);
    assert_eq!(model.bytes(Layout::Packed), 500 * 28);
    assert_eq!(model.bytes(Layout::Slot), 500 * 20 + 8 * 8 + 8 * (1 + 1));
    assert_eq!(model.bytes(Layout::Sparse), 500 * 24 + 8 * 1000);
    assert_eq!(model.bytes(Layout::Linear), 1000 * 20 + 8 * 16);
    assert_eq!(model.best(), Layout::Slot);
}

#[test]
fn zero_sized_values_cost_keys_only() {
    let model = Model::new(0, 640, 1.0).unwrap();
    assert_eq!(model.bytes(Layout::Packed), 640 * 12);
    assert_eq!(model.bytes(Layout::Linear), 640 * 4 + 80);
}

#[test]
fn nothing_costs_nothing() {
    let model = Model::new(24, 0, 1.0).unwrap();
    assert!(Layout::ALL.iter().all(|&layout| model.bytes(layout) == 0));
    let model = Model::new(24, 1000, 0.0).unwrap();
    assert_eq!(model.bytes(Layout::Sparse), 0);
    assert_eq!(model.best(), Layout::Packed, "of equals the first");
}

#[test]
fn errors_name_what_is_wrong() {
    for utilisation in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let error = Model::new(8, 10, utilisation).unwrap_err().to_string();
        assert!(error.starts_with("utilisation is a share from 0 to 1, not "), "{error}");
    }
    let error = Model::new(8, 1 << 32, 0.5).unwrap_err().to_string();
    assert!(error.contains("at most 4294967295, not 4294967296"), "{error}");
    let error = Model::new(u64::MAX, 1000, 0.5).unwrap_err().to_string();
    assert_eq!(error, "1000 values of 18446744073709551615 bytes are more than can be addressed");
}

#[test]
fn the_largest_models_do_not_overflow() {
    let size = i64::MAX as u64 / (MAX_ENTITIES + 1) - MOST_OVERHEAD;
    for utilisation in [0.0, 0.2, 0.25, 1.0] {
        let model = Model::new(size, MAX_ENTITIES, utilisation).unwrap();
        for layout in Layout::ALL {
            assert!(model.bytes(layout) < i64::MAX as u64);
        }
        model.textbook_sparse();
        model.textbook_linear_bytes();
    }
}

#[test]
fn layouts_have_names() {
    assert_eq!(Layout::ALL.map(Layout::name), ["packed", "slot", "sparse", "linear"]);
    assert_eq!(alloc::format!("{:>7}", Layout::Slot), "   slot");
    assert_eq!(Layout::Linear.container(), "LinearStore");
    assert_eq!(Layout::ALL.map(Layout::is_primary), [true, true, false, false]);
}

#[test]
fn usage_adds_up() {
    let one = Usage { values: 1, keys: 2, index: 3 };
    assert_eq!((one + one).total(), 12);
    assert_eq!(Usage::default().total(), 0);
}
