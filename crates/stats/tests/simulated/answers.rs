//! How criteria at multiples of a known quantile were answered, counted over simulated runs.

use stats::dispersion::{Around, WindowCount};
use stats::exceedance::{Bound, Exceedances, Level};
use stats::proportion::Side;
use stats::quantile::CONFIDENCE;
use stats::running_median::{LEVELS, RunningMedian, SEGMENTS};

use crate::systems::{Draw, System};

/// Bounds, in multiples of the true quantile.
pub const BOUNDS: [f64; 6] = [1.0, 1.2, 1.5, 2.0, 3.0, 0.5];
/// Wrong answers of each kind that are allowed.
pub const ALLOWED: f64 = 0.05;

/// Of a table of [`Tally::print`].
pub const HEADING: &str = "\
| system | length | wrong passes | wrong fails | passes at 1.2× | at 1.5× | at 2× | at 3× | fails at 0.5× |
|---|---|---|---|---|---|---|---|---|";

/// Whether the long form is asked for.
pub fn is_proof() -> bool {
    std::env::var_os("PROOFLOAD_PROOF").is_some()
}

/// Simulated runs of each case.
pub fn runs() -> u64 {
    if is_proof() { 1_000 } else { 60 }
}

/// Three standard errors of a share of the runs.
pub fn slack(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / runs() as f64).sqrt()
}

/// What is simulated, and what is asked.
#[derive(Clone, Copy)]
pub struct Case {
    pub system: System,
    pub seconds: u32,
    pub q: f64,
    /// Its experiment says that it drifts (`steady_state = "reported"`).
    pub drifts: bool,
}

/// Shares of runs.
#[derive(Default, Clone, Copy)]
pub struct Tally {
    pub wrong_pass: f64,
    pub wrong_fail: f64,
    /// By multiple: passes above the true quantile, a fail below it.
    right: [f64; BOUNDS.len() - 1],
}

impl Tally {
    /// All runs of a case.
    pub fn of(case: &Case) -> Self {
        let truth = case.system.truth(case.q, case.seconds, 2 * runs());
        let mut tally = Self::default();
        for seed in 1..=runs() {
            let draws = case.system.run(seed, case.seconds);
            let median = running_median(case, &draws);
            let bound = |multiple: f64| (truth as f64 * multiple) as u64;
            tally.add(BOUNDS.map(|multiple| judged(case, &draws, &median, bound(multiple))));
        }
        tally
    }

    fn add(&mut self, sides: [Side; BOUNDS.len()]) {
        let weight = 1.0 / runs() as f64;
        let add = |share: &mut f64, is: bool| *share += if is { weight } else { 0.0 };
        add(&mut self.wrong_pass, sides[0] == Side::Below);
        add(&mut self.wrong_fail, sides[0] == Side::Above);
        for ((share, side), multiple) in self.right.iter_mut().zip(&sides[1..]).zip(&BOUNDS[1..]) {
            let right = if *multiple > 1.0 { Side::Below } else { Side::Above };
            add(share, *side == right);
        }
    }

    /// Right answers with the bound at this multiple.
    pub fn right_at(&self, multiple: f64) -> f64 {
        let place = BOUNDS[1..].iter().position(|&one| one == multiple);
        self.right[place.expect("a multiple that is judged")]
    }

    /// A row of the table.
    pub fn print(&self, case: &Case) {
        let shares = [self.wrong_pass, self.wrong_fail].into_iter().chain(self.right);
        let shares: Vec<String> = shares.map(|share| format!("{:.1} %", 100.0 * share)).collect();
        println!("| {} | {} s | {} |", case.system, case.seconds, shares.join(" | "));
    }
}

fn running_median(case: &Case, draws: &[Draw]) -> RunningMedian {
    let windows = case.seconds as usize;
    if !case.drifts {
        return RunningMedian::steady(median(draws.iter()).expect("a run has operations"));
    }
    let segment = |number| {
        let of = |draw: &&Draw| RunningMedian::segment(draw.second, windows) == number;
        median(draws.iter().filter(of))
    };
    RunningMedian::drifting(std::array::from_fn::<_, SEGMENTS, _>(segment), windows)
}

fn median<'a>(draws: impl Iterator<Item = &'a Draw>) -> Option<u64> {
    let mut times: Vec<u64> = draws.map(|draw| draw.time).collect();
    let place = times.len().checked_sub(1)? / 2;
    Some(*times.select_nth_unstable(place).1)
}

/// A run with this bound, judged as a criterion is.
fn judged(case: &Case, draws: &[Draw], medians: &RunningMedian, bound: u64) -> Side {
    let count = |thresholds: &[u64]| {
        let mut windows = vec![WindowCount::default(); case.seconds as usize];
        for draw in draws {
            windows[draw.second].add(1, u64::from(draw.time > thresholds[draw.second]));
        }
        windows
    };
    let seconds = case.seconds as usize;
    let levels: Vec<(Vec<u64>, Vec<WindowCount>)> = (0..LEVELS.len())
        .map(|level| (0..seconds).map(|second| medians.threshold(level, second, bound)).collect())
        .map(|thresholds: Vec<u64>| (thresholds.clone(), count(&thresholds)))
        .collect();
    let levels: Vec<Level<'_>> =
        levels.iter().map(|(thresholds, windows)| Level { thresholds, windows }).collect();
    let windows = count(&vec![bound; seconds]);
    let above = windows.iter().map(|window| u64::from(window.above)).sum();
    let (limit, lengths) = (1.0 - case.q, [seconds]);
    let around = if case.drifts { Around::Drift(&lengths) } else { Around::Mean };
    let bound = Bound { value: bound, windows: &windows };
    Exceedances::new((above, draws.len() as u64), &levels, bound, limit, around)
        .judge(limit, CONFIDENCE)
}
