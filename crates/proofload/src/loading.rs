//! Makes a checked experiment from the command line.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use engine::file;
use plan::diagnostic::Colour;
use plan::experiment::{self, Experiment, ExperimentContext, Options, ReportedNames};
use plan::url_run::{Secrecy, UrlRun};
use record::folder::RunRequest;

use crate::cli::{LoadFlags, PlanFlags, RunArgs};
use crate::problem::Problem;
use crate::surroundings::{Installed, Surroundings};

/// Bytes of the largest experiment file.
pub const LARGEST: u64 = 16 << 20;

/// A checked experiment, and how it was requested.
#[derive(Debug)]
pub struct LoadedExperiment {
    /// The plan and its sources.
    pub experiment: Experiment,
    /// The experiment file that is equivalent to a URL and flags, secrets hidden.
    pub equivalent: Option<String>,
    /// The request, secrets hidden; `None` if it cannot be repeated.
    pub asked: Option<RunRequest>,
    /// The experiment file and the files that it names.
    pub files: Vec<PathBuf>,
    /// What programs of systems reported while it was loaded.
    pub systems: Vec<Option<ReportedNames>>,
}

impl LoadedExperiment {
    fn asked(self, asked: RunRequest) -> Self {
        Self { asked: Some(asked), ..self }
    }
}

/// Loads a file, or a URL with flags.
///
/// Errors: everything that is wrong, at once
pub fn load_run(args: &RunArgs) -> Result<LoadedExperiment, Problem> {
    load_for(args, run_options(args))
}

/// The same for a search, which treats each arm as an experiment of its own.
///
/// Errors: as above
pub fn load_search(args: &RunArgs) -> Result<LoadedExperiment, Problem> {
    load_for(args, Options { each_arm_alone: true, ..options(&args.plan) })
}

fn load_for(args: &RunArgs, options: Options) -> Result<LoadedExperiment, Problem> {
    let name = args.experiment.as_deref().unwrap_or_default();
    if name.contains("://") {
        return load_url(args, options);
    }
    if let Some(flag) = url_flag(args) {
        let problem = Problem::usage(format!("`--{flag}` goes with a URL, and this is a file"));
        return Err(if Path::new(name).exists() {
            problem.hint("set it in the file, or override one value with `--set path=value`")
        } else {
            problem.hint("a URL begins with http:// or https://")
        });
    }
    load_with(name, options)
}

/// Loads the experiment of an earlier run's request.
///
/// Errors: as [`load_file`]; the environment lacks a secret
pub fn load_again(asked: &RunRequest) -> Result<LoadedExperiment, Problem> {
    reload(asked, Surroundings::beside, Installed::here())
}

/// The same where agents have it from their coordinator, with what its systems reported.
///
/// Errors: as [`load_again`]
pub fn load_for_agent(
    asked: &RunRequest,
    systems: &[Option<ReportedNames>],
) -> Result<LoadedExperiment, Problem> {
    reload(asked, Surroundings::beside, Installed::as_reported(systems))
}

/// The same to judge what was measured: values that the environment lacks are not needed.
///
/// Errors: as [`load_file`]
pub fn load_without_secrets(asked: &RunRequest) -> Result<LoadedExperiment, Problem> {
    reload(asked, |file| Surroundings::beside(file).without_secrets(), Installed::here())
}

fn reload(
    asked: &RunRequest,
    surroundings: impl Fn(&Path) -> Surroundings,
    known: Installed,
) -> Result<LoadedExperiment, Problem> {
    let options = Options {
        overrides: asked.overrides.clone(),
        criteria: asked.criteria.clone(),
        seed: Some(asked.seed),
        fresh_seed: asked.seed,
        quick: asked.quick,
        fail_fast: asked.fail_fast,
        keep_going: asked.keep_going,
        adaptive: asked.adaptive,
        warm_up: asked.warm_up.clone(),
        workers: asked.workers.clone(),
        traceparent: asked.traceparent.clone(),
        trace_url: asked.trace_url.clone(),
        each_arm_alone: asked.each_arm_alone,
    };
    let parsed = match &asked.text {
        Some(text) => {
            parse(&asked.experiment, text, (surroundings(Path::new("")), known), &options)?
        }
        None => parse_file(&asked.experiment, &options, surroundings, known)?,
    };
    Ok(parsed.asked(asked.clone()))
}

