//! Percentiles of each arm, over all of its trials together: the values of the chart of all arms, and which of them
//! are supported.
//!
//! Not here: how arms differ (see `comparison`), percentiles of single trials (see `times`).

use record::summary::{Arm, Distribution, TrialSummary};
use stats::quantile::Grade;

use super::Table;
use super::arms::Arms;
use judge::run_record::{ArmTimes, RunRecord, reported_trials};
use plan::number;

/// One operation in this many lies beyond: p50, p90, p99, p99.9, p99.99.
const SHOWN: [f64; 5] = [2.0, 10.0, 100.0, 1_000.0, 10_000.0];
const COLUMNS: [&str; 8] =
    ["arm", "#operations", "#p50", "#p90", "#p99", "#p99.9", "#p99.99", "#greatest"];

/// One table of response times and one of service times, for kinds with several arms.
pub fn by_arm(run: &RunRecord) -> Vec<Table> {
    groups(run).iter().map(|group| table(run, group)).collect()
}

/// Arms whose times are of the same kind and can be compared.
pub fn groups(run: &RunRecord) -> Vec<Vec<&ArmTimes>> {
    let of = |is_open: bool| {
        let timed = |arm: &&ArmTimes| arm.is_open == is_open && !arm.percentiles.is_empty();
        run.arms.iter().filter(timed).collect::<Vec<_>>()
    };
    [of(true), of(false)].into_iter().filter(|group| group.len() > 1).collect()
}

/// The kind of times in a group.
pub fn title(group: &[&ArmTimes]) -> &'static str {
    match group.first().is_some_and(|arm| arm.is_open) {
        true => "Response time of all arms",
        false => "Service time of all arms",
    }
}

/// The operations in a group's times.
pub fn about(group: &[&ArmTimes]) -> &'static str {
    match group.first().is_some_and(|arm| arm.is_open) {
        true => {
            "Of all operations of an arm's trials together, in one histogram; those that did not succeed count as slower than all others."
        }
        false => {
            "Of all operations of an arm's trials together, in one histogram; of those that succeeded."
        }
    }
}

/// The highest percentile that the trials of an arm support, as one operation in this many; 1 where there is none.
///
/// Tail events of all trials count together. With a trial in overload or without a steady state, the arm supports
/// none.
pub fn supported(run: &RunRecord, times: &ArmTimes) -> f64 {
    let arm = run.summary.arms.iter().find(|arm| arm.name == times.arm);
    arm.and_then(|arm| claimed(arm, times.is_open)).map_or(1.0, |q| (1.0 / (1.0 - q)).round())
}

/// The greatest listed quantile that is supported.
fn claimed(arm: &Arm, is_open: bool) -> Option<f64> {
    let trials: Vec<&TrialSummary> = reported_trials(arm).collect();
    if !trials.iter().all(|trial| trial.is_usable()) {
        return None;
    }
    let windows = trials.iter().map(|trial| trial.phases.measure_ns / trial.window_ns.max(1));
    let windows = usize::try_from(windows.sum::<u64>()).unwrap_or(usize::MAX);
    let listed = trials.first().into_iter().flat_map(|trial| &times(trial, is_open).quantiles);
    let support = |q: f64| -> f64 {
        let entries = trials.iter().flat_map(|trial| &times(trial, is_open).quantiles);
        entries.filter(|entry| entry.q == q).map(|entry| entry.support).sum()
    };
    let quantiles = listed.map(|entry| entry.q);
    quantiles.filter(|q| Grade::of(support(*q), windows) == Grade::Supported).reduce(f64::max)
}

/// The distribution of a single trial that corresponds to [`ArmTimes`].
fn times(trial: &TrialSummary, is_open: bool) -> &Distribution {
    if is_open { &trial.total.outcome_time } else { &trial.total.service_time }
}

fn table(run: &RunRecord, group: &[&ArmTimes]) -> Table {
    let title = match group.first().is_some_and(|arm| arm.is_open) {
        true => "Response time by arm",
        false => "Service time by arm",
    };
    let mut table = Table::new("percentiles-by-arm", title, &COLUMNS).note(format!(
        "{} In brackets: seen in these trials and not to be claimed, since too few operations lie beyond, or since a trial was in overload or in no steady state.",
        about(group)
    ));
    let names = Arms::head(&run.summary, &mut table, 0);
    for arm in group {
        let supported = supported(run, arm);
        let [p50, p90, p99, p999, p9999] = SHOWN.map(|one_in| cell(arm, one_in, supported));
        table.row([
            names.cell(&arm.arm),
            number::count(arm.count),
            p50,
            p90,
            p99,
            p999,
            p9999,
            number::duration(arm.max_ns),
        ]);
    }
    table
}

