//! Logs of known processes, replayed against a target that stamps each arrival by its own clock.

#[path = "../../../import/src/access_log/tests/processes.rs"]
mod processes;
mod requests;
mod sessions;
mod target;

use record::summary::{Burstiness, Replay, TrialSummary};
use stats::burstiness::{ScaleChange, changes};

use crate::lab::server::Truth;
use crate::lab::{Lab, assert_accounting, finding, only_trial};
use processes::{BIN, Process, SECOND, counts, modelled};

/// Seconds of each log: twenty intervals of a second, or, in `make proof`, of twenty seconds.
fn length() -> u64 {
    if std::env::var_os("PROOFLOAD_PROOF").is_some() { 420 } else { 24 }
}

/// What a replay of the log of a process said, and what its target saw.
struct Replayed {
    lab: Lab,
    summary: record::summary::Summary,
    /// Instants of the process, in nanoseconds from its first whole second.
    process: Vec<u64>,
    /// Instants of arrivals at the target, from the same second.
    arrived: Vec<u64>,
}

/// A log with stamps of whole seconds is imported and replayed.
fn replayed(process: Process, target: &[&str], flags: &[&str]) -> Replayed {
    let lab = Lab::new();
    let truth = Truth::start(target);
    let nanos: Vec<u64> = process.sample(length()).iter().map(|at| (at * 1e9) as u64).collect();
    let began = nanos[0] / SECOND * SECOND;
    let process: Vec<u64> = nanos.iter().map(|at| at - began).collect();
    lab.write("access.log", &process.iter().map(|at| line(at / SECOND)).collect::<String>());
    let made = ["import", "access.log", "--host", &truth.http, "--out", "replay.toml"];
    let ran = lab.proofload(&made);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (_, summary) = lab.run(&[&["replay.toml"], flags].concat());
    assert_accounting(only_trial(&summary));
    let planned = numbers(&lab.read("replay.offsets.csv"));
    let seen = lab.shell(&format!("curl -sf http://{}/truth/arrivals", truth.control()));
    let seen = numbers(&seen.stdout);
    assert_eq!((planned.len(), seen.len()), (process.len(), process.len()));
    let arrived = since_the_start(&planned, &seen);
    Replayed { lab, summary, process, arrived }
}

fn line(second: u64) -> String {
    let (minute, second) = (second / 60, second % 60);
    format!("h - - [10/Oct/2000:13:{minute:02}:{second:02} +0000] \"GET / HTTP/1.1\" 200 1\n")
}

fn numbers(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.split(',').next()?.parse().ok()).collect()
}

/// Instants of the target's clock as those of the plan: most requests arrive at once.
fn since_the_start(planned: &[u64], seen: &[u64]) -> Vec<u64> {
    let mut starts: Vec<u64> = seen.iter().zip(planned).map(|(at, plan)| at - plan).collect();
    starts.sort_unstable();
    let start = starts[starts.len() / 20];
    seen.iter().map(|at| at.saturating_sub(start)).collect()
}

impl Replayed {
    fn trial(&self) -> &TrialSummary {
        only_trial(&self.summary)
    }

    fn report(&self) -> &Replay {
        self.trial().replay.as_ref().expect("a replay has its burstiness")
    }

    /// From the process to the arrivals at the target.
    fn changes(&self) -> Vec<ScaleChange> {
        let length = self.process.iter().chain(&self.arrived).max().expect("arrivals") + 1;
        changes(&counts(&self.process, length), &counts(&self.arrived, length), BIN)
    }
}

/// Other work on the machine may delay requests; then the report must say what the target saw.
fn keeps_its_burstiness(process: Process) {
    /// Requests near the end of an interval arrive in the next one.
    const AT_THE_BORDER: f64 = 0.05;
    let replayed = replayed(process, &["mode=none"], &[]);
    let seen = replayed.changes();
    let scales = &replayed.report().scales;
    assert!(scales.iter().any(|one| one.scale_ns >= SECOND), "{scales:?}");
    for one in scales {
        let at_target = seen.iter().find(|seen| seen.scale_ns == one.scale_ns).expect("a scale");
        if one.scale_ns >= SECOND {
            let within = one.low - AT_THE_BORDER..=one.high + AT_THE_BORDER;
            assert!(within.contains(&at_target.change), "{one:?} {at_target:?}");
        } else if one.scale_ns >= SECOND / 10 && one.burstiness == Burstiness::Kept {
            let (mean, deviation) = modelled(&replayed.process, one.scale_ns);
            let away = (at_target.after - mean).abs() - AT_THE_BORDER * mean.max(1.0);
            assert!(away < 4.0 * deviation, "{mean} {deviation}: {at_target:?}");
        }
    }
    let is_flat = scales.iter().any(|one| one.burstiness == Burstiness::Flattened);
    assert_eq!(finding(&replayed.summary, "replay-flattened").is_some(), is_flat);
}

#[test]
fn a_poisson_log_arrives_as_it_was() {
    keeps_its_burstiness(Process::Poisson);
}

#[test]
fn a_modulated_log_arrives_as_it_was() {
    keeps_its_burstiness(Process::Modulated { mean: 3.0 });
}

#[test]
fn a_self_similar_log_arrives_as_it_was() {
    keeps_its_burstiness(Process::SelfSimilar);
}

/// Bursts of 40 requests a second wait for the one connection, which carries 25.
#[test]
fn bursts_that_wait_for_a_connection_are_called_out() {
    let process = Process::Modulated { mean: 3.0 };
    let one = ["--set", "load.connections=1"];
    let replayed = replayed(process, &["mode=constant", "service=40ms"], &one);
    assert_eq!(replayed.report().burstiness, Burstiness::Flattened);
    assert!(finding(&replayed.summary, "replay-flattened").is_some());
    let page = replayed.lab.read("run/report.md");
    assert!(page.contains("replay is flatter than the log"), "{page}");
    let seen = replayed.changes();
    let tenth = seen.iter().find(|one| one.scale_ns == SECOND / 10).expect("a scale");
    assert!(tenth.change < -0.1, "{tenth:?}");
}

/// Half of the requests, as the plan, the report and the target say.
#[test]
fn a_thinned_log_sends_the_requests_that_are_kept() {
    let lab = Lab::new();
    let truth = Truth::start(&["mode=none"]);
    let log: String = (0..600)
        .map(|number| line(number / 200).replace("GET /", &format!("GET /{number}")))
        .collect();
    lab.write("access.log", &log);
    let made = ["import", "access.log", "--host", &truth.http, "--out", "replay.toml"];
    assert_eq!(lab.proofload(&made).code, 0);
    let (_, summary) = lab.run(&["replay.toml", "--set", "load.scale=0.5"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let planned = trial.accounting.planned;
    // 300 expected; 4 sigma is 49.
    assert!(planned.abs_diff(300) < 49 && truth.received() == trial.accounting.started);
    for page in ["run/report.md", "run/report.html"] {
        assert!(lab.read(page).contains("replay thinned to 50.0 % of its log"), "{page}");
    }
}
