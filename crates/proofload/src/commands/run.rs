//! `proofload run`: from the command line to a run folder, a report and a verdict.

use engine::selfcheck;
use plan::diagnostic::Colour;
use plan::plan::Plan;
use plan::plan_share::PlanShare;
use plan::secret::Secrets;
use record::folder::{RunOrigin, RunRequest, names};
use record::summary::{Placement, Run, Summary};
use std::path::Path;

use serde::Serialize;

use crate::Exit;
use crate::cli::{OutputFlags, RunArgs, ShareFlags, WatchFlags};
use crate::contact::foresee;
use crate::crew::{Crew, LocalCrew, RemoteCrew};
use crate::disk::Disk;
use crate::execution::{Execution, TrialOptions, now_text};
use crate::live::LiveView;
use crate::loading::{LoadedExperiment, load_run};
use crate::problem::Problem;
use crate::publishing::{self, folder, publish, write_json};
use crate::sharing::ShareRun;
use crate::systems::launcher;
use crate::{interrupt, redaction, remote};

/// Runs the experiment; the exit code is the verdict.
pub fn run(args: &RunArgs) -> Result<Exit, Problem> {
    publishing::probe(&args.output, args.experiment.as_deref().map(Path::new))?;
    let share_run = share_run(&args.share);
    let loaded = load_run(args)?;
    let mut live = LiveView::new(args.output.quiet);
    if let Some(equivalent) = &loaded.equivalent {
        live.say(&format!("the same as this file:\n\n{}", indented(equivalent)));
    }
    if let Some(warned) = loaded.experiment.warned(Colour::Off) {
        live.say(&warned);
    }
    let options = TrialOptions::of(args.record, args.generator, share_run);
    if let Some(at) = share_run.start_at {
        live.say(&format!("share {} begins at {at}", share_run.share));
    }
    let finished =
        measure(&loaded, (&args.output, &args.watch, &args.share), options, &mut live)
            .map_err(|problem| redaction::of_problem(problem, &loaded.experiment.plan.secrets))?;
    publish(&finished.disk, &args.output, &mut live)?;
    Ok(judge::verdict::exit(&finished.summary))
}

fn share_run(flags: &ShareFlags) -> ShareRun {
    ShareRun { share: flags.share.unwrap_or(PlanShare::WHOLE), start_at: flags.start_at }
}

/// A finished run and where its record lies.
#[derive(Debug)]
pub struct Finished {
    /// The judged numbers.
    pub summary: Summary,
    /// The run folder.
    pub disk: Disk,
}

/// Checks for foreseeable problems, runs every trial and writes the record, without pages.
///
/// Errors: it could not run, or its record could not be written
pub fn measure(
    loaded: &LoadedExperiment,
    (flags, watch, together): (&OutputFlags, &WatchFlags, &ShareFlags),
    options: TrialOptions,
    live: &mut LiveView,
) -> Result<Finished, Problem> {
    let plan = &loaded.experiment.plan;
    options.share_run.check(plan)?;
    let stop = interrupt::listen()?;
    live.open_to((flags, watch), plan, &stop)?;
    let fleet = match remote::address(&together.fleet)? {
        Some(address) => {
            remote::check(&plan.arms, address.agents)?;
            Some(remote::gather(&address, loaded, options, &stop, live)?)
        }
        None => {
            foresee(&plan.arms, plan.is_duet(), options.share_run.share, live)?;
            None
        }
    };
    let started_at = now_text();
    let disk = Disk::create(&folder(flags.out.as_deref(), plan, &started_at))?;
    live.recorded_in(disk.root());
    if fleet.is_some() {
        let root = disk.root().display();
        live.say(&format!(
            "recording in {root}; if this command dies, `proofload run --resume {root} --via …` takes over"
        ));
    }
    write_json(&disk, names::PLAN, &plan.to_json())?;
    let share = options.share_run.is_shared().then(|| options.share_run.share.to_string());
    let shares = together.fleet.agents.unwrap_or(0);
    let run = Run { share, shares, ..provenance(plan, &disk, started_at) };
    let _held = match &loaded.asked {
        Some(asked) => {
            let fleet = fleet.as_ref().map(|_| together.fleet.fleet.clone());
            let origin = RunOrigin { fleet, ..origin(asked, &run, options)? };
            write_json(&disk, names::ORIGIN, &json(&origin)?)?;
            Some(disk.hold()?)
        }
        None => None,
    };
    let experiment = &loaded.experiment;
    let launcher = launcher(&plan.arms)?;
    let crew: Box<dyn Crew> = match &fleet {
        Some(fleet) => Box::new(RemoteCrew { fleet, launcher, disk: &disk, plan, searched: None }),
        None => Box::new(LocalCrew { launcher, share_run: options.share_run }),
    };
    let execution = Execution { experiment, disk: &disk, live, stop, crew: &*crew, options };
    let summary = carry_out(execution, run)?;
    drop(crew);
    Ok(Finished { summary, disk })
}

/// Executes the trials that the folder lacks, and writes the summary of all trials.
///
/// Errors: as [`measure`]
pub fn carry_out(mut execution: Execution<'_>, run: Run) -> Result<Summary, Problem> {
    let (disk, secrets) = (execution.disk, &execution.experiment.plan.secrets);
    let summary = execution.run(run)?;
    write_summary(disk, &summary, secrets)?;
    Ok(summary)
}

