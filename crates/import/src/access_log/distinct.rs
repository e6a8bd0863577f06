//! The requests of a log without those that were there before, numbered from 1.

use std::collections::HashMap;
use std::io::{self, Write};

/// Bytes that the known requests may take; later ones are written again each time.
const KNOWN_LIMIT: usize = 64 << 20;
/// Bytes of an entry beside its text.
const ENTRY_OVERHEAD: usize = 64;

/// The requests that were written.
#[derive(Debug)]
pub(super) struct Distinct {
    known: HashMap<String, u64>,
    bytes: usize,
    known_limit: usize,
    written: u64,
}

impl Distinct {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { known: HashMap::new(), bytes: 0, known_limit: KNOWN_LIMIT, written: 0 }
    }

    /// The number of a request, which is written if it is not known.
    pub(super) fn number(&mut self, request: String, to: &mut impl Write) -> io::Result<u64> {
        if let Some(number) = self.known.get(&request) {
            return Ok(*number);
        }
        writeln!(to, "{request}")?;
        self.written += 1;
        self.bytes += request.len() + ENTRY_OVERHEAD;
        if self.bytes <= self.known_limit {
            self.known.insert(request, self.written);
        }
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_written_again() {
        let (mut distinct, mut out) = (Distinct::new(), Vec::new());
        distinct.known_limit = 3 * (ENTRY_OVERHEAD + 1);
        let mut numbers = Vec::new();
        for request in ["a", "b", "a", "c", "b", "d", "d", "a"] {
            numbers.push(distinct.number(request.to_owned(), &mut out).unwrap());
        }
        // There is no room to know the fourth.
        assert_eq!(numbers, [1, 2, 1, 3, 2, 4, 5, 1]);
        assert_eq!(out, b"a\nb\nc\nd\nd\n");
    }
}
