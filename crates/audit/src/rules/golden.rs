//! Known answers: five published reports whose flaws were found by hand and whose tables are typed
//! in here, and one report with correct arithmetic.

use record::summary::{Finding, Severity};

use super::{Audit, audit};
use crate::imports::report::Period;
use crate::imports::{self, Report};

fn read(text: &str) -> Report {
    imports::read(text, None).expect("a report")
}

fn finding<'a>(audit: &'a Audit, code: &str, place: &str) -> &'a Finding {
    let is = |one: &&Finding| {
        one.code == code
            && (place.is_empty()
                || [&one.arm, &one.operation].iter().any(|name| name.as_deref() == Some(place)))
    };
    let list: Vec<_> =
        audit.findings.iter().map(|one| (&one.code, &one.arm, &one.operation)).collect();
    audit.findings.iter().find(is).unwrap_or_else(|| panic!("no {code} at {place}: {list:?}"))
}

fn silent(audit: &Audit, code: &str, place: &str) {
    let found = audit.findings.iter().find(|one| {
        one.code == code
            && (place.is_empty()
                || [&one.arm, &one.operation].iter().any(|name| name.as_deref() == Some(place)))
    });
    assert_eq!(found, None);
}

fn number(finding: &Finding, name: &str) -> f64 {
    let value = finding.evidence.get(name);
    value.and_then(|value| value.as_f64()).unwrap_or_else(|| panic!("{name} in {finding:?}"))
}

fn near(finding: &Finding, name: &str, expected: f64, within: f64) {
    let seen = number(finding, name);
    assert!((seen - expected).abs() <= within, "{name} {seen}, expected {expected}");
}

const REGISTRY: &str = include_str!("../imports/samples/golden/registry.json");

#[test]
fn g1_a_mean_that_its_percentiles_exclude() {
    let audit = audit(&read(REGISTRY));
    let bound = finding(&audit, "R01", "Multicast");
    near(bound, "bound_ms", 634.27, 0.01);
    near(bound, "mean_ms", 2_429.122, 1e-3);
    assert_eq!(bound.severity, Severity::Error);
    near(finding(&audit, "R04", "Multicast"), "share_above_percent", 4.16, 0.01);
    near(finding(&audit, "R06", "Multicast"), "label_ms", 100.0, 1e-9);
    near(finding(&audit, "R33", "Multicast"), "began_within_s", 3.973, 0.001);
    near(finding(&audit, "R24", "Multicast"), "items_percent", 91.79, 0.005);
}

#[test]
fn g2_labels_that_contradict_nothing_else() {
    let audit = audit(&read(REGISTRY));
    for place in ["Register", "Enumerate"] {
        finding(&audit, "R05", place);
        for rule in ["R01", "R02", "R03", "R04", "R06", "A6"] {
            silent(&audit, rule, place);
        }
    }
}

#[test]
fn g3_a_burst_and_a_row_that_was_made_up() {
    let audit = audit(&read(REGISTRY));
    let burst = finding(&audit, "R11-burst", "");
    near(burst, "first_per_second", 120.0, 0.01);
    near(burst, "steady_per_second", 99.98, 0.005);
    // The raw text has no last interval; the published table gave it 500.
    silent(&audit, "R12-total", "");
    let mut published = read(REGISTRY);
    let row = |from, to, count| Period { from, to, count, ..Period::default() };
    published.runs[0].intervals = vec![row(0.0, 55.0, 5_600), row(55.0, 60.0, 500)];
    let published = super::audit(&published);
    near(finding(&published, "R12-total", ""), "last_interval", 499.0, 1e-9);
}

#[test]
fn g4_the_generator_cut_its_own_requests_off() {
    let audit = audit(&read(REGISTRY));
    let cut = finding(&audit, "R32", "Multicast");
    near(cut, "in_flight", 49.27, 0.01);
    near(cut, "requests_failed", 48.0, 1.0);
}

