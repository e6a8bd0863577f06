//! How often a comparison is wrong, on trials whose truth is known.
//!
//! Each trial here is one number, as a comparison sees it: the logarithm of a quantile, drawn with the
//! noise that trials have among themselves. The last test makes each trial of a queue instead, and shows beside it
//! what a test on the operations themselves would have said; with `PROOFLOAD_PROOF=1` it has as many experiments as
//! the others. With `--nocapture` every test prints its figures: they stand in `docs/concepts/comparing.md`.

use stats::comparison::correction::holm;
use stats::comparison::decision::{Decision, decide};
use stats::comparison::shift::shift_function;
use stats::comparison::{paired, rank_sum};

const EXPERIMENTS: u32 = 1_000;
const BLOCKS: usize = 10;
/// log 1.05
const MARGIN: f64 = 0.048_790_164;

/// xorshift64*: enough for a simulation, the same on every machine.
struct Randomness(u64);

impl Randomness {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        (bits as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -self.unit().ln() / rate
    }
}

fn show(what: &str, changed: impl std::fmt::Display, experiments: impl std::fmt::Display) {
    println!("comparison: {what}: {changed} of {experiments} changed");
}

fn decided(differences: &[f64], seed: u64) -> Decision {
    let seen = paired(differences, seed).expect("there are blocks").difference;
    decide(&seen, seen.p, MARGIN)
}

fn is_changed(decision: Decision) -> bool {
    matches!(decision, Decision::Changed { .. })
}

/// How many of 1,000 experiments with this noise between blocks and this effect end in each word.
fn words(spread: f64, effect: f64) -> [u32; 3] {
    let mut words = [0; 3];
    for seed in 1..=EXPERIMENTS {
        let mut randomness = Randomness::new(u64::from(seed));
        let differences: Vec<f64> =
            (0..BLOCKS).map(|_| effect + spread * randomness.normal()).collect();
        let place = match decided(&differences, 1) {
            Decision::Changed { .. } => 0,
            Decision::Equivalent => 1,
            Decision::Undecided => 2,
        };
        words[place] += 1;
    }
    words
}

#[test]
fn equal_arms_are_called_changed_at_most_in_sixty_four_of_a_thousand() {
    let [changed, equivalent, undecided] = words(0.05, 0.0);
    show("equal arms", changed, EXPERIMENTS);
    assert!(changed <= 64, "{changed} {equivalent} {undecided}");
    // A test that never spoke would pass the line above.
    assert!((30..=64).contains(&changed) && equivalent > 500, "{changed} {equivalent}");
}

#[test]
fn ten_per_cent_are_seen_through_a_noise_of_five() {
    let [changed, ..] = words(0.05, 1.1_f64.ln());
    show("10 % slower", changed, EXPERIMENTS);
    assert!(changed >= 950, "{changed}");
}

#[test]
fn one_per_cent_is_rarely_called_larger_than_the_margin() {
    let mut certain = 0;
    for seed in 1..=EXPERIMENTS {
        let mut randomness = Randomness::new(u64::from(seed));
        let differences: Vec<f64> =
            (0..BLOCKS).map(|_| 1.01_f64.ln() + 0.05 * randomness.normal()).collect();
        certain += u32::from(decided(&differences, 1) == Decision::Changed { size_certain: true });
    }
    show("1 % slower, with certain size", certain, EXPERIMENTS);
    assert!(certain <= 25, "{certain}");
}

#[test]
fn of_many_equal_metrics_one_is_called_changed_no_more_often_than_of_one() {
    const METRICS: usize = 4;
    let mut alarms = 0;
    for seed in 1..=EXPERIMENTS {
        let mut randomness = Randomness::new(u64::from(seed));
        let seen: Vec<_> = (0..METRICS)
            .map(|_| (0..BLOCKS).map(|_| 0.05 * randomness.normal()).collect::<Vec<_>>())
            .map(|differences| paired(&differences, 1).unwrap().difference)
            .collect();
        let p = holm(&seen.iter().map(|one| one.p).collect::<Vec<_>>());
        let words = seen.iter().zip(p).map(|(one, p)| decide(one, p, MARGIN));
        alarms += u32::from(words.into_iter().any(is_changed));
    }
    show("equal arms, any of four metrics", alarms, EXPERIMENTS);
    assert!(alarms <= 64, "{alarms}");
}

/// In which order the two arms of a block are executed: `true` where the baseline comes first.
type Order = fn(&mut Randomness, usize) -> bool;

