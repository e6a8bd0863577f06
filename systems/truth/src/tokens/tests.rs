//! Planned instants of many answers against closed forms and another simulation; no clock is read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::configuration::Timing;
use crate::model::Model;

const MS: u64 = 1_000_000;
const SECOND: f64 = 1e9;

const TEN: TokenSettings = TokenSettings {
    count: 10,
    lengths: Lengths::Constant,
    gap_ns: 20 * MS,
    gaps: Gaps::Exponential,
    batch: 0.0,
    cut_share: 0.0,
};

/// Times of all answers, ascending, in nanoseconds.
struct Times {
    first: Vec<u64>,
    gaps: Vec<u64>,
    last: Vec<u64>,
}

/// Answers to Poisson arrivals at `lambda`, with events in the order of their instants as the
/// timer has them.
fn times(settings: TokenSettings, timing: Timing, lambda: f64, answers: usize, seed: u64) -> Times {
    let (mut model, mut forks) = (Model::new(timing, seed), Draws::new(!seed));
    let (mut between, mut arrived) = (Draws::new(seed + 1_000_000), 0);
    let mut times = Times { first: Vec::new(), gaps: Vec::new(), last: Vec::new() };
    let (mut plans, mut due) = (Vec::new(), BinaryHeap::new());
    for index in 0..answers {
        arrived += between.exponential_ns(lambda);
        let first = model.plan(arrived).due_ns;
        times.first.push(first - arrived);
        plans.push((arrived, TokenPlan::new(settings, forks.fork(), None)));
        due.push(Reverse((first, index, 1)));
    }
    let mut decoding = 0;
    while let Some(Reverse((now, index, token))) = due.pop() {
        let (arrived, plan) = &mut plans[index];
        decoding += u64::from(token == 1);
        if token == plan.tokens() {
            decoding -= 1;
            times.last.push(now - *arrived);
        } else {
            let gap = plan.gap_ns(decoding);
            times.gaps.push(gap);
            due.push(Reverse((now + gap, index, token + 1)));
        }
    }
    for values in [&mut times.first, &mut times.gaps, &mut times.last] {
        values.sort_unstable();
    }
    times
}

fn quantile(sorted: &[u64], q: f64) -> f64 {
    sorted[(sorted.len() as f64 * q).ceil() as usize - 1] as f64
}

fn mean(values: &[u64]) -> f64 {
    values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64
}

#[track_caller]
fn assert_near(value: f64, expect: f64, share: f64) {
    assert!((value / expect - 1.0).abs() < share, "{value} against {expect}");
}

fn plan(settings: TokenSettings, seed: u64) -> TokenPlan {
    TokenPlan::new(settings, Draws::new(seed), None)
}

#[test]
fn first_tokens_have_the_quantiles_of_an_mm1_queue() {
    let single = TokenSettings { count: 1, ..TEN };
    let timing = Timing::Mm1 { rate: 1000.0 };
    for lambda in [300.0, 700.0] {
        let runs: Vec<Vec<u64>> =
            (1..=10).map(|seed| times(single, timing, lambda, 100_000, seed).first).collect();
        for q in [0.5, 0.9, 0.99] {
            let found = runs.iter().map(|first| quantile(first, q)).sum::<f64>() / 10.0;
            assert_near(found, -(1.0_f64 - q).ln() / (1000.0 - lambda) * SECOND, 0.03);
        }
    }
}

#[test]
fn a_constant_prefill_has_the_mean_of_an_md1_queue() {
    // 1/μ + ρ / (2 μ (1 − ρ))
    let first = times(TEN, Timing::Md1 { rate: 1000.0 }, 500.0, 100_000, 4).first;
    assert_near(mean(&first), 0.0015 * SECOND, 0.02);
}

#[test]
fn gaps_are_exponential_and_add_up_to_the_last_token() {
    let times = times(TEN, Timing::Mm1 { rate: 1000.0 }, 500.0, 100_000, 5);
    assert_eq!((times.gaps.len(), times.last.len()), (900_000, 100_000));
    for q in [0.5, 0.9, 0.99, 0.999] {
        let expect = -(20.0 * MS as f64) * (1.0_f64 - q).ln();
        assert_near(quantile(&times.gaps, q), expect, 0.02);
    }
    assert_near(mean(&times.last), mean(&times.first) + 9.0 * 20.0 * MS as f64, 0.005);
}

#[test]
fn constant_gaps_are_the_mean() {
    let constant = TokenSettings { gaps: Gaps::Constant, ..TEN };
    let times = times(constant, Timing::Mm1 { rate: 1000.0 }, 500.0, 1_000, 6);
    assert!(times.gaps.iter().all(|gap| *gap == 20 * MS));
    let batched = TokenSettings { batch: 0.5, ..constant };
    let gaps = [1, 2, 5].map(|decoding| plan(batched, 1).gap_ns(decoding));
    assert_eq!(gaps, [20 * MS, 30 * MS, 60 * MS]);
}

