//! The observers' values of every arm, for the terms of their expectations.

use plan::expectation::{self, ExpectationTerm, Inequality, ObserverCount};
use record::summary::{Arm, Expectation, Observer, Summary};
use serde_json::Value;

use super::Table;
use super::arms::Arms;
use plan::number;

/// Decimal places in which every number other than 1 differs from it.
const DIGITS: usize = 16;

/// Expectations of each arm over all trials that count, if there are several of those.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    if summary.counted().nth(1).is_none() || summary.capacity.is_some() {
        return None;
    }
    let columns = ["arm", "observer", "seen", "expected", "#holds in"];
    let title = "What observers saw, held against what was expected";
    let mut table = Table::new("observed-by-arm", title, &columns)
        .note("Least and greatest of the trials; an observer sees the warm-up, too.");
    let arms = Arms::head(summary, &mut table, 0);
    for arm in &summary.arms {
        for seen in ExpectedTerm::all(arm) {
            table.row([
                arms.cell(&arm.name),
                seen.observer.to_owned(),
                seen.values(),
                seen.expected.to_owned(),
                format!("{} of {}", seen.holds, seen.observers.len()),
            ]);
        }
    }
    table.unless_empty()
}

/// One expectation of an observer, in all trials of an arm.
struct ExpectedTerm<'a> {
    observer: &'a str,
    expected: &'a str,
    observers: Vec<&'a Observer>,
    holds: usize,
}

impl<'a> ExpectedTerm<'a> {
    fn all(arm: &'a Arm) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let observers = arm.counted().flat_map(|trial| &trial.observers);
        for (one, expect) in observers.filter_map(|one| Some((one, one.expect.as_ref()?))) {
            let is_same =
                |seen: &&mut Self| seen.observer == one.name && seen.expected == expect.text;
            match all.iter_mut().find(is_same) {
                Some(seen) => seen.add(one, expect),
                None => {
                    let (observer, expected) = (one.name.as_str(), expect.text.as_str());
                    let mut seen = Self { observer, expected, observers: Vec::new(), holds: 0 };
                    seen.add(one, expect);
                    all.push(seen);
                }
            }
        }
        all
    }

    fn add(&mut self, observer: &'a Observer, expect: &Expectation) {
        self.observers.push(observer);
        self.holds += usize::from(expect.holds);
    }

    /// Each term of the expectation that the observer reported, with its least and greatest value.
    fn values(&self) -> String {
        let mut texts: Vec<String> = Vec::new();
        let comparisons = expectation::parse(self.expected).unwrap_or_default();
        for term in comparisons.iter().flat_map(Inequality::terms) {
            let answered = self.observers.iter().filter(|one| one.unanswered.is_none());
            let values: Vec<f64> = answered.filter_map(|one| value(one, term)).collect();
            let least = values.iter().copied().reduce(f64::min);
            let greatest = values.iter().copied().reduce(f64::max);
            let Some((least, greatest)) = least.zip(greatest) else { continue };
            let [least, greatest] = [least, greatest].map(shown);
            let range = if least == greatest { least } else { format!("{least} – {greatest}") };
            let text = format!("{} {range}", term.text);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        if texts.is_empty() { "–".to_owned() } else { texts.join(", ") }
    }
}

/// The observer's value of a term.
fn value(observer: &Observer, term: ExpectationTerm<'_>) -> Option<f64> {
    match term.count() {
        Some(ObserverCount::Received) => Some(observer.received as f64),
        Some(ObserverCount::Duplicates) => Some(observer.duplicates as f64),
        Some(ObserverCount::Unexpected) => Some(observer.unexpected as f64),
        Some(ObserverCount::Lost) => Some(observer.lost as f64),
        None => observer.detail.get(term.text).and_then(Value::as_f64),
    }
}

/// A count without decimals, and a share with as many as needed to differ from 1: 0.9996 is not 1.
fn shown(value: f64) -> String {
    if value.fract() == 0.0 && value >= 0.0 {
        return number::count(value as u64);
    }
    let is_one = |text: &str| text.parse::<f64>() == Ok(1.0);
    let rounded = number::significant(value);
    if !is_one(&rounded) {
        return rounded;
    }
    let mut longer = (5..=DIGITS).map(|digits| format!("{value:.digits$}"));
    longer.find(|text| !is_one(text)).unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use record::summary::TrialSummary;

    use super::*;
    use judge::example;

    fn judged(recalls: &[f64], expected: &str) -> Summary {
        let mut summary = example::summary();
        let model = summary.arms[0].trials[0].clone();
        let trial = |recall: &f64| {
            let holds = *recall >= 0.95;
            let text = expected.to_owned();
            let observer = Observer {
                name: "judge".into(),
                received: 1_300,
                detail: [("recall".to_owned(), (*recall).into())].into(),
                expect: Some(Expectation { text, holds, ..Expectation::default() }),
                ..Observer::default()
            };
            TrialSummary { observers: vec![observer], ..model.clone() }
        };
        summary.arms[0].trials = recalls.iter().map(trial).collect();
        summary
    }

    #[test]
    fn what_is_expected_stands_by_its_values_in_every_arm() {
        let mut summary = judged(&[0.9996, 0.913], "recall >= 0.95");
        let again = summary.arms[0].clone();
        summary.arms.push(Arm { name: "path=front".into(), ..again });
        summary.arms[1].trials.truncate(1);
        let rows = by_arm(&summary).unwrap().rows;
        assert_eq!(rows[0][1..], ["judge", "recall 0.913 – 0.99960", "recall >= 0.95", "1 of 2"]);
        assert_eq!(rows[1][2..], ["recall 0.99960", "recall >= 0.95", "1 of 1"]);
    }

    #[test]
    fn what_is_not_1_is_not_shown_as_1() {
        for (value, text) in [
            (1.0, "1"),
            (0.9996, "0.99960"),
            (0.999996, "0.999996"),
            (1.000_000_4, "1.0000004"),
            (1.0 - f64::EPSILON / 2.0, "0.9999999999999999"),
            (0.913, "0.913"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn every_term_that_the_observer_knows_is_told_once() {
        let text =
            "received >= all.succeeded + 3 and 0.9 <= recall and received <= 9 and lost == 0";
        let rows = by_arm(&judged(&[1.0, 1.0], text)).unwrap().rows;
        assert_eq!(rows[0][2], "received 1,300, recall 1, lost 0");
    }

    #[test]
    fn who_did_not_answer_saw_nothing_and_one_trial_has_its_own_table() {
        let mut summary = judged(&[0.9, 0.9], "recall >= 0.95");
        for trial in &mut summary.arms[0].trials {
            trial.observers[0].unanswered = Some("timed out".into());
        }
        assert_eq!(by_arm(&summary).unwrap().rows[0][2..], ["–", "recall >= 0.95", "0 of 2"]);
        assert_eq!(by_arm(&judged(&[0.9], "recall >= 0.95")), None);
    }
}
