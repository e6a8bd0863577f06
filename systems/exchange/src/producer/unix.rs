//! The producer over a Unix socket: frames in, frames out, one request of a connection at a time.

use std::io::{Error, Write};
use std::path::Path;
use std::sync::Arc;

use hyper::body::Buf;
use serving::limits::Limits;
use serving::metrics::Gauge;
use serving::stop::Stop;
use shm_channel::SocketFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::metrics::TransportMetrics;
use super::payloads::{PayloadCache, PayloadCopy};
use crate::frame::{FrameHeader, REQUEST_HEAD, first_request};
use crate::refusal::Refusal;
use crate::request::{DataRequest, LONGEST};

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// A listening socket and its file, which goes when this is dropped.
#[derive(Debug)]
pub(super) struct UnixSocket {
    listener: std::os::unix::net::UnixListener,
    file: SocketFile,
}

impl UnixSocket {
    /// Listens at the path; only its own user may open the file.
    ///
    /// A file that a dead producer left is replaced. Errors: a file of another program is there
    pub(super) fn open(path: &Path) -> Result<Self, shm_channel::Error> {
        let (socket, file) = shm_channel::listen(path)?;
        Ok(Self { listener: socket.into(), file })
    }
}

/// What every connection shares.
#[derive(Debug, Clone)]
pub(super) struct ConnectionContext {
    pub cache: Arc<PayloadCache>,
    pub figures: TransportMetrics,
    pub open: Gauge,
    pub limits: Limits,
}

impl ConnectionContext {
    fn is_full(&self) -> bool {
        u64::try_from(self.open.get()).is_ok_and(|open| open >= self.limits.max_connections)
    }
}

/// Serves until stopped, then finishes what is under way within [`Limits::drain_ns`].
///
/// Errors: the listener cannot be handed to the runtime; a failed accept is waited out
pub(super) async fn serve(
    socket: UnixSocket,
    shared: ConnectionContext,
    mut stop: Stop,
) -> Result<(), Error> {
    let UnixSocket { listener, file } = socket;
    let listener = UnixListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if shared.is_full() => reject(stream),
                Ok((stream, _)) => {
                    let seat = ConnectionPermit::take(&shared.open);
                    connections.spawn(converse(stream, shared.clone(), stop.clone(), seat));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop((file, listener));
    let drained = async { while connections.join_next().await.is_some() {} };
    // What is still under way after the bound is cut off as the set is dropped.
    let _ = timeout(shared.limits.drain(), drained).await;
    Ok(())
}

/// Says that there are too many connections, if that can be said at once.
fn reject(stream: UnixStream) {
    let refused = FrameHeader::refused(Refusal::Crowded).encode();
    let _ = stream.into_std().and_then(|mut stream| stream.write(&refused));
}

/// One of the connections that may be open at a time, given back when dropped.
struct ConnectionPermit(Gauge);

impl ConnectionPermit {
    fn take(open: &Gauge) -> Self {
        open.add(1);
        Self(open.clone())
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.add(-1);
    }
}

async fn converse(
    mut stream: UnixStream,
    shared: ConnectionContext,
    mut stop: Stop,
    _seat: ConnectionPermit,
) {
    let mut bytes = Vec::with_capacity(REQUEST_HEAD + LONGEST);
    let mut stopped = std::pin::pin!(stop.pulled());
    loop {
        let received = tokio::select! {
            received = receive(&mut stream, &mut bytes, &shared.limits) => received,
            () = &mut stopped => return,
        };
        let Some(request) = received else { return };
        let is_last = request.is_err();
        let outcome = request.and_then(|length| {
            let ask = DataRequest::read(&bytes[REQUEST_HEAD..][..length]);
            bytes.drain(..REQUEST_HEAD + length);
            shared.cache.copied(&ask?)
        });
        shared.figures.count(&outcome);
        let sent = timeout(shared.limits.read_time(), send(&mut stream, outcome)).await;
        if is_last || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}

/// Waits until the next request is there, as the first of these bytes: its length.
///
/// `None` is the end of the connection, or of patience with it; a refusal is that of a request
/// after which nothing more can be read.
async fn receive(
    stream: &mut UnixStream,
    bytes: &mut Vec<u8>,
    limits: &Limits,
) -> Option<Result<usize, Refusal>> {
    if bytes.is_empty()
        && !matches!(timeout(limits.idle(), stream.read_buf(bytes)).await, Ok(Ok(1..)))
    {
        return None;
    }
    let rest = async {
        loop {
            match first_request(bytes) {
                Ok(Some(request)) => return Some(Ok(request.len())),
                Ok(None) => {}
                Err(refusal) => return Some(Err(refusal)),
            }
            if !matches!(stream.read_buf(bytes).await, Ok(1..)) {
                return None;
            }
        }
    };
    timeout(limits.read_time(), rest).await.ok().flatten()
}

async fn send(stream: &mut UnixStream, outcome: Result<PayloadCopy, Refusal>) -> Result<(), Error> {
    let (head, payload) = match &outcome {
        Ok(copied) => {
            let payload = copied.as_ref();
            (FrameHeader::answered(payload.len(), copied.checksum()), payload)
        }
        Err(refusal) => (FrameHeader::refused(*refusal), &[][..]),
    };
    let head = head.encode();
    stream.write_all_buf(&mut Buf::chain(&head[..], payload)).await
}
