//! Times that give their cause away: mass near a known value, and values in steps.
//!
//! Kernels and programs wait for fixed times: a retransmission after 200 ms, a time-out after 5 s. Whatever met one
//! of them gathers just above its value, where neighbouring values have nothing.

use crate::Histogram;
use crate::special::ln_choose;

const MILLISECOND: u64 = 1_000_000;
/// Fewer values are no cluster.
const FEWEST: u64 = 5;

/// More values near a known time than its neighbourhood explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cluster {
    /// The known time, in nanoseconds.
    pub at_ns: u64,
    /// How far above it values were counted.
    pub width_ns: u64,
    /// Values in [at, at + width).
    pub count: u64,
    /// Mean count of the two neighbours of that width.
    pub background: f64,
}

/// Values that come in steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comb {
    /// Distance between teeth, in nanoseconds.
    pub step_ns: u64,
    /// Teeth with values.
    pub teeth: u32,
    /// Share of all values that stand on them.
    pub share: f64,
}

/// Width of a time that a program keeps: 2 %, at least 1 ms.
pub fn width(at_ns: u64) -> u64 {
    (at_ns / 50).max(MILLISECOND)
}

/// Width of a time that the kernel's timer wheel keeps: it rounds up by an eighth at most, mostly by less than a
/// tenth, and by two ticks of 4 ms where those are more.
pub fn wheel_width(at_ns: u64) -> u64 {
    (at_ns / 10).max(9 * MILLISECOND)
}

/// Whether values gather just above `at_ns`: five or more, and more than b + 4·√(b+1) with b the mean of both
/// neighbours.
pub fn cluster(times: &Histogram, at_ns: u64, width_ns: u64) -> Option<Cluster> {
    // A bucket counts where its upper end lies: what is a little late is what is looked for.
    let count = times.count_between(at_ns, at_ns + width_ns);
    let below = times.count_between(at_ns.saturating_sub(width_ns), at_ns);
    let above = times.count_between(at_ns + width_ns, at_ns + 2 * width_ns);
    let background = (below + above) as f64 / 2.0;
    stands_out(count, background).then_some(Cluster { at_ns, width_ns, count, background })
}

/// Whether a count is more than chance makes of this background.
pub fn stands_out(count: u64, background: f64) -> bool {
    count >= FEWEST && count as f64 > background + 4.0 * (background + 1.0).sqrt()
}

/// At most how probable it is that of `events` at random instants so many lie `together` within a stretch that is this
/// share of the whole, wherever it begins: C(n,k)·k·w^(k-1), the expected number of sets of k that close together.
pub fn chance_of_crowd(events: u64, together: u64, share: f64) -> f64 {
    let (n, k) = (events as f64, together as f64);
    (ln_choose(n, k) + k.ln() + (k - 1.0) * share.ln()).exp().min(1.0)
}

/// The instants at which a SYN is sent again, from the first one: `linear` retries a second apart, then at doubling
/// distances (kernels without linear retries: 0).
pub fn syn_retries(linear: u32) -> [u64; 10] {
    let mut at = 0;
    std::array::from_fn(|retry| {
        let beyond = (retry as u32).saturating_sub(linear);
        at += 1_u64 << beyond;
        at * 1_000 * MILLISECOND
    })
}

