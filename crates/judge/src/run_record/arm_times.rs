//! The times of an arm: one histogram of all its trials, so that a percentile of an arm covers all its operations and
//! is never a mean of percentiles.
//!
//! Not here: which percentiles are supported (see `pages::tables::percentiles`).

use record::folder::RunReader;
use record::summary::{Arm, Model, TrialSummary, Validity};
use stats::quantile::rank;
use stats::{FINE, Histogram};

/// Positions in each power of ten, so close together that a line through them looks smooth.
const STEPS: [f64; 20] = [
    1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.0, 2.25, 2.5, 2.8, 3.2, 3.6, 4.0, 4.5, 5.0, 5.6, 6.4, 7.2,
    8.0, 9.0,
];

/// The times of the operations of an arm, over all of its [reported](reported_trials) trials.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmTimes {
    /// Name of the arm.
    pub arm: String,
    /// Whether its load is open. Then these are response times, with operations that did not succeed as slower than
    /// all others. Otherwise they are service times of operations that succeeded.
    pub is_open: bool,
    /// Operations.
    pub count: u64,
    /// Those of them without a time.
    pub without_time: u64,
    /// Exact greatest time.
    pub max_ns: u64,
    /// Ascending; they end where operations have no time.
    pub percentiles: Vec<Percentile>,
}

/// One percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// 1/(1−q): one operation in this many lies beyond.
    pub one_in: f64,
    /// By nearest rank, to the width of a bucket of the totals.
    pub value_ns: u64,
}

impl ArmTimes {
    /// The percentiles of these times and of this many operations that never succeeded.
    pub fn of(arm: &str, is_open: bool, times: &Histogram, without_time: u64) -> Self {
        Self {
            arm: arm.to_owned(),
            is_open,
            count: times.count() + without_time,
            without_time,
            max_ns: times.max(),
            percentiles: percentiles(times, without_time),
        }
    }

    /// `None` where no trial of the arm is reported, or where the facts of one are missing or have histograms of
    /// another precision.
    pub(super) fn read(reader: &RunReader<'_>, arm: &Arm) -> Option<Self> {
        let is_open = reported_trials(arm).next()?.load.model == Model::Open;
        let (mut times, mut without_time) = (Histogram::new(FINE), 0);
        for trial in reported_trials(arm) {
            for operation in &reader.facts(trial.index).ok()?.totals.operations {
                let of = if is_open { &operation.response_time } else { &operation.service_time };
                if of.grouping_power() != FINE {
                    return None;
                }
                times.merge(of);
                without_time += if is_open { operation.without_time() } else { 0 };
            }
        }
        Some(Self::of(&arm.name, is_open, &times, without_time))
    }
}

/// The trials that represent an arm: those that count, except invalid ones.
pub fn reported_trials(arm: &Arm) -> impl Iterator<Item = &TrialSummary> {
    arm.counted().filter(|trial| trial.validity != Validity::Invalid)
}

/// Each percentile up to the number of operations. If all operations have a time, the last point is the greatest
/// value, at one in all of them, unless a percentile is there already.
fn percentiles(times: &Histogram, without_time: u64) -> Vec<Percentile> {
    let count = times.count() + without_time;
    let (mut buckets, mut below, mut high) = (times.buckets(), 0, 0);
    // Ranks ascend, so the buckets are read once.
    let mut value = |rank: u64| {
        while below < rank {
            let bucket = buckets.next()?;
            (below, high) = (below + bucket.count, bucket.high.min(times.max()));
        }
        Some(high)
    };
    let within = powers_of_ten().take_while(|one_in| *one_in <= count as f64);
    let percentile = |one_in: f64| {
        let rank = rank(1.0 - 1.0 / one_in, count);
        Some(Percentile { one_in, value_ns: value(rank)? })
    };
    let mut percentiles: Vec<Percentile> = within.map_while(percentile).collect();
    let is_cut = percentiles.last().is_some_and(|last| last.one_in < count as f64);
    if is_cut && without_time == 0 {
        percentiles.push(Percentile { one_in: count as f64, value_ns: times.max() });
    }
    percentiles
}

fn powers_of_ten() -> impl Iterator<Item = f64> {
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    (0..).flat_map(move |power| STEPS.map(|step| rounded(step * 10_f64.powi(power))))
}

#[cfg(test)]
mod tests {
    use record::folder::{MemoryFolder, write_facts};
    use record::{FailureKind, Outcome};

    use super::*;
    use crate::example;
    use crate::simulated::{Op, file, simulate};

    const MS: u64 = 1_000_000;

    /// Stores the facts of an open trial of 200 operations, each as `fate` says.
    fn store(folder: &MemoryFolder, index: u32, fate: impl Fn(u64) -> Op) {
        let file = file("rate = \"100/s\"\nduration = \"2s\"", &[]);
        let trial = simulate(&file, 100, 200, fate).trial;
        write_facts(folder, &record::TrialFacts { index, ..trial }).unwrap();
    }

