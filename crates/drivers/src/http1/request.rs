//! A request as HTTP/1.1 sends it: literal bytes, and templates where the experiment has them.

use crate::http::request::{Payload, Piece, RenderContext};

/// Literal bodies up to this size are sent in one write with the head; longer ones are sent from
/// where they lie, so that connections do not each hold a copy.
const INLINE_LIMIT: usize = 64 * 1024;

/// One request, ready to be encoded for any call.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whether the answer has no body because the method is HEAD.
    pub is_head: bool,
    /// The head, up to and including its empty line.
    pub head: Vec<Piece>,
    /// The body.
    pub body: Payload,
}

/// Memory for rendering, kept from one operation to the next.
#[derive(Debug, Clone, Default)]
pub struct RenderBuffers {
    rendered: Vec<u8>,
    body: Vec<u8>,
}

impl Request {
    /// Appends the request to `out`, all but its `tail`.
    ///
    /// Cost:   O(n) time; allocates only when a buffer must grow
    pub fn encode(
        &self,
        context: &RenderContext<'_>,
        scratch: &mut RenderBuffers,
        out: &mut Vec<u8>,
    ) {
        let RenderBuffers { rendered, body } = scratch;
        body.clear();
        if self.body.literal().is_none() {
            self.body.append(context, rendered, body);
        }
        let length = self.body.literal().map_or(body.len(), <[u8]>::len);
        for piece in &self.head {
            piece.append(context, length, rendered, out);
        }
        out.extend_from_slice(body);
        if let Some(literal) = self.body.literal().filter(|body| body.len() <= INLINE_LIMIT) {
            out.extend_from_slice(literal);
        }
    }

    /// What is to be sent after the encoded bytes.
    pub fn tail(&self) -> &[u8] {
        self.body.literal().filter(|body| body.len() > INLINE_LIMIT).unwrap_or_default()
    }
}
