//! `summary.json`.

use std::io::{self, Write};

use crate::run_record::{RunRecord, Sources};

/// Format `json`.
pub(super) fn write(run: &RunRecord, _: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &run.summary)?;
    writeln!(out)
}
