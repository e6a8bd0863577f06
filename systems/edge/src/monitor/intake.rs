//! Connections of casters: frames are read many at a time, counted where they lie, and acknowledged.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serving::stop::Stop;
use timer::monotonic;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::ledger::{End, Ledger};
use crate::cast::frame::{self, Frame, LENGTH};

/// Bytes that are read at a time, unless a frame may be longer.
const READ: usize = 256 << 10;
/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The ledger, as connections and the HTTP API share it.
#[derive(Debug, Clone)]
pub(super) struct Shared(Arc<Mutex<Ledger>>);

impl Shared {
    pub fn new(ledger: Ledger) -> Self {
        Self(Arc::new(Mutex::new(ledger)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What connections keep to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Connections at a time; one more is closed as soon as it is accepted.
    pub connections: usize,
    /// Bytes of the longest frame.
    pub longest_frame: usize,
    /// A hello, and each frame once it has begun, must be there within this time.
    pub within: Duration,
    /// A connection on which nothing comes for this long is closed.
    pub idle: Duration,
    /// Pause after each read, to play a slow monitor.
    pub slow: Duration,
}

/// Takes in casters until stopped.
///
/// Errors: the listener cannot be handed to the runtime; a failed accept is waited out
pub(super) async fn serve(
    listener: std::net::TcpListener,
    terms: Terms,
    ledger: Shared,
    mut stop: Stop,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    let seats = Arc::new(Semaphore::new(terms.connections));
    for number in 1.. {
        let (stream, seat) = loop {
            tokio::select! {
                () = stop.pulled() => {
                    // Each hears of the stop itself.
                    while connections.join_next().await.is_some() {}
                    return Ok(());
                }
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => match Arc::clone(&seats).try_acquire_owned() {
                        Ok(seat) => break (stream, seat),
                        Err(_) => ledger.lock().ended(number, None, End::TurnedAway),
                    },
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
            }
        };
        // An acknowledgement is small, and the caster may wait for it.
        let _ = stream.set_nodelay(true);
        let connection = Connection::new(number, terms, ledger.clone());
        connections.spawn(connection.run(stream, seat, stop.clone()));
    }
    Ok(())
}

/// One of them.
#[derive(Debug)]
struct Connection {
    number: u64,
    terms: Terms,
    ledger: Shared,
    /// Who says hello on it.
    caster: Option<u64>,
    /// What was read and is not yet counted: less than a frame, between two reads.
    input: Vec<u8>,
    filled: usize,
    /// Frames of the caster's record counted, and acknowledged.
    taken: u64,
    acknowledged: u64,
    output: Vec<u8>,
    /// When the last frame ended, or the connection began.
    since: Instant,
}

impl Connection {
    fn new(number: u64, terms: Terms, ledger: Shared) -> Self {
        Self {
            number,
            terms,
            ledger,
            caster: None,
            input: vec![0; READ.max(LENGTH + terms.longest_frame)],
            filled: 0,
            taken: 0,
            acknowledged: 0,
            output: Vec::new(),
            since: Instant::now(),
        }
    }

    async fn run(mut self, mut stream: TcpStream, seat: OwnedSemaphorePermit, stop: Stop) {
        let (reader, writer) = stream.split();
        let end = self.converse(reader, writer, stop).await;
        drop(seat);
        self.ledger.lock().ended(self.number, self.caster, end);
    }

    async fn converse(
        &mut self,
        mut reader: ReadHalf<'_>,
        mut writer: WriteHalf<'_>,
        mut stop: Stop,
    ) -> End {
        let mut stopped = pin!(stop.pulled());
        loop {
            self.acknowledge(&writer);
            let deadline = self.deadline();
            let read = tokio::select! {
                () = &mut stopped => return End::Ended,
                read = reader.read(&mut self.input[self.filled..]) => read,
                written = writer.write(&self.output), if !self.output.is_empty() => match written {
                    Ok(written) => {
                        self.output.drain(..written);
                        continue;
                    }
                    Err(_) => return End::Broken,
                },
                () = sleep_until(deadline) => return self.overdue(),
            };
            match read {
                Ok(0) if self.filled == 0 => return End::Ended,
                Ok(0) | Err(_) => return End::Broken,
                Ok(read) => self.filled += read,
            }
            if let Err(end) = self.count() {
                return end;
            }
            if !self.terms.slow.is_zero() {
                self.acknowledge(&writer);
                tokio::select! {
                    () = &mut stopped => return End::Ended,
                    () = sleep(self.terms.slow) => {}
                }
                // That it took so long was not the caster's doing.
                self.since = Instant::now();
            }
        }
    }

    /// Until when what is awaited must come.
    fn deadline(&self) -> Instant {
        let is_between = self.filled == 0 && self.caster.is_some();
        self.since + if is_between { self.terms.idle } else { self.terms.within }
    }

    fn overdue(&self) -> End {
        if self.filled == 0 && self.caster.is_some() { End::Idle } else { End::Late }
    }

    /// Counts every frame that is whole. What came of the next one goes to the front.
    fn count(&mut self) -> Result<(), End> {
        let now_ns = monotonic();
        let ledger = self.ledger.clone();
        let mut ledger = ledger.lock();
        let mut used = 0;
        while let Some(body) = frame::cut(&self.input[used..self.filled], self.terms.longest_frame)?
        {
            let frame = Frame::read(body)?;
            used += LENGTH + body.len();
            self.taken = match (self.caster, frame) {
                (Some(caster), frame) => ledger.take(self.number, caster, frame, now_ns)?,
                (None, Frame::Hello(hello)) => {
                    let welcome = ledger.open(&hello, self.number)?;
                    self.caster = Some(hello.caster);
                    Frame::Welcome(welcome).write(&mut self.output);
                    self.acknowledged = welcome.taken;
                    welcome.taken
                }
                (None, _) => return Err(End::Malformed),
            };
        }
        drop(ledger);
        if used > 0 {
            self.input.copy_within(used..self.filled, 0);
            self.filled -= used;
            self.since = Instant::now();
        }
        Ok(())
    }

    /// Says how far it has come, if nothing else is still to be said; what the caster does not read waits.
    fn acknowledge(&mut self, writer: &WriteHalf<'_>) {
        if self.output.is_empty() && self.taken != self.acknowledged {
            Frame::Taken(self.taken).write(&mut self.output);
            self.acknowledged = self.taken;
        }
        if !self.output.is_empty()
            && let Ok(written) = writer.try_write(&self.output)
        {
            self.output.drain(..written);
        }
    }
}

#[cfg(test)]
mod tests;
