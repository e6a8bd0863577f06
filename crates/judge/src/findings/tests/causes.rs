//! Counters, times that reveal their cause, and processes: each kind of finding with its evidence and without.

use record::summary::{Process, System};
use record::{FailureKind, Outcome};
use serde_json::json;

use super::*;

const CONNECT: usize = 0;
const FIRST_BYTE: usize = 1;

fn counters(made: &mut Simulated, deltas: &[(&str, i64)]) {
    made.trial.kernel.extend(deltas.iter().map(|&(name, delta)| (name.to_owned(), delta)));
}

fn connects(made: &mut Simulated, milliseconds: &[u64]) {
    let times = &mut made.trial.totals.operations[0].spans[CONNECT];
    milliseconds.iter().for_each(|ms| times.record(ms * MS));
}

/// Answered in 2 ms, except that one in `every` takes `slow` ms.
fn mostly(every: u64, slow: u64) -> Simulated {
    let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    simulate(&file(load, &[]), 1_000, 10_000, |index| {
        Op::answered(if index % every == 7 { slow * MS } else { 2 * MS })
    })
}

/// Each answered in this many milliseconds.
fn open_in(service: u64) -> Simulated {
    let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    simulate(&file(load, &[]), 1_000, 10_000, |_| Op::answered(service * MS))
}

fn codes(summary: &Summary) -> Vec<&str> {
    summary.findings.iter().map(|finding| finding.code.as_str()).collect()
}

fn claim<'s>(summary: &'s Summary, code: &str) -> &'s str {
    let finding = summary.findings.iter().find(|finding| finding.code == code);
    &finding.unwrap_or_else(|| panic!("no {code}: {:?}", codes(summary))).claim
}

#[test]
fn counters_without_an_effect_are_those_of_somebody_else() {
    let summary = open(|made| {
        let moved = [
            ("ListenOverflows", 7),
            ("ListenDrops", 9),
            ("TCPReqQFullDrop", 3),
            ("RetransSegs", 900),
            ("OutSegs", 9_000),
            ("TCPAbortOnTimeout", 4),
            ("TCPAbortOnData", 40),
            ("TCPBacklogDrop", 5),
            ("TCPSynRetrans", 12),
            ("TCPTimeouts", 12),
        ];
        counters(made, &moved);
    });
    assert_eq!(codes(&summary), ["short-run", "status-only"]);
}

#[test]
fn a_full_accept_queue_is_named_with_what_it_cost() {
    let summary = open(|made| {
        counters(made, &[("ListenOverflows", 12), ("ListenDrops", 12), ("TCPSynRetrans", 12)]);
        made.trial.generator.syn_linear_timeouts = 4;
        connects(
            made,
            &[1, 1, 1, 1_024, 1_030, 1_031, 1_035, 1_040, 2_050, 2_060, 2_061, 2_063, 2_064],
        );
    });
    assert_eq!(
        claim(&summary, "accept-queue-overflow"),
        "the accept queue of a listener on this machine was full 12 times; connecting took up to 2.06 s"
    );
    assert_eq!(
        claim(&summary, "syn-retransmission"),
        "10 connections were made at a later attempt, just after 1.00 and 2.00 s, the instants at which \
         this kernel sends a SYN again"
    );
    assert!(!has(&summary, "listen-drops"), "overflows explain them");
}

#[test]
fn the_seconds_of_a_retransmitted_syn_are_those_of_the_kernel() {
    let made = |linear: u32| {
        open(|made| {
            counters(made, &[("TCPSynRetrans", 5)]);
            made.trial.generator.syn_linear_timeouts = linear;
            connects(made, &[2_020, 2_021, 2_022, 2_023, 2_024]);
        })
    };
    assert!(has(&made(4), "syn-retransmission"));
    assert!(!has(&made(0), "syn-retransmission"), "an older kernel waits until 3 s");
}

#[test]
fn other_queues_of_a_listener_have_rows_of_their_own() {
    let summary = open(|made| {
        counters(made, &[("TCPReqQFullDrop", 4), ("ListenDrops", 6)]);
        connects(made, &[1_500]);
    });
    assert!(claim(&summary, "syn-queue-overflow").contains("4 requests were dropped"));
    assert!(claim(&summary, "listen-drops").contains("dropped 2 connection requests"));
}

