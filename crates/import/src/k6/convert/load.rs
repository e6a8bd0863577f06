//! Options: the load of an experiment, and thresholds as its criteria.

use std::time::Duration;

use plan::toml_text::text;
use quantities::format_duration;

use super::value::plain as number;
use super::{Constant, Converter, Scenario};
use crate::draft::plain;

/// Options that change what a run sends, and that nothing stands for.
const LEFT_OUT: [&str; 8] = [
    "rps",
    "hosts",
    "tlsAuth",
    "blacklistIPs",
    "blockHostnames",
    "localIPs",
    "dns",
    "minIterationDuration",
];

/// How often the journey of a scenario starts beside others.
pub(super) fn weight(scenario: Option<&Scenario<'_>>, scenarios: usize) -> Option<f64> {
    let scenario = scenario.filter(|_| scenarios > 1)?;
    match scenario.is_open() {
        true => scenario.peak(),
        false => scenario.number("vus"),
    }
}

/// Reads load and criteria.
pub(super) fn read(
    converter: &mut Converter<'_, '_>,
    options: &Constant,
    scenarios: &[Scenario<'_>],
) {
    for field in LEFT_OUT.iter().filter_map(|name| options.field(name)) {
        converter.note(&field.name_at, format!("the option {} is left out", field.name));
    }
    if let Some(field) = options.field("userAgent").filter(|field| field.value.text().is_none()) {
        converter.note(&field.name_at, "the option userAgent is left out: it is not known");
    }
    let is_set = |name: &str| {
        matches!(
            options.get(name).map(|one| &one.kind),
            Some(super::super::constant::ConstantKind::Bool(true))
        )
    };
    if is_set("insecureSkipTLSVerify") {
        converter.draft.target.push(("insecure", "true".to_owned()));
    }
    let loads: Vec<Option<Pace>> =
        scenarios.iter().map(|scenario| pace(converter, scenario)).collect();
    let mut loads =
        scenarios.iter().zip(loads).filter_map(|(scenario, load)| Some((scenario, load?)));
    if let Some((_, mut first)) = loads.next() {
        for (scenario, other) in loads {
            if !first.add(&other) {
                let what = format!(
                    "the load of the scenario {} is left out: an experiment has one load",
                    scenario.name
                );
                converter.note(&scenario.at, what);
            }
        }
        converter.draft.pace.splice(0..0, first.keys());
    }
    if is_set("noConnectionReuse") {
        converter.draft.pace.push(("new_connections", "true".to_owned()));
    }
    thresholds(converter, options, scenarios);
}

/// A load.
#[derive(Debug, Clone, PartialEq)]
enum Pace {
    Users(f64, f64),
    Iterations(f64, f64),
    Rate(f64, f64),
    Stages(Option<f64>, Vec<String>),
}

impl Pace {
    /// Adds another load of the same kind and length.
    fn add(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Users(users, length), Self::Users(more, other))
            | (Self::Rate(users, length), Self::Rate(more, other))
                if *length == *other =>
            {
                *users += more;
                true
            }
            _ => false,
        }
    }

    fn keys(&self) -> Vec<(&'static str, String)> {
        let length = |seconds: &f64| ("duration", text(&duration(*seconds)));
        match self {
            Self::Users(users, seconds) => vec![("users", number(*users)), length(seconds)],
            Self::Iterations(users, count) => {
                vec![("users", number(*users)), ("operations", number(*count))]
            }
            Self::Rate(rate, seconds) => {
                vec![
                    ("rate", text(&per_second(*rate))),
                    ("arrivals", text("constant")),
                    length(seconds),
                ]
            }
            Self::Stages(from, stages) => {
                let from = from.map(|rate| ("from", text(&per_second(rate))));
                let listed: String =
                    stages.iter().map(|stage| format!("\n  {{ {stage} }},")).collect();
                from.into_iter().chain([("stages", format!("[{listed}\n]"))]).collect()
            }
        }
    }
}

fn duration(seconds: f64) -> String {
    format_duration(Duration::from_secs_f64(seconds.max(0.001)))
}

fn per_second(rate: f64) -> String {
    format!("{}/s", number((rate * 1e6).round() / 1e6))
}

