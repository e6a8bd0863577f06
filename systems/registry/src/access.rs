//! Access to namespaces, and their valid names.

use std::collections::HashMap;

use serving::error::BadOptions;

use crate::api_error::{ApiError, Code};

/// Longest name of a namespace, in bytes.
pub const LONGEST_NAMESPACE: usize = 64;

/// Bearer tokens by namespace.
///
/// Without tokens, every client that reaches the listener (loopback by default) may use every
/// namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    tokens: HashMap<String, Vec<String>>,
}

impl Access {
    /// Parses lines `NAMESPACE TOKEN`; `*` means every namespace, and lines that begin with `#` are
    /// comments. A namespace may have several tokens, so that they can be changed.
    ///
    /// Errors: every invalid line, by number; never with its content
    pub fn parse(text: &str) -> Result<Self, BadOptions> {
        let mut access = Self::default();
        let mut problems = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                [namespace, token] if namespace == "*" || check_namespace(namespace).is_ok() => {
                    access.tokens.entry(namespace.to_owned()).or_default().push(token.to_owned());
                }
                _ => problems.push(format!("line {number}: expected a namespace and a token")),
            }
        }
        if problems.is_empty() { Ok(access) } else { Err(BadOptions::of(problems)) }
    }

    /// Whether no tokens are required.
    pub fn is_open(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Number of namespaces with tokens of their own.
    pub fn namespaces(&self) -> usize {
        self.tokens.len()
    }

    /// Checks the token of a request. Namespaces with and without tokens answer alike, so that a
    /// client cannot learn which namespaces exist.
    ///
    /// Shape:  `header`: the value of `authorization`
    /// Errors: `UNAUTHORIZED`
    pub fn check(&self, namespace: &str, header: Option<&str>) -> Result<(), ApiError> {
        if self.is_open() {
            return Ok(());
        }
        let given = header.and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(given) = given else {
            return Err(ApiError::new(
                Code::Unauthorized,
                "a bearer token is required: send `authorization: Bearer TOKEN`",
            ));
        };
        let known = [namespace, "*"].into_iter().filter_map(|name| self.tokens.get(name)).flatten();
        // Compares every token completely, so that timing reveals nothing.
        let opens = known.fold(false, |opens, token| opens | is_same(token, given));
        if opens {
            Ok(())
        } else {
            Err(ApiError::new(Code::Unauthorized, "this token does not open this namespace"))
        }
    }
}

/// Compares without stopping at the first difference.
fn is_same(known: &str, given: &str) -> bool {
    let differs = known.bytes().zip(given.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    known.len() == given.len() && differs == 0
}

/// Refuses names that cannot be used in paths, subjects and keys.
///
/// Errors: `INVALID_REQUEST`
pub fn check_namespace(name: &str) -> Result<(), ApiError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=LONGEST_NAMESPACE).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    let what = format!(
        "a namespace's name has 1 to {LONGEST_NAMESPACE} of the characters a-z A-Z 0-9 - and _"
    );
    Err(ApiError::new(Code::InvalidRequest, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_its_namespace_and_no_other() {
        let access = Access::parse("# tokens\n\na one\na two\nb three\n* all\n").unwrap();
        for good in ["Bearer one", "bearer two", "Bearer all"] {
            assert_eq!(access.check("a", Some(good)), Ok(()), "{good}");
        }
        for bad in [None, Some("Bearer three"), Some("one"), Some("Basic one"), Some("Bearer on")] {
            let error = access.check("a", bad).unwrap_err();
            assert_eq!(error.code, Code::Unauthorized, "{bad:?}");
        }
        assert!(access.check("c", Some("Bearer one")).is_err());
        assert_eq!(Access::default().check("a", None), Ok(()));
    }

    #[test]
    fn a_bad_line_is_told_by_its_number_and_not_by_its_content() {
        let bad = Access::parse("a one\nsecret\na/b secret\n").unwrap_err();
        assert_eq!(bad.problems.len(), 2);
        assert!(bad.to_string().contains("line 2") && !bad.to_string().contains("secret"));
    }

    #[test]
    fn namespaces_are_words() {
        assert_eq!(check_namespace("load-test_1"), Ok(()));
        for bad in ["", "a/b", "a.b", "a b", "ä", "*", &"n".repeat(65)] {
            assert!(check_namespace(bad).is_err(), "{bad:?}");
        }
    }
}
