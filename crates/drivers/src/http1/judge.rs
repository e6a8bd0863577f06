//! What complete answers are held against, whatever version of HTTP they came in.

use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use record::{FailureKind, Outcome};

use super::answer::{Keep, KeepBody};
use super::codec::head::Coding;
use super::compile::expect::Expectation;
use super::request::Context;
use super::told::Told;
use crate::expect::evidence::{self, Evidence, Undecodable};
use crate::expect::json::Path;
use crate::expect::rule::Rule;
use crate::probe::Check;
use crate::statuses::Statuses;

/// What an operation expects of its answers, and reads from them.
#[derive(Debug)]
pub struct Judge {
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// Statuses that mean success.
    pub statuses: Statuses,
    /// What else must hold.
    pub rules: Vec<Rule>,
    /// Where each declared number stands in the answer.
    pub items: Vec<Path>,
    /// Parts of the target whose times are read from the head.
    pub told: Told,
}

/// A complete answer, as far as it was kept, and what it answers.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Its status code.
    pub status: u16,
    /// How the content is compressed.
    pub coding: Coding,
    /// Bytes of the body without its framing.
    pub size: u64,
    /// The final head, as HTTP/1.1 writes one.
    pub head: &'a [u8],
    /// The body without its framing.
    pub body: &'a [u8],
    /// The call that was answered.
    pub call: &'a Call,
    /// Host and port of the target.
    pub authority: &'a str,
}

impl Judge {
    /// That of an operation.
    pub fn of(expectation: Expectation, planned: &plan::operation::Operation) -> Self {
        let Expectation { statuses, rules, items } = expectation;
        Self { rows: planned.rows.clone(), statuses, rules, items, told: Told::of(&planned.parts) }
    }

    /// What of an answer must be kept for it.
    pub fn keep(&self) -> Keep {
        let body = !self.items.is_empty() || self.rules.iter().any(Rule::needs_body);
        Keep {
            head: self.told.is_wanted() || self.rules.iter().any(Rule::needs_head),
            body: if body { KeepBody::All } else { KeepBody::Nothing },
        }
    }

    /// Holds a complete answer against the expectations and reads the items.
    pub fn judge<C: Clock>(&self, seen: &Seen<'_>, exchange: &mut Exchange<C>) -> Outcome {
        self.told.read(seen.head, exchange);
        match self.failure(seen, &mut exchange.items) {
            Some((kind, detail)) => exchange.fail(kind, || detail),
            None => Outcome::Succeeded,
        }
    }

    /// Every expectation with what was seen.
    pub fn checks(&self, seen: &Seen<'_>) -> Vec<Check> {
        let mut checks = vec![Check {
            text: format!("status is {}", self.statuses),
            holds: self.statuses.contains(seen.status),
            seen: seen.status.to_string(),
        }];
        let decoded = evidence::decode(seen.coding, seen.body).ok().flatten();
        let evidence = self.evidence(seen, decoded.as_deref().unwrap_or(seen.body));
        checks.extend(evidence.checks(&self.rules, &self.items));
        for (name, time) in self.told.by_name(seen.head) {
            let told =
                time.map_or("no time".to_owned(), |time| format!("{} ms", time as f64 / 1e6));
            let text = format!("Server-Timing tells of {name}");
            checks.push(Check { text, holds: time.is_some(), seen: told });
        }
        checks
    }

    fn failure(&self, seen: &Seen<'_>, items: &mut [f64]) -> Option<(FailureKind, String)> {
        if !self.statuses.contains(seen.status) {
            let detail = format!("status {}, expected {}", seen.status, self.statuses);
            return Some((FailureKind::Status, detail));
        }
        if self.rules.is_empty() && self.items.is_empty() {
            return None;
        }
        let decoded = match self.decoded(seen) {
            Ok(decoded) => decoded,
            Err(error) => return Some((undecodable(&error), error.to_string())),
        };
        let evidence = self.evidence(seen, decoded.as_deref().unwrap_or(seen.body));
        if let Some(detail) = evidence.too_long(&self.rules, &self.items) {
            return Some((FailureKind::TooLarge, detail));
        }
        evidence.read(&self.items, items);
        evidence.violations(&self.rules).map(|what| (FailureKind::WrongContent, what))
    }

    /// The decompressed body, where it is compressed and something needs it.
    fn decoded(&self, seen: &Seen<'_>) -> Result<Option<Vec<u8>>, Undecodable> {
        match self.keep().body {
            KeepBody::Nothing => Ok(None),
            _ => evidence::decode(seen.coding, seen.body),
        }
    }

    fn evidence<'a>(&'a self, seen: &Seen<'a>, body: &'a [u8]) -> Evidence<'a> {
        let Seen { call, authority, head, size, .. } = *seen;
        let context = Context { call, rows: self.rows.as_deref(), authority };
        Evidence::new(head, size, body, context)
    }
}

fn undecodable(error: &Undecodable) -> FailureKind {
    match error {
        Undecodable::TooLong(fault) => fault.kind(),
        _ => FailureKind::WrongContent,
    }
}
