//! `stream`, and what is expected of the events.

use plan::diagnostic::Diagnostic;
use plan::document::{Node, Reader, Table, Value};
use plan::operation::{Item, Operation};
use plan::units::{DURATION, parse_duration};

use super::expect::not_a_path;
use crate::expect::json_scan::Place;
use crate::http::EVENTS;
use crate::http::stream::framing::Format;
use crate::http::stream::rules::{EventItem, LastEvent, StreamRules, Within};

const KEY: &str = "stream";
const FORMATS: [(&str, Format); 3] =
    [("sse", Format::Sse), ("ndjson", Format::Lines), ("chunks", Format::Chunks)];
/// Keys of `expect` that only a stream has.
const OF_STREAMS: [&str; 3] = ["last", "events", "within"];

/// Whether the answers of an operation with this table are streams.
pub fn is_stream(table: &Table) -> bool {
    table.get(KEY).is_some()
}

/// `stream = "sse"`, or `{ format = "sse", event = "$.choices[0].delta.content" }`.
pub fn read(reader: &mut Reader<'_>) -> Option<StreamRules> {
    let node = reader.node(KEY)?;
    let (format, counted) = match &node.value {
        Value::Table(table) => {
            let mut inner = Reader::new(table);
            let (format, event) = (inner.node("format"), inner.node("event"));
            if format.is_none() {
                inner.missing("format", "format = \"sse\"");
            }
            let counted = event.and_then(|event| place(&mut inner, event));
            inner.finish().into_iter().for_each(|problem| reader.problem(problem));
            (format?, counted)
        }
        _ => (node, None),
    };
    let Some(format) = format.as_str().and_then(named) else {
        reader.problem(format.unlike("\"sse\", \"ndjson\" or \"chunks\""));
        return None;
    };
    Some(StreamRules { counted, ..StreamRules::of(format, EVENTS) })
}

/// Reads what is expected of the events. `hint`: how an operation says that its answers are streams.
pub fn expect(reader: &mut Reader<'_>, stream: Option<&mut StreamRules>, hint: &str) {
    let Some(stream) = stream else {
        return OF_STREAMS.iter().for_each(|key| {
            if let Some(entry) = reader.entry(key) {
                let what = format!("`{key}` is for answers that are streams");
                let problem = Diagnostic::new(entry.key_span, what, "remove this");
                reader.problem(problem.with_hint(hint));
            }
        });
    };
    if let Some(node) = reader.node("last") {
        match last(node) {
            Some(last) => stream.last = Some(last),
            None => reader.problem(node.unlike("text or { contains = \"…\" }")),
        }
    }
    if let Some(node) = reader.node("events") {
        match events(node) {
            Some(range) => stream.events = range,
            None => reader.problem(node.unlike("a number such as 10, \"10..\" or \"10..20\"")),
        }
    }
    if let Some(table) = reader.table("within") {
        let mut inner = Reader::new(table);
        let mut bound = |key| {
            let (bound, _) = inner.parsed(key, DURATION, parse_duration)?;
            u64::try_from(bound.as_nanos()).ok()
        };
        stream.within = Within {
            first_event: bound("first_event"),
            last_event: bound("last_event"),
            gap: bound("gap"),
            mean_gap: bound("mean_gap"),
        };
        inner.finish().into_iter().for_each(|problem| reader.problem(problem));
    }
}

/// The items of an operation, read from events.
pub fn items(planned: &Operation, problems: &mut Vec<Diagnostic>) -> Vec<EventItem> {
    planned
        .items
        .iter()
        .filter_map(|item| item_of(item).map_err(|problem| problems.push(problem)).ok())
        .collect()
}

fn item_of(item: &Item) -> Result<EventItem, Diagnostic> {
    if item.counts_events && item.path.is_empty() {
        return Ok(EventItem::Counted);
    }
    let place = Place::compile(&item.path);
    let place = place.map_err(|error| not_a_path(&item.path, item.span, &error))?;
    Ok(if item.counts_events { EventItem::With(place) } else { EventItem::Number(place) })
}

fn named(name: &str) -> Option<Format> {
    FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
}

pub(crate) fn place(reader: &mut Reader<'_>, node: &Node) -> Option<Place> {
    let Some(text) = node.as_str() else {
        reader.problem(node.unlike("a path such as \"$.choices[0].delta.content\""));
        return None;
    };
    let place = Place::compile(text);
    place.map_err(|error| reader.problem(not_a_path(text, node.span, &error))).ok()
}

fn last(node: &Node) -> Option<LastEvent> {
    match &node.value {
        Value::String(text) => Some(LastEvent::Is(text.clone())),
        Value::Table(table) if table.entries.len() == 1 => {
            Some(LastEvent::Contains(table.get("contains")?.node.as_str()?.to_owned()))
        }
        _ => None,
    }
}

/// `10`, `"10"`, `"10..20"`, `"10.."` or `"..20"`, both ends included.
fn events(node: &Node) -> Option<std::ops::RangeInclusive<u64>> {
    match &node.value {
        Value::Integer(count) => u64::try_from(*count).ok().map(|count| count..=count),
        Value::String(text) => super::expect::range(text, |text| text.trim().parse().ok()),
        _ => None,
    }
}
