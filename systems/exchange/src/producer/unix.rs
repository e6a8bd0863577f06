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

use super::figures::Figures;
use super::shelf::{Copied, Shelf};
use crate::ask::{Ask, LONGEST};
use crate::frame::{Head, REQUEST_HEAD, first_request};
use crate::refusal::Refusal;

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// A listening socket and its file, which goes when this is dropped.
#[derive(Debug)]
pub(super) struct Door {
    listener: std::os::unix::net::UnixListener,
    file: SocketFile,
}

impl Door {
    /// Listens at the path; only its own user may open the file.
    ///
    /// A file that a dead producer left is replaced. Errors: somebody else's file is there
    pub(super) fn open(path: &Path) -> Result<Self, shm_channel::Error> {
        let (socket, file) = shm_channel::listen(path)?;
        Ok(Self { listener: socket.into(), file })
    }
}

/// What every connection shares.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub shelf: Arc<Shelf>,
    pub figures: Figures,
    pub open: Gauge,
    pub limits: Limits,
}

impl Shared {
    fn is_full(&self) -> bool {
        u64::try_from(self.open.get()).is_ok_and(|open| open >= self.limits.max_connections)
    }
}

/// Serves until stopped, then finishes what is under way within [`Limits::drain_ns`].
///
/// Errors: the listener cannot be handed to the runtime; a failed accept is waited out
pub(super) async fn serve(door: Door, shared: Shared, mut stop: Stop) -> Result<(), Error> {
    let Door { listener, file } = door;
    let listener = UnixListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if shared.is_full() => turn_away(stream),
                Ok((stream, _)) => {
                    let seat = Seat::take(&shared.open);
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
fn turn_away(stream: UnixStream) {
    let refused = Head::refused(Refusal::Crowded).encode();
    let _ = stream.into_std().and_then(|mut stream| stream.write(&refused));
}

/// One of the connections that may be open at a time, given back when dropped.
struct Seat(Gauge);

impl Seat {
    fn take(open: &Gauge) -> Self {
        open.add(1);
        Self(open.clone())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.add(-1);
    }
}

async fn converse(mut stream: UnixStream, shared: Shared, mut stop: Stop, _seat: Seat) {
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
            let ask = Ask::read(&bytes[REQUEST_HEAD..][..length]);
            bytes.drain(..REQUEST_HEAD + length);
            shared.shelf.copied(&ask?)
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

async fn send(stream: &mut UnixStream, outcome: Result<Copied, Refusal>) -> Result<(), Error> {
    let (head, payload) = match &outcome {
        Ok(copied) => {
            let payload = copied.as_ref();
            (Head::answered(payload.len(), copied.checksum()), payload)
        }
        Err(refusal) => (Head::refused(*refusal), &[][..]),
    };
    let head = head.encode();
    stream.write_all_buf(&mut Buf::chain(&head[..], payload)).await
}
