//! Compares the counts of observers with what was sent.

use plan::criterion::{Operator, TOTAL};
use plan::expectation::{self, ExpectationTerm, Inequality, ObserverCount};
use record::summary::{Expectation, Observer};
use record::{OperationTotals, Totals};
use serde_json::Value;

use crate::process::{Observation, Observed};

/// The observers of a trial, and a sentence for each that could not be read or judged. An expectation that cannot be
/// judged does not hold; the sentence gives the reason.
///
/// Shape:  `items`: names of the items of each operation, as in the layout of the totals
pub(super) fn observed(
    observations: Vec<Observation>,
    totals: &Totals,
    items: &[Vec<String>],
) -> (Vec<Observer>, Vec<String>) {
    let mut notes = Vec::new();
    let mut observers = Vec::new();
    for observation in observations {
        match observation.answer {
            Err(reason) => {
                notes.push(format!("observer {}: {reason}", observation.name));
                observers
                    .extend(observation.expect.map(|text| silent(&observation.name, text, reason)));
            }
            Ok(observed) => {
                let sent = SentCounts { totals, items };
                let name = &observation.name;
                let mut lost = observed.lost;
                let expect = observation.expect.map(|text| match judge(&text, &observed, &sent) {
                    Ok(Judgement { holds, sides, missing }) => {
                        lost = lost.max(missing);
                        Expectation { text, holds, sides: Some(sides), unjudged: None }
                    }
                    Err(term) => {
                        notes.push(format!("observer {name}: {text:?}: unknown term {term:?}"));
                        let unjudged = Some(format!("unknown term `{term}`"));
                        Expectation { text, unjudged, ..Expectation::default() }
                    }
                });
                let observed = Observed { lost, ..observed };
                observers.push(observer(observation.name, observed, expect));
            }
        }
    }
    (observers, notes)
}

/// An observer with an expectation that did not answer.
fn silent(name: &str, text: String, reason: String) -> Observer {
    let unjudged = Some("it did not answer".to_owned());
    let expect = Some(Expectation { text, unjudged, ..Expectation::default() });
    Observer { name: name.to_owned(), expect, unanswered: Some(reason), ..Observer::default() }
}

fn observer(name: String, observed: Observed, expect: Option<Expectation>) -> Observer {
    let mut detail = observed.detail;
    if let Some(encoded) = observed.delivery_time {
        // Kept encoded; pages decode it.
        detail.insert("delivery_time".to_owned(), Value::String(encoded));
    }
    Observer {
        name,
        counts: observed.counts,
        received: observed.received,
        duplicates: observed.duplicates,
        unexpected: observed.unexpected,
        lost: observed.lost,
        delivery_time: None,
        expect,
        detail,
        unanswered: None,
    }
}

/// Counts of sent operations.
struct SentCounts<'a> {
    totals: &'a Totals,
    items: &'a [Vec<String>],
}

/// The result of an expectation.
struct Judgement {
    holds: bool,
    /// Both sides of its first comparison.
    sides: [f64; 2],
    /// Expected and not received: the observer alone may not know what was sent.
    missing: u64,
}

/// Judges comparisons joined by `and`: all of them must hold.
///
/// Errors: the first unknown term
fn judge(text: &str, observed: &Observed, sent: &SentCounts<'_>) -> Result<Judgement, String> {
    let comparisons = expectation::parse(text).map_err(|_| text.to_owned())?;
    let mut comparisons = comparisons.iter().map(|one| compare(one, observed, sent));
    let first = comparisons.next().unwrap_or_else(|| Err(text.to_owned()))?;
    comparisons.try_fold(first, |all, one| {
        let one = one?;
        let (holds, missing) = (all.holds && one.holds, all.missing.max(one.missing));
        Ok(Judgement { holds, missing, ..all })
    })
}

