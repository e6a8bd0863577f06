//! Sends casts to a monitor over TCP, and resumes where it was when a connection breaks.

use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::account::Account;
use super::frame::{self, Frame, Hello, LEAST_FRAME, LENGTH, Welcome};
use super::peer::{Gathered, Peer};
use super::window::{FalseAcknowledgement, Window};

/// Within which a connection must be open and greeted.
const GREETED_WITHIN: Duration = Duration::from_secs(5);
/// Pauses between attempts.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// An account is sent at least this often, so that either side notices when the other has gone.
const PULSE: Duration = Duration::from_secs(1);
/// A peer whose kernel acknowledges nothing for so long has gone.
const GONE_AFTER: Duration = Duration::from_secs(60);
/// Bytes that are read of answers at a time.
const ANSWERS: usize = 4 << 10;

/// The connection to one monitor, over reconnects.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Arc<Peer>,
    address: String,
    name: String,
    longest_frame: usize,
    window_bytes: usize,
    window: Window,
    /// The other side's record, and how many frames it has taken in it.
    record: Option<(u64, u64)>,
    /// The last account that went into the window.
    gathered: Account,
    inbox: Vec<u8>,
    spare: Vec<u8>,
}

impl Connection {
    pub fn new(peer: Arc<Peer>, address: String, settings: &super::Settings) -> Self {
        Self {
            peer,
            address,
            name: settings.name.clone(),
            longest_frame: settings.longest_frame,
            window_bytes: settings.window_bytes,
            window: Window::default(),
            record: None,
            gathered: Account::default(),
            inbox: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Carries until the end is wanted and everything is acknowledged.
    pub async fn run(mut self) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            let trouble = match self.greet().await {
                Ok(stream) => {
                    pause = SHORTEST_PAUSE;
                    self.peer.connected();
                    match self.carry(stream).await {
                        Ok(()) => return self.peer.disconnected("it has ended".to_owned()),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            self.peer.disconnected(trouble.to_string());
            if self.is_done() {
                return;
            }
            sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    async fn greet(&mut self) -> Result<TcpStream> {
        timeout(GREETED_WITHIN, self.open())
            .await
            .unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
    }

    /// A connection over which both sides know where to go on.
    async fn open(&mut self) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        // Without these a machine that has gone is noticed late; no reason to fail.
        let socket = SockRef::from(&stream);
        let _ = socket.set_tcp_user_timeout(Some(GONE_AFTER));
        let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(GONE_AFTER / 2));
        let mut hello = Vec::new();
        let base = self.window.base();
        Frame::Hello(Hello { caster: self.peer.caster, base, name: &self.name }).write(&mut hello);
        stream.write_all(&hello).await?;
        self.inbox.clear();
        loop {
            match self.answer()? {
                Some(Answer::Welcome(welcome)) => {
                    self.resume(welcome)?;
                    return Ok(stream);
                }
                Some(Answer::Taken(_)) => return Err(broken("an answer before the welcome")),
                None => self.hear(&mut stream).await?,
            }
        }
    }

    fn resume(&mut self, welcome: Welcome) -> Result<()> {
        let Welcome { record, taken, longest } = welcome;
        if (longest as usize) < self.longest_frame {
            let own = self.longest_frame;
            let what = format!("it takes frames of {longest} bytes, and ours may have {own}");
            return Err(Error::new(ErrorKind::InvalidData, what));
        }
        let before =
            self.record.filter(|(known, _)| *known == record).map_or(0, |(_, taken)| taken);
        let more = taken.checked_sub(before).ok_or_else(false_acknowledgement)?;
        self.window.resume(more).map_err(|FalseAcknowledgement| false_acknowledgement())?;
        self.record = Some((record, taken));
        self.report_progress();
        Ok(())
    }

    /// Writes and hears until the connection breaks, which is an error, or all is done.
    async fn carry(&mut self, mut stream: TcpStream) -> Result<()> {
        let mut pulse = Instant::now() + PULSE;
        loop {
            self.gather(Instant::now() >= pulse);
            if self.is_done() {
                return stream.shutdown().await;
            }
            let (mut reader, mut writer) = stream.split();
            let is_idle = self.window.is_written() && self.window.bytes() < self.window_bytes;
            tokio::select! {
                wrote = writer.write(self.window.unwritten()), if !self.window.is_written() => {
                    self.window.wrote(wrote?);
                    pulse = Instant::now() + PULSE;
                }
                heard = hear(&mut reader, &mut self.inbox) => {
                    heard?;
                    self.acknowledge()?;
                }
                () = self.peer.woken(), if is_idle => {}
                () = sleep_until(pulse), if is_idle => {}
            }
        }
    }

    /// Takes what waits into the window, if all before it is written and there is room.
    fn gather(&mut self, again: bool) {
        if !self.window.is_written() || self.window.bytes() >= self.window_bytes {
            return;
        }
        let buffer = self.window.buffer();
        match self.peer.gather(buffer, &mut self.spare, again) {
            Gathered::Chunk(chunk) => {
                self.gathered = chunk.account;
                self.window.push(chunk);
            }
            Gathered::Nothing(buffer, account) => {
                self.window.keep(buffer);
                // Something was dropped since, and nothing is there to tell it with.
                if account != self.gathered {
                    self.gather(true);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.peer.is_ending()
            && self.window.is_empty()
            && self.window.confirmed().1 == self.peer.account()
    }

    /// Reads what was heard of.
    fn acknowledge(&mut self) -> Result<()> {
        while let Some(answer) = self.answer()? {
            let Answer::Taken(taken) = answer else { return Err(broken("a second welcome")) };
            let (_, before) = self.record.as_mut().ok_or_else(false_acknowledgement)?;
            let more = taken.checked_sub(*before).ok_or_else(false_acknowledgement)?;
            *before = taken;
            self.window
                .acknowledge(more)
                .map_err(|FalseAcknowledgement| false_acknowledgement())?;
        }
        self.report_progress();
        Ok(())
    }

    fn report_progress(&self) {
        let (taken, confirmed) = self.window.confirmed();
        self.peer.confirm(taken, confirmed);
    }

    async fn hear(&mut self, stream: &mut TcpStream) -> Result<()> {
        hear(stream, &mut self.inbox).await
    }

    /// The next answer that is whole.
    fn answer(&mut self) -> Result<Option<Answer>> {
        let refused = |_| broken("bytes that are no answer");
        let Some(body) = frame::cut(&self.inbox, LEAST_FRAME).map_err(refused)? else {
            return Ok(None);
        };
        let used = LENGTH + body.len();
        let answer = match Frame::read(body).map_err(refused)? {
            Frame::Welcome(welcome) => Answer::Welcome(welcome),
            Frame::Taken(taken) => Answer::Taken(taken),
            _ => return Err(broken("a frame that only casters send")),
        };
        self.inbox.drain(..used);
        Ok(Some(answer))
    }
}

/// What a monitor says.
enum Answer {
    Welcome(Welcome),
    Taken(u64),
}

async fn hear(reader: &mut (impl AsyncReadExt + Unpin), inbox: &mut Vec<u8>) -> Result<()> {
    inbox.reserve(ANSWERS);
    match reader.read_buf(inbox).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

fn broken(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

fn false_acknowledgement() -> Error {
    broken("it acknowledges what it was not sent")
}
