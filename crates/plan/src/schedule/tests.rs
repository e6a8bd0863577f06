use super::*;
use crate::load::Stage;

fn seconds(seconds: u64) -> Stop {
    Stop::Duration { after: Duration::from_secs(seconds) }
}

fn stages(spacing: Spacing) -> ArrivalProcess {
    let stage = |to, seconds| Stage { to, over: Duration::from_secs(seconds) };
    let stages = vec![stage(500.0, 10), stage(500.0, 20), stage(100.0, 10)];
    ArrivalProcess::Stages { from: 100.0, stages, spacing }
}

/// ∫ of `stages`: 3000 + 10000 + 3000.
const STAGES_INTEGRAL: usize = 16_000;

#[test]
fn constant_offsets_are_exact_to_the_nanosecond_for_any_k() {
    for rate in [1000_u64, 3, 20_000, 7] {
        let arrivals = ArrivalProcess::Constant { rate: rate as f64 };
        let count = 2_000_000;
        let schedule = Schedule::new(&arrivals, Stop::Operations { count }, 1);
        for arrival in schedule.step_by(997) {
            let double = u128::from(arrival.index) * 2_000_000_000;
            let exact = (double + u128::from(rate)) / (2 * u128::from(rate));
            assert_eq!(u128::from(arrival.offset_ns), exact, "rate {rate}, k {}", arrival.index);
        }
    }
}

#[test]
fn constant_offsets_stay_exact_after_a_year() {
    let period = Period::of_rate(1000.0);
    assert_eq!(period.multiple(31_536_000_000), 31_536_000_000_000_000);
    let half = Period::of_rate(0.5);
    assert_eq!(half.multiple(15_768_000), 31_536_000_000_000_000);
}

#[test]
fn a_duration_holds_exactly_rate_times_duration_constant_arrivals() {
    for (rate, expected) in [(1000.0, 10_000), (3.0, 30), (20_000.0, 200_000), (0.5, 5)] {
        let schedule = Schedule::new(&ArrivalProcess::Constant { rate }, seconds(10), 1);
        assert_eq!(schedule.count(), expected, "rate {rate}");
    }
}

#[test]
fn poisson_counts_lie_within_four_sigma_for_many_seeds() {
    let (rate, length) = (500.0, 20);
    let expected = rate * length as f64;
    for seed in 1..=50 {
        let schedule = Schedule::new(&ArrivalProcess::Poisson { rate }, seconds(length), seed);
        let count = schedule.count() as f64;
        assert!((count - expected).abs() < 4.0 * expected.sqrt(), "seed {seed}: {count}");
    }
}

