//! What terminal and browser say alike.

use plan::number;
use plan::printable::printable;
use record::event::Phase;

use crate::second::Known;
use crate::view::{PartShown, RunView, SECOND_NS, SecondShown};

/// Operations that have waited so long are counted.
const LONG_NS: u64 = 2_000_000_000;

impl RunView {
    /// The phase and its time, and the time until the last trial ends.
    pub fn phase_text(&self) -> String {
        let name = if self.is_stopping { "stopping" } else { phase_name(self.phase.0) };
        let (elapsed, whole) = self.phase_ns();
        let mut text = match whole {
            Some(whole) => format!("{name} {} of {} s", elapsed / SECOND_NS, whole / SECOND_NS),
            None => format!("{name} {} s", elapsed / SECOND_NS),
        };
        let later = self.head.as_ref().and_then(|head| head.later_ns).filter(|later| *later > 0);
        if let (Some(later), Some(whole)) = (later, whole) {
            let left = (later + whole.saturating_sub(elapsed)) / SECOND_NS;
            text.push_str(&match left {
                0..120 => format!(", {left} s left in all"),
                _ => format!(", {} min left in all", left.div_ceil(60)),
            });
        }
        text
    }

    /// The part of the phase that is over, if its length is known.
    pub fn phase_share(&self) -> Option<f64> {
        let (elapsed, whole) = self.phase_ns();
        whole.map(|whole| (elapsed as f64 / whole.max(1) as f64).clamp(0.0, 1.0))
    }

    fn phase_ns(&self) -> (u64, Option<u64>) {
        let (phase, since) = self.phase;
        let elapsed = u64::try_from(self.now_ns - since).unwrap_or(0);
        let whole = self.head.as_ref().and_then(|head| head.measure_ns);
        (elapsed, whole.filter(|_| phase == Phase::Measure))
    }

    /// Trial, block and arm, where there are several.
    pub fn place_text(&self) -> String {
        let Some(head) = self.head.as_ref().filter(|head| head.number.1 > 1) else {
            return String::new();
        };
        let mut text = format!("trial {} of {}", head.number.0, head.number.1);
        if head.block.1 > 1 {
            text.push_str(&format!(" · block {} of {}", head.block.0, head.block.1));
        }
        text.push_str(&format!(" · {}", printable(&head.arm)));
        text
    }

    /// Whether the generator takes a part in the times that would count. The verdict on it needs the slowest operations of
    /// the whole trial: this only points to it.
    pub fn is_late(&self) -> bool {
        self.lateness.share() >= 0.01
    }

    /// Whether the generator or the target makes operations slow.
    pub fn generator_text(&self) -> String {
        if self.lateness.time_ns == 0 {
            return String::new();
        }
        format!(
            "generator {}: dispatch lag is {} of the response times, at most {}",
            if self.is_late() { "late" } else { "on time" },
            number::percent(self.lateness.share()),
            number::duration(self.lateness.max_ns)
        )
    }

    /// The last second that is over; while most operations wait, the first such second: it shows for how long.
    pub fn last_second(&self) -> Option<&SecondShown> {
        let over = u64::try_from(self.now_ns).unwrap_or(0) / SECOND_NS;
        let mut before = self.seconds.values().rev().filter(|one| one.at < over);
        let last = before.next().or(self.seconds.values().next())?;
        let waits = |one: &&SecondShown| one.unanswered * 2 > one.planned;
        let stalled = std::iter::once(last).chain(before).take_while(waits);
        Some(stalled.last().unwrap_or(last))
    }

    /// Operations in flight, and how many of them wait for long.
    pub fn in_flight_text(&self) -> String {
        let long = self.seconds.values().filter(|one| one.waited_ns >= LONG_NS);
        let in_flight = number::count(self.progress.in_flight);
        match long.map(|one| one.unanswered).sum() {
            0 => in_flight,
            waiting => format!("{in_flight}, {} wait ≥ 2 s", number::count(waiting)),
        }
    }
}

impl PartShown {
    /// Failures by kind, the most frequent first.
    pub fn kinds(&self) -> String {
        let mut kinds: Vec<(&str, u64)> =
            self.failures.iter().map(|(kind, count)| (kind.name(), *count)).collect();
        if self.missed > 0 {
            kinds.push(("missed or abandoned", self.missed));
        }
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let shown = kinds.iter().map(|(kind, count)| format!("{kind} {}", number::count(*count)));
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl Known {
    /// As a figure.
    pub fn shown(self) -> String {
        match self {
            Self::Nothing => "–".to_owned(),
            Self::Exactly(ns) => number::duration(ns),
            Self::AtLeast(ns) => format!("≥ {}", number::duration(ns)),
        }
    }
}

/// The name of a phase for people who wait.
fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Launch => "starting",
        Phase::RampUp => "ramp-up",
        Phase::WarmUp => "warm-up",
        Phase::Measure => "measuring",
        Phase::Drain => "draining",
    }
}
