//! Trials that ended early, and runs that ended before their last trial.

use record::{EarlyEnd, EndReason, Role};

use super::*;

#[test]
fn a_process_that_died_makes_the_trial_invalid() {
    let mut made = stalled();
    made.trial.died = Some("shop ended with status 1".into());
    let summary = made.summary();
    assert_eq!(only(&summary).validity, Validity::Invalid);
    assert!(summary.verdict.reasons[0].contains("shop ended with status 1"));
    assert_eq!(codes(&summary)[0], "process-died");
}

#[test]
fn a_process_that_died_is_told_with_its_last_words() {
    let mut made = stalled();
    made.trial.died = Some("shop ended: exit status 4".into());
    let claim = |made: &Simulated| made.summary().findings[0].claim.clone();
    let begun = "the trial ended before its time: shop ended: exit status 4";
    assert_eq!(claim(&made), begun);
    made.trial.died_at_ns = Some(-1);
    assert_eq!(claim(&made), format!("{begun}, before the measure phase"));
    made.trial.died_at_ns = Some(3_200_000_000);
    made.trial.last_words =
        ["one", "two", "error: no more", "", "  while: selling"].map(str::to_owned).into();
    let said = ", as was seen 3.20 s into the measure phase; the last that it wrote: two | error: no more | while: selling";
    assert_eq!(claim(&made), format!("{begun}{said}"));
    let evidence = &made.summary().findings[0].evidence;
    assert_eq!(evidence["last_words"][0], "one");
    assert_eq!(evidence["noticed_at_ns"], 3_200_000_000_u64);
}

#[test]
fn a_record_of_before_roles_is_read_and_does_not_say_what_it_was_that_died() {
    let mut made = stalled();
    made.trial.died = Some("shop ended with status 1".into());
    made.trial.died_as = Some(Role::System);
    let mut stored = serde_json::to_value(&made.trial).unwrap();
    assert_eq!(stored["died_as"], "system");
    for later in ["died_as", "died_at_ns", "last_words"] {
        stored.as_object_mut().unwrap().remove(later);
    }
    made.trial = serde_json::from_value(stored).unwrap();
    assert_eq!(made.trial.died_as, None);
    let summary = made.summary();
    assert_eq!((codes(&summary)[0], only(&summary).validity), ("process-died", Validity::Invalid));
    assert!(summary.findings[0].evidence["role"].is_null());
}

/// A run of two trials whose first lost its process.
fn died_and_repeated(superseded: bool) -> Summary {
    let made = steady(&["failed == 0"]);
    let mut plan = made.plan.clone();
    plan.trials.push(TrialPlan { index: 2, order: 2, ..plan.trials[0].clone() });
    plan.trials.truncate(if superseded { 1 } else { 2 });
    let windows = |show: &mut dyn FnMut(&record::Window)| {
        made.windows.iter().for_each(show);
        Ok(())
    };
    let spans = ["connect".to_owned()];
    let mut summariser = Summariser::new(&plan);
    let first = record::TrialFacts { died: Some("shop ended".into()), ..made.trial.clone() };
    let input = TrialInput { trial: &first, spans: &spans, windows: &windows };
    if superseded {
        summariser.add_superseded(input).unwrap();
        summariser.repeated(&plan.trials[0], "shop ended");
    } else {
        summariser.add(input).unwrap();
    }
    let second = record::TrialFacts { index: 2, ..made.trial.clone() };
    summariser.add(TrialInput { trial: &second, spans: &spans, windows: &windows }).unwrap();
    summariser.finish(crate::example::run())
}

#[test]
fn a_repeated_block_replaces_the_first_one_in_the_judgement() {
    let summary = died_and_repeated(true);
    let [first, second] = &summary.arms[0].trials[..] else { panic!("two trials") };
    assert_eq!((first.validity, first.counts_for), (Validity::Invalid, CountsFor::Nothing));
    assert_eq!(first.reasons[0], "its block was executed again");
    assert_eq!(second.counts_for, CountsFor::Judgement);
    assert_eq!(summary.criteria[0].result, Judgement::Pass);
    assert_eq!(exit(&summary) as u8, 0);
    assert!(summary.verdict.reasons[1].contains("trial 1: shop ended"), "{:?}", summary.verdict);
    assert!(codes(&summary).contains(&"process-died"), "what happened stays told");
    assert_eq!(exit(&died_and_repeated(false)) as u8, 3);
}

