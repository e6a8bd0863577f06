//! A request as HTTP/2 takes it: what does not depend on the call is made at compile time, and shared.

use bytes::Bytes;
use http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, Parts, PathAndQuery};
use http::{Method, Uri, Version};
use plan::trace::TraceContext;

use super::connection::{PreparedRequest, RenderBuffers, RequestOrigin};
use crate::http::compile::request::RequestDraft;
use crate::http::request::{Payload, Piece, RenderContext};
use crate::http::traceparent;

/// What may stand in a request target of HTTP/1.1 as this instrument sends it, but not in a URI.
const NOT_IN_A_URI: &[u8] = b"#<>`";

/// Fields that say something of the one connection of HTTP/1.1 (RFC 9113 section 8.2.2); those that frame the body are
/// left out of both.
pub(crate) const OF_A_CONNECTION: [&str; 4] =
    ["connection", "keep-alive", "proxy-connection", "upgrade"];

/// One request, ready to be made for any call.
#[derive(Debug)]
pub struct Request {
    method: Method,
    path: Path,
    /// Whether the cookies of the journey go with it.
    cookies: bool,
    /// Whether a trace id may go with it.
    traced: bool,
    /// Instead of that of the target.
    authority: Option<Authority>,
    /// Fields that are the same for every call.
    fields: HeaderMap,
    /// Fields with something of the call in them.
    rendered: Vec<(HeaderName, Piece)>,
    body: Body,
}

#[derive(Debug)]
enum Path {
    Same(PathAndQuery),
    Rendered(Vec<Piece>),
}

#[derive(Debug)]
enum Body {
    Same(Bytes),
    Rendered(Payload),
}

impl Request {
    /// What this draft comes to.
    ///
    /// Errors: what of it cannot be said
    pub fn of(draft: &RequestDraft) -> Result<Self, String> {
        let method = Method::from_bytes(draft.method.as_bytes())
            .map_err(|error| format!("method {:?}: {error}", draft.method))?;
        let pieces = draft.target();
        let path = match pieces.as_slice() {
            [Piece::Literal(bytes)] => Path::Same(target(bytes.clone().into())?),
            _ => Path::Rendered(pieces),
        };
        let body = match &draft.content.payload {
            None => Body::Same(Bytes::new()),
            Some(Payload::Literal(bytes)) => Body::Same(Bytes::copy_from_slice(bytes)),
            Some(rendered) => Body::Rendered(rendered.clone()),
        };
        let (fields, rendered) = (HeaderMap::new(), Vec::new());
        let cookies = draft.sends_cookies();
        let (authority, traced) = (None, draft.traced);
        let mut request = Self { method, path, cookies, traced, authority, fields, rendered, body };
        for (name, value) in draft.fields() {
            request.add(name, value)?;
        }
        Ok(request)
    }

