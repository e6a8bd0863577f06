//! Findings that several trials share.

use record::summary::{Arm, Finding, Severity, Summary, TrialSummary};

use crate::example;
use crate::findings::groups;

/// A run of these arms with this many trials each, and these findings: arm, trial, evidence.
fn run(arms: &[&str], trials: u32, code: &str, found: &[(usize, u32, f64)]) -> Summary {
    let mut summary = example::summary();
    let trial = summary.arms[0].trials[0].clone();
    let made = |(place, name): (u32, &&str)| {
        let trials =
            (1..=trials).map(|one| TrialSummary { index: place * trials + one, ..trial.clone() });
        Arm { name: (*name).to_owned(), trials: trials.collect(), ..summary.arms[0].clone() }
    };
    let arms: Vec<Arm> = (0..).zip(arms).map(made).collect();
    let finding = |&(arm, trial, clearness): &(usize, u32, f64)| Finding {
        code: code.to_owned(),
        severity: Severity::Warning,
        arm: Some(arms[arm].name.clone()),
        trial: Some(trial),
        operation: None,
        claim: format!("seen in {trial}"),
        evidence: [("clearness".to_owned(), clearness.into())].into(),
        advice: "look".to_owned(),
    };
    summary.findings = found.iter().map(finding).collect();
    summary.arms = arms;
    summary
}

fn told(summary: &Summary) -> Vec<String> {
    groups(&summary.findings).iter().map(|one| one.claim(summary)).collect()
}

#[test]
fn the_clearest_of_several_trials_is_quoted_with_how_often_it_is_met_where() {
    let found = [(0, 2, 0.2), (1, 4, 0.1), (1, 5, 0.9), (1, 6, 0.5)];
    let summary = run(&["path=direct", "path=front"], 3, "bimodal", &found);
    let claim =
        "in trial 5 of 6, path=front: seen in 5 (3 of its 3 trials show it, 1 of 3 of path=direct)";
    assert_eq!(told(&summary), [claim]);
    let groups = groups(&summary.findings);
    assert_eq!(groups[0].all.len(), 4);
    let first = run(&["path=direct", "path=front"], 3, "short-run", &found);
    assert!(
        told(&first)[0]
            .starts_with("in trial 2 of 6, path=direct: seen in 2 (1 of its 3 trials shows it")
    );
}

#[test]
fn places_are_named_as_far_as_there_are_several() {
    let one_arm = run(&["all"], 10, "bimodal", &[(0, 1, 0.2), (0, 7, 0.3)]);
    assert_eq!(told(&one_arm), ["in trial 7 of 10: seen in 7 (2 of the 10 trials show it)"]);
    assert_eq!(told(&run(&["all"], 1, "bimodal", &[(0, 1, 0.2)])), ["seen in 1"]);
    let lone = run(&["a", "b"], 2, "bimodal", &[(1, 3, 0.2)]);
    assert_eq!(told(&lone), ["in trial 3 of 4, b: seen in 3"]);
    let each: Vec<_> = (0..6_u32).map(|arm| (arm as usize, arm + 1, 0.5)).collect();
    let names = ["a", "b", "c", "d", "e", "f"];
    assert_eq!(
        told(&run(&names, 1, "bimodal", &each)),
        ["in trial 1 of 6, a: seen in 1 (all 6 trials show it)"]
    );
    let each: Vec<_> = (0..6_u32).map(|arm| (arm as usize, 2 * arm + 1, 0.5)).collect();
    let many = run(&names, 2, "bimodal", &each);
    assert_eq!(
        told(&many),
        [
            "in trial 1 of 12, a: seen in 1 (1 of its 2 trials shows it, 1 of 2 of b, 1 of 2 of c, 1 of 2 of d, and in 2 more arms)"
        ]
    );
}

#[test]
fn what_names_its_trial_itself_names_it_once() {
    let mut summary = run(&["a", "b"], 2, "block-repeated", &[(1, 3, 0.2)]);
    summary.findings[0].claim =
        "block 1 was executed again, because of trial 3: it ended".to_owned();
    assert_eq!(told(&summary), ["block 1 was executed again, because of trial 3: it ended"]);
    summary.findings[0].trial = Some(9);
    summary.findings[0].claim = "it could not begin".to_owned();
    assert_eq!(told(&summary), ["it could not begin"], "no trial of the summary");
}

#[test]
fn arms_that_repeat_worse_are_told_once_by_the_worst() {
    let mut summary =
        run(&["a", "b", "c"], 3, "repeats-worse", &[(0, 1, 0.0), (1, 4, 0.0), (2, 7, 0.0)]);
    for (finding, seen) in summary.findings.iter_mut().zip([0.07, 0.12, 0.05]) {
        finding.trial = None;
        finding.evidence = [("deviation_seen".to_owned(), seen.into())].into();
    }
    assert_eq!(told(&summary), ["seen in 4 (the like in 2 more arms)"]);
    summary.findings.iter_mut().for_each(|one| one.code = "undecided-criterion".to_owned());
    assert_eq!(told(&summary).len(), 3, "criteria are told one by one");
}

#[test]
fn of_changes_the_largest_is_quoted_up_or_down() {
    let with = |[one, other]: [f64; 2]| {
        let mut summary = run(&["all"], 2, "level-shift", &[(0, 1, 0.0), (0, 2, 0.0)]);
        for (finding, ratio) in summary.findings.iter_mut().zip([one, other]) {
            finding.evidence = [("p95_ratio".to_owned(), ratio.into())].into();
        }
        told(&summary)[0].starts_with("in trial 2 of 2: seen in 2")
    };
    assert!(with([0.65, 2.43]) && with([1.5, 0.4]) && !with([2.43, 0.65]));
}

#[test]
fn comparisons_without_a_block_are_told_once() {
    let mut summary = run(&["a", "b"], 3, "undecided-comparison", &[(0, 1, 0.0), (0, 2, 0.0)]);
    let with = |summary: &mut Summary, blocks: u64| {
        for finding in &mut summary.findings {
            finding.trial = None;
            finding.evidence = [("blocks".to_owned(), blocks.into())].into();
        }
        told(summary)
    };
    assert_eq!(with(&mut summary, 0), ["seen in 1 (the like in 1 more comparison)"]);
    assert_eq!(with(&mut summary, 3).len(), 2);
}
