//! Over a Unix socket, one question at a time on each connection.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};

use super::pool::{self, Broken, Pool};
use crate::ask::{Ask, SIZES};
use crate::frame::{self, ANSWER_HEAD, ANSWERED, Head};
use crate::refusal::Refusal;
use crate::way::{Failure, Payload, Way, judged};

/// Over a Unix socket.
#[derive(Debug)]
pub struct Unix {
    path: PathBuf,
    pool: Pool<UnixStream>,
}

impl Unix {
    /// A producer at this path, with so many connections at most; connects when asked.
    pub fn new(path: impl Into<PathBuf>, connections: usize) -> Self {
        Self { path: path.into(), pool: Pool::new(connections) }
    }

    /// The answer and its checksum.
    async fn exchange(&self, ask: &Ask, until: Instant) -> Result<(Payload, u64), Failure> {
        let request = frame::request(&ask.wire());
        while let Some(stream) = self.pool.take() {
            match self.over(stream, &request, ask, until).await {
                Err(broken) if broken.is_worth_another => self.pool.clear(),
                ended => return ended.map_err(|broken| broken.failure),
            }
        }
        let stream = match timeout_at(until, UnixStream::connect(&self.path)).await {
            Ok(connected) => connected.map_err(Failure::unreachable)?,
            Err(_) => return Err(Failure::unreachable("connecting took too long")),
        };
        self.over(stream, &request, ask, until).await.map_err(|broken| broken.failure)
    }

    /// The same over this connection, which is kept if it is still of use.
    async fn over(
        &self,
        mut stream: UnixStream,
        request: &[u8],
        ask: &Ask,
        until: Instant,
    ) -> Result<(Payload, u64), Broken> {
        let mut bytes = Vec::with_capacity(ANSWER_HEAD + ask.what.expected_length());
        let asked = async {
            // A producer that is full may say so and close before it is asked.
            let _ = stream.write_all(request).await;
            receive(&mut stream, &mut bytes).await
        };
        let head = match timeout_at(until, asked).await {
            Ok(Ok(head)) => head,
            Ok(Err(failure)) => {
                let is_worth_another =
                    bytes.is_empty() && matches!(failure, Failure::Unreachable(_));
                return Err(Broken { failure, is_worth_another });
            }
            Err(_) => return Err(Broken::for_good(Failure::Deadline)),
        };
        self.pool.give(stream);
        match head.code {
            ANSWERED => Ok((Payload::behind(bytes, ANSWER_HEAD), head.checksum)),
            code => Err(Broken::for_good(Refusal::told(u64::from(code)))),
        }
    }
}

/// Reads one answer, head and all; there is nothing behind it, as nothing else was asked.
async fn receive(stream: &mut UnixStream, bytes: &mut Vec<u8>) -> Result<Head, Failure> {
    let mut head = None;
    let mut end = ANSWER_HEAD;
    while bytes.len() < end {
        if stream.read_buf(bytes).await.map_err(Failure::unreachable)? == 0 {
            return Err(Failure::unreachable("the connection was closed"));
        }
        if head.is_none()
            && let Some(read) = Head::decode(bytes)
        {
            if u64::from(read.length) > *SIZES.end() {
                return Err(Failure::Damaged("an answer longer than any may be".to_owned()));
            }
            end += read.length as usize;
            bytes.reserve(end.saturating_sub(bytes.len()));
            head = Some(read);
        }
    }
    match head {
        Some(head) if bytes.len() == end => Ok(head),
        _ => Err(Failure::Damaged("more bytes than were announced".to_owned())),
    }
}

impl Way for Unix {
    async fn fetch(&self, ask: &Ask, deadline: Duration) -> Result<Payload, Failure> {
        let until = pool::until(deadline);
        let seat = self.pool.seat(until).await?;
        let (payload, checksum) = self.exchange(ask, until).await?;
        drop(seat);
        judged(ask, payload, checksum)
    }
}
