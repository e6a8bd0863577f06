//! How criteria at multiples of a known quantile were answered, counted over simulated runs.

use stats::dispersion::{Around, WindowCount};
use stats::exceedance::{Bound, Exceedances, ThresholdLevel};
use stats::proportion::LimitSide;
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
            let run = Run::new(case, &case.system.run(seed, case.seconds));
            let bound = |multiple: f64| (truth as f64 * multiple) as u64;
            tally.add(BOUNDS.map(|multiple| run.judge(case, bound(multiple))));
        }
        tally
    }

    fn add(&mut self, sides: [Option<LimitSide>; BOUNDS.len()]) {
        let weight = 1.0 / runs() as f64;
        let add = |share: &mut f64, is: bool| *share += if is { weight } else { 0.0 };
        add(&mut self.wrong_pass, sides[0] == Some(LimitSide::Below));
        add(&mut self.wrong_fail, sides[0] == Some(LimitSide::Above));
        for ((share, side), multiple) in self.right.iter_mut().zip(&sides[1..]).zip(&BOUNDS[1..]) {
            let right = if *multiple > 1.0 { LimitSide::Below } else { LimitSide::Above };
            add(share, *side == Some(right));
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

/// One run as a criterion sees it.
struct Run {
    /// Times by window, ascending.
    windows: Vec<Vec<u64>>,
    medians: RunningMedian,
}

impl Run {
    fn new(case: &Case, draws: &[Draw]) -> Self {
        let mut windows = vec![Vec::new(); case.seconds as usize];
        draws.iter().for_each(|draw| windows[draw.second].push(draw.time));
        let medians = if case.drifts {
            let segment = |number| {
                let of = |window: &usize| RunningMedian::segment(*window, windows.len()) == number;
                median((0..windows.len()).filter(of).flat_map(|window| &windows[window]))
            };
            let medians = std::array::from_fn::<_, SEGMENTS, _>(segment);
            RunningMedian::drifting(medians, windows.len())
        } else {
            RunningMedian::steady(median(windows.iter().flatten()).expect("a run has operations"))
        };
        windows.iter_mut().for_each(|window| window.sort_unstable());
        Self { windows, medians }
    }

    fn count(&self, thresholds: &[u64]) -> Vec<WindowCount> {
        let windows = self.windows.iter().zip(thresholds);
        let windows = windows.map(|(times, threshold)| {
            let below = times.partition_point(|time| time <= threshold);
            WindowCount { total: times.len() as u32, above: (times.len() - below) as u32 }
        });
        windows.collect()
    }

    fn judge(&self, case: &Case, value: u64) -> Option<LimitSide> {
        let length = self.windows.len();
        let levels: [_; LEVELS.len()] = std::array::from_fn(|level| {
            let threshold = |window| self.medians.threshold(level, window, value);
            let thresholds: Vec<u64> = (0..length).map(threshold).collect();
            let windows = self.count(&thresholds);
            (thresholds, windows)
        });
        let levels =
            levels.each_ref().map(|(thresholds, windows)| ThresholdLevel { thresholds, windows });
        let windows = self.count(&vec![value; length]);
        let above = windows.iter().map(|window| u64::from(window.above)).sum();
        let total = self.windows.iter().map(|window| window.len() as u64).sum();
        let (limit, lengths) = (1.0 - case.q, [length]);
        let around = if case.drifts { Around::Drift(&lengths) } else { Around::Mean };
        let bound = Bound { value, windows: &windows };
        Exceedances::new((above, total), &levels, bound, limit, around).side(limit, CONFIDENCE)
    }
}

fn median<'a>(times: impl Iterator<Item = &'a u64>) -> Option<u64> {
    let mut times: Vec<u64> = times.copied().collect();
    let place = times.len().checked_sub(1)? / 2;
    Some(*times.select_nth_unstable(place).1)
}
