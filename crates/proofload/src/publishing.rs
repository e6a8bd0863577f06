//! Publishes a finished run: writes documents and pages into its folder, and prints the report.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use judge::run_record::RunRecord;
use pages::{Format, terminal};
use plan::plan::Plan;
use record::folder::{Folder, RunReader, names};

use crate::cli::{Export, OutputFlags};
use crate::disk::{Disk, unwritable};
use crate::live::LiveView;
use crate::output;
use crate::problem::Problem;

/// `--out`, or `runs/<time>-<title>`, with a number if that folder exists.
pub fn folder(out: Option<&Path>, plan: &Plan, started_at: &str) -> PathBuf {
    if let Some(out) = out {
        return out.to_owned();
    }
    let time: String = started_at.chars().filter(|one| !matches!(one, '-' | ':')).collect();
    let name = format!("{time}-{}", slug(&plan.secrets.redact(&plan.title)));
    let first = Path::new("runs").join(&name);
    let later = (2_u32..).map(|number| Path::new("runs").join(format!("{name}-{number}")));
    std::iter::once(first).chain(later).find(|path| !path.exists()).unwrap_or_default()
}

/// The title's letters and digits; every other sequence becomes one hyphen; at most 40 characters.
pub fn slug(title: &str) -> String {
    let lower = title.to_lowercase();
    let words =
        lower.split(|one: char| !one.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        if slug.len() + word.len() > 40 {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    if slug.is_empty() { "run".to_owned() } else { slug }
}

/// Writes the pages and then shows the report.
///
/// Errors: the record is incomplete, or they cannot be written
pub fn publish(disk: &Disk, flags: &OutputFlags, live: &mut LiveView) -> Result<(), Problem> {
    let record = read_back(disk)?;
    write_pages(&record, disk)?;
    live.leave();
    let shown = show(&record, disk, flags);
    live.report(|| pages::html::render(&record).ok());
    shown
}

/// Reads a finished run from its folder.
///
/// Errors: it is incomplete
pub fn read_back(disk: &Disk) -> Result<RunRecord, Problem> {
    RunRecord::read(&RunReader::new(disk)).map_err(|error| {
        Problem::usage(format!("cannot read the run: {error}"))
            .during(format!("reading {}", disk.root().display()))
            .hint("the folder is damaged: take another copy of it, or run the experiment again")
    })
}

/// Writes the pages that every run folder has.
///
/// Errors: one cannot be written
pub fn write_pages(record: &RunRecord, disk: &Disk) -> Result<(), Problem> {
    for (name, path) in [("markdown", names::REPORT_MARKDOWN), ("html", names::REPORT_HTML)] {
        let Some(format) = Format::named(name) else { continue };
        let written = disk.create(path).and_then(|mut file| {
            format.write(record, disk, &mut file)?;
            file.flush()
        });
        written.map_err(|error| unwritable(&disk.root().join(path), &error))?;
    }
    Ok(())
}

/// Writes one JSON document of the run folder.
///
/// Errors: it cannot be written
pub fn write_json(disk: &Disk, path: &str, value: &serde_json::Value) -> Result<(), Problem> {
    let written = disk.create(path).and_then(|mut file| {
        serde_json::to_writer_pretty(&mut file, value)?;
        file.write_all(b"\n")?;
        file.flush()
    });
    written.map_err(|error| unwritable(&disk.root().join(path), &error))
}

/// Shows the report as the flags request.
///
/// Errors: it cannot be written
pub fn show(record: &RunRecord, disk: &Disk, flags: &OutputFlags) -> Result<(), Problem> {
    let json = || serde_json::to_string_pretty(&record.summary).map(|text| text + "\n");
    let failed = |error| Problem::environment(format!("cannot write the summary: {error}"));
    match flags.json.as_deref() {
        Some("-") => {
            output::print(&json().map_err(failed)?)?;
            return export(record, disk, flags);
        }
        Some(file) => std::fs::write(file, json().map_err(failed)?)
            .map_err(|error| unwritable(Path::new(file), &error))?,
        None => {}
    }
    print(record, disk, flags.full, output::colour(flags.no_color))?;
    export(record, disk, flags)
}

/// Writes the files of `--export`, each that can be written.
///
/// Errors: the first that cannot
fn export(record: &RunRecord, disk: &Disk, flags: &OutputFlags) -> Result<(), Problem> {
    let exports = flags.export.iter().map(|Export { format, file }| {
        let made = std::fs::File::create(file).and_then(|file| {
            let mut out = std::io::BufWriter::new(file);
            format.write(record, disk, &mut out)?;
            out.flush()
        });
        made.map_err(|error| {
            let (run, name) = (disk.root().display(), format.name);
            Problem::environment(format!("cannot write {}: {error}", file.display()))
                .during(format!("exporting `{name}`; the record is whole"))
                .hint(format!("make the file again: `proofload report {run} --format {name}`"))
        })
    });
    let results: Vec<Result<(), Problem>> = exports.collect();
    results.into_iter().collect()
}

/// Prints the answer or every table, and the paths of the pages.
///
/// Errors: it cannot be written
pub fn print(
    record: &RunRecord,
    disk: &Disk,
    full: bool,
    colour: terminal::Colour,
) -> Result<(), Problem> {
    let page = if full { terminal::full } else { terminal::render };
    output::print(&page(&record.summary, colour))?;
    let html = disk.root().join(names::REPORT_HTML);
    output::print(&format!("report  {}\n", html.display()))?;
    match full {
        true => Ok(()),
        false => {
            output::print(&format!("tables  proofload report {} --full\n", disk.root().display()))
        }
    }
}

/// The flags with files that are the same from every folder, after a look at whether they can be written. Files in the
/// folder of this run are not.
///
/// Errors: they cannot
pub fn probed_from_here(flags: &OutputFlags, run: &Path) -> Result<OutputFlags, Problem> {
    let from_here = |file: &Path| {
        std::path::absolute(file)
            .map_err(|error| Problem::usage(format!("cannot find {}: {error}", file.display())))
    };
    let mut flags = flags.clone();
    for export in &mut flags.export {
        export.file = from_here(&export.file)?;
    }
    if let Some(json) = flags.json.as_mut().filter(|json| *json != "-") {
        *json = from_here(Path::new(json))?.display().to_string();
    }
    probe(&flags, Some(run))?;
    Ok(flags)
}

/// Checks before the run that the files of `--json` and `--export` can be written, and that none of them is `kept` (the
/// experiment, or the folder of a run) or given twice; changes nothing.
///
/// Errors: it cannot
pub fn probe(flags: &OutputFlags, kept: Option<&Path>) -> Result<(), Problem> {
    let json = flags.json.as_deref().filter(|file| *file != "-").map(Path::new);
    let exports = flags.export.iter().map(|export| ("--export", export.file.as_path()));
    let kept = kept.and_then(|kept| kept.canonicalize().ok());
    let mut taken = Vec::new();
    for (flag, file) in json.map(|file| ("--json", file)).into_iter().chain(exports) {
        let real = real(file);
        let wrong = match &kept {
            Some(kept) if real.starts_with(kept) => "what this run needs would be overwritten",
            _ if taken.contains(&real) => "two outputs go to the same file",
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(Problem::usage(format!("cannot write {}: {wrong}", file.display()))
                .hint(format!("name another file with `{flag}`")));
        }
        taken.push(real);
        probe_file(flag, file)?;
    }
    Ok(())
}

/// The same for all names of a file, which need not be there.
fn real(file: &Path) -> PathBuf {
    let folder = match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => file,
    };
    let there = || Some(folder.canonicalize().ok()?.join(file.file_name()?));
    file.canonicalize().ok().or_else(there).unwrap_or_else(|| file.to_owned())
}

fn probe_file(flag: &str, file: &Path) -> Result<(), Problem> {
    let is_special =
        file.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    if is_special {
        // Whoever reads a pipe would take an attempt for the end.
        return Ok(());
    }
    // Also a link that leads nowhere.
    let is_there = file.symlink_metadata().is_ok();
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map_err(|error| {
        Problem::environment(format!("cannot write {}: {error}", file.display()))
            .during("making sure of it before the run")
            .hint(format!("name another file with `{flag}`"))
    })?;
    if !is_there {
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}
