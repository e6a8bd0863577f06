//! Builds the plan from the text.

use super::arm::{Arms, duplicates};
use super::design::Design;
use super::factor;
use super::request::{Experiment, ExperimentContext, InvalidExperiment, Options};
use super::{comparison, confidential, design, load as load_table, overrides, resolve, trace};
use crate::adaptive::Adaptive;
use crate::comparison::Comparison;
use crate::criterion::{Criterion, Names, Recording};
use crate::diagnostic::{Diagnostic, Sources, Span};
use crate::document::{self, Reader, Table};
use crate::order::{self, Blocks};
use crate::plan::{Arm, Plan};
use crate::rehearsal;
use crate::secret::Secrets;

/// Keys at the top level.
const TOP: [&str; 4] = ["title", "question", "criteria", "seed"];

/// Reads an experiment file.
///
/// Errors: everything that is wrong with it, its flags and the files it names, at once. Syntax
/// errors are reported alone, because the rest cannot be interpreted.
pub fn load(
    file: &str,
    text: &str,
    world: ExperimentContext<'_>,
    options: &Options,
) -> Result<Experiment, InvalidExperiment> {
    let mut sources = Sources::new(file, text);
    let (mut root, mut problems) = document::parse(text);
    if !problems.is_empty() {
        return Err(InvalidExperiment { problems, sources, secrets: Secrets::default() });
    }
    let criteria = with_flags(&mut root, options, &mut sources, &mut problems);
    if options.each_arm_alone {
        design::without_repetitions(&mut root);
    }
    let mut secrets = Secrets::default();
    confidential::names(&root, &mut problems);
    let mut placed = Vec::new();
    let root = resolve::folder(&root, world.inputs, &mut placed, &mut problems);
    let root = resolve::environment(&root, world.inputs, &mut secrets, &mut problems);
    placed.iter().for_each(|(text, written)| secrets.add_text(text, written));
    confidential::credentials(&root, world.known.protocols(), &mut secrets);
    let head = Head::read(&root, options, &mut problems);
    let mut built = Built::new(&root, world, &head, &mut problems);
    let adaptive = options.adaptive.then(|| {
        let start = sources.add("flags", "--adaptive");
        let arms = built.arms.iter_mut().map(|arm| (arm.name.as_str(), &mut arm.load));
        Adaptive::extend(arms, Span::new(start, start + "--adaptive".len()))
    });
    let adaptive = adaptive.transpose().unwrap_or_else(|found| {
        problems.extend(found);
        None
    });
    let trace = trace::read(&root, &mut problems);
    if problems.is_empty() {
        problems.extend(trace::untraced(&root, &built.arms, world.known));
    }
    let names = names(&built.arms, world);
    let criteria = judge(&head, &criteria, &names, &mut problems);
    tidy(&mut problems);
    tidy(&mut built.warnings);
    if !problems.is_empty() {
        return Err(InvalidExperiment { problems, sources, secrets });
    }
    let trials = order::trials(built.arms.len(), &built.blocks, head.seed);
    let plan = Plan {
        title: head.title.unwrap_or_else(|| stem(file)),
        question: head.question,
        seed: head.seed,
        rehearsal: false,
        fail_fast: options.fail_fast,
        keep_going: options.keep_going,
        adaptive,
        trace,
        arms: built.arms,
        trials,
        spare: built.blocks.spare,
        criteria,
        comparisons: built.comparisons,
        secrets,
    };
    let plan = if options.quick { rehearsal::shortened(plan) } else { plan };
    Ok(Experiment { plan, sources, warnings: built.warnings })
}

