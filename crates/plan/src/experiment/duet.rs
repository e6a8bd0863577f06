//! `duet`: reasons why the two trials of a block cannot run at the same time.

use crate::diagnostic::{Diagnostic, Span};
use crate::load::{Load, Model, Stop};
use crate::operation::RowOrder;
use crate::plan::Arm;

/// Every reason. `span`: the place of the request.
pub(super) fn refusals(arms: &[Arm], span: Span) -> Vec<Diagnostic> {
    let problem = |(message, label, hint): (String, &str, &str)| {
        Diagnostic::new(span, message, label).with_hint(hint)
    };
    let own = arms.iter().flat_map(of_arm);
    let problems = number(arms.len()).into_iter().chain(own).chain(unlike(arms));
    problems.map(problem).collect()
}

/// Message, label and hint.
type Refusal = (String, &'static str, &'static str);

fn number(arms: usize) -> Option<Refusal> {
    let message = format!("a duet needs two arms (got {arms})");
    let hint = "leave one factor with two levels, or `exclude` the other combinations";
    (arms != 2).then_some((message, "needs exactly two arms", hint))
}

fn of_arm(arm: &Arm) -> Vec<Refusal> {
    let load = &arm.load;
    let mut refusals = Vec::new();
    match &load.model {
        Model::Closed | Model::Users { .. } => refusals.push((
            "a closed loop has no arrivals that a duet could assign to its arms".to_owned(),
            "needs an open load",
            "give [load] a `rate`, or leave `duet` out",
        )),
        Model::Open { arrivals } if arrivals.twice().is_none() => refusals.push((
            format!("a random half of {} arrivals is no longer {0}", arrivals.name()),
            "needs Poisson arrivals",
            "write arrivals = \"poisson\" in [load], or leave `duet` out",
        )),
        Model::Open { .. } => {}
    }
    let counts = matches!(load.stop, Stop::Operations { .. });
    let runs_out = |order| order == RowOrder::Once;
    let of_operations = arm.operations.iter().map(|one| (one.row_count() > 0, one.order));
    let of_journeys = arm.journeys.iter().map(|one| (one.row_count() > 0, one.order));
    if counts || of_operations.chain(of_journeys).any(|(rows, order)| rows && runs_out(order)) {
        refusals.push((
            "a number of operations would end the arms of a duet at different times".to_owned(),
            "needs a duration",
            "give [load] a `duration` and no row `once`, or leave `duet` out",
        ));
    }
    refusals
}

/// Both arms get halves of one arrival process and share the generator, so their loads must be
/// alike.
fn unlike(arms: &[Arm]) -> Option<Refusal> {
    let [first, second] = arms else { return None };
    let threads = |load: &Load| (load.workers, load.busy_poll);
    let shared = |load: &Load| (load.model.clone(), load.stop, load.warm_up, threads(load));
    let differ = shared(&first.load) != shared(&second.load);
    differ.then(|| {
        (
            "the arms of a duet share the arrivals, and theirs are not the same".to_owned(),
            "rate, arrivals, duration, warm-up, workers or `busy_poll` differ",
            "let the factor change the system, its settings or the requests, or leave `duet` out",
        )
    })
}
