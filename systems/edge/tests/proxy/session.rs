//! A client over HTTP/2 that keeps one connection, and says what others would not say.

use std::net::SocketAddr;

use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::fixture::{PATIENCE, Received};

pub struct Session {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
}

/// A stream whose answer is not read yet.
pub struct Begun {
    answer: ResponseFuture,
    /// Reset if it is dropped before its end.
    sender: SendStream<Bytes>,
}

impl Session {
    pub fn open(address: SocketAddr) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let sender = runtime.block_on(async {
            let stream = TcpStream::connect(address).await.unwrap();
            let (sender, connection) = h2::client::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            sender
        });
        Self { runtime, sender }
    }

    /// Sends a request in short: `GET /path|name: value|=body`, with `authority: h` and `scheme: http` where they are not
    /// said. Of one that ends with `…` more would come.
    pub fn begin(&mut self, short: &str) -> Result<Begun, h2::Error> {
        let (request, body) = request(short.trim_end_matches('…'));
        let is_whole = !short.ends_with('…');
        let sender = self.sender.clone();
        self.runtime.block_on(async {
            let mut sender = sender.ready().await?;
            let has_body = !body.is_empty();
            let (answer, mut sender) = sender.send_request(request, is_whole && !has_body)?;
            if has_body {
                // Whoever has answered already takes no body: its answer says what became of the request.
                let _ = sender.send_data(body, is_whole);
            }
            Ok(Begun { answer, sender })
        })
    }

    /// The answer, to its end.
    pub fn finish(&self, begun: Begun) -> Result<Received, h2::Error> {
        let Begun { answer, sender } = begun;
        let seen = self.runtime.block_on(async {
            timeout(PATIENCE, async { seen(answer.await?).await }).await.expect("it ends")
        });
        drop(sender);
        seen
    }

    pub fn try_ask(&mut self, short: &str) -> Result<Received, h2::Error> {
        let begun = self.begin(short)?;
        self.finish(begun)
    }

    pub fn ask(&mut self, short: &str) -> Received {
        self.try_ask(short).unwrap_or_else(|error| panic!("{short}: {error}"))
    }
}

/// As what came over HTTP/1.1 is seen.
async fn seen(answer: hyper::Response<RecvStream>) -> Result<Received, h2::Error> {
    let (parts, mut body) = answer.into_parts();
    let status = parts.status.as_u16();
    let mut head = format!("HTTP/2 {status}");
    for (name, value) in &parts.headers {
        head.push_str(&format!("\r\n{name}: {}", value.to_str().unwrap()));
    }
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    assert!(body.trailers().await?.is_none(), "there are trailers");
    Ok(Received { status, head, body: String::from_utf8(bytes).unwrap() })
}

fn request(short: &str) -> (Request<()>, Bytes) {
    let mut parts = short.split('|');
    let (method, target) = parts.next().unwrap().split_once(' ').unwrap();
    let (mut scheme, mut authority, mut body) = ("http", "h", "");
    let mut request = Request::new(());
    for part in parts {
        if let Some(text) = part.strip_prefix('=') {
            body = text;
            continue;
        }
        match part.split_once(": ").unwrap() {
            ("scheme", value) => scheme = value,
            ("authority", value) => authority = value,
            (name, value) => {
                let name: HeaderName = name.parse().unwrap();
                request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
            }
        }
    }
    *request.method_mut() = method.parse().unwrap();
    *request.uri_mut() = match *request.method() {
        Method::CONNECT => target.parse().unwrap(),
        _ => {
            let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(target);
            uri.build().unwrap()
        }
    };
    (request, Bytes::copy_from_slice(body.as_bytes()))
}
