//! Counts and times the events of one stream as they come.

use engine::clock::Clock;
use engine::driver::Exchange;
use record::FailureKind;

use super::framing::Framing;
use super::rules::{EventItem, StreamRules};
use super::{FIRST_EVENT, GAP, LAST_EVENT, LONGEST_GAP, MEAN_GAP};
use crate::expect::json_scan::Found;
use crate::http::answer::Failure;
use crate::http::head::Coding;
use crate::http::protocol_error::ProtocolError;
use crate::probe::CheckedExpectation;

/// What has come of one stream.
#[derive(Debug, Default)]
pub struct StreamReading {
    framing: Framing,
    /// Whether this answer is a stream.
    is_stream: bool,
    coding: Option<Coding>,
    times: EventTimes,
    /// A number for each item of the operation.
    items: Vec<f64>,
    /// Whether the newest event was the last one.
    has_ended: bool,
    /// Whether the stream ended in the middle of an event.
    is_cut: bool,
}

/// When the counted events came: nanoseconds since the operation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct EventTimes {
    count: u64,
    /// Events that are not counted, without the last one.
    others: u64,
    first: u64,
    newest: u64,
    longest_gap: u64,
}

impl StreamReading {
    /// Forgets the previous stream, but not its memory.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_stream) {
            self.framing.clear();
        }
        self.items.clear();
        (self.coding, self.times) = (None, EventTimes::default());
        (self.has_ended, self.is_cut) = (false, false);
    }

    /// Whether the answer at hand is a stream of which something was read.
    pub fn is_begun(&self) -> bool {
        self.is_stream
    }

    /// How many events were counted.
    pub fn count(&self) -> u64 {
        self.times.count
    }

    /// Begins with an answer of this status and coding.
    pub fn begin(&mut self, rules: &StreamRules, status: u16, coding: Coding) {
        self.clear();
        self.is_stream = rules.statuses.contains(status);
        self.coding = Some(coding);
        let initial = |item: &EventItem| match item {
            EventItem::Counted | EventItem::With(_) => 0.0,
            EventItem::Number(_) => f64::NAN,
        };
        self.items.extend(rules.items.iter().map(initial));
    }

    /// Takes the next part of the body, which came with the last read.
    ///
    /// Errors: an event is too long
    pub fn take<C: Clock>(
        &mut self,
        rules: &StreamRules,
        bytes: &[u8],
        ends_chunk: bool,
        exchange: &mut Exchange<C>,
    ) -> Result<(), ProtocolError> {
        if !self.is_stream || self.coding != Some(Coding::Identity) {
            return Ok(());
        }
        let mut framing = std::mem::take(&mut self.framing);
        let taken = framing.take(rules.format, bytes, ends_chunk, |data| {
            self.event(rules, data, exchange);
        });
        self.framing = framing;
        taken
    }

    /// Takes the end of the answer, whole or not.
    pub fn end<C: Clock>(&mut self, rules: &StreamRules, exchange: &mut Exchange<C>) {
        let mut framing = std::mem::take(&mut self.framing);
        self.is_cut = framing.end(rules.format, |data| self.event(rules, data, exchange));
        self.framing = framing;
        self.stamp(rules, exchange);
    }

    /// Stamps what is known once no more events come.
    pub fn stamp<C: Clock>(&self, rules: &StreamRules, exchange: &mut Exchange<C>) {
        let EventTimes { count, newest, longest_gap, .. } = self.times;
        if count > 0 {
            exchange.stamp(rules.spans + LAST_EVENT, newest);
        }
        if let Some(mean) = self.times.mean_gap() {
            exchange.stamp(rules.spans + LONGEST_GAP, longest_gap);
            exchange.stamp(rules.spans + MEAN_GAP, mean);
        }
    }

    /// The number of each item.
    pub fn items(&self) -> &[f64] {
        &self.items
    }

    /// Why the stream is not what the rules ask for, if so.
    pub fn failure(&self, rules: &StreamRules) -> Option<(FailureKind, String)> {
        if let Some(coding) = self.coding.filter(|coding| *coding != Coding::Identity) {
            let name = format!("{coding:?}").to_lowercase();
            let detail = format!("the stream is compressed ({name}); its events cannot be timed");
            return Some((FailureKind::WrongContent, detail));
        }
        let count = self.times.count;
        if self.is_cut {
            let detail = format!("the stream ended within an event, after {}", events(count));
            return Some((FailureKind::CutShort, detail));
        }
        if let Some(last) = rules.last.as_ref().filter(|_| !self.has_ended) {
            let detail = format!("the stream ended after {}, before {last}", events(count));
            return Some((FailureKind::CutShort, detail));
        }
        if !rules.events.contains(&count) {
            let mut seen = events(count);
            if let Some(place) = rules.counted.as_ref().filter(|_| self.times.others > 0) {
                let all = count + self.times.others;
                seen = format!("{count} of {} with something at {}", events(all), place.text());
            }
            let detail = format!("{seen}, expected {}", range(&rules.events));
            return Some((FailureKind::WrongContent, detail));
        }
        let (name, seen, bound) = self.bounds(rules).find(|(_, seen, bound)| seen > bound)?;
        let detail = format!("{name} {}, expected at most {}", shown(seen), shown(bound));
        Some((FailureKind::TooSlow, detail))
    }

    /// Every rule with what was seen.
    pub fn checks(&self, rules: &StreamRules) -> Vec<CheckedExpectation> {
        let count = self.times.count;
        let mut checks = vec![CheckedExpectation {
            text: format!("events {}", range(&rules.events)),
            holds: rules.events.contains(&count),
            seen: count.to_string(),
        }];
        checks.extend(rules.last.as_ref().map(|last| CheckedExpectation {
            text: format!("the last event is {last}"),
            holds: self.has_ended,
            seen: if self.has_ended { "it is" } else { "another one" }.to_owned(),
        }));
        checks.extend(self.bounds(rules).map(|(name, seen, bound)| CheckedExpectation {
            text: format!("{name} at most {}", shown(bound)),
            holds: seen <= bound,
            seen: shown(seen),
        }));
        checks
    }

    /// Each time with a bound: its name, the time, the bound.
    fn bounds(&self, rules: &StreamRules) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let EventTimes { count, first, newest, longest_gap, .. } = self.times;
        let within = rules.within;
        let some = |time: u64| (count > 0).then_some(time);
        let bounds = [
            ("first_event", some(first), within.first_event),
            ("last_event", some(newest), within.last_event),
            ("gap", some(longest_gap), within.gap),
            ("mean_gap", self.times.mean_gap(), within.mean_gap),
        ];
        bounds.into_iter().filter_map(|(name, seen, bound)| Some((name, seen?, bound?)))
    }

    /// Takes an event with this data, which came with the last read.
    pub fn event<C: Clock>(
        &mut self,
        rules: &StreamRules,
        data: &[u8],
        exchange: &mut Exchange<C>,
    ) {
        self.has_ended = rules.is_last(data);
        if self.has_ended {
            return;
        }
        let is_counted =
            rules.counted.as_ref().is_none_or(|place| place.find(data) != Found::Nothing);
        for (number, item) in self.items.iter_mut().zip(&rules.items) {
            match item {
                EventItem::Counted => *number += f64::from(u8::from(is_counted)),
                EventItem::With(place) => {
                    *number += f64::from(u8::from(place.find(data) != Found::Nothing));
                }
                EventItem::Number(place) => {
                    if let Found::Number(found) = place.find(data) {
                        *number = found;
                    }
                }
            }
        }
        if is_counted {
            self.count_event(rules, exchange);
        } else {
            self.times.others += 1;
        }
    }

    fn count_event<C: Clock>(&mut self, rules: &StreamRules, exchange: &mut Exchange<C>) {
        let at = exchange.read_at.saturating_sub(exchange.started_at);
        let times = &mut self.times;
        if times.count == 0 {
            times.first = at;
            exchange.stamp(rules.spans + FIRST_EVENT, at);
        } else {
            let gap = at.saturating_sub(times.newest);
            times.longest_gap = times.longest_gap.max(gap);
            exchange.repeat(rules.spans + GAP, gap);
        }
        times.count += 1;
        times.newest = at;
    }
}

impl EventTimes {
    fn mean_gap(&self) -> Option<u64> {
        let gaps = self.count.checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((self.newest - self.first) / gaps)
    }
}

/// A failure after which nothing more came: of a stream that had begun, it was cut short.
pub fn cut_short(failure: Failure, stream: &StreamReading) -> Failure {
    match failure.kind {
        FailureKind::Closed
        | FailureKind::Reset
        | FailureKind::StreamReset
        | FailureKind::GoingAway
            if stream.is_begun() =>
        {
            let detail = format!("after {}: {}", events(stream.count()), failure.detail);
            Failure { kind: FailureKind::CutShort, detail }
        }
        _ => failure,
    }
}

/// So many events, in words.
pub fn events(count: u64) -> String {
    counted(count, "event")
}

/// So many things of this name, in words.
pub fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn range(range: &std::ops::RangeInclusive<u64>) -> String {
    match (*range.start(), *range.end()) {
        (least, u64::MAX) => format!("at least {least}"),
        (least, most) if least == most => least.to_string(),
        (0, most) => format!("at most {most}"),
        (least, most) => format!("{least} to {most}"),
    }
}

fn shown(nanoseconds: u64) -> String {
    plan::number::duration(nanoseconds)
}