/// Loads an experiment file.
///
/// Errors: it cannot be read, or everything that is wrong with it
pub fn load_file(name: &str, flags: &PlanFlags) -> Result<LoadedExperiment, Problem> {
    load_with(name, options(flags))
}

fn load_with(name: &str, options: Options) -> Result<LoadedExperiment, Problem> {
    let parsed = parse_file(name, &options, Surroundings::beside, Installed::here())?;
    let asked = asked(name, None, &options, &parsed.experiment);
    Ok(parsed.asked(asked))
}

fn parse_file(
    name: &str,
    options: &Options,
    surroundings: impl Fn(&Path) -> Surroundings,
    known: Installed,
) -> Result<LoadedExperiment, Problem> {
    let path = Path::new(name);
    let unreadable = |why: &dyn std::fmt::Display| {
        Problem::usage(format!("cannot read the experiment {name}: {why}"))
            .hint("name an experiment file, or a URL such as http://127.0.0.1:8080/")
    };
    let bytes = file::read(path, LARGEST).map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable(&"it is not UTF-8 text"))?;
    if let Some(problem) = foreign(path, &text) {
        return Err(problem);
    }
    let mut parsed = parse(name, &text, (surroundings(path), known), options)?;
    parsed.files.push(path.to_owned());
    Ok(parsed)
}

/// What to do with a file of another tool.
fn foreign(path: &Path, text: &str) -> Option<Problem> {
    let name = path.display();
    let extension = path.extension()?.to_str()?;
    let hint = format!(
        "make an experiment of it: proofload import {name} --out {}.toml",
        path.with_extension("").display()
    );
    if import::k6::is_script(&name.to_string()) {
        let problem = Problem::usage(format!("{name} is a script, and scripts are not performed"));
        return Some(problem.hint(hint));
    }
    let is_ours = extension == "toml" || import::Format::guess(&name.to_string(), text).is_none();
    let problem = Problem::usage(format!("{name} is a file of another tool"));
    (!is_ours).then(|| problem.hint(hint))
}

/// The request, in a form that can be repeated.
fn asked(name: &str, text: Option<&str>, options: &Options, experiment: &Experiment) -> RunRequest {
    let plan = &experiment.plan;
    let redact = |texts: &[String]| texts.iter().map(|one| plan.secrets.redact(one)).collect();
    RunRequest {
        experiment: name.to_owned(),
        text: text.map(str::to_owned),
        overrides: redact(&options.overrides),
        criteria: redact(&options.criteria),
        seed: plan.seed,
        quick: options.quick,
        fail_fast: options.fail_fast,
        keep_going: options.keep_going,
        adaptive: options.adaptive,
        warm_up: options.warm_up.clone(),
        workers: options.workers.clone(),
        traceparent: options.traceparent.clone(),
        trace_url: options.trace_url.as_ref().map(|url| plan.secrets.redact(url)),
        each_arm_alone: options.each_arm_alone,
    }
}

/// Loads an experiment that is part of this program.
///
/// Errors: none that a user could cause
pub fn load_text(name: &str, text: &str) -> Result<LoadedExperiment, Problem> {
    let options = Options { fresh_seed: fresh_seed(), ..Options::default() };
    parse(name, text, (Surroundings::here(), Installed::here()), &options)
}

fn load_url(args: &RunArgs, options: Options) -> Result<LoadedExperiment, Problem> {
    let run = UrlRun { is_search: options.each_arm_alone, ..url_run(args) };
    let text = run.equivalent(Secrecy::Plain).map_err(|problems| flags_refused(&problems))?;
    let shown = run.equivalent(Secrecy::Shown).map_err(|problems| flags_refused(&problems))?;
    // The equivalent file already contains them.
    let (traceparent, trace_url) = (None, None);
    let options =
        Options { criteria: Vec::new(), warm_up: None, traceparent, trace_url, ..options };
    let world = (Surroundings::here(), Installed::here());
    let mut parsed = parse("flags", &text, world, &options)?;
    run.protect(&mut parsed.experiment.plan);
    let asked = asked("flags", Some(&shown), &options, &parsed.experiment);
    Ok(LoadedExperiment { equivalent: Some(shown), ..parsed.asked(asked) })
}

fn flags_refused(problems: &[String]) -> Problem {
    let lines: Vec<String> = problems.iter().map(|problem| format!("error: {problem}")).collect();
    Problem::experiment(lines.join("\n") + "\n  hint: `proofload run --help` shows every flag")
}

