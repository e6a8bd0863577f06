//! The request that opens a socket, and its answer.

use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::clock::Clock;
use engine::driver::{Call, Exchange};
use engine::transport::Stream;
use httparse::{Header, Response};
use plan::rows::Rows;
use record::FailureKind;
use sha1_smol::Sha1;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::failure::Failure;
use super::prefixed::Prefixed;
use crate::http::head::{HEAD_LIMIT, with_fields};
use crate::http::request::{Piece, RenderContext};

/// What is appended to the key before it is hashed (RFC 6455 section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The version of HTTP/1.1, as `httparse` gives it.
const HTTP_1_1: u8 = 1;
/// Room for what a server usually answers.
const USUAL: usize = 1024;

/// The request that opens a socket.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Handshake {
    /// Its head, up to and including its empty line; the key comes before that.
    pub head: Vec<Piece>,
    /// The subprotocols that it offers.
    pub subprotocols: Vec<String>,
}

/// A request for one socket.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Its bytes.
    pub bytes: Vec<u8>,
    accept: String,
}

/// The answer of the server.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Its status; 0 where it could not be read.
    pub status: u16,
    /// Everything that was read up to its end.
    pub head: Vec<u8>,
    /// What was read after it.
    pub rest: Vec<u8>,
}

impl Handshake {
    /// The request of this call.
    pub fn request(
        &self,
        call: &Call,
        rows: Option<&Rows>,
        authority: &str,
        is_secure: bool,
    ) -> Request {
        let context = RenderContext { call, rows, authority, is_secure, location: "" };
        let (mut bytes, mut rendered) = (Vec::new(), Vec::new());
        for piece in &self.head {
            piece.append(&context, 0, &mut rendered, &mut bytes);
        }
        let key = STANDARD.encode(key());
        bytes.truncate(bytes.len().saturating_sub(b"\r\n".len()));
        bytes.extend_from_slice(format!("sec-websocket-key: {key}\r\n\r\n").as_bytes());
        Request { bytes, accept: accept(key.as_bytes()) }
    }

    /// Sends the request and reads the answer, noting when it came.
    ///
    /// Errors: the server refused, its answer breaks a rule, or the connection has ended
    pub async fn open<C: Clock>(
        &self,
        request: &Request,
        mut stream: Stream,
        answer: &mut Answer,
        exchange: &mut Exchange<C>,
    ) -> Result<Prefixed, Failure> {
        stream.write_all(&request.bytes).await?;
        stream.flush().await?;
        exchange.bytes_sent += request.bytes.len() as u64;
        let length = read(&mut stream, answer, exchange).await?;
        answer.rest = answer.head.split_off(length);
        let checked = with_fields(&answer.head, |_, response| self.check(response, request))?;
        answer.status = checked.unwrap_or(Ok(0))?;
        Ok(Prefixed::new(std::mem::take(&mut answer.rest), stream))
    }

    /// Errors: what of the answer is no agreement (RFC 6455 section 4.1)
    fn check(&self, response: &Response<'_, '_>, request: &Request) -> Result<u16, Failure> {
        let status = response.code.unwrap_or_default();
        if status != 101 {
            let detail = format!("the server answered {status} to the handshake");
            let failure = Failure::new(FailureKind::Status, detail);
            return Err(Failure { status: status.into(), ..failure });
        }
        let fields = &*response.headers;
        let wrong = if response.version != Some(HTTP_1_1) {
            "the handshake's answer is not of HTTP/1.1"
        } else if !has_token(fields, "upgrade", "websocket") {
            "the handshake's answer has no `upgrade: websocket`"
        } else if !has_token(fields, "connection", "upgrade") {
            "the handshake's answer has no `connection: upgrade`"
        } else if occurs_twice(fields, "sec-websocket-accept") {
            "the handshake's answer has `sec-websocket-accept` twice"
        } else if value(fields, "sec-websocket-accept") != Some(request.accept.as_bytes()) {
            "`sec-websocket-accept` does not belong to the handshake's key"
        } else if value(fields, "sec-websocket-extensions").is_some() {
            "the server wants an extension that was not offered"
        } else if value(fields, "sec-websocket-protocol").is_some_and(|one| !self.offers(one)) {
            "the server wants a subprotocol that was not offered"
        } else {
            return Ok(status);
        };
        Err(Failure::new(FailureKind::Malformed, wrong))
    }

