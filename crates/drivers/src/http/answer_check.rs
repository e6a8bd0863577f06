//! Checks complete answers, of any version of HTTP.

use std::sync::Arc;

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use record::{FailureKind, Outcome};

use super::answer::{Keep, KeepBody};
use super::head::Coding;
use super::reported_times::ReportedTimes;
use super::request::RenderContext;
use super::stream::reading::StreamReading;
use super::stream::rules::StreamRules;
use crate::capture::{Captures, Reading};
use crate::expect::answer_view::AnswerView;
use crate::expect::decompression::{self, Undecodable};
use crate::expect::expectations::Expectations;
use crate::expect::json::Path;
use crate::expect::rule::AnswerRule;
use crate::probe::CheckedExpectation;
use crate::statuses::Statuses;

/// What an operation expects of its answers and reads from them.
#[derive(Debug)]
pub struct AnswerCheck {
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// Statuses that mean success.
    pub statuses: Statuses,
    /// The other rules.
    pub rules: Vec<AnswerRule>,
    /// Path of each declared number in the answer; none where it is a stream, whose rules have the items.
    pub items: Vec<Path>,
    /// What a stream must be, if the answer is one.
    pub stream: Option<StreamRules>,
    /// What its journey reads from it.
    pub captures: Captures,
    /// How far it goes on by itself.
    pub continuation: Continuation,
    /// Parts of the target whose times are read from the head.
    pub reported_times: ReportedTimes,
}

/// What an operation does with its answers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Continuation {
    /// Keeps cookies for its journey.
    pub cookies: bool,
    /// Follows so many redirects.
    pub follow: u32,
}

/// A complete answer, as far as it was kept, with its call.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedAnswer<'a> {
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
    /// What came of a stream of events.
    pub stream: Option<&'a StreamReading>,
    /// The call that was answered.
    pub call: &'a Call,
    /// Host and port of the target.
    pub authority: &'a str,
    /// Whether it is spoken to over TLS.
    pub is_secure: bool,
}

impl AnswerCheck {
    /// The check of an operation.
    pub fn of(
        expectation: Expectations,
        continuation: Continuation,
        planned: &plan::operation::Operation,
    ) -> Self {
        let Expectations { statuses, rules, items, captures, stream } = expectation;
        Self {
            rows: planned.rows.clone(),
            statuses,
            rules,
            items,
            captures,
            stream,
            continuation,
            reported_times: ReportedTimes::of(&planned.parts),
        }
    }

    /// The parts of an answer that it needs.
    pub fn keep(&self) -> Keep<'_> {
        let body = !self.items.is_empty()
            || self.rules.iter().any(AnswerRule::needs_body)
            || self.captures.needs_body();
        Keep {
            head: self.reported_times.is_wanted()
                || self.rules.iter().any(AnswerRule::needs_head)
                || self.captures.needs_head()
                || self.continuation != Continuation::default(),
            body: if body { KeepBody::All } else { KeepBody::Nothing },
            stream: self.stream.as_ref(),
        }
    }

    /// Checks a complete answer against the expectations and reads the items.
    pub fn outcome<C: Clock>(
        &self,
        seen: &ReceivedAnswer<'_>,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        self.reported_times.read(seen.head, exchange);
        let mut items = std::mem::take(&mut exchange.items);
        let failure = self.failure(seen, &mut items, &|| exchange.now());
        exchange.items = items;
        match failure {
            Some((kind, detail)) => exchange.fail(kind, || detail),
            None => Outcome::Succeeded,
        }
    }

    /// Every expectation with what was seen.
    pub fn checks(&self, seen: &ReceivedAnswer<'_>) -> Vec<CheckedExpectation> {
        let mut checks = vec![CheckedExpectation {
            text: format!("status is {}", self.statuses),
            holds: self.statuses.contains(seen.status),
            seen: seen.status.to_string(),
        }];
        if let (Some(rules), Some(stream)) = (&self.stream, seen.stream) {
            checks.extend(stream.checks(rules));
        }
        let decoded = decompression::decode(seen.coding, seen.body).ok().flatten();
        let evidence = self.evidence(seen, decoded.as_deref().unwrap_or(seen.body));
        checks.extend(evidence.checks(&self.rules, &self.items));
        checks.extend(self.captures.checks(Reading { answer: &evidence, now: &|| 0 }));
        for (name, time) in self.reported_times.by_name(seen.head) {
            let told =
                time.map_or("no time".to_owned(), |time| format!("{} ms", time as f64 / 1e6));
            let text = format!("Server-Timing reports {name}");
            checks.push(CheckedExpectation { text, holds: time.is_some(), seen: told });
        }
        checks
    }

    fn failure(
        &self,
        seen: &ReceivedAnswer<'_>,
        items: &mut [f64],
        now: &dyn Fn() -> u64,
    ) -> Option<(FailureKind, String)> {
        if !self.statuses.contains(seen.status) {
            let detail = format!("status {}, expected {}", seen.status, self.statuses);
            return Some((FailureKind::Status, detail));
        }
        if let (Some(rules), Some(stream)) = (&self.stream, seen.stream) {
            items.iter_mut().zip(stream.items()).for_each(|(item, number)| *item = *number);
            if let Some(failure) = stream.failure(rules) {
                return Some(failure);
            }
        }
        if self.rules.is_empty() && self.items.is_empty() && self.captures.is_empty() {
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
        if let Some(detail) = self.captures.too_long(evidence.body) {
            return Some((FailureKind::TooLarge, detail));
        }
        evidence.read(&self.items, items);
        if let Some(what) = evidence.violations(&self.rules) {
            return Some((FailureKind::WrongContent, what));
        }
        let reading = Reading { answer: &evidence, now };
        let kept = self.captures.keep(reading, seen.call.memory.as_deref());
        kept.err().map(|what| (FailureKind::Capture, what))
    }

    /// The decompressed body, where it is compressed and something needs it.
    fn decoded(&self, seen: &ReceivedAnswer<'_>) -> Result<Option<Vec<u8>>, Undecodable> {
        match self.keep().body {
            KeepBody::Nothing => Ok(None),
            _ => decompression::decode(seen.coding, seen.body),
        }
    }

    fn evidence<'a>(&'a self, seen: &ReceivedAnswer<'a>, body: &'a [u8]) -> AnswerView<'a> {
        let ReceivedAnswer { call, authority, is_secure, head, size, .. } = *seen;
        let rows = self.rows.as_deref();
        let context = RenderContext { call, rows, authority, is_secure, location: "" };
        AnswerView::new(head, size, body, context)
    }
}

fn undecodable(error: &Undecodable) -> FailureKind {
    match error {
        Undecodable::TooLong(fault) => fault.kind(),
        _ => FailureKind::WrongContent,
    }
}
