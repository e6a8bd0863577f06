use plan::arrival_list::{ArrivalList, Listed, RowSource};
use record::summary::{
    Model, Placement, Scheduling, SchedulingPolicy, SchedulingReason, Summary, Validity,
};

use super::*;
use crate::simulated::{Op, Simulated, file, simulate};

mod causes;
mod groups;
mod held_up;
mod journeys;
mod level_adds_in_part;
mod level_adds_outside;
mod parts;
mod race;
mod runs;
mod windows;

const MS: u64 = 1_000_000;

fn open(change: impl FnOnce(&mut Simulated)) -> Summary {
    let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let mut made = simulate(&file(load, &[]), 1_000, 10_000, |_| Op::answered(2 * MS));
    change(&mut made);
    made.summary()
}

fn has(summary: &Summary, code: &str) -> bool {
    summary.findings.iter().any(|finding| finding.code == code)
}

#[test]
fn a_plain_run_is_short_and_unchecked_and_nothing_else() {
    let summary = open(|_| ());
    let codes: Vec<_> = summary.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["short-run", "status-only"]);
}

#[test]
fn an_answer_that_is_a_status_and_no_more_was_looked_at_whole() {
    let summary = open(|made| made.plan.arms[0].operations[0].protocol = "smtp".to_owned());
    assert!(!has(&summary, "status-only"));
}

/// The log had it ten thousand times, too.
#[test]
fn a_recorded_request_comes_as_often_as_it_came() {
    let with = |is_named: bool| {
        open(|made| {
            let arm = &mut made.plan.arms[0];
            let (method, path) = ("GET".to_owned(), "/".to_owned());
            let request =
                plan::operation::Request { method, path, headers: Vec::new(), body: Vec::new() };
            arm.operations[0].requests = Some([request].into());
            let listed = (0..10_000).map(|offset_ns| Ok(Listed { offset_ns, row: 0 }));
            let rows = if is_named { RowSource::Column } else { RowSource::Turn };
            let list = ArrivalList::write(listed, Box::new(Vec::new()), rows).unwrap();
            let arrivals = plan::load::ArrivalProcess::Replay {
                list,
                file: "offsets.csv".to_owned(),
                digest: String::new(),
                scale: None,
                resolution: None,
            };
            arm.load.model = plan::load::Model::Open { arrivals };
        })
    };
    assert!(has(&with(false), "few-distinct-requests"));
    assert!(!has(&with(true), "few-distinct-requests"));
}

#[test]
fn six_rows_sent_thousands_of_times_are_told() {
    let with = |rows: u64, path: &str| {
        open(|made| {
            let objects =
                (0..rows).map(|row| (row, serde_json::json!({ "query": row.to_string() })));
            let rows = plan::rows::Rows::from_objects("rows", objects).unwrap();
            let operation = &mut made.plan.arms[0].operations[0];
            operation.rows = Some(std::sync::Arc::new(rows));
            operation.table = plan::document::parse(&format!("path = {path:?}")).0;
        })
    };
    let summary = with(6, "/?q={{row.query}}");
    let finding = summary.findings.iter().find(|one| one.code == "few-distinct-requests").unwrap();
    assert_eq!(
        finding.claim,
        "home is 6 distinct requests, sent 10,000 times: a cache holds all the answers"
    );
    assert!(!has(&with(100, "/?q={{row.query}}"), "few-distinct-requests"));
    assert!(!has(&with(6, "/?q={{row.query}}-{{sequence}}"), "few-distinct-requests"));
}

#[test]
fn every_code_is_unique_and_kebab_case() {
    let mut codes: Vec<_> = TABLE.iter().map(|row| row.code).collect();
    assert!(codes.iter().all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), TABLE.len());
    assert!(kind("late-generator").is_some() && kind("no-such-thing").is_none());
}

#[test]
fn a_scarce_resource_without_an_effect_is_no_finding() {
    let summary = open(|made| {
        made.trial.generator.steal_ratio = 0.3;
        made.trial.generator.throttled_ns = MS;
        made.trial.generator.worker_cpu_ns = vec![9_900 * MS];
        made.trial.generator.worker_run_queue_ns = vec![2_000 * MS];
    });
    assert!(summary.findings.iter().all(|finding| !finding.code.starts_with("generator-")));
}