/// The load of a scenario.
fn pace(converter: &mut Converter<'_, '_>, scenario: &Scenario<'_>) -> Option<Pace> {
    let users = scenario.number("vus").unwrap_or(1.0).floor().clamp(1.0, 1e6);
    let seconds = scenario.seconds("duration").filter(|seconds| *seconds > 0.0);
    if scenario.is_own && scenario.keys.get("startTime").is_some() {
        let what = format!(
            "the start time of the scenario {} is left out: all begin at once",
            scenario.name
        );
        converter.note(&scenario.at, what);
    }
    if scenario.executor.ends_with("-iterations") && seconds.is_some() {
        let what = "`duration` ends the iterations before their time: it is left out";
        converter.note(&scenario.at, what);
    }
    let load = match scenario.executor.as_str() {
        "constant-vus" => seconds.map(|seconds| Pace::Users(users, seconds)),
        "shared-iterations" => {
            Some(Pace::Iterations(users, scenario.number("iterations").unwrap_or(users)))
        }
        "per-vu-iterations" => {
            Some(Pace::Iterations(users, users * scenario.number("iterations").unwrap_or(1.0)))
        }
        "constant-arrival-rate" => scenario
            .number("rate")
            .zip(seconds)
            .map(|(rate, seconds)| Pace::Rate(scenario.rate(rate), seconds)),
        "ramping-arrival-rate" => rates(scenario),
        "ramping-vus" => ramp(converter, scenario),
        _ => None,
    };
    let load = load.filter(|load| match load {
        Pace::Rate(rate, _) => *rate > 0.0,
        Pace::Iterations(_, count) => *count >= 1.0,
        Pace::Stages(_, stages) => !stages.is_empty(),
        Pace::Users(..) => true,
    });
    if load.is_none() {
        let what = format!(
            "the load of the scenario {} is left out: its values are not known",
            scenario.name
        );
        converter.note(&scenario.at, what);
    }
    load
}

fn rates(scenario: &Scenario<'_>) -> Option<Pace> {
    let from =
        scenario.number("startRate").map(|rate| scenario.rate(rate)).filter(|rate| *rate > 0.0);
    let mut before = from.unwrap_or(0.0);
    let mut stages = Vec::new();
    let listed = scenario.stages()?;
    let peak = listed.iter().map(|(_, target)| *target).fold(before, f64::max);
    if peak <= 0.0 {
        return None;
    }
    for (seconds, target) in listed {
        let target = scenario.rate(target);
        stages.push(match target == before && seconds > 0.0 {
            true => format!("hold = {}", text(&duration(seconds))),
            false => {
                format!("to = {}, over = {}", text(&per_second(target)), text(&duration(seconds)))
            }
        });
        before = target;
    }
    Some(Pace::Stages(from, stages))
}

/// Stages of users, as far as they rise and then fall.
fn ramp(converter: &mut Converter<'_, '_>, scenario: &Scenario<'_>) -> Option<Pace> {
    let mut before = 0.0;
    let mut stages = Vec::new();
    let mut falls = false;
    let mut listed = scenario.stages()?;
    if let Some(users) = scenario.number("startVUs").filter(|users| *users > 1.0 && scenario.is_own)
    {
        listed.insert(0, (0.0, users));
    }
    let peak = listed.iter().map(|(_, target)| *target).fold(0.0, f64::max);
    if peak < 1.0 {
        return None;
    }
    for (seconds, target) in listed {
        let target = target.floor().clamp(0.0, 1e6);
        if falls && target > before {
            converter.note(
                &scenario.at,
                "users that rise again after they fell are left out, and all stages from there on",
            );
            break;
        }
        falls |= target < before;
        stages.push(match target == before && seconds > 0.0 {
            true => format!("hold = {}", text(&duration(seconds))),
            false => format!("users = {}, over = {}", number(target), text(&duration(seconds))),
        });
        before = target;
    }
    Some(Pace::Stages(None, stages))
}