/// Writes the summary of a run.
///
/// Errors: it cannot be written
pub fn write_summary(disk: &Disk, summary: &Summary, secrets: &Secrets) -> Result<(), Problem> {
    write_json(disk, names::SUMMARY, &redaction::of_summary(json(summary)?, secrets))
}

/// The information to resume the run later.
fn origin(asked: &RunRequest, run: &Run, options: TrialOptions) -> Result<RunOrigin, Problem> {
    let folder = std::env::current_dir().map_err(|error| {
        Problem::environment(format!("cannot tell in which folder this is: {error}"))
    })?;
    Ok(RunOrigin {
        version: run.version.clone(),
        started_at: run.started_at.clone(),
        plan_hash: run.plan_hash.clone(),
        command: run.command.clone(),
        folder: folder.display().to_string(),
        asked: asked.clone(),
        samples: options.keep_samples,
        no_realtime: !options.real_time,
        share: run.share.clone(),
        agents: run.shares,
        fleet: None,
    })
}

fn json(value: &impl Serialize) -> Result<serde_json::Value, Problem> {
    serde_json::to_value(value)
        .map_err(|error| Problem::environment(format!("cannot write the record: {error}")))
}

/// Time, machine and version of the run.
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
        share: None,
        shares: 0,
        trace_url: trace_url(plan),
    }
}

/// Where a trace is shown, without values from the environment.
fn trace_url(plan: &Plan) -> Option<String> {
    let url = plan.trace.as_ref()?.url.as_ref()?;
    Some(plan.secrets.redact(url))
}

/// The command line as given, without values from the environment and header values.
fn command_line(plan: &Plan) -> Vec<String> {
    let mut words: Vec<String> = std::env::args().collect();
    hide_headers(&mut words);
    hide_destinations(&mut words);
    words.iter_mut().for_each(hide_user);
    words.iter().map(|word| plan.secrets.redact(word)).collect()
}

/// Hides all header values: a header of any name may contain credentials.
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

/// Hides the user and the query of the addresses to which metrics are sent.
fn hide_destinations(words: &mut [String]) {
    for index in 1..words.len() {
        for flag in ["--remote-write", "--otlp"] {
            let given = words[index].strip_prefix(flag).and_then(|rest| rest.strip_prefix('='));
            let given = given.map(|url| (format!("{flag}="), url));
            let apart = (words[index - 1] == flag).then(|| (String::new(), words[index].as_str()));
            let Some((before, url)) = given.or(apart) else { continue };
            let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
            let rest = match rest.rsplit_once('@') {
                Some((_, host)) => format!("…@{host}"),
                None => rest.to_owned(),
            };
            let rest = match rest.split_once(['?', '#']) {
                Some((path, _)) => format!("{path}?…"),
                None => rest,
            };
            words[index] = format!("{before}{scheme}://{rest}");
            break;
        }
    }
}

/// Hides user and password of addresses, between which there may be commas.
fn hide_user(word: &mut String) {
    let hidden = |address: &str| {
        let (scheme, rest) = address.split_once("://")?;
        let authority = rest.split('/').next().unwrap_or(rest);
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{scheme}://…@{host}{}", &rest[authority.len()..]))
    };
    let shown = word.split(',').map(|part| hidden(part).unwrap_or_else(|| part.to_owned()));
    *word = shown.collect::<Vec<_>>().join(",");
}

/// The text with each line indented.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_of_an_address_are_hidden() {
        for (given, shown) in [
            ("nats://ada:secret@one:4222", "nats://…@one:4222"),
            ("--via=nats://ada:se@cret@one:4222/x", "--via=nats://…@one:4222/x"),
            ("nats://a:b@one,nats://c:d@two", "nats://…@one,nats://…@two"),
            ("http://one/a@b", "http://one/a@b"),
            ("a@b", "a@b"),
        ] {
            let mut word = given.to_owned();
            hide_user(&mut word);
            assert_eq!(word, shown);
        }
    }

    #[test]
    fn user_and_query_of_where_metrics_go_are_hidden() {
        for (given, shown) in [
            (&["--remote-write", "http://a:s,e/c?r@t@db:9/w?key=1"][..], "http://…@db:9/w?…"),
            (&["--otlp=https://c:4318"], "--otlp=https://c:4318"),
            (&["--otlp=a:secret@c"], "--otlp=://…@c"),
            (&["--remote-write=http://db/w?key=secret@x"], "--remote-write=http://…@x"),
        ] {
            let given = given.iter().map(|word| (*word).to_owned());
            let mut words: Vec<String> =
                std::iter::once("proofload".to_owned()).chain(given).collect();
            hide_destinations(&mut words);
            assert_eq!(words.last().map(String::as_str), Some(shown));
        }
    }

    #[test]
    fn values_of_headers_are_hidden_however_they_are_given() {
        let given = ["proofload", "--header", "X-Key: 1", "--header=X-Other: 2", "--rate", "5/s"];
        let mut words: Vec<String> = given.map(str::to_owned).into();
        hide_headers(&mut words);
        let shown = ["proofload", "--header", "X-Key: …", "--header=X-Other: …", "--rate", "5/s"];
        assert_eq!(words, shown);
    }
}
