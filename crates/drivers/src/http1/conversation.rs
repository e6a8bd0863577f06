//! One connection: its stream, its buffers, and the moving of bytes.
//!
//! A small operation costs one write and one read: tokio knows after a short read that a socket is
//! drained, and does not try again before it is readable. So the buffer must be larger than the
//! usual answer: it doubles after a read that filled it.
//!
//! Not here: what the bytes mean (see `codec` and `answer`).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::Stream;
use plan::rows::Rows;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::answer::SentRequest;
use super::codec::head::{self, Head};
use super::request::{RenderBuffers, Request};
use crate::http::answer::{Answer, Failure, Keep};
use crate::http::carrier::Carrier;
use crate::http::head::HEAD_LIMIT;
use crate::http::progress::Progress;
use crate::http::protocol_error::ProtocolError;
use crate::http::request::{RenderContext, target};

/// Bytes of a read at first; thousands of connections at a time should not hold more than they need.
const FIRST_READ: usize = 8 * 1024;

/// Longest head that is remembered, to be recognised when it comes again.
const KNOWN_LIMIT: usize = 1024;

/// Why no more bytes came.
#[derive(Debug)]
pub enum ReadError {
    /// The stream failed.
    Stream(io::Error),
    /// So many bytes were there before the request was sent; 0: the peer had closed.
    Stale(usize),
}

/// A connection that carries one operation at a time.
#[derive(Debug)]
pub struct Conversation {
    stream: Stream,
    /// For the `host` field.
    authority: Box<str>,
    /// Whether the stream is TLS.
    is_secure: bool,
    pub(super) progress: Progress,
    scratch: RenderBuffers,
    pub(super) output: WriteBuffer,
    pub(super) input: ReadBuffer,
}

/// The encoded request, and how much of it is gone.
#[derive(Debug, Default)]
pub struct WriteBuffer {
    /// Head and small body.
    pub(super) bytes: Vec<u8>,
    sent: usize,
    flushed: bool,
    /// Whether anything was tried since the request was encoded.
    begun: bool,
    /// Why the rest cannot be sent. The answer may come all the same.
    broken: Option<io::Error>,
}

/// What was read and not yet understood.
#[derive(Debug)]
pub struct ReadBuffer {
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    /// Length of the head when it was last found to be incomplete.
    tried: usize,
    known: CachedHead,
}

/// The last head that was understood.
///
/// A server answers the same question with the same bytes, but for a date each second; comparing
/// them costs a fraction of parsing them again, and the same bytes mean the same.
#[derive(Debug)]
struct CachedHead {
    bytes: Vec<u8>,
    request_was_head: bool,
    head: Option<Head>,
}

impl Conversation {
    /// A conversation over this stream; `authority` is what the `host` field says.
    pub fn new(stream: Stream, authority: &str) -> Self {
        Self {
            is_secure: stream.is_tls(),
            stream,
            authority: authority.into(),
            progress: Progress::default(),
            scratch: RenderBuffers::default(),
            output: WriteBuffer::default(),
            input: ReadBuffer::default(),
        }
    }

    /// Reads once into the input, sending meanwhile what is unsent of the output and of `tail`.
    ///
    /// Shape:  → bytes read; 0 at the end of the connection
    /// Errors: the stream's, or `Stale` if there were bytes before the request was sent
    /// Cost:   one write for each request and one read for each call, no allocation
    pub async fn fill<C: Clock>(
        &mut self,
        tail: &[u8],
        exchange: &mut Exchange<C>,
    ) -> Result<usize, ReadError> {
        self.input.make_room();
        poll_fn(|context| self.poll_fill(tail, context, exchange)).await
    }

    /// Resolves when the peer closes or sends unexpected bytes. Nothing is lost when it is
    /// dropped: what was read stays in the input, and the next `fill` reports it as stale.
    pub async fn idle(&mut self) {
        if !self.input.is_empty() {
            return;
        }
        self.input.make_room();
        // Whether bytes, the end or an error: the connection carries nothing more.
        let _ = poll_fn(|context| self.input.poll(&mut self.stream, context)).await;
    }

