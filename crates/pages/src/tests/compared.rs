//! Pages of comparisons, within a run and of stored runs.

use judge::comparison::stored::{RatioCriterion, StoredComparison, StoredRun, compare};
use judge::simulated::{Op, designed, file};
use plan::experiment::Options;
use plan::plan::TrialPlan;
use record::summary::CountsFor;
use serde_json::json;

use super::*;
use crate::terminal::Colour;

/// Ten blocks of two arms, the second slower by a fifth.
fn slower_by_a_fifth() -> Summary {
    let whole = file("rate = \"100/s\"\nduration = \"4s\"\nsteady_state = \"reported\"", &[]);
    let declared = "[factors]\nlevel = [\"old\", \"new\"]\n[design]\nblocks = 10\n[[comparison]]\n\
                    factor = \"level\"\nbaseline = \"old\"\nmetrics = [\"p50\", \"goodput\"]\n";
    let text = whole.replace("path = \"/\"", "path = \"/{{factor.level}}\"") + declared;
    let one = |trial: &TrialPlan, index| Op::answered(service(trial, index, [1.0, 1.2][trial.arm]));
    designed(&text, &Options::default(), (100, 400), one)
}

/// A service time around 1 ms that differs between operations, and between blocks by a few per cent.
fn service(trial: &TrialPlan, index: u64, factor: f64) -> u64 {
    let operation = 0.5 + ((index * 37 % 101) as f64 / 100.0);
    let block = 1.0 + 0.03 * ((trial.block * 5 % 7) as f64 / 7.0 - 0.5);
    let noise = 1.0 + 0.01 * (((trial.index * 11) % 13) as f64 / 13.0 - 0.5);
    (1e6 * operation * block * noise * factor) as u64
}

#[test]
fn pages_begin_with_the_comparison() {
    let text = terminal::full(&slower_by_a_fifth(), Colour::Off);
    let from = text.find("level against \"old\"").or(text.find("level against old")).unwrap();
    assert!(from < text.find("Trials").unwrap(), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{text}");
    insta::assert_snapshot!(text[from..].split("\nTrials").next().unwrap());
}

#[test]
fn blocks_left_out_and_notes_stand_below_the_comparison() {
    let mut summary = slower_by_a_fifth();
    let note = "in 10 of 10 blocks the generator waited for its processor";
    for one in &mut summary.comparisons {
        one.left_out = vec![3];
        one.note = Some(note.to_owned());
    }
    let page = markdown::render(&summary);
    assert!(page.contains("Left out, because a trial could not be used: block 3."), "{page}");
    let told = "in 10 of 10 blocks the generator waited";
    assert!(page.contains(&format!("new p50, new goodput: {told}")), "{page}");
}

#[test]
fn trials_of_an_aa_pair_are_marked() {
    let mut summary = slower_by_a_fifth();
    for trial in &mut summary.arms[0].trials[..8] {
        trial.counts_for = CountsFor::Noise;
    }
    let page = terminal::full(&summary, Colour::Off);
    assert_eq!(page.lines().filter(|line| line.contains(", A/A")).count(), 8, "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}

#[test]
fn a_quantile_around_a_drift_is_told() {
    let mut summary = example::summary();
    summary.criteria[0].drifting = true;
    let page = markdown::render(&summary);
    assert!(page.contains("quantiles are those of runs that take the same course"), "{page}");
}

/// A run of this many trials; the k-th is slower by `factor` and by a few per cent of its own.
fn run(id: &str, trials: u32, factor: f64) -> Summary {
    let mut summary = example::summary();
    summary.run.id = id.to_owned();
    let first = summary.arms[0].trials[0].clone();
    let trial = |index: u32| {
        let mut trial = first.clone();
        trial.index = index;
        let own = factor * (1.0 + 0.02 * f64::from(index * 7 % 10) / 10.0);
        for times in [&mut trial.total.outcome_time, &mut trial.total.response_time] {
            for entry in &mut times.quantiles {
                entry.observed_ns = entry.observed_ns.map(|one| (one as f64 * own) as u64);
            }
        }
        trial
    };
    summary.arms[0].trials = (1..=trials).map(trial).collect();
    summary
}

fn stored_runs(trials: u32, factor: f64) -> StoredComparison {
    let plan = json!({
        "seed": 1, "title": "Shop", "rehearsal": false, "comparisons": [], "criteria": [],
        "arms": [{ "name": "all", "targets": [], "load": { "rate": 500, "workers": 1 } }],
        "trials": [{ "index": 1, "seed": 7 }]
    });
    let bound = RatioCriterion::parse("p99 < 110%").unwrap();
    let (old, new) = (run("old", trials, 1.0), run("new", trials, factor));
    let [old, new] = [&old, &new].map(|summary| StoredRun { summary, plan: &plan });
    compare(&[old], &[new], &[bound], Vec::new())
}

#[test]
fn a_page_shows_ratio_interval_and_word() {
    let page = stored::render(&stored_runs(10, 1.2), "text").unwrap();
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    insta::assert_snapshot!(page);
}

#[test]
fn every_page_of_stored_runs_says_why_nothing_is_decided() {
    for format in stored::FORMATS {
        let page = stored::render(&stored_runs(1, 5.0), format).unwrap();
        assert!(page.contains("not excluded") && page.contains("not decided"), "{page}");
    }
}
