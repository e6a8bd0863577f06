//! Calendar times of events: times in a trial count from the start of its measure phase.

use jiff::Timestamp;
use record::event::{Event, EventKind};

use judge::run_record::{RunRecord, TrialRecord};

/// Start of a trial's measure phase, nanoseconds since 1970.
///
/// One event of a trial has both clocks; without it, the lengths of the earlier phases are added to the trial's
/// start.
pub fn measure_start_ns(run: &RunRecord, trial: &TrialRecord) -> i128 {
    let dated = trial.events.iter().find_map(measure_start_of);
    let mut summaries = run.summary.arms.iter().flat_map(|arm| &arm.trials);
    let summary = summaries.find(|one| one.index == trial.index);
    let estimated = summary.and_then(|one| {
        let before = one.phases.ramp_up_ns + one.phases.warm_up_ns;
        Some(parse(&one.started_at)? + i128::from(before))
    });
    dated.or(estimated).unwrap_or(0)
}

/// Start of the measure phase, nanoseconds since 1970, from the event with both clocks; `None` for other events.
pub fn measure_start_of(event: &Event) -> Option<i128> {
    match &event.kind {
        EventKind::Dated { wall_clock } => Some(parse(wall_clock)? - i128::from(event.at_ns)),
        _ => None,
    }
}

/// RFC 3339 in UTC, with nanoseconds where there are some.
pub fn rfc3339(since_epoch_ns: i128) -> String {
    Timestamp::from_nanosecond(since_epoch_ns).map_or_else(|_| String::new(), |at| at.to_string())
}

fn parse(text: &str) -> Option<i128> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_nanosecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;

    #[test]
    fn what_was_launched_before_does_not_move_the_calendar() {
        let summary = example::summary();
        let before = summary.arms[0].trials[0].phases;
        let plan = serde_json::Value::Null;
        let run = RunRecord { summary, plan, trials: Vec::new(), arms: Vec::new() };
        let began = |kind, at_ns| {
            let events = vec![Event { at_ns, kind }];
            measure_start_ns(&run, &TrialRecord { index: 1, events, ..TrialRecord::default() })
        };
        let started = parse(&run.summary.arms[0].trials[0].started_at).unwrap();
        let lead = i128::from(before.ramp_up_ns + before.warm_up_ns);
        assert_eq!(began(EventKind::Interrupted, 0), started + lead, "nothing dates it");
        let dated = EventKind::Dated { wall_clock: "2026-01-01T00:00:07.25Z".to_owned() };
        let known = parse("2026-01-01T00:00:12.5Z").unwrap();
        assert_eq!(began(dated, -5_250_000_000), known);
    }
}
