//! The table of all kinds of findings, and the function that runs their checks.

use record::summary::{Arm, Capacity, Comparison, Finding, Scaling};

use super::kind::{Check, FindingKind, Noticed};
use super::{
    agents, all_failed, answers, capacity, compared_while_bound, criterion, design, distribution,
    execution, generator, journeys, kernel, level_adds_in_part, level_adds_outside, load, noise,
    parts, race, replay, run, scaling, signatures, steady, time_patterns, under_test, work,
};
use crate::case::{Case, RunView};

/// Every finding, most serious first.
pub const TABLE: &[FindingKind] = &[
    generator::AUDIT,
    generator::LATE,
    agents::LOST,
    load::PROCESS_DIED,
    execution::NOT_EXECUTED_ROW,
    all_failed::ALL_FAILED_ROW,
    load::OVERLOAD,
    load::JOURNEY_CONNECTIONS,
    capacity::METASTABLE,
    under_test::NOT_EFFECTIVE,
    load::INTERRUPTED_ROW,
    execution::REPEATED_ROW,
    criterion::FAIL_FAST,
    criterion::UNDECIDED,
    criterion::MISSED_WINDOWS,
    design::UNDECIDED_COMPARISON,
    design::DOSE_ORDER,
    capacity::HYSTERESIS,
    capacity::GENERATOR_LIMITED,
    generator::CROWDED_ROW,
    under_test::CROWDED_ROW,
    steady::GROWING_BACKLOG,
    steady::WARM_UP_TOO_SHORT,
    steady::DRIFT,
    steady::LEVEL_SHIFT,
    steady::UNEVEN,
    generator::CPU,
    generator::RUN_QUEUE,
    generator::ASLEEP,
    generator::STEAL,
    generator::THROTTLED,
    load::THINK_TIME_CEILING,
    generator::BOUND,
    compared_while_bound::COMPARED_WHILE_BOUND,
    load::POOL_LIMITED,
    replay::FLATTENED,
    replay::BURSTIER,
    agents::SHORT,
    agents::DIFFER,
    agents::CLOCKS,
    answers::FAILURES,
    journeys::ENDS_EARLY,
    journeys::CAPTURE_FAILS,
    kernel::ACCEPT_QUEUE,
    kernel::SYN_QUEUE,
    kernel::LISTEN_DROPS,
    signatures::SYN_RETRANSMISSION,
    signatures::REQUEST_RETRIES,
    kernel::RETRANSMISSIONS,
    signatures::RETRANSMISSION_TIMEOUT,
    kernel::RESETS,
    kernel::ABORTS,
    kernel::RECEIVE_DROPS,
    signatures::QUOTA,
    time_patterns::PERIODIC,
    time_patterns::BURST,
    time_patterns::AT_THE_END,
    distribution::BIMODAL,
    distribution::MEAN,
    distribution::SURVIVORS,
    distribution::GOODPUT,
    distribution::STRAGGLERS,
    scaling::CLIFF,
    parts::OUTSIDE,
    level_adds_outside::LEVEL_ADDS_OUTSIDE,
    level_adds_in_part::LEVEL_ADDS_IN_PART,
    work::ZERO_WORK,
    work::NOT_ARRIVED,
    run::MEMORY,
    run::CONSTANT_FAILURES,
    load::IDLE,
    load::SHORT,
    answers::STATUS_ONLY,
    signatures::DELAYED_ACK,
    signatures::TIME_OUTS,
    signatures::COMB,
    work::GROWS,
    under_test::PLANNED_FAULTS,
    under_test::CPU_BOUND,
    parts::IN_ONE,
    journeys::STEP_DOMINATES,
    scaling::NO_SCALING,
    distribution::ALONE,
    work::FEW_REQUESTS,
    under_test::SHARED_MACHINE,
    race::RACE,
    run::FEW_TRIALS,
    capacity::DISORDER,
    execution::RESUMED_ROW,
    criterion::FAILED_ALONE,
    criterion::ADAPTIVE,
    noise::NOISE,
    noise::REPEATS_WORSE,
    design::DUET,
];

/// The kind of finding with this code.
pub fn kind(code: &str) -> Option<&'static FindingKind> {
    TABLE.iter().find(|kind| kind.code == code)
}

/// The input of the checks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    /// A trial.
    Trial(&'a Case<'a>),
    /// An arm.
    Arm(&'a Arm),
    /// A run.
    Run(&'a RunView<'a>),
    /// A comparison.
    Comparison(&'a Comparison),
    /// Closed loads of different sizes.
    Scaling(&'a Scaling),
    /// A search for capacity.
    Search(&'a Capacity),
}

/// All findings about a subject, in the order of the table.
pub(crate) fn findings(subject: Subject<'_>) -> Vec<Finding> {
    TABLE.iter().filter_map(|row| Some(row.found(noticed(row, subject)?))).collect()
}

fn noticed(row: &FindingKind, subject: Subject<'_>) -> Option<Noticed> {
    match (row.check, subject) {
        (Check::Trial(look), Subject::Trial(case)) => {
            look(case).map(|noticed| noticed.in_trial(case.arm, case.trial.index))
        }
        (Check::Arm(look), Subject::Arm(arm)) => look(arm).map(|noticed| noticed.in_arm(&arm.name)),
        (Check::Run(look), Subject::Run(whole)) => look(whole),
        (Check::Comparison(look), Subject::Comparison(one)) => look(one),
        (Check::Scaling(look), Subject::Scaling(scaling)) => look(scaling),
        (Check::Search(look), Subject::Search(capacity)) => look(capacity),
        _ => None,
    }
}
