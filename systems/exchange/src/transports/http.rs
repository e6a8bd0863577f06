//! Over HTTP/1.1 on loopback, one question at a time on each connection.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HOST;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::pool::{Endpoint, ExchangeError, Outcome, Pool};
use crate::failure::Failure;
use crate::payload::Payload;
use crate::request::{DataRequest, SIZES, Wanted};
use crate::transport::Transport;

/// The header with the checksum of an answer, which is `crc32-` and 8 hexadecimal digits.
pub const CHECKSUM: &str = "x-checksum";
/// Longest refusal that is read.
const LONGEST_REFUSAL: u64 = 4096;

/// Over HTTP.
#[derive(Debug)]
pub struct Http(Pool<Address>);

impl Http {
    /// A producer at this address, with so many connections at most; connects when asked.
    pub fn new(address: SocketAddr, connections: usize) -> Self {
        Self(Pool::new(Address { address, host: address.to_string() }, connections))
    }
}

impl Transport for Http {
    async fn fetch(&self, ask: &DataRequest, deadline: Duration) -> Result<Payload, Failure> {
        self.0.fetch(ask, deadline).await
    }
}

/// Where a producer is.
#[derive(Debug)]
struct Address {
    address: SocketAddr,
    host: String,
}

impl Endpoint for Address {
    type Connection = SendRequest<Empty<Bytes>>;

    async fn connect(&self) -> Result<Self::Connection, Failure> {
        let stream = TcpStream::connect(self.address).await.map_err(Failure::unreachable)?;
        // Without it a request may wait for an acknowledgement; no reason to fail.
        let _ = stream.set_nodelay(true);
        let made = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(Failure::unreachable)?;
        // The task ends with its sender; its error reaches the waiting request.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    async fn ask(
        &self,
        sender: &mut Self::Connection,
        ask: &DataRequest,
    ) -> Result<Outcome, ExchangeError> {
        let path = format!("/users?{}", query(ask));
        let request = Request::builder().uri(path).header(HOST, &self.host);
        let request = request.body(Empty::new()).expect("a path and a host of ours");
        let sent = match sender.ready().await {
            Ok(()) => sender.send_request(request).await,
            Err(error) => Err(error),
        };
        let answer = sent.map_err(|error| ExchangeError {
            failure: Failure::unreachable(error),
            is_worth_another: true,
        })?;
        read(answer).await.map_err(ExchangeError::permanent)
    }
}

/// A question as the query of a request.
pub(crate) fn query(ask: &DataRequest) -> String {
    let nonce = ask.nonce;
    match ask.what {
        Wanted::Users(users) => format!("count={users}&nonce={nonce:016x}"),
        Wanted::Bytes(bytes) => format!("size={bytes}&nonce={nonce:016x}"),
    }
}

/// What the answer says: a payload and its checksum, or a refusal.
///
/// Errors: the connection broke, or is of no further use
async fn read(answer: Response<Incoming>) -> Result<Outcome, Failure> {
    let (head, mut body) = answer.into_parts();
    if head.status != StatusCode::OK {
        let text = whole(&mut body, LONGEST_REFUSAL).await?;
        let said = String::from_utf8_lossy(&text);
        return Ok(Err(match head.status {
            StatusCode::SERVICE_UNAVAILABLE => Failure::Crowded,
            status => Failure::Refused(format!("{status}: {}", said.trim())),
        }));
    }
    let payload = whole(&mut body, *SIZES.end()).await?;
    let checksum = checksum(&head.headers);
    Ok(checksum.map(|checksum| (Payload::from(payload), u64::from(checksum))))
}

/// A body in one piece.
async fn whole(body: &mut Incoming, most: u64) -> Result<Vec<u8>, Failure> {
    let damaged = || Failure::Damaged("the answer exceeds the largest size".to_owned());
    let announced = body.size_hint().lower();
    if announced > most {
        return Err(damaged());
    }
    let mut bytes = Vec::with_capacity(announced as usize);
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(Failure::unreachable)?.into_data() else { continue };
        if (bytes.len() + piece.len()) as u64 > most {
            return Err(damaged());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn checksum(headers: &HeaderMap) -> Result<u32, Failure> {
    let text = headers.get(CHECKSUM).and_then(|value| value.to_str().ok());
    let digits = text.and_then(|text| text.strip_prefix("crc32-")).filter(|it| it.len() == 8);
    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    value.ok_or_else(|| Failure::Damaged(format!("the header {CHECKSUM} is missing or invalid")))
}