/// How many of 1,000 experiments with equal arms end `changed` while every trial is 1 % slower than the
/// one before it.
fn fooled(design: impl Fn(&mut Randomness, usize) -> (usize, usize)) -> u32 {
    let mut fooled = 0;
    for seed in 1..=EXPERIMENTS {
        let mut randomness = Randomness::new(u64::from(seed));
        let differences: Vec<f64> = (0..BLOCKS)
            .map(|block| {
                let (baseline, candidate) = design(&mut randomness, block);
                let noise = 0.03 * (randomness.normal() - randomness.normal());
                (candidate as f64 - baseline as f64) * 1.01_f64.ln() + noise
            })
            .collect();
        fooled += u32::from(is_changed(decided(&differences, 1)));
    }
    fooled
}

fn in_blocks(order: Order) -> impl Fn(&mut Randomness, usize) -> (usize, usize) {
    move |randomness, block| {
        if order(randomness, block) {
            (2 * block, 2 * block + 1)
        } else {
            (2 * block + 1, 2 * block)
        }
    }
}

#[test]
fn a_drift_fools_one_arm_after_the_other_and_not_blocks() {
    let sequential = fooled(|_, block| (block, BLOCKS + block));
    show("equal arms, drift of 1 % a trial, first A, then B", sequential, EXPERIMENTS);
    assert!(sequential > 500, "{sequential}");
    let random = fooled(in_blocks(|randomness, _| randomness.unit() < 0.5));
    show("equal arms, drift of 1 % a trial, blocks in drawn order", random, EXPERIMENTS);
    assert!(random <= 60, "{random}");
    let abba = fooled(in_blocks(|_, block| block % 2 == 0));
    show("equal arms, drift of 1 % a trial, blocks in the order abba", abba, EXPERIMENTS);
    assert!(abba <= 60, "{abba}");
}

#[test]
fn the_band_of_the_shift_function_covers_the_truth() {
    let mut covered = 0;
    for seed in 1..=EXPERIMENTS {
        let mut randomness = Randomness::new(u64::from(seed));
        let rows: Vec<Vec<f64>> =
            (0..BLOCKS).map(|_| vec![0.1 + 0.05 * randomness.normal()]).collect();
        let band = shift_function(&rows, u64::from(seed))[0].band.unwrap();
        covered += u32::from(band.low <= 0.1 && 0.1 <= band.high);
    }
    println!("comparison: band of the shift function: {covered} of {EXPERIMENTS} cover the truth");
    // 95 %; 4 standard errors are 2.8 %.
    assert!((922..=978).contains(&covered), "{covered}");
}

/// Response times of an M/M/1 queue at load 0.7, by Lindley's recursion; service is slower by `factor`.
fn queue(randomness: &mut Randomness, factor: f64, operations: usize) -> Vec<f64> {
    let settle = 2_000;
    let (mut arrival, mut free, mut times) = (0.0_f64, 0.0_f64, Vec::with_capacity(operations));
    for index in 0..settle + operations {
        arrival += randomness.exponential(700.0);
        free = free.max(arrival) + randomness.exponential(1_000.0) * factor;
        if index >= settle {
            times.push(free - arrival);
        }
    }
    times
}

fn log_median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2].ln()
}

/// Trials of 10 s of a queue at load 0.7, each with an effect of its own of 3 %. The short form has 60
/// experiments and only shows that the path works; the long one 1,000.
#[test]
fn equal_queues_are_equal_for_blocks_and_not_for_operations() {
    let proof = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let experiments = if proof { 1_000 } else { 60 };
    let (mut blocks_fooled, mut operations_fooled) = (0, 0);
    for seed in 1..=experiments {
        let mut randomness = Randomness::new(seed);
        let mut trial = || {
            let factor = (0.03 * randomness.normal()).exp();
            queue(&mut randomness, factor, 7_000)
        };
        let pairs: Vec<_> = (0..BLOCKS).map(|_| (trial(), trial())).collect();
        let differences: Vec<f64> =
            pairs.iter().map(|(one, other)| log_median(other) - log_median(one)).collect();
        blocks_fooled += u64::from(is_changed(decided(&differences, 1)));
        operations_fooled += u64::from(rank_sum(&pairs[0].0, &pairs[0].1).unwrap().p < 0.05);
    }
    show("equal queues, blocks", blocks_fooled, experiments);
    show(
        "equal queues, Mann-Whitney on the operations of one block",
        operations_fooled,
        experiments,
    );
    // 5 % and four standard errors of the number of experiments; 6.4 % of 1,000 is two.
    let most = if proof { 64 } else { 60 * 16 / 100 };
    assert!(blocks_fooled <= most, "{blocks_fooled} of {experiments}");
    assert!(operations_fooled * 10 > experiments * 6, "{operations_fooled} of {experiments}");
}
