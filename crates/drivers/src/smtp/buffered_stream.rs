//! A stream to a server, with the bytes that were read and not yet parsed.
//!
//! A phase costs one write and one read: tokio knows after a short read that a socket is drained, and does not try
//! again before it is readable.
//!
//! Not here: what is said (see `session` and `operation`).

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use engine::clock::Clock;
use engine::driver::Exchange;
use engine::transport::Stream;
use record::FailureKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::codec::reply::{self, Class, REPLY_LIMIT, Reply};
use super::failure::Failure;

/// Room for what a server usually says; it grows up to the longest reply.
const USUAL: usize = 2048;

/// A stream to a server, with its read buffer.
#[derive(Debug)]
pub struct BufferedStream {
    stream: Stream,
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
}

impl BufferedStream {
    /// A line over this stream.
    pub fn new(stream: Stream) -> Self {
        Self { stream, buffer: vec![0; USUAL], taken: 0, filled: 0 }
    }

    /// The stream, if nothing was read ahead.
    ///
    /// Errors: the number of bytes that came ahead of what will be said on it
    pub fn into_stream(self) -> Result<Stream, usize> {
        match self.unread().len() {
            0 => Ok(self.stream),
            ahead => Err(ahead),
        }
    }

    /// Sends all of this.
    ///
    /// Errors: the stream's, or what the server had said before it went away
    pub async fn send<C: Clock>(
        &mut self,
        bytes: &[u8],
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        exchange.note_dialogue(true, bytes);
        self.hand_over([bytes], exchange).await
    }

    /// The same of several parts, one after the other, in one write where that can be had.
    ///
    /// Errors: as above
    pub async fn send_parts<C: Clock>(
        &mut self,
        parts: [&[u8]; 3],
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        parts
            .iter()
            .filter(|part| !part.is_empty())
            .for_each(|part| exchange.note_dialogue(true, part));
        self.hand_over(parts, exchange).await
    }

    /// Sends a secret; the dialogue shows `shown` in its place.
    ///
    /// Errors: as above
    pub async fn send_secret<C: Clock>(
        &mut self,
        secret: &[u8],
        shown: &str,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        exchange.note_dialogue(true, shown.as_bytes());
        self.hand_over([secret], exchange).await
    }

    /// Reads the next reply and stamps the last read of it. Its text is [`BufferedStream::text`] until something is read again.
    ///
    /// Errors: the stream's, its end, or the first rule that the reply breaks
    pub async fn reply<C: Clock>(&mut self, exchange: &mut Exchange<C>) -> Result<Reply, Failure> {
        loop {
            match self.take() {
                Ok(Some(reply)) => {
                    exchange.note_dialogue(false, self.text(reply));
                    return Ok(reply);
                }
                Ok(None) => {}
                Err(fault) => {
                    exchange.note_dialogue(false, self.unread());
                    return Err(fault.into());
                }
            }
            let read = poll_fn(|context| self.poll_fill(context)).await;
            exchange.note_read();
            match read {
                Ok(0) => return Err(self.closed()),
                Ok(read) => exchange.bytes_received += read as u64,
                Err(error) => return Err(Failure::of_stream(&error)),
            }
        }
    }

    /// The bytes of a reply that was just read.
    pub fn text(&self, reply: Reply) -> &[u8] {
        &self.buffer[self.taken - reply.length..self.taken]
    }

    /// Checks that the server has sent nothing unexpected; `before` names what is sent next.
    ///
    /// Errors: what it has said, or that it has gone
    pub async fn quiet<C: Clock>(
        &mut self,
        before: &str,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let peeked = poll_fn(|context| Poll::Ready(self.poll_fill(context)));
        match peeked.await {
            Poll::Pending => {}
            Poll::Ready(Ok(0)) => {
                let detail = format!("the peer closed the connection before {before}");
                return Err(Failure::new(FailureKind::Closed, detail));
            }
            Poll::Ready(Ok(read)) => exchange.bytes_received += read as u64,
            Poll::Ready(Err(error)) => return Err(Failure::of_stream(&error)),
        }
        let ahead = self.unread().len();
        if ahead == 0 {
            return Ok(());
        }
        let said = self.take().ok().flatten().filter(|reply| reply.class() >= Class::Transient);
        Err(match said {
            Some(reply) => {
                Failure { in_step: false, ..Failure::refusal(before, reply, self.text(reply)) }
            }
            None => {
                let detail = format!("{ahead} unexpected bytes came before {before}");
                Failure::new(FailureKind::Malformed, detail)
            }
        })
    }

