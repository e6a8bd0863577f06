//! Whether intervals hold what they promise, on systems whose quantiles are known in closed form.
//!
//! Each run goes the way of the summariser: a fine histogram of the whole, coarse ones of windows of 1 s by
//! intended start, counts beyond the listed quantiles, dispersion, grade, and the edges of buckets at the ranks.
//! A run is short of nothing at its start: the first operation meets the stationary law, nothing is discarded.
//!
//! The short form has few seeds and shows that no interval is far too narrow or too wide. `PROOFLOAD_PROOF=1`
//! has seeds 1 – 2,000, more systems, and the bounds of docs/concepts/intervals.md, whose table it prints.

use stats::dispersion::{Dispersion, WindowCount};
use stats::quantile::{CONFIDENCE, Estimate, Grade, Ranks, independent_ranks, rank};
use stats::{COARSE, FINE, Histogram};

use crate::answers::is_proof;
use crate::systems::{Draw, System};

/// Those of every summary.
const LISTED: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// A quantile, and which of its intervals must cover.
type Wanted = (f64, Claim);

#[derive(Clone, Copy, PartialEq)]
enum Claim {
    /// Those of supported quantiles and all that are printed.
    Both,
    /// All that are printed, since too few runs support the quantile to judge those alone.
    Printed,
    /// None: where the interval is known to fall short, or is hardly ever printed.
    Shown,
}

struct Case {
    system: System,
    seconds: u32,
    quantiles: &'static [Wanted],
}

const fn queue(load: f64, seconds: u32, quantiles: &'static [Wanted]) -> Case {
    Case { system: System::Queue { service_rate: 1_000.0, load }, seconds, quantiles }
}

/// What must hold.
const REQUIRED: [Case; 3] = [
    queue(0.5, 60, &[(0.5, Claim::Both), (0.95, Claim::Both), (0.99, Claim::Both)]),
    queue(0.8, 60, &[(0.5, Claim::Both), (0.95, Claim::Both), (0.99, Claim::Printed)]),
    queue(0.8, 120, &[(0.95, Claim::Both), (0.99, Claim::Both)]),
];

/// Where it is harder: heavy load, the only one of the short form, far tails, short runs, a slow server, pauses.
const HARDER: [Case; 8] = [
    queue(0.9, 60, &[(0.5, Claim::Both), (0.95, Claim::Printed), (0.99, Claim::Shown)]),
    queue(0.5, 60, &[(0.999, Claim::Printed)]),
    queue(0.5, 240, &[(0.999, Claim::Both)]),
    queue(0.8, 30, &[(0.95, Claim::Both), (0.99, Claim::Printed)]),
    queue(0.8, 120, &[(0.999, Claim::Shown)]),
    queue(0.9, 300, &[(0.95, Claim::Both), (0.99, Claim::Printed)]),
    Case {
        system: System::Queue { service_rate: 100.0, load: 0.8 },
        seconds: 60,
        quantiles: &[(0.5, Claim::Both), (0.95, Claim::Printed), (0.99, Claim::Shown)],
    },
    Case {
        system: System::Pauses { rate: 1_000.0, up: 4.9, down: 0.1 },
        seconds: 120,
        quantiles: &[(0.95, Claim::Both), (0.99, Claim::Both), (0.999, Claim::Shown)],
    },
];

const INDEPENDENT: Case = Case {
    system: System::Independent { count: 10_000 },
    seconds: 60,
    quantiles: &[(0.5, Claim::Both), (0.95, Claim::Both), (0.99, Claim::Both)],
};

const MIDDLE_AND_TAIL: &[Wanted] =
    &[(0.5, Claim::Shown), (0.95, Claim::Shown), (0.99, Claim::Shown)];

const fn short(rate: f64, load: f64, seconds: u32) -> Case {
    let system = System::Queue { service_rate: rate / load, load };
    Case { system, seconds, quantiles: MIDDLE_AND_TAIL }
}

