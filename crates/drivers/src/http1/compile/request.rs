//! The `http` table: path, method, header, body.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::Reader;
use plan::rows::Rows;

use super::expect;
use super::fields::{self, Field, Fields};
use super::parts;
use super::payload::{self, BodyContent};
use crate::expect::expectations::Expectations;
use crate::http1::answer_check::AnswerCheck;
use crate::http1::codec::field::is_token;
use crate::http1::operation::Operation;
use crate::http1::request::{self, Payload, Piece, Request};
use crate::table::template;

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `http` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let OperationDraft { requests, expectation } = drafts(planned)?;
    let requests = requests.iter().map(RequestDraft::encode).collect();
    Ok(Operation { requests, check: AnswerCheck::of(expectation, planned) })
}

/// An operation as its tables define it, for any version of HTTP.
#[derive(Debug)]
pub struct OperationDraft {
    /// One, or one for each row of a target file.
    pub requests: Vec<RequestDraft>,
    /// What answers are held against.
    pub expectation: Expectations,
}

/// A request before it is encoded.
#[derive(Debug, Clone)]
pub struct RequestDraft {
    /// The method.
    pub method: String,
    /// The request target.
    pub path: Piece,
    /// Fields that the experiment sets.
    pub fields: Fields,
    /// The body.
    pub content: BodyContent,
}

/// Reads what all versions of HTTP have in common.
///
/// Errors: every problem of the protocol's table, of `expect` and of the items
pub fn drafts(planned: &plan::operation::Operation) -> Result<OperationDraft, Vec<Diagnostic>> {
    let rows = planned.rows.as_deref();
    let mut reader = Reader::new(&planned.table);
    let draft = RequestDraft::read(&mut reader, rows);
    parts::check(&mut reader);
    let mut problems = reader.finish();
    let expectation = expect::read(planned, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let span = planned.table.span;
    let requests = match planned.requests.as_deref() {
        Some(listed) => listed.iter().map(|request| draft.of_row(request, span)).collect(),
        None => Ok(vec![draft]),
    };
    Ok(OperationDraft { requests: requests.map_err(|problem| vec![problem])?, expectation })
}

impl RequestDraft {
    fn read(reader: &mut Reader<'_>, rows: Option<&Rows>) -> Self {
        let content = payload::read(reader, rows);
        let method = read_method(reader, &content);
        let path = read_path(reader, rows);
        let fields = fields::read(reader, rows);
        Self { method, path, fields, content }
    }

    /// A request of a target file: what it leaves open comes from the table.
    fn of_row(&self, row: &plan::operation::Request, span: Span) -> Result<Self, Diagnostic> {
        let refuse =
            |what: String| Diagnostic::new(span, what, "in the requests of this operation");
        check_method(&row.method).map_err(&refuse)?;
        let mut fields = self.fields.clone();
        for (name, value) in &row.headers {
            fields::check_name(name).map_err(&refuse)?;
            fields.push(Field { name: name.clone(), value: fields::literal(value) }, true);
        }
        let mut target = Vec::new();
        request::path(row.path.as_bytes(), &mut target);
        let content = match row.body.as_slice() {
            [] => self.content.clone(),
            body => BodyContent { payload: Some(Payload::Literal(body.into())), is_json: false },
        };
        Ok(Self { method: row.method.clone(), path: Piece::Literal(target), fields, content })
    }

    /// Every field in order: those that a request has unless the experiment sets them, then its own.
    pub fn fields(&self) -> impl Iterator<Item = (&str, Piece)> {
        let defaults = fields::DEFAULTS.iter().filter(|(name, _)| !self.fields.has(name));
        let defaults = defaults.map(|(name, value)| (*name, fields::literal(value)));
        let own = self.fields.iter().map(|field| (field.name.as_str(), field.value.clone()));
        let json = (self.content.is_json && !self.fields.has("content-type"))
            .then(|| ("content-type", fields::literal("application/json")));
        let length = self.length().map(|length| ("content-length", length));
        defaults.chain(own).chain(json).chain(length)
    }

    /// `content-length`, where there is a body or the method suggests one (RFC 9110 section 8.6).
    fn length(&self) -> Option<Piece> {
        let literal = |length: usize| Piece::Literal(length.to_string().into_bytes());
        match &self.content.payload {
            Some(Payload::Literal(bytes)) => Some(literal(bytes.len())),
            Some(Payload::Segments(_)) => Some(Piece::Length),
            None => matches!(self.method.as_str(), "POST" | "PUT" | "PATCH").then(|| literal(0)),
        }
    }

    /// Puts the head together as HTTP/1.1, literal pieces joined.
    fn encode(&self) -> Request {
        let mut head = Head::default();
        head.text(&self.method);
        head.text(" ");
        head.piece(self.path.clone());
        head.text(" HTTP/1.1\r\n");
        if !self.fields.has("host") {
            head.field("host", Piece::Authority);
        }
        for (name, value) in self.fields() {
            head.field(name, value);
        }
        head.text("\r\n");
        let body = self.content.payload.clone().unwrap_or_else(|| Payload::Literal([].into()));
        Request { is_head: self.method == "HEAD", head: head.0, body }
    }
}

/// Pieces of a head in the making.
#[derive(Default)]
struct Head(Vec<Piece>);

impl Head {
    fn text(&mut self, text: &str) {
        self.piece(Piece::Literal(text.as_bytes().to_vec()));
    }

    fn piece(&mut self, piece: Piece) {
        if let (Some(Piece::Literal(last)), Piece::Literal(more)) = (self.0.last_mut(), &piece) {
            last.extend_from_slice(more);
        } else {
            self.0.push(piece);
        }
    }

    fn field(&mut self, name: &str, value: Piece) {
        self.text(&format!("{name}: "));
        self.piece(value);
        self.text("\r\n");
    }
}

/// `method`: GET, or POST where there is a body.
fn read_method(reader: &mut Reader<'_>, content: &BodyContent) -> String {
    let default = if content.payload.is_some() { "POST" } else { "GET" };
    let Some((method, span)) = reader.string("method") else {
        return default.to_owned();
    };
    if let Err(what) = check_method(method) {
        reader.problem(Diagnostic::new(span, what, "expected a method such as GET or POST"));
    }
    method.to_owned()
}

fn check_method(method: &str) -> Result<(), String> {
    if method == "CONNECT" {
        return Err("method CONNECT is not supported".to_owned());
    }
    match !method.is_empty() && method.bytes().all(is_token) {
        true => Ok(()),
        false => Err(format!("method {method:?} is not a token")),
    }
}

/// `path`: `/` by default.
fn read_path(reader: &mut Reader<'_>, rows: Option<&Rows>) -> Piece {
    let root = || Piece::Literal(b"/".to_vec());
    let Some((text, span)) = reader.string("path") else {
        return root();
    };
    if !text.starts_with('/') && !text.starts_with("{{") {
        let what = format!("path {text:?} does not begin with /");
        let problem = Diagnostic::new(span, what, "expected a path such as /search?q=1");
        reader.problem(problem.with_hint("the host belongs into `target`"));
        return root();
    }
    let Some(template) = template(reader, text, span, rows) else {
        return root();
    };
    match template.literal() {
        Some(literal) => {
            let mut target = Vec::new();
            request::path(literal.as_bytes(), &mut target);
            Piece::Literal(target)
        }
        None => Piece::Path(template),
    }
}
