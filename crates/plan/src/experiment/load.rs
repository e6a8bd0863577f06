//! The `[load]` table.

use std::time::Duration;

use super::factor::Combination;
use super::replay;
use super::request::{Inputs, KnownNames};
use super::stages::{self, Stages, positive};
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Reader, Table, Value};
use crate::journey::{Connections, Journey};
use crate::load::{ArrivalProcess, Load, Model, Reuse, Spacing, SteadyState, Stop, Think, WarmUp};
use crate::operation::Operation;
use crate::units;

/// Keys that choose a model; at most one is allowed.
const MODELS: [&str; 5] = ["rate", "stages", "burst", "users", "replay"];
/// Keys that end the measure phase.
const STOPS: [&str; 2] = ["duration", "operations"];
/// Keys that need another key.
const COMPANIONS: [(&str, &[&str]); 7] = [
    ("arrivals", &["rate", "stages", "burst"]),
    ("from", &["stages"]),
    ("spawn_rate", &["users"]),
    ("think", &["users"]),
    ("resolution", &["replay"]),
    ("scale", &["replay"]),
    ("shift", &["scale"]),
];

/// Keys that make streams meaningless: such a connection carries one operation at a time.
const ONE_AT_A_TIME: [&str; 2] = ["users", "new_connections"];

/// Length of the measure phase if the file has no end.
const DURATION: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(30);
/// Most connections of an open load.
const OPEN_CONNECTIONS: u32 = 1000;
/// Most connections that journeys of an open load have of their own, over all of them.
const JOURNEY_CONNECTIONS: u32 = 10_000;
/// Connections of a closed load.
const CLOSED_CONNECTIONS: u32 = 50;

/// `[load]` overridden by the load settings of the arm's levels. A level that chooses a model or an
/// end replaces that of `[load]`.
pub(super) fn merged(base: Option<&Table>, combination: &Combination<'_>) -> Option<Table> {
    let mut table = base.cloned();
    for settings in combination.settings() {
        let merged = table.get_or_insert_with(|| Table { span: settings.span, entries: vec![] });
        for group in [MODELS.as_slice(), STOPS.as_slice()] {
            if group.iter().any(|key| settings.get(key).is_some()) {
                merged.entries.retain(|entry| !group.contains(&entry.key.as_str()));
            }
        }
        for entry in &settings.entries {
            merged.entries.retain(|before| before.key != entry.key);
            merged.entries.push(entry.clone());
        }
    }
    table
}

/// Reads the table.
pub(super) fn read(table: &Table, inputs: &dyn Inputs, problems: &mut Vec<Diagnostic>) -> Load {
    conflicts(table, problems);
    let mut reader = Reader::new(table);
    let model = model(&mut reader, inputs);
    let stop = stop(&mut reader);
    let warm_up = warm_up(&mut reader, &model);
    let stop = stop.unwrap_or_else(|| own_stop(&mut reader, &model, warm_up));
    let load = Load {
        stop,
        warm_up,
        timeout: positive(&mut reader, "timeout").unwrap_or(TIMEOUT),
        connections: connections(&mut reader, &model),
        streams: reader.count("streams", 1, 10_000).map_or(1, |count| count as u32),
        reuse: match reader.boolean("new_connections") {
            Some(true) => Reuse::NewPerOperation,
            _ => Reuse::KeepAlive,
        },
        steady_state: steady_state(&mut reader),
        workers: reader.count("workers", 1, 1024).map(|count| count as u32),
        busy_poll: reader.boolean("busy_poll").unwrap_or(false),
        model,
    };
    problems.extend(reader.finish());
    load
}

