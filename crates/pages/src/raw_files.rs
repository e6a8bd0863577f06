//! Data that formats take directly from the run folder: whole files, and raw samples.

use std::io::{self, Write};

use record::RawSample;
use record::folder::{Folder, RunReader, Samples};
use record::summary::TrialSummary;

/// Copies a file of the folder to `out`.
///
/// Errors: of `out`; `NotFound` if there is no file, and `Other` if it cannot be read
pub(crate) fn copied(folder: &dyn Folder, path: &str, out: &mut dyn Write) -> io::Result<()> {
    let of_the_folder = |error: io::Error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let kind = if missing { error.kind() } else { io::ErrorKind::Other };
        io::Error::new(kind, format!("{path}: {error}"))
    };
    let mut content = Vec::new();
    let read = folder.open(path).and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(of_the_folder)?;
    out.write_all(&content)
}

/// The raw samples of a trial.
pub(crate) fn samples(folder: &dyn Folder, trial: &TrialSummary) -> io::Result<Samples> {
    let operations: Vec<String> = trial.operations.iter().map(|one| one.name.clone()).collect();
    let samples = RunReader::new(folder).samples(trial.index, &operations);
    samples.map_err(io::Error::other)?.ok_or_else(|| {
        let problem = format!("trial {} has no raw samples: run it with `--samples`", trial.index);
        io::Error::new(io::ErrorKind::NotFound, problem)
    })
}

/// The kind of failure of a raw sample; empty if it succeeded.
pub(crate) fn failure(sample: &RawSample) -> &'static str {
    match sample.failure {
        Some(kind) => kind.name(),
        None if sample.abandoned => "abandoned",
        None => "",
    }
}
