//! `proofload capacity`: the highest rate that meets the criteria, as an interval.

use std::fs;
use std::path::Path;
use std::time::Duration;

use engine::StopSignal;
use fleet::coordinator::Fleet;
use pages::{markdown, tables, terminal};
use plan::criterion::{Criterion, Metric, Operator};
use plan::diagnostic::Colour;
use plan::experiment::Experiment;
use plan::load::{ArrivalProcess, Model};
use plan::plan::{Arm, Plan};
use plan::plan_share::PlanShare;
use plan::units::{self, format_rate, parse_duration, parse_percentage, parse_rate};
use record::summary::{Run, Summary};
use serde_json::Value;
use stats::capacity::search::SearchSettings;
use stats::proportion::smallest_passing;
use stats::quantile::CONFIDENCE;

use crate::Exit;
use crate::capacity_search::{CapacitySearch, arm_at};
use crate::cli::{
    CapacityArgs, LoadFlags, OutputFlags, RunArgs, SearchFlags, ShareFlags, WatchFlags,
};
use crate::commands::run::{indented, provenance};
use crate::contact::foresee;
use crate::disk::{Disk, unwritable};
use crate::execution::{TrialOptions, now_text};
use crate::live::LiveView;
use crate::loading::{LoadedExperiment, load_search};
use crate::problem::Problem;
use crate::publishing::{self, folder, read_back, show, slug, write_pages};
use crate::sharing::ShareRun;
use crate::{interrupt, output, redaction, remote};

/// The file with the answers of all arms, in the folder of a search over several arms.
const BY_ARM: &str = "capacity.md";
/// First rate, if neither flag nor experiment has one.
const START: &str = "100/s";
/// Trials after which a search gives up.
const MOST_TRIALS: usize = 100;
/// The same on a noisy host, where trials are short and many.
const MANY_TRIALS: usize = 1_000;
/// Tail events that a trial should contain; this decides its number of operations.
const TAIL_EVENTS: f64 = 10.0;
/// Least and greatest precision: below the first, rates would differ only in their last digits.
const PRECISION: (f64, f64) = (0.005, 1.0);

/// Searches one arm after another; exits 0 if both ends are known, and 4, after the report, if a trial could not be
/// executed.
pub fn capacity(args: &CapacityArgs) -> Result<Exit, Problem> {
    publishing::probe(&args.output, Some(Path::new(&args.experiment)))?;
    let loaded = load(args)?;
    let plan = &loaded.experiment.plan;
    let arms = alone(&loaded.experiment);
    let settings: Vec<SearchSettings> =
        arms.iter().map(|arm| settings(&args.search, &arm.plan)).collect::<Result<_, Problem>>()?;
    let stop = interrupt::listen()?;
    let mut live = LiveView::of_run((&args.output, &args.watch), plan, &stop)?;
    say_file(&loaded, &mut live);
    let redacted = |problem| redaction::of_problem(problem, &plan.secrets);
    let options = TrialOptions::of(args.record, args.generator, ShareRun::WHOLE);
    let fleet = gather(&loaded, (&arms, &settings), args, (options, &stop), &mut live);
    let fleet = fleet.map_err(redacted)?;
    let root = folder(args.output.out.as_deref(), plan, &now_text());
    live.recorded_in(&root);
    let several = arms.len() > 1;
    say_arms(&arms, plan.arms.len(), &mut live);
    let mut found: Vec<(String, Summary)> = Vec::new();
    let mut stuck = None;
    for (number, (experiment, settings)) in arms.iter().zip(settings).enumerate() {
        let name = experiment.plan.arms[0].name.clone();
        let home = match several {
            true => root.join(format!("{}-{}", number + 1, slug(&name))),
            false => root.clone(),
        };
        if several {
            live.say(&format!("arm {name}"));
        }
        let place = plan.arms.iter().position(|arm| arm.name == name).unwrap_or_default();
        let fleet = fleet.as_ref().map(|fleet| (fleet, place));
        let started = Started { args, home: &home, stop: stop.clone(), options, fleet };
        let (disk, problem) =
            search(experiment, settings, &started, &mut live).map_err(redacted)?;
        let record = read_back(&disk)?;
        write_pages(&record, &disk)?;
        live.leave();
        show(&record, &disk, &args.output)?;
        stuck = problem;
        let is_last = stuck.is_some() || stop.requests() > 0 || number + 1 == arms.len();
        if is_last {
            live.report(|| pages::html::render(&record).ok());
        }
        found.push((name, record.summary));
        if is_last {
            break;
        }
    }
    if several {
        show_by_arm(&found, plan, &root)?;
    }
    if let Some(problem) = stuck {
        return Err(redacted(problem));
    }
    stuck.map_or(Ok(()), |problem| Err(redacted(problem)))?;
    let exits = found.iter().map(|(_, summary)| judge::verdict::exit(summary));
    let whole = found.len() == arms.len();
    let otherwise = if whole { Exit::Passed } else { Exit::Undecided };
    Ok(exits.into_iter().find(|one| *one != Exit::Passed).unwrap_or(otherwise))
}

