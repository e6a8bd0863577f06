//! One connection's task: passes bytes to the session, and executes its actions on the stream, the store and the
//! clock.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use serving::stop::Stop;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, Sleep, sleep_until, timeout, timeout_at};

use super::buffer::Buffer;
use super::smtp::Smtp;
use super::wire::Wire;
use crate::refusal::Refusal;
use crate::session::{Action, Origin, Session, Waiting};
use crate::store::{Draft, Store};
use crate::tls;

/// Bytes that a connection keeps in addition to its input: its task, its session, its replies, the first addresses.
const BESIDE: u64 = 4 << 10;
/// Bytes of addresses included in that.
const FIRST_ADDRESSES: u64 = 512;
/// Step size in which memory for addresses is reserved.
const ADDRESSES: u64 = 4 << 10;
/// How long a rejected client may continue sending before it is cut off. If the server closed at once, the kernel
/// would send a reset, which can overtake the reply with the reason.
const LINGER: Duration = Duration::from_secs(1);
/// Most bytes that it may send in that time.
const LINGER_BYTES: usize = 1 << 20;

const LOST: Refusal = Refusal::new(451, (4, 3, 0), "The message was lost");

/// The connection is over, and no more replies are possible.
struct ConnectionEnded;

struct ConnectionTask<'h, S: Store, T> {
    shared: &'h Smtp<S>,
    session: Session<'h>,
    buffer: Buffer<'h>,
    wire: Wire<T>,
    draft: Option<S::Draft>,
    /// Set to the current deadline or an earlier one, and set again if it fires too early.
    alarm: Pin<&'h mut Sleep>,
    stopped: Pin<&'h mut (dyn Future<Output = ()> + Send + 'h)>,
    has_stopped: bool,
    /// The end of the whole session.
    ends_at: Instant,
    /// When the wait for the current command began, and the session's step at that time.
    since: (Instant, u64),
    /// When the wait for the current message began.
    content_since: Option<Instant>,
    /// Bytes reserved for addresses.
    paid: u64,
}

