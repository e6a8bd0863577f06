//! A realistic run: 500 operations a second for 40 s, two operations, a few failures, and one pause of the target. It
//! is made from random draws, so that its numbers are consistent.

use std::collections::BTreeMap;

use record::hgrm::SpectrumLine;
use record::summary::*;

use crate::run_record::{RunRecord, TrialRecord, WindowRow, WindowTimes};

const SECONDS: u64 = 40;
const RATE: u64 = 500;
const FIRST_SEED: u64 = 0x2545_f491_4f6c_dd1d;
const LISTED: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// One drawn operation: when it was due, which operation it is, and its times.
struct Drawn {
    second: u64,
    search: bool,
    lag: u64,
    service: u64,
    failure: Option<&'static str>,
}

impl Drawn {
    fn response(&self) -> u64 {
        self.lag + self.service
    }
}

/// The whole record.
pub fn record() -> RunRecord {
    let drawn = draw(FIRST_SEED, true);
    let mut windows = windows(&drawn, "all", |_| true);
    windows.extend(self::windows(&drawn, "home", |one| !one.search));
    windows.extend(self::windows(&drawn, "search", |one| one.search));
    let spectra = BTreeMap::from([
        ("all".to_owned(), spectrum(&drawn, |_| true)),
        ("home".to_owned(), spectrum(&drawn, |one| !one.search)),
        ("search".to_owned(), spectrum(&drawn, |one| one.search)),
    ]);
    let trial = TrialRecord { index: 1, windows, spectra, events: Vec::new() };
    RunRecord {
        summary: summary(),
        plan: serde_json::json!({ "title": "Shop at 500 requests/s" }),
        trials: vec![trial],
        arms: Vec::new(),
    }
}

/// Its summary.
pub fn summary() -> Summary {
    summary_of(&draw(FIRST_SEED, true))
}

/// A similar run from other draws, in which nothing failed.
pub fn flawless(seed: u64) -> Summary {
    summary_of(&draw(seed.wrapping_mul(FIRST_SEED), false))
}

/// A run of five arms over six blocks, whose levels are compared.
pub fn designed() -> RunRecord {
    const LEVELS: [u64; 5] = [0, 5, 10, 20, 40];
    const BLOCKS: u32 = 6;
    let mut made = record();
    let mut index = 0;
    let (mut arms, mut trials) = (Vec::new(), Vec::new());
    for level in LEVELS {
        let factors = BTreeMap::from([("messages".to_owned(), level.into())]);
        let mut arm = Arm { name: format!("messages={level}"), factors, ..Arm::default() };
        for block in 1..=BLOCKS {
            index += 1;
            let trial = made.summary.arms[0].trials[0].clone();
            arm.trials.push(TrialSummary { index, block, order: 1, ..trial });
            trials.push(TrialRecord { index, ..made.trials[0].clone() });
        }
        arms.push(arm);
    }
    made.summary.arms = arms;
    made.trials = trials;
    let metrics = [("goodput", 0.0), ("p50", 0.004), ("p99", 0.009)];
    made.summary.comparisons = LEVELS[1..]
        .iter()
        .flat_map(|&level| {
            metrics.map(|(metric, slope)| compared(level, metric, slope * level as f64))
        })
        .collect();
    made
}

/// A search that ended between 200 and 300 a second; at 800 the generator was the limit.
pub fn capacity() -> Capacity {
    let step = |trial: u32, rate: f64, result: StepResult, p99_ms: Option<u64>| CapacityStep {
        rate,
        duration_ns: 20_000_000_000,
        result,
        achieved: rate,
        p50_ns: Some(1_000_000),
        p99_ns: p99_ms.map(|ms| ms * 1_000_000),
        failed_ratio: 0.0,
        trial,
        purpose: "expand".into(),
    };
    Capacity {
        low: Some(200.0),
        high: Some(300.0),
        achieved: Some(200.0),
        limited_by: Some("p99 < 20ms".into()),
        symptom: None,
        steps: vec![
            step(1, 100.0, StepResult::Pass, Some(5)),
            step(2, 400.0, StepResult::Fail, None),
            step(3, 200.0, StepResult::Pass, Some(8)),
            step(4, 300.0, StepResult::Fail, Some(30)),
            step(5, 800.0, StepResult::Invalid, Some(90)),
        ],
        ending: CapacityEnding::Bracketed,
        no_further: None,
        criteria: vec!["p99 < 20ms".into()],
        not_shown: None,
        precision: 0.05,
        confirmation: None,
        in_disorder: false,
        scalability: None,
        power_point: None,
        stairs: None,
    }
}

