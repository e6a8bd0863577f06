//! The server over real sockets: answers, limits, drain. Not what any one system answers.

use super::*;
use crate::listener;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

type Server = JoinHandle<std::io::Result<()>>;

fn start(handler: impl Handler, limits: Limits, stop: Stop) -> (SocketAddr, Server) {
    let listener = listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve(listener, handler, limits, Registry::default(), stop);
    (address, tokio::spawn(server))
}

async fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn echo(request: Request<Bytes>) -> Answer {
    text(StatusCode::OK, request.into_body())
}

#[tokio::test]
async fn health_metrics_and_the_handler_answer() {
    let (_stopper, stop) = Stop::pair();
    let (address, _server) = start(echo, Limits::default(), stop);
    let health =
        ask(address, "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200 OK") && health.ends_with("ok\n"), "{health}");
    let metrics =
        ask(address, "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(metrics.contains("# TYPE http_connections gauge"), "{metrics}");
    let echoed = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc";
    assert!(ask(address, echoed).await.ends_with("\r\n\r\nabc"));
}

#[tokio::test]
async fn an_observer_says_what_it_saw_when_it_is_asked_and_nothing_else() {
    let (_stopper, stop) = Stop::pair();
    let seen = Observed { received: 3, ..Observed::default() };
    let body = seen.body();
    let (address, _server) = start(observer(move || seen.clone()), Limits::default(), stop);
    for (line, status, said) in [
        ("GET /observed", "200", body.as_str()),
        ("POST /observed", "404", "GET /observed, /healthz or /metrics\n"),
        ("GET /", "404", "GET /observed, /healthz or /metrics\n"),
    ] {
        let request = format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        let answer = ask(address, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{said}")), "{line}: {answer}");
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let (_stopper, stop) = Stop::pair();
    let limits = Limits { max_body_bytes: 2, ..Limits::default() };
    let (address, _server) = start(echo, limits, stop);
    let request = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc";
    let answer = ask(address, request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.ends_with("body too large\n"), "{answer}");
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_given_up() {
    let (_stopper, stop) = Stop::pair();
    let limits = Limits { max_connections: 1, read_ns: 100_000_000, ..Limits::default() };
    // More than the kernel takes for a peer that does not read.
    let handler = |_| async { text(StatusCode::OK, vec![b'x'; 64 << 20]) };
    let (address, _server) = start(handler, limits, stop);
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    // Its seat is the only one: others get an answer once it is given back.
    loop {
        let mut other = TcpStream::connect(address).await.unwrap();
        let mut answer = Vec::new();
        // Both may fail on a connection that is closed at once.
        let _ = other.write_all(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n").await;
        let _ = other.read_to_end(&mut answer).await;
        if answer.starts_with(b"HTTP/1.1 200") {
            break;
        }
    }
    drop(idle);
}

/// Not a byte of it is ever sent: the answer must not wait for it, nor invite it.
#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_it_comes() {
    let (_stopper, stop) = Stop::pair();
    let limits = Limits { max_body_bytes: 2, ..Limits::default() };
    let (address, _server) = start(echo, limits, stop);
    for expect in ["", "expect: 100-continue\r\n"] {
        let request = format!("POST / HTTP/1.1\r\nhost: a\r\n{expect}content-length: 3\r\n\r\n");
        let answer = ask(address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
    let chunked = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n\
                   2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    let answer = ask(address, chunked).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

/// One body is held by a handler that has not answered yet; there is no room for another one, until
/// the first is answered.
#[tokio::test]
async fn bodies_share_a_budget_until_they_are_answered() {
    let (_stopper, stop) = Stop::pair();
    let (entered, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inside, outside) = (Arc::clone(&entered), Arc::clone(&release));
    let handler = move |request: Request<Bytes>| {
        let (inside, outside) = (Arc::clone(&inside), Arc::clone(&outside));
        async move {
            if request.body().starts_with(b"wait") {
                inside.notify_one();
                outside.notified().await;
            }
            echo(request).await
        }
    };
    let limits = Limits { max_bodies_bytes: Some(8), ..Limits::default() };
    let (address, _server) = start(handler, limits, stop);
    let post = |body: &str| {
        let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length:";
        format!("{head} {}\r\n\r\n{body}", body.len())
    };
    // It comes in two pieces, both of which are held.
    let head = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked";
    let first = format!("{head}\r\n\r\n2\r\nwa\r\n3\r\nits\r\n0\r\n\r\n");
    let first = tokio::spawn(async move { ask(address, &first).await });
    entered.notified().await;
    let answer = ask(address, &post("four")).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("\r\nretry-after: 1\r\n"), "{answer}");
    assert!(ask(address, &post("two")).await.ends_with("\r\n\r\ntwo"), "three bytes are left");
    let metrics =
        ask(address, "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(metrics.contains("http_bodies_refused_total 1"), "{metrics}");
    release.notify_one();
    assert!(first.await.unwrap().ends_with("waits"));
    assert!(
        ask(address, &post("all of it")).await.starts_with("HTTP/1.1 503"),
        "nine are too many"
    );
    assert!(ask(address, &post("all of.")).await.ends_with("all of."), "what was held is back");
}

#[tokio::test]
async fn a_connection_beyond_the_limit_is_closed() {
    let (_stopper, stop) = Stop::pair();
    let limits = Limits { max_connections: 1, ..Limits::default() };
    let (address, _server) = start(echo, limits, stop);
    let _first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    assert_eq!(second.read(&mut [0; 8]).await.unwrap(), 0);
}

#[tokio::test]
async fn stopping_finishes_what_is_in_flight_and_accepts_no_more() {
    let (stopper, stop) = Stop::pair();
    let entered = Arc::new(Notify::new());
    let release = Arc::new(Notify::new());
    let (inside, outside) = (Arc::clone(&entered), Arc::clone(&release));
    let handler = move |_request: Request<Bytes>| {
        let (inside, outside) = (Arc::clone(&inside), Arc::clone(&outside));
        async move {
            inside.notify_one();
            outside.notified().await;
            text(StatusCode::OK, "late but whole")
        }
    };
    let (address, server) = start(handler, Limits::default(), stop);
    let asking =
        tokio::spawn(async move { ask(address, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").await });
    entered.notified().await;
    stopper.stop();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.notify_one();
    assert!(asking.await.unwrap().ends_with("late but whole"));
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_drain_is_bounded() {
    let (stopper, stop) = Stop::pair();
    let entered = Arc::new(Notify::new());
    let inside = Arc::clone(&entered);
    let handler = move |_request: Request<Bytes>| {
        inside.notify_one();
        std::future::pending()
    };
    let limits = Limits { drain_ns: 0, ..Limits::default() };
    let (address, server) = start(handler, limits, stop);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    entered.notified().await;
    stopper.stop();
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_answer_may_come_in_pieces() {
    let (_stopper, stop) = Stop::pair();
    let release = Arc::new(Notify::new());
    let inside = Arc::clone(&release);
    let handler = move |_request: Request<Bytes>| {
        let inside = Arc::clone(&inside);
        async move {
            let (pieces, body) = Body::stream(1);
            tokio::spawn(async move {
                pieces.send("one\n".into()).await.unwrap();
                inside.notified().await;
                pieces.send("two\n".into()).await.unwrap();
            });
            Response::new(body)
        }
    };
    let (address, _server) = start(handler, Limits::default(), stop);
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    // The first piece arrives while the second is not there yet.
    while !seen.ends_with(b"4\r\none\n\r\n") {
        assert_ne!(stream.read_buf(&mut seen).await.unwrap(), 0);
    }
    release.notify_one();
    stream.read_to_end(&mut seen).await.unwrap();
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("transfer-encoding: chunked"), "{seen}");
    assert!(seen.ends_with("4\r\ntwo\n\r\n0\r\n\r\n"), "{seen}");
}

/// Agrees to another protocol, and speaks it until `talk` is done, holding the seat.
fn switch<F>(mut request: Request<Bytes>, talk: impl FnOnce(Raw) -> F + Send + 'static) -> Answer
where
    F: Future<Output = ()> + Send,
{
    let upgrade = hyper::upgrade::on(&mut request);
    let seat: ConnectionPermit = request.extensions_mut().remove().unwrap();
    tokio::spawn(async move {
        talk(TokioIo::new(upgrade.await.unwrap())).await;
        drop(seat);
    });
    let mut answer = text(StatusCode::SWITCHING_PROTOCOLS, "");
    answer.headers_mut().insert("upgrade", "mirror".parse().unwrap());
    answer
}

type Raw = TokioIo<hyper::upgrade::Upgraded>;

/// A connection on which the server has agreed to another protocol.
async fn switched(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: mirror\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        seen.push(stream.read_u8().await.unwrap());
    }
    assert!(seen.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&seen));
    stream
}

async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    rest
}

#[tokio::test]
async fn a_connection_that_changed_its_protocol_keeps_its_seat() {
    let (_stopper, stop) = Stop::pair();
    let handler = |request: Request<Bytes>| {
        std::future::ready(switch(request, |mut stream: Raw| async move {
            let mut word = [0; 4];
            stream.read_exact(&mut word).await.unwrap();
            word.reverse();
            stream.write_all(&word).await.unwrap();
        }))
    };
    let limits = Limits { max_connections: 1, ..Limits::default() };
    let (address, _server) = start(handler, limits, stop);
    let mut stream = switched(address).await;
    let mut second = TcpStream::connect(address).await.unwrap();
    assert_eq!(second.read(&mut [0; 8]).await.unwrap(), 0, "the only seat is taken");
    stream.write_all(b"abcd").await.unwrap();
    assert_eq!(rest(stream).await, b"dcba");
}

#[tokio::test]
async fn the_drain_waits_for_a_connection_that_changed_its_protocol() {
    let (stopper, stop) = Stop::pair();
    let release = Arc::new(Notify::new());
    let inside = Arc::clone(&release);
    let handler = move |request: Request<Bytes>| {
        let inside = Arc::clone(&inside);
        std::future::ready(switch(request, |mut stream: Raw| async move {
            inside.notified().await;
            stream.write_all(b"bye").await.unwrap();
        }))
    };
    let limits = Limits { drain_ns: 60_000_000_000, ..Limits::default() };
    let (address, server) = start(handler, limits, stop);
    let stream = switched(address).await;
    stopper.stop();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!server.is_finished(), "somebody has not said goodbye yet");
    release.notify_one();
    server.await.unwrap().unwrap();
    assert_eq!(rest(stream).await, b"bye");
}
