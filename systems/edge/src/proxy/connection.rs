//! One client's connection: HTTP/1.1 or HTTP/2, in the clear or over TLS.
//!
//! In the clear, the first bytes tell which of the two it is; over TLS, ALPN does.

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
use serving::stop::Stop;
use socket2::SockRef;
use timer::monotonic;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::delivery::Delivery;
use super::handler::{Handler, Peer};
use super::streams::{Running, Streams};
use super::tally::{Permit, Tally};
use crate::tls::{Stream, Tls};

/// Bytes of bodies that a client may send before they are passed on: of one stream, and of all of its connection.
const WINDOWS: (u32, u32) = (64 << 10, 256 << 10);
/// Bytes of an answer that wait in a stream until they are written.
const SENT_AHEAD: usize = 64 << 10;

/// What all connections share.
pub(super) struct Shared {
    pub handler: Arc<Handler>,
    pub tls: Option<Tls>,
    pub limits: Limits,
    /// Streams of a connection at a time.
    pub streams: u32,
    pub tally: Arc<Tally>,
    /// Dropped with the last stream of all connections.
    pub held: mpsc::Sender<Infallible>,
}

/// An accepted connection.
pub(super) struct Accepted {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub permit: Permit,
}

/// Serves a client until it leaves, is idle for too long, or the proxy stops.
pub(super) async fn serve_client(accepted: Accepted, shared: Arc<Shared>, mut stop: Stop) {
    let Accepted { stream, address, permit: _permit } = accepted;
    let limits = shared.limits;
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    // Without it an answer that is not read would keep its connection for ever.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(limits.read_time()));
    let opened = tokio::select! {
        opened = Stream::open(stream, shared.tls.as_ref(), limits.read_time()) => opened,
        () = stop.pulled() => return,
    };
    let Ok(stream) = opened else { return shared.tally.failed_handshakes.one() };
    let (socket, handle) = Socket::new(stream);
    let peer = Peer::new(address.ip(), shared.tls.is_some(), &handle);
    let state = Arc::new(ConnectionState::new(Arc::clone(&shared.handler), peer));
    let called = Arc::clone(&state);
    let service =
        service_fn(move |request| answer(ActiveRequest::begin(&called, &request), request));
    let running = Running::default();
    let builder = builder(&shared, &running);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(socket), service));
    let mut alarm = pin!(sleep(limits.idle()));
    let (mut is_leaving, mut is_stopping) = (false, false);
    let ended = loop {
        tokio::select! {
            ended = connection.as_mut() => break ended,
            () = alarm.as_mut() => {
                let left = state.idle_left(limits.idle());
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
    // hyper calls an error of the answer's body one of its user: the body broke off.
    let is_users = |error: &hyper::Error| error.is_user();
    if ended.is_err_and(|error| error.downcast_ref().is_some_and(is_users)) {
        handle.break_off();
    }
}

/// Serves HTTP/1.1 and HTTP/2. h2 ends a connection after 20 resets of streams that were not yet accepted, and after
/// 1024 streams that it had to reset itself.
fn builder(shared: &Shared, running: &Running) -> auto::Builder<Streams> {
    let Shared { limits, tally, held, .. } = shared;
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
        .max_concurrent_streams(shared.streams)
        .initial_stream_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.1)
        .max_send_buf_size(SENT_AHEAD);
    builder
}

async fn answer(
    call: ActiveRequest,
    request: Request<Incoming>,
) -> Result<Response<Delivery<ActiveRequest>>, Infallible> {
    let is_head = request.method() == Method::HEAD;
    let answer = call.0.handler.answer(&call.0.peer, request).await?;
    Ok(Delivery::of(answer, is_head, call))
}

/// What the requests of one connection share.
struct ConnectionState {
    handler: Arc<Handler>,
    peer: Peer,
    under_way: AtomicU64,
    /// Since when the connection is idle, if it is.
    rests_since_ns: AtomicU64,
    /// Whether it speaks HTTP/1.1, where hyper closes idle connections.
    is_http1: AtomicBool,
}

impl ConnectionState {
    fn new(handler: Arc<Handler>, peer: Peer) -> Self {
        Self {
            handler,
            peer,
            under_way: AtomicU64::new(0),
            rests_since_ns: AtomicU64::new(monotonic()),
            is_http1: AtomicBool::new(false),
        }
    }

    /// How long it may stay idle from now.
    fn idle_left(&self, idle: Duration) -> Duration {
        if self.is_http1.load(Ordering::Relaxed) || self.under_way.load(Ordering::Relaxed) > 0 {
            return idle;
        }
        let rested_ns = monotonic().saturating_sub(self.rests_since_ns.load(Ordering::Relaxed));
        idle.saturating_sub(Duration::from_nanos(rested_ns))
    }
}

/// A request under way, from its head to the last piece of its answer.
struct ActiveRequest(Arc<ConnectionState>);

impl ActiveRequest {
    fn begin<B>(state: &Arc<ConnectionState>, request: &Request<B>) -> Self {
        if request.version() != Version::HTTP_2 {
            state.is_http1.store(true, Ordering::Relaxed);
        }
        state.under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(state))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.rests_since_ns.store(monotonic(), Ordering::Relaxed);
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}