    /// Whether the whole request is on its way.
    pub fn is_sent(&self) -> bool {
        self.output.flushed
    }

    /// Why the request could not be sent whole.
    pub fn send_error(&self) -> Option<&io::Error> {
        self.output.broken.as_ref()
    }

    fn poll_fill<C: Clock>(
        &mut self,
        tail: &[u8],
        context: &mut Context<'_>,
        exchange: &mut Exchange<C>,
    ) -> Poll<Result<usize, ReadError>> {
        if !self.output.begun {
            self.output.begun = true;
            if !self.input.is_empty() {
                return Poll::Ready(Err(ReadError::Stale(self.input.unread().len())));
            }
            if let Poll::Ready(stale) = self.input.poll(&mut self.stream, context) {
                return Poll::Ready(stale.map_or_else(
                    |error| Err(ReadError::Stream(error)),
                    |length| Err(ReadError::Stale(length)),
                ));
            }
            self.output.drive(&mut self.stream, tail, context, exchange);
            if self.output.broken.is_none() {
                // The read above has asked to be woken; asking again would only cost time.
                return Poll::Pending;
            }
        } else if !self.output.flushed {
            self.output.drive(&mut self.stream, tail, context, exchange);
        }
        let read = ready!(self.input.poll(&mut self.stream, context)).map_err(ReadError::Stream)?;
        exchange.bytes_received += read as u64;
        Poll::Ready(Ok(read))
    }
}

impl Carrier for Conversation {
    type Request = Request;

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn authority(&self) -> &str {
        &self.authority
    }

    fn is_secure(&self) -> bool {
        self.is_secure
    }

    fn target(&self) -> &str {
        target(&self.output.bytes)
    }

    fn encode(&mut self, request: &Request, rows: Option<&Rows>, _answers_need_target: bool) {
        self.output.clear();
        self.input.clear();
        let Self { authority, is_secure, progress, scratch, output, .. } = self;
        let location = progress.redirection.target.as_str();
        let (call, is_secure) = (&progress.call, *is_secure);
        let context = RenderContext { call, rows, authority, is_secure, location };
        request.encode(&context, scratch, &mut output.bytes);
    }

    async fn exchange<C: Clock>(
        &mut self,
        request: &Request,
        keep: Keep<'_>,
        exchange: &mut Exchange<C>,
    ) -> Result<Answer, Failure> {
        let (tail, is_head) = (request.tail(), request.is_head);
        let sent_request = SentRequest { tail, is_head, keep, began: exchange.started_at };
        self.converse(&sent_request, exchange).await
    }
}

impl WriteBuffer {
    fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
        self.flushed = false;
        self.begun = false;
        self.broken = None;
    }

    /// Sends as much as the stream takes now.
    fn drive<C: Clock>(
        &mut self,
        stream: &mut Stream,
        tail: &[u8],
        context: &mut Context<'_>,
        exchange: &mut Exchange<C>,
    ) {
        if self.broken.is_some() {
            return;
        }
        let before = self.sent;
        match self.poll_send(stream, tail, context) {
            Poll::Ready(Ok(())) => self.flushed = true,
            Poll::Ready(Err(error)) => self.broken = Some(error),
            Poll::Pending => {}
        }
        exchange.bytes_sent += (self.sent - before) as u64;
    }

    fn poll_send(
        &mut self,
        stream: &mut Stream,
        tail: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() + tail.len() {
            let unsent = match self.bytes.get(self.sent..) {
                Some(bytes) if !bytes.is_empty() => bytes,
                _ => &tail[self.sent - self.bytes.len()..],
            };
            match ready!(Pin::new(&mut *stream).poll_write(context, unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
        Pin::new(stream).poll_flush(context)
    }
}

impl Default for ReadBuffer {
    fn default() -> Self {
        let buffer = vec![0; FIRST_READ];
        Self { buffer, taken: 0, filled: 0, tried: 0, known: CachedHead::default() }
    }
}

impl Default for CachedHead {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(KNOWN_LIMIT), request_was_head: false, head: None }
    }
}