#[test]
fn a_late_generator_says_what_scheduling_it_had_and_how_to_get_better() {
    let late = |reason: Option<SchedulingReason>| {
        let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
        let one = |index| Op {
            lag: if index % 20 == 0 { 8 * MS } else { 10_000 },
            ..Op::answered(2 * MS)
        };
        let mut made = simulate(&file(load, &[]), 1_000, 10_000, one);
        let policy =
            if reason.is_some() { SchedulingPolicy::Ordinary } else { SchedulingPolicy::Fifo };
        made.trial.generator.worker_scheduling = vec![Scheduling { policy, nice: 0, reason }];
        let summary = made.summary();
        let found = summary.findings.iter().find(|one| one.code == "late-generator").unwrap();
        (found.evidence["scheduling"].as_str().unwrap().to_owned(), found.advice.clone())
    };
    let (had, advice) = late(Some(SchedulingReason::NotPermitted));
    assert_eq!(had, "ordinary: SCHED_FIFO is not permitted");
    assert!(advice.contains("setcap cap_sys_nice=ep") && advice.contains("lower the rate"));
    let (had, advice) = late(None);
    assert_eq!(had, "SCHED_FIFO, priority 1");
    assert_eq!(advice, "give the generator a core of its own, or lower the rate");
}

#[test]
fn a_worker_that_slept_and_was_woken_late_is_told_from_one_that_was_stopped() {
    let late = |lag: u64, change: fn(&mut Simulated)| {
        let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
        let one =
            |index| Op { lag: if index % 20 == 0 { lag } else { 10_000 }, ..Op::answered(2 * MS) };
        let mut made = simulate(&file(load, &[]), 1_000, 10_000, one);
        change(&mut made);
        let summary = made.summary();
        assert!(has(&summary, "late-generator"));
        has(&summary, "generator-asleep")
    };
    assert!(late(8 * MS, |_| ()));
    assert!(!late(400 * MS, |_| ()), "no timer is so late");
    assert!(!late(8 * MS, |made| made.trial.generator.worker_cpu_ns = vec![6_000 * MS]));
    assert!(!late(8 * MS, |made| made.trial.generator.worker_run_queue_ns = vec![200 * MS]));
    assert!(!late(8 * MS, |made| made.trial.generator.throttled_ns = MS));
    assert!(!late(8 * MS, |made| made.trial.generator.steal_ratio = 0.02));
    assert!(!late(8 * MS, |made| made.trial.generator.worker_polled_ns = vec![9_000 * MS]));
    assert!(!late(8 * MS, |made| {
        made.trial.generator.placement = Placement { workers: vec![0, 1], systems: vec![0, 1] };
    }));
    assert!(!has(&open(|_| ()), "generator-asleep"));
}

#[test]
fn a_busy_worker_of_a_closed_loop_bounds_the_throughput() {
    let made = |cpu: u64| {
        let load = "connections = 2\nduration = \"10s\"";
        let mut made = simulate(&file(load, &[]), 1_000, 10_000, |_| Op::answered(2 * MS));
        made.trial.generator.worker_cpu_ns = vec![cpu];
        made.summary()
    };
    assert!(has(&made(9_500 * MS), "generator-bound"));
    assert!(!has(&made(5_000 * MS), "generator-bound"));
}

