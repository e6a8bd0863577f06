//! `proofload run`: from the command line to a run folder, a report and a verdict.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::StopSignal;
use engine::preflight::{self, Demand};
use engine::transport::{Endpoint, check_reachable};
use engine::trial::layout;
use engine::{placement, selfcheck};
use judge::run_record::RunRecord;
use pages::Format;
use pages::terminal;
use plan::diagnostic::Colour;
use plan::plan::{Arm, Plan};
use record::folder::{Folder, RunOrigin, RunReader, RunRequest, names};
use record::summary::{Placement, Run, Severity, Summary};
use serde::Serialize;

use crate::cli::{GeneratorFlags, OutputFlags, RunArgs};
use crate::commands::resume::resume;
use crate::conduct::{Conduct, TrialOptions, driver, now_text};
use crate::disk::{Disk, unwritable};
use crate::exit::Exit;
use crate::live::Live;
use crate::loading::{Loaded, load_run};
use crate::message::Problem;
use crate::systems::launcher;
use crate::{interrupt, output, redaction};

/// How long a target that nobody started may take to accept one connection before the run.
const CONTACT_WITHIN: Duration = Duration::from_secs(2);

/// Runs the experiment; the exit code is the verdict.
pub fn run(args: &RunArgs) -> Result<Exit, Problem> {
    if let Some(file) = args.output.json.as_deref().filter(|file| *file != "-") {
        probe(Path::new(file))?;
    }
    if let Some(folder) = &args.resume {
        return resume(folder, &args.output, args.generator);
    }
    let loaded = load_run(args)?;
    let mut live = Live::new(args.output.quiet);
    if let Some(equivalent) = &loaded.equivalent {
        live.say(&format!("the same as this file:\n\n{}", indented(equivalent)));
    }
    if let Some(warned) = loaded.experiment.warned(Colour::Off) {
        live.say(&warned);
    }
    let summary = execute(&loaded, &args.output, args.generator, &mut live)?;
    Ok(exit(&summary.summary))
}

/// A finished run and where its record lies.
#[derive(Debug)]
pub struct Finished {
    /// The judged numbers.
    pub summary: Summary,
    /// The run folder.
    pub disk: Disk,
}

/// Checks what can be foreseen, runs every trial, writes the record and then shows the report.
///
/// Errors: it could not be run, or its record could not be written
pub fn execute(
    loaded: &Loaded,
    flags: &OutputFlags,
    generator: GeneratorFlags,
    live: &mut Live,
) -> Result<Finished, Problem> {
    let finished = measure(loaded, flags, generator, live)
        .map_err(|problem| redaction::of_problem(problem, &loaded.experiment.plan.secrets))?;
    publish(&finished.disk, flags, live)?;
    Ok(finished)
}

/// Writes the pages and then shows the report.
///
/// Errors: the record is not whole, or they cannot be written
pub fn publish(disk: &Disk, flags: &OutputFlags, live: &mut Live) -> Result<(), Problem> {
    let record = read_back(disk)?;
    write_pages(&record, disk)?;
    live.clear();
    show(&record, disk, flags)
}

/// The same without pages: for callers that only want the numbers.
///
/// Errors: as [`execute`]
pub fn measure(
    loaded: &Loaded,
    flags: &OutputFlags,
    generator: GeneratorFlags,
    live: &mut Live,
) -> Result<Finished, Problem> {
    let options = TrialOptions::of(flags, generator);
    let plan = &loaded.experiment.plan;
    foresee(plan, live)?;
    let stop = interrupt::listen()?;
    let started_at = now_text();
    let disk = Disk::create(&folder(flags.out.as_deref(), plan, &started_at))?;
    write_json(&disk, names::PLAN, &plan.to_json())?;
    let run = provenance(plan, &disk, started_at);
    let _held = match &loaded.asked {
        Some(asked) => {
            write_json(&disk, names::ORIGIN, &origin(asked, &run, options)?)?;
            Some(disk.hold()?)
        }
        None => None,
    };
    let summary = carry_out(loaded, &disk, run, stop, (options, live))?;
    Ok(Finished { summary, disk })
}

/// Executes what the folder lacks of the plan, and writes the summary of all that it then holds.
///
/// Errors: as [`execute`]
pub fn carry_out(
    loaded: &Loaded,
    disk: &Disk,
    run: Run,
    stop: StopSignal,
    (options, live): (TrialOptions, &mut Live),
) -> Result<Summary, Problem> {
    let experiment = &loaded.experiment;
    let launcher = launcher(&experiment.plan.arms)?;
    let mut conduct = Conduct { experiment, disk, live, stop, launcher, options };
    let summary = conduct.run(run)?;
    let secrets = &experiment.plan.secrets;
    write_json(disk, names::SUMMARY, &redaction::of_summary(json(&summary)?, secrets))?;
    Ok(summary)
}

/// What is needed to go on with the run one day.
fn origin(
    asked: &RunRequest,
    run: &Run,
    options: TrialOptions,
) -> Result<serde_json::Value, Problem> {
    let folder = std::env::current_dir().map_err(|error| {
        Problem::environment(format!("cannot tell in which folder this is: {error}"))
    })?;
    json(&RunOrigin {
        version: run.version.clone(),
        started_at: run.started_at.clone(),
        plan_hash: run.plan_hash.clone(),
        command: run.command.clone(),
        folder: folder.display().to_string(),
        asked: asked.clone(),
        samples: options.keep_samples,
        no_realtime: !options.real_time,
    })
}

