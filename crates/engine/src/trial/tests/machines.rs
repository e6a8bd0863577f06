//! Shares of a plan, performed on several machines and merged, are the trial of one machine.

use std::time::Duration;

use plan::load::{ArrivalProcess, Model, Spacing, Stage, Stop, Think, WarmUp};
use plan::operation::Operation;
use plan::plan_share::PlanShare;
use record::event::WindowCounts;
use record::folder::{MemoryFolder, MergedTrial, RunReader, TrialHeader, TrialWriter, write_facts};
use record::summary::AgentFacts;
use record::{Layout, Totals, TrialFacts, Window, WindowSpan};
use stats::Histogram;

use super::echo::{answer_after, answer_in_turn};
use super::queueing::exponential;
use super::{MS, SECOND, TestResult, TestTrial};
use crate::trial::{Start, TrialOutput, run_virtual_together};

/// One trial, merged or not, and its windows as they are stored.
struct Stored {
    facts: TrialFacts,
    windows: Vec<Window>,
}

fn layout(trial: &TestTrial) -> Layout {
    let arm = trial.arm("memory://target".to_owned());
    crate::trial::layout(&arm, &super::Echo)
}

fn header(layout: &Layout) -> TrialHeader {
    let layout = layout.clone();
    TrialHeader { trial: 1, start_ms: 0, window_ns: SECOND, layout, samples: false }
}

fn store(result: &TestResult, layout: &Layout, share: Option<PlanShare>) -> MemoryFolder {
    let folder = MemoryFolder::default();
    let mut writer = TrialWriter::new(&folder, header(layout)).unwrap();
    result.windows.iter().for_each(|window| writer.window(window).unwrap());
    result.events.iter().for_each(|event| writer.event(event).unwrap());
    let mut facts = result.trial.clone();
    facts.agent = share.map(|share| AgentFacts {
        share: share.number,
        of: share.of,
        host: "here".to_owned(),
        ..AgentFacts::default()
    });
    write_facts(&folder, &facts).unwrap();
    folder
}

/// All that the folder holds of each window, put together.
fn windows(folder: &MemoryFolder, layout: &Layout) -> Vec<Window> {
    let mut whole = record::WindowAssembler::new(1, layout);
    let reader = RunReader::new(folder);
    reader
        .visit_windows(1, &layout.names(), &mut |window| {
            assert!(whole.add_windows(0, [window.clone().into_part()], 0).is_empty());
        })
        .unwrap();
    whole.finish()
}

fn merge(results: &[TestResult], layout: &Layout) -> Stored {
    let of = u32::try_from(results.len()).unwrap();
    let shares = results.iter().zip(1..);
    let folders: Vec<MemoryFolder> =
        shares.map(|(one, number)| store(one, layout, Some(PlanShare { number, of }))).collect();
    let readers: Vec<RunReader<'_>> = folders.iter().map(|folder| RunReader::new(folder)).collect();
    let out = MemoryFolder::default();
    let merged = MergedTrial { windows: 50, shares: &readers, trial: 1, layout };
    let facts = merged.facts(&out).unwrap();
    let mut writer = TrialWriter::new(&out, header(layout)).unwrap();
    merged.write(&mut writer, crate::trial::facts::accounting(&facts.totals.total())).unwrap();
    Stored { facts, windows: windows(&out, layout) }
}

/// Performs the trial on one machine, and in shares on machines with 1, 2, 3 … workers.
fn both(model: &Model, of: u32, change: impl Fn(&mut TestTrial)) -> (Stored, Stored) {
    let trial = |share: PlanShare, workers| {
        let mut trial = TestTrial::new(model.clone(), Duration::from_secs(5));
        trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(1) };
        // The limit of an open load is divided, too; nothing is to wait for a connection.
        let is_open = matches!(model, Model::Open { .. });
        trial.load.connections = if is_open { 1_000 } else { 64 };
        (trial.share, trial.workers) = (share, workers);
        change(&mut trial);
        // The answer time depends on the time of the request, so equal histograms mean equal starts.
        answer_after(&trial.network, &trial.clock, |now| MS + now % 977_000);
        trial
    };
    let whole = trial(PlanShare::WHOLE, 1);
    let layout = layout(&whole);
    let result = whole.run();
    let folder = store(&result, &layout, None);
    let one = Stored { facts: result.trial, windows: windows(&folder, &layout) };
    let shares = (1..=of).map(|number| trial(PlanShare { number, of }, number as usize).run());
    (one, merge(&shares.collect::<Vec<_>>(), &layout))
}

/// Field by field; the mean in flight to rounding. The maximum in flight is a bound.
fn assert_same(one: &Stored, merged: &Stored, what: &str) {
    assert!(totals(&one.facts) == totals(&merged.facts), "{what}: totals");
    assert!(one.facts.totals.total().planned > 100, "{what}: something happens");
    assert_eq!(one.facts.area_ns, merged.facts.area_ns, "{what}");
    assert_eq!(one.facts.phases.measure_ns, merged.facts.phases.measure_ns, "{what}");
    let mean = (one.facts.in_flight.mean, merged.facts.in_flight.mean);
    assert!((mean.0 - mean.1).abs() < 1e-9, "{what}: {mean:?}");
    assert!(one.facts.in_flight.max <= merged.facts.in_flight.max, "{what}");
    let (mine, theirs) = (&one.facts.load, &merged.facts.load);
    assert_eq!((mine.model, mine.connections), (theirs.model, theirs.connections), "{what}");
    assert_eq!(mine.users, theirs.users, "{what}");
    let rates = [mine.offered_rate, theirs.offered_rate].map(Option::unwrap_or_default);
    assert!((rates[0] - rates[1]).abs() < 1e-9, "{what}: {rates:?}");
    let (mine, theirs) = (seen(&one.windows), seen(&merged.windows));
    assert_eq!(mine.len(), theirs.len(), "{what}: windows");
    for (mine, theirs) in mine.iter().zip(&theirs) {
        assert_eq!(mine, theirs, "{what}");
    }
}