#[test]
fn no_gap_is_a_gap_of_nothing() {
    let none = TokenSettings { gap_ns: 0, batch: 1.0, ..TEN };
    let mut plan = plan(none, 1);
    assert!((0..1_000).all(|_| plan.gap_ns(3) == 0));
}

#[test]
fn lengths_are_geometric_around_their_mean() {
    let geometric = TokenSettings { count: 50, lengths: Lengths::Geometric, ..TEN };
    let mut forks = Draws::new(7);
    let draw = |_| TokenPlan::new(geometric, forks.fork(), None).tokens();
    let mut lengths: Vec<u64> = (0..100_000).map(draw).collect();
    lengths.sort_unstable();
    assert_eq!(lengths[0], 1);
    assert_near(mean(&lengths), 50.0, 0.02);
    // P(length ≤ k) = 1 − (1 − 1/50)^k
    assert_near(quantile(&lengths, 0.9), 114.0, 0.02);
    let single = TokenSettings { count: 1, ..geometric };
    assert!((0..1_000).all(|seed| plan(single, seed).tokens() == 1));
}

#[test]
fn a_client_s_limit_is_an_upper_one() {
    let limited = |limit| TokenPlan::new(TEN, Draws::new(1), limit).tokens();
    assert_eq!([None, Some(3), Some(10), Some(11)].map(limited), [10, 3, 10, 10]);
}

#[test]
fn a_share_of_streams_is_cut_after_half_of_their_tokens() {
    let half = TokenSettings { cut_share: 0.3, ..TEN };
    let cut = (0..10_000).filter_map(|seed| plan(half, seed).cut_after()).collect::<Vec<_>>();
    assert!((2_800..=3_200).contains(&cut.len()), "{}", cut.len());
    assert!(cut.iter().all(|after| *after == 5));
    let single = TokenSettings { count: 1, cut_share: 1.0, ..TEN };
    assert_eq!(plan(single, 1).cut_after(), Some(1));
    assert_eq!(plan(TEN, 1).cut_after(), None);
}

#[test]
fn the_same_seed_draws_the_same_whatever_else_is_in_progress() {
    let draw = |seed| {
        let mut plan = plan(TEN, seed);
        (0..50).map(|_| plan.gap_ns(1)).collect::<Vec<_>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    // Without a batch effect, the number of other streams changes nothing.
    let (mut alone, mut among) = (plan(TEN, 9), plan(TEN, 9));
    assert!((1..50).all(|others| alone.gap_ns(1) == among.gap_ns(others)));
}

#[test]
fn answers_do_not_share_their_draws() {
    // Each answer's first gap against the next answer's: no correlation beyond chance.
    let mut forks = Draws::new(10);
    let gaps: Vec<f64> =
        (0..100_000).map(|_| TokenPlan::new(TEN, forks.fork(), None).gap_ns(1) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let products = gaps.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>();
    let correlation = products / gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
    // 4 standard deviations of 1/√100,000
    assert!(correlation.abs() < 0.0127, "{correlation}");
}

/// Mean gap and mean time from first to last token, by a list of streams that is searched for the
/// next event, with a count of the active ones at each.
fn simulated(tokens: u32, gap: f64, batch: f64, lambda: f64, answers: usize) -> (f64, f64) {
    let mut draws = Draws::new(99);
    let mut exponential = |mean: f64| -(1.0 - draws.uniform()).ln() * mean;
    let mut active: Vec<(f64, u32, f64)> = Vec::new();
    let (mut start, mut begun, mut ended) = (0.0, 0, 0);
    let (mut gaps, mut drawn, mut decoding) = (0.0, 0, 0.0);
    while ended < answers {
        let next = (0..active.len()).min_by(|a, b| active[*a].0.total_cmp(&active[*b].0));
        let at = match next.filter(|at| begun == answers || active[*at].0 < start) {
            Some(at) => at,
            None => {
                active.push((start, tokens, start));
                start += exponential(1.0 / lambda);
                begun += 1;
                active.len() - 1
            }
        };
        active[at].1 -= 1;
        if active[at].1 == 0 {
            let (now, _, since) = active.swap_remove(at);
            decoding += now - since;
            ended += 1;
        } else {
            let drawn_gap = exponential(gap * (1.0 + batch * (active.len() - 1) as f64));
            active[at].0 += drawn_gap;
            gaps += drawn_gap;
            drawn += 1;
        }
    }
    (gaps / f64::from(drawn), decoding / answers as f64)
}

#[test]
fn a_batch_lengthens_gaps_as_in_another_simulation() {
    // First tokens leave an M/M/1 queue as a Poisson process (Burke), which the other one starts with.
    let batched = TokenSettings { count: 20, batch: 0.03, ..TEN };
    let times = times(batched, Timing::Mm1 { rate: 1000.0 }, 40.0, 60_000, 11);
    let (gap, decoding) = simulated(20, 0.02, 0.03, 40.0, 60_000);
    assert!(gap > 0.03, "the batch is to matter: {gap}");
    assert_near(mean(&times.gaps) / SECOND, gap, 0.03);
    assert_near((mean(&times.last) - mean(&times.first)) / SECOND, decoding, 0.03);
}
