//! The order of comparisons, and what is reported.

use super::*;

fn sample(sequence: u64, nearest: Vec<Near>) -> Sample {
    let (query, vector, filter) = (Some("q".to_owned()), vec![1.0], None);
    Sample { query, vector, k: 2, filter, sequence, exact: false, nearest }
}

fn near(id: &str, score: f32) -> Near {
    Near { id: id.into(), score, born: 0 }
}

#[test]
fn every_beginning_is_spread_over_the_whole() {
    for count in [0, 1, 2, 7, 8, 100] {
        let mut spread = spread((0..count).map(|number| sample(number, Vec::new())).collect());
        let mut order = Vec::new();
        while let Some(sample) = spread.pop() {
            order.push(sample.sequence);
        }
        if count == 100 {
            for part in 0..5 {
                let within = order[..25].iter().filter(|number| **number / 20 == part).count();
                assert!((3..=7).contains(&within), "{part}: {:?}", &order[..25]);
            }
        }
        order.sort_unstable();
        assert_eq!(order, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn shares_are_told_only_where_there_are_any() {
    let observed = RecallSums::default().observed(&[("searches", 7)]);
    assert_eq!((observed.received, &observed.detail["searches"]), (0, &json!(7)));
    assert_eq!((observed.detail.get("recall"), observed.detail.get("planted_first")), (None, None));
    let mut verdict = RecallSums::default();
    let answer = sample(1, vec![near("b", 0.8), near("a", 0.7)]);
    verdict.add(&answer, &[near("b", 0.8), near("a", 0.7)], &PlantedQueries::default());
    verdict.add(&answer, &[near("c", 0.9), near("b", 0.8)], &PlantedQueries::default());
    let observed = verdict.observed(&[]);
    assert_eq!((observed.received, &observed.detail["recall"]), (2, &json!(0.75)));
    assert_eq!(
        (&observed.detail["recall_at_worst"], &observed.detail["below_1"]),
        (&json!(0.5), &json!(1))
    );
}

#[test]
fn all_that_is_told_is_known_by_name() {
    let mut verdict = RecallSums::default();
    let answer = sample(1, vec![near("b", 0.8), near("a", 0.7)]);
    let planted = PlantedQueries::read("query,id\nq,a\n").unwrap();
    verdict.add(&answer, &[near("b", 0.8), near("a", 0.7)], &planted);
    let observed = verdict.observed(&[("samples", 1), ("searches", 1), ("unjudged", 0)]).detail;
    let mut names: Vec<&str> = observed.keys().map(String::as_str).collect();
    let mut known = COUNTS.to_vec();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
    assert_eq!((&observed["planted"], &observed["planted_first"]), (&json!(1), &json!(0.0)));
    assert_eq!(observed["planted_found"], json!(1.0));
}

#[test]
fn all_problems_of_the_settings_are_told_at_once() {
    let options = Options::default().with("queries", "/nonexistent").with("x", 1);
    assert_eq!(read(&options).unwrap_err().problems.len(), 3);
}
