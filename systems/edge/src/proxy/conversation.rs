//! One client, as long as it stays: HTTP/1.1 or HTTP/2, in the clear or over TLS.
//!
//! Which of the two is spoken a client says with its first bytes; over TLS it was agreed on before.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use proxying::Socket;
use serving::limits::Limits;
use serving::nonce::now_ns;
use serving::stop::Stop;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::delivery::Delivery;
use super::desk::{Desk, Peer};
use super::streams::{Running, Streams};
use super::tally::{Place, Tally};
use crate::tls::{Stream, Tls};

/// Bytes of bodies that a client may send before they are passed on: of one stream, and of all of its connection.
const WINDOWS: (u32, u32) = (64 << 10, 256 << 10);
/// Bytes of an answer that wait in a stream until they are written.
const SENT_AHEAD: usize = 64 << 10;

/// What all clients meet.
pub(super) struct Door {
    pub desk: Arc<Desk>,
    pub tls: Option<Tls>,
    pub limits: Limits,
    /// Streams of a connection at a time.
    pub streams: u32,
    pub tally: Arc<Tally>,
    /// Gone with the last stream of all connections.
    pub held: mpsc::Sender<Infallible>,
}

/// A client's connection among those that are open.
pub(super) struct Guest {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub place: Place,
}

/// Serves a client until it leaves, has nothing to say for too long, or everybody is to leave.
pub(super) async fn converse(guest: Guest, door: Arc<Door>, mut stop: Stop) {
    let Guest { stream, address, place: _place } = guest;
    let limits = door.limits;
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    // An answer that nobody reads would keep its connection for ever.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(limits.read_time()));
    let opened = tokio::select! {
        opened = Stream::open(stream, door.tls.as_ref(), limits.read_time()) => opened,
        () = stop.pulled() => return,
    };
    let Ok(stream) = opened else { return door.tally.failed_handshakes.one() };
    let (socket, handle) = Socket::new(stream);
    let peer = Peer::new(address.ip(), door.tls.is_some(), &handle);
    let line = Arc::new(Line::new(Arc::clone(&door.desk), peer));
    let called = Arc::clone(&line);
    let service = service_fn(move |request| answer(Call::begin(&called, &request), request));
    let running = Running::default();
    let builder = builder(&door, &running);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
    let mut alarm = pin!(sleep(limits.idle()));
    let (mut is_leaving, mut is_stopping) = (false, false);
    let ended = loop {
        tokio::select! {
            ended = connection.as_mut() => break ended,
            () = alarm.as_mut() => {
                let left = line.left(limits.idle());
                if left.is_zero() {
                    if is_leaving {
                        return;
                    }
                    is_leaving = true;
                    connection.as_mut().graceful_shutdown();
                }
                let next = if is_leaving { limits.read_time() } else { left };
                alarm.as_mut().reset(Instant::now() + next);
            }
            () = stop.pulled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    };
    // A user of hyper's is the answer's body, which broke off.
    let is_users = |error: &hyper::Error| error.is_user();
    if ended.is_err_and(|error| error.downcast_ref().is_some_and(is_users)) {
        handle.break_off();
    }
}

/// HTTP/1.1, and HTTP/2. Of resets that come before their stream was taken up h2 bears 20, and of such that it must
/// answer with one itself 1024; then it ends the connection.
fn builder(door: &Door, running: &Running) -> auto::Builder<Streams> {
    let Door { limits, tally, held, .. } = door;
    let given_up = tally.given_up_streams.clone();
    let streams = running.streams(limits.read_time(), given_up, held.clone());
    let mut builder = auto::Builder::new(streams);
    builder
        .http1()
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle())
        .max_buf_size(limits.max_head_bytes as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle())
        .keep_alive_timeout(limits.read_time())
        .max_header_list_size(u32::try_from(limits.max_head_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(door.streams)
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .max_send_buf_size(SENT_AHEAD);
    builder
}

async fn answer(
    call: Call,
    request: Request<Incoming>,
) -> Result<Response<Delivery<Call>>, Infallible> {
    let is_head = request.method() == Method::HEAD;
    let answer = call.0.desk.answer(&call.0.peer, request).await?;
    Ok(Delivery::of(answer, is_head, call))
}

/// What the requests of one connection share.
struct Line {
    desk: Arc<Desk>,
    peer: Peer,
    under_way: AtomicU64,
    /// Since when nothing is under way, if nothing is.
    rests_since_ns: AtomicU64,
    /// Whether it is HTTP/1.1 that is spoken; hyper sees to it that it does not idle.
    is_old: AtomicBool,
}

impl Line {
    fn new(desk: Arc<Desk>, peer: Peer) -> Self {
        Self {
            desk,
            peer,
            under_way: AtomicU64::new(0),
            rests_since_ns: AtomicU64::new(now_ns()),
            is_old: AtomicBool::new(false),
        }
    }

    /// How long it may do nothing yet.
    fn left(&self, idle: Duration) -> Duration {
        if self.is_old.load(Ordering::Relaxed) || self.under_way.load(Ordering::Relaxed) > 0 {
            return idle;
        }
        let rested_ns = now_ns().saturating_sub(self.rests_since_ns.load(Ordering::Relaxed));
        idle.saturating_sub(Duration::from_nanos(rested_ns))
    }
}

/// A request, from its head to the last piece of its answer.
struct Call(Arc<Line>);

impl Call {
    fn begin<B>(line: &Arc<Line>, request: &Request<B>) -> Self {
        if request.version() != Version::HTTP_2 {
            line.is_old.store(true, Ordering::Relaxed);
        }
        line.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(line))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.rests_since_ns.store(now_ns(), Ordering::Relaxed);
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}
