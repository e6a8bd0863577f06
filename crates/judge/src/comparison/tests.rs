use plan::experiment::Options;
use plan::plan::TrialPlan;
use record::Outcome;
use record::summary::{Change, Comparison, Summary};

use super::metric::ComparedMetric;
use crate::simulated::{
    Op, Visit, designed, designed_with, file, journeys_file, simulate_journeys,
};

/// Two factors; one of them is compared in these metrics.
fn experiment(levels: &str, baseline: &str, metrics: &[&str], blocks: u32) -> String {
    let declared = format!(
        "[factors]\nlevel = [{levels}]\n[design]\nblocks = {blocks}\n\
         [[comparison]]\nfactor = \"level\"\nbaseline = {baseline}\nmetrics = {metrics:?}\n"
    );
    let whole = file("rate = \"100/s\"\nduration = \"4s\"\nsteady_state = \"reported\"", &[]);
    whole.replace("path = \"/\"", "path = \"/{{factor.level}}\"") + &declared
}

/// A service time around 1 ms that differs between operations, and between blocks by a few per cent.
fn service(trial: &TrialPlan, index: u64, factor: f64) -> u64 {
    let operation = 0.5 + ((index * 37 % 101) as f64 / 100.0);
    let block = 1.0 + 0.03 * ((trial.block * 5 % 7) as f64 / 7.0 - 0.5);
    let noise = 1.0 + 0.01 * (((trial.index * 11) % 13) as f64 / 13.0 - 0.5);
    (1e6 * operation * block * noise * factor) as u64
}

/// Simulates it; arm `i` is slower by `factors[i]`.
fn carried_out(file: &str, factors: &[f64]) -> Summary {
    let one = |trial: &TrialPlan, index| Op::answered(service(trial, index, factors[trial.arm]));
    designed(file, &Options::default(), (100, 400), one)
}

fn only(summary: &Summary) -> &Comparison {
    assert_eq!(summary.comparisons.len(), 1);
    &summary.comparisons[0]
}

fn finding<'a>(summary: &'a Summary, code: &str) -> Option<&'a record::summary::Finding> {
    summary.findings.iter().find(|finding| finding.code == code)
}

#[test]
fn a_slower_arm_is_changed_by_what_it_is_slower() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 10);
    let summary = carried_out(&file, &[1.0, 1.2]);
    let one = only(&summary);
    assert_eq!((one.result, one.size_certain, one.blocks), (Change::Changed, true, 10));
    assert!((one.ratio.unwrap() - 1.2).abs() < 0.01, "{:?}", one.ratio);
    assert!(one.low.unwrap() < 1.2 && 1.2 < one.high.unwrap(), "{:?} {:?}", one.low, one.high);
    assert_eq!((one.p_value, one.needs_blocks), (Some(2.0 / 1024.0), None));
    assert_eq!((one.of.as_str(), one.points.len()), ("outcome_time", 10));
    assert_eq!(finding(&summary, "undecided-comparison"), None);
    assert_eq!(summary.verdict.reasons[1], "the comparison is decided");
    assert_eq!(crate::verdict::exit(&summary) as u8, 0);
}

#[test]
fn equal_arms_are_equivalent() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50", "goodput"], 10);
    let summary = carried_out(&file, &[1.0, 1.0]);
    for one in &summary.comparisons {
        assert_eq!((one.result, one.size_certain), (Change::Equivalent, true), "{one:?}");
    }
    assert!(summary.comparisons[1].of == "rates" && summary.comparisons[1].shift.is_empty());
}

#[test]
fn the_shift_function_shows_where_the_times_differ() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 10);
    // Only the slower half is slower.
    let one = |trial: &TrialPlan, index| {
        let time = service(trial, index, 1.0);
        let slower = trial.arm == 1 && index * 37 % 101 > 50;
        Op::answered(if slower { time * 3 / 2 } else { time })
    };
    let summary = designed(&file, &Options::default(), (100, 400), one);
    let shift = &only(&summary).shift;
    let at = |q: f64| shift.iter().find(|point| point.q == q);
    assert!((at(0.2).unwrap().ratio - 1.0).abs() < 0.02, "{shift:?}");
    let slower = at(0.8).unwrap();
    assert!((slower.ratio - 1.5).abs() < 0.03 && slower.low.unwrap() > 1.4, "{shift:?}");
    assert!(slower.p_value < 0.05);
}

