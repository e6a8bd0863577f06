//! Vegeta's results, CSV form: twelve fields, no header, from raw samples.
//!
//! The instant is the intended start, and the time counts from it.

use std::io::{self, Write};

use record::RawSample;

use super::wall_clock;
use crate::run_record::{RunRecord, Sources};

/// Format `vegeta-csv`.
pub(super) fn write(run: &RunRecord, sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    for trial in &run.trials {
        let start = wall_clock::measure_start_ns(run, trial);
        for sample in sources.samples(trial.index)? {
            csv.write_record(cells(&sample?, start, &run.summary.run.title))?;
        }
    }
    csv.flush()
}

fn cells(sample: &RawSample, start: i128, attack: &str) -> [String; 12] {
    let [intended, .., finished] = sample.instants;
    [
        (start + i128::from(intended)).to_string(),
        sample.status.to_string(),
        (finished - intended).to_string(),
        sample.bytes_sent.to_string(),
        sample.bytes_received.to_string(),
        super::failure(sample).to_owned(),
        String::new(),
        attack.to_owned(),
        sample.index.to_string(),
        String::new(),
        String::new(),
        String::new(),
    ]
}