    /// `host` is said as the authority, and nowhere else.
    fn add(&mut self, name: &str, value: Piece) -> Result<(), String> {
        let refuse = |error: &dyn std::fmt::Display| format!("header {name}: {error}");
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|error| refuse(&error))?;
        if OF_A_CONNECTION.contains(&parsed.as_str()) {
            return Err(format!("header {name} has no place in HTTP/2"));
        }
        match value {
            Piece::Literal(bytes) if parsed == http::header::HOST => {
                let authority = Authority::from_maybe_shared(Bytes::from(bytes));
                self.authority = Some(authority.map_err(|error| refuse(&error))?);
            }
            // Values of one name keep their order.
            Piece::Literal(bytes) if self.rendered.iter().all(|(other, _)| *other != parsed) => {
                let value = HeaderValue::from_maybe_shared(Bytes::from(bytes));
                self.fields.append(parsed, value.map_err(|error| refuse(&error))?);
            }
            value => self.rendered.push((parsed, value)),
        }
        Ok(())
    }

    /// Whether it holds credentials that depend on the call.
    pub fn is_confidential(&self) -> bool {
        self.rendered.iter().any(|(_, piece)| piece.is_confidential())
    }

    /// The request of one call, to this origin.
    ///
    /// Errors: what of it cannot be sent
    /// Cost:   O(n) time; allocates for the map of its fields, which the connection keeps
    pub fn prepare(
        &self,
        context: &RenderContext<'_>,
        origin: &RequestOrigin,
        memory: &mut RenderBuffers,
    ) -> Result<PreparedRequest, String> {
        let body = match &self.body {
            Body::Same(bytes) => bytes.clone(),
            Body::Rendered(payload) => {
                payload.append(context, &mut memory.rendered, &mut memory.out);
                memory.take()
            }
        };
        let mut parts = Parts::default();
        parts.scheme = Some(origin.scheme.clone());
        parts.authority = Some(self.authority.as_ref().unwrap_or(&origin.authority).clone());
        parts.path_and_query = Some(match &self.path {
            Path::Same(path) => path.clone(),
            Path::Rendered(pieces) => target(render(pieces, context, 0, memory))?,
        });
        let mut head = http::Request::new(());
        *head.method_mut() = self.method.clone();
        *head.uri_mut() = Uri::from_parts(parts).map_err(|error| format!("path: {error}"))?;
        *head.version_mut() = Version::HTTP_2;
        *head.headers_mut() = self.fields.clone();
        for (name, piece) in &self.rendered {
            let value = render(std::slice::from_ref(piece), context, body.len(), memory);
            let value = HeaderValue::from_maybe_shared(value)
                .map_err(|error| format!("header {name}: {error}"))?;
            head.headers_mut().append(name.clone(), value);
        }
        if self.cookies {
            add_cookies(&mut head, context, memory)?;
        }
        if let Some(trace) = context.call.trace.as_ref().filter(|_| self.traced) {
            add_trace(&mut head, trace, memory)?;
        }
        Ok(PreparedRequest { head, body })
    }
}

/// Adds the field `cookie` with the cookies of the journey, if any.
fn add_cookies(
    head: &mut http::Request<()>,
    context: &RenderContext<'_>,
    memory: &mut RenderBuffers,
) -> Result<(), String> {
    let target = head.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    context.append_cookie_value(target, &mut memory.out);
    if !memory.out.is_empty() {
        let value = HeaderValue::from_maybe_shared(memory.take())
            .map_err(|error| format!("header cookie: {error}"))?;
        head.headers_mut().append(COOKIE, value);
    }
    Ok(())
}

/// Adds the field `traceparent`.
pub(crate) fn add_trace(
    head: &mut http::Request<()>,
    trace: &TraceContext,
    memory: &mut RenderBuffers,
) -> Result<(), String> {
    const NAME: HeaderName = HeaderName::from_static(traceparent::NAME);
    traceparent::append_value(trace, &mut memory.out);
    let mut value = HeaderValue::from_maybe_shared(memory.take())
        .map_err(|error| format!("header traceparent: {error}"))?;
    // The value never comes again: the compression must not let it push out those that do.
    value.set_sensitive(true);
    head.headers_mut().append(NAME, value);
    Ok(())
}

fn render(
    pieces: &[Piece],
    context: &RenderContext<'_>,
    length: usize,
    memory: &mut RenderBuffers,
) -> Bytes {
    for piece in pieces {
        piece.append(context, length, &mut memory.rendered, &mut memory.out);
    }
    memory.take()
}

/// A request target whose other bytes are percent-encoded already.
fn target(mut text: Bytes) -> Result<PathAndQuery, String> {
    if text.iter().any(|byte| NOT_IN_A_URI.contains(byte)) {
        let encode = |byte: &u8| match NOT_IN_A_URI.contains(byte) {
            true => format!("%{byte:02X}").into_bytes(),
            false => vec![*byte],
        };
        text = text.iter().flat_map(encode).collect::<Vec<u8>>().into();
    }
    PathAndQuery::from_maybe_shared(text).map_err(|error| format!("path: {error}"))
}
