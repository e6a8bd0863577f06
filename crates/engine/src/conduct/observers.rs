//! What observers counted, held against what was sent.

use record::summary::{Expectation, Observer};
use record::{OperationTotals, Totals};
use serde_json::Value;

use crate::process::{Observation, Observed};

/// The observers of a trial, and a sentence for each that could not be read or judged.
pub(super) fn observed(
    observations: Vec<Observation>,
    totals: &Totals,
) -> (Vec<Observer>, Vec<String>) {
    let mut notes = Vec::new();
    let mut observers = Vec::new();
    for observation in observations {
        match observation.answer {
            Err(reason) => notes.push(format!("observer {}: {reason}", observation.name)),
            Ok(observed) => {
                let holds = observation.expect.as_ref().map(|text| holds(text, &observed, totals));
                let expect = match (observation.expect, holds) {
                    (Some(text), Some(Ok(holds))) => Some(Expectation { text, holds }),
                    (Some(text), Some(Err(term))) => {
                        let name = &observation.name;
                        notes.push(format!("observer {name}: {text:?}: {term:?} is not known"));
                        None
                    }
                    _ => None,
                };
                observers.push(observer(observation.name, observed, expect));
            }
        }
    }
    (observers, notes)
}

fn observer(name: String, observed: Observed, expect: Option<Expectation>) -> Observer {
    let mut detail = observed.detail;
    if let Some(encoded) = observed.delivery_time {
        // Kept as it came; the distribution is read from it where pages are made.
        detail.insert("delivery_time".to_owned(), Value::String(encoded));
    }
    Observer {
        name,
        received: observed.received,
        duplicates: observed.duplicates,
        unexpected: observed.unexpected,
        lost: observed.lost,
        delivery_time: None,
        expect,
        detail,
    }
}

/// Judges `LEFT == RIGHT` (or `<=`, `>=`), where a side is a number, a count of the observer, or
/// `operation.item` for the sum of an item.
///
/// Errors: the term that nobody knows
fn holds(text: &str, observed: &Observed, totals: &Totals) -> Result<bool, String> {
    type Compare = fn(&f64, &f64) -> bool;
    let comparisons: [(&str, Compare); 3] = [("==", f64::eq), ("<=", f64::le), (">=", f64::ge)];
    for (sign, compare) in comparisons {
        if let Some((left, right)) = text.split_once(sign) {
            let value = |term| value(term, observed, totals);
            return Ok(compare(&value(left.trim())?, &value(right.trim())?));
        }
    }
    Err(text.to_owned())
}

fn value(term: &str, observed: &Observed, totals: &Totals) -> Result<f64, String> {
    let count = match term {
        "received" => Some(observed.received as f64),
        "duplicates" => Some(observed.duplicates as f64),
        "unexpected" => Some(observed.unexpected as f64),
        "lost" => Some(observed.lost as f64),
        _ => term.parse().ok().or_else(|| observed.detail.get(term).and_then(Value::as_f64)),
    };
    count.or_else(|| sent(term, totals)).ok_or_else(|| term.to_owned())
}

/// A count of an operation: `register.succeeded`.
fn sent(term: &str, totals: &Totals) -> Option<f64> {
    let (name, what) = term.rsplit_once('.')?;
    let operation: &OperationTotals =
        totals.operations.iter().find(|operation| operation.name == name)?;
    match what {
        "planned" => Some(operation.planned as f64),
        "succeeded" => Some(operation.succeeded as f64),
        _ => None,
    }
}