/// Six blocks with ratios around this relative difference.
fn compared(level: u64, metric: &str, difference: f64) -> Comparison {
    const NOISE: [f64; 6] = [0.97, 1.02, 1.0, 0.99, 1.03, 0.985];
    let middle = 1.0 + difference;
    let points = (1..).zip(NOISE).map(|(block, noise)| BlockPoint {
        block,
        ratio: Some(middle * noise),
        baseline: 100.0,
        candidate: 100.0 * middle * noise,
    });
    let (low, high) = (middle * 0.975, middle * 1.024);
    let result = match (low, high) {
        (low, _) if low > 1.05 => Change::Changed,
        (_, high) if high < 1.05 => Change::Equivalent,
        _ => Change::Undecided,
    };
    Comparison {
        factor: "messages".into(),
        stratum: BTreeMap::new(),
        baseline: 0.into(),
        candidate: level.into(),
        operation: "all".into(),
        metric: metric.into(),
        of: if metric == "goodput" { "rates" } else { "outcome_time" }.into(),
        ratio: Some(middle),
        low: Some(low),
        high: Some(high),
        robust_ratio: Some(middle),
        difference: None,
        p_value: None,
        p_raw: None,
        margin: 0.05,
        size_certain: result != Change::Undecided,
        result,
        blocks: 6,
        needs_blocks: None,
        detectable: None,
        left_out: Vec::new(),
        trials: None,
        note: None,
        points: points.collect(),
        shift: if metric == "goodput" { Vec::new() } else { shift(level) },
    }
}

/// The tail moves more than the middle.
fn shift(level: u64) -> Vec<Shift> {
    const PLACES: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
    let point = |q: f64| {
        let ratio = 1.0 + level as f64 * 0.002 * -(1.0 - q).ln();
        Shift { q, ratio, low: Some(ratio - 0.02), high: Some(ratio + 0.03), p_value: 0.5 }
    };
    PLACES.into_iter().map(point).collect()
}

fn summary_of(drawn: &[Drawn]) -> Summary {
    let trial = trial(drawn);
    Summary {
        format: FORMAT.to_owned(),
        rehearsal: false,
        verdict: Verdict { result: Judgement::Pass, reasons: vec!["both criteria are met".into()] },
        run: run(),
        arms: vec![Arm { name: "all".into(), trials: vec![trial], ..Arm::default() }],
        criteria: vec![
            criterion("home p95 < 50ms", "home", 8_240_000.0, (7_910_000.0, 8_600_000.0)),
            criterion("failed / planned < 1%", "all", 0.000_45, (0.000_2, 0.000_9)),
        ],
        comparisons: Vec::new(),
        scalings: Vec::new(),
        capacity: None,
        findings: vec![finding()],
    }
}

fn finding() -> Finding {
    Finding {
        code: "status-only".into(),
        severity: Severity::Info,
        arm: Some("all".into()),
        trial: Some(1),
        operation: None,
        claim: "only the status of answers was checked (home, search)".into(),
        evidence: BTreeMap::new(),
        advice: "add an `expect` on the body".into(),
    }
}

/// The run's provenance.
pub fn run() -> Run {
    Run {
        id: "20261121T073000Z-shop-at-500".into(),
        started_at: "2026-11-21T07:30:00Z".into(),
        seed: 42,
        plan_hash: "3f1c0b6f8f2f4f7f9d60a1f8a90f0f5b7ab2c3d4e5f60718293a4b5c6d7e8f90".into(),
        version: "0.1.0".into(),
        title: "Shop at 500 requests/s".into(),
        question: Some("Does the shop hold 500 requests/s below 50 ms?".into()),
        machine: Machine {
            cpu: "AMD EPYC 9R14".into(),
            cores: 4,
            kernel: "6.18.0".into(),
            memory_bytes: 16 << 30,
            clock_source: "tsc".into(),
            placement: Placement { workers: vec![3], systems: vec![0, 1, 2] },
        },
        command: vec!["proofload".into(), "run".into(), "shop.toml".into()],
        ..Run::default()
    }
}

fn criterion(text: &str, operation: &str, observed: f64, interval: (f64, f64)) -> Criterion {
    Criterion {
        text: text.into(),
        arm: "all".into(),
        operation: operation.into(),
        result: Judgement::Pass,
        observed: Some(observed),
        low: Some(interval.0),
        high: Some(interval.1),
        drifting: false,
    }
}