fn json(value: &impl Serialize) -> Result<serde_json::Value, Problem> {
    serde_json::to_value(value)
        .map_err(|error| Problem::environment(format!("cannot write the record: {error}")))
}

/// The exit code that goes with the verdict.
pub fn exit(summary: &Summary) -> Exit {
    match judge::verdict::exit_code(summary) {
        judge::verdict::PASSED => Exit::Passed,
        judge::verdict::FAILED => Exit::Failed,
        judge::verdict::COULD_NOT_RUN => Exit::CouldNotRun,
        _ => Exit::Undecided,
    }
}

/// Says what will go wrong, before anything is sent.
///
/// Errors: what certainly will
pub fn foresee(plan: &Plan, live: &mut Live) -> Result<(), Problem> {
    let mut demands = Vec::new();
    for arm in &plan.arms {
        demands.push(demand(arm)?);
    }
    if plan.is_duet() {
        demands = demands.into_iter().reduce(Demand::beside).into_iter().collect();
    }
    for demand in demands {
        for problem in preflight::prepare(&demand) {
            if problem.severity == Severity::Error {
                let found = Problem::environment(problem.claim).during("looking at this machine");
                return Err(match problem.hint {
                    Some(hint) => found.hint(hint),
                    None => found,
                });
            }
            live.say(&format!("note: {}", problem.claim));
        }
    }
    Ok(())
}

/// What one arm needs, whose targets answer.
fn demand(arm: &Arm) -> Result<Demand, Problem> {
    let endpoints = reachable(arm)?;
    let cores = placement::allowed_cores().unwrap_or_default();
    let wanted = arm.load.workers.map(|workers| workers as usize);
    let workers = placement::place(&cores, wanted).workers.len();
    let layout = layout(arm, &driver(arm)?);
    let demand = Demand::of(&arm.load, &endpoints, workers);
    Ok(demand.recording(layout.operations.len(), layout.spans.len()))
}

/// The targets that somebody else started, each of which must accept a connection.
///
/// Errors: one does not, or has no address that could be found
pub fn reachable(arm: &Arm) -> Result<Vec<Endpoint>, Problem> {
    let mut endpoints = Vec::new();
    for target in &arm.targets {
        if target.url.contains('{') {
            // The launcher will know the address.
            continue;
        }
        let endpoint = Endpoint::resolve(target).map_err(|error| Problem::target(&error))?;
        check_reachable(&endpoint, CONTACT_WITHIN).map_err(|(kind, detail)| {
            Problem::environment(format!("{detail} ({})", kind.name()))
                .during("making sure that somebody listens, before the run")
                .hint("start the target, or name its address in `[target] url` or on the command line")
        })?;
        endpoints.push(endpoint);
    }
    Ok(endpoints)
}

/// When, where and with what.
pub fn provenance(plan: &Plan, disk: &Disk, started_at: String) -> Run {
    Run {
        id: disk
            .root()
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        started_at,
        seed: plan.seed,
        plan_hash: plan.hash(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: plan.title.clone(),
        question: plan.question.clone(),
        machine: selfcheck::machine(Placement::default()),
        command: command_line(plan),
    }
}

/// The command line as given, values from the environment and header values left out.
fn command_line(plan: &Plan) -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    hide_headers(&mut words);
    words.iter().map(|word| plan.secrets.redact(word)).collect()
}

/// Values of headers may authorise, whatever their names.
fn hide_headers(words: &mut [String]) {
    for index in 1..words.len() {
        let given = words[index].strip_prefix("--header=").map(|line| ("--header=", line));
        let apart = (words[index - 1] == "--header").then(|| ("", words[index].as_str()));
        if let Some((flag, line)) = given.or(apart)
            && let Some((name, _)) = line.split_once(':')
        {
            words[index] = format!("{flag}{name}: …");
        }
    }
}

/// `--out`, or `runs/<time>-<title>`, with a number if that is taken.
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

/// Letters and digits of the title, other stretches as one hyphen, at most 40 characters.
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

/// Reads a finished run from its folder.
///
/// Errors: it is not whole
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

/// Shows the report as the flags want it.
///
/// Errors: it cannot be written
pub fn show(record: &RunRecord, disk: &Disk, flags: &OutputFlags) -> Result<(), Problem> {
    let json = || serde_json::to_string_pretty(&record.summary).map(|text| text + "\n");
    let failed = |error| Problem::environment(format!("cannot write the summary: {error}"));
    match flags.json.as_deref() {
        Some("-") => return output::print(&json().map_err(failed)?),
        Some(file) => std::fs::write(file, json().map_err(failed)?)
            .map_err(|error| unwritable(Path::new(file), &error))?,
        None => {}
    }
    print(record, disk, flags.full, output::colour(flags.no_color))
}

/// Prints the answer, or every table, and where the pages lie.
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

/// Makes sure that a file can be written once the run is over; leaves everything as it was.
fn probe(file: &Path) -> Result<(), Problem> {
    let is_there = file.exists();
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map_err(|error| {
        Problem::environment(format!("cannot write {}: {error}", file.display()))
            .during("making sure of it before the run")
            .hint("name another file with `--json`, or `-` for stdout")
    })?;
    if !is_there {
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// The text, each line set in.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_headers_are_hidden_however_they_are_given() {
        let given = ["proofload", "--header", "X-Key: 1", "--header=X-Other: 2", "--rate", "5/s"];
        let mut words: Vec<String> = given.map(str::to_owned).into();
        hide_headers(&mut words);
        let shown = ["proofload", "--header", "X-Key: …", "--header=X-Other: …", "--rate", "5/s"];
        assert_eq!(words, shown);
    }
}