/// Serves one connection to its end.
pub(super) async fn run_connection<S: Store, T>(
    stream: T,
    peer: SocketAddr,
    shared: Arc<Smtp<S>>,
    mut stop: Stop,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send,
{
    let shared = &*shared;
    let mut wire = Wire::Plain(stream);
    let Some(buffer) = Buffer::new(&shared.counts, shared.settings.max_memory, BESIDE) else {
        shared.counts.turned_away.one();
        if !shared.is_implicit_tls {
            let _ = timeout(LINGER, wire.write_all(shared.busy().as_bytes())).await;
        }
        return;
    };
    shared.counts.connections.one();
    let now = Instant::now();
    let ends_at = now + Duration::from_nanos(shared.settings.session_timeout_ns);
    let alarm = pin!(sleep_until(ends_at));
    let stopped = pin!(async move { stop.pulled().await });
    let session = Session::new(&shared.settings, &shared.counts, Origin { peer, tls: None });
    let mut carrier = ConnectionTask {
        shared,
        session,
        buffer,
        wire,
        draft: None,
        alarm,
        stopped,
        has_stopped: false,
        ends_at,
        since: (now, 0),
        content_since: None,
        paid: 0,
    };
    // The client has its reply in any case.
    let _ = carrier.run().await;
    if carrier.session.is_receiving() {
        shared.counts.aborted.one();
    }
}

impl<S: Store, T: AsyncRead + AsyncWrite + Unpin + Send> ConnectionTask<'_, S, T> {
    async fn run(&mut self) -> Result<(), ConnectionEnded> {
        if self.shared.is_implicit_tls {
            self.secure().await?;
        }
        loop {
            let step = self.session.take(self.buffer.input());
            let used = step.used;
            match step.action {
                Action::Read => {
                    self.buffer.consume(used);
                    self.read().await?;
                    continue;
                }
                Action::Content(content) => {
                    // Without a draft there is nothing to write to; the session already knows that the draft failed.
                    if let Some(draft) = &mut self.draft
                        && let Err(refusal) = draft.write(content).await
                    {
                        self.draft = None;
                        self.session.failed(refusal);
                    }
                }
                Action::Flush => self.write().await?,
                Action::Pause(length) => {
                    self.write().await?;
                    tokio::time::sleep(length).await;
                }
                Action::Begin => self.begin().await,
                Action::Abandon => self.draft = None,
                Action::End => self.end().await,
                Action::Upgrade => {
                    self.write().await?;
                    self.secure().await?;
                }
                Action::Close => return self.close().await,
                Action::HangUp => return Err(ConnectionEnded),
            }
            self.buffer.consume(used);
        }
    }

    async fn begin(&mut self) {
        // Commands of this message may have arrived together with the end of the message before.
        self.content_since = None;
        let envelope = self.session.envelope();
        let begun = self.shared.store.begin(envelope).await;
        self.session.begun(begun.map(|draft| self.draft = Some(draft)));
    }

    async fn end(&mut self) {
        let ended = match self.draft.take() {
            Some(draft) => draft.commit().await,
            None => Err(LOST),
        };
        self.session.ended(ended);
    }

    /// Writes pending replies, and reads more.
    async fn read(&mut self) -> Result<(), ConnectionEnded> {
        self.write().await?;
        let is_content = self.session.waiting() == Waiting::Content;
        let deadline = self.deadline(is_content);
        if !is_content {
            self.buffer.shrink();
        }
        if !self.pay() {
            self.session.end("4.3.1", "Out of memory");
            return Ok(());
        }
        let Some(room) = self.buffer.room(is_content) else {
            self.session.end("4.3.1", "Out of memory");
            return Ok(());
        };
        if deadline < self.alarm.deadline() {
            self.alarm.as_mut().reset(deadline);
        }
        loop {
            tokio::select! {
                biased;
                read = self.wire.read_buf(room) => {
                    return if matches!(read, Ok(1..)) { Ok(()) } else { Err(ConnectionEnded) };
                }
                () = self.stopped.as_mut(), if !is_content && !self.has_stopped => {
                    self.has_stopped = true;
                    self.session.end("4.3.2", "Shutting down");
                    return Ok(());
                }
                () = self.alarm.as_mut() => {
                    if deadline <= Instant::now() {
                        self.expire(is_content);
                        return Ok(());
                    }
                    self.alarm.as_mut().reset(deadline);
                }
            }
        }
    }

    /// The deadline for the next bytes.
    fn deadline(&mut self, is_content: bool) -> Instant {
        let settings = &self.shared.settings;
        let now = Instant::now();
        let steps = self.session.steps();
        // The deadline restarts with each read of content, but only once per command: a command must be complete in
        // time, in any number of reads.
        if is_content || steps != self.since.1 {
            self.since = (now, steps);
        }
        let command = self.since.0 + Duration::from_nanos(settings.command_timeout_ns);
        let mut deadline = command.min(self.ends_at);
        if is_content || self.session.is_receiving() {
            let since = *self.content_since.get_or_insert(now);
            deadline = deadline.min(since + Duration::from_nanos(settings.data_timeout_ns));
        } else {
            self.content_since = None;
        }
        deadline
    }

    fn expire(&mut self, is_content: bool) {
        self.shared.counts.timeouts.one();
        let reason = match is_content {
            _ if self.ends_at <= Instant::now() => "Connection timeout",
            true => "Data timeout",
            false => "Command timeout",
        };
        self.session.end("4.4.2", reason);
    }

    /// Reserves memory for the addresses that the session holds; `false` if there is not enough.
    fn pay(&mut self) -> bool {
        let held = (self.session.held() as u64).saturating_sub(FIRST_ADDRESSES);
        if held > self.paid {
            let more = (held - self.paid).next_multiple_of(ADDRESSES);
            let is_taken = self.buffer.take(more);
            self.paid += if is_taken { more } else { 0 };
            return is_taken;
        }
        if held == 0 && self.paid > 0 {
            self.buffer.give(self.paid as usize);
            self.paid = 0;
        }
        true
    }

    /// Writes pending replies. Gives up on a client that does not read.
    async fn write(&mut self) -> Result<(), ConnectionEnded> {
        let replies = self.session.replies();
        if replies.bytes().is_empty() {
            return Ok(());
        }
        let writing = async {
            self.wire.write_all(replies.bytes()).await?;
            self.wire.flush().await
        };
        match timeout(self.shared.settings.write_timeout(), writing).await {
            Ok(Ok(())) => {
                replies.clear();
                Ok(())
            }
            Ok(Err(_)) => Err(ConnectionEnded),
            Err(_) => {
                self.shared.counts.timeouts.one();
                Err(ConnectionEnded)
            }
        }
    }

    async fn secure(&mut self) -> Result<(), ConnectionEnded> {
        let Some(tls) = self.shared.tls.as_ref().filter(|_| self.buffer.take(tls::BYTES)) else {
            return Err(ConnectionEnded);
        };
        let limit = Duration::from_nanos(self.shared.settings.command_timeout_ns);
        let limit = self.ends_at.min(Instant::now() + limit);
        if let Ok(Ok(version)) = timeout_at(limit, self.wire.secure(tls)).await {
            self.shared.counts.handshakes.one();
            self.session.secured(version);
            return Ok(());
        }
        self.shared.counts.handshakes_failed.one();
        Err(ConnectionEnded)
    }

    async fn close(&mut self) -> Result<(), ConnectionEnded> {
        self.write().await?;
        if self.session.has_quit() && self.wire.is_plain() {
            return Ok(());
        }
        let farewell = async {
            // If this fails, the client is gone, which the wait is for.
            let _ = self.wire.shutdown().await;
            let (mut waste, mut left) = ([0; 1_024], LINGER_BYTES);
            while !self.session.has_quit() && left > 0 {
                match self.wire.read(&mut waste).await {
                    Ok(read @ 1..) => left = left.saturating_sub(read),
                    _ => break,
                }
            }
        };
        let _ = timeout(LINGER, farewell).await;
        Ok(())
    }
}
