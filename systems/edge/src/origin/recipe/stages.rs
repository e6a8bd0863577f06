//! The timeline of a recipe: stages, their times and their outcomes.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::delay::{Delay, LONGEST_NS, Shape};
use super::super::timeline::{End, Fault, Outcome, Stage, Timeline};
use super::notation::{self, Bad};
use super::reader::{Reader, given};

/// Stages of a recipe.
const MOST_STAGES: usize = 10_000;
/// Outcomes of a stage.
const MOST_OUTCOMES: usize = 100;
/// Times of an empirical distribution.
const MOST_TIMES: usize = 10_000;
/// What an outcome says, alone in its stage or among others.
const OF_OUTCOME: [&str; 4] = ["status", "fault", "after", "bandwidth"];
const MS: u64 = 1_000_000;
/// The message for a wait that is too long.
const TOO_LONG: &str = "an answer waits an hour at most";

/// The timeline; what is wrong of it is left out and told.
pub(super) fn read(reader: &mut Reader, at: &str, fields: &Map<String, Value>) -> Timeline {
    let every_ns = given(fields, "loop").and_then(|value| match notation::duration(value) {
        Ok(ms) if ms > 0 => Some(ms * MS),
        read => {
            let reason = read.map_or_else(Bad::timing, |_| "a loop takes longer than no time");
            reader.wrong(format!("{at}.loop"), reason);
            None
        }
    });
    let interpolate = reader.flag(at, fields, "interpolate");
    let at = format!("{at}.stages");
    let values = reader.array(&at, given(fields, "stages"), MOST_STAGES).unwrap_or_default();
    let mut stages = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        let at = format!("{at}[{place}]");
        let Some(stage) = stage(reader, &at, value) else { continue };
        if every_ns.is_some_and(|every_ns| stage.at_ns >= every_ns) {
            reader.wrong(format!("{at}.at"), "the loop ends before this stage begins");
        }
        if interpolate && stage.delay.ends().is_none() {
            let reason = "distributions of this kind cannot be interpolated";
            reader.wrong(format!("{at}.latency"), reason);
        }
        stages.push(stage);
    }
    Timeline::new(stages, every_ns, interpolate)
}

fn stage(reader: &mut Reader, at: &str, value: &Value) -> Option<Stage> {
    let fields = reader.object(at, value, "a stage")?;
    reader.ignore(at, fields, &[&["at", "latency", "outcomes"][..], &OF_OUTCOME].concat());
    let at_ms = given(fields, "at").map_or(Err(Bad::Form), notation::duration);
    let at_ms = at_ms.map_err(|bad| reader.wrong(format!("{at}.at"), bad.timing())).ok();
    let delay = delay(reader, &format!("{at}.latency"), given(fields, "latency"));
    let outcomes = outcomes(reader, at, fields);
    Some(Stage { at_ns: at_ms? * MS, delay: delay?, outcomes: outcomes? })
}

/// A stage's one outcome, or several with their weights.
fn outcomes(reader: &mut Reader, at: &str, fields: &Map<String, Value>) -> Option<Arc<[Outcome]>> {
    let Some(value) = given(fields, "outcomes") else {
        return Some([outcome(reader, at, fields, 1.0)?].into());
    };
    for key in OF_OUTCOME.iter().filter(|key| given(fields, key).is_some()) {
        reader.wrong(format!("{at}.{key}"), "belongs into each outcome, not beside `outcomes`");
    }
    let at = format!("{at}.outcomes");
    let values = reader.array(&at, Some(value), MOST_OUTCOMES)?;
    if values.is_empty() {
        reader.wrong(at, "needs at least one outcome");
        return None;
    }
    let mut read = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        let at = format!("{at}[{place}]");
        let Some(fields) = reader.object(&at, value, "an outcome") else { continue };
        reader.ignore(&at, fields, &[&["weight"][..], &OF_OUTCOME].concat());
        let weight = weight(reader, &at, fields);
        read.extend(outcome(reader, &at, fields, weight));
    }
    // Some are missing only where a problem says so.
    (!read.is_empty()).then(|| read.into())
}

fn weight(reader: &mut Reader, at: &str, fields: &Map<String, Value>) -> f64 {
    let Some(value) = given(fields, "weight") else { return 1.0 };
    let weight = value.as_f64().filter(|weight| *weight > 0.0 && *weight <= 1e12);
    if weight.is_none() {
        reader.expected(format!("{at}.weight"), "a number above zero", value);
    }
    weight.unwrap_or(1.0)
}

fn outcome(
    reader: &mut Reader,
    at: &str,
    fields: &Map<String, Value>,
    weight: f64,
) -> Option<Outcome> {
    let status = given(fields, "status");
    let read = status.and_then(Value::as_u64).filter(|status| (200..1_000).contains(status));
    if read.is_none() {
        let what = "a status from 200 to 999";
        reader.expected(format!("{at}.status"), what, status.unwrap_or(&Value::Null));
    }
    let fault = fault(reader, at, fields);
    let bytes_per_second = given(fields, "bandwidth").and_then(|value| {
        let size = value.as_str().and_then(|text| notation::size(text.strip_suffix("/s")?).ok());
        let size = size.filter(|size| *size > 0);
        if size.is_none() {
            reader.expected(format!("{at}.bandwidth"), "a size a second such as 100kb/s", value);
        }
        size
    });
    Some(Outcome { weight, status: read? as u16, fault, bytes_per_second })
}