/// Shows the answers of several arms side by side, and keeps the table.
fn show_by_arm(found: &[(String, Summary)], plan: &Plan, root: &Path) -> Result<(), Problem> {
    let table = tables::capacity::side_by_side(found);
    output::print(&plan.secrets.redact(&terminal::table(&table)))?;
    let (page, path) = (plan.secrets.redact(&markdown::table(&table)), root.join(BY_ARM));
    fs::write(&path, page.as_bytes()).map_err(|error| unwritable(&path, &error))
}

fn say_file(loaded: &LoadedExperiment, live: &mut LiveView) {
    if let Some(equivalent) = &loaded.equivalent {
        live.say(&format!("the first step is the same as this file:\n\n{}", indented(equivalent)));
    }
    if let Some(warned) = loaded.experiment.warned(Colour::Off) {
        live.say(&warned);
    }
}

/// Each arm as an experiment of its own. Arms that differ only in the size of a closed load are searched once: at a
/// given rate they are the same.
fn alone(experiment: &Experiment) -> Vec<Experiment> {
    let mut kept: Vec<(Value, Experiment)> = Vec::new();
    for arm in &experiment.plan.arms {
        let (factors, values) = Default::default();
        let bare = Arm { name: String::new(), factors, values, ..arm.clone() };
        let searched = serde_json::json!(arm_at(&bare, 1.0, Duration::from_secs(1)));
        if kept.iter().any(|(other, _)| *other == searched) {
            continue;
        }
        let plan = Plan { arms: vec![arm.clone()], ..experiment.plan.clone() };
        kept.push((searched, Experiment { plan, ..experiment.clone() }));
    }
    let mut alone: Vec<Experiment> = kept.into_iter().map(|(_, one)| one).collect();
    if alone.len() > 1 {
        for Experiment { plan, .. } in &mut alone {
            plan.title = format!("{}, {}", plan.title, plan.arms[0].name);
        }
    }
    alone
}

fn say_arms(searched: &[Experiment], of: usize, live: &mut LiveView) {
    if of < 2 {
        return;
    }
    let names: Vec<&str> = searched.iter().map(|one| one.plan.arms[0].name.as_str()).collect();
    let others = match searched.len() < of {
        true => ", the others are the same under a load of a given rate",
        false => "",
    };
    live.say(&format!(
        "{} of {of} arms searched in turn, without comparisons and blocks{others}: {}",
        names.len(),
        names.join("; ")
    ));
}

/// The context of a search.
struct Started<'a> {
    args: &'a CapacityArgs,
    home: &'a Path,
    stop: StopSignal,
    options: TrialOptions,
    /// Agents, and the place of the arm in their plan.
    fleet: Option<(&'a Fleet, usize)>,
}

/// The agents that perform the trials, if any.
///
/// Errors: they cannot, or do not come
fn gather(
    loaded: &LoadedExperiment,
    (arms, settings): (&[Experiment], &[SearchSettings]),
    args: &CapacityArgs,
    (options, stop): (TrialOptions, &StopSignal),
    live: &mut LiveView,
) -> Result<Option<Fleet>, Problem> {
    let Some(address) = remote::address(&args.fleet)? else { return Ok(None) };
    let first = arms.iter().zip(settings).map(|(one, settings)| first_step(&one.plan, settings));
    remote::check(&first.collect::<Vec<_>>(), address.agents)?;
    remote::gather(&address, loaded, options, stop, live).map(Some)
}

/// The arm of the first trial.
fn first_step(plan: &Plan, settings: &SearchSettings) -> Arm {
    arm_at(&plan.arms[0], settings.start, Duration::from_secs_f64(settings.shortest))
}

