//! One connection: read a head, stamp it, wait until the answer is due, write it.

mod tokens;

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use timer::monotonic;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::answer::{Disposition, FILLER_BYTES, Last, PreparedAnswer, Rest, piece};
use crate::configuration::Behaviour;
use crate::control;
use crate::head::{self, Head, Parsed};
use crate::state::TargetState;

/// Read buffers start this small and grow up to the head limit.
const FIRST_BUFFER: usize = 2048;
static FILLER: [u8; FILLER_BYTES] = [b'x'; FILLER_BYTES];
const HEADER_LINE: &[u8] = b"x-endless: and another one, as there will always be another one\r\n";

/// What the sweep and the drain read of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionStatus {
    /// The connection is closed after this instant; `u64::MAX` while the target itself waits.
    pub(crate) until_ns: Cell<u64>,
    /// Nothing is in flight: the connection may be closed without loss.
    pub(crate) idle: Cell<bool>,
}

/// Bytes read and not yet used.
struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// When the last of them were read.
    read_at_ns: u64,
}

/// The parts of a head that are needed once its bytes are consumed.
struct Request {
    body_bytes: u64,
    closes: bool,
    head_only: bool,
    posts: bool,
    expects_continue: bool,
    control: Option<control::Request>,
}

/// What follows an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    End,
}

/// Serves one connection until either side ends it.
///
/// Errors: the connection broke, which is the peer's affair
pub(crate) async fn serve_connection(
    mut stream: TcpStream,
    state: Rc<TargetState>,
    status: Rc<ConnectionStatus>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = Connection {
        buffer: ReadBuffer { bytes: vec![0; FIRST_BUFFER], start: 0, end: 0, read_at_ns: 0 },
        stream: &mut stream,
        state: &state,
        status: &status,
    };
    while connection.serve_one().await? == Next::Request {}
    Ok(())
}

/// A connection and what was read from it.
struct Connection<'a> {
    stream: &'a mut TcpStream,
    state: &'a TargetState,
    status: &'a ConnectionStatus,
    buffer: ReadBuffer,
}

