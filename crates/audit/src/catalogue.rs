//! What each of the catalogue's 54 rules becomes in a run of our own, and what no summary decides. The rules
//! themselves are in [`crate::rules`].
//!
//! Names between backquotes are findings of a run, rules of our own summary, or commands.

/// For each rule, what covers it in a run of our own.
pub const IN_OUR_RUNS: &[(&str, &str)] = &[
    ("R01", "`A5`"),
    ("R02", "`A5`"),
    ("R03", "`A4`"),
    ("R04", "`A5`"),
    ("R05", "cannot arise: histograms have a bounded error; `A17`"),
    ("R06", "cannot arise: no bucket is open; `A7`"),
    ("R07", "a quantile without support has no interval; `A8`"),
    ("R08", "cannot arise: quantiles are times that were seen"),
    ("R09", "`overload`, `late-generator`, `A11`"),
    ("R10", "cannot arise: the drain is a phase of its own; `A3`"),
    ("R11", "`A3`; the k-th start is computed from k, so that nothing is made up for"),
    ("R12", "`A1`, `A2`"),
    ("R13", "`think-time-ceiling`"),
    ("R14", "`stragglers`"),
    ("R15", "`idle-system`"),
    ("R16", "`mean-far-from-median`, `bimodal`"),
    (
        "R17",
        "cannot arise: an open load counts from the intended start, and a closed one says service time",
    ),
    ("R18", "`late-generator`"),
    ("R19", "`generator-bound`, `generator-cpu`"),
    (
        "R20",
        "`syn-retransmission`, `retransmission-timeout`, `delayed-acknowledgement`, `time-out-within`",
    ),
    ("R21", "`failures-have-no-time`"),
    ("R22", "`failures-in-the-throughput`"),
    ("R23", "`failures-in-the-throughput`"),
    ("R24", "`not-all-arrived`"),
    ("R25", "cannot arise: what did not succeed is counted in every mode; `A1`"),
    ("R26", "`zero-work`"),
    ("R27", "`status-only`"),
    ("R28", "`constant-failures`"),
    ("R29", "criteria on counts and ratios show their interval"),
    ("R30", "cannot arise: limits are in the plan, and without one nothing is judged"),
    ("R31", "`race-window`"),
    ("R32", "`failures-at-the-end`"),
    ("R33", "the chart over time shows when"),
    ("R34", "`drift`, `level-shift`, `uneven-phase`, `warm-up-too-short`"),
    ("R35", "`dose-order`"),
    ("R36", "blocks are in random order; `compare` says that drift is not excluded"),
    ("R37", "`few-trials`"),
    ("R38", "`compare` refuses unlike runs"),
    ("R39", "arms are crossed, and compared where they differ in one factor"),
    ("R40", "differences are held against their interval and a margin"),
    ("R41", "`short-run`, `warm-up-too-short`"),
    ("R42", "`setting-not-in-force`"),
    ("R43", "a report names its run and the hash of its plan"),
    ("R44", "bytes are those on the wire; `A12`"),
    ("R45", "`memory-tight`; the speed of the link is not known"),
    ("R46", "pages say nothing of what was not run"),
    ("R47", "pages know five verdicts and no grades"),
    ("R48", "sentences are made from the figures"),
    ("R49", "a cause is named only with its evidence, as likely"),
    ("R50", "labels are those of the plan; `A11`"),
    ("R51", "`undecided-criterion`, `undecided-comparison`"),
    ("R52", "`shared-machine`"),
    ("R53", "`capacity` sweeps"),
    ("R54", "`capacity` is the one within the criteria; the demand is not known"),
];

/// For each rule that a summary cannot fully decide: the open part with the reason, and what would decide it.
pub const NOT_DECIDED: &[(&str, &str, &str)] = &[
    (
        "R17",
        "how long requests waited that were sent too late or not at all: no tool records it",
        "an open load that counts from the intended start",
    ),
    (
        "R25",
        "whether a counter of failures can move: known of two modes of two tools",
        "injecting one failure",
    ),
    (
        "R27",
        "whether answers were right",
        "something unique in each request that is looked for in its answer",
    ),
    (
        "R31",
        "whether it is a race: any failure that comes with neighbours looks like it",
        "another rate",
    ),
    ("R32", "which failures the generator made itself", "counting what the end cut off apart"),
    ("R33", "when the slowest request began: only the latest instant follows", "times over time"),
    ("R42", "what is in force, unless the system was asked", "reading limits back"),
    ("R43", "whether the raw data is there and makes these figures", "the raw data"),
    (
        "R46–R49, R51, R54",
        "what sentences mean: they are not read",
        "typing in `claims`, `targets`, `headroom`",
    ),
    (
        "R47",
        "whether a limit was declared before the run or after it",
        "a plan with a date, such as a commit",
    ),
    ("R49", "whether two runs differ in nothing else", "a `context` that names all of it"),
    ("R52", "how much of the processors each side took", "the CPU time of each process"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{consistency, findings};

    #[test]
    fn every_rule_has_a_line_whose_names_exist() {
        let known = |name: &str| {
            findings::kind(name).is_some()
                || consistency::RULES.iter().any(|rule| rule.id == name)
                || ["compare", "capacity"].contains(&name)
        };
        for (place, (rule, says)) in IN_OUR_RUNS.iter().enumerate() {
            assert_eq!(*rule, format!("R{:02}", place + 1));
            let names: Vec<_> = says.split('`').skip(1).step_by(2).collect();
            assert!(names.iter().all(|name| known(name)), "{rule}: {names:?}");
        }
        assert_eq!(IN_OUR_RUNS.len(), 54);
    }
}
