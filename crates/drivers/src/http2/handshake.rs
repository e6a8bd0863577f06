//! Opening a connection of HTTP/2, for every protocol that is carried by one.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use engine::driver::NewConnection;
use engine::transport::{Endpoint, Stream};
use h2::client::Builder;
use http::uri::{Authority, Scheme};
use record::FailureKind;

use super::connection::{Connection, RequestOrigin};
use super::connection_end::ConnectionEnd;
use super::failure;
use super::wire::Wire;
use crate::http::head::HEAD_LIMIT;

/// Bytes of one answer that may be under way before any of them is read.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
/// The same of all answers of a connection, which bounds what it may hold.
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
/// Streams that were given up and are remembered for a while, so that what still comes for them is understood.
const REMEMBERED: usize = 1_000;
/// How long they are remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);

/// A connection over this stream, with the task that moves its frames.
///
/// Errors: the kind of failure and what was seen
pub async fn open(
    endpoint: &Endpoint,
    stream: Stream,
) -> Result<NewConnection<Connection>, (FailureKind, String)> {
    let is_tls = stream.is_tls();
    if is_tls && stream.alpn() != Some(b"h2") {
        let detail = format!("{endpoint} did not agree to speak HTTP/2 (ALPN h2) over TLS");
        return Err((FailureKind::Tls, detail));
    }
    let authority = endpoint.authority.parse::<Authority>().map_err(|error| {
        let detail = format!("{} is no authority of a URI: {error}", endpoint.authority);
        (FailureKind::Unreachable, detail)
    })?;
    let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
    let ending = Rc::new(ConnectionEnd::default());
    let wire = Wire::new(stream, Rc::clone(&ending));
    let (send, connection) = builder().handshake::<_, Bytes>(wire).await.map_err(|error| {
        let failure = failure::of(&error, &ending);
        (failure.kind, failure.detail)
    })?;
    let ended = Rc::clone(&ending);
    let background = Box::pin(async move {
        // Every stream reports the failure.
        let _ = connection.await;
        ended.come();
    });
    let connection = Connection::new(send, ending, RequestOrigin { scheme, authority });
    Ok(NewConnection { connection, background: Some(background) })
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        // Beyond the limit that is told apart, so that it can be told apart.
        .max_header_list_size(4 * HEAD_LIMIT as u32)
        .max_concurrent_reset_streams(REMEMBERED)
        .reset_stream_duration(REMEMBERED_FOR)
        // Many operations may time out on one connection, which must not end it.
        .max_local_error_reset_streams(None);
    builder
}