fn cell(arm: &ArmTimes, one_in: f64, supported: f64) -> String {
    match arm.percentiles.iter().find(|place| place.one_in == one_in) {
        Some(place) if one_in <= supported => number::duration(place.value_ns),
        Some(place) => format!("({})", number::duration(place.value_ns)),
        None if arm.without_time > 0 && one_in <= arm.count as f64 => "never succeeded".to_owned(),
        None => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use record::summary::Validity;
    use stats::{FINE, Histogram};

    use super::*;
    use judge::example;

    /// A thousand operations from 1 to 1,000 ms, and some that never succeeded.
    fn times(arm: &str, is_open: bool, without_time: u64) -> ArmTimes {
        let mut histogram = Histogram::new(FINE);
        (1..=1_000).for_each(|ms| histogram.record(ms * 1_000_000));
        ArmTimes::of(arm, is_open, &histogram, without_time)
    }

    /// Two arms of one trial each, with this many effective events beyond each listed quantile.
    fn run(support: [f64; 7]) -> RunRecord {
        let mut run = example::designed();
        run.summary.arms.truncate(2);
        for arm in &mut run.summary.arms {
            arm.trials.truncate(2);
            for trial in &mut arm.trials {
                for of in [&mut trial.total.outcome_time, &mut trial.total.service_time] {
                    let entries = of.quantiles.iter_mut().zip(support);
                    entries.for_each(|(entry, support)| entry.support = support);
                }
            }
        }
        run.arms = ["messages=0", "messages=5"].map(|arm| times(arm, true, 0)).into();
        run
    }

    /// p99 has five events in each trial, p99.9 half an event.
    const SUPPORT: [f64; 7] = [250.0, 125.0, 50.0, 25.0, 5.0, 0.5, 0.05];

    #[test]
    fn trials_support_together_what_none_of_them_does() {
        let mut run = run(SUPPORT);
        assert_eq!(supported(&run, &run.arms[0]), 100.0);
        run.summary.arms[0].trials.pop();
        assert_eq!(supported(&run, &run.arms[0]), 20.0);
        assert_eq!(supported(&run, &run.arms[1]), 100.0, "the other has both");
    }

    #[test]
    fn a_trial_in_overload_supports_nothing_and_one_that_was_spoiled_is_not_there() {
        let mut run = run(SUPPORT);
        run.summary.arms[0].trials[1].validity = Validity::Invalid;
        assert_eq!(supported(&run, &run.arms[0]), 20.0);
        run.summary.arms[0].trials[1].validity = Validity::Overload;
        assert_eq!(supported(&run, &run.arms[0]), 1.0);
    }

    #[test]
    fn short_trials_say_too_little_of_how_windows_vary() {
        let mut run = run(SUPPORT);
        let trials = &mut run.summary.arms[0].trials;
        trials.iter_mut().for_each(|trial| trial.phases.measure_ns = 7 * trial.window_ns);
        assert_eq!(supported(&run, &run.arms[0]), 1.0);
    }

    #[test]
    fn what_may_not_be_claimed_stands_in_brackets() {
        let mut run = run(SUPPORT);
        run.arms[1] = times("messages=5", true, 12);
        let table = &by_arm(&run)[0];
        assert_eq!(table.title, "Response time by arm");
        let ms = |places: [&str; 7]| places.map(str::to_owned).to_vec();
        let rest = |row: &[String]| row[1..].to_vec();
        let whole = ["1,000", "500 ms", "900 ms", "990 ms", "(999 ms)", "–", "1.00 s"];
        assert_eq!((table.rows[0][0].as_str(), rest(&table.rows[0])), ("messages=0", ms(whole)));
        // 1,012 operations: the hundredth from the end is the 1,002nd.
        let ended = ["1,012", "506 ms", "911 ms", "never succeeded", "never succeeded"];
        assert_eq!(rest(&table.rows[1])[..5], ended);
    }

    #[test]
    fn closed_loads_are_apart_and_one_arm_is_no_comparison() {
        let mut run = run(SUPPORT);
        run.arms.push(times("messages=10", false, 0));
        assert_eq!(by_arm(&run).len(), 1, "one closed load");
        run.arms.push(times("messages=20", false, 0));
        let titles: Vec<String> = by_arm(&run).into_iter().map(|table| table.title).collect();
        assert_eq!(titles, ["Response time by arm", "Service time by arm"]);
        run.arms.truncate(1);
        assert_eq!(by_arm(&run), []);
    }
}
