//! What is known of a quantile that a criterion names, and what it needs to be decided.

use plan::criterion::Criterion;
use plan::number;
use record::summary::{Grade, Quantile};

/// Beyond so many times the length, a longer run is no advice.
const LONGEST: f64 = 20.0;

/// `p99 12.3 ms (11.9 ms to 13.1 ms), met so far`; `None` if there are too few operations for an interval.
pub fn of(criterion: &Criterion, known: &Quantile) -> Option<String> {
    let (low, high) = (known.low_ns?, known.high_ns?);
    let name = number::percentile(known.q);
    let observed = number::duration(known.observed_ns?);
    let interval = format!("{} to {}", number::duration(low), number::duration(high));
    let needs = needs(criterion, known, (low as f64, high as f64));
    Some(format!("{name} {observed} ({interval}), {needs}"))
}

fn needs(criterion: &Criterion, known: &Quantile, (low, high): (f64, f64)) -> String {
    let holds = |value: f64| criterion.comparison.holds(value, criterion.bound);
    match (holds(low), holds(high)) {
        _ if known.grade == Grade::Refused => "too few operations to decide".to_owned(),
        (true, true) => "met so far".to_owned(),
        (false, false) => "missed so far".to_owned(),
        _ => {
            // An interval narrows with the square root of the length.
            let away = known.observed_ns.map_or(0.0, |ns| (ns as f64 - criterion.bound).abs());
            let times = ((high - low) / 2.0 / away).powi(2).max(1.0);
            match times <= LONGEST {
                true => format!("open: needs about {times:.1} times as long"),
                false => "open: very near to the bound".to_owned(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plan::criterion::Names;

    use super::*;

    fn outlook(text: &str, observed: u64, low: u64, high: Option<u64>) -> Option<String> {
        const MS: u64 = 1_000_000;
        let criterion =
            Criterion::parse(text, (0..text.len()).into(), &Names::default()).expect("a criterion");
        let known = Quantile {
            q: 0.99,
            observed_ns: Some(observed * MS),
            low_ns: Some(low * MS),
            high_ns: high.map(|ms| ms * MS),
            support: 20.0,
            grade: Grade::Supported,
        };
        of(&criterion, &known)
    }

    #[test]
    fn the_side_of_the_interval_decides() {
        let needs = |observed, low, high| {
            let outlook = outlook("p99 < 20ms", observed, low, Some(high)).expect("an interval");
            outlook.split_once("), ").expect("what it needs").1.to_owned()
        };
        assert_eq!(
            outlook("p99 < 20ms", 12, 11, Some(14)).as_deref(),
            Some("p99 12.0 ms (11.0 ms to 14.0 ms), met so far")
        );
        assert_eq!(needs(32, 30, 34), "missed so far");
        // Half of the interval is 6 ms, the bound is 3 ms away: four times as long would do.
        assert_eq!(needs(17, 11, 23), "open: needs about 4.0 times as long");
        assert_eq!(needs(20, 18, 22), "open: very near to the bound");
        assert_eq!(outlook("p99 < 20ms", 20, 18, None), None);
    }
}
