//! What a rule may look at: head, size and body of a complete answer.

use std::cell::OnceCell;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::json::Path;
use super::rule::Rule;
use crate::http1::answer::BODY_LIMIT;
use crate::http1::codec::fault::Fault;
use crate::http1::codec::head::{self, Coding};
use crate::http1::request::Context;
use crate::probe::Check;

/// A complete answer, as rules see it.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The final head as received; empty where no rule needs it.
    pub head: &'a [u8],
    /// Bytes of the body without its framing, before decompression.
    pub size: u64,
    /// The body, decompressed; empty where no rule needs it.
    pub body: &'a [u8],
    /// For templates in rules.
    pub context: Context<'a>,
    json: OnceCell<Result<Value, String>>,
}

impl<'a> Evidence<'a> {
    /// Evidence of these parts.
    pub fn new(head: &'a [u8], size: u64, body: &'a [u8], context: Context<'a>) -> Self {
        Self { head, size, body, context, json: OnceCell::new() }
    }

    /// The body as JSON, parsed once.
    ///
    /// Errors: why it is not JSON
    pub fn json(&self) -> Result<&Value, String> {
        let parse =
            || serde_json::from_slice(self.body).map_err(|error| format!("no JSON: {error}"));
        self.json.get_or_init(parse).as_ref().map_err(Clone::clone)
    }

    /// Reads the number at each path, where the body is JSON; what is absent is left as it is.
    pub fn read(&self, paths: &[Path], numbers: &mut [f64]) {
        if paths.is_empty() {
            return;
        }
        if let Ok(body) = self.json() {
            for (number, path) in numbers.iter_mut().zip(paths) {
                *number = path.number(body);
            }
        }
    }

    /// Whether the body is longer than what one of these reads, and what to say then.
    pub fn too_long(&self, rules: &[Rule], paths: &[Path]) -> Option<String> {
        let rule = rules.iter().find(|rule| self.is_beyond(rule.reads()));
        let path = || paths.iter().find(|path| self.is_beyond(path.reads()));
        let text = |path: &Path| (format!("item {}", path.text()), path.reads());
        let (what, reads) = match rule {
            Some(rule) => (format!("`{rule}`"), rule.reads()),
            None => path().map(text)?,
        };
        Some(format!("{what} reads {reads} bytes at most, and the body has {}", self.body.len()))
    }

    fn is_beyond(&self, reads: usize) -> bool {
        self.body.len() > reads
    }

    /// What is wrong by these rules.
    pub fn violations(&self, rules: &[Rule]) -> Option<String> {
        let broken = |rule: &Rule| {
            let seen = rule.check(self).err()?;
            Some(format!("expected {rule}, got {seen}"))
        };
        let violations: Vec<String> = rules.iter().filter_map(broken).collect();
        (!violations.is_empty()).then(|| violations.join("; "))
    }

    /// Each rule and each path, with what was seen.
    pub fn checks(&self, rules: &[Rule], paths: &[Path]) -> Vec<Check> {
        if let Some(seen) = self.too_long(rules, paths) {
            let text = "the body is short enough to be read".to_owned();
            return vec![Check { text, holds: false, seen }];
        }
        let rules = rules.iter().map(|rule| {
            let seen = rule.check(self);
            let holds = seen.is_ok();
            Check { text: rule.to_string(), holds, seen: seen.unwrap_or_else(|seen| seen) }
        });
        let items = paths.iter().map(|path| {
            let value = self.json().and_then(|body| path.value(body));
            let holds = value.as_ref().is_ok_and(Value::is_number);
            let seen = value.map_or_else(|why| why, |value| value.to_string());
            Check { text: format!("item {} is a number", path.text()), holds, seen }
        });
        rules.chain(items).collect()
    }

    /// Every value of the field with this name, in order.
    pub fn field(&self, name: &str) -> Vec<String> {
        let values = head::with_fields(self.head, |_, response| {
            let named =
                response.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
            named.map(|field| String::from_utf8_lossy(field.value).into_owned()).collect()
        });
        values.ok().flatten().unwrap_or_default()
    }
}

/// Undoes the compression of a body.
///
/// Shape:  → `None` where there is nothing to undo
/// Errors: what is wrong with it, or that it is too large
pub fn decode(coding: Coding, body: &[u8]) -> Result<Option<Vec<u8>>, Undecodable> {
    match coding {
        Coding::Identity => Ok(None),
        Coding::Other => Err(Undecodable::Unknown),
        Coding::Gzip if body.is_empty() => Ok(None),
        Coding::Gzip => {
            let mut decoded = Vec::new();
            let mut reader = MultiGzDecoder::new(body).take(BODY_LIMIT as u64 + 1);
            reader
                .read_to_end(&mut decoded)
                .map_err(|error| Undecodable::Gzip(error.to_string()))?;
            if decoded.len() > BODY_LIMIT {
                return Err(Undecodable::TooLong(Fault::BodyTooLong(BODY_LIMIT)));
            }
            Ok(Some(decoded))
        }
    }
}

/// Why a body cannot be decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// Neither identity nor gzip.
    #[error("an expectation needs the body, whose content-encoding is neither identity nor gzip")]
    Unknown,
    /// Not gzip after all.
    #[error("the body is not the gzip that its content-encoding says: {0}")]
    Gzip(String),
    /// Too large once decompressed.
    #[error("{0}")]
    TooLong(Fault),
}