#[test]
fn noise_beyond_the_margin_is_undecided_and_says_what_would_decide() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 8);
    // Up by 30 % in one block, down in the next.
    let one = |trial: &TrialPlan, index| {
        let factor = if (trial.block + trial.arm as u32).is_multiple_of(2) { 1.3 } else { 1.0 };
        Op::answered(service(trial, index, factor))
    };
    let summary = designed(&file, &Options::default(), (100, 400), one);
    let one = only(&summary);
    assert_eq!((one.result, one.size_certain), (Change::Undecided, false));
    assert!(one.needs_blocks.unwrap() > 100, "{:?}", one.needs_blocks);
    let said = finding(&summary, "undecided-comparison").unwrap();
    assert!(said.claim.starts_with("p50 of level=new against old is undecided after 8 blocks"));
    assert!(said.advice.contains(&one.needs_blocks.unwrap().to_string()), "{}", said.advice);
    assert_eq!(summary.verdict.reasons[1], "the comparison is undecided");
    assert_eq!(crate::verdict::exit(&summary) as u8, 0);
}

#[test]
fn a_block_with_an_unusable_trial_is_left_out() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 8);
    // In block 3 one trial is so late that it is invalid.
    let one = |trial: &TrialPlan, index| {
        let lag = if trial.block == 3 && trial.arm == 1 { 5_000_000 } else { 10_000 };
        Op { lag, ..Op::answered(service(trial, index, 1.0)) }
    };
    let summary = designed(&file, &Options::default(), (100, 400), one);
    let one = only(&summary);
    assert_eq!((one.blocks, one.left_out.as_slice()), (7, [3].as_slice()));
    assert!(one.points.iter().all(|point| point.block != 3));
}

#[test]
fn a_rehearsal_decides_nothing() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 10);
    let options = Options { quick: true, ..Options::default() };
    let one = |trial: &TrialPlan, index| {
        Op::answered(service(trial, index, if trial.arm == 1 { 3.0 } else { 1.0 }))
    };
    let summary = designed(&file, &options, (100, 300), one);
    let one = only(&summary);
    assert_eq!((one.result, one.blocks), (Change::Undecided, 2));
    assert_eq!(one.note.as_deref(), Some("a rehearsal decides nothing"));
    assert_eq!(finding(&summary, "undecided-comparison"), None);
}

#[test]
fn failures_are_compared_as_shares() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["failed", "p99"], 10);
    let one = |trial: &TrialPlan, index: u64| {
        let outcome = if trial.arm == 1 && (index + u64::from(trial.block)).is_multiple_of(20) {
            Outcome::Failed(record::FailureKind::Status)
        } else {
            Outcome::Succeeded
        };
        Op { outcome: Some(outcome), ..Op::answered(service(trial, index, 1.0)) }
    };
    let summary = designed(&file, &Options::default(), (100, 400), one);
    let [failed, p99] = summary.comparisons.as_slice() else { panic!("two comparisons") };
    assert_eq!((failed.result, failed.size_certain), (Change::Changed, true));
    let shares = failed.difference.unwrap();
    assert!((shares.observed - 0.05).abs() < 1e-9 && shares.low.unwrap() > 0.03, "{shares:?}");
    assert_eq!((failed.ratio, failed.of.as_str()), (None, "accounting"));
    // The slowest hundredth of the candidate never succeeded.
    assert_eq!((p99.blocks, p99.result, p99.ratio), (0, Change::Undecided, None));
    assert_eq!(p99.note.as_deref(), Some("in 10 of the blocks a trial has no value of p99"));
}

#[test]
fn every_level_is_held_against_the_baseline_in_every_stratum() {
    let text = experiment("0, 10, 20", "0", &["p50"], 10)
        .replace("[factors]\n", "[factors]\npath = [\"direct\", \"front\"]\n")
        .replace("\"/{{factor.level}}\"", "\"/{{factor.path}}/{{factor.level}}\"");
    let summary = carried_out(&text, &[1.0, 1.1, 1.2, 2.0, 2.2, 2.4]);
    let asked: Vec<(String, String)> = summary
        .comparisons
        .iter()
        .map(|one| (one.stratum["path"].to_string(), one.candidate.to_string()))
        .collect();
    let known =
        [("\"direct\"", "10"), ("\"direct\"", "20"), ("\"front\"", "10"), ("\"front\"", "20")];
    assert_eq!(asked, known.map(|(path, level)| (path.to_owned(), level.to_owned())));
    // Each p-value is corrected for all four.
    assert!(summary.comparisons.iter().all(|one| one.p_value == Some(4.0 * 2.0 / 1024.0)));
    assert!(summary.comparisons.iter().all(|one| one.result == Change::Changed));
    assert_eq!(finding(&summary, "dose-order"), None);
}

