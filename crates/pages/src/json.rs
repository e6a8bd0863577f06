//! `summary.json`.

use std::io::{self, Write};

use record::folder::Folder;

use judge::run_record::RunRecord;

/// Format `json`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &run.summary)?;
    writeln!(out)
}
