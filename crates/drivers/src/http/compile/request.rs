//! The `http` table: path, method, header, body, and how far an operation goes on by itself.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::Reader;
use plan::target::split_url;
use plan::template::{Scope, Template};

use super::fields::{self, Field, Fields};
use super::payload::{self, BodyContent};
use super::pieces::Pieces;
use super::{auth, expect, parts, query, stream};
use crate::expect::expectations::Expectations;
use crate::http::address::Address;
use crate::http::answer_check::Continuation;
use crate::http::encoding;
use crate::http::field::is_token;
use crate::http::redirect::{ByMethod, Method, Redirected};
use crate::http::request::{Payload, Piece};
use crate::http::traceparent;
use crate::table::template;

/// An operation as its tables define it, for any version of HTTP.
#[derive(Debug)]
pub struct OperationDraft {
    /// One, or one for each row of a target file.
    pub requests: Vec<RequestDraft>,
    /// Where it goes, if that depends on the call.
    pub address: Option<Address>,
    /// What answers are held against.
    pub expectation: Expectations,
    /// How far it goes on by itself.
    pub continuation: Continuation,
}

/// Redirects that an operation may follow, at most.
const FOLLOW_LIMIT: u64 = 100;
/// Fields that a request without its body has no longer, beside those that are computed.
const OF_THE_BODY: [&str; 4] =
    ["content-type", "content-encoding", "content-language", "content-location"];

/// Fields that a request to another origin has no longer: credentials, and the host that the experiment names.
const OF_THE_ORIGIN: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "host"];

/// A request before it is encoded.
#[derive(Debug, Clone)]
pub struct RequestDraft {
    /// The method.
    pub method: String,
    /// Its path, perhaps with a query.
    pub path: Piece,
    /// What follows in the query.
    pub query: Vec<Piece>,
    /// Fields that the experiment sets.
    pub fields: Fields,
    /// The body.
    pub content: BodyContent,
    /// Whether the cookies of its journey go with it.
    pub cookies: bool,
    /// Whether a trace id may go with it.
    pub traced: bool,
}

