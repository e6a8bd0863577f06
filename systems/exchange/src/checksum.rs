//! CRC-32 (that of zlib) of a payload whose checksum is known except for its beginning.

use crc32fast::Hasher;

/// The checksum of these bytes.
pub fn of(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Bytes that come after others, reduced to what their checksum needs of them.
#[derive(Debug, Clone)]
pub struct Tail(Hasher);

impl Tail {
    /// Reads all of them, once.
    pub fn new(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        Self(hasher)
    }

    /// The checksum of `head` and then of these; the time is that of the head.
    pub fn after(&self, head: &[u8]) -> u32 {
        let mut hasher = Hasher::new();
        hasher.update(head);
        hasher.combine(&self.0);
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_crc_of_the_catalogue() {
        assert_eq!(of(b"123456789"), 0xcbf4_3926);
        assert_eq!(of(b""), 0);
        assert_eq!(of(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
    }

    #[test]
    fn head_and_tail_are_the_whole_wherever_it_is_cut() {
        let text = b"123456789";
        for cut in 0..=text.len() {
            assert_eq!(Tail::new(&text[cut..]).after(&text[..cut]), 0xcbf4_3926, "cut at {cut}");
        }
    }
}
