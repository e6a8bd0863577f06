//! The data of the chart of all arms: a line of percentiles for each.
//!
//! Not here: where the values come from (see `run_record`), and their table (see `tables::percentiles`).

use serde::Serialize;

use crate::tables::percentiles::{about, groups, supported, title};
use judge::run_record::{ArmTimes, RunRecord};

/// Lines on one chart.
#[derive(Serialize)]
pub struct Chart {
    title: &'static str,
    about: &'static str,
    /// 1/(1−q): one operation in this many lies beyond; ascending.
    x: Vec<f64>,
    arms: Vec<Line>,
}

/// An arm. Times in milliseconds.
#[derive(Serialize)]
struct Line {
    arm: String,
    /// Up to here, on the scale of `x`, percentiles are supported.
    supported: f64,
    ms: Vec<Option<f64>>,
}

/// One chart of response times and one of service times, for kinds with several arms.
pub fn charts(run: &RunRecord) -> Vec<Chart> {
    groups(run).iter().map(|group| chart(run, group)).collect()
}

fn chart(run: &RunRecord, group: &[&ArmTimes]) -> Chart {
    let places = group.iter().flat_map(|arm| &arm.percentiles);
    let mut x: Vec<f64> = places.map(|place| place.one_in).collect();
    x.sort_by(f64::total_cmp);
    x.dedup();
    let arms = group.iter().map(|arm| Line {
        arm: arm.arm.clone(),
        supported: supported(run, arm),
        ms: line(arm, &x),
    });
    Chart { title: title(group), about: about(group), arms: arms.collect(), x }
}

/// At positions of other arms a line has its own next value; after its last position it has none.
fn line(arm: &ArmTimes, x: &[f64]) -> Vec<Option<f64>> {
    let mut places = arm.percentiles.iter().peekable();
    let value = |one_in: &f64| {
        while places.next_if(|place| place.one_in < *one_in).is_some() {}
        places.peek().map(|place| place.value_ns as f64 / 1e6)
    };
    x.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use stats::{FINE, Histogram};

    use super::*;
    use judge::example;

    /// Two arms of the designed run: one with a thousand operations from 1 to 1,000 ms, one with three.
    fn run() -> RunRecord {
        let mut run = example::designed();
        let mut many = Histogram::new(FINE);
        (1..=1_000).for_each(|ms| many.record(ms * 1_000_000));
        let mut few = Histogram::new(FINE);
        [10, 20, 30].into_iter().for_each(|ms| few.record(ms * 1_000_000));
        run.arms = vec![
            ArmTimes::of("messages=0", true, &many, 0),
            ArmTimes::of("messages=5", true, &few, 0),
        ];
        run
    }

    #[test]
    fn every_arm_is_a_line_up_to_its_last_operation() {
        let charts = charts(&run());
        assert_eq!(charts.len(), 1);
        let chart = &charts[0];
        let at = |one_in: f64| chart.x.iter().position(|x| *x == one_in).expect("on the axis");
        let [many, few] = [0, 1].map(|arm| &chart.arms[arm].ms);
        let whole = |ms: Option<f64>| ms.map(f64::round);
        assert_eq!(whole(many[at(2.0)]), Some(500.0));
        assert_eq!(whole(many[at(100.0)]), Some(990.0));
        assert_eq!(
            [at(1.0), at(2.0), at(3.0)].map(|at| whole(few[at])),
            [10.0, 20.0, 30.0].map(Some)
        );
        assert_eq!(few[at(100.0)], None, "it has three operations");
        assert_eq!([chart.x.len(), many.len(), few.len()], [at(1_000.0) + 1; 3]);
        assert!(chart.x.is_sorted());
    }

    #[test]
    fn what_may_be_claimed_of_an_arm_goes_with_its_line() {
        let mut run = run();
        let chart = &charts(&run)[0];
        assert!(chart.arms[0].supported >= 100.0, "240 s are enough for p99");
        run.summary.arms[0].trials.clear();
        assert_eq!(charts(&run)[0].arms[0].supported, 1.0);
    }

    #[test]
    fn one_arm_is_no_chart_of_all() {
        assert_eq!(charts(&example::record()).len(), 0);
    }
}
