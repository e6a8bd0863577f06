//! Accepts receivers over HTTP: `GET …/subscribe/{pattern}` becomes a WebSocket, or server-sent
//! events if the client requests them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serving::http::{Answer, Body, ConnectionPermit};

use super::{Embedded, Listener, Settings, events, socket};
use crate::api_error::{ApiError, Code};
use crate::identity;
use crate::subscription::Pattern;

/// RFC 6455 appends this to a client's key.
const WEBSOCKET: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

impl Embedded {
    /// Answers a request to subscribe; the subscription is active before the client sees the
    /// answer, and ends with the connection.
    ///
    /// Shape:  `name` identifies a receiver that reconnects
    /// Errors: `INVALID_REQUEST` if it requests neither form, `INVALID_IDENTITY` for its name
    pub fn subscribe(
        &self,
        namespace: &str,
        pattern: Pattern,
        name: Option<&str>,
        mut request: Request<Bytes>,
    ) -> Result<Answer, ApiError> {
        let transport = check(name, &request)?;
        let listener = self.listen(namespace, pattern, name);
        let settings = self.state.settings.clone();
        let (upgrade, accept) = match transport {
            Transport::Events => return Ok(stream(listener, settings)),
            Transport::WebSocket { accept } => (hyper::upgrade::on(&mut request), accept),
        };
        let permit = request.extensions_mut().remove::<ConnectionPermit>();
        tokio::spawn(async move {
            if let Ok(stream) = upgrade.await {
                socket::converse(TokioIo::new(stream), listener, settings).await;
            }
            drop(permit);
        });
        Ok(switching(accept))
    }
}

/// The form of a subscription.
pub(crate) enum Transport {
    Events,
    WebSocket { accept: String },
}

/// The requested form, if this bus supports it.
///
/// Errors: as [`Embedded::subscribe`]
pub(crate) fn check(name: Option<&str>, request: &Request<Bytes>) -> Result<Transport, ApiError> {
    name.map_or(Ok(()), identity::check_name)?;
    if request.extensions().get::<OnUpgrade>().is_some() {
        return handshake(request).map(|accept| Transport::WebSocket { accept });
    }
    if wants_events(request) {
        return Ok(Transport::Events);
    }
    let what = "subscribe by WebSocket, or with `accept: text/event-stream`";
    Err(ApiError::new(Code::InvalidRequest, what))
}

fn stream(listener: Listener, settings: Settings) -> Answer {
    let (pieces, body) = Body::stream(events::PIECES);
    tokio::spawn(events::send_events(pieces, listener, settings));
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// The answer to a client's key, if it requests a WebSocket of version 13.
fn handshake(request: &Request<Bytes>) -> Result<String, ApiError> {
    let header =
        |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let refuse = |what: &str| Err(ApiError::new(Code::InvalidRequest, what));
    if !header(UPGRADE).is_some_and(|to| to.eq_ignore_ascii_case("websocket")) {
        return refuse("the only supported upgrade is websocket");
    }
    if header(SEC_WEBSOCKET_VERSION) != Some("13") {
        return refuse("sec-websocket-version must be 13");
    }
    let Some(key) = header(SEC_WEBSOCKET_KEY) else {
        return refuse("the header sec-websocket-key is missing");
    };
    let digest = sha1_smol::Sha1::from(format!("{key}{WEBSOCKET}")).digest();
    Ok(STANDARD.encode(digest.bytes()))
}

fn switching(accept: String) -> Answer {
    let mut answer = Response::new(Body::from(Bytes::new()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let accept = HeaderValue::from_str(&accept).expect("base64 is plain ASCII");
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    answer
}

fn wants_events(request: &Request<Bytes>) -> bool {
    let mut accepted = request.headers().get_all(ACCEPT).iter();
    accepted.any(|value| value.to_str().is_ok_and(|value| value.contains("text/event-stream")))
}

#[cfg(test)]
mod tests;