#[test]
fn a_closed_load_that_waits_for_its_processor_is_that_of_the_crowd() {
    let made = |load: &str, waited_ms: u64, stolen: f64| {
        let load = format!("{load}\nduration = \"10s\"");
        let mut made = simulate(&file(&load, &[]), 1_000, 10_000, |_| Op::answered(2 * MS));
        made.trial.generator.worker_run_queue_ns = vec![0, waited_ms * MS];
        made.trial.generator.steal_ratio = stolen;
        made.summary()
    };
    let summary = made("connections = 2", 2_700, 0.0);
    let claim = |summary: &Summary| {
        let found = summary.findings.iter().find(|one| one.code == CROWDED);
        found.map(|one| one.claim.clone())
    };
    assert_eq!(
        claim(&summary).unwrap(),
        "the generator waited for its processor: a worker of this closed load was ready and did not run during 27.0 % \
         of the measure phase: throughput and times are those of a crowded machine"
    );
    let trial = &summary.arms[0].trials[0];
    assert_eq!(trial.validity, Validity::Noted);
    assert!(trial.reasons[0].starts_with("the generator waited for its processor"));
    assert!(summary.verdict.reasons[1].starts_with("in 1 of 1 trials"), "{:?}", summary.verdict);
    let stolen = claim(&made("connections = 2", 100, 0.2)).unwrap();
    assert!(
        stolen.contains("during 1.00 %") && stolen.contains("took 20.0 % of processor time away")
    );
    assert!(claim(&made("users = 2", 2_700, 0.0)).is_some(), "they do not think");
    let (thinking, open) = ("users = 2\nthink = \"1s\"", "rate = \"1000/s\"");
    for (load, waited) in [("connections = 2", 400), (thinking, 2_700), (open, 2_700)] {
        assert_eq!(claim(&made(load, waited, 0.0)), None, "{load}");
    }
}

#[test]
fn thinking_users_make_the_throughput() {
    // 50 users thinking 2 s against 10 ms make 50/2.01 = 24.9/s.
    let load = "users = 50\nspawn_rate = \"10/s\"\nthink = \"1s..3s\"\nduration = \"40s\"";
    let users = |rate: u64| {
        simulate(&file(load, &[]), rate, rate * 40, |_| Op::answered(10 * MS)).summary()
    };
    let summary = users(25);
    assert_eq!(summary.arms[0].trials[0].load.model, Model::Users);
    let finding =
        summary.findings.iter().find(|finding| finding.code == "think-time-ceiling").unwrap();
    assert!(finding.claim.contains("the throughput is the users' think time"), "{}", finding.claim);
    assert!(finding.claim.contains("24.9/s"), "{}", finding.claim);
    assert!(!has(&users(20), "think-time-ceiling"), "far below N/(Z+R)");
}

#[test]
fn a_pool_at_its_limit_says_when_and_for_how_long() {
    let summary = open(|made| {
        made.trial.pool.waited = 500;
        made.trial.pool.saturated_ns = 700 * MS;
        made.trial.pool.saturated_first_ns = Some(3_000 * MS);
    });
    let finding = summary.findings.iter().find(|finding| finding.code == "pool-limited").unwrap();
    assert_eq!(
        finding.claim,
        "5.00 % of operations waited for one of 1,000 connections, which were all busy for 700 ms, \
         first at 3.00 s"
    );
    assert!(!has(&open(|made| made.trial.pool.waited = 5), "pool-limited"));
}

#[test]
fn what_the_experiment_did_on_purpose_is_told_with_its_instants() {
    let done = |action: &str, at_ms: u64, failed: Option<&str>| record::FaultDone {
        process: "nats".to_owned(),
        action: action.to_owned(),
        at_ns: (at_ms * MS).cast_signed(),
        failed: failed.map(str::to_owned),
    };
    let summary = open(|made| {
        made.trial.faults = vec![done("kill", 2_000, None), done("start", 3_500, Some("no port"))];
    });
    let finding = summary.findings.iter().find(|finding| finding.code == "planned-faults").unwrap();
    assert_eq!(
        finding.claim,
        "the experiment did this on purpose: kill nats at 2.00 s, start nats at 3.50 s (no port)"
    );
    assert_eq!((&finding.evidence["done"], &finding.evidence["not_done"]), (&1.into(), &1.into()));
    assert!(!has(&open(|_| ()), "planned-faults"));
}

#[test]
fn an_idle_target_is_named() {
    let load = "rate = \"10/s\"\nduration = \"10s\"";
    let summary = simulate(&file(load, &[]), 10, 100, |_| Op::answered(MS)).summary();
    assert!(has(&summary, "idle-system"));
}
