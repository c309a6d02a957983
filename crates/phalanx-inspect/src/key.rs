//! [`Key`]: what a client has to know.

use core::fmt;
use core::str::FromStr;

/// The key of an inspector: 128 bits that a client has to know.
///
/// As text it is 32 hexadecimal digits. `Debug` does not print it.
#[derive(Clone, Copy)]
pub struct Key([u8; 16]);

/// A text is not a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key is 32 hexadecimal digits, and not all of them are zero")
    }
}

impl core::error::Error for KeyError {}

impl Key {
    /// Makes a key of random bits.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no random bits.
    #[cfg(feature = "serve")]
    pub fn random() -> std::io::Result<Key> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Key(bytes))
    }

    /// Compares the key with a text, in a time that does not depend on where they differ.
    #[cfg(feature = "serve")]
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let mut expected = [0; 32];
        for (pair, byte) in expected.chunks_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        if text.len() != expected.len() {
            return false;
        }
        let different = expected.iter().zip(text).fold(0, |all, (a, b)| all | (a ^ b));
        core::hint::black_box(different) == 0
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Key, KeyError> {
        let digits = text.as_bytes();
        let mut bytes = [0; 16];
        if digits.len() != 32 {
            return Err(KeyError);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(KeyError);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        if bytes == [0; 16] { Err(KeyError) } else { Ok(Key(bytes)) }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn a_key_is_its_text() {
        let text = "00ff10a0b1c2d3e4f5061728394a5b6c";
        let key: Key = text.parse().unwrap();
        assert_eq!(key.to_string(), text);
        assert!(!format!("{key:?}").contains("ff"));
        for wrong in [
            "",
            "0",
            &text[1..],
            &format!("{text}0"),
            &"0".repeat(32),
            &text.replace('f', "g"),
            "é".repeat(16).as_str(),
        ] {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
    }

    #[cfg(feature = "serve")]
    #[test]
    fn only_the_whole_text_matches() {
        let key = Key::random().unwrap();
        let text = key.to_string();
        assert!(key.matches(text.as_bytes()) && !Key::random().unwrap().matches(text.as_bytes()));
        for at in 0..32 {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            assert!(!key.matches(&other) && !key.matches(&text.as_bytes()[..at]));
        }
    }
}
