//! JMeter's results (JTL, CSV form): one line per operation, from raw samples.
//!
//! `elapsed` is response time from the intended start, in milliseconds as in JMeter.

use std::io::{self, Write};

use record::RawSample;
use record::folder::Folder;
use record::summary::Operation;

use super::addresses::Address;
use super::wall_clock;
use judge::run_record::RunRecord;

const HEADER: [&str; 17] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "URL",
    "Latency",
    "IdleTime",
    "Connect",
];

/// Format `jtl`.
pub(super) fn write(run: &RunRecord, folder: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(HEADER)?;
    for trial in run.summary.arms.iter().flat_map(|arm| &arm.trials) {
        let Some(record) = run.trials.iter().find(|one| one.index == trial.index) else { continue };
        let start = wall_clock::measure_start_ns(run, record);
        let addresses = crate::addresses::of_trial(run, trial);
        for sample in crate::raw_files::samples(folder, trial)? {
            let sample = sample.map_err(io::Error::other)?;
            csv.write_record(cells(&sample, start, &trial.operations, &addresses))?;
        }
    }
    csv.flush()
}

fn cells(
    sample: &RawSample,
    start: i128,
    operations: &[Operation],
    addresses: &[Address],
) -> [String; 17] {
    let [intended, .., finished] = sample.instants;
    let address = addresses.get(sample.operation).cloned().unwrap_or_default();
    let milliseconds = |nanoseconds: i128| (nanoseconds / 1_000_000).to_string();
    let elapsed = milliseconds(i128::from(finished - intended));
    let label = operations.get(sample.operation).map_or("", |one| &one.name);
    let failure = crate::raw_files::failure(sample);
    let code = if !sample.status.is_some() { String::new() } else { sample.status.to_string() };
    [
        milliseconds(start + i128::from(intended)),
        elapsed.clone(),
        label.to_owned(),
        code,
        if failure.is_empty() { "OK".to_owned() } else { failure.to_owned() },
        "proofload 1-1".to_owned(),
        "text".to_owned(),
        failure.is_empty().to_string(),
        failure.to_owned(),
        sample.bytes_received.to_string(),
        sample.bytes_sent.to_string(),
        "1".to_owned(),
        "1".to_owned(),
        address.url,
        sample.first_byte_ns.map_or(elapsed, |time| milliseconds(i128::from(time))),
        "0".to_owned(),
        milliseconds(i128::from(sample.connect_ns.unwrap_or(0))),
    ]
}
