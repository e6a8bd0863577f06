//! An HTTP/1.1 server on hyper for systems whose own speed is not the question.
//!
//! It answers `/healthz` and `/metrics`, keeps the [`Limits`], and drains when stopped. Request
//! bodies are read whole before the system sees them.

use std::convert::Infallible;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::limits::Limits;
use crate::metrics::{self, Gauge, Registry};
use crate::stop::Stop;

/// A whole answer.
pub type Answer = Response<Full<Bytes>>;

/// hyper refuses smaller read buffers.
const SMALLEST_BUFFER: usize = 8192;
/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What a system does with a request.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request, its body read and within the limit.
    fn handle(&self, request: Request<Bytes>) -> impl Future<Output = Answer> + Send;
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
    let room = Room {
        open: registry.gauge("http_connections", "Open connections."),
        handler,
        limits,
        registry,
    };
    let room = Arc::new(room);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if (connections.len() as u64) < limits.max_connections => {
                    connections.spawn(converse(stream, Arc::clone(&room), stop.clone()));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
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

fn typed(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let value = hyper::header::HeaderValue::from_static(media_type);
    answer.headers_mut().insert(CONTENT_TYPE, value);
    answer
}

/// What every connection of one server shares.
struct Room<H> {
    open: Gauge,
    handler: H,
    limits: Limits,
    registry: Registry,
}

async fn converse<H: Handler>(stream: TcpStream, room: Arc<Room<H>>, mut stop: Stop) {
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    room.open.add(1);
    let service = service_fn(|request| answer(request, &room));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(room.limits.idle())
        .max_buf_size((room.limits.max_head_bytes as usize).max(SMALLEST_BUFFER));
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    // How a conversation broke off is the client's affair; it is no error of the system.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stop.pulled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
    room.open.add(-1);
}

async fn answer<H: Handler>(
    request: Request<Incoming>,
    room: &Room<H>,
) -> Result<Answer, Infallible> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz") => return Ok(text(StatusCode::OK, "ok\n")),
        (&Method::GET, "/metrics") => {
            return Ok(typed(StatusCode::OK, metrics::CONTENT_TYPE, room.registry.render()));
        }
        _ => {}
    }
    let (parts, body) = request.into_parts();
    let whole = Limited::new(body, room.limits.max_body_bytes as usize).collect();
    let body = match tokio::time::timeout(room.limits.read_time(), whole).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            return Ok(text(StatusCode::PAYLOAD_TOO_LARGE, "body too large\n"));
        }
        Ok(Err(_)) => return Ok(text(StatusCode::BAD_REQUEST, "body broken off\n")),
        Err(_) => return Ok(text(StatusCode::REQUEST_TIMEOUT, "body too slow\n")),
    };
    Ok(room.handler.handle(Request::from_parts(parts, body)).await)
}

#[cfg(test)]
mod tests;