#[test]
fn g5_a_closed_loop_without_its_mean() {
    let report = read(include_str!("../imports/samples/golden/search.json"));
    let total: u64 = report.runs.iter().filter_map(imports::report::Run::count).sum();
    assert_eq!(total, 101_770);
    let audit = audit(&report);
    let mean = finding(&audit, "R16", "2");
    near(mean, "mean_ms", 20.65, 0.01);
    near(mean, "mean_over_median", 4.5, 0.05);
    silent(&audit, "R16", "1");
    silent(&audit, "R16", "3");
    silent(&audit, "R11", "");
    assert!(
        finding(&audit, "R39", "").claim.contains("Go × 1"),
        "{:?}",
        finding(&audit, "R39", "")
    );
    near(finding(&audit, "R54", ""), "stated", 480.0, 1e-9);
    finding(&audit, "R46", "");
    finding(&audit, "R49", "");
    assert_eq!(audit.contradictions, 0, "{:?}", audit.findings);
}

fn mail(n: &str) -> Audit {
    let text = match n {
        "small" => include_str!("../imports/samples/golden/mail-small.json"),
        "medium" => include_str!("../imports/samples/golden/mail-medium.json"),
        "high" => include_str!("../imports/samples/golden/mail-high.json"),
        _ => include_str!("../imports/samples/golden/mail-sustained.json"),
    };
    audit(&read(text))
}

#[test]
fn g6_a_rate_that_was_not_reached_and_a_drain_in_it() {
    let audit = mail("sustained");
    let drain = finding(&audit, "R10", "");
    near(drain, "printed_per_second", 36.63, 0.005);
    near(drain, "sending_per_second", 42.77, 0.005);
    let missed = finding(&audit, "R09", "");
    near(missed, "target_per_second", 50.0, 1e-9);
    near(missed, "achieved_per_second", 42.77, 0.005);
    finding(&audit, "R25", "");
    assert_eq!(audit.contradictions, 2, "{:?}", audit.findings);
}

#[test]
fn g7_a_second_eleven_survivors_and_stragglers() {
    let audit = mail("high");
    near(finding(&audit, "R20", ""), "timer_ms", 1_000.0, 1e-9);
    let survivors = finding(&audit, "R21", "");
    near(survivors, "missing", 11.0, 1e-9);
    near(survivors, "known_below_percent", 99.78, 1e-6);
    assert!(survivors.claim.contains("p99.9"), "{survivors:?}");
    assert_eq!(survivors.severity, Severity::Error);
    let stragglers = finding(&audit, "R14", "");
    near(stragglers, "lost_percent", 77.0, 0.5);
    near(stragglers, "ceiling_per_second", 2_829.0, 1.0);
    assert!(finding(&audit, "R07", "").claim.contains("p99.9"));
}

#[test]
fn g8_stragglers_explain_why_larger_was_faster() {
    for (size, lost, share, length) in [("small", 53.0, 57.0, 1.831), ("medium", 41.0, 35.0, 3.033)]
    {
        let audit = mail(size);
        let stragglers = finding(&audit, "R14", "");
        near(stragglers, "lost_percent", lost, 0.6);
        near(stragglers, "max_of_run_percent", share, 0.6);
        near(finding(&audit, "R41", ""), "duration_s", length, 1e-9);
    }
}

#[test]
fn g8_a_percentile_that_borrows_from_the_maximum() {
    near(finding(&mail("small"), "R08", ""), "borrowed_ms", 1.04, 0.01);
}

#[test]
fn g9_eleven_failures_in_three_runs() {
    let audit = audit(&read(include_str!("../imports/samples/golden/mail-eleven.json")));
    let constant = finding(&audit, "R28", "");
    near(constant, "failed", 11.0, 1e-9);
    near(constant, "runs", 3.0, 1e-9);
    finding(&audit, "R38", "");
    finding(&audit, "R19", "");
}