fn search(
    experiment: &Experiment,
    settings: SearchSettings,
    started: &Started<'_>,
    live: &mut LiveView,
) -> Result<(Disk, Option<Problem>), Problem> {
    let (plan, args) = (&experiment.plan, started.args);
    let shortest = Duration::from_secs_f64(settings.shortest);
    if started.fleet.is_none() {
        foresee(&[first_step(plan, &settings)], false, PlanShare::WHOLE, live)?;
    }
    let started_at = now_text();
    let disk = Disk::create(started.home)?;
    let shares = args.fleet.agents.unwrap_or(0);
    let run = Run { shares, ..provenance(plan, &disk, started_at) };
    let mut search = CapacitySearch {
        experiment,
        disk: &disk,
        live,
        stop: started.stop.clone(),
        options: started.options,
        fleet: started.fleet,
        settings,
        stair: args.search.descend.then_some(shortest),
        run,
        has_worked: false,
    };
    let stuck = search.run()?;
    Ok((disk, stuck))
}

/// The experiment: at least one criterion, no rehearsal.
fn load(args: &CapacityArgs) -> Result<LoadedExperiment, Problem> {
    let is_url = args.experiment.contains("://");
    let load = if is_url { url_load(args) } else { file_load(args) };
    let mut loaded = load_search(&RunArgs {
        experiment: Some(args.experiment.clone()),
        resume: None,
        load,
        request: args.request.clone(),
        connection: args.connection.clone(),
        plan: args.plan.clone(),
        share: ShareFlags::default(),
        generator: args.generator,
        record: args.record,
        output: args.output.clone(),
        watch: WatchFlags::default(),
    })?;
    let searched = alone(&loaded.experiment).len();
    let plan = &mut loaded.experiment.plan;
    let single = match &args.output {
        OutputFlags { json: Some(_), .. } => Some("--json"),
        OutputFlags { export, .. } if !export.is_empty() => Some("--export"),
        _ => None,
    };
    if let Some(flag) = single.filter(|_| searched > 1) {
        return Err(Problem::usage(format!(
            "`{flag}` takes the answer of one search, and the arms of this experiment need {searched}"
        ))
        .hint(format!("leave it out, or choose an arm: {}", choice(&plan.arms[0]))));
    }
    if plan.criteria.is_empty() {
        return Err(Problem::usage("a capacity needs a criterion that ends it")
            .hint("add one, such as --criterion \"p99 < 20ms\""));
    }
    if plan.rehearsal {
        return Err(Problem::usage("a rehearsal passes nothing, so it cannot search")
            .hint("leave `--quick` out, and shorten: --trial 2s --longest 5s --precision 20%"));
    }
    if plan.adaptive.is_some() || plan.fail_fast {
        let problem = "a search decides by itself how long it measures";
        return Err(Problem::usage(problem).hint("leave `--adaptive` and `--fail-fast` out"));
    }
    Ok(loaded)
}

/// The flags that select this arm alone. A plan has only the names of levels that are load settings, just like plain
/// texts; a flag cannot select the former.
fn choice(arm: &Arm) -> String {
    let level = |(factor, level): (&String, &Value)| {
        let level = arm.values.get(factor).unwrap_or(level);
        format!("--set 'factors.{factor}=[{level}]'")
    };
    let flags = arm.factors.iter().map(level).collect::<Vec<_>>().join(" ");
    let is_name =
        |(factor, level): (&String, &Value)| level.is_string() && !arm.values.contains_key(factor);
    match arm.factors.iter().any(is_name) {
        true => format!("{flags}, but in the file where levels are tables of load settings"),
        false => flags,
    }
}

/// The load that makes a URL an experiment.
fn url_load(args: &CapacityArgs) -> LoadFlags {
    let start = args.search.from.clone().unwrap_or_else(|| START.to_owned());
    LoadFlags { rate: Some(start), duration: Some(args.search.trial.clone()), ..file_load(args) }
}

fn file_load(args: &CapacityArgs) -> LoadFlags {
    let load = &args.load;
    LoadFlags {
        connections: load.connections,
        arrivals: load.arrivals.clone(),
        timeout: load.timeout.clone(),
        ..LoadFlags::default()
    }
}

