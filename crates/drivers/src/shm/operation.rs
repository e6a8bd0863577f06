//! A compiled operation: its request, memory for the answer, and the expectations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use plan::rows::Rows;
use plan::template::Template;
use record::Outcome;
use shm_channel::{Answer, CRC32, Checksum, Times};

use super::channel::Channel;
use super::failure::Failure;
use super::options::AnswerOptions;
use super::{BACK, PRODUCER, READ, THERE};
use crate::expect::answer_view::AnswerView;
use crate::expect::json::Path;
use crate::expect::rule::AnswerRule;
use crate::http::answer::BODY_LIMIT;
use crate::http::request::RenderContext;
use crate::probe::CheckedExpectation;

/// A compiled operation.
#[derive(Debug)]
pub struct Operation {
    /// The request.
    pub body: Template,
    /// Data that templates refer to.
    pub rows: Option<Arc<Rows>>,
    /// How the answer is waited for.
    pub options: AnswerOptions,
    /// Whether the answer's CRC-32 must be the one that came along.
    pub checksum: bool,
    /// What else must hold.
    pub rules: Vec<AnswerRule>,
    /// Where each declared number stands in the answer.
    pub items: Vec<Path>,
    /// Answers without times that lie between request and answer, where they are asked for; over all workers.
    pub untimed: AtomicU64,
}

impl Operation {
    /// Renders the request of this call.
    ///
    /// Cost:   O(n) time; allocates only when the buffer must grow
    pub fn encode(&self, channel: &mut Channel, call: &Call) {
        channel.call.clone_from(call);
        channel.request.clear();
        channel.answer.clear();
        channel.answer.shrink_to(IDLE_LIMIT);
        self.body.render(call, self.rows.as_deref(), &mut channel.request);
    }

    /// Sends the encoded request, waits for its answer, and checks it in place.
    pub async fn perform<C: Clock>(
        &self,
        channel: &mut Channel,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let answered = channel.exchange(self.options, exchange).await;
        self.outcome(answered, channel, exchange)
    }

    /// What became of it; the memory of an answer is free again afterwards.
    pub fn outcome<C: Clock>(
        &self,
        answered: Result<Answer, Failure>,
        channel: &mut Channel,
        exchange: &mut Exchange<C>,
    ) -> Outcome {
        let failure = match answered {
            Ok(answer) => {
                self.part(&answer, exchange);
                self.failure(&answer, channel, exchange)
            }
            Err(failure) => Some(failure),
        };
        let Some(failure) = failure else { return Outcome::Succeeded };
        exchange.status = failure.status.into();
        let outcome = exchange.fail(failure.kind, || failure.detail);
        exchange.reusable = failure.in_step;
        if !failure.in_step {
            channel.lose();
        }
        outcome
    }

