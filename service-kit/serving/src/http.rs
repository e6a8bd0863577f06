//! An HTTP/1.1 server on hyper for systems whose own speed does not matter.
//!
//! It answers `/healthz` and `/metrics`, keeps the [`Limits`], and drains when stopped. Request
//! bodies are read whole before the system sees them, and share a budget until they are answered;
//! an answer may be whole or come in pieces.
//!
//! A request for another protocol carries hyper's `OnUpgrade` and a [`ConnectionPermit`] in its extensions. The
//! handler keeps the permit as long as the upgraded connection is open, and ends it when the system
//! stops: the drain waits until all permits are dropped, so that upgraded connections can close
//! properly.

use std::convert::Infallible;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::limits::Limits;
use crate::metrics::{self, Gauge, Registry};
use crate::observed::Observed;
use crate::stop::Stop;

pub use body::Body;
use intake::{Intake, Refused};

mod body;
mod intake;

/// An answer, whole or in pieces.
pub type Answer = Response<Body>;

/// hyper refuses smaller read buffers.
const SMALLEST_BUFFER: usize = 8192;
/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What a system does with a request.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request, its body read and within the limit.
    fn handle(&self, request: Request<Bytes>) -> impl Future<Output = Answer> + Send;

    /// Answers a request whose body cannot be read; as text, unless the system has its own format.
    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        text(status, format!("{reason}\n"))
    }

    /// Answers `GET /healthz`: 200 unless the system can do no work, for want of a part of it.
    fn health(&self) -> impl Future<Output = Answer> + Send {
        async { text(StatusCode::OK, "ok\n") }
    }

    /// Updates metrics that are computed on request; called before `GET /metrics` is answered.
    fn measure(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

impl<F, Fut> Handler for F
where
    F: Fn(Request<Bytes>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send,
{
    fn handle(&self, request: Request<Bytes>) -> impl Future<Output = Answer> + Send {
        self(request)
    }
}

/// Serves until stopped, then finishes what is in flight within [`Limits::drain_ns`].
///
/// Errors: the listener cannot be handed to the runtime; a failed accept is waited out
pub async fn serve(
    listener: StdListener,
    handler: impl Handler,
    limits: Limits,
    registry: Registry,
    mut stop: Stop,
) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let state = ServerState {
        open: registry.gauge("http_connections", "Open connections."),
        intake: Intake::new(&limits, &registry),
        handler,
        limits,
        registry,
    };
    let state = Arc::new(state);
    let mut connections = JoinSet::new();
    let (held, mut all_given_back) = mpsc::channel(1);
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if !state.is_full() => {
                    let seat = ConnectionPermit::take(&state.open, &held);
                    connections.spawn(converse(stream, seat, Arc::clone(&state), stop.clone()));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop((listener, held));
    let drained = async {
        while connections.join_next().await.is_some() {}
        all_given_back.recv().await
    };
    // What is still under way after the bound is cut off as the set is dropped.
    let _ = tokio::time::timeout(limits.drain(), drained).await;
    Ok(())
}

/// An answer with a status and a text.
pub fn text(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "text/plain; charset=utf-8", body)
}

/// An answer with a status and a JSON body already rendered.
pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "application/json", body)
}

/// Answers for a system that observes, and does nothing else.
pub fn observer(observed: impl Fn() -> Observed + Send + Sync + 'static) -> impl Handler {
    move |request: Request<Bytes>| {
        std::future::ready(match (request.method(), request.uri().path()) {
            (&Method::GET, "/observed") => json(StatusCode::OK, observed().body()),
            _ => text(StatusCode::NOT_FOUND, "GET /observed, /healthz or /metrics\n"),
        })
    }
}

fn typed(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Body::from(body.into()));
    *answer.status_mut() = status;
    let value = HeaderValue::from_static(media_type);
    answer.headers_mut().insert(CONTENT_TYPE, value);
    answer
}

/// What every connection of one server shares.
struct ServerState<H> {
    open: Gauge,
    intake: Intake,
    handler: H,
    limits: Limits,
    registry: Registry,
}

impl<H> ServerState<H> {
    fn is_full(&self) -> bool {
        u64::try_from(self.open.get()).is_ok_and(|open| open >= self.limits.max_connections)
    }
}

/// One of the connections that may be open at a time, given back when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct ConnectionPermit {
    _taken: Arc<PermitRelease>,
}

#[derive(Debug)]
struct PermitRelease {
    open: Gauge,
    /// Nothing is sent: dropping the last clone means that no permit is held.
    _held: mpsc::Sender<Infallible>,
}

impl ConnectionPermit {
    fn take(open: &Gauge, held: &mpsc::Sender<Infallible>) -> Self {
        open.add(1);
        Self { _taken: Arc::new(PermitRelease { open: open.clone(), _held: held.clone() }) }
    }
}

impl Drop for PermitRelease {
    fn drop(&mut self) {
        self.open.add(-1);
    }
}

async fn converse<H: Handler>(
    stream: TcpStream,
    seat: ConnectionPermit,
    state: Arc<ServerState<H>>,
    mut stop: Stop,
) {
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    // An unread answer would keep its connection and its bytes for ever.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(state.limits.read_time()));
    let service = service_fn(|request| answer(request, &seat, &state));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(state.limits.idle())
        .max_buf_size((state.limits.max_head_bytes as usize).max(SMALLEST_BUFFER));
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    // How a conversation broke off is the client's affair; it is no error of the system.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stop.pulled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn answer<H: Handler>(
    request: Request<Incoming>,
    seat: &ConnectionPermit,
    state: &ServerState<H>,
) -> Result<Answer, Infallible> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz") => return Ok(state.handler.health().await),
        (&Method::GET, "/metrics") => {
            state.handler.measure().await;
            return Ok(typed(StatusCode::OK, metrics::CONTENT_TYPE, state.registry.render()));
        }
        _ => {}
    }
    let (mut parts, body) = request.into_parts();
    if parts.extensions.get::<OnUpgrade>().is_some() {
        parts.extensions.insert(seat.clone());
    }
    let read = tokio::time::timeout(state.limits.read_time(), state.intake.read(body)).await;
    let (body, _held) = match read.unwrap_or(Err(Refused::Slow)) {
        Ok(whole) => whole,
        Err(refused) => return Ok(refuse(refused, &state.handler)),
    };
    Ok(state.handler.handle(Request::from_parts(parts, body)).await)
}

fn refuse(refused: Refused, handler: &impl Handler) -> Answer {
    let (status, reason) = refused.answer();
    let mut answer = handler.refuse(status, reason);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

#[cfg(test)]
mod tests;