    /// Resolves when the peer closes or sends unexpected bytes. Nothing is lost when it is dropped: what was
    /// read stays, and the next message finds it.
    pub async fn idle(&mut self) {
        if self.unread().is_empty() {
            // Whether bytes, the end or an error: the line carries nothing more.
            let _ = poll_fn(|context| self.poll_fill(context)).await;
        }
    }

    async fn hand_over<C: Clock, const PARTS: usize>(
        &mut self,
        parts: [&[u8]; PARTS],
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let mut slices = parts.map(IoSlice::new);
        let mut unsent = slices.as_mut_slice();
        IoSlice::advance_slices(&mut unsent, 0);
        loop {
            match poll_fn(|context| self.poll_talk(&mut unsent, exchange, context)).await {
                Ok(true) => return Ok(()),
                Ok(false) => self.heard_enough()?,
                Err(error) => return Err(self.last_words(&error, exchange).await),
            }
        }
    }

    /// A server may say in the midst of a content that it wants no more of it, and then read no more.
    ///
    /// Errors: its refusal, or the first rule that its reply breaks
    fn heard_enough(&mut self) -> Result<(), Failure> {
        let Some(reply) = reply::parse(self.unread())? else { return Ok(()) };
        if reply.class() < Class::Transient {
            return Ok(());
        }
        self.taken += reply.length;
        Err(Failure {
            in_step: false,
            ..Failure::refusal("while sending", reply, self.text(reply))
        })
    }

    fn unread(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    fn take(&mut self) -> Result<Option<Reply>, reply::ReplyError> {
        if self.taken == self.filled {
            return Ok(None);
        }
        let reply = reply::parse(self.unread())?;
        self.taken += reply.map_or(0, |reply| reply.length);
        Ok(reply)
    }

    fn closed(&self) -> Failure {
        let detail = match self.unread().len() {
            0 => "the peer closed the connection before its reply".to_owned(),
            seen => format!("the peer closed the connection after {seen} bytes of its reply"),
        };
        Failure::new(FailureKind::Closed, detail)
    }

    /// What is to be told when nothing more can be sent: a server that gives up says why before it closes.
    async fn last_words<C: Clock>(
        &mut self,
        error: &io::Error,
        exchange: &mut Exchange<C>,
    ) -> Failure {
        match self.reply(exchange).await {
            Ok(reply) if reply.class() >= Class::Transient => {
                let text = self.text(reply);
                Failure { in_step: false, ..Failure::refusal("while sending", reply, text) }
            }
            _ => Failure::of_stream(error),
        }
    }

    /// Sends, and listens while the stream takes no more. Gives whether all is sent; `false`: something was heard.
    fn poll_talk<C: Clock>(
        &mut self,
        unsent: &mut &mut [IoSlice<'_>],
        exchange: &mut Exchange<C>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        if let Poll::Ready(sent) = self.poll_send(unsent, exchange, context) {
            return Poll::Ready(sent.map(|()| true));
        }
        let read = ready!(self.poll_fill(context))?;
        if read == 0 {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        exchange.note_read();
        exchange.bytes_received += read as u64;
        Poll::Ready(Ok(false))
    }

    fn poll_send<C: Clock>(
        &mut self,
        unsent: &mut &mut [IoSlice<'_>],
        exchange: &mut Exchange<C>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let stream = Pin::new(&mut self.stream);
            let written = match &**unsent {
                [] => break,
                [only] => ready!(stream.poll_write(context, only))?,
                several => ready!(stream.poll_write_vectored(context, several))?,
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            exchange.bytes_sent += written as u64;
            IoSlice::advance_slices(unsent, written);
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.make_room();
        let mut buffer = ReadBuf::new(&mut self.buffer[self.filled..]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        let read = buffer.filled().len();
        self.filled += read;
        Poll::Ready(Ok(read))
    }

    fn make_room(&mut self) {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
        if self.filled == self.buffer.len() {
            // A reply that is longer is refused when it is parsed, so that this is never more than the limit.
            let length = (2 * self.buffer.len()).min(REPLY_LIMIT + 1);
            self.buffer.resize(length, 0);
        }
    }
}
