//! The percentile spectra of all operations, as they were recorded.

use std::io::{self, Write};

use crate::run_record::{RunRecord, Sources};

/// Format `hgrm`.
pub(super) fn write(run: &RunRecord, sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    for trial in run.summary.arms.iter().flat_map(|arm| &arm.trials) {
        for operation in &trial.operations {
            let path = format!("trials/{:03}/{}.hgrm", trial.index, operation.name);
            writeln!(out, "# trial {}, operation {}", trial.index, operation.name)?;
            io::copy(&mut sources.open(&path)?, out)?;
        }
    }
    Ok(())
}