fn trial(drawn: &[Drawn]) -> TrialSummary {
    let total = operation("all", drawn, |_| true);
    let (planned, seconds) = (total.planned, SECONDS as f64);
    let accounting = Accounting {
        planned,
        started: planned,
        missed: 0,
        succeeded: total.succeeded,
        failed: total.failed,
        abandoned: 0,
    };
    let (rate, goodput) = (planned as f64 / seconds, total.succeeded as f64 / seconds);
    TrialSummary {
        index: 1,
        block: 1,
        order: 1,
        started_at: "2026-11-21T07:30:05Z".into(),
        validity: Validity::Valid,
        reasons: Vec::new(),
        counts_for: CountsFor::Judgement,
        duet: false,
        window_ns: 1_000_000_000,
        load: Load {
            model: Model::Open,
            arrivals: Some("poisson".into()),
            scale: None,
            offered_rate: Some(rate),
            connections: 1_000,
            streams: None,
            users: None,
            workers: 1,
        },
        phases: Phases {
            ramp_up_ns: 0,
            warm_up_ns: 5_000_000_000,
            measure_ns: SECONDS * 1_000_000_000,
            drain_ns: 12_000_000,
        },
        accounting,
        rates: Rates { offered: rate, started: rate, completed: rate, goodput },
        in_flight: InFlight { mean: rate * total.response_time.mean_ns as f64 / 1e9, max: 203 },
        operations: vec![
            operation("home", drawn, |one| !one.search),
            operation("search", drawn, |one| one.search),
        ],
        generator: generator(drawn),
        systems: vec![system()],
        observers: Vec::new(),
        first_failures: Vec::new(),
        agents: Vec::new(),
        traces: None,
        replay: None,
        journeys: Vec::new(),
        kernel: BTreeMap::from([("TcpExt.TCPTimeouts".to_owned(), 0)]),
        total,
    }
}

fn system() -> System {
    System {
        name: "shop".into(),
        processes: vec![Process {
            name: "shop".into(),
            pid: 4711,
            cpu_ns: 9_400_000_000,
            run_queue_ns: 120_000_000,
            rss_peak_bytes: 61 << 20,
        }],
        version: Some("1.4.2".into()),
        effective: BTreeMap::from([("workers".to_owned(), 3.into())]),
    }
}

fn generator(drawn: &[Drawn]) -> Generator {
    Generator {
        cpu_ns: 1_300_000_000,
        cpu_ratio: 0.0325,
        polled_ratio: None,
        scheduling: None,
        dispatch_lag: distribution(drawn.iter().map(|one| one.lag).collect()),
        tail_share: TailShare {
            dispatch_lag: 0.000_4,
            queue_wait: 0.0,
            prepare: 0.0,
            service_time: 0.999_6,
        },
        floor: None,
        others_cores: Some(0.04),
        steal_ratio: 0.001,
        throttled_ns: 0,
        run_queue_ratio: 0.002,
        notes: Vec::new(),
    }
}

fn operation(name: &str, drawn: &[Drawn], keep: fn(&Drawn) -> bool) -> Operation {
    let kept: Vec<&Drawn> = drawn.iter().filter(|one| keep(one)).collect();
    let good: Vec<&&Drawn> = kept.iter().filter(|one| one.failure.is_none()).collect();
    let mut failures = BTreeMap::new();
    for kind in kept.iter().filter_map(|one| one.failure) {
        *failures.entry(kind.to_owned()).or_insert(0) += 1;
    }
    let (planned, succeeded) = (kept.len() as u64, good.len() as u64);
    let response_time = distribution(good.iter().map(|one| one.response()).collect());
    let first_byte = distribution(good.iter().map(|one| one.service * 9 / 10).collect());
    Operation {
        name: name.into(),
        planned,
        succeeded,
        failed: planned - succeeded,
        statuses: BTreeMap::from([("200".to_owned(), succeeded)]),
        outcome_time: outcome(&response_time, planned),
        response_time,
        service_time: distribution(good.iter().map(|one| one.service).collect()),
        queue_wait: distribution(kept.iter().map(|_| 0).collect()),
        spans: BTreeMap::from([("first_byte".to_owned(), first_byte)]),
        bytes_sent: planned * 96,
        bytes_received: succeeded * 2_312,
        failures,
        ..Operation::default()
    }
}

fn outcome(succeeded: &Distribution, planned: u64) -> Distribution {
    let mut outcome = succeeded.clone();
    outcome.count = planned;
    outcome.quantiles.iter_mut().for_each(|entry| {
        if entry.q * planned as f64 > succeeded.count as f64 {
            (entry.observed_ns, entry.low_ns, entry.high_ns) = (None, None, None);
        }
    });
    outcome
}