/// The experiment, without how it was requested.
fn parse(
    name: &str,
    text: &str,
    (inputs, known): (Surroundings, Installed),
    options: &Options,
) -> Result<LoadedExperiment, Problem> {
    let world = ExperimentContext { inputs: &inputs, known: &known };
    let experiment = experiment::load(name, text, world, options)
        .map_err(|refused| Problem::experiment(refused.render(Colour::Off)))?;
    let (files, systems) = (inputs.named(), known.reported());
    Ok(LoadedExperiment { experiment, equivalent: None, asked: None, files, systems })
}

fn options(flags: &PlanFlags) -> Options {
    Options {
        overrides: flags.set.clone(),
        criteria: flags.criteria.clone(),
        seed: flags.seed,
        fresh_seed: fresh_seed(),
        quick: flags.quick,
        fail_fast: flags.fail_fast,
        keep_going: flags.keep_going,
        adaptive: flags.adaptive,
        warm_up: flags.warm_up.clone(),
        workers: flags.workers.map(|workers| workers.to_string()),
        traceparent: flags.traceparent.clone(),
        trace_url: flags.trace_url.clone(),
        each_arm_alone: false,
    }
}

/// The options of a run. Machines that perform shares of one run have nothing in common but the instant at which they
/// begin, so the seed comes from that.
fn run_options(args: &RunArgs) -> Options {
    const SEEDS: i64 = 1_000_000;
    let options = options(&args.plan);
    match args.share.start_at {
        Some(at) if args.share.share.is_some() => {
            let fresh_seed = at.as_second().rem_euclid(SEEDS).cast_unsigned();
            Options { fresh_seed, ..options }
        }
        _ => options,
    }
}

/// A fresh seed; short, because people type it again.
fn fresh_seed() -> u64 {
    const SEEDS: u128 = 1_000_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos() / 1_000 % SEEDS).unwrap_or_default()
}

fn url_run(args: &RunArgs) -> UrlRun {
    let (load, request, connection) = (&args.load, &args.request, &args.connection);
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    UrlRun {
        url: args.experiment.clone().unwrap_or_default(),
        rate: load.rate.clone(),
        duration: load.duration.clone(),
        requests: load.requests.map(|requests| requests.to_string()),
        connections: number(load.connections),
        users: number(load.users),
        spawn_rate: load.spawn_rate.clone(),
        think: load.think.clone(),
        arrivals: load.arrivals.clone(),
        method: request.method.clone(),
        headers: request.header.clone(),
        body: request.body.clone(),
        body_file: request.body_file.as_deref().map(text),
        timeout: load.timeout.clone(),
        warm_up: args.plan.warm_up.clone(),
        new_connections: connection.new_connections,
        unix_socket: connection.unix_socket.as_deref().map(text),
        connect_to: connection.connect_to.clone(),
        cacert: connection.cacert.as_deref().map(text),
        cert: connection.cert.as_deref().map(text),
        key: connection.key.as_deref().map(text),
        insecure: connection.insecure,
        traceparent: args.plan.traceparent.clone(),
        trace_url: args.plan.trace_url.clone(),
        criteria: args.plan.criteria.clone(),
        is_search: false,
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The first flag that only a URL can take, if one was given.
fn url_flag(args: &RunArgs) -> Option<&'static str> {
    let LoadFlags { rate, duration, requests, connections, users, .. } = &args.load;
    let LoadFlags { spawn_rate, think, arrivals, timeout, .. } = &args.load;
    let (request, connection) = (&args.request, &args.connection);
    let path = |path: &Option<PathBuf>| path.is_some();
    let given = [
        ("rate", rate.is_some()),
        ("duration", duration.is_some()),
        ("requests", requests.is_some()),
        ("connections", connections.is_some()),
        ("users", users.is_some()),
        ("spawn-rate", spawn_rate.is_some()),
        ("think", think.is_some()),
        ("arrivals", arrivals.is_some()),
        ("timeout", timeout.is_some()),
        ("method", request.method.is_some()),
        ("header", !request.header.is_empty()),
        ("body", request.body.is_some()),
        ("body-file", path(&request.body_file)),
        ("new-connections", connection.new_connections),
        ("unix-socket", path(&connection.unix_socket)),
        ("connect-to", connection.connect_to.is_some()),
        ("cacert", path(&connection.cacert)),
        ("cert", path(&connection.cert)),
        ("key", path(&connection.key)),
        ("insecure", connection.insecure),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
}
