//! The interval logs of all trials, as they were recorded.

use std::io::{self, Write};

use record::folder::{Folder, names};

use judge::run_record::RunRecord;

/// Format `hlog`.
pub(super) fn write(run: &RunRecord, folder: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    for trial in &run.trials {
        writeln!(out, "# trial {}", trial.index)?;
        crate::raw_files::copied(folder, &names::windows(trial.index), out)?;
    }
    Ok(())
}