/// Applies overrides and settings of flags; returns the criteria of flags with their places.
fn with_flags(
    root: &mut Table,
    options: &Options,
    sources: &mut Sources,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(String, Span)> {
    let set = options.overrides.iter().map(|text| ("--set", text.clone()));
    let warm_up = options.warm_up.iter().map(|text| ("--warm-up", format!("load.warm_up={text}")));
    let workers = options.workers.iter().map(|text| ("--workers", format!("load.workers={text}")));
    let share =
        options.traceparent.iter().map(|text| ("--traceparent", format!("trace.share={text}")));
    let url = options.trace_url.iter().map(|text| ("--trace-url", format!("trace.url={text}")));
    for (origin, text) in set.chain(warm_up).chain(workers).chain(share).chain(url) {
        problems.extend(overrides::apply(root, origin, &text, sources).err());
    }
    let add = |text: &String| {
        let start = sources.add("--criterion", text.as_str());
        (text.clone(), Span::new(start, start + text.len()))
    };
    options.criteria.iter().map(add).collect()
}

/// The keys before the first table.
struct Head {
    title: Option<String>,
    question: Option<String>,
    seed: u64,
    criteria: Vec<(String, Span)>,
}

impl Head {
    fn read(root: &Table, options: &Options, problems: &mut Vec<Diagnostic>) -> Self {
        let mut reader = Reader::new(root);
        let mut text = |key| reader.string(key).map(|(text, _)| text.to_owned());
        let (title, question) = (text("title"), text("question"));
        let seed = reader.count("seed", 0, u64::MAX);
        let criteria = reader.strings("criteria");
        let criteria = criteria.into_iter().map(|(text, span)| (text.to_owned(), span)).collect();
        for table in ["target", "load", "factors", "design", "system", "setup", "teardown", "trace"]
        {
            reader.table(table);
        }
        for tables in ["operation", "journey", "service", "observer", "fault", "comparison"] {
            reader.tables(tables);
        }
        problems.extend(reader.finish());
        let seed = options.seed.or(seed).unwrap_or(options.fresh_seed);
        Self { title, question, seed, criteria }
    }
}

/// Everything after the head.
struct Built {
    arms: Vec<Arm>,
    blocks: Blocks,
    comparisons: Vec<Comparison>,
    warnings: Vec<Diagnostic>,
}

impl Built {
    fn new(
        root: &Table,
        world: ExperimentContext<'_>,
        _head: &Head,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        // The types at the top level were checked with the head.
        let mut reader = Reader::new(root);
        let table = reader.table("factors");
        let factors = factor::read(table, problems);
        let span = table.map_or(Span::default(), |table| table.span);
        let listed = reader.tables("operation");
        duplicates(&listed, &reader.tables("journey"), problems);
        if root.get("operation").is_none() {
            let problem =
                Diagnostic::new(Span::default(), "missing `[[operation]]`", "in this file");
            problems.push(problem.with_hint("add [[operation]] with http = { path = \"/\" }"));
        }
        let settings = factors.iter().flat_map(|f| &f.levels).any(|l| l.settings.is_some());
        if root.get("load").is_none() && !settings {
            problems.push(load_table::missing());
        }
        let mut arms = Arms::new(root, &factors, world);
        problems.extend(design::unused(table, &factors, root));
        let design = Design::read(reader.table("design"), problems);
        let combinations = factor::cross(&factors, span, problems);
        let combinations = design.remaining(combinations, &factors, problems);
        let built: Vec<Arm> = combinations.iter().map(|one| arms.build(one)).collect();
        // If some arms could not be read, their loads are unknown.
        if arms.problems.is_empty() && !built.is_empty() {
            problems.extend(design.duet(&built));
        }
        arms.together(&built);
        problems.append(&mut arms.problems);
        let warnings = arms.warnings;
        let tables = reader.tables("comparison");
        let operations = built.iter().flat_map(|arm| &arm.operations).map(|one| one.name.as_str());
        let journeys = built.iter().flat_map(|arm| &arm.journeys).map(|one| one.name.as_str());
        let names: Vec<&str> = operations.chain(journeys).collect();
        let comparisons = comparison::read(&tables, &factors, &names, problems);
        problems.extend(comparison::without_pair(&comparisons, &tables, &combinations));
        let blocks = design.blocks(&comparisons, &combinations, problems);
        Self { arms: built, blocks, comparisons, warnings }
    }
}

/// Names that criteria may refer to.
fn names(arms: &[Arm], world: ExperimentContext<'_>) -> Names {
    let operations = arms.iter().flat_map(|arm| &arm.operations);
    let mut names = Names::of(operations, |one| world.known.spans(&one.protocol, &one.table));
    arms.iter().flat_map(|arm| &arm.journeys).for_each(|journey| names.add_journey(journey));
    names.failures = world.known.failures();
    let loads = arms.iter().map(|arm| &arm.load);
    names.recordings = loads
        .map(|load| Recording { window: load.window(), measure: load.measure_time() })
        .collect();
    names
}

/// The criteria of file and flags.
fn judge(
    head: &Head,
    flags: &[(String, Span)],
    names: &Names,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Criterion> {
    // If an operation could not be read, its criteria would only repeat that problem.
    let readable = problems.is_empty();
    let mut criteria = Vec::new();
    for (text, span) in head.criteria.iter().chain(flags) {
        match Criterion::parse(text, *span, names) {
            Ok(criterion) => criteria.push(criterion),
            Err(found) => {
                problems.extend(found.into_iter().filter(|problem| readable || !echo(problem)));
            }
        }
    }
    criteria
}

fn echo(problem: &Diagnostic) -> bool {
    problem.message.starts_with("unknown operation") || problem.message.starts_with("unknown item")
}

/// Removes duplicates, because several arms may have the same problem; adds a hint if a top-level
/// key was written inside a table.
fn tidy(problems: &mut Vec<Diagnostic>) {
    problems.sort_by(|a, b| (a.span.start, &a.message).cmp(&(b.span.start, &b.message)));
    problems.dedup();
    for problem in problems {
        let key = problem.message.strip_prefix("unknown key `").and_then(|k| k.strip_suffix('`'));
        if key.is_some_and(|key| TOP.contains(&key)) {
            problem.label = "belongs to the top level".to_owned();
            problem.hint = Some("move it above the first [table]".to_owned());
        }
    }
}

/// The file's name without folder and extension.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name).to_owned()
}