const fn few(count: u32, seconds: u32) -> Case {
    let system = System::Independent { count };
    Case { system, seconds, quantiles: MIDDLE_AND_TAIL }
}

/// Runs of 1,000 to 3,000 operations.
const SHORT: [Case; 9] = [
    few(1_000, 30),
    few(3_000, 60),
    short(34.0, 0.5, 30),
    short(50.0, 0.5, 60),
    short(100.0, 0.5, 30),
    short(34.0, 0.8, 30),
    short(50.0, 0.8, 60),
    short(100.0, 0.8, 30),
    Case {
        system: System::Pauses { rate: 50.0, up: 4.9, down: 0.1 },
        seconds: 60,
        quantiles: MIDDLE_AND_TAIL,
    },
];

/// Seeds 1 to this.
fn runs(short: u64) -> u64 {
    if is_proof() { 2_000 } else { short }
}

/// How far so few runs may lie from a share by chance, in the short form: three standard deviations, which a fair
/// interval exceeds on a side in one of 700. Nothing in the long form, whose bounds are bounds.
fn slack(share: f64, runs: u64) -> f64 {
    if is_proof() { 0.0 } else { 3.0 * (share * (1.0 - share) / runs as f64).sqrt() }
}

/// Counts over runs.
#[derive(Default, Clone, Copy)]
struct Tally {
    runs: u64,
    naive: u64,
    printed: Share,
    supported: Share,
}

#[derive(Default, Clone, Copy)]
struct Share {
    of: u64,
    cover: u64,
}

impl Share {
    fn add(&mut self, covers: bool) {
        self.of += 1;
        self.cover += u64::from(covers);
    }

    fn value(self) -> f64 {
        self.cover as f64 / self.of as f64
    }

    fn text(self) -> String {
        if self.of == 0 { "–".into() } else { format!("{:.1} %", 100.0 * self.value()) }
    }
}

/// One run as a summary knows it.
struct Run {
    times: Histogram,
    /// By listed quantile.
    series: Vec<Vec<WindowCount>>,
}

impl Run {
    fn new(draws: &[Draw], seconds: u32) -> Self {
        let mut times = Histogram::new(FINE);
        draws.iter().for_each(|draw| times.record(draw.time));
        let thresholds = LISTED.map(|q| times.quantile(q).expect("a run has operations"));
        let mut series = vec![vec![WindowCount::default(); seconds as usize]; LISTED.len()];
        let mut window = Histogram::new(COARSE);
        for draws in draws.chunk_by(|a, b| a.second == b.second) {
            window.clear();
            draws.iter().for_each(|draw| window.record(draw.time));
            for (series, &threshold) in series.iter_mut().zip(&thresholds) {
                series[draws[0].second].add(window.count(), window.count_above(threshold));
            }
        }
        Self { times, series }
    }

    fn tally(&self, q: f64, truth: u64, tally: &mut Tally) {
        let count = self.times.count();
        let place = LISTED.iter().position(|&listed| listed == q).expect("q is listed");
        let estimate = Estimate::new(q, count, &Dispersion::of_tail(&self.series[..=place]));
        assert_eq!(estimate.rank, rank(q, count));
        let covers = self.covers(estimate.interval, truth);
        tally.runs += 1;
        tally.naive += u64::from(self.covers(independent_ranks(q, count, CONFIDENCE), truth));
        if estimate.grade == Grade::Supported {
            tally.supported.add(covers);
        }
        if estimate.grade != Grade::Refused {
            tally.printed.add(covers);
        }
    }

    fn covers(&self, ranks: Ranks, truth: u64) -> bool {
        let at = |rank: Option<u64>| rank.and_then(|rank| self.times.at_rank(rank));
        let low = at(ranks.low).map_or(0, |bucket| bucket.low);
        let high = at(ranks.high).map_or(u64::MAX, |bucket| bucket.high);
        (low..=high).contains(&truth)
    }
}

