//! A request as it will be sent: literal bytes, and templates where the experiment has them.
//!
//! Everything that does not depend on the call is encoded at compile time.

use std::io::Write;
use std::sync::Arc;

use engine::driver::Call;
use plan::rows::Rows;
use plan::template::Template;
use url::Url;

use super::encoding::{basic, bearer, form_text, json_text, path, percent_encoded};
use super::field::is_text;
use super::{address, cookies, traceparent};

/// A piece of a head.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// Host and port of the target.
    Authority,
    /// A request target; what may not stand in one is percent-encoded.
    Path(Template),
    /// What joins a query to the path at the end of `out`: `?`, or `&` where the path has a query already.
    QueryJoint,
    /// Part of a query; all but letters, digits and `-._~` is percent-encoded.
    Query(Template),
    /// Path and query of an address.
    Url(Template),
    /// Path and query that a redirect leads to.
    Location,
    /// The value of a field; a line break becomes a blank.
    Value(Template),
    /// The value of `authorization`.
    Credentials(Credentials),
    /// The field `cookie` with the cookies of the journey, if any.
    Cookies,
    /// The field `traceparent`, if the call has a trace id.
    Trace,
    /// Length of the body in decimal.
    Length,
}

/// Credentials that depend on the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Credentials {
    /// A token (RFC 6750).
    Bearer(Template),
    /// User and password (RFC 7617).
    Basic(Template, Template),
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// The same for every call; may be empty.
    Literal(Arc<[u8]>),
    /// Put together for each call.
    Segments(Vec<Segment>),
}

/// A segment of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// These bytes.
    Literal(Vec<u8>),
    /// As rendered.
    Text(Template),
    /// As rendered, within a JSON string.
    Json(Template),
    /// As rendered, within a form; all but letters, digits and `-._*` is percent-encoded, a blank is `+`.
    Form(Template),
}

/// What templates are rendered with.
#[derive(Debug, Clone, Copy)]
pub struct RenderContext<'a> {
    /// The operation about to be performed.
    pub call: &'a Call,
    /// Its data.
    pub rows: Option<&'a Rows>,
    /// Host and port of the target.
    pub authority: &'a str,
    /// Whether it is spoken to over TLS.
    pub is_secure: bool,
    /// Path and query that a redirect leads to; empty without one.
    pub location: &'a str,
}

impl Payload {
    /// Appends the body of this call.
    pub fn append(&self, context: &RenderContext<'_>, rendered: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Segments(segments) => {
                segments.iter().for_each(|segment| segment.append(context, rendered, out));
            }
        }
    }

    /// The body, if it is the same for every call.
    pub fn literal(&self) -> Option<&[u8]> {
        match self {
            Self::Literal(bytes) => Some(bytes),
            Self::Segments(_) => None,
        }
    }
}

impl Piece {
    /// Whether it holds credentials that depend on the call, which no list of secrets knows.
    pub fn is_confidential(&self) -> bool {
        matches!(self, Self::Credentials(_))
    }

    /// Appends it for this call, whose body has this length; `rendered` is memory to work in.
    pub fn append(
        &self,
        context: &RenderContext<'_>,
        body_length: usize,
        rendered: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Authority => out.extend_from_slice(context.authority.as_bytes()),
            Self::Path(template) => path(context.render(template, rendered), out),
            Self::Url(template) => {
                let text = context.render(template, rendered);
                address::append_target(&context.origin(), text, out);
            }
            Self::QueryJoint => out.push(if out.contains(&b'?') { b'&' } else { b'?' }),
            Self::Query(template) => percent_encoded(context.render(template, rendered), out),
            Self::Location => out.extend_from_slice(context.location.as_bytes()),
            Self::Credentials(credentials) => credentials.append(context, rendered, out),
            Self::Cookies => context.append_cookies(out),
            Self::Trace => {
                if let Some(trace) = &context.call.trace {
                    traceparent::append_line(trace, out);
                }
            }
            Self::Value(template) => {
                let value = context.render(template, rendered);
                out.extend(value.iter().map(|&byte| if is_text(byte) { byte } else { b' ' }));
            }
            Self::Length => {
                write!(out, "{body_length}").expect("writing to memory does not fail");
            }
        }
    }
}

impl Credentials {
    fn append(&self, context: &RenderContext<'_>, rendered: &mut Vec<u8>, out: &mut Vec<u8>) {
        rendered.clear();
        match self {
            Self::Bearer(token) => {
                token.render(context.call, context.rows, rendered);
                bearer(rendered, out);
            }
            Self::Basic(user, password) => {
                user.render(context.call, context.rows, rendered);
                rendered.push(b':');
                password.render(context.call, context.rows, rendered);
                basic(rendered, out);
            }
        }
    }
}

impl Segment {
    fn append(&self, context: &RenderContext<'_>, rendered: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Self::Literal(bytes) => out.extend_from_slice(bytes),
            Self::Text(template) => template.render(context.call, context.rows, out),
            Self::Json(template) => json_text(context.render(template, rendered), out),
            Self::Form(template) => form_text(context.render(template, rendered), out),
        }
    }
}

impl RenderContext<'_> {
    /// The address of a request for this path and query.
    pub fn url(&self, target: &str) -> Option<Url> {
        Url::parse(&format!("{}{target}", self.origin())).ok()
    }

    fn origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// The cookies for a request for this path and query, if the journey has any.
    pub fn append_cookie_value(&self, target: &str, out: &mut Vec<u8>) {
        let memory = self.call.memory.as_deref().filter(|memory| cookies::has_any(memory));
        if let Some((memory, url)) = memory.and_then(|memory| Some((memory, self.url(target)?))) {
            cookies::append(&url, memory, out);
        }
    }

    /// Appends the field `cookie` to the request that is in `out`.
    fn append_cookies(&self, out: &mut Vec<u8>) {
        const NAME: &[u8] = b"cookie: ";
        if !self.call.memory.as_deref().is_some_and(cookies::has_any) {
            return;
        }
        let target = target(out).to_owned();
        out.extend_from_slice(NAME);
        let before = out.len();
        self.append_cookie_value(&target, out);
        if out.len() > before {
            out.extend_from_slice(b"\r\n");
        } else {
            out.truncate(before - NAME.len());
        }
    }

    fn render<'a>(&self, template: &Template, rendered: &'a mut Vec<u8>) -> &'a [u8] {
        rendered.clear();
        template.render(self.call, self.rows, rendered);
        rendered
    }
}

/// A request as it may be shown: its credentials replaced.
pub fn without_credentials(request: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"authorization: ";
    let mut shown = Vec::with_capacity(request.len());
    let mut in_head = true;
    for line in request.split_inclusive(|&byte| byte == b'\n') {
        in_head &= line != b"\r\n";
        match line.strip_prefix(NAME).filter(|_| in_head) {
            Some(value) => {
                let scheme = value.split(|&byte| byte == b' ').next().unwrap_or_default();
                shown.extend_from_slice(&[NAME, scheme, b" (hidden)\r\n"].concat());
            }
            None => shown.extend_from_slice(line),
        }
    }
    shown
}

/// Path and query of the request that these bytes begin.
pub fn target(request: &[u8]) -> &str {
    let target = request.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    std::str::from_utf8(target).unwrap_or_default()
}
