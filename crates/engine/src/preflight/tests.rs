use plan::protocol::{Place, Scheme, WEB};
use plan::target::Target;

use super::*;

const LIMITS: Limits = Limits {
    files_open: 10,
    files_soft: 1024,
    files_hard: 4096,
    ports: Some(28_232),
    time_wait_reuse: 2,
    cores: 4,
    memory_available: 4 << 30,
};
const DEMAND: Demand = Demand {
    connections: 50,
    descriptors: 50,
    certain: 50,
    new_connections: 0.0,
    is_local: false,
    workers: 3,
    busy_poll: false,
    recorder_bytes: 0,
};

#[track_caller]
fn check(demand: Demand, limits: Limits, expect: Option<(Severity, &str)>) {
    let problems = judge(&demand, &limits);
    match expect {
        None => assert_eq!(problems, []),
        Some((severity, words)) => {
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert_eq!(problems[0].severity, severity);
            assert!(problems[0].claim.contains(words), "{}", problems[0].claim);
            assert!(problems[0].hint.is_some());
        }
    }
}

#[test]
fn an_ordinary_run_meets_no_limit() {
    check(DEMAND, LIMITS, None);
}

#[test]
fn connections_need_descriptors() {
    let many = Demand { connections: 1_000, descriptors: 1_000, certain: 1_000, ..DEMAND };
    check(many, LIMITS, Some((Severity::Error, "need about 1074 file descriptors")));
    let allowed = Demand { certain: 500, ..many };
    check(allowed, LIMITS, Some((Severity::Warning, "1024 are allowed")));
    check(Demand { connections: 950, descriptors: 950, ..DEMAND }, LIMITS, None);
}

#[test]
fn a_connection_of_a_channel_holds_two_descriptors() {
    const SHM: Scheme = Scheme { name: "shm", place: Place::Channel, credentials: "" };
    let endpoint = |url: &str, schemes| {
        let target = Target { url: url.to_owned(), schemes, ..Target::default() };
        Endpoint::resolve(&target).unwrap()
    };
    let http = endpoint("http://127.0.0.1:1", &WEB);
    let shm = endpoint("shm:///run/x.shm", std::slice::from_ref(&SHM));
    assert_eq!(held(&[]), (1, 1), "an address that only the launcher will know");
    assert_eq!(held(std::slice::from_ref(&http)), (1, 1));
    assert_eq!(held(&[http, shm]), (3, 2));
    let channels = Demand { connections: 500, descriptors: 1_000, certain: 1_000, ..DEMAND };
    let words = "500 connections need about 1074 file descriptors";
    check(channels, LIMITS, Some((Severity::Error, words)));
}

#[test]
fn two_loads_at_the_same_time_need_what_both_need() {
    let half = Demand { connections: 500, descriptors: 500, certain: 500, ..DEMAND };
    check(half, LIMITS, None);
    check(half.beside(half), LIMITS, Some((Severity::Error, "need about 1074")));
    assert_eq!(half.beside(half).workers, half.workers, "on the same workers");
}

#[test]
fn new_connections_need_ports_for_as_long_as_they_are_held() {
    let fast = |rate| Demand { new_connections: rate, ..DEMAND };
    check(fast(470.0), LIMITS, None);
    check(fast(500.0), LIMITS, Some((Severity::Error, "allow 471 a second")));
    check(fast(f64::INFINITY), LIMITS, Some((Severity::Warning, "as fast as the target")));
    let always = Limits { time_wait_reuse: 1, ..LIMITS };
    check(fast(500.0), always, None);
}

#[test]
fn ports_are_used_again_on_loopback() {
    let local = |rate| Demand { new_connections: rate, is_local: true, ..DEMAND };
    check(local(20_000.0), LIMITS, None);
    check(local(f64::INFINITY), LIMITS, None);
    check(local(30_000.0), LIMITS, Some((Severity::Error, "held for 1 s")));
    let never = Limits { time_wait_reuse: 0, ..LIMITS };
    check(local(500.0), never, Some((Severity::Error, "held for 60 s")));
}

#[test]
fn workers_should_not_share_processors() {
    check(Demand { workers: 5, ..DEMAND }, LIMITS, Some((Severity::Warning, "5 workers")));
    check(Demand { workers: 4, ..DEMAND }, LIMITS, None);
}

#[test]
fn workers_that_poll_leave_a_processor_to_the_others() {
    let polling = Demand { busy_poll: true, ..DEMAND };
    check(polling, LIMITS, None);
    let all = Demand { workers: 4, ..polling };
    check(all, LIMITS, Some((Severity::Warning, "the workers (4) none of the processors (4)")));
    let single = (Demand { workers: 1, ..polling }, Limits { cores: 1, ..LIMITS });
    check(
        single.0,
        single.1,
        Some((Severity::Warning, "the workers (1) none of the processors (1)")),
    );
}

#[test]
fn many_operations_need_memory() {
    // Ten spans: 13 fine histograms of 28,672 buckets and 4 coarse ones of 3,968, for each of 3
    // workers and once for the sum of them.
    let of = |operations| DEMAND.recording(operations, 10);
    assert_eq!(of(300).recorder_bytes, 4 * 300 * (13 * 28_672 + 4 * 3_968) * 8);
    check(of(100), LIMITS, None);
    check(of(170), LIMITS, None);
    check(of(300), LIMITS, Some((Severity::Warning, "need 3558 MiB of memory, and 4096 MiB")));
    check(of(400), LIMITS, Some((Severity::Error, "on 3 workers")));
}

#[test]
fn the_range_of_ports_has_both_ends() {
    assert_eq!(parse_range("32768\t60999\n"), Some(28_232));
    assert_eq!(parse_range("9 8"), None);
    assert_eq!(parse_range(""), None);
}

#[test]
fn this_machine_has_limits() {
    let limits = Limits::read();
    assert!(limits.files_soft > 0 && limits.cores > 0);
    assert!((1 << 20..u64::MAX).contains(&limits.memory_available));
}
