use record::summary::{CountsFor, Expectation, Observer};

use super::*;
use crate::{html, markdown, terminal};
use judge::example;

/// Two trials of each of these arms, with a sink that counted less with each arm and found some damaged.
fn matrix(arms: &[&str]) -> Summary {
    let mut summary = example::summary();
    let model = summary.arms[0].clone();
    summary.arms.clear();
    for (fewer, name) in (0_u64..).zip(arms) {
        let mut trial = model.trials[0].clone();
        let succeeded = trial.total.succeeded;
        trial.observers = vec![Observer {
            received: succeeded - 10 * fewer,
            lost: 10 * fewer,
            detail: [("damaged".to_owned(), fewer.into())].into(),
            ..example::observer()
        }];
        let levels = name.split(',').filter_map(|part| part.split_once('='));
        let factors = levels.map(|(factor, level)| (factor.to_owned(), level.into())).collect();
        let mut arm =
            Arm { name: (*name).to_owned(), factors, values: BTreeMap::new(), trials: Vec::new() };
        arm.trials = vec![trial.clone(), TrialSummary { index: 2, ..trial }];
        summary.arms.push(arm);
    }
    summary.criteria.truncate(1);
    summary.findings.clear();
    summary
}

const ARMS: [&str; 2] = [
    "tls=starttls,new_connections=false,workload=high_volume",
    "tls=never,new_connections=true,workload=sustained",
];

#[test]
fn what_became_of_everything_stands_in_one_table() {
    insta::assert_snapshot!(terminal::full(&matrix(&ARMS), terminal::Colour::Off));
}

#[test]
fn every_page_holds_the_table() {
    let summary = matrix(&ARMS);
    let page = markdown::render(&summary);
    let (_, table) = page.split_once("### Accounting by arm\n\n").unwrap();
    insta::assert_snapshot!(table.split_once("\n</details>").unwrap().0);
    let run = judge::run_record::RunRecord { summary, ..example::record() };
    assert!(html::render(&run).unwrap().contains("Accounting by arm"));
}

#[test]
fn trials_that_do_not_count_are_left_out() {
    let mut summary = matrix(&ARMS);
    let planned = |summary: &Summary| by_arm(summary).unwrap().rows[2][2].clone();
    assert_eq!(planned(&summary), "40,000");
    summary.arms[0].trials[1].counts_for = CountsFor::Nothing;
    assert_eq!(planned(&summary), "20,000");
    summary.arms[0].trials.clear();
    assert_eq!(by_arm(&summary).unwrap().rows[0][1..4], ["–", "–", "–"]);
}

#[test]
fn what_was_never_begun_or_never_ended_is_no_success() {
    let mut summary = matrix(&["size=1KiB"]);
    summary.arms[0].trials.truncate(1);
    let operation = &mut summary.arms[0].trials[0].operations[0];
    (operation.planned, operation.succeeded) = (100, 80);
    (operation.failed, operation.abandoned) = (10, 3);
    operation.failures = [("timeout".to_owned(), 9), ("refused".to_owned(), 1)].into();
    let table = by_arm(&summary).unwrap();
    assert_eq!(table.rows[0].last().unwrap(), "abandoned 3, missed 7, refused 1, timeout 9");
}

#[test]
fn each_observer_has_a_line() {
    let mut summary = matrix(&["all"]);
    let crowd = Observer { name: "crowd".to_owned(), received: 5, ..example::observer() };
    summary.arms[0].trials[0].observers.push(crowd);
    let table = by_arm(&summary).unwrap();
    assert_eq!(table.columns[0].title, "operation", "one arm needs no name");
    let seen: Vec<_> =
        table.rows.iter().map(|row| (&row[0][..], &row[3][..], &row[6][..])).collect();
    let expected =
        [("home", "–", "–"), ("search", "–", "–"), ("all", "crowd", "–"), ("–", "sink", "0")];
    assert_eq!(seen, expected);
}

#[test]
fn one_arm_that_nobody_observed_has_it_all_in_its_trial() {
    assert_eq!(by_arm(&example::summary()), None);
    let designed = by_arm(&example::designed().summary).unwrap();
    assert_eq!((designed.columns.len(), designed.note), (5, None));
    let mut searched = matrix(&ARMS);
    searched.capacity = Some(example::capacity());
    assert_eq!(by_arm(&searched), None);
}

#[test]
fn a_long_text_at_the_end_goes_on_below_itself_on_a_terminal() {
    let mut summary = matrix(&ARMS);
    let kinds = ["connect_timeout", "greeting_timeout", "permanent", "timeout", "transient"];
    let operation = &mut summary.arms[0].trials[0].operations[0];
    operation.failures = kinds.map(|kind| (kind.to_owned(), 1_234)).into();
    let page = terminal::full(&summary, terminal::Colour::Off);
    let widest = page.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{page}");
    for kind in kinds {
        assert!(page.contains(&format!(" {kind}")), "{kind}\n{page}");
    }
}

#[test]
fn who_is_asked_for_what_arrived_is_told_by_the_term() {
    for (text, is) in [
        ("received == all.succeeded", true),
        ("recall >= 0.9 and lost <= 3", true),
        ("unreceived == 0", false),
        ("recall >= 0.9", false),
    ] {
        let expect = Some(Expectation { text: text.into(), ..Expectation::default() });
        assert_eq!(is_of_arrival(&Observer { expect, ..Observer::default() }), is, "{text}");
    }
}