fn distribution(mut values: Vec<u64>) -> Distribution {
    values.sort_unstable();
    let count = values.len() as f64;
    let mean = values.iter().sum::<u64>() as f64 / count;
    let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / count;
    Distribution {
        count: values.len() as u64,
        min_ns: values[0],
        mean_ns: mean.round() as u64,
        max_ns: values[values.len() - 1],
        stdev_ns: variance.sqrt().round() as u64,
        overflow: 0,
        dispersion: 3.0,
        quantiles: LISTED.iter().map(|&q| quantile(&values, q)).collect(),
    }
}

fn quantile(values: &[u64], q: f64) -> Quantile {
    let count = values.len() as f64;
    let at = |rank: f64| Some(values[(rank.max(1.0) as usize).min(values.len()) - 1]);
    let support = count * (1.0 - q) / 3.0;
    let margin = 1.96 * (3.0 * count * q * (1.0 - q)).sqrt();
    let grade = match support {
        support if support >= 10.0 => Grade::Supported,
        support if support >= 3.0 => Grade::Indicative,
        _ => Grade::Refused,
    };
    let claimed = grade != Grade::Refused;
    Quantile {
        q,
        observed_ns: at((q * count).ceil()),
        low_ns: claimed.then(|| at((q * count - margin).floor())).flatten(),
        high_ns: claimed.then(|| at((q * count + margin).ceil() + 1.0)).flatten(),
        support,
        grade,
    }
}

fn draw(seed: u64, failing: bool) -> Vec<Drawn> {
    let mut state = seed;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut one = |index: u64| {
        let second = index / RATE;
        let search = next() < 0.3;
        let base = if search { 6_000_000.0 } else { 1_200_000.0 };
        let pause = if second == 25 && next() < 0.4 { next() * 400_000_000.0 } else { 0.0 };
        let service = (base * (0.6 - (1.0 - next()).ln()) + pause) as u64;
        let lag = (9_000.0 - 12_000.0 * (1.0 - next()).ln()) as u64;
        let failure = (failing && index % 2_500 == 1_249).then_some("timeout");
        Drawn { second, search, lag, service, failure }
    };
    (0..SECONDS * RATE).map(&mut one).collect()
}

fn windows(drawn: &[Drawn], name: &str, keep: fn(&Drawn) -> bool) -> Vec<WindowRow> {
    let row = |second: u64| {
        let kept = drawn.iter().filter(|one| one.second == second && keep(one));
        let (good, bad): (Vec<_>, Vec<_>) = kept.partition(|one| one.failure.is_none());
        let failed = bad.first().map(|_| ("timeout".to_owned(), bad.len() as u64));
        WindowRow {
            window: second,
            operation: name.into(),
            planned: (good.len() + bad.len()) as u64,
            succeeded: good.len() as u64,
            failed: failed.into_iter().collect(),
            missed: 0,
            response_time: times(good.iter().map(|one| one.response()).collect()),
            service_time: times(good.iter().map(|one| one.service).collect()),
            ..WindowRow::default()
        }
    };
    (0..SECONDS).map(row).collect()
}

fn times(mut values: Vec<u64>) -> Option<WindowTimes> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some(WindowTimes {
        count: values.len() as u64,
        p50_ns: values[last / 2],
        p99_ns: values[last * 99 / 100],
        max_ns: values[last],
    })
}

fn spectrum(drawn: &[Drawn], keep: fn(&Drawn) -> bool) -> Vec<SpectrumLine> {
    let good = drawn.iter().filter(|one| one.failure.is_none() && keep(one));
    let mut values: Vec<u64> = good.map(Drawn::response).collect();
    values.sort_unstable();
    let count = values.len() as f64;
    let point = |q: f64| {
        let rank = ((q * count).ceil() as usize).clamp(1, values.len());
        SpectrumLine { value_ns: values[rank - 1], quantile: q, cumulative: rank as u64 }
    };
    let mut qs = vec![0.0];
    let mut q = 0.0;
    while 1.0 - q > 1.0 / count {
        q += (1.0 - q) / 10.0;
        qs.push(q);
    }
    qs.push(1.0);
    qs.into_iter().map(point).collect()
}

/// An observer that counted nothing.
pub fn observer() -> Observer {
    Observer { name: "sink".to_owned(), ..Observer::default() }
}