/// Whether most values above one step stand on a comb with this step, at whatever phase.
///
/// Folded into eight phases, two neighbouring ones hold three fifths of the values or more, the two opposite ones at
/// most an eighth of that, and three teeth or more are there. A single fixed time is no comb. Where teeth are missing
/// in between, its step is the distance of those that are there.
pub fn comb(times: &Histogram, step_ns: u64) -> Option<Comb> {
    const PHASES: usize = 8;
    const TEETH: u64 = 16;
    let mut folded = [[0_u64; TEETH as usize]; PHASES];
    let inside = times.buckets().filter(|bucket| bucket.high - bucket.low < step_ns / 16);
    for bucket in inside {
        let (tooth, within) = (bucket.high / step_ns, bucket.high % step_ns);
        let phase = within * PHASES as u64 / step_ns;
        if (1..=TEETH).contains(&tooth) {
            folded[phase as usize][tooth as usize - 1] += bucket.count;
        }
    }
    let sums = folded.map(|teeth| teeth.iter().sum::<u64>());
    let pair = |phase: usize| sums[phase % PHASES] + sums[(phase + 1) % PHASES];
    let best = (0..PHASES).max_by_key(|&phase| pair(phase))?;
    let all: u64 = sums.iter().sum();
    let on_teeth = pair(best);
    let clear = on_teeth * 5 >= all * 3 && pair(best + PHASES / 2) * 8 <= on_teeth;
    let least = (times.count() / 50).max(FEWEST);
    let tooth = |tooth: &usize| folded[best][*tooth] + folded[(best + 1) % PHASES][*tooth] >= least;
    let there: Vec<usize> = (0..TEETH as usize).filter(tooth).collect();
    let (first, teeth) = (*there.first()?, there.len() as u32);
    let distance = there.iter().fold(0, |so_far, tooth| gcd(so_far, (tooth - first) as u64));
    let share = on_teeth as f64 / times.count().max(1) as f64;
    let comb = Comb { step_ns: step_ns * distance, teeth, share };
    (clear && teeth >= 3 && share >= 0.2).then_some(comb)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FINE;

    const MS: u64 = MILLISECOND;

    fn times(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new(FINE);
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn five_values_just_above_a_time_are_a_cluster_and_four_are_none() {
        let at = |many: u64| times((0..many).map(|k| 5_000 * MS + k * MS));
        let found = cluster(&at(5), 5_000 * MS, width(5_000 * MS)).unwrap();
        assert_eq!((found.count, found.width_ns, found.background), (5, 100 * MS, 0.0));
        assert_eq!(cluster(&at(4), 5_000 * MS, width(5_000 * MS)), None);
    }

    #[test]
    fn a_smooth_tail_is_no_cluster() {
        // Exponential with mean 50 ms, by its quantiles.
        let smooth = times((0..20_000).map(|k| {
            let q = (f64::from(k) + 0.5) / 20_000.0;
            (-(1.0 - q).ln() * 50e6) as u64
        }));
        for at in [40, 100, 200, 300].map(|ms| ms * MS) {
            assert_eq!(cluster(&smooth, at, width(at)), None, "{at}");
            assert_eq!(cluster(&smooth, at, wheel_width(at)), None, "{at}");
        }
    }

    #[test]
    fn a_cluster_must_stand_out_of_its_neighbours() {
        // b = 12: more than 12 + 4·√13 = 26.4 are needed.
        let around = |many: u64| {
            let sides = (0..12).flat_map(|k| [197 * MS + k, 205 * MS + k]);
            times(sides.chain((0..many).map(|k| 201 * MS + k)))
        };
        assert!(cluster(&around(27), 200 * MS, 4 * MS).is_some());
        assert_eq!(cluster(&around(26), 200 * MS, 4 * MS), None);
    }

    #[test]
    fn a_crowd_is_improbable_as_it_is_close() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
        // All of n within w: n·w^(n-1), less w^n·(n-1) for sets that are counted twice.
        near(chance_of_crowd(2, 2, 0.1), 0.2);
        near(chance_of_crowd(3, 3, 0.02), 0.0012);
        near(chance_of_crowd(10, 8, 0.2), 45.0 * 8.0 * 0.2_f64.powi(7));
        assert_eq!(chance_of_crowd(10, 10, 1.0), 1.0);
        assert!(chance_of_crowd(1_000_000, 800_000, 0.2) < 1e-100);
    }

    /// Held against instants drawn at random.
    #[test]
    fn a_crowd_of_chance_is_as_rare_as_promised() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (events, together, share) in [(3, 3, 0.05), (5, 4, 0.08), (10, 8, 0.2)] {
            let mut crowds = 0;
            for _ in 0..100_000 {
                let mut at: Vec<f64> = (0..events).map(|_| draw()).collect();
                at.sort_unstable_by(f64::total_cmp);
                crowds +=
                    u64::from(at.windows(together).any(|set| set[together - 1] - set[0] <= share));
            }
            let seen = crowds as f64 / 100_000.0;
            let most = chance_of_crowd(events as u64, together as u64, share);
            assert!(seen <= most * 1.15 && seen > most * 0.5, "{events}: {seen} {most}");
        }
    }

    #[test]
    fn a_syn_is_sent_again_by_the_rule_of_the_kernel() {
        let seconds = |linear| syn_retries(linear).map(|at| at / (1_000 * MS));
        assert_eq!(seconds(4), [1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
        assert_eq!(seconds(0)[..6], [1, 3, 7, 15, 31, 63]);
    }

    #[test]
    fn values_in_steps_are_a_comb_of_that_step_only() {
        let stepped = times((0..1_000).map(|k| (1 + k % 5) * 10 * MS + 300_000 + k));
        let found = comb(&stepped, 10 * MS).unwrap();
        assert_eq!((found.teeth, found.share), (5, 1.0));
        assert_eq!(comb(&stepped, 4 * MS), None);
        assert_eq!(comb(&stepped, MS), None);
    }

    #[test]
    fn the_step_of_a_comb_is_the_distance_of_the_teeth_that_are_there() {
        for (first, distance, step) in [(1, 1, 10), (2, 2, 20), (1, 2, 20), (3, 3, 30)] {
            let stepped = (0..1_000).map(|k| (first + distance * (k % 4)) * 10 * MS + 300_000 + k);
            let found = comb(&times(stepped), 10 * MS).unwrap();
            assert_eq!((found.teeth, found.step_ns), (4, step * MS));
        }
    }

    #[test]
    fn a_fixed_time_or_a_smooth_spread_is_no_comb() {
        assert_eq!(comb(&times((0..1_000).map(|k| 10 * MS + k)), 10 * MS), None);
        let spread = times((0..10_000).map(|k| MS + k * 7_000));
        for step in [MS, 4 * MS, 10 * MS] {
            assert_eq!(comb(&spread, step), None, "{step}");
        }
    }
}
