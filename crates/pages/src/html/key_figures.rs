//! The few figures that a reader needs first.

use record::summary::{Distribution, Grade, Model, Operation, Summary, TrialSummary};
use serde::Serialize;

use crate::tables::times;
use plan::number;

/// A figure with its label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyFigure {
    label: String,
    value: String,
    detail: String,
}

/// Key figures of a run with a single trial; none for several trials, which must be compared. They are those of the
/// journey if there is one.
pub fn figures(summary: &Summary) -> Vec<KeyFigure> {
    let mut trials = summary.arms.iter().flat_map(|arm| &arm.trials);
    match (trials.next(), trials.next()) {
        (Some(trial), None) => match &trial.journeys[..] {
            [journey] => of_journey(trial, &journey.whole),
            _ => vec![
                throughput(trial),
                time(trial, 0.5),
                time(trial, 0.99),
                unsuccessful(trial),
                lag(trial),
            ],
        },
        _ => Vec::new(),
    }
}

fn of_journey(trial: &TrialSummary, whole: &Operation) -> Vec<KeyFigure> {
    let share = whole.succeeded as f64 / whole.planned.max(1) as f64;
    let detail = format!("{} of {}", number::count(whole.succeeded), number::count(whole.planned));
    let succeeded =
        KeyFigure { label: "Journeys succeeded".to_owned(), value: number::percent(share), detail };
    vec![
        succeeded,
        quantile(trial, "Journey time", &whole.response_time, 0.5),
        quantile(trial, "Journey time", &whole.response_time, 0.99),
        quantile(trial, "Without thinking", &whole.service_time, 0.5),
        lag(trial),
    ]
}

fn throughput(trial: &TrialSummary) -> KeyFigure {
    let open = trial.load.model == Model::Open;
    let detail = if open {
        format!("of {} offered", number::rate(trial.rates.offered))
    } else if trial.load.users.is_some() {
        times::actors(trial)
    } else {
        "closed load".to_owned()
    };
    KeyFigure { label: "Goodput".to_owned(), value: number::rate(trial.rates.goodput), detail }
}

fn time(trial: &TrialSummary, q: f64) -> KeyFigure {
    let open = trial.load.model == Model::Open;
    let (what, times) = if open {
        ("Response time", &trial.total.response_time)
    } else {
        ("Service time", &trial.total.service_time)
    };
    quantile(trial, what, times, q)
}

fn quantile(trial: &TrialSummary, what: &str, times: &Distribution, q: f64) -> KeyFigure {
    let entry = times.quantiles.iter().find(|entry| entry.q == q);
    let value = number::duration_or(entry.and_then(|entry| entry.observed_ns), "–");
    let detail = match entry {
        Some(entry) if entry.grade != Grade::Refused => {
            let (low, high) = (entry.low_ns, entry.high_ns);
            let text = |end| number::duration_or(end, "unknown");
            format!("{} – {} (95 %)", text(low), text(high))
        }
        Some(entry) => {
            format!("in this sample; a claim needs {}", times::length_for_support(entry, trial))
        }
        None => "nothing observed".to_owned(),
    };
    KeyFigure { label: format!("{what} {}", number::percentile(q)), value, detail }
}

fn unsuccessful(trial: &TrialSummary) -> KeyFigure {
    let accounting = &trial.accounting;
    let lost = accounting.planned - accounting.succeeded.min(accounting.planned);
    let share = lost as f64 / accounting.planned.max(1) as f64;
    KeyFigure {
        label: "Not succeeded".to_owned(),
        value: number::percent(share),
        detail: format!("{} of {}", number::count(lost), number::count(accounting.planned)),
    }
}

fn lag(trial: &TrialSummary) -> KeyFigure {
    let entry = trial.generator.dispatch_lag.quantiles.iter().find(|entry| entry.q == 0.99);
    KeyFigure {
        label: "Dispatch lag p99".to_owned(),
        value: number::duration_or(entry.and_then(|entry| entry.observed_ns), "–"),
        detail: "lateness of the generator".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;

    #[test]
    fn a_refused_quantile_says_how_long_a_run_would_support_it() {
        let mut trial = example::flawless(1).arms[0].trials[0].clone();
        let seconds = trial.phases.measure_ns / 1_000_000_000;
        let entries = &mut trial.total.response_time.quantiles;
        let entry = entries.iter_mut().find(|entry| entry.q == 0.99).unwrap();
        (entry.grade, entry.support, entry.low_ns, entry.high_ns) =
            (Grade::Refused, 2.0, None, None);
        let figure = time(&trial, 0.99);
        assert_eq!(figure.value, number::duration_or(entry_of(&trial), "–"));
        // Ten effective events, where there were two.
        let wanted =
            format!("in this sample; a claim needs about {} min", (seconds * 5).div_ceil(60));
        assert_eq!(figure.detail, wanted);
    }

    fn entry_of(trial: &TrialSummary) -> Option<u64> {
        let entries = &trial.total.response_time.quantiles;
        entries.iter().find(|entry| entry.q == 0.99).and_then(|entry| entry.observed_ns)
    }
}
