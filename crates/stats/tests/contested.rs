//! Whether the search ends soon, and with an honest interval, where the same rate passes in one trial and fails in
//! another.
//!
//! The known answer: each trial has a limit of its own, drawn log-normally around θ with deviation σ, so that a rate
//! of θ passes in half of the trials, however long they are. That is what a neighbour on the machine does, and longer
//! trials do not cure it. Or a trial fails now and then whatever its rate, and θ is sharp otherwise. Nothing is
//! simulated below that, so that there is no long form.
//!
//! Shown: how often the interval holds θ, that nearly every search has both ends, and how many trials it takes.
//! `cargo test -p stats --test contested -- --nocapture` prints the figures of docs/concepts/capacity.md.

use stats::capacity::search::{Search, SearchEnding, SearchSettings, StepOutcome};

const SEARCHES: u64 = 2_000;
/// Expansions, halvings, the high end at full length, four fresh trials and two checks of a target without noise.
const QUIET: usize = 16;

/// xorshift64*: enough for a simulation, the same on every machine.
struct Randomness(u64);

impl Randomness {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// In (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        1.0 - bits as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn settings(seed: u64) -> SearchSettings {
    SearchSettings {
        start: 100.0,
        most: None,
        precision: 1.05,
        shortest: 20.0,
        longest: 60.0,
        operations: 1_000.0,
        fewest: 299.0,
        confirmations: 5,
        narrowing: 16,
        noisy_host: false,
        most_trials: 100,
        seed,
    }
}

/// What makes the same rate pass and fail.
#[derive(Clone, Copy)]
struct Noise {
    /// Of the logarithm of the limit.
    sigma: f64,
    /// Share of trials that fail whatever their rate.
    spikes: f64,
}

/// What became of many searches.
struct Tally {
    trials: Vec<usize>,
    held: usize,
    bracketed: usize,
    /// Ratios of the ends.
    widths: Vec<f64>,
}

impl Tally {
    fn of(noise: Noise) -> Self {
        let mut tally = Self { trials: Vec::new(), held: 0, bracketed: 0, widths: Vec::new() };
        for seed in 1..=SEARCHES {
            tally.add(noise, seed);
        }
        tally.trials.sort_unstable();
        tally.widths.sort_unstable_by(f64::total_cmp);
        tally.print(noise);
        tally
    }

    fn print(&self, Noise { sigma, spikes }: Noise) {
        let (half, most) = (SEARCHES as usize / 2, SEARCHES as usize * 95 / 100);
        let width = |place: usize| 100.0 * (self.widths[place] - 1.0);
        let (trials, last) = (&self.trials, self.trials[SEARCHES as usize - 1]);
        println!(
            "sigma {sigma}, spikes {spikes}: {} of {SEARCHES} hold it, {} bracketed; median, 95 %, most: \
             {}, {}, {last} trials; {:.1}, {:.1} % wide",
            self.held,
            self.bracketed,
            trials[half],
            trials[most],
            width(half),
            width(most),
        );
    }

    fn add(&mut self, noise: Noise, seed: u64) {
        let mut chance = Randomness::new(seed);
        // Over an octave, so that no lucky grid of rates helps.
        let limit = 600.0 * 2_f64.powf(chance.uniform());
        let mut search = Search::new(settings(seed));
        let mut trials = 0;
        while let Some(step) = search.next_step() {
            trials += 1;
            let own = limit * (noise.sigma * chance.normal()).exp();
            let is_hit = chance.uniform() <= noise.spikes;
            let passes = step.rate < own && !is_hit;
            search.report(step, if passes { StepOutcome::Passed } else { StepOutcome::Failed });
        }
        let bracket = search.bracket();
        let low = bracket.low.unwrap_or(0.0);
        let high = bracket.high.unwrap_or(f64::INFINITY);
        self.held += usize::from(low <= limit && limit <= high);
        self.bracketed += usize::from(search.ending() == Some(SearchEnding::Bracketed));
        self.widths.push(high / low);
        self.trials.push(trials);
    }

    fn median(&self) -> usize {
        self.trials[self.trials.len() / 2]
    }

    fn assert_share(&self, count: usize, percent: usize, what: &str) {
        let least = SEARCHES as usize * percent / 100;
        assert!(count >= least, "{count} of {SEARCHES} {what}");
    }
}

#[test]
fn a_target_without_noise_takes_what_it_took() {
    let tally = Tally::of(Noise { sigma: 0.0, spikes: 0.0 });
    tally.assert_share(tally.held, 100, "hold the limit");
    assert!(tally.trials.last() <= Some(&QUIET), "{:?}", tally.trials.last());
    assert!(tally.widths.last() <= Some(&(1.05 + 1e-6)), "{:?}", tally.widths.last());
}

/// Near θ any rate passes several times by chance, and more often the wider the noise is: no more than these shares
/// are promised. A search that takes every failure for an upper end holds θ in 84, 48, 14 and 7 %.
#[test]
fn noise_widens_the_interval_and_does_not_draw_it_down() {
    for (sigma, held, median) in [(0.01, 97, 17), (0.03, 93, 21), (0.1, 85, 26), (0.2, 83, 29)] {
        let tally = Tally::of(Noise { sigma, spikes: 0.0 });
        tally.assert_share(tally.bracketed, 99, "have both ends");
        tally.assert_share(tally.held, held, "hold the rate at which half of the trials pass");
        assert!(tally.median() <= median, "sigma {sigma}: {}", tally.median());
        assert!(tally.trials.last() < Some(&60), "sigma {sigma}: {:?}", tally.trials.last());
    }
}

#[test]
fn trials_that_fail_whatever_their_rate_neither_end_the_interval_nor_draw_it_down() {
    for spikes in [0.02, 0.05, 0.1] {
        let tally = Tally::of(Noise { sigma: 0.0, spikes });
        tally.assert_share(tally.bracketed, 99, "have both ends");
        tally.assert_share(tally.held, 98, "hold the limit");
        assert!(tally.median() <= QUIET + 4, "spikes {spikes}: {}", tally.median());
        assert!(tally.widths[SEARCHES as usize / 2] < 1.1, "half of them are hardly wider");
    }
}
