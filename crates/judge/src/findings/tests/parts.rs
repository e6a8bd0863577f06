//! Where the time goes, from the times that parts of the target report; and the distribution of a search behind a
//! slow front.

use plan::operation::Part;
use record::summary::{Process, System};

use super::*;
use crate::simulated::SPANS;

const US: u64 = 1_000;

/// Ten connections, one worker, 484 operations a second for ten seconds, with these service times and parts.
pub(super) fn behind_a_front(service: impl Fn(u64) -> u64, parts: &[(&str, u64)]) -> Simulated {
    let load = "connections = 10\nduration = \"10s\"";
    telling(simulate(&file(load, &[]), 484, 4_840, |index| Op::answered(service(index))), parts)
}

/// The same with parts that report these times, each inside the one before.
fn telling(mut made: Simulated, parts: &[(&str, u64)]) -> Simulated {
    let mut outer: Option<String> = None;
    for (name, time) in parts {
        let place = SPANS.iter().position(|span| span == name).unwrap();
        let span = &mut made.trial.totals.operations[0].spans[place];
        (0..4_840).for_each(|_| span.record(*time));
        let part = Part { name: (*name).to_owned(), within: outer, ..Part::default() };
        outer = Some(part.name.clone());
        made.plan.arms[0].operations[0].parts.push(part);
    }
    made
}

/// Four in five take about 4.5 ms, one in five about 80 ms: mean 20.7, p50 5, p95 85, p99 89 ms.
fn bimodal(index: u64) -> u64 {
    let spread = index * 7_919 % 1_000;
    if index * 2_654_435_761 % 100 < 20 {
        70 * MS + spread * 20 * US
    } else {
        3_500 * US + spread * 3 * US
    }
}

fn claim<'s>(summary: &'s Summary, code: &str) -> Option<&'s str> {
    let finding = summary.findings.iter().find(|finding| finding.code == code);
    finding.map(|finding| finding.claim.as_str())
}

#[test]
fn time_that_no_part_accounts_for_is_told_with_its_tail() {
    let summary = behind_a_front(|_| 20_700 * US, &[("gateway", 400 * US)]).summary();
    assert_eq!(
        claim(&summary, "time-outside-parts"),
        Some(
            "of the 20.7 ms that home takes on average `gateway` took 400 µs: 20.3 ms (98.1 %) passed between the \
             client and it; of the slowest hundredth, 20.7 ms and more, at least 20.3 ms each, since `gateway` never \
             took longer than 400 µs"
        )
    );
    assert_eq!(claim(&summary, "time-in-one-part"), None);
    let summary = behind_a_front(|_| 700 * US, &[("gateway", 400 * US)]).summary();
    assert_eq!(claim(&summary, "time-outside-parts"), None, "more than half is in it");
    let summary = behind_a_front(|_| 250 * US, &[("gateway", 40 * US)]).summary();
    assert_eq!(claim(&summary, "time-outside-parts"), None, "loopback makes that");
    let summary = behind_a_front(|_| 20_700 * US, &[]).summary();
    assert_eq!(claim(&summary, "time-outside-parts"), None, "nobody was asked");
}

#[test]
fn what_a_busy_worker_may_have_made_itself_is_not_blamed_on_what_lies_between() {
    let busy = |ms: u64| {
        let mut made = behind_a_front(|_| 2_000 * US, &[("gateway", 100 * US)]);
        made.trial.generator.worker_cpu_ns = vec![ms * MS];
        made.trial.in_flight.mean = 10.0;
        made.summary()
    };
    // 484 µs of the worker per operation, with ten in flight.
    assert_eq!(claim(&busy(2_343), "time-outside-parts"), None);
    assert!(claim(&busy(200), "time-outside-parts").is_some());
}

#[test]
fn what_a_part_says_of_itself_is_no_work_of_a_busy_generator() {
    let mut made = behind_a_front(|_| 760 * US, &[("front", 460 * US), ("gateway", 16 * US)]);
    made.trial.generator.worker_cpu_ns = vec![9_000 * MS];
    made.trial.in_flight.mean = 10.0;
    let told = "of the 760 µs that home takes on average `front` itself took 444 µs (58.4 %), without `gateway` 16.0 \
                µs inside it";
    assert_eq!(claim(&made.summary(), "time-in-one-part"), Some(told));
}

#[test]
fn a_part_that_few_answers_carried_is_no_ground_for_a_claim() {
    let mut made = behind_a_front(|_| 20_700 * US, &[]);
    made.plan.arms[0].operations[0].parts =
        vec![Part { name: "gateway".to_owned(), ..Part::default() }];
    (0..2_000).for_each(|_| made.trial.totals.operations[0].spans[3].record(400 * US));
    assert_eq!(claim(&made.summary(), "time-outside-parts"), None);
}

