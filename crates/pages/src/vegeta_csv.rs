//! Vegeta's results, CSV form: twelve fields, no header, from raw samples.
//!
//! The timestamp is the intended start, and the latency counts from it.

use std::io::{self, Write};

use record::RawSample;
use record::folder::Folder;

use super::addresses::Address;
use super::wall_clock;
use judge::run_record::RunRecord;

/// Format `vegeta-csv`.
pub(super) fn write(run: &RunRecord, folder: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    for trial in run.summary.arms.iter().flat_map(|arm| &arm.trials) {
        let Some(record) = run.trials.iter().find(|one| one.index == trial.index) else { continue };
        let start = wall_clock::measure_start_ns(run, record);
        let addresses = crate::addresses::of_trial(run, trial);
        for sample in crate::raw_files::samples(folder, trial)? {
            let sample = sample.map_err(io::Error::other)?;
            csv.write_record(cells(&sample, start, &run.summary.run.title, &addresses))?;
        }
    }
    csv.flush()
}

fn cells(sample: &RawSample, start: i128, attack: &str, addresses: &[Address]) -> [String; 12] {
    let [intended, .., finished] = sample.instants;
    let address = addresses.get(sample.operation).cloned().unwrap_or_default();
    [
        (start + i128::from(intended)).to_string(),
        // It has numbers only.
        sample.status.code().to_string(),
        (finished - intended).to_string(),
        sample.bytes_sent.to_string(),
        sample.bytes_received.to_string(),
        crate::raw_files::failure(sample).to_owned(),
        String::new(),
        attack.to_owned(),
        sample.index.to_string(),
        address.method,
        address.url,
        String::new(),
    ]
}
