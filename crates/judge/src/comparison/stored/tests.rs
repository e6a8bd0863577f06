use record::summary::{Change, CountsFor, Finding, Judgement, Summary, Validity};
use serde_json::{Value, json};

use super::differences::differences;
use super::{RatioCriterion, StoredComparison, StoredRun, compare};
use crate::example;

/// A stored run with its plan.
fn stored<'a>(summary: &'a Summary, plan: &'a Value) -> StoredRun<'a> {
    StoredRun { summary, plan }
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

fn plan(url: &str, rate: u32) -> Value {
    json!({
        "seed": 1, "title": "Shop", "rehearsal": false, "comparisons": [], "criteria": [],
        "arms": [{ "name": "all", "targets": [{ "url": url }], "load": { "rate": rate, "workers": 1 } }],
        "trials": [{ "index": 1, "seed": 7 }]
    })
}

fn compared(old: &Summary, new: &Summary, bounds: &[&str]) -> StoredComparison {
    let bounds: Vec<RatioCriterion> =
        bounds.iter().map(|text| RatioCriterion::parse(text).unwrap()).collect();
    let plan = plan("http://a", 500);
    compare(&[stored(old, &plan)], &[stored(new, &plan)], &bounds, Vec::new())
}

fn word(found: &StoredComparison, metric: &str) -> Change {
    found.comparisons.iter().find(|one| one.metric == metric).unwrap().result
}

#[test]
fn ten_trials_a_side_show_a_change() {
    let found = compared(&run("old", 10, 1.0), &run("new", 10, 1.2), &["p99 < 110%", "p50 > 101%"]);
    assert_eq!(word(&found, "p99"), Change::Changed);
    let p99 = found.comparisons.iter().find(|one| one.metric == "p99").unwrap();
    assert!((p99.ratio.unwrap() - 1.2).abs() < 0.01, "{:?}", p99.ratio);
    assert_eq!(word(&found, "goodput"), Change::Equivalent);
    assert!(found.notes[0].contains("not excluded"), "{:?}", found.notes);
    assert_eq!(found.notes.len(), 1);
    let results: Vec<_> = found.criteria.iter().map(|one| one.result).collect();
    assert_eq!(results, [Judgement::Fail, Judgement::Pass]);
}

#[test]
fn what_few_operations_leave_open_needs_no_fewer_trials_than_there_are() {
    let small = |id: &str| {
        let mut summary = run(id, 10, 1.0);
        for trial in &mut summary.arms[0].trials {
            (trial.total.planned, trial.total.succeeded, trial.total.failed) = (100, 100, 0);
            trial.total.abandoned = 0;
        }
        summary
    };
    let found = compared(&small("old"), &small("new"), &[]);
    let failed = found.comparisons.iter().find(|one| one.metric == "failed").unwrap();
    assert_eq!((failed.result, failed.needs_blocks), (Change::Undecided, None));
}

#[test]
fn one_trial_a_side_decides_nothing_however_far_apart() {
    let found = compared(&run("old", 1, 1.0), &run("new", 1, 5.0), &["p99 < 110%"]);
    assert!(found.comparisons.iter().all(|one| one.result == Change::Undecided));
    let p99 = found.comparisons.iter().find(|one| one.metric == "p99").unwrap();
    assert!((p99.ratio.unwrap() - 5.0).abs() < 0.01);
    assert_eq!((p99.low, p99.needs_blocks), (None, Some(5)));
    assert_eq!(found.criteria[0].result, Judgement::Inconclusive);
    assert!(found.notes[1].starts_with("not decided: with one trial a side"), "{:?}", found.notes);
}

#[test]
fn trials_of_several_runs_are_taken_together() {
    let plan = plan("http://a", 500);
    let runs: Vec<Summary> = (1..=10)
        .map(|day| {
            run(
                "day",
                1,
                if day > 5 { 1.5 + f64::from(day) / 100.0 } else { 1.0 + f64::from(day) / 100.0 },
            )
        })
        .collect();
    let side =
        |from: usize| runs[from..from + 5].iter().map(|one| stored(one, &plan)).collect::<Vec<_>>();
    let found = compare(&side(0), &side(5), &[], Vec::new());
    let p50 = found.comparisons.iter().find(|one| one.metric == "p50").unwrap();
    assert_eq!(p50.trials.unwrap().candidate, 5);
    assert_eq!(p50.p_raw.map(|p| (p * 1e4).round()), Some(79.0));
    assert_eq!(p50.result, Change::Changed);
}

#[test]
fn a_rehearsal_decides_nothing() {
    let mut new = run("new", 10, 2.0);
    new.rehearsal = true;
    let found = compared(&run("old", 10, 1.0), &new, &["p99 < 110%"]);
    assert!(found.comparisons.iter().all(|one| one.result == Change::Undecided));
    assert_eq!(found.criteria[0].result, Judgement::Inconclusive);
}

#[test]
fn runs_are_alike_if_they_differ_in_seed_and_address_only() {
    let (old, new) = (run("old", 1, 1.0), run("new", 1, 1.0));
    let mut other = plan("http://b", 500);
    other["seed"] = json!(2);
    assert_eq!(differences(stored(&old, &plan("http://a", 500)), stored(&new, &other)), [""; 0]);
}

#[test]
fn what_differs_is_named() {
    let (old, mut new) = (run("old", 1, 1.0), run("new", 1, 1.0));
    new.run.version = "0.9.0".into();
    new.run.machine.cores = 8;
    let found =
        differences(stored(&old, &plan("http://a", 500)), stored(&new, &plan("http://a", 200)));
    assert_eq!(
        found,
        ["version: 0.1.0 and 0.9.0", "cores: 4 and 8", "plan.arms[0].load.rate: 500 and 200"]
    );
}

#[test]
fn what_is_passed_over_is_so_in_its_place_alone() {
    let (old, new) = (run("old", 1, 1.0), run("new", 1, 1.0));
    let changed = |path: &str, left: Value, right: Value| {
        let mut plans = [plan("http://a", 500), plan("http://a", 500)];
        plans[0]["arms"][0]["operations"] = json!([{ "table": { "json": {}, "headers": {} } }]);
        plans[1]["arms"][0]["operations"] = plans[0]["arms"][0]["operations"].clone();
        *plans[0].pointer_mut(path).unwrap() = left;
        *plans[1].pointer_mut(path).unwrap() = right;
        differences(stored(&old, &plans[0]), stored(&new, &plans[1]))
    };
    for key in ["seed", "trials", "title", "question", "criteria", "system", "url", "workers"] {
        let body = changed("/arms/0/operations/0/table/json", json!({ key: 1 }), json!({ key: 2 }));
        assert_eq!(body, [format!("plan.arms[0].operations[0].table.json.{key}: 1 and 2")]);
    }
    let factors = changed("/arms/0/load", json!({ "seed": 1 }), json!({ "seed": 2 }));
    assert_eq!(factors, ["plan.arms[0].load.seed: 1 and 2"]);
    for (path, alike) in [
        ("/arms/0/load/workers", true),
        ("/arms/0/targets/0/url", true),
        ("/title", true),
        ("/trials", true),
        ("/rehearsal", false),
        ("/arms/0/load/rate", false),
    ] {
        assert_eq!(changed(path, json!(1), json!(2)).is_empty(), alike, "{path}");
    }
}

#[test]
fn bounds_are_read_with_their_operation() {
    let bound = RatioCriterion::parse("search p99.9 <= 105 %").unwrap();
    assert_eq!((bound.operation.as_str(), bound.metric.as_str()), ("search", "p99.9"));
    for (text, said) in [
        ("p99", "is not a criterion on a ratio"),
        ("p99 < 20ms", "`20ms` is not a percentage"),
        ("average < 105%", "no metric is called `average`"),
        ("failed < 105%", "difference of shares"),
        ("a b c < 105%", "is not a criterion on a ratio"),
        ("p99 < -5%", "is not a percentage"),
    ] {
        assert!(RatioCriterion::parse(text).unwrap_err().contains(said), "{text}");
    }
}

#[test]
fn a_bound_on_what_is_not_there_is_told() {
    let found = compared(&run("old", 2, 1.0), &run("new", 2, 1.0), &["nobody p99 < 105%"]);
    // Two trials without a value on either side.
    assert_eq!(found.criteria[0].result, Judgement::Inconclusive);
    assert_eq!(found.criteria[0].observed, None);
}

/// The same run without p99 in this many of its trials, as if more than one in a hundred had failed there.
fn failing(mut run: Summary, trials: usize) -> Summary {
    for trial in &mut run.arms[0].trials[..trials] {
        let quantiles = &mut trial.total.outcome_time.quantiles;
        quantiles.iter_mut().filter(|one| one.q >= 0.99).for_each(|one| one.observed_ns = None);
    }
    run
}

#[test]
fn trials_whose_quantile_is_among_failures_are_not_passed_over() {
    let bounds = ["p99 < 110%", "p99 > 50%", "p50 < 110%"];
    let results = |old: usize, new: usize| {
        let old = failing(run("old", 10, 1.0), old);
        let found = compared(&old, &failing(run("new", 10, 1.0), new), &bounds);
        let noted = found.notes.iter().any(|note| note.contains("p99 of all in arm"));
        let results: Vec<_> = found.criteria.iter().map(|one| one.result).collect();
        (word(&found, "p99"), noted, results)
    };
    use Judgement::{Fail, Inconclusive, Pass};
    assert_eq!(results(0, 0), (Change::Equivalent, false, vec![Pass, Pass, Pass]));
    assert_eq!(results(0, 6), (Change::Undecided, true, vec![Fail, Inconclusive, Pass]));
    assert_eq!(results(1, 0), (Change::Undecided, true, vec![Inconclusive, Inconclusive, Pass]));
    assert_eq!(results(1, 1), (Change::Undecided, true, vec![Inconclusive, Inconclusive, Pass]));
}

#[test]
fn a_bound_is_not_met_by_leaving_trials_out() {
    let result = |candidate: bool, validity: Validity, counts_for: CountsFor| {
        let mut runs = [run("old", 10, 1.0), run("new", 10, 1.0)];
        let trial = &mut runs[usize::from(candidate)].arms[0].trials[0];
        (trial.validity, trial.counts_for) = (validity, counts_for);
        compared(&runs[0], &runs[1], &["p99 < 110%"]).criteria[0].result
    };
    assert_eq!(result(true, Validity::Overload, CountsFor::Judgement), Judgement::Fail);
    for aside in [CountsFor::Noise, CountsFor::Nothing] {
        assert_eq!(result(true, Validity::Overload, aside), Judgement::Pass, "{aside:?}");
        assert_eq!(result(true, Validity::NoSteadyState, aside), Judgement::Pass, "{aside:?}");
    }
    for candidate in [false, true] {
        let unsteady = result(candidate, Validity::NoSteadyState, CountsFor::Judgement);
        assert_eq!(unsteady, Judgement::Inconclusive, "{candidate}");
    }
    assert_eq!(result(false, Validity::Valid, CountsFor::Judgement), Judgement::Pass);
}

#[test]
fn trials_that_do_not_count_are_neither_compared_nor_missed() {
    let (old, mut new) = (run("old", 10, 1.0), run("new", 10, 1.0));
    let whole = compared(&old, &new, &["p50 < 110%"]);
    // Three trials that are four times as slow and do not count: two A/A trials and a superseded one.
    for (counts_for, validity) in [
        (CountsFor::Noise, Validity::Valid),
        (CountsFor::Noise, Validity::Overload),
        (CountsFor::Nothing, Validity::Invalid),
    ] {
        let mut aside = run("new", 1, 4.0).arms[0].trials.remove(0);
        (aside.counts_for, aside.validity) = (counts_for, validity);
        new.arms[0].trials.push(aside);
    }
    assert_eq!(compared(&old, &new, &["p50 < 110%"]), whole);
    assert_eq!(whole.comparisons[0].trials.unwrap().candidate, 10);
}

#[test]
fn runs_whose_closed_load_waited_for_its_processor_decide_nothing() {
    let crowded = |id: &str, trials: u32| {
        let mut summary = run(id, 10, 1.2);
        let model = summary.findings[0].clone();
        summary.findings.extend((1..=trials).map(|trial| Finding {
            code: "closed-load-crowded".to_owned(),
            trial: Some(trial),
            ..model.clone()
        }));
        summary
    };
    let old = run("old", 10, 1.0);
    let found = compared(&old, &crowded("new", 6), &["p99 < 110%"]);
    assert!(found.comparisons.iter().all(|one| one.result == Change::Undecided));
    assert!(found.comparisons.iter().all(|one| one.needs_blocks.is_none()));
    assert_eq!(found.criteria[0].result, Judgement::Inconclusive);
    let told = "not decided: in 0 of 10 trials of the baseline and 6 of 10 of the candidate the generator waited for its \
                processor";
    assert!(found.notes.iter().any(|note| note.starts_with(told)), "{:?}", found.notes);
    assert_eq!(found.notes.len(), 2, "once for all metrics");
    let few = compared(&old, &crowded("new", 3), &["p99 < 110%"]);
    assert_eq!((word(&few, "p99"), few.criteria[0].result), (Change::Changed, Judgement::Fail));
    assert!(few.notes.iter().any(|note| note.starts_with("in 0 of 10 trials")), "{:?}", few.notes);
}
