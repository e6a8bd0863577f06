//! One trial that steps the rate up to above the capacity and down again: whether the target serves the same load the
//! same way after an overload, and how long it takes to recover.

use record::summary::{Stair, Stairs};
use record::{Window, WindowSpan};
use stats::dispersion::{WindowCount, errors_apart};
use stats::{COARSE, Histogram};

/// Rates of the way up, as multiples of the low end; the last is above the capacity. The way down repeats the others
/// in reverse order.
const RATES: [f64; 7] = [0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1];
/// The quantile that is compared.
const QUANTILE: f64 = 0.99;
/// Above these rates the target is still working off its backlog from the overload: that is recovery, not hysteresis.
const WELL_BELOW: f64 = 0.91;
/// Steps that must differ for hysteresis.
const STEPS: usize = 2;
/// Standard errors, and ratio, by which the two ways must differ.
const ERRORS: f64 = 3.0;
const RATIO: f64 = 1.25;
/// A p99 of at most this many times that of the way up counts as recovered.
const BACK: f64 = 1.1;

/// Rates of the whole trial, in order.
pub fn rates(low: f64) -> Vec<f64> {
    let down = RATES[..RATES.len() - 1].iter().rev();
    RATES.iter().chain(down).map(|share| share * low).collect()
}

/// Steps well below the capacity, where hysteresis is looked for.
pub(crate) fn well_below(stairs: &Stairs) -> impl DoubleEndedIterator<Item = &Stair> {
    let highest = stairs.steps.last().map_or(0.0, |step| step.rate);
    let low = highest / RATES[RATES.len() - 1];
    stairs.steps.iter().filter(move |step| step.rate < low * WELL_BELOW)
}

/// Whether the way down differs from the way up on at least [`STEPS`] of the steps well below the capacity.
pub(crate) fn shows_hysteresis(stairs: &Stairs) -> bool {
    well_below(stairs).filter(|step| step.differs).count() >= STEPS
}

/// The windows of the trial, added in any order and in parts.
#[derive(Debug, Clone)]
pub struct HysteresisTest {
    low: f64,
    step_ns: u64,
    window_ns: u64,
    windows: Vec<WindowTotals>,
}

/// One window, all operations together.
#[derive(Debug, Clone)]
struct WindowTotals {
    times: Histogram,
    /// Operations without a time: slower than all others.
    lost: u64,
}

impl HysteresisTest {
    /// A test that goes above `low`, with this length of each step.
    pub fn new(low: f64, step_ns: u64, window_ns: u64) -> Self {
        Self { low, step_ns, window_ns, windows: Vec::new() }
    }

    /// Adds a window.
    pub fn add(&mut self, window: &Window) {
        let seen = self.at(window.number);
        for part in &window.operations {
            seen.lost += part.without_time();
            if let Some(times) = part.histogram(WindowSpan::ResponseTime) {
                seen.times.merge(times);
            }
        }
    }

    fn at(&mut self, number: u64) -> &mut WindowTotals {
        let place = usize::try_from(number).unwrap_or(usize::MAX - 1);
        if self.windows.len() <= place {
            self.windows
                .resize_with(place + 1, || WindowTotals { times: Histogram::new(COARSE), lost: 0 });
        }
        &mut self.windows[place]
    }

    /// The steps of both ways, which of them differ, and the time to recover.
    pub fn judge(&self, trial: u32) -> Stairs {
        let last = RATES.len() - 1;
        let steps = RATES.iter().enumerate().map(|(place, share)| {
            let (up, down) = (self.step(place), self.step(2 * last - place));
            Stair {
                rate: share * self.low,
                up_p99_ns: quantile(up),
                down_p99_ns: quantile(down),
                differs: place < last && differ(up, down),
            }
        });
        let steps: Vec<Stair> = steps.collect();
        let back = self.back(&steps);
        Stairs {
            trial,
            step_ns: self.step_ns,
            recovery_ns: back.map(|window| window as u64 * self.window_ns),
            recovered: back.is_some(),
            steps,
        }
    }

    /// Windows of a step; steps are counted over both ways.
    fn step(&self, place: usize) -> &[WindowTotals] {
        let each = (self.step_ns / self.window_ns.max(1)) as usize;
        let from = (place * each).min(self.windows.len());
        &self.windows[from..(from + each).min(self.windows.len())]
    }

    /// Windows after the highest step until the first one whose p99 is near that of the way up at the same rate.
    fn back(&self, steps: &[Stair]) -> Option<usize> {
        let last = RATES.len() - 1;
        let mut waited = 0;
        for place in last + 1..=2 * last {
            let known = steps[2 * last - place].up_p99_ns?;
            for window in self.step(place) {
                let p99 = quantile(std::slice::from_ref(window));
                if p99.is_some_and(|p99| p99 as f64 <= BACK * known as f64) {
                    return Some(waited);
                }
                waited += 1;
            }
        }
        None
    }
}

/// The 99th percentile; `None` where it falls among operations that have no time, or there are none.
fn quantile(windows: &[WindowTotals]) -> Option<u64> {
    let mut times = Histogram::new(COARSE);
    windows.iter().for_each(|window| times.merge(&window.times));
    let lost: u64 = windows.iter().map(|window| window.lost).sum();
    let rank = (QUANTILE * (times.count() + lost) as f64).ceil() as u64;
    (rank > 0 && rank <= times.count()).then(|| times.at_rank(rank))?.map(|bucket| bucket.high)
}

/// Whether the two p99s differ by a quarter, and the shares beyond the lower one by more than windows vary.
fn differ(up: &[WindowTotals], down: &[WindowTotals]) -> bool {
    let (Some(one), other) = (quantile(up), quantile(down)) else { return false };
    let ratio = other.map_or(f64::INFINITY, |other| other as f64 / one.max(1) as f64);
    if ratio < RATIO && 1.0 / ratio < RATIO {
        return false;
    }
    let threshold = other.map_or(one, |other| one.min(other));
    errors_apart(&counts(up, threshold), &counts(down, threshold)) > ERRORS
}

fn counts(windows: &[WindowTotals], threshold: u64) -> Vec<WindowCount> {
    let count = |window: &WindowTotals| {
        let mut count = WindowCount::default();
        let above = window.times.count_above(threshold);
        count.add(window.times.count() + window.lost, above + window.lost);
        count
    };
    windows.iter().map(count).collect()
}

#[cfg(test)]
mod tests;
