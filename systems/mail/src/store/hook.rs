//! Posts each message to a URL, and gives the same promise as that server.
//!
//! A `POST` carries the message as its body, in chunks, while it is received; the envelope is in
//! header fields. An aborted message aborts the request, so that it is never taken for a whole one.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::{Draft, Store};
use crate::envelope::Envelope;
use crate::refusal::Refusal;

/// Most idle connections for the next message, and how long they are kept.
const IDLE: usize = 64;
const IDLE_FOR: Duration = Duration::from_secs(1);
const DOWN: Refusal = Refusal::new(451, (4, 4, 1), "the hook does not answer");
const LATE: Refusal = Refusal::new(451, (4, 4, 1), "the hook takes too long");
const NO_HEADER: Refusal =
    Refusal::new(553, (5, 1, 3), "this address cannot be sent in a header field");

/// Content that ended early.
#[derive(Debug, thiserror::Error)]
#[error("the message was aborted")]
struct MessageAborted;

type Body = Channel<Bytes, MessageAborted>;

/// Where messages are posted.
#[derive(Debug)]
pub struct Hook {
    target: Arc<HookTarget>,
}

#[derive(Debug)]
struct HookTarget {
    url: Uri,
    /// Host and port, for the connection and for the `Host` field.
    authority: String,
    within: Duration,
    accepted: AtomicU64,
    idle: Mutex<Vec<(SendRequest<Body>, Instant)>>,
}

impl Hook {
    /// A hook at a URL such as `http://127.0.0.1:8080/mail`. `within` limits connecting, taking each piece, and
    /// answering.
    ///
    /// Errors: a sentence that says why a hook cannot have this URL
    pub fn new(url: &str, within: Duration) -> Result<Self, String> {
        let parsed: Uri =
            url.parse().map_err(|error| format!("\"{url}\" is not a URL: {error}"))?;
        let authority = authority(&parsed)?;
        let (accepted, idle) = (AtomicU64::new(0), Mutex::default());
        let target = HookTarget { url: parsed, authority, within, accepted, idle };
        Ok(Self { target: Arc::new(target) })
    }
}

/// Host and port of a valid URL of a hook.
fn authority(url: &Uri) -> Result<String, String> {
    let authority = url.authority();
    // The effective configuration would show them, and so would this text.
    if authority.is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("remove the name and password from the URL: they are not sent".to_owned());
    }
    match (url.scheme_str(), authority) {
        (Some("http"), Some(host)) => {
            Ok(format!("{}:{}", host.host(), host.port_u16().unwrap_or(80)))
        }
        (Some("https"), _) => {
            Err(format!("a hook must be an http URL (got \"{url}\"): use a local proxy for TLS"))
        }
        _ => Err(format!("expected a URL such as http://127.0.0.1:8080/mail, got \"{url}\"")),
    }
}

impl Store for Hook {
    type Draft = HookDraft;

    async fn begin(&self, envelope: Envelope) -> Result<HookDraft, Refusal> {
        let target = Arc::clone(&self.target);
        let (content, body) = Channel::new(1);
        let request = target.request(&envelope, body)?;
        let sender = match target.idle() {
            Some(sender) => sender,
            None => within(target.within, target.connect()).await?.map_err(|_| DOWN)?,
        };
        let has_spoken = Arc::default();
        let answer = Arc::clone(&target).ask((sender, request), Arc::clone(&has_spoken));
        let answer = tokio::spawn(answer);
        Ok(HookDraft { target, content: Some(content), answer, has_spoken, is_cut: false })
    }

    fn effective(&self) -> Value {
        json!({
            "store": "hook",
            "hook": self.target.url.to_string(),
            "hook_timeout_ns": self.target.within.as_nanos() as u64,
        })
    }
}

