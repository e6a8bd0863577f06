//! Other programs read our files: an independent HdrHistogram implementation reads the interval
//! log, and another prints a percentile spectrum that ours must match line by line.

use std::path::Path;
use std::process::Command;

use record::hlog::IntervalLogWriter;
use record::summary::TrialSummary;
use stats::{FINE, Histogram};

use crate::lab::server::truth;
use crate::lab::{Lab, Ran, assert_measured, only_trial, repository};

/// The HdrHistogram of Debian (package libhdrhistogram-java).
const HDR_HISTOGRAM: &str = "/usr/share/java/hdrhistogram.jar";

/// The Python of the tests' own environment, made by `make test`.
fn python(script: &str, arguments: &[&str]) -> Ran {
    let interpreter = repository(".venv/bin/python");
    assert!(
        interpreter.exists(),
        "run `make test`, which makes .venv with the package hdrhistogram"
    );
    Ran::from(
        Command::new(interpreter).args(["-c", script]).args(arguments).output().expect("python"),
    )
}

/// A run whose values span two orders of magnitude.
fn measured(lab: &Lab) -> TrialSummary {
    let (_truth, url) = truth(&["mode=bimodal", "fast=200us", "slow=5ms", "share=0.05"]);
    let flags = ["--rate", "2000/s", "--duration", "4s", "--warm-up", "0s", "--samples"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_measured(&ran, &summary);
    only_trial(&summary).clone()
}

const READ_LOG: &str = r#"
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
sums = {}
into = HdrHistogram(1, 2**37, 2)
reader = HistogramLogReader(sys.argv[1], into)
while True:
    one = reader.get_next_interval_histogram()
    if one is None: break
    tag = one.get_tag() if hasattr(one, 'get_tag') else getattr(one, 'tag', None)
    sums[tag] = sums.get(tag, 0) + one.get_total_count()
for tag, count in sums.items(): print(tag, count)
"#;

#[test]
fn an_independent_reader_counts_the_same_in_the_interval_log() {
    let lab = Lab::new();
    let trial = measured(&lab);
    let log = lab.path("run/trials/001/windows.hlog").display().to_string();
    let ran = python(READ_LOG, &[&log]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let name = &trial.operations[0].name;
    let response = format!("{name}.response_time {}", trial.accounting.succeeded);
    let service = format!("{name}.service_time {}", trial.accounting.succeeded);
    assert!(ran.stdout.lines().any(|line| line == response), "{response} not in\n{}", ran.stdout);
    assert!(ran.stdout.lines().any(|line| line == service), "{service} not in\n{}", ran.stdout);
}

/// The response times of a run's samples, to three digits, as an interval log of one line.
fn log_of_samples(lab: &Lab, name: &str) -> Histogram {
    let samples = lab.read("run/trials/001/samples.csv");
    let mut lines = samples.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name| header.iter().position(|one| *one == name).expect("a column");
    let (from, to, outcome) = (column("intended_ns"), column("finished_ns"), column("outcome"));
    let mut histogram = Histogram::new(FINE);
    for line in lines.filter(|line| line[outcome] == "succeeded") {
        let instant = |column: usize| line[column].parse::<u64>().expect("an instant");
        histogram.record(instant(to) - instant(from));
    }
    let file = std::fs::File::create(lab.path(name)).expect("a log");
    let mut log = IntervalLogWriter::new(Box::new(file), 0).expect("its header");
    log.write("all", 0, 4_000_000_000, &histogram).expect("its line");
    log.flush().expect("on disk");
    histogram
}

/// Rows of a spectrum: value, percentile, count.
fn rows(spectrum: &str) -> Vec<(f64, f64, u64)> {
    let data = spectrum.lines().filter(|line| !line.starts_with('#') && !line.contains("Value"));
    let columns = data.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = columns.filter(|columns| !columns.is_empty());
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} in {spectrum}"));
    rows.map(|row| (number(row[0]), number(row[1]), row[2].parse().expect("a count"))).collect()
}

#[test]
fn the_spectrum_equals_that_of_an_existing_tool_line_by_line() {
    assert!(Path::new(HDR_HISTOGRAM).exists(), "run `make test`, which installs {HDR_HISTOGRAM}");
    let lab = Lab::new();
    let trial = measured(&lab);
    let histogram = log_of_samples(&lab, "fine.hlog");
    assert_eq!(histogram.count(), trial.accounting.succeeded);
    let output = Command::new("java")
        .args(["-cp", HDR_HISTOGRAM, "org.HdrHistogram.HistogramLogProcessor"])
        .args(["-i", "fine.hlog", "-o", "theirs", "-tag", "all"])
        .args(["-outputValueUnitRatio", "1000000", "-percentilesOutputTicksPerHalf", "5"])
        .current_dir(lab.path(""))
        .output();
    let ran = Ran::from(output.expect("java starts (Debian: default-jre-headless)"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let operation = &trial.operations[0].name;
    let ours = rows(&lab.read(&format!("run/trials/001/{operation}.hgrm")));
    let theirs = rows(&lab.read("theirs.hgrm"));
    assert!(ours.len() > 30, "{ours:?}");
    assert_eq!(ours.len(), theirs.len(), "ours {ours:?}\ntheirs {theirs:?}");
    for (our, their) in ours.iter().zip(&theirs) {
        let both = format!("ours {our:?}, theirs {their:?}");
        // They print three decimals of a millisecond, and we print six.
        assert!((our.0 - their.0).abs() <= 0.000_501, "{both}");
        // Twelve decimals of the same number; Java rounds the shortest decimal representation,
        // other implementations round the number itself.
        assert!((our.1 - their.1).abs() <= 1.1e-12, "{both}");
        assert_eq!(our.2, their.2, "{both}");
    }
}

#[test]
fn every_format_can_be_made_again_from_the_run_folder() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags =
        ["--rate", "500/s", "--duration", "2s", "--warm-up", "0s", "--samples", "--traceparent"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_measured(&ran, &summary);
    for format in pages::FORMATS.iter().map(|format| format.name) {
        let made = lab.proofload(&["report", "run", "--format", format]);
        assert_eq!(made.code, 0, "{format}: {}", made.stderr);
        assert!(!made.stdout.is_empty(), "{format} is empty");
    }
    let markdown = lab.proofload(&["report", "run", "--format", "markdown"]);
    assert_eq!(markdown.stdout, lab.read("run/report.md"));
    let json: serde_json::Value =
        serde_json::from_str(&lab.proofload(&["report", "run", "--format", "json"]).stdout)
            .expect("JSON");
    assert_eq!(json["format"], "proofload-summary/1");
}

#[test]
fn samples_are_refused_where_none_were_kept() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    lab.run(&[&url, "--requests", "10", "--warm-up", "0s"]);
    let made = lab.proofload(&["report", "run", "--format", "jtl"]);
    assert_eq!(made.code, 2, "{}", made.stderr);
    assert!(made.stderr.contains("--samples"), "{}", made.stderr);
}
