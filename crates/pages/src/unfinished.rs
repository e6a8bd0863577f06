//! Exports of a run that did not finish: everything up to its last closed window.
//!
//! Such a run was never judged, so it has no page for people. Its log is copied up to the last whole line; its
//! spectra are merged from the log, to two digits.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};

use record::event::EventKind;
use record::folder::{Folder, RunReader, names};
use record::{MixNames, RecordError, WindowSpan, hgrm};
use serde_json::Value;
use stats::{COARSE, Histogram};

use super::csv;
use judge::run_record::TrialRecord;

/// Formats that need no summary.
pub const FORMATS: [&str; 3] = ["csv", "hgrm", "hlog"];

/// Writes the available data in one of [`FORMATS`].
///
/// Errors: of `out` and of the folder; `Unsupported` for another format
pub fn write(format: &str, folder: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    let reader = RunReader::new(folder);
    match format {
        "csv" => rows(&reader, out),
        "hgrm" => spectra(&reader, out),
        "hlog" => logs(&reader, folder, out),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("the run did not finish, so there is no summary to make {format} of"),
        )),
    }
}

fn rows(reader: &RunReader<'_>, out: &mut dyn Write) -> io::Result<()> {
    let plan = reader.plan().map_err(io::Error::other)?;
    let mut table = csv::Table::new(out)?;
    for trial in reader.trials() {
        let arm = arm(reader, trial).map_err(io::Error::other)?;
        let window_ns = window_ns(reader, trial).map_err(io::Error::other)?;
        let names = mix_names(&plan, &arm);
        let record = TrialRecord::read(reader, trial, &names).map_err(io::Error::other)?;
        table.trial(&record, &arm, window_ns)?;
    }
    table.finish()
}

/// Name of the trial's arm; empty if the run was killed before it was recorded.
fn arm(reader: &RunReader<'_>, trial: u32) -> Result<String, RecordError> {
    for event in reader.events(trial)? {
        if let EventKind::TrialStarted { arm, .. } = event?.kind {
            return Ok(arm);
        }
    }
    Ok(String::new())
}

fn window_ns(reader: &RunReader<'_>, trial: u32) -> Result<u64, RecordError> {
    let first = reader.windows(trial)?.next().transpose()?;
    Ok(first.map_or(0, |quantity| quantity.length_ns))
}

/// Names of the arm's operations and journeys, in the order of the mix.
fn mix_names(plan: &Value, arm: &str) -> MixNames {
    let arms = plan["arms"].as_array().map_or(&[][..], Vec::as_slice);
    let found = arms.iter().find(|one| one["name"] == arm);
    let names = |key: &str| {
        let listed = found.and_then(|one| one[key].as_array());
        let names = listed.into_iter().flatten().filter_map(|one| one["name"].as_str());
        names.map(str::to_owned).collect()
    };
    MixNames { operations: names("operations"), journeys: names("journeys") }
}

fn spectra(reader: &RunReader<'_>, out: &mut dyn Write) -> io::Result<()> {
    for trial in reader.trials() {
        for (name, histogram) in merged(reader, trial).map_err(io::Error::other)? {
            writeln!(out, "# trial {trial}, operation {name}, closed windows, two digits")?;
            hgrm::write(out, &histogram)?;
        }
    }
    Ok(())
}

/// Response times of each operation over all closed windows.
fn merged(reader: &RunReader<'_>, trial: u32) -> Result<BTreeMap<String, Histogram>, RecordError> {
    let mut sums = BTreeMap::new();
    for quantity in reader.windows(trial)? {
        let quantity = quantity?;
        if quantity.span == WindowSpan::ResponseTime {
            let sum = sums.entry(quantity.operation).or_insert_with(|| Histogram::new(COARSE));
            sum.merge(&quantity.histogram);
        }
    }
    Ok(sums)
}

fn logs(reader: &RunReader<'_>, folder: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    for trial in reader.trials() {
        writeln!(out, "# trial {trial}")?;
        let mut log = BufReader::new(folder.open(&names::windows(trial))?);
        let mut line = Vec::new();
        while log.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            out.write_all(&line)?;
            line.clear();
        }
    }
    Ok(())
}