impl HookTarget {
    fn request(&self, envelope: &Envelope, body: Body) -> Result<Request<Body>, Refusal> {
        let path = self.url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path).body(body).map_err(|_| DOWN)?;
        let fields = request.headers_mut();
        let mut tell = |name: &'static str, value: &str| {
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| NO_HEADER)?;
            fields.append(HeaderName::from_static(name), value);
            Ok(())
        };
        tell(HOST.as_str(), &self.authority)?;
        tell(CONTENT_TYPE.as_str(), "message/rfc822")?;
        tell("x-mail-from", &envelope.from)?;
        for recipient in &envelope.recipients {
            tell("x-mail-to", recipient)?;
        }
        tell("x-mail-client", &envelope.client)?;
        tell("x-mail-peer", &envelope.peer.to_string())?;
        if let Some(user) = &envelope.user {
            tell("x-mail-user", user)?;
        }
        if let Some(tls) = envelope.tls {
            tell("x-mail-tls", tls)?;
        }
        Ok(request)
    }

    /// A connection that was used before and is still open.
    fn idle(&self) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(sender, since)| sender.is_ready() && since.elapsed() < IDLE_FOR);
        idle.pop().map(|(sender, _)| sender)
    }

    async fn connect(&self) -> std::io::Result<SendRequest<Body>> {
        let addresses: Vec<SocketAddr> = tokio::net::lookup_host(&self.authority).await?.collect();
        let stream = TcpStream::connect(&addresses[..]).await?;
        stream.set_nodelay(true)?;
        let shake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shake.map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Sends a request with a streamed body, and returns the status of the answer; reports as soon as the answer
    /// begins.
    async fn ask(
        self: Arc<Self>,
        (mut sender, request): (SendRequest<Body>, Request<Body>),
        has_spoken: Arc<AtomicBool>,
    ) -> Option<StatusCode> {
        let answer = sender.send_request(request).await.ok()?;
        has_spoken.store(true, Ordering::Relaxed);
        let status = answer.status();
        // Discards the answer's body; if that takes long, also the connection.
        let mut said = answer.into_body();
        let rest = async { while let Some(Ok(_)) = said.frame().await {} };
        let is_read = tokio::time::timeout(Duration::from_millis(100), rest).await.is_ok();
        if is_read && sender.ready().await.is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push((sender, Instant::now()));
            }
        }
        Some(status)
    }
}

async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Result<T, Refusal> {
    tokio::time::timeout(time, work).await.map_err(|_| LATE)
}

/// A message on its way to the hook.
#[derive(Debug)]
pub struct HookDraft {
    target: Arc<HookTarget>,
    content: Option<Sender<Bytes, MessageAborted>>,
    answer: JoinHandle<Option<StatusCode>>,
    /// Whether the hook has begun to answer.
    has_spoken: Arc<AtomicBool>,
    /// Whether the hook stopped reading.
    is_cut: bool,
}

impl Draft for HookDraft {
    async fn write(&mut self, content: &[u8]) -> Result<(), Refusal> {
        let Some(sender) = self.content.as_mut().filter(|_| !self.is_cut) else { return Ok(()) };
        let piece = Bytes::copy_from_slice(content);
        // The hook has stopped reading; its answer, read at the end, has the reason.
        self.is_cut = within(self.target.within, sender.send_data(piece)).await?.is_err();
        Ok(())
    }

    async fn commit(mut self) -> Result<String, Refusal> {
        // An answer that came before the end does not cover the whole message.
        let is_early = self.is_cut || self.has_spoken.load(Ordering::Relaxed);
        drop(self.content.take());
        let answer = within(self.target.within, &mut self.answer).await?;
        match answer.ok().flatten() {
            Some(status) if status.is_success() && !is_early => {
                Ok((self.target.accepted.fetch_add(1, Ordering::Relaxed) + 1).to_string())
            }
            Some(status) if status.is_client_error() => {
                let text = format!("the hook refuses the message ({})", status.as_u16());
                Err(Refusal { code: 554, status: (5, 7, 1), text: text.into() })
            }
            Some(status) => {
                let text = format!("the hook failed ({})", status.as_u16());
                Err(Refusal { code: 451, status: (4, 3, 0), text: text.into() })
            }
            None => Err(DOWN),
        }
    }
}

impl Drop for HookDraft {
    fn drop(&mut self) {
        // Taken at the end of a complete message.
        if let Some(content) = self.content.take() {
            content.abort(MessageAborted);
        }
        self.answer.abort();
    }
}

#[cfg(test)]
mod tests;
