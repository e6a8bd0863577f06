//! One unit of client-visible work: what the plan knows of it.
//!
//! Not here: the meaning of the protocol's own table, which its driver compiles.

use std::sync::Arc;

use serde::ser::{Error as _, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::diagnostic::{Diagnostic, Span};
use crate::document::Table;
use crate::rows::Rows;

/// Spans of connecting, which the engine stamps for every protocol; those of the protocol come after them.
pub const CONNECTING: [&str; 2] = ["connect", "tls"];
/// Parts that the operations of an arm may name, all together.
pub const PARTS_LIMIT: usize = 8;

/// An operation of the mix.
#[derive(Debug, Clone, Serialize)]
pub struct Operation {
    /// Unique within the experiment.
    pub name: String,
    /// Relative frequency.
    pub weight: f64,
    /// Name of the protocol: the key of its table (`http`).
    pub protocol: String,
    /// Where it goes.
    pub target: TargetOf,
    /// The protocol's table with factors and environment filled in, spans kept for diagnostics.
    /// For `requests` from a target file this holds what the file leaves open.
    pub table: Table,
    /// The `expect` table, if any; the driver compiles it.
    pub expect: Option<Table>,
    /// Parts of the target whose own times are read from the answer; a part comes after the part that contains it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Item name and path of each number to be read from the answer.
    pub items: Vec<Item>,
    /// Data that `{{row.column}}` refers to.
    pub rows: Option<Arc<Rows>>,
    /// Whole requests from a vegeta target file or a URL list; taken in turn like rows.
    #[serde(serialize_with = "requests_digest")]
    pub requests: Option<Arc<[Request]>>,
    /// How rows or requests are taken.
    pub order: RowOrder,
}

impl Operation {
    /// An HTTP operation with nothing but a name: weight 1, first target, empty table.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            weight: 1.0,
            protocol: "http".to_owned(),
            target: TargetOf::Fixed(0),
            table: Table::default(),
            expect: None,
            parts: Vec::new(),
            items: Vec::new(),
            rows: None,
            requests: None,
            order: RowOrder::default(),
        }
    }

    /// Number of rows or whole requests that it takes its turns from; 0 where it has none.
    pub fn row_count(&self) -> usize {
        match (&self.requests, &self.rows) {
            (Some(requests), _) => requests.len(),
            (None, Some(rows)) => rows.len(),
            (None, None) => 0,
        }
    }
}

/// A long list is serialised as its length and digest.
fn digest_of<T: Serialize, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_vec(items).map_err(S::Error::custom)?;
    let mut fields = serializer.serialize_struct("List", 2)?;
    fields.serialize_field("count", &items.len())?;
    fields.serialize_field("digest", &crate::hash::hex(&[&text]))?;
    fields.end()
}

fn requests_digest<S: Serializer>(
    requests: &Option<Arc<[Request]>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match requests {
        Some(requests) => digest_of(requests, serializer),
        None => serializer.serialize_none(),
    }
}

fn rows_digest<S: Serializer>(targets: &Arc<[usize]>, serializer: S) -> Result<S::Ok, S::Error> {
    digest_of(targets, serializer)
}

/// Index into the arm's targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TargetOf {
    /// Always the same.
    Fixed(usize),
    /// By row, for requests of a target file.
    ByRow(#[serde(serialize_with = "rows_digest")] Arc<[usize]>),
}

impl TargetOf {
    /// The target of an operation that takes this row.
    pub fn index(&self, row: usize) -> usize {
        match self {
            Self::Fixed(index) => *index,
            Self::ByRow(indexes) => indexes[row],
        }
    }
}

/// A part of the target that says in each answer how long it took.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Part {
    /// What the target calls it; also the name of the span that it becomes.
    pub name: String,
    /// The part that it lies inside of, whose time holds its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Its place among those of the arm.
    #[serde(skip)]
    pub place: usize,
    /// For diagnostics.
    #[serde(skip)]
    pub span: Span,
}

/// Gives the parts of these operations their places, those of one name the same.
///
/// Errors: names that `own` says are spans already; more than [`PARTS_LIMIT`] names
pub(crate) fn place_parts(
    operations: &mut [Operation],
    own: impl Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let (mut names, mut problems): (Vec<String>, _) = (Vec::new(), Vec::new());
    for part in operations.iter_mut().flat_map(|operation| &mut operation.parts) {
        if own(&part.name) {
            let message = format!("`{}` is a span that the instrument stamps itself", part.name);
            let problem = Diagnostic::new(part.span, message, "the target must call it otherwise");
            problems.push(problem);
        }
        let known = names.iter().position(|name| *name == part.name);
        part.place = known.unwrap_or(names.len());
        if known.is_none() {
            names.push(part.name.clone());
            if names.len() == PARTS_LIMIT + 1 {
                let message = format!("more than {PARTS_LIMIT} parts in one arm");
                problems.push(Diagnostic::new(part.span, message, "this is one too many"));
            }
        }
    }
    problems
}

/// Names of the parts of these operations, by place.
pub fn part_names(operations: &[Operation]) -> Vec<String> {
    let mut names = Vec::new();
    for part in operations.iter().flat_map(|operation| &operation.parts) {
        if part.place == names.len() {
            names.push(part.name.clone());
        }
    }
    names
}

/// How a protocol is spoken, as far as a plan must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolTraits<'a> {
    /// How addresses begin where it is spoken.
    pub scheme: &'a str,
    /// What TLS is to agree on before it is spoken (ALPN).
    pub alpn: Option<&'static str>,
    /// Whether a connection carries many operations at a time.
    pub multiplexes: bool,
}

impl<'a> ProtocolTraits<'a> {
    /// That of a protocol of which nothing but its name is known.
    pub fn plain(protocol: &'a str) -> Self {
        Self { scheme: protocol, alpn: None, multiplexes: false }
    }
}

/// A number read from the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Where it stands: a JSON path for HTTP.
    pub path: String,
    /// For diagnostics.
    #[serde(skip)]
    pub span: Span,
}

/// How rows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// One after the other, and again from the first.
    #[default]
    RoundRobin,
    /// Drawn from the seed.
    Random,
    /// Each once; the load ends with the last.
    Once,
}

/// One request of a target file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query, as sent.
    pub path: String,
    /// In the order of the file, names as written.
    pub headers: Vec<(String, String)>,
    /// As sent.
    pub body: Vec<u8>,
}
