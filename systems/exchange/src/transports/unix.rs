//! Over a Unix socket, one question at a time on each connection.

use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::pool::{Endpoint, ExchangeError, Outcome, Pool};
use crate::failure::Failure;
use crate::frame::{self, ANSWER_HEAD, ANSWERED, FrameHeader};
use crate::payload::Payload;
use crate::refusal::Refusal;
use crate::request::{DataRequest, SIZES};
use crate::transport::Transport;

/// Over a Unix socket.
#[derive(Debug)]
pub struct Unix(Pool<PathBuf>);

impl Unix {
    /// A producer at this path, with so many connections at most; connects when asked.
    pub fn new(path: impl Into<PathBuf>, connections: usize) -> Self {
        Self(Pool::new(path.into(), connections))
    }
}

impl Transport for Unix {
    async fn fetch(&self, ask: &DataRequest, deadline: Duration) -> Result<Payload, Failure> {
        self.0.fetch(ask, deadline).await
    }
}

impl Endpoint for PathBuf {
    type Connection = UnixStream;

    async fn connect(&self) -> Result<UnixStream, Failure> {
        UnixStream::connect(self).await.map_err(Failure::unreachable)
    }

    async fn ask(
        &self,
        stream: &mut UnixStream,
        ask: &DataRequest,
    ) -> Result<Outcome, ExchangeError> {
        // A producer that is full may say so and close before it is asked.
        let _ = stream.write_all(&frame::request(&ask.wire())).await;
        let mut bytes = Vec::with_capacity(ANSWER_HEAD + ask.what.expected_length());
        let head = receive(stream, &mut bytes).await.map_err(|failure| ExchangeError {
            is_worth_another: bytes.is_empty() && matches!(failure, Failure::Unreachable(_)),
            failure,
        })?;
        Ok(match head.code {
            ANSWERED => Ok((Payload::behind(bytes, ANSWER_HEAD), head.checksum)),
            code => Err(Refusal::from_code(u64::from(code))),
        })
    }
}

/// Reads one answer, head and all; there is nothing behind it, as nothing else was asked.
async fn receive(stream: &mut UnixStream, bytes: &mut Vec<u8>) -> Result<FrameHeader, Failure> {
    let mut head = None;
    let mut end = ANSWER_HEAD;
    while bytes.len() < end {
        if stream.read_buf(bytes).await.map_err(Failure::unreachable)? == 0 {
            return Err(Failure::unreachable("the connection was closed"));
        }
        if head.is_none()
            && let Some(read) = FrameHeader::decode(bytes)
        {
            if u64::from(read.length) > *SIZES.end() {
                return Err(Failure::Damaged("the answer exceeds the largest size".to_owned()));
            }
            end += read.length as usize;
            bytes.reserve(end.saturating_sub(bytes.len()));
            head = Some(read);
        }
    }
    match head {
        Some(head) if bytes.len() == end => Ok(head),
        _ => Err(Failure::Damaged("the answer is longer than its header says".to_owned())),
    }
}