/// Judges one comparison; for `received`, also counts what is missing.
///
/// Errors: the unknown term
fn compare(
    comparison: &Inequality<'_>,
    observed: &Observed,
    sent: &SentCounts<'_>,
) -> Result<Judgement, String> {
    let sum = |side: &[ExpectationTerm<'_>]| -> Result<f64, String> {
        side.iter().map(|term| value(*term, observed, sent)).sum()
    };
    let Inequality { left, operator, right } = comparison;
    let sides = [sum(left)?, sum(right)?];
    let is_of_arrival = matches!(left[..], [term] if term.count() == Some(ObserverCount::Received));
    let missing = match operator {
        Operator::Equal | Operator::AtLeast if is_of_arrival => sides[1] - sides[0],
        _ => 0.0,
    };
    Ok(Judgement {
        holds: operator.holds(sides[0], sides[1]),
        sides,
        missing: missing.max(0.0) as u64,
    })
}

fn value(
    term: ExpectationTerm<'_>,
    observed: &Observed,
    sent: &SentCounts<'_>,
) -> Result<f64, String> {
    let own = match term.count() {
        Some(ObserverCount::Received) => Some(observed.received as f64),
        Some(ObserverCount::Duplicates) => Some(observed.duplicates as f64),
        Some(ObserverCount::Unexpected) => Some(observed.unexpected as f64),
        Some(ObserverCount::Lost) => Some(observed.lost as f64),
        None => observed.detail.get(term.text).and_then(Value::as_f64),
    };
    let known = term.number().or(own).or_else(|| sent.value(term));
    known.ok_or_else(|| term.text.to_owned())
}

impl SentCounts<'_> {
    /// A count of an operation, `register.succeeded`, or of all operations, `all.succeeded`, or the sum of an item,
    /// `multicast.delivered`. Includes the warm-up, because its messages arrived, too.
    fn value(&self, term: ExpectationTerm<'_>) -> Option<f64> {
        let (name, what) = term.of_operation()?;
        if name == TOTAL {
            let operations = &self.totals.operations;
            return operations.iter().map(|operation| count(operation, what)).sum();
        }
        let place = self.totals.operations.iter().position(|operation| operation.name == name)?;
        let operation = &self.totals.operations[place];
        count(operation, what).or_else(|| {
            let item = self.items.get(place)?.iter().position(|known| known == what)?;
            let before = operation.before.items.get(item).copied().unwrap_or(0.0);
            Some(operation.items.get(item)?.sum + before)
        })
    }
}

fn count(operation: &OperationTotals, what: &str) -> Option<f64> {
    let before = &operation.before;
    match expectation::SentCount::parse(what)? {
        expectation::SentCount::Planned => Some((operation.planned + before.planned) as f64),
        expectation::SentCount::Succeeded => Some((operation.succeeded + before.succeeded) as f64),
    }
}

#[cfg(test)]
mod tests {
    use record::{BeforeMeasure, ItemTotals, Layout};

    use super::*;

    fn judged(expect: &str) -> (bool, Vec<String>) {
        let (observer, notes) = told(expect);
        (observer.expect.unwrap().holds, notes)
    }

    fn told(expect: &str) -> (Observer, Vec<String>) {
        let layout = Layout {
            operations: vec!["register".into(), "multicast".into()],
            items: vec![vec![], vec!["targets".into(), "delivered".into()]],
            spans: Vec::new(),
            journeys: Vec::new(),
        };
        let mut totals = Totals::new(&layout);
        totals.operations[0].succeeded = 7;
        totals.operations[1].items[1] = ItemTotals { count: 3, sum: 12.0, ..Default::default() };
        let answer = Ok(Observed { received: 12, ..Observed::default() });
        let one = Observation { name: "sink".into(), expect: Some(expect.into()), answer };
        let (mut observers, notes) = observed(vec![one], &totals, &layout.items);
        (observers.remove(0), notes)
    }

    #[test]
    fn what_was_to_arrive_and_did_not_is_lost() {
        for (expect, lost, sides) in [
            ("received == multicast.delivered", 0, [12.0, 12.0]),
            ("received == multicast.delivered + 3", 3, [12.0, 15.0]),
            ("received >= register.succeeded + 8", 3, [12.0, 15.0]),
            ("received >= register.succeeded", 0, [12.0, 7.0]),
            ("received <= 15", 0, [12.0, 15.0]),
            ("duplicates == 15", 0, [0.0, 15.0]),
            ("duplicates == 0 and received == 15", 3, [0.0, 0.0]),
        ] {
            let (observer, _) = told(expect);
            assert_eq!((observer.lost, observer.expect.unwrap().sides), (lost, Some(sides)));
        }
    }