/// Reports keys that exclude each other, and keys without the key that they need.
fn conflicts(table: &Table, problems: &mut Vec<Diagnostic>) {
    for group in [MODELS.as_slice(), STOPS.as_slice()] {
        let present: Vec<&Entry> =
            table.entries.iter().filter(|entry| group.contains(&entry.key.as_str())).collect();
        for pair in present.windows(2) {
            let message = format!("`{}` and `{}` exclude each other", pair[0].key, pair[1].key);
            problems.push(Diagnostic::new(pair[1].key_span, message, "keep one of them"));
        }
    }
    let ramps = stages::are_of_users(table);
    let streams = table.get("streams");
    let staged = table.get("stages").filter(|_| ramps);
    for other in ONE_AT_A_TIME.iter().filter_map(|key| table.get(key)).chain(staged) {
        if let Some(entry) = streams.filter(|_| other.node.value != Value::Boolean(false)) {
            let message = format!("`streams` and `{}` exclude each other", other.key);
            problems.push(Diagnostic::new(entry.key_span, message, "keep one of them"));
        }
    }
    for (key, owners) in COMPANIONS {
        let Some(entry) = table.get(key) else { continue };
        if ramps && key != "think" {
            let message = format!("`{key}` means nothing beside stages of users");
            problems.push(Diagnostic::new(entry.key_span, message, "leave this out"));
        } else if !ramps && owners.iter().all(|owner| table.get(owner).is_none()) {
            let message = format!("`{key}` means nothing without `{}`", owners.join("` or `"));
            problems.push(Diagnostic::new(entry.key_span, message, "stands alone here"));
        }
    }
}

fn model(reader: &mut Reader<'_>, inputs: &dyn Inputs) -> Model {
    let spacing = spacing(reader);
    let from = reader.parsed("from", units::RATE, units::parse_rate).map_or(0.0, |(rate, _)| rate);
    let spawn_rate = reader.rate("spawn_rate").map_or(f64::INFINITY, |(rate, _)| rate);
    let think = reader
        .parsed("think", units::PAUSE, units::parse_think)
        .map_or(Think::Fixed { pause: Duration::ZERO }, |(think, _)| think);
    let rate = reader.rate("rate").map(|(rate, _)| match spacing {
        Spacing::Constant => ArrivalProcess::Constant { rate },
        Spacing::Poisson => ArrivalProcess::Poisson { rate },
    });
    let (stages, ramp) = match stages::read(reader, from, spacing) {
        Some(Stages::Rates(process)) => (Some(process), None),
        Some(Stages::Users(ramp)) => (None, Some(ramp)),
        None => (None, None),
    };
    let burst = burst(reader, spacing);
    let replay = replay::read(reader, inputs);
    let peak = ramp.as_ref().map(|ramp| u64::from(ramp.peak()));
    let users = reader.count("users", 1, 1_000_000).or(peak);
    match (rate.or(stages).or(burst).or(replay), users) {
        (Some(arrivals), _) => Model::Open { arrivals },
        (None, Some(users)) => Model::Users { users: users as u32, spawn_rate, think, ramp },
        (None, None) => Model::Closed,
    }
}

fn spacing(reader: &mut Reader<'_>) -> Spacing {
    let parse = |text: &str| match text {
        "poisson" => Some(Spacing::Poisson),
        "constant" => Some(Spacing::Constant),
        _ => None,
    };
    reader
        .parsed("arrivals", "\"poisson\" or \"constant\"", parse)
        .map_or(Spacing::Poisson, |(spacing, _)| spacing)
}

fn burst(reader: &mut Reader<'_>, spacing: Spacing) -> Option<ArrivalProcess> {
    let table = reader.table("burst")?;
    let mut inner = Reader::new(table);
    let rate = inner.rate("rate").map(|(rate, _)| rate);
    let on = positive(&mut inner, "on");
    let off = inner.duration("off").map(|(off, _)| off);
    for (key, example) in
        [("rate", "rate = \"500/s\""), ("on", "on = \"10s\""), ("off", "off = \"50s\"")]
    {
        if table.get(key).is_none() {
            inner.missing(key, example);
        }
    }
    inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    Some(ArrivalProcess::Burst { rate: rate?, on: on?, off: off?, spacing })
}

/// The end that the file names.
fn stop(reader: &mut Reader<'_>) -> Option<Stop> {
    let duration = positive(reader, "duration");
    let operations = reader.count("operations", 1, u64::MAX);
    let duration = duration.map(|after| Stop::Duration { after });
    duration.or(operations.map(|count| Stop::Operations { count }))
}

