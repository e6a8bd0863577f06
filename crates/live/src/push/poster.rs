//! Sends one request after another over a kept connection.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, RETRY_AFTER, USER_AGENT,
};
use hyper::rt::{Read, Write};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::backlog::Content;
use super::destination::{Destination, Protocol};

/// What is read of an answer.
const MOST_ANSWER: usize = 4 * 1024;
/// The head of an answer.
const MOST_HEAD: usize = 64 * 1024;

/// What became of a request.
#[derive(Debug)]
pub enum Answer {
    /// It was taken.
    Taken,
    /// It may be taken later, at the earliest after this time, for this reason.
    Later(Option<Duration>, String),
    /// It never will be, for this reason.
    Refused(String),
}

/// Sends requests to one destination.
#[derive(Debug)]
pub struct Poster {
    destination: Destination,
    connection: Option<SendRequest<Full<Bytes>>>,
    timeout: Duration,
}

impl Poster {
    /// Without a connection yet; each request has so long.
    pub fn new(destination: Destination, timeout: Duration) -> Self {
        Self { destination, connection: None, timeout }
    }

    /// Sends one request. The connection is kept after a whole answer alone.
    pub async fn post(&mut self, content: Content, body: Bytes) -> Answer {
        let connection = self.connection.take();
        match tokio::time::timeout(self.timeout, self.exchange(connection, (content, body))).await {
            Ok(Ok((answer, connection))) => {
                self.connection = connection;
                answer
            }
            Ok(Err(reason)) => Answer::Later(None, reason),
            Err(_) => {
                Answer::Later(None, format!("no answer within {} s", self.timeout.as_secs_f64()))
            }
        }
    }

    async fn exchange(
        &self,
        connection: Option<SendRequest<Full<Bytes>>>,
        (content, body): (Content, Bytes),
    ) -> Result<(Answer, Option<SendRequest<Full<Bytes>>>), String> {
        let mut connection = match connection.filter(|known| !known.is_closed()) {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        connection.ready().await.map_err(|error| reason(&error))?;
        let request = self.request(content, body)?;
        let response = connection.send_request(request).await.map_err(|error| reason(&error))?;
        let (status, pause) = (response.status(), retry_after(response.headers()));
        let (text, is_whole) = first_line(response).await;
        let text = if text.is_empty() { String::new() } else { format!(": {text}") };
        let answer = match status {
            status if status.is_success() => Answer::Taken,
            StatusCode::TOO_MANY_REQUESTS => Answer::Later(pause, format!("status {status}{text}")),
            status if status.is_server_error() => {
                Answer::Later(pause, format!("status {status}{text}"))
            }
            status => Answer::Refused(format!("status {status}{text}")),
        };
        Ok((answer, is_whole.then_some(connection)))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let (host, port) = &self.destination.authority;
        let stream = TcpStream::connect((host.as_str(), *port));
        let stream = stream.await.map_err(|error| reason(&error))?;
        let _ = stream.set_nodelay(true);
        match &self.destination.tls {
            None => handshake(TokioIo::new(stream)).await,
            Some((config, name)) => {
                let connector = TlsConnector::from(config.clone());
                let stream = connector.connect(name.clone(), stream).await;
                handshake(TokioIo::new(stream.map_err(|error| reason(&error))?)).await
            }
        }
    }

    fn request(&self, content: Content, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
        let destination = &self.destination;
        let target = match content {
            Content::Metrics => &destination.target,
            Content::Spans => &destination.spans_target,
        };
        let mut request = Request::post(target)
            .header(HOST, &destination.host)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header(ACCEPT, "*/*")
            .header(USER_AGENT, concat!("proofload/", env!("CARGO_PKG_VERSION")));
        if destination.protocol == Protocol::RemoteWrite {
            request = request
                .header(CONTENT_ENCODING, "snappy")
                .header("X-Prometheus-Remote-Write-Version", "0.1.0");
        }
        if let Some(authorization) = &destination.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(Full::new(body)).map_err(|error| reason(&error))
    }
}

async fn handshake<T>(stream: T) -> Result<SendRequest<Full<Bytes>>, String>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let handshake = http1::Builder::new().max_buf_size(MOST_HEAD).handshake(stream);
    let (sender, connection) = handshake.await.map_err(|error| reason(&error))?;
    tokio::spawn(async move {
        // Its end is seen by the sender.
        let _ = connection.await;
    });
    Ok(sender)
}

/// The error and its causes.
fn reason(error: &impl Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    text
}

fn retry_after(fields: &HeaderMap) -> Option<Duration> {
    let seconds = fields.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// The first line of an answer's text, and whether all of the answer was read.
async fn first_line(response: Response<Incoming>) -> (String, bool) {
    let mut body = response.into_body();
    let mut text = Vec::new();
    let is_whole = loop {
        if body.is_end_stream() {
            break true;
        }
        match body.frame().await {
            None => break true,
            Some(Ok(frame)) => text.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
            Some(Err(_)) => break false,
        }
        if text.len() > MOST_ANSWER {
            break false;
        }
    };
    let text = String::from_utf8_lossy(&text);
    let line: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
    (line.trim().to_owned(), is_whole)
}