/// Checks all flags and reports every problem at once.
fn settings(flags: &SearchFlags, plan: &Plan) -> Result<SearchSettings, Problem> {
    let mut problems = Vec::new();
    let rate = |text: &str| parse_rate(text).filter(|rate| *rate > 0.0);
    let length = |text: &str| {
        parse_duration(text).filter(|length| !length.is_zero()).map(|length| length.as_secs_f64())
    };
    let share = |text: &str| {
        parse_percentage(text).filter(|share| (PRECISION.0..=PRECISION.1).contains(share))
    };
    let mut read = |flag: &str, text: &str, parsed: Option<f64>, expected: &str| {
        if parsed.is_none() {
            problems.push(format!("error: --{flag}: expected {expected}, got \"{text}\""));
        }
        parsed
    };
    let mut optional = |flag: &str, text: &Option<String>| {
        let text = text.as_deref()?;
        read(flag, text, rate(text), units::RATE)
    };
    let (from, most) = (optional("from", &flags.from), optional("max", &flags.max));
    let within = "a percentage from 0.5% to 100%";
    let precision = read("precision", &flags.precision, share(&flags.precision), within);
    let shortest = read("trial", &flags.trial, length(&flags.trial), units::DURATION);
    let longest = read("longest", &flags.longest, length(&flags.longest), units::DURATION);
    if let (Some(shortest), Some(longest)) = (shortest, longest)
        && shortest > longest
    {
        problems.push("error: --trial is longer than --longest".to_owned());
    }
    if !problems.is_empty() {
        let hint = "\n  hint: `proofload capacity --help` shows every flag";
        return Err(Problem::experiment(problems.join("\n") + hint));
    }
    let start = from.unwrap_or_else(|| rate_of(plan));
    let settings = SearchSettings {
        start: most.map_or(start, |most| start.min(most)),
        most,
        precision: 1.0 + precision.unwrap_or_default(),
        shortest: shortest.unwrap_or_default(),
        longest: longest.unwrap_or_default(),
        operations: operations(&plan.criteria),
        fewest: fewest(&plan.criteria),
        confirmations: flags.confirm,
        narrowing: flags.narrow,
        noisy_host: flags.noisy_host,
        most_trials: if flags.noisy_host { MANY_TRIALS } else { MOST_TRIALS },
        seed: plan.seed,
    };
    can_pass(&settings)?;
    is_struck(plan, &settings)?;
    Ok(settings)
}

/// Faults must happen in every trial, or different rates would be judged under different conditions.
fn is_struck(plan: &Plan, settings: &SearchSettings) -> Result<(), Problem> {
    let mut faults = plan.arms[0].faults.iter();
    let Some(late) = faults.find(|fault| fault.at.as_secs_f64() >= settings.shortest) else {
        return Ok(());
    };
    let problem = format!("`{late}` is not before the end of a trial of {} s", settings.shortest);
    Err(Problem::usage(problem).hint("give --trial more, or let it happen earlier"))
}

/// Refuses a first rate at which no trial can pass: the search would go down to rates at which trials have even fewer
/// operations.
fn can_pass(settings: &SearchSettings) -> Result<(), Problem> {
    let SearchSettings { start, fewest, noisy_host, .. } = *settings;
    let (flag, seconds) =
        if noisy_host { ("--trial", settings.shortest) } else { ("--longest", settings.longest) };
    let held = start * seconds;
    if held >= fewest {
        return Ok(());
    }
    let problem = format!(
        "{fewest} operations are the fewest that can show the criteria to hold, and a trial of {seconds} s at the \
         first rate, {}, holds {held:.0}",
        format_rate(start)
    );
    let enough = (fewest / start).ceil();
    Err(Problem::usage(problem)
        .hint(format!("give {flag} {enough}s or more, or begin at a higher rate")))
}

/// The experiment's own rate, if it has one.
fn rate_of(plan: &Plan) -> f64 {
    let default = parse_rate(START).unwrap_or_default();
    match &plan.arms[0].load.model {
        Model::Open { arrivals: ArrivalProcess::Replay { .. } } => default,
        Model::Open { arrivals } => arrivals.peak_rate(),
        _ => default,
    }
}

/// The fewest operations that can show that the share of slow operations is small enough.
fn fewest(criteria: &[Criterion]) -> f64 {
    let needed = criteria.iter().map(|criterion| match (&criterion.metric, criterion.comparison) {
        (Metric::Quantile(q), Operator::Less | Operator::AtMost) if criterion.over.is_none() => {
            smallest_passing(0, 1.0 - q, CONFIDENCE)
        }
        _ => 0,
    });
    needed.max().unwrap_or_default() as f64
}

/// The number of operations that contains enough tail events of the highest quantile.
fn operations(criteria: &[Criterion]) -> f64 {
    let wanted = criteria.iter().map(|criterion| match criterion.metric {
        Metric::Quantile(q) => TAIL_EVENTS / (1.0 - q),
        _ => 0.0,
    });
    wanted.fold(0.0, f64::max)
}
