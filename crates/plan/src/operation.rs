//! One unit of client-visible work, as the plan knows it.
//!
//! Not here: the meaning of the protocol's own table, which its driver compiles.

use std::sync::Arc;

use serde::ser::{Error as _, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::diagnostic::{Diagnostic, Span};
use crate::document::Table;
use crate::journey::Capture;
use crate::rows::Rows;
use crate::target::split_url;
use crate::template::{HiddenCapture, Scope, VisibleCapture};

/// Spans of connecting, which the engine stamps for every protocol; the protocol's own spans follow.
pub const CONNECTING: [&str; 2] = ["connect", "tls"];
/// Most parts that the operations of an arm may name together.
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
    /// Whether a connection carries several operations of this protocol at the same time.
    #[serde(skip)]
    pub multiplexes: bool,
    /// Whether its requests may carry a trace id: the file has `[trace]`, and the protocol has a place for it.
    #[serde(skip)]
    pub is_traced: bool,
    /// Its target.
    pub target: TargetOf,
    /// The protocol's table with factors and environment filled in, and spans for diagnostics. For `requests` from a
    /// target file, the values that the file leaves open.
    pub table: Table,
    /// The `expect` table, if any; the driver compiles it.
    pub expect: Option<Table>,
    /// Parts of the target whose own times are read from the answer; a part is listed after the part that contains it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Name and path of each number to read from the answer.
    pub items: Vec<Item>,
    /// Data for `{{row.column}}`.
    pub rows: Option<Arc<Rows>>,
    /// Whole requests from a vegeta target file or a URL list; used in turn like rows.
    #[serde(serialize_with = "requests_digest")]
    pub requests: Option<Arc<[Request]>>,
    /// The order of rows or requests.
    pub order: RowOrder,
    /// Values that a journey reads from its answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<Capture>,
    /// What its journeys captured before it.
    #[serde(skip)]
    pub visible: Vec<VisibleCapture>,
    /// What it may not refer to, and why.
    #[serde(skip)]
    pub hidden: Vec<HiddenCapture>,
    /// Whether a journey names it, so that it does not begin on its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_step: bool,
    /// Whether every step with it goes through a list.
    #[serde(skip)]
    pub has_each: bool,
}

impl Operation {
    /// An HTTP operation with defaults and this name: weight 1, first target, empty table.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            weight: 1.0,
            protocol: "http".to_owned(),
            multiplexes: false,
            is_traced: false,
            target: TargetOf::Fixed(0),
            table: Table::default(),
            expect: None,
            parts: Vec::new(),
            items: Vec::new(),
            rows: None,
            requests: None,
            order: RowOrder::default(),
            captures: Vec::new(),
            visible: Vec::new(),
            hidden: Vec::new(),
            is_step: false,
            has_each: false,
        }
    }

    /// Whether an answer may lead it to another target: by a redirect, or by an address that was captured.
    pub(crate) fn is_led(&self) -> bool {
        let url = self.table.get("url").and_then(|entry| entry.node.as_str());
        self.table.get("follow").is_some() || url.is_some_and(|url| split_url(url).is_none())
    }

    /// What its templates may refer to.
    pub fn scope(&self) -> Scope<'_> {
        let (rows, captures, hidden) = (self.rows.as_deref(), &self.visible, &self.hidden);
        Scope { rows, captures, hidden, each: self.has_each }
    }

    /// Number of rows or whole requests; 0 if it has none.
    pub fn row_count(&self) -> usize {
        match (&self.requests, &self.rows) {
            (Some(requests), _) => requests.len(),
            (None, Some(rows)) => rows.len(),
            (None, None) => 0,
        }
    }
}

/// Serialises a long list as its length and digest.
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
    /// The target of the operation with this row.
    pub fn index(&self, row: usize) -> usize {
        match self {
            Self::Fixed(index) => *index,
            Self::ByRow(indexes) => indexes[row],
        }
    }
}

/// A part of the target that reports its time in each answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Part {
    /// The target's name for it; also the name of its span.
    pub name: String,
    /// The part that contains it and whose time includes its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Its index among the parts of the arm.
    #[serde(skip)]
    pub place: usize,
    /// For diagnostics.
    #[serde(skip)]
    pub span: Span,
}

/// Assigns indices to the parts of these operations; parts with the same name get the same index.
///
/// Errors: names that `own` reports as existing spans; more than [`PARTS_LIMIT`] names
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

/// Names of the parts of these operations, by index.
pub fn part_names(operations: &[Operation]) -> Vec<String> {
    let mut names = Vec::new();
    for part in operations.iter().flat_map(|operation| &operation.parts) {
        if part.place == names.len() {
            names.push(part.name.clone());
        }
    }
    names
}

/// A number read from the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its place: a JSON path for HTTP. Empty for the number of events of a stream.
    pub path: String,
    /// Whether it is the number of events of a stream that have something at this place.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counts_events: bool,
    /// For diagnostics.
    #[serde(skip)]
    pub span: Span,
}

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// One after another, then again from the first.
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
