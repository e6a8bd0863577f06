//! The `http` table: path, method, header, body.

use plan::diagnostic::{Diagnostic, Span};
use plan::document::Reader;
use plan::rows::Rows;
use plan::template::Template;

use super::expect;
use super::fields::{self, Field, Fields};
use super::parts;
use super::payload::{self, Content};
use crate::http1::codec::field::is_token;
use crate::http1::operation::Operation;
use crate::http1::request::{self, Payload, Piece, Request};
use crate::http1::told::Told;
use crate::table::template;

/// Compiles an operation of the plan.
///
/// Errors: every problem of its `http` and `expect` tables and of its items
pub fn operation(planned: &plan::operation::Operation) -> Result<Operation, Vec<Diagnostic>> {
    let rows = planned.rows.as_deref();
    let mut reader = Reader::new(&planned.table);
    let draft = Draft::read(&mut reader, planned.table.span, rows);
    parts::check(&mut reader);
    let mut problems = reader.finish();
    let expectation = expect::read(planned, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let requests = match planned.requests.as_deref() {
        Some(listed) => listed.iter().map(|request| draft.of_row(request)).collect(),
        None => Ok(vec![draft.request(&draft.method, draft.path.clone(), &draft.content)]),
    };
    Ok(Operation {
        requests: requests.map_err(|problem| vec![problem])?,
        rows: planned.rows.clone(),
        statuses: expectation.statuses,
        rules: expectation.rules,
        items: expectation.items,
        told: Told::of(&planned.parts),
    })
}

/// The table as read, before it is encoded.
struct Draft {
    span: Span,
    method: String,
    path: Piece,
    fields: Fields,
    content: Content,
}

impl Draft {
    fn read(reader: &mut Reader<'_>, span: Span, rows: Option<&Rows>) -> Self {
        let content = payload::read(reader, rows);
        let method = read_method(reader, &content);
        let path = read_path(reader, rows);
        let fields = fields::read(reader, rows);
        Self { span, method, path, fields, content }
    }

    fn request(&self, method: &str, path: Piece, content: &Content) -> Request {
        encode(method, path, &self.fields, content)
    }

    /// A request of a target file: what it leaves open comes from the table.
    fn of_row(&self, row: &plan::operation::Request) -> Result<Request, Diagnostic> {
        let refuse =
            |what: String| Diagnostic::new(self.span, what, "in the requests of this operation");
        check_method(&row.method).map_err(&refuse)?;
        let mut fields = self.fields.clone();
        for (name, value) in &row.headers {
            fields::check_name(name).map_err(&refuse)?;
            fields.push(Field { name: name.clone(), value: fields::literal(value) }, true);
        }
        let mut target = Vec::new();
        request::path(row.path.as_bytes(), &mut target);
        let path = Piece::Literal(target);
        if row.body.is_empty() {
            return Ok(encode(&row.method, path, &fields, &self.content));
        }
        let body = Payload::Literal(row.body.as_slice().into());
        Ok(encode(&row.method, path, &fields, &Content { payload: Some(body), is_json: false }))
    }
}

/// Puts the head together, literal pieces joined.
fn encode(method: &str, path: Piece, fields: &Fields, content: &Content) -> Request {
    let mut head = Head::default();
    head.text(method);
    head.text(" ");
    head.piece(path);
    head.text(" HTTP/1.1\r\n");
    if !fields.has("host") {
        head.text("host: ");
        head.piece(Piece::Authority);
        head.text("\r\n");
    }
    for (name, value) in fields::DEFAULTS {
        if !fields.has(name) {
            head.text(&format!("{name}: {value}\r\n"));
        }
    }
    for field in fields.iter() {
        head.text(&format!("{}: ", field.name));
        head.piece(field.value.clone());
        head.text("\r\n");
    }
    if content.is_json && !fields.has("content-type") {
        head.text("content-type: application/json\r\n");
    }
    head.length(method, content);
    head.text("\r\n");
    let body = content.payload.clone().unwrap_or_else(|| Payload::Literal([].into()));
    Request { is_head: method == "HEAD", head: head.0, body }
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

    /// `content-length`, where there is a body or the method suggests one (RFC 9110 section 8.6).
    fn length(&mut self, method: &str, content: &Content) {
        match &content.payload {
            Some(Payload::Literal(bytes)) => {
                self.text(&format!("content-length: {}\r\n", bytes.len()));
            }
            Some(Payload::Segments(_)) => {
                self.text("content-length: ");
                self.piece(Piece::Length);
                self.text("\r\n");
            }
            None if matches!(method, "POST" | "PUT" | "PATCH") => {
                self.text("content-length: 0\r\n");
            }
            None => {}
        }
    }
}

/// `method`: GET, or POST where there is a body.
fn read_method(reader: &mut Reader<'_>, content: &Content) -> String {
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

/// A piece of a head from a template: literal bytes where it holds no placeholder.
pub fn value(template: Template) -> Piece {
    match template.literal() {
        Some(literal) => fields::literal(literal),
        None => Piece::Value(template),
    }
}
