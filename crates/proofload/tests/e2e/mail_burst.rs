//! Fifty clients at once connect to a mail server with a backlog of ten that is not ready: the run reports that the
//! accept queue was full, that the failures belong to that moment, and that it set the duration.

use crate::lab::{Lab, assert_accounting, finding, only_trial};

/// The server accepts one connection and then none for 2.3 s. Eleven more fit into its queue and are served late. The
/// kernel retries the others in vain at 1 s and 2 s, and the time-out ends them before the third retry. So timers
/// decide the instants, even if other processes use the processors. Users with think time return one by one and find
/// space.
const EXPERIMENT: &str = r#"
title = "A burst on a short accept queue"

[system]
serve = "mail"
set   = { backlog = 10, accept_stall = "2300ms" }

[[observer]]
name   = "sink"
expect = "received == all.succeeded"

[load]
users           = 50
think           = "0ms..100ms"
operations      = 600
new_connections = true
timeout         = "2800ms"
warm_up         = "0s"

[[operation]]
name = "message"
smtp = { from = "load@client.example", to = "sink@mail.example", size = "1KiB" }
"#;

#[test]
fn a_burst_on_a_short_accept_queue_is_named_with_all_it_did() {
    let lab = Lab::new();
    lab.write("burst.toml", EXPERIMENT);
    let (_, summary) = lab.run(&["burst.toml"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let failures = &trial.total.failures;
    let of = |kind: &str| failures.get(kind).copied().unwrap_or(0);
    let late = of("connect_timeout") + of("greeting_timeout");
    assert!(late >= 30 && late == trial.accounting.failed, "{failures:?}");
    let claim = |code: &str| {
        finding(&summary, code).unwrap_or_else(|| panic!("no {code}: {:#?}", summary.findings))
    };
    assert!(claim("accept-queue-overflow").contains("of a listener on this machine was full"));
    let burst = claim("failures-in-a-burst");
    assert!(burst.ends_with("did not succeed were due between 0 ns and 100 ms"), "{burst}");
    let stalls = claim("stragglers");
    assert!(stalls.starts_with("stalls set the duration: 50 users at the median of"), "{stalls}");
    assert!(trial.total.service_time.max_ns < 2_800_000_000, "{:?}", trial.total.service_time);
    assert!(trial.total.spans["greeting"].max_ns > 2_000_000_000, "{:?}", trial.total.spans);
}
