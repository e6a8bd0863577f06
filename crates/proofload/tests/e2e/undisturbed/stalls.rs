//! Stalls of the target and of the generator: who is blamed, and with which numbers.
//!
//! A busy machine can only lengthen measured times. So the lower bound must hold in every run, and the upper bound in
//! at least one of five; it is wider while other processes use the processors.

use record::summary::{Grade, Operation, Quantile, Summary, TrialSummary, Validity};

use crate::lab::nginx::nginx;
use crate::lab::process::{pid, stop_for};
use crate::lab::server::Truth;
use crate::lab::{Lab, Ran, assert_accounting, assert_measured, finding, only_trial};

const ATTEMPTS: u32 = 5;
const MILLISECOND: f64 = 1e6;
/// A tenth of 10,000 operations is due in a freeze of 1 s and waits uniformly 0 – 1 s: quantile,
/// milliseconds, tolerance.
const FREEZE: [(f64, f64, f64); 2] = [(0.95, 500.0, 0.03), (0.99, 900.0, 0.02)];
/// The tolerance above them while others have the processors. A stall counted twice would be far beyond it.
const CROWDED: f64 = 0.25;
const LOAD: [&str; 8] =
    ["--rate", "1000/s", "--arrivals", "constant", "--duration", "10s", "--warm-up", "0s"];

/// Whether other processes used the processors, according to the kernel: then answers are late after a stall although
/// the generator is not at fault. The target itself uses a tenth of a processor.
fn is_crowded(trial: &TrialSummary) -> bool {
    let generator = &trial.generator;
    let others = generator.others_cores.unwrap_or(0.0);
    others > 0.5 || generator.run_queue_ratio > 0.01 || generator.steal_ratio > 0.01
}

fn quantile(operation: &Operation, q: f64) -> &Quantile {
    let found = operation.response_time.quantiles.iter().find(|quantile| quantile.q == q);
    found.unwrap_or_else(|| panic!("no q{q}: {operation:?}"))
}

fn observed(operation: &Operation, q: f64) -> f64 {
    quantile(operation, q).observed_ns.expect("within the range") as f64 / MILLISECOND
}

/// Checks what holds on any machine; returns whether the upper bounds hold, too, allowing for the target's own
/// lateness (milliseconds).
fn shows_the_freeze(summary: &Summary, late: f64) -> bool {
    let trial = only_trial(summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.planned, 10_000);
    assert_eq!(trial.accounting.started, 10_000);
    assert_eq!(trial.accounting.succeeded, 10_000);
    FREEZE.iter().all(|&(q, known, tolerance)| {
        let seen = observed(&trial.total, q);
        assert!(seen >= known * (1.0 - tolerance), "q{q}: saw {seen} ms of {known} ms");
        assert_eq!(quantile(&trial.total, q).grade, Grade::Refused, "one stall is no claim");
        let above = if is_crowded(trial) { CROWDED } else { tolerance };
        let most = (known + late) * (1.0 + above);
        let waited = trial.generator.run_queue_ratio;
        println!("q{q}: saw {seen} ms, {known} ms known, {most} ms at most, waited {waited}");
        seen <= most
    })
}

#[test]
fn a_freeze_of_one_second_shows_in_every_form_of_the_report() {
    let shown = (0..ATTEMPTS).any(|_| {
        let lab = Lab::undisturbed();
        let truth = Truth::start(&["mode=freeze", "at=4s", "length=1s", "service=50us"]);
        let url = format!("http://{}/", truth.http);
        let (ran, summary) = lab.run(&[&[url.as_str()], &LOAD[..]].concat());
        if only_trial(&summary).validity == Validity::NoSteadyState {
            return false;
        }
        assert_measured(&ran, &summary);
        assert_every_form_says_the_same(&lab, &ran, &summary);
        shows_the_freeze(&summary, truth.own_lateness_ns() / MILLISECOND)
    });
    assert!(shown, "too long in each of {ATTEMPTS} runs");
}