#[test]
fn an_effect_that_turns_round_is_named() {
    let text = experiment("0, 10, 20, 40", "0", &["p50"], 10);
    let summary = carried_out(&text, &[1.0, 1.3, 1.31, 1.1]);
    let said = finding(&summary, "dose-order").unwrap();
    assert!(
        said.claim.contains("rises from level=0 to 10 and falls from 20 to 40"),
        "{}",
        said.claim
    );
}

#[test]
fn amounts_with_a_unit_are_in_order_too() {
    for (levels, baseline, told) in [
        (
            "\"2kB\", \"1KiB\", \"1MB\", \"40kB\"",
            "\"1KiB\"",
            "rises from level=1KiB to 2kB and falls from 40kB to 1MB",
        ),
        (
            "\"1s\", 0, \"1m\", \"2500ms\"",
            "0",
            "rises from level=0 to 1s and falls from 2500ms to 1m",
        ),
    ] {
        let summary =
            carried_out(&experiment(levels, baseline, &["p50"], 10), &[1.3, 1.0, 1.1, 1.31]);
        let said = finding(&summary, "dose-order").map(|finding| finding.claim.as_str());
        assert!(said.is_some_and(|claim| claim.contains(told)), "{levels}: {said:?}");
    }
    // Bytes and seconds have no common order.
    let file = experiment("\"1kB\", \"1s\", \"2kB\", \"2s\"", "\"1kB\"", &["p50"], 10);
    assert_eq!(finding(&carried_out(&file, &[1.0, 1.3, 1.31, 1.1]), "dose-order"), None);
}

#[test]
fn an_effect_that_turns_round_in_a_crowd_may_be_the_crowds() {
    let text = experiment("0, 10, 20, 40", "0", &["p50"], 10);
    let closed = text.replace("rate = \"100/s\"", "connections = 1");
    let one = |trial: &TrialPlan, index| {
        Op::answered(service(trial, index, [1.0, 1.3, 1.31, 1.1][trial.arm]))
    };
    let turned = |blocks: u32| {
        designed_with(&closed, &Options::default(), (100, 400), one, |planned, trial| {
            if planned.arm == 3 && planned.block <= blocks {
                trial.generator.worker_run_queue_ns = vec![trial.generator.watched_ns / 3];
            }
        })
    };
    assert!(finding(&turned(0), "dose-order").is_some());
    assert!(finding(&turned(5), "dose-order").is_some(), "half of its blocks");
    assert_eq!(finding(&turned(6), "dose-order"), None);
}

#[test]
fn trials_that_differ_more_than_their_intervals_predict_are_reported() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 10);
    let steady = carried_out(&file, &[1.0, 1.0]);
    assert_eq!(finding(&steady, "repeats-worse"), None);
    // Every trial has its own level, ± 20 %.
    let one = |trial: &TrialPlan, index| {
        let own = 1.0 + 0.4 * (f64::from(trial.index * 7 % 20) / 19.0 - 0.5);
        Op::answered(service(trial, index, own))
    };
    let summary = designed(&file, &Options::default(), (100, 400), one);
    let said = finding(&summary, "repeats-worse").unwrap();
    assert!(said.claim.contains("medians of 10 trials of level=old by 9.22 %"), "{}", said.claim);
}

#[test]
fn pairs_of_the_baseline_tell_the_noise_and_nothing_else() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50"], 10);
    let paired = file.replace("blocks = 10", "blocks = 10\naa = 4");
    // Within a pair the second trial is slower by half, which would spoil any comparison.
    let one = |trial: &TrialPlan, index| {
        let second = trial.block > 10 && trial.order == 2;
        Op::answered(service(trial, index, if second { 1.5 } else { [1.0, 1.2][trial.arm] }))
    };
    let summary = designed(&paired, &Options::default(), (100, 400), one);
    let compared = only(&summary);
    assert_eq!((compared.result, compared.blocks), (Change::Changed, 10));
    assert!(compared.left_out.is_empty(), "{:?}", compared.left_out);
    let noise = finding(&summary, "aa-noise").expect("it is told");
    assert_eq!(noise.arm.as_deref(), Some("level=old"));
    assert!(noise.claim.contains("over 4 A/A pairs"), "{}", noise.claim);
    assert_eq!((summary.arms[0].trials.len(), summary.arms[0].counted().count()), (18, 10));
    assert_eq!(finding(&summary, "repeats-worse"), None);
}

