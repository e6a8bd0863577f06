//! The line of the live display.

use record::event::{Phase, Progress};
use record::summary::Model;

use plan::number;

/// The input of the line.
#[derive(Debug, Clone, Copy)]
pub struct ProgressLine<'a> {
    /// Number of the trial, and of all trials.
    pub trial: (u32, u32),
    /// Number of the block, and of all blocks.
    pub block: (u32, u32),
    /// Time until the last trial ends, without start-up and drain, if it is known.
    pub left_ns: Option<u64>,
    /// Name of the arm.
    pub arm: &'a str,
    /// Model of the load.
    pub model: Model,
    /// Time since the phase began, and its whole length if that is known.
    pub phase_ns: (u64, Option<u64>),
    /// The last reporting interval.
    pub progress: &'a Progress,
    /// Failed since the measure phase began.
    pub failed: u64,
}

impl ProgressLine<'_> {
    /// One line, without its end.
    pub fn render(&self) -> String {
        let progress = self.progress;
        let mut parts = Vec::new();
        if self.block.1 > 1 {
            parts.push(format!("block {}/{}", self.block.0, self.block.1));
        }
        if self.trial.1 > 1 {
            parts.push(format!("trial {}/{} {}", self.trial.0, self.trial.1, self.arm));
        }
        parts.push(self.phase());
        parts.extend(progress.finished_rate.map(number::rate));
        if let (Some(p50), Some(p99)) = (progress.p50_ns, progress.p99_ns) {
            let what = if self.model == Model::Open { "response" } else { "service" };
            parts.push(format!(
                "{what} p50 {} p99 {}",
                number::duration(p50),
                number::duration(p99)
            ));
        }
        parts.push(format!("{} in flight", number::count(progress.in_flight)));
        if self.failed > 0 {
            parts.push(format!("{} failed", number::count(self.failed)));
        }
        if let Some(left_ns) = self.left_ns.filter(|_| self.trial.1 > 1) {
            parts.push(format!("{} left", rounded(left_ns)));
        }
        parts.join(" · ")
    }

    fn phase(&self) -> String {
        let name = match self.progress.phase {
            Some(Phase::Launch) | None => "starting",
            Some(Phase::RampUp) => "ramp-up",
            Some(Phase::WarmUp) => "warm-up",
            Some(Phase::Measure) => "measuring",
            Some(Phase::Drain) => "draining",
        };
        let seconds = |nanoseconds: u64| nanoseconds / 1_000_000_000;
        match self.phase_ns {
            (elapsed, Some(whole)) => {
                format!("{name} {} of {} s", seconds(elapsed), seconds(whole))
            }
            (elapsed, None) => format!("{name} {} s", seconds(elapsed)),
        }
    }
}

/// A duration rounded for people who wait: without tenths of a second.
fn rounded(nanoseconds: u64) -> String {
    let seconds = nanoseconds.div_ceil(1_000_000_000);
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_phase_rate_times_and_failures() {
        let progress = Progress {
            phase: Some(Phase::Measure),
            started: 505,
            succeeded: 498,
            failed: 2,
            finished_rate: Some(500.0),
            in_flight: 4,
            p50_ns: Some(1_100_000),
            p99_ns: Some(8_240_000),
            ..Progress::default()
        };
        let line = ProgressLine {
            trial: (3, 20),
            block: (2, 10),
            left_ns: Some(17 * 65 * 1_000_000_000),
            arm: "path=front",
            model: Model::Closed,
            phase_ns: (12_300_000_000, Some(60_000_000_000)),
            progress: &progress,
            failed: 7,
        };
        insta::assert_snapshot!(
            line.render(),
            @"block 2/10 · trial 3/20 path=front · measuring 12 of 60 s · 500/s · service p50 1.10 ms p99 8.24 ms · 4 in flight · 7 failed · 19 min left"
        );
        let alone = ProgressLine { trial: (1, 1), block: (1, 1), ..line };
        assert!(alone.render().starts_with("measuring 12 of 60 s"), "{}", alone.render());
        assert!(!alone.render().contains("left"), "the phase says it already");
    }

    #[test]
    fn what_is_left_is_rounded_up_to_what_one_waits_for() {
        let seconds = |seconds: u64| rounded(seconds * 1_000_000_000);
        assert_eq!(
            [seconds(0), seconds(99), seconds(100), seconds(601)],
            ["0 s", "99 s", "2 min", "11 min"]
        );
        assert_eq!(seconds(9_000), "2.5 h");
    }
}