    /// An arm of two trials, the first with 200 answers of 1 ms, the second with 150 of 3 ms and 50 failures.
    fn stored() -> (MemoryFolder, Arm) {
        let folder = MemoryFolder::default();
        let failed = Some(Outcome::Failed(FailureKind::Reset));
        store(&folder, 1, |_| Op::answered(MS));
        store(&folder, 2, |index| match index {
            0..50 => Op { outcome: failed, ..Op::answered(MS) },
            _ => Op::answered(3 * MS),
        });
        let mut arm = example::summary().arms.remove(0);
        let again = TrialSummary { index: 2, ..arm.trials[0].clone() };
        arm.trials.push(again);
        (folder, arm)
    }

    #[test]
    fn trials_of_an_arm_are_one_histogram() {
        let (folder, arm) = stored();
        let times = ArmTimes::read(&RunReader::new(&folder), &arm).unwrap();
        assert_eq!((times.count, times.without_time), (400, 50));
        let ms = |one_in| at(&times, one_in).map(|ns| (ns as f64 / MS as f64).round());
        // The 200th is the last of 1 ms, the 350th the last that has a time.
        assert_eq!([2.0, 2.25, 8.0, 9.0].map(ms), [Some(1.0), Some(3.0), Some(3.0), None]);
    }

    #[test]
    fn of_a_closed_load_the_service_times_of_what_succeeded_are_told() {
        let (folder, mut arm) = stored();
        arm.trials.iter_mut().for_each(|trial| trial.load.model = Model::Closed);
        let times = ArmTimes::read(&RunReader::new(&folder), &arm).unwrap();
        assert_eq!((times.count, times.without_time, times.max_ns), (350, 0, 3 * MS));
    }

    #[test]
    fn a_trial_that_is_not_told_is_left_out_and_one_that_is_lost_leaves_out_its_arm() {
        let (folder, mut arm) = stored();
        arm.trials[1].validity = Validity::Invalid;
        let reader = RunReader::new(&folder);
        assert_eq!(ArmTimes::read(&reader, &arm).unwrap().count, 200);
        (arm.trials[1].validity, arm.trials[1].index) = (Validity::Valid, 9);
        assert_eq!(ArmTimes::read(&reader, &arm), None);
        arm.trials.clear();
        assert_eq!(ArmTimes::read(&reader, &arm), None);
    }

    /// A thousand values, from 1 to 1,000 ns.
    fn thousand() -> Histogram {
        let mut histogram = Histogram::new(FINE);
        (1..=1_000).for_each(|value| histogram.record(value));
        histogram
    }

    fn at(times: &ArmTimes, one_in: f64) -> Option<u64> {
        times
            .percentiles
            .iter()
            .find(|percentile| percentile.one_in == one_in)
            .map(|percentile| percentile.value_ns)
    }

    #[test]
    fn percentiles_are_those_of_the_sample_up_to_its_greatest_value() {
        let times = ArmTimes::of("all", true, &thousand(), 0);
        let wanted = [(1.0, 1), (2.0, 500), (4.0, 750), (10.0, 900), (20.0, 950), (100.0, 990)];
        for (one_in, value) in wanted {
            assert_eq!(at(&times, one_in), Some(value), "one in {one_in}");
        }
        assert_eq!(times.percentiles.last(), Some(&Percentile { one_in: 1_000.0, value_ns: 999 }));
        assert!(times.percentiles.windows(2).all(|pair| pair[0].one_in < pair[1].one_in));
        assert_eq!((times.count, times.max_ns), (1_000, 1_000));
    }

    #[test]
    fn the_greatest_value_ends_the_line() {
        let mut few = Histogram::new(FINE);
        [70, 80, 90].into_iter().for_each(|value| few.record(value));
        let percentiles = ArmTimes::of("all", true, &few, 0).percentiles;
        let ends = [percentiles[0], *percentiles.last().unwrap()]
            .map(|percentile| (percentile.one_in, percentile.value_ns));
        assert_eq!(ends, [(1.0, 70), (3.0, 90)]);
    }

    #[test]
    fn what_never_succeeded_is_slower_than_all_others_and_ends_the_line() {
        // A tenth more: the greatest time is at 1,000 of 1,111.
        let times = ArmTimes::of("all", true, &thousand(), 111);
        assert_eq!((times.count, at(&times, 2.0)), (1_111, Some(556)));
        assert_eq!((at(&times, 9.0), at(&times, 10.0)), (Some(988), Some(1_000)));
        assert_eq!(times.percentiles.last().unwrap().one_in, 10.0, "beyond it nothing has a time");
    }

    #[test]
    fn nothing_has_no_percentiles() {
        assert_eq!(ArmTimes::of("all", false, &Histogram::new(FINE), 0).percentiles, []);
        assert_eq!(ArmTimes::of("all", true, &Histogram::new(FINE), 7).percentiles, []);
    }
}