#[test]
fn a_run_that_was_given_up_in_a_trial_that_does_not_count_is_no_pass() {
    let made = steady(&["failed == 0"]);
    let windows = |show: &mut dyn FnMut(&record::Window)| {
        made.windows().iter().for_each(show);
        Ok(())
    };
    let spans = ["connect".to_owned()];
    // The second block compares the arm with itself.
    let mut plan = made.plan.clone();
    let next = |index, block| TrialPlan { index, block, ..made.plan.trials[0].clone() };
    plan.trials.extend([next(2, 2), next(3, 2)]);
    let given_up = EarlyEnd {
        reason: EndReason::FailFast,
        why: "so it was said".to_owned(),
        advice: None,
        criteria: vec!["failed == 0".to_owned()],
    };
    for superseded in [false, true] {
        let mut summariser = Summariser::new(&plan);
        let input = |trial| TrialInput { trial, spans: &spans, windows: &windows };
        summariser.add(input(&made.trial)).unwrap();
        let early_end = Some(given_up.clone());
        let second = record::TrialFacts { index: 2, block: 2, early_end, ..made.trial.clone() };
        summariser.take(input(&second), Vec::new(), superseded).unwrap();
        let summary = summariser.finish(crate::example::run());
        assert!(codes(&summary).contains(&"interrupted"), "{:?}", codes(&summary));
        assert_eq!(exit(&summary) as u8, 3, "{:?}", summary.verdict);
    }
}

#[test]
fn a_run_that_gave_up_after_a_whole_trial_says_so_and_is_no_pass() {
    let made = steady(&["failed == 0", "p50 < 1s"]);
    let windows = |show: &mut dyn FnMut(&record::Window)| {
        made.windows().iter().for_each(show);
        Ok(())
    };
    let spans = ["connect".to_owned()];
    let mut plan = made.plan.clone();
    plan.trials.push(TrialPlan { index: 2, block: 2, ..plan.trials[0].clone() });
    let mut summariser = Summariser::new(&plan);
    let input = TrialInput { trial: &made.trial, spans: &spans, windows: &windows };
    summariser.add(input).unwrap();
    let early = EarlyEnd {
        reason: EndReason::FailFast,
        why: "so it was said".to_owned(),
        advice: None,
        criteria: Vec::new(),
    };
    summariser.gave_up(&plan.trials[0], &early);
    let summary = summariser.finish(crate::example::run());
    assert!(!codes(&summary).contains(&"interrupted"), "nobody stopped it");
    let told = summary.findings.iter().find(|finding| finding.code == "fail-fast").unwrap();
    assert_eq!(told.claim, "the run was given up after trial 1: so it was said");
    let results: Vec<_> = summary.criteria.iter().map(|one| one.result).collect();
    assert_eq!(
        results,
        [Judgement::Inconclusive; 2],
        "what was met may be met by chance of its length"
    );
}

#[test]
fn a_trial_that_could_not_begin_ends_a_run_that_is_told_of_once() {
    let made = steady(&[]);
    let mut plan = made.plan.clone();
    plan.trials.push(TrialPlan { index: 2, ..plan.trials[0].clone() });
    let mut summariser = Summariser::new(&plan);
    summariser.not_executed(&plan.trials[1], "nobody listens");
    let summary = summariser.finish(crate::example::run());
    assert_eq!(codes(&summary), ["trial-not-executed"]);
    assert!(summary.findings[0].claim.contains("trial 2 could not begin: nobody listens"));
    assert_eq!(exit(&summary) as u8, 3);
}

#[test]
fn nothing_executed_is_no_pass() {
    let made = steady(&["failed == 0"]);
    let summary = Summariser::new(&made.plan).finish(crate::example::run());
    assert_eq!(summary.criteria[0].result, Judgement::Inconclusive);
    assert_eq!(exit(&summary) as u8, 3);
}

#[test]
fn a_run_that_ended_before_its_last_trial_is_no_pass() {
    let mut made = stalled();
    let mut missing = made.plan.trials[0].clone();
    missing.index = 2;
    made.plan.trials.push(missing);
    let summary = made.summary();
    let finding = summary.findings.iter().find(|one| one.code == "interrupted").unwrap();
    assert_eq!(finding.claim, "the run was stopped: 1 of 2 planned trials were executed");
    assert_eq!(summary.verdict.result, Judgement::Inconclusive);
    assert_eq!(exit(&summary) as u8, 3);
}
