//! The interval logs of all trials, as they were recorded.

use std::io::{self, Write};

use crate::run_record::{RunRecord, Sources};

/// Format `hlog`.
pub(super) fn write(run: &RunRecord, sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    for trial in &run.trials {
        writeln!(out, "# trial {}", trial.index)?;
        io::copy(&mut sources.open(&format!("trials/{:03}/windows.hlog", trial.index))?, out)?;
    }
    Ok(())
}