#[test]
fn the_part_that_takes_most_by_itself_is_named_with_the_process_that_has_no_time_left() {
    let parts = [("front", 20_500 * US), ("gateway", 400 * US), ("embed", 12 * US)];
    let mut made = behind_a_front(|_| 20_700 * US, &parts);
    let process = |name: &str, pid, cpu_ns| Process {
        name: name.into(),
        pid,
        cpu_ns,
        run_queue_ns: 0,
        rss_peak_bytes: 1,
    };
    made.trial.systems = vec![System {
        name: "search".into(),
        // The gateway uses more, but on several threads.
        processes: vec![process("search", 7, 15_000 * MS), process("search-front", 8, 9_900 * MS)],
        ..System::default()
    }];
    made.trial.generator.placement.systems = vec![0, 1, 2];
    let summary = made.summary();
    assert_eq!(
        claim(&summary, "time-in-one-part"),
        Some(
            "of the 20.7 ms that home takes on average `front` itself took 20.1 ms (97.1 %), without `gateway` 400 µs \
             inside it; search-front had no processor time left meanwhile"
        )
    );
    assert_eq!(claim(&summary, "time-outside-parts"), None);
    assert_eq!(
        claim(&summary, "target-cpu-bound"),
        Some(
            "search-front (process 8) used 0.990 of 3 cores: its processor time is what limits it"
        )
    );
}

#[test]
fn where_the_generator_was_late_it_is_the_first_suspect() {
    let late = |lag: u64| {
        let load = "rate = \"484/s\"\narrivals = \"constant\"\nduration = \"10s\"";
        let one = |_| Op { lag, ..Op::answered(20_700 * US) };
        let made = simulate(&file(load, &[]), 484, 4_840, one);
        telling(made, &[("gateway", 400 * US)]).summary()
    };
    assert!(claim(&late(10 * US), "time-outside-parts").is_some());
    assert!(has(&late(30 * MS), "late-generator"));
    assert_eq!(claim(&late(30 * MS), "time-outside-parts"), None);
}

#[test]
fn the_second_reports_shape_is_called_bimodal_with_its_share() {
    let summary = behind_a_front(bimodal, &[]).summary();
    let total = &summary.arms[0].trials[0].total;
    let mean = total.service_time.mean_ns as f64 / 1e6;
    assert!((19.5..21.5).contains(&mean), "{mean}");
    let found = summary.findings.iter().find(|finding| finding.code == "bimodal").unwrap();
    let share = found.evidence["high_share"].as_f64().unwrap();
    assert!((share - 0.2).abs() < 0.01, "{share}");
    assert!(found.claim.starts_with("home is served in one of two ways"), "{}", found.claim);
}

#[test]
fn a_mean_that_few_operations_make_is_told_where_they_make_no_mode() {
    // Log-logistic of shape 1.25 around 4.6 ms: its mean is 4.3 times its median, less the part of its tail that
    // 4,840 draws do not reach.
    let one = |index: u64| {
        let share = ((index as f64 + 0.5) * 0.618_033_988_749_895).fract();
        (4.6e6 * (share / (1.0 - share)).powf(0.8)) as u64
    };
    let summary = behind_a_front(one, &[]).summary();
    assert_eq!(claim(&summary, "bimodal"), None);
    let told = "the mean service time (17.1 ms) is 3.71 times its median (4.60 ms)";
    assert_eq!(claim(&summary, "mean-far-from-median"), Some(told));
}

#[test]
fn a_tail_of_lone_operations_is_not_queueing() {
    // One connection: p50 1.3 ms, p99 32 ms.
    let made = |connections: u32, slow: u64| {
        let load = format!("connections = {connections}\nduration = \"10s\"");
        let one = |index| Op::answered(if index % 50 == 7 { slow } else { 1_300 * US });
        simulate(&file(&load, &[]), 400, 4_000, one).summary()
    };
    let summary = made(1, 32 * MS);
    assert_eq!(
        claim(&summary, "tail-without-company"),
        Some(
            "with one operation under way at a time the p99 of the service time (32.0 ms) is 24.6 times its median \
             (1.30 ms): none of them waited for another"
        )
    );
    assert_eq!(claim(&made(10, 32 * MS), "tail-without-company"), None);
    assert_eq!(claim(&made(1, 5 * MS), "tail-without-company"), None);
}