    fn offers(&self, subprotocol: &[u8]) -> bool {
        self.subprotocols.iter().any(|one| one.as_bytes() == subprotocol)
    }
}

/// Reads up to the end of the head: how long it is.
async fn read<C: Clock>(
    stream: &mut Stream,
    answer: &mut Answer,
    exchange: &mut Exchange<C>,
) -> Result<usize, Failure> {
    let head = &mut answer.head;
    loop {
        head.reserve(USUAL);
        let read = stream.read_buf(head).await?;
        exchange.note_read();
        exchange.bytes_received += read as u64;
        if read == 0 {
            let detail = "the peer closed the connection within the handshake";
            return Err(Failure::new(FailureKind::Closed, detail));
        }
        if let Some(length) = with_fields(head, |length, _| length)? {
            return Ok(length);
        }
        if head.len() >= HEAD_LIMIT {
            let detail = format!("the head of the answer is longer than {HEAD_LIMIT} bytes");
            return Err(Failure::new(FailureKind::TooLarge, detail));
        }
    }
}

/// A key that no other handshake has.
fn key() -> [u8; 16] {
    let half = || u128::from(RandomState::new().hash_one(()));
    ((half() << 64) | half()).to_be_bytes()
}

/// What the server must answer to this key.
fn accept(key: &[u8]) -> String {
    let mut hash = Sha1::from(key);
    hash.update(GUID);
    STANDARD.encode(hash.digest().bytes())
}

fn occurs_twice(fields: &[Header<'_>], name: &str) -> bool {
    fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).nth(1).is_some()
}

fn value<'h>(fields: &'h [Header<'h>], name: &str) -> Option<&'h [u8]> {
    let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
    Some(field.value.trim_ascii())
}

fn has_token(fields: &[Header<'_>], name: &str, token: &str) -> bool {
    let named = fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
    let mut tokens = named.flat_map(|field| field.value.split(|byte| *byte == b','));
    tokens.any(|one| one.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_key_is_that_of_the_standard() {
        // RFC 6455 section 1.3.
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_ne!(key(), key());
    }

    #[track_caller]
    fn check(answer: &str, expected: Result<u16, &str>) {
        let handshake = Handshake { subprotocols: vec!["chat".to_owned()], ..Default::default() };
        let request = Request { bytes: Vec::new(), accept: "abc=".to_owned() };
        let seen = with_fields(answer.as_bytes(), |_, response| {
            handshake.check(response, &request).map_err(|failure| failure.detail)
        });
        let seen = seen.expect("a head").expect("a whole one");
        assert_eq!(seen.as_ref().map_err(String::as_str), expected.as_ref().map_err(|text| *text));
    }

    #[test]
    fn an_answer_that_agrees_to_something_else_is_refused() {
        let good = "HTTP/1.1 101 Switching\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
                    Sec-WebSocket-Accept: abc=\r\n";
        check(&format!("{good}\r\n"), Ok(101));
        check(&format!("{good}Sec-WebSocket-Protocol: chat\r\n\r\n"), Ok(101));
        let extension = format!("{good}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
        check(&extension, Err("the server wants an extension that was not offered"));
        let other = format!("{good}Sec-WebSocket-Protocol: other\r\n\r\n");
        check(&other, Err("the server wants a subprotocol that was not offered"));
        let refused = "HTTP/1.1 403 No\r\n\r\n";
        check(refused, Err("the server answered 403 to the handshake"));
        let wrong = format!("{}\r\n", good.replace("abc=", &"A".repeat(1000)));
        check(&wrong, Err("`sec-websocket-accept` does not belong to the handshake's key"));
        let twice = format!("{good}Sec-WebSocket-Accept: abc=\r\n\r\n");
        check(&twice, Err("the handshake's answer has `sec-websocket-accept` twice"));
        let old = format!("{}\r\n", good.replace("HTTP/1.1", "HTTP/1.0"));
        check(&old, Err("the handshake's answer is not of HTTP/1.1"));
        let plain = format!("{}\r\n", good.replace("WebSocket\r", "h2c\r"));
        check(&plain, Err("the handshake's answer has no `upgrade: websocket`"));
        let kept = format!("{}\r\n", good.replace(", Upgrade", ""));
        check(&kept, Err("the handshake's answer has no `connection: upgrade`"));
    }
}