#[test]
fn requests_sent_again_into_a_full_queue_are_told_from_lost_segments() {
    let with = |counter: &str| {
        let mut made = mostly(500, 203);
        counters(&mut made, &[(counter, 20)]);
        made.summary()
    };
    let full = with("ListenOverflows");
    assert!(
        claim(&full, "first-request-resent")
            .starts_with("20 requests were answered just after 0.200 s")
    );
    assert!(!has(&full, "retransmission-timeout"));
    let lost = with("TCPTimeouts");
    assert!(
        claim(&lost, "retransmission-timeout").starts_with("20 operations took just above 200 ms")
    );
    assert!(!has(&lost, "first-request-resent"));
    assert!(!has(&mostly(500, 203).summary(), "retransmission-timeout"), "no counter, no cause");
}

#[test]
fn retransmissions_are_named_where_something_took_so_long() {
    let with = |every: u64, again: i64, noticed: &str| {
        let mut made = mostly(every, 250);
        counters(&mut made, &[("RetransSegs", again), ("OutSegs", 10_000), (noticed, 5)]);
        made.summary()
    };
    for timer in ["TCPTimeouts", "TCPLossProbes", "TCPLostRetransmit"] {
        assert_eq!(
            claim(&with(500, 20, timer), "retransmissions"),
            "0.20 % of segments (20) were sent again, which may be why the slowest operations took 250 ms"
        );
    }
    assert!(!has(&with(500, 9, "TCPTimeouts"), "retransmissions"), "fewer than 0.1 %");
    assert!(!has(&with(500, 20, "OutRsts"), "retransmissions"), "no timer noticed a loss");
    assert!(!has(&with(10, 20, "TCPTimeouts"), "retransmissions"), "one in ten takes so long");
    let mut slow = open_in(250);
    counters(&mut slow, &[("RetransSegs", 20), ("OutSegs", 10_000), ("TCPTimeouts", 5)]);
    assert!(!has(&slow.summary(), "retransmissions"), "a service of 250 ms");
}

#[test]
fn a_delayed_acknowledgement_delays_the_rest_and_not_the_first_byte() {
    let with = |first: u64, held: i64| {
        let load = "rate = \"100/s\"\narrivals = \"constant\"\nduration = \"10s\"";
        let mut made = simulate(&file(load, &[]), 100, 1_000, |_| Op::answered(44 * MS));
        let span = &mut made.trial.totals.operations[0].spans[FIRST_BYTE];
        (0..1_000).for_each(|_| span.record(first * MS));
        counters(&mut made, &[("DelayedACKs", held)]);
        made.summary()
    };
    let said = with(1, 900);
    let said = claim(&said, "delayed-acknowledgement");
    assert!(said.starts_with("100 % of answers ended just above 40 ms"), "{said}");
    assert!(said.contains("900 acknowledgements were held back"), "{said}");
    assert!(!has(&with(43, 900), "delayed-acknowledgement"), "a target that takes 44 ms");
    assert!(!has(&with(1, 400), "delayed-acknowledgement"), "acknowledged at once");
}

#[test]
fn a_quota_shows_in_multiples_of_its_period() {
    let with = |throttled: u64| {
        let mut made = mostly(100, 101);
        made.trial.generator.throttled_ns = throttled * MS;
        made.summary()
    };
    assert!(claim(&with(700), "cpu-quota").contains("just above 0.100 s"));
    assert!(!has(&with(0), "cpu-quota"));
}

#[test]
fn a_time_out_behind_the_target_is_named() {
    assert!(claim(&mostly(1_000, 5_002).summary(), "time-out-within").starts_with("10 operations"));
    assert!(!has(&mostly(1_000, 4_500).summary(), "time-out-within"));
    let summary = mostly(1_000, 5_002).summary();
    let finding =
        summary.findings.iter().find(|finding| finding.code == "time-out-within").unwrap();
    assert_eq!(finding.severity, record::summary::Severity::Info, "a time alone is no cause");
    assert!(finding.claim.contains("may be behind that"), "{}", finding.claim);
}

#[test]
fn steps_of_a_timer_are_named() {
    let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let stepped = simulate(&file(load, &[]), 1_000, 10_000, |index| {
        Op::answered((1 + index % 4) * 10 * MS + index % 97)
    });
    assert!(claim(&stepped.summary(), "timer-steps").ends_with("lie on 4 steps, 10.0 ms apart"));
}