    #[test]
    fn what_arrived_is_held_against_what_was_sent() {
        for (expect, holds) in [
            ("received == multicast.delivered", true),
            ("received == multicast.targets", false),
            ("received >= register.succeeded", true),
            ("received <= 11", false),
            ("received == register.succeeded + 5", true),
            ("received + 1 == multicast.delivered", false),
            ("received == all.succeeded + 5", true),
            ("received == all.planned + 12", true),
            ("received == multicast.delivered and duplicates == 0", true),
            ("received == multicast.delivered and duplicates == 1", false),
            ("duplicates == 1 and received == multicast.delivered", false),
        ] {
            assert_eq!(judged(expect), (holds, Vec::new()), "{expect}");
        }
    }

    /// An observer may judge the answers and report a share.
    #[test]
    fn an_observer_can_report_shares_by_name() {
        let totals = Totals::new(&Layout::default());
        for (expect, holds) in [
            ("recall >= 0.95", true),
            ("recall >= 0.96", false),
            ("0.9 <= recall", true),
            ("planted_first == 1", true),
        ] {
            let detail = [("recall", 0.953.into()), ("planted_first", 1.0.into())];
            let detail = detail.map(|(name, share)| (name.to_owned(), share)).into();
            let answer = Ok(Observed { received: 100, detail, ..Observed::default() });
            let one = Observation { name: "judge".into(), expect: Some(expect.into()), answer };
            let (observers, notes) = observed(vec![one], &totals, &[]);
            let told = observers[0].expect.as_ref().unwrap().holds;
            assert_eq!((told, notes), (holds, Vec::new()), "{expect}");
        }
    }

    #[test]
    fn what_the_warm_up_sent_has_arrived_too() {
        let mut totals = Totals::new(&Layout {
            operations: vec!["multicast".into()],
            items: vec![vec!["delivered".into()]],
            spans: Vec::new(),
            journeys: Vec::new(),
        });
        let operation = &mut totals.operations[0];
        (operation.planned, operation.succeeded) = (5, 4);
        operation.items[0] = ItemTotals { count: 4, sum: 40.0, ..Default::default() };
        operation.before = BeforeMeasure { planned: 3, succeeded: 2, items: vec![20.0] };
        let items = [vec!["delivered".to_owned()]];
        let sent = SentCounts { totals: &totals, items: &items };
        for (term, known) in [
            ("multicast.planned", Some(8.0)),
            ("multicast.succeeded", Some(6.0)),
            ("all.succeeded", Some(6.0)),
            ("multicast.delivered", Some(60.0)),
            ("all.delivered", None),
        ] {
            let text = format!("{term} == 0");
            let read = expectation::parse(&text).unwrap();
            assert_eq!(sent.value(read[0].left[0]), known, "{term}");
        }
    }

    #[test]
    fn who_does_not_answer_counts_nothing_and_is_not_judged() {
        let layout = Layout::default();
        let asked = |expect: Option<&str>| {
            let (expect, answer) = (expect.map(str::to_owned), Err("timed out".to_owned()));
            let one = Observation { name: "judge".into(), expect, answer };
            observed(vec![one], &Totals::new(&layout), &layout.items)
        };
        let (observers, notes) = asked(Some("recall >= 0.9"));
        assert_eq!(observers[0].unanswered.as_deref(), Some("timed out"));
        let expect = observers[0].expect.as_ref().unwrap();
        assert_eq!((expect.holds, expect.unjudged.as_deref()), (false, Some("it did not answer")));
        assert_eq!(notes, ["observer judge: timed out"]);
        assert_eq!(asked(None), (Vec::new(), notes), "nothing was expected");
    }

    #[test]
    fn an_unknown_term_does_not_hold_and_is_a_note() {
        let (holds, notes) = judged("received == multicast.deliverd");
        assert!(!holds);
        assert!(notes[0].contains("multicast.deliverd"), "{notes:?}");
        let (observer, _) = told("received == multicast.deliverd");
        let unjudged = observer.expect.unwrap().unjudged.unwrap();
        assert_eq!(unjudged, "unknown term `multicast.deliverd`");
        let (holds, notes) = judged("received == 12 and damagd == 0");
        assert!(!holds && notes[0].contains("damagd"), "{notes:?}");
    }
}
