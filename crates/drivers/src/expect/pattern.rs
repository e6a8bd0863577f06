//! A regular expression, and how much of a body it may be held against.
//!
//! A search takes time in proportion to the body and to the size of the compiled expression, and nothing can interrupt it:
//! a worker that searches does nothing else, and sees no time-out.

use std::fmt;

use regex_lite::{Regex, RegexBuilder};

/// Bytes of a body times bytes of a compiled expression: about half a second in the worst case.
const WORK: usize = 1 << 30;
/// The smallest size limit of a compiled expression that is distinguished from smaller ones.
const SMALLEST: usize = 256;
/// The largest.
const LARGEST: usize = 1 << 20;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    reads: usize,
}

impl Pattern {
    /// Compiles it.
    ///
    /// Errors: what is wrong with it, or that it is too large
    pub fn compile(text: &str) -> Result<Self, String> {
        let within = |size| RegexBuilder::new(text).size_limit(size).build();
        let mut size = SMALLEST;
        loop {
            match within(size) {
                Ok(regex) => return Ok(Self { regex, reads: WORK / size }),
                Err(error) if size == LARGEST => return Err(error.to_string()),
                Err(_) => size *= 2,
            }
        }
    }

    /// Bytes of the longest body that it is held against.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// Whether it is found in this text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// What its first group finds in each match, or all of it where it has no group; nothing where the group takes no
    /// part in the match.
    pub fn finds<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let group = usize::from(self.regex.captures_len() > 1);
        let found = self.regex.captures_iter(text);
        found.map(move |found| found.get(group).map_or("", |found| found.as_str()))
    }
}

/// As written.
impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.regex.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: &str) -> usize {
        Pattern::compile(text).expect("it compiles").reads()
    }

    #[test]
    fn what_is_long_once_compiled_reads_less() {
        assert_eq!(reads("^ok$"), 4 << 20);
        assert_eq!(reads("\"id\": [0-9]+"), 2 << 20);
        assert_eq!(reads("a{0,200}b"), 64 << 10);
        assert!(reads("(?:[a-z]{1,50}){1,20}9") <= 8 << 10);
    }

    #[test]
    fn what_is_no_expression_or_too_large_a_one_is_refused() {
        let refused = |text: &str| Pattern::compile(text).expect_err("it is refused");
        assert!(refused("(").contains("group"), "{}", refused("("));
        let large = refused("((a{100}){100}){100}");
        assert!(large.contains("size"), "{large}");
        refused(&"(".repeat(100_000));
    }
}