/// Every form shows the same p95 of the response time as an observed value, never as a claim.
fn assert_every_form_says_the_same(lab: &Lab, ran: &Ran, summary: &Summary) {
    let p95 = quantile(&only_trial(summary).total, 0.95).observed_ns.expect("a p95");
    let shown = plan::number::duration(p95);
    let markdown = lab.read("run/report.md");
    let row = first_after(&markdown, "### Response time", "| p95 |");
    assert!(row.contains(&format!("| p95 | – | – | {shown} |")), "{row}");
    let html = lab.read("run/report.html");
    let row = first_after(&html, "<h3>Response time", "<td>p95</td>");
    let cells: Vec<&str> = row.split("<td").skip(3).map(text_of_cell).collect();
    assert_eq!(cells[..3], ["–", "–", &shown], "{row}");
    assert!(ran.stdout.contains("\nResponse time"), "{}", ran.stdout);
    let full = lab.proofload(&["report", "run", "--full"]).stdout;
    let (_, tables) = full.split_once("\nMix and accounting").expect("every table");
    let row = first_after(tables, "\nResponse time", " p95 ");
    let columns: Vec<&str> = row.split("  ").map(str::trim).filter(|one| !one.is_empty()).collect();
    let at = columns.iter().position(|one| one.ends_with("p95")).expect("its name");
    assert_eq!(columns[at + 1..at + 4], ["–", "–", &shown], "{row}");
}

/// The first line with `row` after the first `heading`.
fn first_after<'t>(text: &'t str, heading: &str, row: &str) -> &'t str {
    let (_, below) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}: {text}"));
    let found = below.lines().find(|line| line.contains(row));
    found.unwrap_or_else(|| panic!("no {row} below {heading}: {below}"))
}

fn text_of_cell(cell: &str) -> &str {
    let (_, text) = cell.split_once('>').expect("a cell");
    text.split('<').next().expect("its text")
}

#[test]
fn a_stopped_nginx_shows_the_same() {
    let shown = (0..ATTEMPTS).any(|_| {
        let lab = Lab::undisturbed();
        let (nginx, port) = nginx(&lab, "nginx", "location / { return 200 ok; }");
        let url = format!("http://127.0.0.1:{port}/");
        // A thousand operations come due, most of which wait for a connection. If nginx had to accept as many new
        // connections, that alone would keep it busy for some 20 ms after the stop.
        let flags = ["--out", "run", "--quiet", "--connections", "50"];
        let generator = lab.start(&[&["run", &url], &LOAD[..], &flags].concat());
        // In the middle of the phase: at its start a stall cannot be distinguished from a warm-up that is too short.
        // It affects a tenth of the phase, so the parts of the phase stay even.
        generator.await_windows(&lab, 30);
        let lasted = stop_for(pid(&nginx.child), 1_000);
        let ran = generator.finish();
        let summary = lab.summary("run").expect("a summary");
        // Other work on the machine may also slow nginx down for a part of the run; the bounds are the same.
        if only_trial(&summary).validity != Validity::NoSteadyState {
            assert_measured(&ran, &summary);
        }
        shows_the_freeze(&summary, lasted - 1_000.0)
    });
    assert!(shown, "too long in each of {ATTEMPTS} runs");
}

#[test]
fn a_stopped_generator_makes_the_trial_invalid_and_blames_nobody_else() {
    let lab = Lab::undisturbed();
    let truth = Truth::start(&["mode=none"]);
    let url = format!("http://{}/", truth.http);
    let flags = ["--rate", "1000/s", "--arrivals", "constant", "--duration", "8s"];
    let generator = lab.start(
        &[&["run", &url], &flags[..], &["--warm-up", "0s", "--out", "run", "--quiet"]].concat(),
    );
    generator.await_windows(&lab, 3);
    stop_for(generator.pid(), 400);
    let ran = generator.finish();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let summary = lab.summary("run").expect("a summary");
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.validity, Validity::Invalid);
    assert_eq!(trial.accounting.succeeded, 8_000);
    assert!(trial.generator.dispatch_lag.max_ns >= 390_000_000, "{:?}", trial.generator);
    let said = finding(&summary, "late-generator").expect("the generator is blamed");
    assert!(said.contains("dispatch lag") || said.contains("released late"), "{said}");
    assert!(finding(&summary, "overload").is_none(), "the target is not blamed");
}
