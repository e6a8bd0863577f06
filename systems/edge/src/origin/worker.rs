//! One thread that accepts and answers, and shares nothing that another would wait for.

use std::cell::Cell;
use std::io;
use std::net::TcpListener as StdListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderValue;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode, Version};
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto;
use serving::error::ServeError;
use serving::limits::Limits;
use serving::metrics;
use serving::stop::Stop;
use socket2::SockRef;
use timer::monotonic;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::JoinSet;

use super::admin;
use super::served::{Fate, Served};
use super::simulation::{Answer, simulate, text_answer};
use super::tally::{self, RequestOutcome};
use super::wire::Wire;
use super::worker_state::{HTML, JSON, Shared, WorkerState};
use crate::tls::Stream;

/// hyper refuses smaller read buffers.
const SMALLEST_BUFFER: usize = 8_192;
/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
const PROMETHEUS: HeaderValue = HeaderValue::from_static(metrics::CONTENT_TYPE);

/// Serves on the calling thread until stopped and drained.
///
/// Errors: no runtime or timer to be had
pub fn run(
    listener: StdListener,
    shared: Arc<Shared>,
    worker: usize,
    stop: Stop,
) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .map_err(ServeError::while_doing("make a runtime"))?;
    let served = runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        serve(listener, Rc::new(WorkerState::new(shared, worker)?), stop).await
    });
    served.map_err(ServeError::while_doing("serve"))
}

async fn serve(listener: TcpListener, state: Rc<WorkerState>, mut stop: Stop) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Some(permit) = ConnectionPermit::take(&state) {
                        connections.spawn_local(converse(stream, permit, stop.clone()));
                    }
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    // What is still under way after the bound is cut off as the set is dropped.
    let _ = tokio::time::timeout(state.shared.limits.drain(), drained).await;
    Ok(())
}

/// One of the connections that may be open at a time.
struct ConnectionPermit(Rc<WorkerState>);

impl ConnectionPermit {
    fn take(state: &Rc<WorkerState>) -> Option<Self> {
        let open = &state.shared.open;
        let is_full =
            u64::try_from(open.get()).is_ok_and(|open| open >= state.shared.limits.max_connections);
        if is_full {
            return None;
        }
        open.add(1);
        Some(Self(Rc::clone(state)))
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.shared.open.add(-1);
    }
}

async fn converse(stream: TcpStream, permit: ConnectionPermit, mut stop: Stop) {
    let state = Rc::clone(&permit.0);
    let limits = state.shared.limits;
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    // An answer that nobody reads would keep its connection and its bytes for ever.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(limits.read_time()));
    let opened = tokio::select! {
        opened = Stream::open(stream, state.shared.tls.as_ref(), limits.read_time()) => opened,
        () = stop.pulled() => return,
    };
    let Ok(stream) = opened else { return };
    let fate = Fate::of_connection();
    let asked = Rc::new(Cell::new(false));
    let wire = Wire::new(stream, fate.clone());
    let has_asked = Rc::clone(&asked);
    let service = service_fn(move |request| {
        has_asked.set(true);
        let (state, fate) = (Rc::clone(&state), fate.clone());
        async move { answer(&state, request, &fate).await }
    });
    let builder = builder(&limits);
    let mut connection = std::pin::pin!(builder.serve_connection(wire, service));
    // Until a whole head is there nobody else looks at the time.
    let mut first = std::pin::pin!(tokio::time::sleep(limits.idle()));
    let (mut is_waiting, mut is_stopping) = (true, false);
    loop {
        tokio::select! {
            // How a conversation broke off is the client's affair; it is no error of the system.
            _ = connection.as_mut() => return,
            () = first.as_mut(), if is_waiting => {
                is_waiting = false;
                if !asked.get() {
                    return;
                }
            }
            () = stop.pulled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// HTTP/1.1, and HTTP/2, as the first bytes say.
fn builder(limits: &Limits) -> auto::Builder<OnThisThread> {
    let mut builder = auto::Builder::new(OnThisThread);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle())
        .max_buf_size((limits.max_head_bytes as usize).max(SMALLEST_BUFFER));
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle())
        .keep_alive_timeout(limits.read_time())
        .max_header_list_size(u32::try_from(limits.max_head_bytes).unwrap_or(u32::MAX));
    builder
}

/// Runs streams of a connection on the thread of the connection.
#[derive(Debug, Clone, Copy)]
struct OnThisThread;

impl<F: Future<Output = ()> + 'static> Executor<F> for OnThisThread {
    fn execute(&self, stream: F) {
        tokio::task::spawn_local(stream);
    }
}

async fn answer(
    state: &WorkerState,
    request: Request<Incoming>,
    fate: &Fate,
) -> io::Result<Answer> {
    // Over HTTP/1.1 hyper sees to it.
    let is_silent = request.version() == Version::HTTP_2 && request.method() == Method::HEAD;
    let answer = reply(state, request, fate).await?;
    Ok(if is_silent { answer.map(Served::silent) } else { answer })
}

async fn reply(state: &WorkerState, request: Request<Incoming>, fate: &Fate) -> io::Result<Answer> {
    let fate = if request.version() == Version::HTTP_2 { &Fate::Stream } else { fate };
    let path = request.uri().path();
    if admin::below(path).is_some() {
        return Ok(admin::administer(state, request).await);
    }
    let is_get = request.method() == Method::GET;
    // These are of ours, and leave the path to a recipe that names it.
    if is_get
        && let Some(own) = own(state, path)
        && !state.view().table.has(path)
    {
        return Ok(own);
    }
    if !is_get && request.method() != Method::POST {
        state.tally().count(&state.nowhere, RequestOutcome::Status(404), 0, 0);
        return Ok(admin::not_found(state));
    }
    let (head, body) = request.into_parts();
    if !body.is_end_stream()
        && let Err((status, reason)) = discard(body, state).await
    {
        state.tally().count(&state.nowhere, RequestOutcome::Status(status.as_u16()), 0, 0);
        let generation = state.shared.routes.generation();
        return Ok(text_answer(status, reason.to_owned(), HTML, generation));
    }
    simulate(state, head.uri.path(), monotonic(), fate).await
}

/// What the origin says of itself at this path, if anything.
fn own(state: &WorkerState, path: &str) -> Option<Answer> {
    let tallies = &state.shared.tallies;
    let (text, content_type) = match path {
        "/healthz" => ("ok\n".to_owned(), HTML),
        "/metrics" => {
            (state.shared.registry.render() + &tally::render(&tally::times(tallies)), PROMETHEUS)
        }
        "/observed" => (tally::observed(&tally::together(&tally::by_route(tallies))).body(), JSON),
        _ => return None,
    };
    Some(text_answer(StatusCode::OK, text, content_type, state.shared.routes.generation()))
}

/// Reads a body to its end, for nothing but that the next request follows it.
async fn discard(
    mut body: Incoming,
    state: &WorkerState,
) -> Result<(), (StatusCode, &'static str)> {
    let limits = &state.shared.limits;
    let reading = async {
        let mut read = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "body broken off"))?;
            read += frame.data_ref().map_or(0, |data| data.len() as u64);
            if read > limits.max_body_bytes {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, "body too large"));
            }
        }
        Ok(())
    };
    let read = tokio::time::timeout(limits.read_time(), reading).await;
    read.unwrap_or(Err((StatusCode::REQUEST_TIMEOUT, "body too slow")))
}