fn thresholds(converter: &mut Converter<'_, '_>, options: &Constant, scenarios: &[Scenario<'_>]) {
    for field in options.get("thresholds").map(Constant::fields).unwrap_or_default() {
        let listed = match field.value.items() {
            [] => std::slice::from_ref(&field.value),
            several => several,
        };
        for one in listed {
            let said = one.text().or_else(|| one.get("threshold").and_then(Constant::text));
            let criterion =
                said.and_then(|said| criterion(converter, &field.name, said, scenarios));
            match criterion {
                Some(criterion) if !converter.draft.criteria.contains(&criterion) => {
                    converter.draft.criteria.push(criterion)
                }
                Some(_) => {}
                None => {
                    let what = format!(
                        "the threshold {}: {} is left out",
                        field.name,
                        said.unwrap_or("…")
                    );
                    converter.note(&field.name_at, what);
                }
            }
        }
    }
}

/// The criterion of a threshold.
fn criterion(
    converter: &Converter<'_, '_>,
    name: &str,
    said: &str,
    scenarios: &[Scenario<'_>],
) -> Option<String> {
    let (metric, tags) = name
        .split_once('{')
        .map_or((name, ""), |(metric, tags)| (metric, tags.trim_end_matches('}')));
    let scope = scope(converter, tags, scenarios)?;
    let at = said.find(['<', '>', '=', '!'])?;
    let (aggregate, rest) = (said[..at].trim(), &said[at..]);
    let bound = rest.trim_start_matches(['<', '>', '=']);
    let operator = match &rest[..rest.len() - bound.len()] {
        "===" => "==",
        known @ ("<" | "<=" | ">" | ">=" | "==") => known,
        _ => return None,
    };
    let bound: f64 = bound.trim().parse().ok()?;
    Some(match (metric.trim(), aggregate) {
        (
            "http_req_duration" | "http_req_waiting" | "http_req_connecting" | "iteration_duration",
            aggregate,
        ) => {
            let quantile = match aggregate {
                "avg" => "mean".to_owned(),
                "med" => "p50".to_owned(),
                "max" => "max".to_owned(),
                other => format!(
                    "p{}",
                    number(
                        other.strip_prefix("p(")?.strip_suffix(')')?.trim().parse::<f64>().ok()?
                    )
                ),
            };
            let (scope, span) = match metric.trim() {
                "http_req_waiting" => (scope, "first_byte "),
                "http_req_connecting" => (scope, "connect "),
                "iteration_duration" => (journey(converter)?, ""),
                _ => (scope, ""),
            };
            format!("{scope}{span}{quantile} {operator} {}ms", number(bound))
        }
        ("http_req_failed", "rate") => format!("{scope}{}", failed(operator, bound)),
        ("checks", "rate") => {
            let operator = operator.replace('>', "\u{0}").replace('<', ">").replace('\u{0}', "<");
            format!("{scope}{}", failed(&operator, 1.0 - bound))
        }
        ("http_reqs", "rate") => format!("{scope}completed {operator} {}/s", number(bound)),
        ("http_reqs", "count") => format!("{scope}started {operator} {}", number(bound)),
        ("iterations", "count") => format!(
            "{}succeeded {operator} {}",
            journey(converter).unwrap_or_default(),
            number(bound)
        ),
        ("dropped_iterations", "count") if bound <= 1.0 && operator == "<" => {
            "missed == 0".to_owned()
        }
        ("dropped_iterations", "count") => format!("missed {operator} {}", number(bound)),
        _ => return None,
    })
}

/// A bound on the share of operations that failed.
fn failed(operator: &str, share: f64) -> String {
    match share <= 0.0 && !operator.starts_with('>') {
        true => "failed == 0".to_owned(),
        false => format!("failed / planned {operator} {}%", number((share * 1e11).round() / 1e9)),
    }
}

fn journey(converter: &Converter<'_, '_>) -> Option<String> {
    match converter.draft.journeys.as_slice() {
        [] => Some(String::new()),
        [one] => Some(format!("{} ", one.name)),
        _ => None,
    }
}

/// The operation or journey that tags pick, with a blank; empty for all.
fn scope(converter: &Converter<'_, '_>, tags: &str, scenarios: &[Scenario<'_>]) -> Option<String> {
    let mut scope = String::new();
    for tag in tags.split(',').filter(|tag| !tag.trim().is_empty()) {
        let (tag, value) = tag.split_once(':')?;
        let value = value.trim().trim_matches(['"', '\'']);
        match tag.trim() {
            "expected_response" => {}
            "scenario" if scenarios.len() < 2 => {}
            "scenario" => {
                let mut journeys = converter.draft.journeys.iter();
                scope = format!("{} ", journeys.find(|one| one.name == plain(value))?.name);
            }
            "name" => {
                let mut operations = converter.draft.operations.iter();
                scope = format!("{} ", operations.find(|one| one.name == plain(value))?.name);
            }
            "group" => {
                let last = value.rsplit("::").next().unwrap_or_default();
                let mut places = converter
                    .groups
                    .iter()
                    .filter(|(group, _)| group == last)
                    .map(|(_, place)| *place);
                let first = places.next()?;
                if places.any(|place| place != first) {
                    return None;
                }
                scope = format!("{} ", converter.draft.operations[first].name);
            }
            _ => return None,
        }
    }
    Some(scope)
}