#[test]
fn g10_think_time_an_idle_system_and_a_race() {
    let audit = audit(&read(include_str!("../imports/samples/golden/exchange.json")));
    let ceiling = finding(&audit, "R13", "");
    near(ceiling, "ceiling_per_second", 24.83, 0.005);
    near(ceiling, "achieved_per_second", 24.65, 0.005);
    assert_eq!(ceiling.severity, Severity::Error, "the report calls it a capacity");
    near(finding(&audit, "R15", ""), "in_flight", 0.33, 0.005);
    let bounds = finding(&audit, "R29", "");
    near(bounds, "z", 7.65, 0.01);
    near(bounds, "REST_low_percent", 0.15, 0.005);
    near(bounds, "REST_high_percent", 0.79, 0.005);
    near(bounds, "shared memory_low_percent", 3.83, 0.005);
    near(bounds, "shared memory_high_percent", 6.03, 0.005);
    let race = finding(&audit, "R31", "shared memory");
    near(race, "window_ms", 4.0, 0.05);
    near(race, "share_at_tenfold_percent", 39.0, 1.0);
    silent(&audit, "R31", "REST");
    finding(&audit, "R40", "");
    finding(&audit, "R53", "");
    near(finding(&audit, "R30", ""), "failed_percent", 4.81, 0.005);
    for rule in ["R46", "R47", "R48"] {
        near(finding(&audit, rule, ""), "claims", 1.0, 1e-9);
    }
}

#[test]
fn g11_a_size_that_nobody_received() {
    let audit = audit(&read(include_str!("../imports/samples/golden/exchange.json")));
    let size = finding(&audit, "R44", "shared memory");
    near(size, "stated_bytes", 256_873.0, 1e-9);
    near(size, "received_bytes", 239_775.0, 1e-9);
}

const EDGE: &str = include_str!("../imports/samples/golden/edge.txt");

#[test]
fn g12_doses_without_order_in_the_order_of_time() {
    let report = read(EDGE);
    let slips: Vec<f64> = report
        .runs
        .iter()
        .filter_map(|run| Some(number(&Finding::from_slip(run)?, "slip_ms")))
        .collect();
    assert_eq!(slips.len(), 4);
    for (slip, expected) in slips.iter().zip([26.7, 3.8, 8.5, 25.5]) {
        assert!((slip - expected).abs() < 0.06, "{slips:?}");
    }
    let audit = audit(&report);
    let dose = finding(&audit, "R35", "");
    near(dose, "noise_at_least_ms", 4.0, 0.01);
    let order = finding(&audit, "R36", "");
    assert_eq!(order.evidence["order"], "dose 10, dose 20, dose 40, dose 0");
    near(order, "greatest_gap_s", 9_521.7, 0.1);
    let link = finding(&audit, "R43", "");
    assert!(link.evidence["id"].as_str().is_some_and(|id| id.ends_with("1595493499081")));
    near(finding(&audit, "R44", ""), "mean_bytes", 307_200.0, 1e-9);
    finding(&audit, "R37", "");
}

trait Slip {
    fn from_slip(run: &imports::report::Run) -> Option<Finding>;
}

impl Slip for Finding {
    fn from_slip(run: &imports::report::Run) -> Option<Finding> {
        let one = Report { runs: vec![run.clone()], ..Report::default() };
        audit(&one).findings.into_iter().find(|one| one.code == "R18")
    }
}

#[test]
fn g13_right_arithmetic_is_not_contradicted() {
    // The link of one block points to another run; everything else in this report is right.
    let audit = audit(&read(EDGE));
    let wrong: Vec<_> =
        audit.findings.iter().filter(|one| one.severity == Severity::Error).collect();
    assert_eq!(wrong.iter().map(|one| one.code.as_str()).collect::<Vec<_>>(), ["R43"], "{wrong:?}");
    let mended = EDGE.replace("1595493792600", "1595493499081");
    assert_eq!(super::audit(&read(&mended)).contradictions, 0);
}

#[test]
fn g14_failing_at_once_looks_fast() {
    let audit = audit(&read(include_str!("../imports/samples/golden/failing-fast.txt")));
    let ranking = finding(&audit, "R23-ranking", "");
    near(ranking, "goodput_per_second", 22.76, 1e-9);
    finding(&audit, "R22", "c5");
}
