//! Asks a part over connections that are kept, within a deadline.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

use crate::api_error::{ApiError, Code};
use serving::api_error::ErrorBody;

/// Idle connections that are kept.
const MOST_IDLE: usize = 64;
/// When a client may try again while a part does not answer.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What a part gets beyond its deadline for each row of a bulk.
const FOR_A_ROW: Duration = Duration::from_millis(2);

/// Whether a request may be sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Once more, if the kept connection that it went over was broken.
    Read,
    /// Never, once any of it may have been sent.
    Write,
}

/// A part, and connections to it.
#[derive(Debug)]
pub(crate) struct Client {
    /// As people know it: `index`.
    part: &'static str,
    /// Host and port.
    address: String,
    /// From connecting to the answer's last byte.
    deadline: Duration,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

/// How an exchange went wrong.
struct ExchangeError {
    why: String,
    /// It went over a kept connection, and may be sent again.
    is_worth_another: bool,
}

/// One request to a part.
struct Call {
    method: Method,
    path: &'static str,
    body: Bytes,
    kind: Kind,
}

impl Client {
    /// A part at `http://HOST:PORT`, or at `HOST:PORT`.
    pub fn new(part: &'static str, url: &str, deadline: Duration) -> Self {
        let address = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/').to_owned();
        Self { part, address, deadline, idle: Mutex::default() }
    }

    /// Asks without a body.
    ///
    /// Errors: what the part refuses; `Unavailable` where it does not answer in time
    pub async fn get<T: DeserializeOwned>(&self, path: &'static str) -> Result<T, ApiError> {
        let call = Call { method: Method::GET, path, body: Bytes::new(), kind: Kind::Read };
        self.ask(call, self.deadline).await
    }

    /// Asks with a body that is about so many rows, for which it waits longer.
    ///
    /// Errors: as [`Self::get`]
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &'static str,
        body: &impl Serialize,
        kind: Kind,
        rows: usize,
    ) -> Result<T, ApiError> {
        let body = serde_json::to_vec(body).expect("numbers, strings and JSON always serialize");
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let within = self.deadline.saturating_add(FOR_A_ROW.saturating_mul(rows));
        self.ask(Call { method: Method::POST, path, body: body.into(), kind }, within).await
    }

    async fn ask<T: DeserializeOwned>(&self, call: Call, within: Duration) -> Result<T, ApiError> {
        let asking = self.exchange(call);
        let (status, body) = match tokio::time::timeout(within, asking).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(broken)) => return Err(self.unavailable(&broken.why)),
            Err(_) => {
                let why = format!("no answer within {} ms", within.as_millis());
                return Err(self.unavailable(&why));
            }
        };
        if status == StatusCode::OK {
            return serde_json::from_slice(&body)
                .map_err(|error| self.unavailable(&format!("an invalid answer: {error}")));
        }
        match serde_json::from_slice::<ErrorBody<Code>>(&body) {
            Ok(ErrorBody { error, .. }) if error.code != Code::Unavailable => Err(error),
            Ok(ErrorBody { error, .. }) => Err(self.unavailable(&error.message)),
            Err(_) => Err(self.unavailable(&format!("status {status}"))),
        }
    }

    fn unavailable(&self, why: &str) -> ApiError {
        let what = format!("the {} at {}: {why}", self.part, self.address);
        ApiError::unavailable(what, RETRY_AFTER)
    }

    async fn exchange(&self, call: Call) -> Result<(StatusCode, Bytes), ExchangeError> {
        if let Some(sender) = self.idle_connection().await {
            match self.over(sender, self.request(&call), call.kind).await {
                Err(ExchangeError { is_worth_another: true, .. }) => {
                    // If this connection broke, such as by a restart, all idle ones have.
                    self.idle().clear();
                }
                ended => return ended,
            }
        }
        let sender = self.connect().await?;
        let ended = self.over(sender, self.request(&call), call.kind).await;
        ended.map_err(|broken| ExchangeError { is_worth_another: false, ..broken })
    }

    fn request(&self, call: &Call) -> Request<Full<Bytes>> {
        let request = Request::builder().method(&call.method).uri(call.path);
        let request = request.header(HOST, &self.address).header(CONTENT_TYPE, "application/json");
        let request = request.body(Full::new(call.body.clone()));
        request.expect("paths of ours and an address that was connected to")
    }

    async fn over(
        &self,
        mut sender: SendRequest<Full<Bytes>>,
        request: Request<Full<Bytes>>,
        kind: Kind,
    ) -> Result<(StatusCode, Bytes), ExchangeError> {
        let answer = sender.try_send_request(request).await.map_err(|mut error| {
            // It comes back where nothing of it was sent.
            let unsent = error.take_message().is_some();
            broken(error.error(), unsent || kind == Kind::Read)
        })?;
        let status = answer.status();
        let body = answer.into_body().collect().await;
        let body = body.map_err(|error| broken(&error, kind == Kind::Read))?.to_bytes();
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(sender);
        }
        Ok((status, body))
    }

    /// A kept connection that takes a request, as far as one can know.
    async fn idle_connection(&self) -> Option<SendRequest<Full<Bytes>>> {
        loop {
            let mut sender = self.idle().pop()?;
            if !sender.is_closed() && sender.ready().await.is_ok() {
                return Some(sender);
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ExchangeError> {
        let stream =
            TcpStream::connect(&self.address).await.map_err(|error| broken(&error, false))?;
        // Without it a request may wait for an acknowledgement; no reason to fail.
        let _ = stream.set_nodelay(true);
        let made = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(|error| broken(&error, false))?;
        // The task ends with its sender; its error reaches the waiting request.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(sender)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<SendRequest<Full<Bytes>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn broken(error: &dyn std::error::Error, is_worth_another: bool) -> ExchangeError {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        why = format!("{why}: {inner}");
        cause = inner.source();
    }
    ExchangeError { why, is_worth_another }
}

#[cfg(test)]
mod tests;