impl Connection<'_> {
    /// One request and its answer.
    async fn serve_one(&mut self) -> io::Result<Next> {
        let Some(request) = self.read_request().await? else { return Ok(Next::End) };
        if let Some(control) = &request.control {
            self.skip_body(&request).await?;
            self.set_deadline(self.state.configuration.limits.read_ns);
            let last = self.last(&request);
            control::answer(self.stream, self.state, control, last).await?;
            return Ok(if last == Last::Yes { Next::End } else { Next::Request });
        }
        if let Behaviour::Tokens(settings) = self.state.configuration.behaviour {
            return self.serve_completion(&request, settings).await;
        }
        let planned = self.state.arrive(self.buffer.read_at_ns);
        let answer = self.state.pick_answer();
        self.skip_body(&request).await?;
        self.status.until_ns.set(u64::MAX);
        self.state.timer.sleep_until(planned.due_ns).await;
        let lateness_ns = monotonic().saturating_sub(planned.due_ns);
        self.state.stamps.borrow_mut().answered(lateness_ns);
        let answer = answer.answer(self.last(&request));
        self.send(answer, planned.due_ns, request.head_only).await
    }

    /// Decided as late as possible: the stop may come while the answer is still due.
    fn last(&self, request: &Request) -> Last {
        if request.closes || self.state.stopping.get() { Last::Yes } else { Last::No }
    }

    /// Sets the deadline for the peer's next bytes, from now on.
    fn set_deadline(&self, time_ns: u64) {
        self.status.until_ns.set(monotonic().saturating_add(time_ns));
    }

    /// Reads up to the end of a head; `None` if the peer has left or was rejected.
    async fn read_request(&mut self) -> io::Result<Option<Request>> {
        let limits = &self.state.configuration.limits;
        let mut searched = 0;
        let idle = self.buffer.is_empty();
        let allowed_ns = if idle { limits.idle_ns } else { limits.read_ns };
        self.status.idle.set(idle);
        self.set_deadline(allowed_ns);
        loop {
            match head::parse(self.buffer.filled(), searched) {
                Parsed::Whole(head) if head.bytes as u64 <= limits.max_head_bytes => {
                    self.status.idle.set(false);
                    let (request, bytes) = (Request::of(&head), head.bytes);
                    self.buffer.start += bytes;
                    return self.check_body_limit(request).await;
                }
                Parsed::Whole(_) => return self.reject(431).await,
                Parsed::Refused(status) => return self.reject(status).await,
                Parsed::Partial => searched = self.buffer.filled().len(),
            }
            if searched as u64 >= limits.max_head_bytes {
                return self.reject(431).await;
            }
            if self.buffer.read(self.stream).await? == 0 {
                return Ok(None);
            }
            if self.status.idle.replace(false) {
                self.status.until_ns.set(self.buffer.read_at_ns.saturating_add(limits.read_ns));
            }
        }
    }

    async fn check_body_limit(&mut self, request: Request) -> io::Result<Option<Request>> {
        if request.body_bytes > self.state.configuration.limits.max_body_bytes {
            return self.reject(413).await;
        }
        Ok(Some(request))
    }

    /// Asks for the body if the client waits for that, and sets the deadline for the rest of it.
    async fn begin_body(&mut self, request: &Request) -> io::Result<()> {
        if request.body_bytes > 0 && request.expects_continue {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        if request.body_bytes > self.buffer.filled().len() as u64 {
            self.set_deadline(self.state.configuration.limits.read_ns);
        }
        Ok(())
    }

    /// Reads and discards the body.
    async fn skip_body(&mut self, request: &Request) -> io::Result<()> {
        self.begin_body(request).await?;
        let mut missing = request.body_bytes;
        loop {
            let here = (self.buffer.filled().len() as u64).min(missing);
            self.buffer.start += here as usize;
            missing -= here;
            if missing == 0 {
                return Ok(());
            }
            if self.buffer.read(self.stream).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Writes an answer, then keeps, closes or resets the connection.
    async fn send(
        &mut self,
        answer: &PreparedAnswer,
        due_ns: u64,
        head_only: bool,
    ) -> io::Result<Next> {
        if answer.end == Disposition::Reset {
            self.stream.set_zero_linger()?;
            return Ok(Next::End);
        }
        if head_only && !matches!(answer.rest, Rest::HeaderLines | Rest::Nothing) {
            self.write(&answer.first[..answer.head_bytes]).await?;
        } else {
            self.write(&answer.first).await?;
            self.write_rest(answer.rest, due_ns).await?;
        }
        Ok(if answer.end == Disposition::Keep { Next::Request } else { Next::End })
    }

    async fn write_rest(&mut self, rest: Rest, due_ns: u64) -> io::Result<()> {
        match rest {
            Rest::Filler(bytes) => self.write_filler(bytes).await,
            Rest::HeaderLines => self.write_header_lines().await,
            Rest::Nothing => self.wait_for_the_end().await,
            Rest::Paced { bytes, pieces, over_ns } => {
                for index in 0..pieces {
                    let share = u128::from(over_ns) * u128::from(index + 1) / u128::from(pieces);
                    self.status.until_ns.set(u64::MAX);
                    self.state.timer.sleep_until(due_ns.saturating_add(share as u64)).await;
                    self.write_filler(piece(bytes, pieces, index)).await?;
                }
                Ok(())
            }
            Rest::Chunked { bytes, pieces } => {
                for index in 0..pieces {
                    self.write_chunk(piece(bytes, pieces, index)).await?;
                }
                self.write(b"0\r\n\r\n").await
            }
        }
    }

    /// A chunk of no bytes would end the body, so none is written.
    async fn write_chunk(&mut self, bytes: u64) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.write(format!("{bytes:x}\r\n").as_bytes()).await?;
        self.write_filler(bytes).await?;
        self.write(b"\r\n").await
    }

    async fn write_filler(&mut self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let part = bytes.min(FILLER_BYTES as u64);
            self.write(&FILLER[..part as usize]).await?;
            bytes -= part;
            if bytes > 0 {
                // A fast reader of a huge body must not keep the thread from other connections.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Writes until the peer leaves; a drain does not wait for it.
    async fn write_header_lines(&mut self) -> io::Result<()> {
        self.status.idle.set(true);
        let lines = HEADER_LINE.repeat(FILLER_BYTES / HEADER_LINE.len());
        while !self.state.stopping.get() {
            self.write(&lines).await?;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Writes nothing until the peer leaves; a drain does not wait for it.
    async fn wait_for_the_end(&mut self) -> io::Result<()> {
        self.status.idle.set(true);
        self.status.until_ns.set(u64::MAX);
        while self.stream.read(&mut [0; 512]).await? > 0 {}
        Ok(())
    }

    /// Writes all bytes; the deadline moves only if the socket's buffer is full.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Nearly every answer fits into the socket's buffer, and no clock need be read for it.
        let done = match self.stream.try_write(bytes) {
            Ok(done) => done,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if done == bytes.len() {
            return Ok(());
        }
        self.set_deadline(self.state.configuration.limits.read_ns);
        self.stream.write_all(&bytes[done..]).await
    }

    /// Answers with an error status and closes the connection.
    async fn reject(&mut self, status: u16) -> io::Result<Option<Request>> {
        let answer =
            format!("HTTP/1.1 {status} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        self.write(answer.as_bytes()).await?;
        Ok(None)
    }
}

impl Request {
    fn of(head: &Head<'_>) -> Self {
        Self {
            body_bytes: head.body_bytes,
            closes: !head.keep_alive,
            head_only: head.method == b"HEAD",
            posts: head.method == b"POST",
            expects_continue: head.expects_continue,
            control: control::Request::of(head),
        }
    }
}

impl ReadBuffer {
    fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Reads what is there, growing if need be; 0 is the end.
    async fn read(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.bytes.len() && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        let count = stream.read(&mut self.bytes[self.end..]).await?;
        self.read_at_ns = monotonic();
        self.end += count;
        Ok(count)
    }
}
