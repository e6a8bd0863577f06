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
use tokio::time::{Instant, timeout_at};

use super::pool::{self, Broken, Pool};
use crate::ask::{Ask, SIZES, What};
use crate::way::{Failure, Payload, Way, judged};

/// The header with the checksum of an answer, which is `crc32-` and 8 hexadecimal digits.
pub const CHECKSUM: &str = "x-checksum";
/// Longest refusal that is read.
const LONGEST_REFUSAL: u64 = 4096;

/// A connection, as far as its user sees it.
type Sender = SendRequest<Empty<Bytes>>;

/// Over HTTP.
#[derive(Debug)]
pub struct Http {
    address: SocketAddr,
    host: String,
    pool: Pool<Sender>,
}

impl Http {
    /// A producer at this address, with so many connections at most; connects when asked.
    pub fn new(address: SocketAddr, connections: usize) -> Self {
        Self { address, host: address.to_string(), pool: Pool::new(connections) }
    }

    /// The answer and its checksum.
    async fn exchange(&self, ask: &Ask, until: Instant) -> Result<(Payload, u64), Failure> {
        let path = path(ask);
        while let Some(sender) = self.pool.take() {
            if sender.is_closed() {
                continue;
            }
            match self.over(sender, &path, until).await {
                Err(broken) if broken.is_worth_another => self.pool.clear(),
                ended => return ended.map_err(|broken| broken.failure),
            }
        }
        let sender = match timeout_at(until, self.connect()).await {
            Ok(connected) => connected?,
            Err(_) => return Err(Failure::unreachable("connecting took too long")),
        };
        self.over(sender, &path, until).await.map_err(|broken| broken.failure)
    }

    async fn connect(&self) -> Result<Sender, Failure> {
        let stream = TcpStream::connect(self.address).await.map_err(Failure::unreachable)?;
        // Without it a request may wait for an acknowledgement; no reason to fail.
        let _ = stream.set_nodelay(true);
        let made = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(Failure::unreachable)?;
        // It ends with its sender; how is told to whoever waits for an answer.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    /// The same over this connection, which is kept if it is still of use.
    async fn over(
        &self,
        mut sender: Sender,
        path: &str,
        until: Instant,
    ) -> Result<(Payload, u64), Broken> {
        let request = Request::builder().uri(path).header(HOST, &self.host);
        let request = request.body(Empty::new()).expect("a path and a host of ours");
        let asked = async {
            let sent = match sender.ready().await {
                Ok(()) => sender.send_request(request).await,
                Err(error) => Err(error),
            };
            let answer = sent.map_err(|error| Broken {
                failure: Failure::unreachable(error),
                is_worth_another: true,
            })?;
            read(answer).await.map_err(Broken::for_good)
        };
        let outcome = match timeout_at(until, asked).await {
            Ok(outcome) => outcome?,
            Err(_) => return Err(Broken::for_good(Failure::Deadline)),
        };
        self.pool.give(sender);
        outcome.map_err(Broken::for_good)
    }
}

fn path(ask: &Ask) -> String {
    let nonce = ask.nonce;
    match ask.what {
        What::Users(users) => format!("/users?count={users}&nonce={nonce:016x}"),
        What::Bytes(bytes) => format!("/users?size={bytes}&nonce={nonce:016x}"),
    }
}

/// What the answer says: a payload and its checksum, or a refusal.
///
/// Errors: the connection broke, or is of no further use
async fn read(answer: Response<Incoming>) -> Result<Result<(Payload, u64), Failure>, Failure> {
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
    let damaged = || Failure::Damaged("an answer longer than any may be".to_owned());
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
    value.ok_or_else(|| Failure::Damaged(format!("no {CHECKSUM} that can be read")))
}

impl Way for Http {
    async fn fetch(&self, ask: &Ask, deadline: Duration) -> Result<Payload, Failure> {
        let until = pool::until(deadline);
        let seat = self.pool.seat(until).await?;
        let (payload, checksum) = self.exchange(ask, until).await?;
        drop(seat);
        judged(ask, payload, checksum)
    }
}