/// One tally for each quantile of the case.
fn tallies(case: &Case, seeds: u64) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); case.quantiles.len()];
    for seed in 1..=seeds {
        let run = Run::new(&case.system.run(seed, case.seconds), case.seconds);
        for (tally, &(q, _)) in tallies.iter_mut().zip(case.quantiles) {
            run.tally(q, case.system.truth(q, case.seconds, 0), tally);
        }
    }
    tallies
}

/// Rows of the table.
fn show(case: &Case, tallies: &[Tally]) {
    for (tally, (q, _)) in tallies.iter().zip(case.quantiles) {
        println!(
            "| {} | {} s | p{} | {} | {} | {} | {} | {:.0} % |",
            case.system,
            case.seconds,
            (q * 1e6).round() / 1e4,
            tally.supported.of,
            tally.supported.text(),
            tally.printed.of,
            tally.printed.text(),
            100.0 * tally.naive as f64 / tally.runs as f64
        );
    }
}

fn check(case: &Case, seeds: u64) {
    const ENOUGH: f64 = 0.9;
    let tallies = tallies(case, seeds);
    show(case, &tallies);
    for (tally, (q, claim)) in tallies.iter().zip(case.quantiles) {
        let holds = |share: Share| share.value() >= ENOUGH - slack(ENOUGH, share.of);
        let told = format!("{}, {} s, {q}", case.system, case.seconds);
        if *claim != Claim::Shown {
            assert!(tally.printed.of >= seeds / 10, "{told}: hardly ever printed");
            assert!(holds(tally.printed), "{told}: of printed, {}", tally.printed.text());
        }
        if *claim == Claim::Both {
            assert!(tally.supported.of >= seeds / 4, "{told}: hardly ever supported");
            assert!(holds(tally.supported), "{told}: of supported, {}", tally.supported.text());
        }
    }
}

fn heading() {
    println!("| system | length | quantile | supported | cover | printed | cover | independent |");
    println!("|---|---|---|---|---|---|---|---|");
}

#[test]
fn intervals_of_queues_cover_the_truth() {
    heading();
    REQUIRED.iter().for_each(|case| check(case, runs(60)));
}

#[test]
fn intervals_taken_for_independent_do_not() {
    for tally in tallies(&REQUIRED[1], 60) {
        assert!(tally.naive * 2 < tally.runs, "{} of {}", tally.naive, tally.runs);
    }
}

/// φ of their own tail would support a third of these runs, those with the fewest bursts.
#[test]
fn runs_that_missed_the_bursts_do_not_support_a_thin_tail() {
    let p99 = tallies(&REQUIRED[1], 60)[2];
    assert!(p99.supported.of * 20 <= p99.runs, "{} of {}", p99.supported.of, p99.runs);
}

#[test]
fn harder_systems_are_refused_rather_than_missed() {
    heading();
    let cases = if is_proof() { &HARDER[..] } else { &HARDER[..1] };
    cases.iter().for_each(|case| check(case, runs(40)));
}

#[test]
fn intervals_of_short_runs_cover_the_truth() {
    heading();
    let cases = if is_proof() { &SHORT[..] } else { &SHORT[3..4] };
    cases.iter().for_each(|case| check(case, runs(200)));
}

#[test]
fn independent_draws_are_not_widened() {
    heading();
    // Fewer runs could not tell intervals that always cover from those that should.
    let tallies = tallies(&INDEPENDENT, runs(800));
    show(&INDEPENDENT, &tallies);
    for tally in tallies {
        let (share, slack) = (tally.printed.value(), slack(CONFIDENCE, tally.runs));
        assert!((0.935 - slack..=0.965 + slack).contains(&share), "{}", tally.printed.text());
        assert_eq!(tally.supported.of, tally.runs, "φ hides the support of independent draws");
    }
}
