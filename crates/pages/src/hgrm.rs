//! The percentile spectra of all operations, as they were recorded.

use std::io::{self, Write};

use record::folder::{Folder, names};

use judge::run_record::RunRecord;

/// Format `hgrm`.
pub(super) fn write(run: &RunRecord, folder: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    for trial in run.summary.arms.iter().flat_map(|arm| &arm.trials) {
        for operation in &trial.operations {
            let path = names::spectrum(trial.index, &operation.name);
            writeln!(out, "# trial {}, operation {}", trial.index, operation.name)?;
            crate::raw_files::copied(folder, &path, out)?;
        }
    }
    Ok(())
}
