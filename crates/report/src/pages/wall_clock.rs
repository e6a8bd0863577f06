//! When something happened by the calendar: instants of a trial count from the start of its measure
//! phase.

use jiff::Timestamp;
use record::event::EventKind;

use crate::run_record::{RunRecord, TrialRecord};

/// Start of a trial's measure phase, nanoseconds since 1970.
///
/// The event that begins a trial carries both clocks; without it, the phases before are added to the
/// trial's start.
pub fn measure_start_ns(run: &RunRecord, trial: &TrialRecord) -> i128 {
    let started = trial.events.iter().find_map(|event| match &event.kind {
        EventKind::TrialStarted { wall_clock, .. } => {
            Some(parse(wall_clock)? - i128::from(event.at_ns))
        }
        _ => None,
    });
    let mut summaries = run.summary.arms.iter().flat_map(|arm| &arm.trials);
    let summary = summaries.find(|one| one.index == trial.index);
    let estimated = summary.and_then(|one| {
        let before = one.phases.ramp_up_ns + one.phases.warm_up_ns;
        Some(parse(&one.started_at)? + i128::from(before))
    });
    started.or(estimated).unwrap_or(0)
}

/// RFC 3339 in UTC, with nanoseconds where there are some.
pub fn rfc3339(since_epoch_ns: i128) -> String {
    Timestamp::from_nanosecond(since_epoch_ns).map_or_else(|_| String::new(), |at| at.to_string())
}

fn parse(text: &str) -> Option<i128> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_nanosecond)
}