/// Without the times of connecting: each machine opens connections of its own.
fn totals(facts: &TrialFacts) -> Totals {
    let mut totals = facts.totals.clone();
    totals.operations.iter_mut().for_each(|operation| operation.spans.clear());
    totals
}

/// Counts, and the bucket at each rank of each histogram: what windows keep exactly once they are stored.
fn seen(windows: &[Window]) -> Vec<(WindowCounts, Vec<u64>)> {
    let ranks = |times: &Histogram| -> Vec<u64> {
        (1..=times.count()).filter_map(|rank| Some(times.at_rank(rank)?.low)).collect()
    };
    let values = |window: &Window| {
        let spans = WindowSpan::ALL.iter();
        spans.filter_map(|&span| window.all(span)).flat_map(|times| ranks(&times)).collect()
    };
    windows.iter().map(|window| (window.counts(), values(window))).collect()
}

#[test]
fn merged_shares_equal_one_machine_field_by_field() {
    let stage = |to, seconds| Stage { to, over: Duration::from_secs(seconds) };
    let stages = |spacing| ArrivalProcess::Stages {
        from: 20.0,
        stages: vec![stage(200.0, 3), stage(100.0, 2)],
        spacing,
    };
    let burst = ArrivalProcess::Burst {
        rate: 300.0,
        on: Duration::from_millis(300),
        off: Duration::from_millis(400),
        spacing: Spacing::Poisson,
    };
    let replay = ArrivalProcess::Replay {
        list: (0..1_000).map(|index| index * index * 5_000).collect(),
        file: "offsets.csv".to_owned(),
        digest: String::new(),
        scale: None,
        resolution: None,
    };
    let processes = [
        ("constant", ArrivalProcess::Constant { rate: 200.0 }),
        ("poisson", ArrivalProcess::Poisson { rate: 200.0 }),
        ("even stages", stages(Spacing::Constant)),
        ("random stages", stages(Spacing::Poisson)),
        ("bursts", burst),
        ("replay", replay),
    ];
    for (name, arrivals) in processes {
        for of in [1, 2, 4, 7] {
            let model = Model::Open { arrivals: arrivals.clone() };
            let (one, merged) = both(&model, of, |trial| {
                trial.operations = vec![
                    Operation { weight: 3.0, ..Operation::named("often") },
                    Operation::named("seldom"),
                ];
            });
            assert_same(&one, &merged, &format!("{name}, {of} shares"));
        }
    }
}

#[test]
fn users_and_connections_are_divided() {
    let think = Think::Exponential { mean: Duration::from_millis(100) };
    let users = Model::Users { users: 50, spawn_rate: 100.0, think, ramp: None };
    for of in [1, 3, 8] {
        let (one, merged) = both(&users, of, |_| {});
        assert_same(&one, &merged, &format!("users, {of} shares"));
        let (one, merged) = both(&Model::Closed, of, |_| {});
        assert_same(&one, &merged, &format!("closed, {of} shares"));
    }
}

#[test]
fn a_number_of_operations_is_that_of_all_shares() {
    let arrivals = ArrivalProcess::Poisson { rate: 300.0 };
    for model in [Model::Open { arrivals }, Model::Closed] {
        let (one, merged) =
            both(&model, 4, |trial| trial.load.stop = Stop::Operations { count: 1_000 });
        for stored in [&one, &merged] {
            assert_eq!(stored.facts.totals.total().succeeded, 1_000);
        }
    }
}

/// Arrivals at a queue are those of the plan, whatever the shares' clocks: with clocks up to 20 ms wrong, a thinned and
/// superposed Poisson process is one, so response times are those of M/M/1.
#[test]
fn shares_with_wrong_clocks_load_a_queue_as_one_machine_does() {
    const OF: u32 = 8;
    let (mut sum, mut planned) = (0.0, 0.0);
    for seed in 1..=30 {
        let arrivals = ArrivalProcess::Poisson { rate: 800.0 };
        let mut trial = TestTrial::new(Model::Open { arrivals }, Duration::from_secs(60));
        trial.load.warm_up = WarmUp::Fixed { length: Duration::from_secs(1) };
        trial.seed = seed;
        answer_in_turn(&trial.network, &trial.clock, exponential(seed));
        let arm = trial.arm("memory://target".to_owned());
        let plan = TestTrial::plan(seed);
        let setups = (1..=OF).map(|number| {
            let offset = u64::from(number) * 7_919_000 % (40 * MS);
            let start = Start::At(trial.clock_now() + offset);
            let share = PlanShare { number, of: OF };
            crate::trial::Setup { share, start, ..trial.setup(&arm, &plan) }
        });
        let setups: Vec<_> = setups.collect();
        let shares = run_virtual_together(
            &setups,
            &trial.clock,
            trial.network.clone(),
            1,
            &mut |_, _: TrialOutput| {},
        );
        let mut shares = shares.unwrap().into_iter();
        let mut whole = shares.next().unwrap().begin_join("1");
        shares.for_each(|share| whole.join(share, ""));
        let total = whole.totals.total();
        assert_eq!(total.planned, total.succeeded);
        sum += total.response_time.mean() / 1e6;
        planned += total.planned as f64;
    }
    // 1/(μ − λ) at load 0.8; 800/s for 60 s.
    assert!((sum / 30.0 / 5.0 - 1.0).abs() < 0.03, "mean {} ms", sum / 30.0);
    assert!((planned / 30.0 / 48_000.0 - 1.0).abs() < 0.01, "{planned}");
}
