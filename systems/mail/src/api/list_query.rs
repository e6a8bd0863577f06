//! The parameters of `GET /messages`.

use std::time::Duration;

use hyper::StatusCode;
use quantities::{parse_duration, zero_or};
use serving::percent;

use super::ApiError;

/// Default and largest number of messages of a page.
const LIMIT: usize = 100;
const MOST: usize = 1_000;
/// Longest wait for a message.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListQuery {
    /// One of the recipients, complete, in any case.
    pub to: Option<String>,
    /// The sender, likewise.
    pub from: Option<String>,
    /// A part of the subject, in any case.
    pub subject: Option<String>,
    /// Messages of the page.
    pub limit: usize,
    /// Only messages before this place.
    pub cursor: u64,
    /// How long to wait for a first message.
    pub wait: Duration,
}

impl ListQuery {
    /// Reads a query.
    ///
    /// Errors: 400 with what is wrong and what was expected
    pub fn read(query: Option<&str>) -> Result<Self, ApiError> {
        let mut read = Self {
            to: None,
            from: None,
            subject: None,
            limit: LIMIT,
            cursor: u64::MAX,
            wait: Duration::ZERO,
        };
        for pair in
            query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            // Addresses may contain a plus, and hardly ever a space.
            let value = match name {
                "to" | "from" => unescape(value)?,
                _ => unescape(&value.replace('+', "%20"))?,
            };
            read.set(name, value)?;
        }
        Ok(read)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), ApiError> {
        let bad = |expected: &str| bad(format!("{name}: expected {expected}, got \"{value}\""));
        match name {
            "to" => self.to = Some(value.to_lowercase()),
            "from" => self.from = Some(value.to_lowercase()),
            "subject" => self.subject = Some(value.to_lowercase()),
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=MOST).contains(limit));
                self.limit = limit.ok_or_else(|| bad("a whole number from 1 to 1000"))?;
            }
            "cursor" => {
                let what = "the next_cursor of an earlier answer";
                self.cursor = value.parse().map_err(|_| bad(what))?;
            }
            "wait" => {
                let wait = zero_or(&value, parse_duration);
                let wait = wait.filter(|wait| *wait <= LONGEST_WAIT);
                self.wait = wait.ok_or_else(|| bad("a time up to 60s such as 2s"))?;
            }
            _ => {
                let exist = "to, from, subject, limit, cursor and wait";
                return Err(self::bad(format!("{name}: unknown parameter; use {exist}")));
            }
        }
        Ok(())
    }
}

fn bad(what: String) -> ApiError {
    (StatusCode::BAD_REQUEST, what)
}

/// Decodes percent-encoding.
///
/// Errors: 400
pub(super) fn unescape(text: &str) -> Result<String, ApiError> {
    let broken = || bad(format!("\"{text}\" is not percent-encoded UTF-8"));
    percent::decode(text).ok_or_else(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_bounded() {
        let query =
            ListQuery::read(Some("to=Ada%2Bx@Y&subject=a+b&limit=7&cursor=9&wait=1.5s")).unwrap();
        assert_eq!(query.to.as_deref(), Some("ada+x@y"));
        assert_eq!(query.subject.as_deref(), Some("a b"));
        let plus = ListQuery::read(Some("to=ada+x@y&from=b+z@y")).unwrap();
        assert_eq!((plus.to.as_deref(), plus.from.as_deref()), (Some("ada+x@y"), Some("b+z@y")));
        assert_eq!((query.limit, query.cursor), (7, 9));
        assert_eq!(query.wait, Duration::from_millis(1_500));
        for plain in [None, Some("")] {
            let query = ListQuery::read(plain).unwrap();
            assert_eq!((query.limit, query.cursor, query.wait), (LIMIT, u64::MAX, Duration::ZERO));
        }
        for bad in [
            "limit=0",
            "limit=1001",
            "limit=x",
            "cursor=-1",
            "wait=2",
            "wait=61s",
            "to=%f",
            "too=x",
        ] {
            let (status, why) = ListQuery::read(Some(bad)).unwrap_err();
            assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}: {why}");
        }
    }
}
