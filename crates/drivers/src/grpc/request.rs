//! A call as it is sent: what does not depend on the call is made at compile time, and shared.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::{Parts, PathAndQuery};
use http::{Method, Uri, Version};
use prost_reflect::MessageDescriptor;

use super::{frame, json};
use crate::http::request::{Payload, Piece, RenderContext};
use crate::http2::connection::{PreparedRequest, RenderBuffers, RequestOrigin};
use crate::http2::request::add_trace;

/// One call, ready to be made.
#[derive(Debug)]
pub struct Request {
    /// `/service/method`.
    pub path: PathAndQuery,
    /// Fields that are the same for every call.
    pub fields: HeaderMap,
    /// Metadata with something of the call in it.
    pub rendered: Vec<(HeaderName, Piece)>,
    /// Whether a trace id may go with it.
    pub traced: bool,
    /// What is sent.
    pub messages: Messages,
    /// What each message is.
    pub descriptor: MessageDescriptor,
}

/// The messages of a call, each with its prefix.
#[derive(Debug)]
pub enum Messages {
    /// The same for every call.
    Same(Bytes),
    /// JSON texts, at least one of them with placeholders.
    Rendered(Vec<Payload>),
}

impl Request {
    /// The request of one call, to this origin.
    ///
    /// Errors: what of it cannot be sent
    /// Cost:   O(n) time; allocates for the map of its fields and for messages with placeholders
    pub fn prepare(
        &self,
        context: &RenderContext<'_>,
        origin: &RequestOrigin,
        buffers: &mut RenderBuffers,
    ) -> Result<PreparedRequest, String> {
        let body = match &self.messages {
            Messages::Same(bytes) => bytes.clone(),
            Messages::Rendered(texts) => {
                for (place, text) in (1..).zip(texts) {
                    self.append(text, context, buffers).map_err(|error| match texts.len() {
                        1 => format!("message: {error}"),
                        _ => format!("message {place}: {error}"),
                    })?;
                }
                buffers.take()
            }
        };
        let mut parts = Parts::default();
        parts.scheme = Some(origin.scheme.clone());
        parts.authority = Some(origin.authority.clone());
        parts.path_and_query = Some(self.path.clone());
        let mut head = http::Request::new(());
        *head.method_mut() = Method::POST;
        *head.uri_mut() = Uri::from_parts(parts).map_err(|error| format!("path: {error}"))?;
        *head.version_mut() = Version::HTTP_2;
        *head.headers_mut() = self.fields.clone();
        for (name, piece) in &self.rendered {
            piece.append(context, 0, &mut buffers.rendered, &mut buffers.out);
            let value = HeaderValue::from_maybe_shared(buffers.take())
                .map_err(|error| format!("metadata {name}: {error}"))?;
            head.headers_mut().append(name.clone(), value);
        }
        if let Some(trace) = context.call.trace.as_ref().filter(|_| self.traced) {
            add_trace(&mut head, trace, buffers)?;
        }
        Ok(PreparedRequest { head, body })
    }

    /// Appends one message to `buffers.out`, which is emptied after an error.
    fn append(
        &self,
        text: &Payload,
        context: &RenderContext<'_>,
        buffers: &mut RenderBuffers,
    ) -> Result<(), String> {
        let mut rendered = Vec::new();
        text.append(context, &mut buffers.rendered, &mut rendered);
        let encoded =
            frame::append(&mut buffers.out, |out| json::encode(&self.descriptor, &rendered, out));
        if encoded.is_err() {
            buffers.out.clear();
        }
        encoded
    }
}
