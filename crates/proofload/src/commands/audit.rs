//! `proofload audit`: does a report of another tool contradict itself?

use std::io;
use std::path::Path;

use audit::{imports, page, rules};
use engine::file;

use crate::Exit;
use crate::cli::AuditArgs;
use crate::output;
use crate::problem::Problem;

/// Reads the report, checks it and prints the result; exits 1 if one of its numbers is
/// contradicted.
pub fn audit(args: &AuditArgs) -> Result<Exit, Problem> {
    let text = read(&args.file)?;
    let report = imports::read(&text, args.from.as_deref()).map_err(|error| {
        let names: Vec<&str> = imports::FORMATS.iter().map(|format| format.name).collect();
        Problem::usage(error.to_string())
            .during(format!("reading {}", args.file.display()))
            .hint(format!("these formats are read, and `--from` names one: {}", names.join(", ")))
    })?;
    let found = rules::audit(&report);
    let mut text = Vec::new();
    let colour = output::colour(args.no_color);
    page::write(&found, &args.format, colour, &mut text)
        .map_err(|error| Problem::environment(format!("cannot make the page: {error}")))?;
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(if found.contradictions > 0 { Exit::Failed } else { Exit::Passed })
}

/// Reads at most the size of the longest report of any format.
fn read(path: &Path) -> Result<String, Problem> {
    let most = imports::LONGEST as u64;
    let bytes = if path == Path::new("-") {
        file::within(io::stdin().lock(), most)
    } else {
        file::read(path, most)
    };
    let wrong = |error| Problem::usage(format!("cannot read {}: {error}", path.display()));
    bytes.map(imports::decode).map_err(wrong)
}