#[test]
fn poisson_counts_disperse_like_poisson_at_three_window_lengths() {
    let schedule = Schedule::new(&ArrivalProcess::Poisson { rate: 1000.0 }, seconds(100), 11);
    let offsets: Vec<u64> = schedule.map(|arrival| arrival.offset_ns).collect();
    for window in [10_000_000_u64, 100_000_000, 1_000_000_000] {
        let windows = (100_000_000_000 / window) as usize;
        let mut counts = vec![0.0; windows];
        for offset in &offsets {
            counts[(offset / window) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / windows as f64;
        let variance =
            counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
        // Index of dispersion of a Poisson process is 1; 4 sigma of its estimate.
        let tolerance = 4.0 * (2.0 / (windows - 1) as f64).sqrt();
        let dispersion = variance / mean;
        assert!((dispersion - 1.0).abs() < tolerance, "{window} ns: {dispersion}");
    }
}

#[test]
fn poisson_gaps_are_exponential_by_kolmogorov_and_smirnov() {
    let schedule = Schedule::new(&ArrivalProcess::Poisson { rate: 1000.0 }, seconds(20), 5);
    let offsets: Vec<u64> = schedule.map(|arrival| arrival.offset_ns).collect();
    let mut shares: Vec<f64> =
        offsets.windows(2).map(|pair| 1.0 - (-((pair[1] - pair[0]) as f64) / 1e6).exp()).collect();
    shares.sort_by(f64::total_cmp);
    let n = shares.len() as f64;
    let distance = shares
        .iter()
        .enumerate()
        .map(|(i, share)| (share - i as f64 / n).abs().max(((i + 1) as f64 / n - share).abs()))
        .fold(0.0, f64::max);
    // 1.95/√n is the critical distance at 0.1 %.
    assert!(distance < 1.95 / n.sqrt(), "D = {distance}");
}

#[test]
fn stages_with_constant_spacing_hold_exactly_their_integral() {
    let schedule = Schedule::new(&stages(Spacing::Constant), seconds(40), 1);
    let offsets: Vec<u64> = schedule.map(|arrival| arrival.offset_ns).collect();
    assert_eq!(offsets.len(), STAGES_INTEGRAL);
    assert!(offsets.is_sorted());
    let in_plateau = offsets.iter().filter(|at| (10_000_000_000..30_000_000_000).contains(*at));
    assert_eq!(in_plateau.count(), 10_000);
}

#[test]
fn stages_with_poisson_spacing_fill_twenty_equal_bins_evenly() {
    let expected = STAGES_INTEGRAL as f64 / 20.0;
    let intensity = match stages(Spacing::Poisson) {
        ArrivalProcess::Stages { from, stages, .. } => Intensity::stages(from, &stages),
        _ => unreachable!(),
    };
    let mut bins = [0.0_f64; 20];
    for arrival in Schedule::new(&stages(Spacing::Poisson), seconds(40), 3) {
        let share = intensity.cumulative(arrival.offset_ns as f64 / 1e9) / expected;
        bins[(share as usize).min(19)] += 1.0;
    }
    let chi: f64 = bins.iter().map(|count| (count - expected).powi(2) / expected).sum();
    // 20 independent bins: the 99.9 % point of χ² with 20 degrees of freedom.
    assert!(chi < 45.3, "χ² = {chi}, {bins:?}");
}

#[test]
fn bursts_are_on_and_off() {
    let second = Duration::from_secs(1);
    let process = ArrivalProcess::Burst {
        rate: 300.0,
        on: second,
        off: 2 * second,
        spacing: Spacing::Constant,
    };
    let offsets: Vec<u64> =
        Schedule::new(&process, seconds(9), 1).map(|arrival| arrival.offset_ns).collect();
    assert_eq!(offsets.len(), 900);
    assert!(offsets.iter().all(|offset| offset % 3_000_000_000 < 1_000_000_000));
    assert_eq!(offsets[300], 3_000_000_000);
}

#[test]
fn a_replay_is_its_list_cut_by_the_stop() {
    let process = ArrivalProcess::Replay {
        scale: None,
        resolution: None,
        list: [0, 5, 5, 2_000_000_000].into_iter().collect(),
        file: String::new(),
        digest: String::new(),
    };
    let all = Schedule::new(&process, Stop::Operations { count: 10 }, 1);
    assert_eq!(all.map(|arrival| arrival.offset_ns).collect::<Vec<_>>(), [0, 5, 5, 2_000_000_000]);
    assert_eq!(Schedule::new(&process, seconds(1), 1).count(), 3);
}

#[test]
fn a_number_of_operations_stops_every_process() {
    let stop = Stop::Operations { count: 1234 };
    for process in [
        ArrivalProcess::Poisson { rate: 50.0 },
        stages(Spacing::Poisson),
        stages(Spacing::Constant),
    ] {
        assert_eq!(Schedule::new(&process, stop, 9).count(), 1234, "{process:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_schedule_and_shares_unite_to_it() {
    let process = ArrivalProcess::Poisson { rate: 2000.0 };
    let whole: Vec<Arrival> = Schedule::new(&process, seconds(2), 42).collect();
    let other: Vec<Arrival> = Schedule::new(&process, seconds(2), 43).collect();
    assert_ne!(whole, other);
    for workers in 1..=16_u64 {
        let mut united: Vec<Arrival> = (0..workers)
            .flat_map(|worker| {
                Schedule::new(&process, seconds(2), 42)
                    .filter(move |arrival| arrival.index % workers == worker)
            })
            .collect();
        united.sort_by_key(|arrival| arrival.index);
        assert_eq!(united, whole, "{workers} workers");
    }
}

#[test]
fn a_warm_up_runs_at_the_initial_rate_on_its_own_stream() {
    let process = ArrivalProcess::Poisson { rate: 1000.0 };
    let length = Duration::from_secs(2);
    let alone = |seed| trial(seed, 1, false);
    let warm: Vec<Arrival> = Schedule::warm_up(&process, length, &alone(42)).collect();
    let measured: Vec<Arrival> = Schedule::new(&process, seconds(2), 42).collect();
    assert!((1750..2250).contains(&warm.len()), "{}", warm.len());
    assert_ne!(warm, measured);
    assert_eq!(Schedule::warm_up(&stages(Spacing::Constant), length, &alone(1)).count(), 200);
}

fn trial(seed: u64, order: u32, duet: bool) -> TrialPlan {
    TrialPlan { index: order, block: 1, order, arm: 0, seed, duet }
}

/// Offsets of both arms of a duet; checks that their indices have no gaps.
fn halves(process: &ArrivalProcess, seed: u64) -> [Vec<u64>; 2] {
    [1, 2].map(|order| {
        let half = Schedule::of_trial(process, seconds(20), &trial(seed, order, true));
        let numbered = half.enumerate().map(|(index, arrival)| {
            assert_eq!(arrival.index, index as u64, "numbered without gaps");
            arrival.offset_ns
        });
        numbered.collect()
    })
}

#[test]
fn the_arms_of_a_duet_share_every_arrival_of_twice_the_rate() {
    let rate = 500.0;
    for process in [ArrivalProcess::Poisson { rate }, stages(Spacing::Poisson)] {
        let twice = process.twice().unwrap();
        let whole: Vec<u64> =
            Schedule::new(&twice, seconds(20), 42).map(|arrival| arrival.offset_ns).collect();
        let [first, second] = halves(&process, 42);
        let mut united = [first.clone(), second].concat();
        united.sort_unstable();
        assert_eq!(united, whole, "none is lost and none is there twice");
        // A fair draw: half of them within 4 sigma of a binomial.
        let (all, half) = (whole.len() as f64, first.len() as f64);
        assert!((half - all / 2.0).abs() < 4.0 * all.sqrt() / 2.0, "{half} of {all}");
    }
    // Without a duet, a trial has all arrivals of its process.
    let process = ArrivalProcess::Poisson { rate };
    let own: Vec<Arrival> =
        Schedule::of_trial(&process, seconds(20), &trial(42, 2, false)).collect();
    assert_eq!(own, Schedule::new(&process, seconds(20), 42).collect::<Vec<_>>());
}

#[test]
fn each_arm_of_a_duet_gets_poisson_arrivals_at_the_rate_of_the_file() {
    let (mut gaps, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut more = 0.0;
    for seed in 0..20 {
        let halves = halves(&ArrivalProcess::Poisson { rate: 500.0 }, seed);
        more += halves[0].len() as f64 - halves[1].len() as f64;
        for half in halves {
            for pair in half.windows(2) {
                let gap = (pair[1] - pair[0]) as f64 / 1e9 * 500.0;
                (gaps, squares, count) = (gaps + gap, squares + gap * gap, count + 1.0);
            }
        }
    }
    // Exponential gaps of mean 1 have mean square 2; 4 sigma of the means of 400,000 of them.
    let (mean, square) = (gaps / count, squares / count);
    assert!((mean - 1.0).abs() < 4.0 / count.sqrt(), "{mean}");
    assert!(more.abs() < 4.0 * count.sqrt(), "neither is favoured: {more} of {count}");
    assert!((square - 2.0).abs() < 4.0 * (20.0 / count).sqrt(), "{square}");
}

#[test]
fn what_is_not_poisson_has_no_halves_of_its_own_kind() {
    assert_eq!(ArrivalProcess::Constant { rate: 5.0 }.twice(), None);
    assert_eq!(stages(Spacing::Constant).twice(), None);
    let (on, off) = (Duration::from_secs(1), Duration::from_secs(2));
    let burst = |rate| ArrivalProcess::Burst { rate, on, off, spacing: Spacing::Poisson };
    assert_eq!(burst(3.0).twice(), Some(burst(6.0)));
}