#[test]
fn steps_of_the_targets_own_work_are_no_timers() {
    // Four in flight in a server with one thread, each with 20 ms of work: the k-th one waits for k of them.
    let queued_of = |count: u64, cpu_each_ns: u64| {
        let load = "connections = 4\nduration = \"20s\"";
        let mut made = simulate(&file(load, &[]), count / 20, count, |index| {
            Op::answered((1 + index % 4) * 20 * MS + 300_000 + index % 97)
        });
        let process = Process {
            name: "burner".into(),
            pid: 7,
            cpu_ns: count * cpu_each_ns,
            run_queue_ns: 0,
            rss_peak_bytes: 1,
        };
        made.trial.systems = vec![System { processes: vec![process], ..System::default() }];
        made.summary()
    };
    let queued = |cpu_each_ns: u64| queued_of(1_000, cpu_each_ns);
    assert!(!has(&queued(20 * MS), "timer-steps"), "work");
    // Each uses 2 ms of processor time: a tenth of a step, but the process has no processor time left.
    assert!(!has(&queued_of(10_000, 2 * MS), "timer-steps"), "full");
    assert!(has(&queued_of(10_000, MS / 10), "timer-steps"), "idle");
    assert!(!has(&queued(20 * MS), "bimodal"), "one way of being served, four places in a queue");
    let sleeping = queued(50_000);
    assert!(claim(&sleeping, "timer-steps").ends_with("lie on 4 steps, 20.0 ms apart"));
}

#[test]
fn a_reset_says_how_the_connection_was_closed() {
    let load = "rate = \"1000/s\"\narrivals = \"constant\"\nduration = \"10s\"";
    let mut made = simulate(&file(load, &[]), 1_000, 10_000, |index| Op {
        outcome: Some(match index % 1_000 {
            3 => Outcome::Failed(FailureKind::Reset),
            _ => Outcome::Succeeded,
        }),
        ..Op::answered(2 * MS)
    });
    counters(&mut made, &[("TCPAbortOnClose", 10), ("TCPAbortOnTimeout", 2)]);
    let summary = made.summary();
    assert_eq!(
        claim(&summary, "connection-resets"),
        "10 operations ended with a reset by their peer; connections were closed here with unread data in them"
    );
    assert!(
        claim(&summary, "connections-given-up").starts_with("the kernel gave up 2 connections")
    );
}

fn process(name: &str, cpu_ms: u64) -> System {
    let process = Process {
        name: name.into(),
        pid: 7,
        cpu_ns: cpu_ms * MS,
        run_queue_ns: 0,
        rss_peak_bytes: 1 << 20,
    };
    System { name: "shop".into(), processes: vec![process], ..System::default() }
}

#[test]
fn a_process_without_time_left_is_named() {
    let used = |cpu_ms: u64, cores: usize| {
        open(|made| {
            made.trial.systems = vec![process("shopd", cpu_ms)];
            made.trial.generator.placement.systems = (0..cores).collect();
        })
    };
    assert!(
        claim(&used(9_900, 3), "target-cpu-bound")
            .starts_with("shopd (process 7) used 0.990 of 3 cores")
    );
    assert!(has(&used(29_000, 3), "target-cpu-bound"));
    for idle in [used(6_000, 3), used(20_000, 3), used(20, 1)] {
        assert!(!has(&idle, "target-cpu-bound"));
    }
}

#[test]
fn a_setting_that_did_not_take_is_an_error() {
    let with = |backlog: u64| {
        let mut made = mostly(10, 2);
        let mut system = process("shopd", 0);
        system.effective.insert("backlog".into(), json!(backlog));
        made.trial.systems = vec![system];
        made.plan.arms[0].system = Some(plan::process::System {
            start: plan::process::Start::Serve("shop".into()),
            set: [("backlog".to_owned(), json!(4_096))].into(),
            ready: plan::process::Ready::Line,
            ready_within: None,
        });
        made.summary()
    };
    assert_eq!(
        claim(&with(128), "setting-not-in-force"),
        "backlog was set to 4096 and 128 is in force"
    );
    assert!(!has(&with(4_096), "setting-not-in-force"));
}

#[test]
fn a_target_of_somebody_else_on_crowded_processors_is_told() {
    let waited = |ms: u64| open(|made| made.trial.generator.worker_run_queue_ns = vec![ms * MS]);
    assert!(has(&waited(500), "shared-machine"));
    assert!(!has(&waited(50), "shared-machine"));
}
