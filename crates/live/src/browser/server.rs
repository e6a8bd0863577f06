//! The server of the page: routes, limits, and its end.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdListener;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, LocalBoxStream, StreamExt};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use super::access::Access;
use super::page;
use super::peers::{Peer, Peers};
use super::state::{Live, Shared};
use super::viewer::Viewer;
use crate::audience::Queue;
use crate::metrics::Metrics;
use crate::metrics::negotiation::Exposition;
use crate::view::RunView;

/// Connections at a time.
const CONNECTIONS: usize = 256;
/// Beyond those, so many are told that there is no room.
const REFUSED: usize = 64;
/// A client has so long to send a request.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// And to take what it was sent.
const PATIENCE: Duration = Duration::from_secs(20);
/// What the kernel keeps for a viewer who is slow.
const SEND_BUFFER: usize = 128 * 1024;
/// What the server keeps for one.
const BUFFER: usize = 64 * 1024;
/// News that come together become one frame.
const TOGETHER: Duration = Duration::from_millis(20);
/// Pause after a connection could not be accepted, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What no answer goes without: the page loads nothing from elsewhere, is framed by no other, and is not kept.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

type Events = LocalBoxStream<'static, Result<Frame<Bytes>, Infallible>>;
type Body = Either<Full<Bytes>, StreamBody<Events>>;

/// Serves until the run is over and viewers have the report.
///
/// Errors: the system gives no event loop
pub fn run(
    listener: StdListener,
    access: Access,
    (view, metrics): (RunView, Metrics),
    mut queue: Queue,
    report: oneshot::Receiver<String>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let live = Rc::new(RefCell::new(Live::new(view, metrics)));
    let access = Rc::new(access);
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::from_std(listener)?;
        let connections = GracefulShutdown::new();
        tokio::select! {
            () = accept(&listener, &connections, &access, &live) => {}
            () = follow(&mut queue, &live) => {}
        }
        drop(listener);
        let report = report.await.ok();
        live.borrow_mut().end(report);
        connections.shutdown().await;
        Ok(())
    })
}

/// Shows what happens until the run is over.
async fn follow(queue: &mut Queue, live: &Shared) {
    while let Some(news) = queue.recv().await {
        live.borrow_mut().take(&news);
        tokio::time::sleep(TOGETHER).await;
        while let Ok(news) = queue.try_recv() {
            live.borrow_mut().take(&news);
        }
        live.borrow_mut().publish();
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &GracefulShutdown,
    access: &Rc<Access>,
    live: &Shared,
) {
    let peers = Peers::default();
    loop {
        match listener.accept().await {
            Ok((stream, from)) if connections.count() < CONNECTIONS + REFUSED => {
                let is_full = connections.count() >= CONNECTIONS;
                if let Some(peer) = peers.enter(from.ip()) {
                    serve((stream, peer), connections, (access, is_full), live);
                }
            }
            Ok(_) => {}
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

fn serve(
    (stream, peer): (TcpStream, Peer),
    connections: &GracefulShutdown,
    (access, is_full): (&Rc<Access>, bool),
    live: &Shared,
) {
    let socket = SockRef::from(&stream);
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_send_buffer_size(SEND_BUFFER);
    // Also of a viewer who has stopped reading.
    let _ = socket.set_tcp_user_timeout(Some(PATIENCE));
    let (access, live) = (Rc::clone(access), Shared::clone(live));
    let service = service_fn(move |request| {
        let mut response = match is_full {
            true => text(StatusCode::SERVICE_UNAVAILABLE, "too many watch this run\n"),
            false => answer(&request, &access, &live),
        };
        if is_full {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        async move { Ok::<_, Infallible>(response) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(BUFFER);
    let connection = server.serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::task::spawn_local(async move {
        // A viewer who went away is no news.
        let _ = connection.await;
        drop(peer);
    });
}

fn answer(request: &Request<Incoming>, access: &Access, live: &Shared) -> Response<Body> {
    if !access.allows(request) {
        return text(StatusCode::FORBIDDEN, "open the link that the run printed\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "nothing here can be changed\n");
    }
    match request.uri().path() {
        "/" => typed("text/html; charset=utf-8", Either::Left(Full::new(page::page()))),
        "/events" => typed("text/event-stream", events(live)),
        "/metrics" => metrics(request, live),
        _ => text(StatusCode::NOT_FOUND, "there are /, /events and /metrics\n"),
    }
}

fn metrics(request: &Request<Incoming>, live: &Shared) -> Response<Body> {
    let accepted = request.headers().get_all(header::ACCEPT).into_iter();
    let accepted: Vec<&str> = accepted.filter_map(|value| value.to_str().ok()).collect();
    let form = Exposition::accepted(&accepted.join(","));
    let metrics = form.of(&live.borrow().metrics);
    let mut response = typed(form.media_type(), Either::Left(Full::from(metrics)));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

fn events(live: &Shared) -> Body {
    let viewer = Viewer::new(live);
    let events = stream::unfold(viewer, |mut viewer| async {
        let event = viewer.next().await?;
        Some((Ok(Frame::data(event)), viewer))
    });
    Either::Right(StreamBody::new(events.boxed_local()))
}

fn typed(kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = typed("text/plain; charset=utf-8", Either::Left(Full::from(text)));
    *response.status_mut() = status;
    response
}
