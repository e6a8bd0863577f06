//! Our files in other people's hands: an independent HdrHistogram implementation reads the interval
//! log, and prints a percentile spectrum that ours must equal line by line.

use std::process::Command;

use crate::lab::server::truth;
use crate::lab::{Lab, Ran, only_trial, repository};

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

fn measured(lab: &Lab) -> record::summary::Trial {
    let (_truth, url) = truth(&["mode=bimodal", "fast=200us", "slow=5ms", "share=0.05"]);
    let flags = ["--rate", "2000/s", "--duration", "4s", "--warm-up", "0s"];
    let (ran, summary) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
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

const PRINT_SPECTRUM: &str = r#"
import csv, sys
from hdrh.histogram import HdrHistogram
histogram = HdrHistogram(1, 2**37, 3)
with open(sys.argv[1]) as file:
    for row in csv.DictReader(file):
        if row['outcome'] == 'succeeded':
            histogram.record_value(int(row['finished_ns']) - int(row['intended_ns']))
with open(sys.argv[2], 'wb') as out:
    histogram.output_percentile_distribution(out, 1000000.0, 5)
"#;

#[test]
fn the_spectrum_equals_that_of_an_existing_tool_line_by_line() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=bimodal", "fast=200us", "slow=5ms", "share=0.05"]);
    let flags = ["--rate", "2000/s", "--duration", "4s", "--warm-up", "0s", "--samples"];
    let (ran, _) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let samples = lab.path("run/trials/001/samples.csv").display().to_string();
    let theirs = lab.path("theirs.hgrm").display().to_string();
    let printed = python(PRINT_SPECTRUM, &[&samples, &theirs]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let rows = |text: &str| -> Vec<String> {
        let data = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        data.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let ours = rows(&lab.read("run/trials/001/all.hgrm"));
    let theirs = rows(&lab.read("theirs.hgrm"));
    assert!(ours.len() > 30, "{ours:?}");
    assert_eq!(ours, theirs);
}

#[test]
fn every_format_can_be_made_again_from_the_run_folder() {
    let lab = Lab::new();
    let (_truth, url) = truth(&["mode=none"]);
    let flags = ["--rate", "500/s", "--duration", "2s", "--warm-up", "0s", "--samples"];
    let (ran, _) = lab.run(&[&[url.as_str()], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for format in report::pages::FORMATS.iter().map(|format| format.name) {
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