impl CachedHead {
    /// The head at the beginning of these bytes, if it is the known one.
    fn at(&self, unread: &[u8], request_was_head: bool) -> Option<Head> {
        self.head.filter(|_| {
            self.request_was_head == request_was_head && unread.starts_with(&self.bytes)
        })
    }

    fn learn(&mut self, bytes: &[u8], request_was_head: bool, head: Head) {
        self.head = None;
        if bytes.len() <= KNOWN_LIMIT {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.request_was_head = request_was_head;
            self.head = Some(head);
        }
    }
}

impl ReadBuffer {
    /// What was read and not yet taken.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    /// Whether everything read was taken.
    pub fn is_empty(&self) -> bool {
        self.taken == self.filled
    }

    /// Takes so many of the unread bytes.
    pub fn take(&mut self, length: usize) {
        self.taken += length;
        self.tried = 0;
        debug_assert!(self.taken <= self.filled, "took more than was read");
    }

    /// The head at the beginning of what is unread, if it is complete.
    ///
    /// A head that comes in pieces is parsed again only when its end is there or its length has
    /// doubled, so that one sent byte by byte costs O(n) and not O(n²).
    ///
    /// Errors: the first rule of the protocol that it breaks
    pub fn head(&mut self, request_was_head: bool) -> Result<Option<Head>, ProtocolError> {
        let unread = &self.buffer[self.taken..self.filled];
        if let Some(head) = self.known.at(unread, request_was_head) {
            return Ok(Some(head));
        }
        let fresh = &unread[self.tried.saturating_sub(3).min(unread.len())..];
        let hopeless =
            self.tried > 0 && unread.len() < (2 * self.tried).min(HEAD_LIMIT) && !ends(fresh);
        if unread.is_empty() || hopeless {
            return Ok(None);
        }
        let head = head::parse(unread, request_was_head)?;
        match head {
            Some(head) => self.known.learn(&unread[..head.length], request_was_head, head),
            None => self.tried = unread.len(),
        }
        Ok(head)
    }

    /// Bytes left over from before are kept for `fill` to find, but nothing else.
    fn clear(&mut self) {
        self.tried = 0;
        self.make_room();
    }

    fn make_room(&mut self) {
        if self.filled == self.buffer.len() && self.buffer.len() < HEAD_LIMIT {
            self.buffer.resize((2 * self.buffer.len()).min(HEAD_LIMIT), 0);
        }
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
    }

    fn poll(&mut self, stream: &mut Stream, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(&mut self.buffer[self.filled..]);
        ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
        let read = buffer.filled().len();
        self.filled += read;
        Poll::Ready(Ok(read))
    }
}

/// Whether an empty line ends somewhere in these bytes.
fn ends(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::super::codec::head::Framing;
    use super::*;

    fn framing(input: &mut ReadBuffer, bytes: &[u8], request_was_head: bool) -> Option<Framing> {
        input.buffer[..bytes.len()].copy_from_slice(bytes);
        (input.taken, input.filled, input.tried) = (0, bytes.len(), 0);
        input.head(request_was_head).unwrap().map(|head| head.framing)
    }

    #[test]
    fn a_known_head_is_recognised_only_whole_and_for_the_same_kind_of_request() {
        let mut input = ReadBuffer::default();
        let five = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let six = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!";
        assert_eq!(framing(&mut input, five, false), Some(Framing::Length(5)));
        assert_eq!(framing(&mut input, &five[..five.len() - 7], false), None, "cut short");
        assert_eq!(framing(&mut input, five, true), Some(Framing::Length(0)), "an answer to HEAD");
        assert_eq!(framing(&mut input, five, false), Some(Framing::Length(5)));
        assert_eq!(framing(&mut input, six, false), Some(Framing::Length(6)));
        assert_eq!(framing(&mut input, five, false), Some(Framing::Length(5)));
    }
}
