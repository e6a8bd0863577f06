use std::sync::atomic::AtomicUsize;

use hyper::body::Incoming;
use hyper::header::CONNECTION;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Method, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;
use crate::store::fixtures::{envelope, send, send_to};

const PATIENCE: Duration = Duration::from_secs(30);

/// What a hook received: the head, and the body if it was complete.
type ReceivedPost = (hyper::http::request::Parts, Option<Vec<u8>>);

/// The behaviour of a hook.
#[derive(Debug, Clone, Copy)]
enum HookBehaviour {
    /// Reads all of it, then answers with this status.
    Answers(u16),
    /// The same, and closes the connection.
    Closes(u16),
    /// Answers with this status without reading.
    Early(u16),
    /// Reads all of it and never answers.
    Silent,
}

/// Starts a hook; returns its URL, the requests that it receives, and the number of its
/// connections.
async fn hook(
    behaviour: HookBehaviour,
) -> (String, mpsc::UnboundedReceiver<ReceivedPost>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/in?box=1", listener.local_addr().unwrap());
    let (tell, told) = mpsc::unbounded_channel();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let tell = tell.clone();
            let service = service_fn(move |request| answer(behaviour, request, tell.clone()));
            tokio::spawn(server::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (url, told, connections)
}

async fn answer(
    behaviour: HookBehaviour,
    request: Request<Incoming>,
    tell: mpsc::UnboundedSender<ReceivedPost>,
) -> Result<Response<String>, std::io::Error> {
    let (head, body) = request.into_parts();
    let (HookBehaviour::Answers(status)
    | HookBehaviour::Closes(status)
    | HookBehaviour::Early(status)) = behaviour
    else {
        let whole = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
        let _ = tell.send((head, whole));
        return std::future::pending().await;
    };
    if !matches!(behaviour, HookBehaviour::Early(_)) {
        let whole = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
        let _ = tell.send((head, whole));
    }
    let mut answer = Response::builder().status(status);
    if matches!(behaviour, HookBehaviour::Closes(_)) {
        answer = answer.header(CONNECTION, "close");
    }
    Ok(answer.body("said".to_owned()).unwrap())
}

#[tokio::test]
async fn the_hook_gets_message_and_envelope() {
    let (url, mut told, connections) = hook(HookBehaviour::Answers(204)).await;
    let store = Hook::new(&url, PATIENCE).unwrap();
    let long = vec![b'x'; 200_000];
    for content in [&b"From: a\r\n\r\nhello"[..], b"", &long] {
        send_to(&store, &["b@y", "c@z"], content).await.unwrap();
        let (head, body) = told.recv().await.unwrap();
        assert_eq!(body.as_deref(), Some(content));
        assert_eq!((head.method, head.uri.to_string().as_str()), (Method::POST, "/in?box=1"));
        let field = |name: &str| head.headers[name].to_str().unwrap().to_owned();
        assert_eq!(field("content-type"), "message/rfc822");
        assert_eq!((field("x-mail-from").as_str(), field("x-mail-to").as_str()), ("a@x", "b@y"));
        assert_eq!(head.headers.get_all("x-mail-to").iter().count(), 2);
        assert_eq!(field("x-mail-peer"), "192.0.2.1:50000");
        assert!(!head.headers.contains_key("x-mail-user"));
    }
    assert!(connections.load(Ordering::SeqCst) <= 3);
}

#[tokio::test]
async fn the_answer_decides_what_the_client_is_told() {
    let cases = [(400, 554), (422, 554), (500, 451), (503, 451), (302, 451)];
    for (status, code) in cases {
        for behaviour in [HookBehaviour::Answers(status), HookBehaviour::Closes(status)] {
            let (url, _told, _) = hook(behaviour).await;
            let store = Hook::new(&url, PATIENCE).unwrap();
            let refusal = send(&store, b"hello").await.unwrap_err();
            assert_eq!(refusal.code, code, "{behaviour:?}: {refusal}");
            assert!(refusal.text.contains(&status.to_string()), "{refusal}");
        }
    }
    for behaviour in [HookBehaviour::Answers(200), HookBehaviour::Closes(202)] {
        let (url, _told, _) = hook(behaviour).await;
        let store = Hook::new(&url, PATIENCE).unwrap();
        for _ in 0..3 {
            send(&store, b"hello").await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_answer_before_the_end_is_no_promise() {
    let (url, _told, _) = hook(HookBehaviour::Early(200)).await;
    let store = Hook::new(&url, PATIENCE).unwrap();
    let mut draft = store.begin(envelope(&["b@y"])).await.unwrap();
    draft.write(b"hello").await.unwrap();
    while !draft.answer.is_finished() {
        tokio::task::yield_now().await;
    }
    assert_eq!(draft.commit().await.unwrap_err().code, 451);
    let (url, _told, _) = hook(HookBehaviour::Early(413)).await;
    let store = Hook::new(&url, PATIENCE).unwrap();
    assert_eq!(send(&store, &vec![b'x'; 5_000_000]).await.unwrap_err().code, 554);
}

/// A hook that accepts before it has read the message may keep the connection and continue reading.
#[tokio::test]
async fn a_yes_before_the_end_is_none_however_the_answer_goes_on() {
    let nothing = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsaid\r\n";
    for said in [nothing, endless] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let reading = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut waste = [0; 4_096];
            assert!(stream.read(&mut waste).await.unwrap() > 0);
            stream.write_all(said.as_bytes()).await.unwrap();
            while !matches!(stream.read(&mut waste).await, Ok(0) | Err(_)) {}
        });
        let store = Hook::new(&url, PATIENCE).unwrap();
        let mut draft = store.begin(envelope(&["b@y"])).await.unwrap();
        draft.write(b"hello").await.unwrap();
        while !draft.has_spoken.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        assert_eq!(draft.commit().await.unwrap_err().code, 451, "{said}");
        drop(store);
        reading.await.unwrap();
    }
}

#[tokio::test]
async fn nobody_there_or_nobody_answering_is_a_refusal_for_now() {
    let store = Hook::new("http://127.0.0.1:1", PATIENCE).unwrap();
    assert_eq!(send(&store, b"hello").await.unwrap_err(), DOWN);
    let store = Hook::new("http://name.invalid/x", PATIENCE).unwrap();
    assert_eq!(send(&store, b"hello").await.unwrap_err(), DOWN);
    let (url, _told, _) = hook(HookBehaviour::Silent).await;
    let store = Hook::new(&url, Duration::from_millis(50)).unwrap();
    assert_eq!(send(&store, b"hello").await.unwrap_err(), LATE);
}

#[tokio::test]
async fn a_message_that_breaks_off_never_looks_whole() {
    let (url, mut told, _) = hook(HookBehaviour::Answers(200)).await;
    let store = Hook::new(&url, PATIENCE).unwrap();
    for _ in 0..10 {
        let mut draft = store.begin(envelope(&["b@y"])).await.unwrap();
        draft.write(b"From: a\r\n\r\nhalf of it").await.unwrap();
        drop(draft);
    }
    send(&store, b"whole").await.unwrap();
    loop {
        match told.recv().await.unwrap() {
            (_, None) => {}
            (_, Some(body)) => break assert_eq!(body, b"whole"),
        }
    }
}

#[tokio::test]
async fn what_is_no_header_field_is_refused() {
    let (url, _told, _) = hook(HookBehaviour::Answers(200)).await;
    let store = Hook::new(&url, PATIENCE).unwrap();
    assert_eq!(send_to(&store, &["b\n@y"], b"").await.unwrap_err().code, 553);
    send_to(&store, &["böb@y"], b"").await.unwrap();
}

#[test]
fn what_cannot_be_a_hook_is_told_why() {
    for (url, why) in [
        ("https://127.0.0.1/x", "must be an http URL"),
        ("ftp://127.0.0.1/x", "expected a URL such as http://127.0.0.1:8080/mail"),
        ("/x", "expected a URL such as"),
        ("h:1", "expected a URL such as"),
        ("", "is not a URL"),
        ("http://", "is not a URL"),
        ("http:///x", "is not a URL"),
        ("http://127.0.0.1:1:2/x", "is not a URL"),
        ("http://tim:tanstaaf@127.0.0.1/x", "remove the name and password"),
        ("https://tim:tanstaaf@127.0.0.1/x", "remove the name and password"),
    ] {
        let said = Hook::new(url, PATIENCE).unwrap_err();
        assert!(said.contains(why) && !said.contains("tanstaaf"), "{url}: {said}");
    }
}