    /// Parts what lies between start and answer by the producer's times, if they lie there.
    fn part<C: Clock>(&self, answer: &Answer, exchange: &mut Exchange<C>) {
        if !self.options.times {
            return;
        }
        let (asked_at, seen_at) = (exchange.started_at, exchange.read_at);
        match answer.times() {
            Some(Times { taken_at, ready_at })
                if asked_at <= taken_at && taken_at <= ready_at && ready_at <= seen_at =>
            {
                exchange.stamp(THERE, taken_at - asked_at);
                exchange.stamp(PRODUCER, ready_at - taken_at);
                exchange.stamp(BACK, seen_at - ready_at);
            }
            _ => _ = self.untimed.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// How many answers came without usable times, if any.
    pub fn note(&self) -> Option<String> {
        let answers = match self.untimed.load(Ordering::Relaxed) {
            0 => return None,
            1 => "1 answer".to_owned(),
            more => format!("{more} answers"),
        };
        Some(format!(
            "{answers}, warm-up included, had no times of the producer that lie between request and answer"
        ))
    }

    fn failure<C: Clock>(
        &self,
        answer: &Answer,
        channel: &mut Channel,
        exchange: &mut Exchange<C>,
    ) -> Option<Failure> {
        if let Err(failure) = self.bound(answer) {
            return Some(failure);
        }
        if self.checksum {
            let seen_at = exchange.read_at;
            let checked = checksum(answer);
            exchange.note_read();
            exchange.stamp(READ, exchange.read_at - seen_at);
            if let Err(seen) = checked {
                return Some(Failure::of_content(format!("expected {WHOLE}, got {seen}")));
            }
        }
        if !self.rules.is_empty() || !self.items.is_empty() {
            let evidence = self.evidence(answer, channel);
            if let Some(detail) = evidence.too_long(&self.rules, &self.items) {
                return Some(Failure::too_large(detail));
            }
            evidence.read(&self.items, &mut exchange.items);
            return evidence.violations(&self.rules).map(Failure::of_content);
        }
        None
    }

    /// Refuses to read an answer that is longer than what is read of one.
    fn bound(&self, answer: &Answer) -> Result<(), Failure> {
        let length = answer.len();
        let too_large = |what: &str, most: usize| {
            let detail = format!("{what} reads {most} bytes at most, and the answer has {length}");
            Err(Failure::too_large(detail))
        };
        if self.checksum && length > CHECKSUM_LIMIT {
            return too_large("the checksum", CHECKSUM_LIMIT);
        }
        if self.needs_body() && length > BODY_LIMIT {
            return too_large("an expectation", BODY_LIMIT);
        }
        Ok(())
    }

    /// Whether anything but the checksum reads the answer.
    fn needs_body(&self) -> bool {
        !self.items.is_empty() || self.rules.iter().any(AnswerRule::needs_body)
    }

    /// Every expectation with what was seen.
    pub fn checks(&self, answer: &Answer, channel: &mut Channel) -> Vec<CheckedExpectation> {
        if let Err(failure) = self.bound(answer) {
            let text = "the answer is short enough to be read".to_owned();
            return vec![CheckedExpectation { text, holds: false, seen: failure.detail }];
        }
        let whole = self.checksum.then(|| {
            let seen = checksum(answer);
            let holds = seen.is_ok();
            CheckedExpectation {
                text: WHOLE.to_owned(),
                holds,
                seen: seen.unwrap_or_else(|seen| seen),
            }
        });
        let rest = self.evidence(answer, channel).checks(&self.rules, &self.items);
        whole.into_iter().chain(rest).collect()
    }

    /// The answer as it is now: what a producer writes to it later, against the layout, changes nothing in the midst of
    /// a look at text.
    fn evidence<'a>(&'a self, answer: &Answer, channel: &'a mut Channel) -> AnswerView<'a> {
        if self.needs_body() {
            answer.copy_to(&mut channel.answer);
        }
        let context = RenderContext {
            call: &channel.call,
            rows: self.rows.as_deref(),
            authority: "",
            is_secure: false,
            location: "",
        };
        AnswerView::new(&[], answer.len() as u64, &channel.answer, context)
    }
}

/// Bytes of the longest answer whose checksum is computed: some 50 ms of a worker.
const CHECKSUM_LIMIT: usize = 256 << 20;
/// Room that a stream without an operation keeps for the next answer.
const IDLE_LIMIT: usize = 1 << 20;

/// What is wanted where the checksum is.
const WHOLE: &str = "the checksum to be the answer's CRC-32";

/// Reads all of the answer, where it lies. What was seen, as `Err` where it is not whole.
fn checksum(answer: &Answer) -> Result<String, String> {
    let ours = crc32fast::hash(answer);
    if answer.len() > BODY_LIMIT {
        answer.unload();
    }
    match answer.checksum() {
        Some(Checksum { kind: CRC32, value }) if value == u64::from(ours) => {
            Ok(format!("{ours:08x}"))
        }
        Some(Checksum { kind: CRC32, value }) => {
            Err(format!("{value:08x} where the answer's is {ours:08x}"))
        }
        Some(Checksum { kind, .. }) => Err(format!("one of kind {kind}")),
        None => Err("none".to_owned()),
    }
}
