//! Where the time of operations went: the spans of every arm in one table, as the instrument measured them.

use std::collections::BTreeMap;

use record::summary::{Arm, CountsFor, Operation, Summary};

use super::Table;
use super::arms::Arms;
use super::streams;
use plan::number;

/// Spans of each arm and operation over all trials that count, if there is more than one arm.
///
/// The mean of a span is over all operations, including those without it: the operations on a connection share the
/// time to open it.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    if summary.arms.len() < 2 || summary.capacity.is_some() {
        return None;
    }
    let columns = ["arm", "operation", "mean of each span"];
    let note = "Over all operations, greatest first: what opens a connection is shared by all that it carried.";
    let mut operations = summary.counted().flat_map(|trial| &trial.operations);
    let has_parts = operations.any(|operation| !operation.parts.is_empty());
    let title = match has_parts {
        true => "What the instrument itself stamped of it",
        false => "Where the time went",
    };
    let mut table = Table::new("phases-by-arm", title, &columns).note(note);
    let names = Arms::head(summary, &mut table, 0);
    // Beside the table of parts, a single span adds nothing: it is nearly all of the service time.
    let says_more = |spans: &str| !has_parts || spans.contains(", ");
    if !summary.arms.iter().flat_map(spent).any(|(_, spent)| says_more(&spent.shown())) {
        return None;
    }
    for arm in &summary.arms {
        for (operation, spent) in spent(arm) {
            let spans = spent.shown();
            if !spans.is_empty() {
                table.row([names.cell(&arm.name), operation.to_owned(), spans]);
            }
        }
    }
    table.unless_empty()
}

/// The times of the operations of an arm, by name.
fn spent(arm: &Arm) -> BTreeMap<&str, ArmSpans<'_>> {
    let mut spent: BTreeMap<&str, ArmSpans<'_>> = BTreeMap::new();
    let trials = arm.trials.iter().filter(|trial| trial.counts_for == CountsFor::Judgement);
    for operation in trials.flat_map(|trial| &trial.operations) {
        spent.entry(&operation.name).or_default().add(operation);
    }
    spent
}

#[derive(Default)]
struct ArmSpans<'a> {
    operations: u64,
    /// Nanoseconds of all operations together.
    spans: BTreeMap<&'a str, u64>,
}

impl<'a> ArmSpans<'a> {
    fn add(&mut self, operation: &'a Operation) {
        self.operations += operation.succeeded + operation.failed;
        // Parts that the target reports are in their own table.
        let own = |name: &str| !operation.parts.iter().any(|part| part.name == name);
        let spans = operation.spans.iter().map(|(name, span)| (name.as_str(), span));
        let spans = spans.filter(|(name, _)| own(name) && !streams::is_within(name));
        for (name, span) in spans.chain([("queue_wait", &operation.queue_wait)]) {
            *self.spans.entry(name).or_default() += span.mean_ns.saturating_mul(span.count);
        }
    }

    fn shown(&self) -> String {
        let each = |(name, sum): (&&'a str, &u64)| (sum / self.operations.max(1), *name);
        let mut means: Vec<(u64, &str)> =
            self.spans.iter().map(each).filter(|(mean, _)| *mean > 0).collect();
        means.sort_by(|one, other| other.cmp(one));
        let told = means
            .iter()
            .map(|(mean, name)| format!("{} {}", name.replace('_', " "), number::duration(*mean)));
        told.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use record::summary::TrialSummary;

    use super::*;
    use judge::example;

    /// Two arms of one operation whose spans have these counts and means, each in two trials.
    fn arms(spans: &[(&str, u64, u64)]) -> Summary {
        let mut summary = example::summary();
        let mut arm = summary.arms[0].clone();
        let trial = &mut arm.trials[0];
        trial.operations.truncate(1);
        let operation = &mut trial.operations[0];
        (operation.succeeded, operation.failed) = (90, 10);
        let model = operation.queue_wait.clone();
        operation.queue_wait.mean_ns = 0;
        operation.spans = spans
            .iter()
            .map(|&(name, count, mean_ns)| {
                (name.to_owned(), record::summary::Distribution { count, mean_ns, ..model.clone() })
            })
            .collect();
        let again = TrialSummary { index: 2, ..arm.trials[0].clone() };
        arm.trials.push(again);
        summary.arms = vec![Arm { name: "size=1KiB".into(), ..arm.clone() }, arm];
        summary
    }

    #[test]
    fn what_opens_a_connection_is_shared_by_all_that_it_carried() {
        let summary =
            arms(&[("connect", 10, 5_000_000), ("accepted", 100, 1_000_000), ("ehlo_tls", 0, 0)]);
        let table = by_arm(&summary).unwrap();
        assert_eq!(table.rows[0], ["size=1KiB", "home", "accepted 1.00 ms, connect 500 µs"]);
        assert_eq!(table.rows.len(), 2);
    }

    #[test]
    fn what_the_target_said_itself_stands_elsewhere() {
        let mut summary = arms(&[("first_byte", 100, 5_000_000), ("a_b", 100, 1_000_000)]);
        let part = record::summary::Part { name: "a_b".to_owned(), within: None };
        summary.arms[0]
            .trials
            .iter_mut()
            .for_each(|trial| trial.operations[0].parts.push(part.clone()));
        let table = by_arm(&summary).unwrap();
        assert_eq!(table.rows[0][2], "first byte 5.00 ms");
        assert_eq!(table.rows[1][2], "first byte 5.00 ms, a b 1.00 ms");
        assert_ne!(table.title, "Where the time went");
    }

    #[test]
    fn one_arm_has_it_in_its_trial_and_nothing_is_no_table() {
        assert_eq!(by_arm(&example::summary()), None);
        assert_eq!(by_arm(&arms(&[])), None);
    }
}