fn fault(reader: &mut Reader, at: &str, fields: &Map<String, Value>) -> Option<Fault> {
    let after_bytes = given(fields, "after").and_then(|value| {
        let size = notation::size_in(value);
        size.map_err(|bad| reader.wrong(format!("{at}.after"), bad.size())).ok()
    });
    let Some(value) = given(fields, "fault") else {
        if given(fields, "after").is_some() {
            reader.wrong(format!("{at}.after"), "needs a `fault` beside it");
        }
        return None;
    };
    let end = match value.as_str() {
        Some("reset") => End::Reset,
        Some("close") => End::Close,
        Some("hang") => End::Hang,
        _ => {
            reader.expected(format!("{at}.fault"), "one of reset, close, hang", value);
            return None;
        }
    };
    Some(Fault { end, after_bytes })
}

/// How long answers wait: a duration, a range, or a distribution.
fn delay(reader: &mut Reader, at: &str, value: Option<&Value>) -> Option<Delay> {
    let delay = match value {
        Some(Value::Object(named)) => return distribution(reader, at, named),
        Some(Value::String(text)) if text.contains("..") => {
            notation::range(text).map(|(low, high)| Delay::WholeMs(low, high))
        }
        value => value.map_or(Err(Bad::Form), notation::duration).map(|ms| Delay::Fixed(ms * MS)),
    };
    let is_long = |delay: &Delay| delay.ends().is_some_and(|(_, high)| high > LONGEST_NS);
    match delay {
        Err(Bad::Form) => reader.wrong(at, Bad::Form.timing()),
        Err(Bad::Large) => reader.wrong(at, TOO_LONG),
        Ok(ref delay) if is_long(delay) => reader.wrong(at, TOO_LONG),
        Ok(_) => {}
    }
    delay.ok()
}

fn distribution(reader: &mut Reader, at: &str, named: &Map<String, Value>) -> Option<Delay> {
    let one = named.iter().next().filter(|_| named.len() == 1);
    let Some((name, value)) = one else {
        reader.wrong(at, "a distribution is an object with one key, its name");
        return None;
    };
    let at = format!("{at}.{name}");
    match name.as_str() {
        "uniform" => {
            let [from, to] = times(reader, &at, value, ["from", "to"])?;
            if from > to {
                reader.wrong(at, "the first time must not be longer than the second");
                return None;
            }
            Some(Delay::Uniform(from, to))
        }
        "normal" => Some(Delay::Normal(shape(reader, &at, value)?)),
        "log_normal" => {
            let shape = shape(reader, &at, value)?;
            if shape.mean_ns == 0.0 {
                reader.wrong(format!("{at}.mean"), "must be above zero");
                return None;
            }
            Some(Delay::LogNormal(shape))
        }
        "empirical" => empirical(reader, &at, value),
        _ => {
            reader.wrong(at, "unknown distribution; use uniform, normal, log_normal or empirical");
            None
        }
    }
}

fn shape(reader: &mut Reader, at: &str, value: &Value) -> Option<Shape> {
    let [mean, sd] = times(reader, at, value, ["mean", "sd"])?;
    Some(Shape { mean_ns: mean as f64, sd_ns: sd as f64 })
}

/// Two times of an object, in nanoseconds.
fn times(reader: &mut Reader, at: &str, value: &Value, keys: [&str; 2]) -> Option<[u64; 2]> {
    let fields = reader.object(at, value, "a distribution")?;
    reader.ignore(at, fields, &keys);
    let [one, other] = keys.map(|key| time(reader, &format!("{at}.{key}"), given(fields, key)));
    Some([one?, other?])
}

fn empirical(reader: &mut Reader, at: &str, value: &Value) -> Option<Delay> {
    let values = reader.array(at, Some(value), MOST_TIMES)?;
    let read: Vec<Option<u64>> = (values.iter().enumerate())
        .map(|(place, value)| time(reader, &format!("{at}[{place}]"), Some(value)))
        .collect();
    if values.is_empty() {
        reader.wrong(at, "needs at least one time");
        return None;
    }
    let read: Option<Arc<[u64]>> = read.into_iter().collect();
    read.map(Delay::Empirical)
}

fn time(reader: &mut Reader, at: &str, value: Option<&Value>) -> Option<u64> {
    let ns = value.map_or(Err(Bad::Form), notation::duration).map(|ms| ms * MS);
    match ns {
        Err(Bad::Form) => reader.wrong(at, Bad::Form.timing()),
        Err(Bad::Large) => reader.wrong(at, TOO_LONG),
        Ok(ns) if ns > LONGEST_NS => reader.wrong(at, TOO_LONG),
        Ok(_) => {}
    }
    ns.ok()
}
