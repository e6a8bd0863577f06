//! The same over HTTP/2, to clients that begin with it.

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::TcpStream;

use super::{TestOrigin, recipe, stage};

async fn connect(origin: &TestOrigin) -> SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(origin.address()).await.unwrap();
    let made = handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = made.unwrap();
    tokio::spawn(connection);
    sender
}

/// Stops it while its client goes on, which is told that it ends.
async fn stop(origin: TestOrigin) {
    tokio::task::spawn_blocking(move || drop(origin)).await.unwrap();
}

/// Status and body, if the stream ends well.
async fn ask(sender: &SendRequest<Empty<Bytes>>, path: &str) -> hyper::Result<(u16, Bytes)> {
    let request = Request::get(format!("http://a{path}")).body(Empty::new()).unwrap();
    let answer = sender.clone().send_request(request).await?;
    let status = answer.status().as_u16();
    Ok((status, answer.into_body().collect().await?.to_bytes()))
}

#[tokio::test]
async fn streams_of_one_connection_are_answered_each_in_its_time() {
    let origin = TestOrigin::with(json!([
        {"route": "/slow", "body": "slow", "stages": [stage(503, "100ms")]},
        {"route": "/fast", "random_content": "300kb", "stages": [stage(200, "0")]},
    ]));
    let sender = connect(&origin).await;
    let (slow, fast) = (ask(&sender, "/slow"), ask(&sender, "/fast"));
    let (slow, fast) = tokio::join!(slow, fast);
    assert_eq!(slow.unwrap(), (503, Bytes::from_static(b"Error 503")));
    assert_eq!(fast.unwrap().1.len(), 307_200);
    stop(origin).await;
}

#[tokio::test]
async fn a_fault_ends_its_stream_and_no_other() {
    let cut = |route: &str, end: &str, after: Option<&str>| {
        let mut one = recipe(route, "0123456789", 200);
        one["stages"][0]["fault"] = end.into();
        one["stages"][0]["after"] = after.into();
        one
    };
    let origin = TestOrigin::with(json!([
        recipe("/*", "whole", 200),
        cut("/reset", "reset", None),
        cut("/close", "close", Some("5b")),
    ]));
    let sender = connect(&origin).await;
    assert!(ask(&sender, "/reset").await.is_err());
    assert!(ask(&sender, "/close").await.is_err());
    assert_eq!(ask(&sender, "/").await.unwrap(), (200, Bytes::from_static(b"whole")));
    assert_eq!(origin.admin("current_count"), r#"{"200":2,"reset":1,"total_requests":3}"#);
    stop(origin).await;
}
