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
async fn a_body_beyond_the_limit_is_refused() {
    let (_stopper, stop) = Stop::pair();
    let limits = Limits { max_body_bytes: 2, ..Limits::default() };
    let (address, _server) = start(echo, limits, stop);
    let request = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 3\r\n\r\nabc";
    let answer = ask(address, request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
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