/// The end of a load of which the file names none.
fn own_stop(reader: &mut Reader<'_>, model: &Model, warm_up: WarmUp) -> Stop {
    let own = match model {
        Model::Open { arrivals: ArrivalProcess::Replay { list, .. } } => {
            return Stop::Operations { count: list.count() };
        }
        Model::Open { arrivals } => arrivals.length(),
        // Users begin to come with the warm-up, which is the first part of the stages.
        Model::Users { ramp: Some(ramp), .. } => {
            let rest = ramp.length().saturating_sub(warm_up.length());
            let span = reader
                .node("warm_up")
                .map(|node| node.span)
                .filter(|_| rest.is_zero() && ramp.peak() > 0);
            if let Some(span) = span {
                let message = "the warm-up is as long as all stages together";
                reader.problem(Diagnostic::new(span, message, "nothing would be measured"));
            }
            Some(rest)
        }
        _ => None,
    };
    Stop::Duration { after: own.unwrap_or(DURATION) }
}

/// A load at rate zero cannot warm up, and users that ramp are meant to be seen from the first.
fn warm_up(reader: &mut Reader<'_>, model: &Model) -> WarmUp {
    let parse = |text: &str| match text {
        "auto" => Some(WarmUp::Auto),
        _ => units::parse_duration(text).map(|length| WarmUp::Fixed { length }),
    };
    let given = reader.parsed("warm_up", "a duration such as 5s, or \"auto\"", parse);
    let length = match model {
        Model::Open { arrivals } if arrivals.initial().is_none() => Duration::ZERO,
        Model::Users { ramp: Some(_), .. } => Duration::ZERO,
        _ => WarmUp::USUAL,
    };
    given.map_or(WarmUp::Fixed { length }, |(warm_up, _)| warm_up)
}

fn connections(reader: &mut Reader<'_>, model: &Model) -> u32 {
    let given = reader.count("connections", 1, 1_000_000).map(|count| count as u32);
    match model {
        Model::Open { .. } => given.unwrap_or(OPEN_CONNECTIONS),
        Model::Closed => given.unwrap_or(CLOSED_CONNECTIONS),
        Model::Users { users, .. } => *users,
    }
}

/// Sets the default for journeys with connections of their own, which keep them while they think.
pub(super) fn connect_journeys(table: Option<&Table>, load: &mut Load, journeys: &[Journey]) {
    let is_given = table.is_some_and(|table| table.get("connections").is_some());
    let have_own = journeys.iter().any(|journey| journey.connections == Connections::Own);
    if have_own && !is_given && matches!(load.model, Model::Open { .. }) {
        load.connections = JOURNEY_CONNECTIONS;
    }
}

fn steady_state(reader: &mut Reader<'_>) -> SteadyState {
    let parse = |text: &str| match text {
        "required" => Some(SteadyState::Required),
        "reported" => Some(SteadyState::Reported),
        _ => None,
    };
    reader
        .parsed("steady_state", "\"required\" or \"reported\"", parse)
        .map_or(SteadyState::Required, |(state, _)| state)
}

/// Reports streams for an operation whose protocol has none.
pub(super) fn without_streams(
    table: Option<&Table>,
    load: &Load,
    operations: &[Operation],
    known: &dyn KnownNames,
) -> Option<Diagnostic> {
    let entry = table?.get("streams").filter(|_| load.streams > 1)?;
    let one = operations.iter().find(|one| !known.traits(&one.protocol).multiplexes)?;
    let message = format!(
        "{} streams on a connection, but `{}` carries one operation at a time",
        load.streams, one.protocol
    );
    let label = format!("operation `{}` speaks `{}`", one.name, one.protocol);
    let problem = Diagnostic::new(entry.key_span, message, label);
    let able: Vec<String> = known
        .protocols()
        .iter()
        .filter(|name| known.traits(name).multiplexes)
        .map(|name| format!("`{name}`"))
        .collect();
    let hint = format!("streams are for {}; raise `connections` instead", able.join(", "));
    Some(problem.with_hint(hint))
}

/// The problem that `[load]` is missing.
pub(super) fn missing() -> Diagnostic {
    let problem = Diagnostic::new(Span::default(), "missing table `[load]`", "in this file");
    problem.with_hint("add [load] with rate = \"500/s\" and duration = \"60s\"")
}