#[test]
fn blocks_whose_quantile_is_among_failures_are_not_passed_over() {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["p50", "p99"], 10);
    // In one block every tenth operation of the candidate fails.
    let one = |trial: &TrialPlan, index: u64| {
        let fails = trial.block == 3 && trial.arm == 1 && index.is_multiple_of(10);
        let failed = Outcome::Failed(record::FailureKind::Status);
        let outcome = Some(if fails { failed } else { Outcome::Succeeded });
        Op { outcome, ..Op::answered(service(trial, index, 1.0)) }
    };
    let summary = designed(&file, &Options::default(), (100, 400), one);
    let [p50, p99] = &summary.comparisons[..] else { panic!("two metrics") };
    assert_eq!(p50.blocks, 10);
    assert_eq!((p99.result, p99.blocks, p99.low), (Change::Undecided, 9, None));
    assert_eq!(p99.note.as_deref(), Some("in 1 of the blocks a trial has no value of p99"));
}

/// A closed load, slower by half in one arm, whose worker waits for its processor a third of the time in these trials.
fn in_a_crowd(crowded: impl Fn(&TrialPlan) -> bool) -> Summary {
    let file = experiment("\"old\", \"new\"", "\"old\"", &["goodput", "p50"], 10);
    let closed = file.replace("rate = \"100/s\"", "connections = 1");
    let one = |trial: &TrialPlan, index| Op::answered(service(trial, index, [1.0, 1.5][trial.arm]));
    designed_with(&closed, &Options::default(), (100, 400), one, |planned, trial| {
        if crowded(planned) {
            trial.generator.worker_run_queue_ns = vec![trial.generator.watched_ns / 3];
        }
    })
}

#[test]
fn what_a_crowd_made_of_a_closed_load_is_no_change() {
    let quiet = in_a_crowd(|_| false);
    assert_eq!(quiet.comparisons[1].result, Change::Changed);
    assert!(quiet.comparisons.iter().all(|one| one.note.is_none()));
    // One crowded arm is enough: its blocks show the crowd as much as the target.
    let summary = in_a_crowd(|trial| trial.arm == 1);
    for one in &summary.comparisons {
        assert_eq!((one.result, one.blocks, one.needs_blocks), (Change::Undecided, 10, None));
        let note = "in 10 of 10 blocks the generator waited for its processor, so that the difference may come from other work on this machine";
        assert_eq!(one.note.as_deref(), Some(note));
    }
    let found = summary.findings.iter().filter(|one| one.code == "closed-load-crowded");
    assert_eq!(found.count(), 10);
    assert!(
        finding(&summary, "undecided-comparison")
            .unwrap()
            .claim
            .contains("other work on this machine")
    );
    let told = "in 10 of 20 trials the generator of a closed load waited for its processor";
    assert!(
        summary.verdict.reasons.iter().any(|why| why.starts_with(told)),
        "{:?}",
        summary.verdict
    );
}

#[test]
fn a_few_crowded_blocks_are_told_beside_the_answer() {
    let summary = in_a_crowd(|trial| trial.block <= 3 && trial.arm == 0);
    let p50 = &summary.comparisons[1];
    assert_eq!((p50.result, p50.blocks), (Change::Changed, 10));
    assert!(p50.note.as_deref().unwrap().starts_with("in 3 of 10 blocks the generator waited"));
    let six = in_a_crowd(|trial| trial.block <= 6);
    assert_eq!(six.comparisons[1].result, Change::Undecided, "most of them");
}

#[test]
fn a_comparison_may_be_about_whole_journeys() {
    let load = "rate = \"100/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let visit = |_| Visit::of([1_000_000, 2_000_000, 3_000_000], 94_000_000);
    let made = simulate_journeys(&journeys_file(load, &[]), 100, 1_000, visit);
    let trial = &made.summary().arms[0].trials[0];
    let value = |name: &str, of: &str| ComparedMetric::named(name)?.value(trial, of);
    assert_eq!(value("mean", "visit"), Some(100e6));
    assert_eq!(value("goodput", "visit"), Some(100.0));
    assert_eq!(value("mean", "no such journey"), None);
}