/// Reads what all versions of HTTP have in common.
///
/// Errors: every problem of the protocol's table, of `expect` and of the items
pub fn drafts(planned: &plan::operation::Operation) -> Result<OperationDraft, Vec<Diagnostic>> {
    let scope = planned.scope();
    let mut reader = Reader::new(&planned.table);
    let continuation = read_continuation(&mut reader, planned.is_step);
    let draft = RequestDraft::read(&mut reader, scope, continuation.cookies);
    let draft = RequestDraft { traced: planned.is_traced, ..draft };
    if let Err(what) = draft.check_trace() {
        let span = planned.table.get("header").map_or(planned.table.span, |one| one.node.span);
        let problem = Diagnostic::new(span, what, "a request has one such header");
        reader.problem(problem.with_hint("remove this header, or `[trace]`"));
    }
    parts::check(&mut reader);
    let stream = stream::read(&mut reader);
    let mut problems = reader.finish();
    let expectation = expect::read(planned, stream, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let span = planned.table.span;
    let address = match &draft.path {
        Piece::Url(template) => Some(template.clone()),
        _ => None,
    };
    let address = address.map(|template| Address { template, rows: planned.rows.clone() });
    let requests = match planned.requests.as_deref() {
        Some(listed) => listed.iter().map(|request| draft.of_row(request, span)).collect(),
        None => Ok(vec![draft]),
    };
    let requests = requests.map_err(|problem| vec![problem])?;
    Ok(OperationDraft { requests, address, expectation, continuation })
}

/// `cookies`, which are kept in journeys alone, and `follow`.
fn read_continuation(reader: &mut Reader<'_>, is_step: bool) -> Continuation {
    let cookies = reader.boolean("cookies").unwrap_or(true) && is_step;
    let follow = reader.count("follow", 0, FOLLOW_LIMIT).unwrap_or(0);
    Continuation { cookies, follow: u32::try_from(follow).unwrap_or_default() }
}

impl OperationDraft {
    /// The requests that follow redirects, where any is followed, as `encode` makes them.
    ///
    /// Errors: those of `encode`
    pub fn redirected<R, E>(
        &self,
        encode: impl Fn(&RequestDraft) -> Result<R, E>,
    ) -> Result<Vec<Redirected<R>>, E> {
        let followed = if self.continuation.follow > 0 { self.requests.as_slice() } else { &[] };
        let redirected = followed.iter().map(|draft| {
            let within = RequestDraft { path: Piece::Location, query: Vec::new(), ..draft.clone() };
            let mut elsewhere = within.clone();
            elsewhere.fields.remove(&OF_THE_ORIGIN);
            let by_method = |same: &RequestDraft| {
                let (same, as_get) = (encode(same)?, encode(&same.as_get())?);
                Ok(ByMethod { same, as_get })
            };
            let method = Method::of(&draft.method);
            Ok(Redirected {
                within: by_method(&within)?,
                elsewhere: by_method(&elsewhere)?,
                method,
            })
        });
        redirected.collect()
    }
}

impl RequestDraft {
    fn read(reader: &mut Reader<'_>, scope: Scope<'_>, cookies: bool) -> Self {
        let content = payload::read(reader, scope);
        let method = read_method(reader, &content);
        Self { method, content, cookies, ..Self::head(reader, scope) }
    }

    /// Reads a GET without a body: path, query, header fields and credentials.
    pub fn head(reader: &mut Reader<'_>, scope: Scope<'_>) -> Self {
        let path = read_path(reader, scope);
        let query = query::read(reader, scope);
        let mut fields = fields::read(reader, scope);
        if let Some(value) = auth::read(reader, scope, &fields) {
            fields.push(Field { name: "authorization".to_owned(), value }, true);
        }
        let (method, content) = ("GET".to_owned(), BodyContent::default());
        Self { method, path, query, fields, content, cookies: false, traced: false }
    }

    /// Errors: the experiment sets the header that is ours
    fn check_trace(&self) -> Result<(), String> {
        match self.traced && self.fields.has(traceparent::NAME) {
            true => {
                Err("both this operation and `[trace]` set the header `traceparent`".to_owned())
            }
            false => Ok(()),
        }
    }

    /// A GET without a body to the same place.
    fn as_get(&self) -> Self {
        let mut fields = self.fields.clone();
        fields.remove(&OF_THE_BODY);
        let (method, content) = ("GET".to_owned(), BodyContent::default());
        Self { method, content, fields, ..self.clone() }
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
        encoding::path(row.path.as_bytes(), &mut target);
        let content = match row.body.as_slice() {
            [] => self.content.clone(),
            body => {
                BodyContent { payload: Some(Payload::Literal(body.into())), content_type: None }
            }
        };
        let (method, path) = (row.method.clone(), Piece::Literal(target));
        let request = Self { method, path, fields, content, ..self.clone() };
        request.check_trace().map_err(&refuse)?;
        Ok(request)
    }

    /// Every field in order: those that a request has unless the experiment sets them, then its own.
    pub fn fields(&self) -> impl Iterator<Item = (&str, Piece)> {
        let defaults = fields::DEFAULTS.iter().filter(|(name, _)| !self.fields.has(name));
        let defaults = defaults.map(|(name, value)| (*name, fields::literal(value)));
        let own = self.fields.iter().map(|field| (field.name.as_str(), field.value.clone()));
        let kind = self.content.content_type.as_ref();
        let kind = kind.filter(|_| !self.fields.has("content-type"));
        let kind = kind.map(|kind| ("content-type", fields::literal(kind)));
        let length = self.length().map(|length| ("content-length", length));
        defaults.chain(own).chain(kind).chain(length)
    }

    /// The request target: path and query.
    pub fn target(&self) -> Vec<Piece> {
        let mut pieces = Pieces::default();
        pieces.piece(self.path.clone());
        if !self.query.is_empty() {
            pieces.piece(match &self.path {
                Piece::Literal(path) if path.contains(&b'?') => Piece::Literal(b"&".to_vec()),
                Piece::Literal(_) => Piece::Literal(b"?".to_vec()),
                _ => Piece::QueryJoint,
            });
        }
        self.query.iter().for_each(|piece| pieces.piece(piece.clone()));
        pieces.0
    }

    /// Whether the cookies of the journey go with it; a field `cookie` of its own takes their place.
    pub fn sends_cookies(&self) -> bool {
        self.cookies && !self.fields.has("cookie")
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

/// `path`, `/` by default, or `url`: of one whose host is known, the plan makes the target.
fn read_path(reader: &mut Reader<'_>, scope: Scope<'_>) -> Piece {
    let root = || Piece::Literal(b"/".to_vec());
    if let Some((text, span)) = reader.string("url") {
        if reader.string("path").is_some() {
            let what = "`url` and `path` exclude each other";
            reader.problem(Diagnostic::new(span, what, "remove one of them"));
        }
        return match split_url(text) {
            Some((_, path)) => template(reader, path, span, scope).map_or_else(root, path_piece),
            None => template(reader, text, span, scope).map_or_else(root, Piece::Url),
        };
    }
    let Some((text, span)) = reader.string("path") else {
        return root();
    };
    if !text.starts_with('/') && !text.starts_with("{{") {
        let what = format!("path {text:?} does not begin with /");
        let problem = Diagnostic::new(span, what, "expected a path such as /search?q=1");
        reader.problem(problem.with_hint("the host belongs into `target`"));
        return root();
    }
    template(reader, text, span, scope).map_or_else(root, path_piece)
}

fn path_piece(template: Template) -> Piece {
    match template.literal() {
        Some(literal) => {
            let mut target = Vec::new();
            encoding::path(literal.as_bytes(), &mut target);
            Piece::Literal(target)
        }
        None => Piece::Path(template),
    }
}
