//! The HTTP API over stored messages, for people who test code that sends mail.
//!
//! | request | answers |
//! |---|---|
//! | `GET /messages` | the messages, newest first; `to`, `from`, `subject`, `limit`, `cursor`, `wait` |
//! | `GET /messages/{id}` | one message, decoded |
//! | `GET /messages/{id}/raw` | one message as received |
//! | `DELETE /messages` | deletes all messages |
//! | `GET /counts` | what was stored since the start |
//! | `GET /observed` | the same in an observer's form |
//!
//! `/healthz` and `/metrics` also exist. Errors are `{"error":…}`.

mod list;
mod list_query;
mod message;

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use serving::http::{self, Answer, Handler};
use serving::stop::Stop;
use tokio::sync::Semaphore;

use crate::ledger::Ledger;
use crate::store::retained::{RetainedMessage, RetainedMessages};
use list_query::ListQuery;

/// Most messages that are parsed or searched at the same time.
const READERS: usize = 4;

/// An error answer.
type ApiError = (StatusCode, String);

/// Answers requests.
#[derive(Debug)]
pub struct MailApi {
    ledger: Ledger,
    retained: Option<RetainedMessages>,
    readers: Arc<Semaphore>,
    stop: Stop,
}

impl MailApi {
    /// An API over this ledger and these messages; a stop ends waiting requests.
    pub fn new(ledger: Ledger, retained: Option<RetainedMessages>, stop: Stop) -> Self {
        Self { ledger, retained, readers: Arc::new(Semaphore::new(READERS)), stop }
    }

    async fn try_answer(&self, request: Request<Bytes>) -> Result<Answer, ApiError> {
        let path = request.uri().path();
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (request.method(), &segments[..]) {
            (&Method::GET, ["observed"]) => {
                Ok(http::json(StatusCode::OK, self.ledger.observed().body()))
            }
            (&Method::GET, ["counts"]) => Ok(json(&self.counts())),
            (&Method::GET, ["messages"]) => {
                let query = ListQuery::read(request.uri().query())?;
                self.list(query).await
            }
            (&Method::DELETE, ["messages"]) => {
                if request.uri().query().is_some_and(|query| !query.is_empty()) {
                    let all = "DELETE /messages removes all messages; remove the parameters";
                    return Err((StatusCode::BAD_REQUEST, all.to_owned()));
                }
                self.clear().await
            }
            (&Method::GET, ["messages", id]) => {
                let message = self.find(id)?;
                let shown = self.reading(move || message::whole(&message)).await?;
                Ok(json(&shown?))
            }
            (&Method::GET, ["messages", id, "raw"]) => {
                let message = self.find(id)?;
                let raw = self.reading(move || message.content.read()).await?;
                Ok(as_it_came(raw.map_err(|_| gone())?))
            }
            (_, ["observed" | "counts"] | ["messages", _] | ["messages", _, "raw"]) => {
                Err((StatusCode::METHOD_NOT_ALLOWED, "use GET".to_owned()))
            }
            (_, ["messages"]) => {
                Err((StatusCode::METHOD_NOT_ALLOWED, "use GET or DELETE".to_owned()))
            }
            _ => {
                let paths = "use /messages, /messages/{id}, /messages/{id}/raw, /counts, /observed, \
                             /healthz and /metrics";
                Err((StatusCode::NOT_FOUND, paths.to_owned()))
            }
        }
    }

    fn counts(&self) -> Value {
        let mut counts = self.ledger.counts();
        counts["kept"] = self.retained.as_ref().map(RetainedMessages::len).into();
        counts
    }

    fn retained(&self) -> Result<&RetainedMessages, ApiError> {
        let nothing = "this store keeps no messages; use store=memory or store=maildir";
        self.retained.as_ref().ok_or_else(|| (StatusCode::CONFLICT, nothing.to_owned()))
    }

    fn find(&self, id: &str) -> Result<Arc<RetainedMessage>, ApiError> {
        let id = list_query::unescape(id)?;
        self.retained()?.get(&id).ok_or_else(gone)
    }

    /// Lists the matching messages; without any, waits for one as long as requested.
    async fn list(&self, query: ListQuery) -> Result<Answer, ApiError> {
        let retained = self.retained()?.clone();
        let until = tokio::time::Instant::now() + query.wait;
        let query = Arc::new(query);
        let (mut arrivals, mut stop) = (retained.arrivals(), self.stop.clone());
        let mut seen = 0;
        loop {
            // Marked as seen before the check, so that later arrivals wake the wait below.
            let newest = *arrivals.borrow_and_update();
            let (looked_at, wanted) = (retained.clone(), Arc::clone(&query));
            let page = self.reading(move || list::page(&looked_at, seen, &wanted)).await?;
            if !page.messages.is_empty() || query.wait == Duration::ZERO {
                return Ok(json(&page));
            }
            seen = newest;
            tokio::select! {
                changed = arrivals.changed() => if changed.is_err() { return Ok(json(&page)) },
                () = tokio::time::sleep_until(until) => return Ok(json(&page)),
                () = stop.pulled() => return Ok(json(&page)),
            }
        }
    }

    async fn clear(&self) -> Result<Answer, ApiError> {
        let retained = self.retained()?.clone();
        let removed = self.reading(move || {
            let messages = retained.clear();
            messages.iter().filter(|message| message.content.remove().is_ok()).count()
        });
        Ok(json(&json!({ "removed": removed.await? })))
    }

    /// Runs slow work or file reads on another thread, for a few requests at a time.
    async fn reading<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let failed = || {
            let what = "the message is too complex to parse; get its raw form";
            (StatusCode::INTERNAL_SERVER_ERROR, what.to_owned())
        };
        let _permit = self.readers.acquire().await.map_err(|_| failed())?;
        tokio::task::spawn_blocking(work).await.map_err(|_| failed())
    }
}

impl Handler for MailApi {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        self.try_answer(request).await.unwrap_or_else(|(status, why)| refusal(status, &why))
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        refusal(status, reason)
    }
}

fn gone() -> ApiError {
    (StatusCode::NOT_FOUND, "this message does not exist, or was removed".to_owned())
}

fn json(body: &impl serde::Serialize) -> Answer {
    let json = serde_json::to_vec(body).expect("strings, numbers and JSON values always serialize");
    http::json(StatusCode::OK, json)
}

fn refusal(status: StatusCode, why: &str) -> Answer {
    http::json(status, json!({ "error": why }).to_string())
}

fn as_it_came(raw: Bytes) -> Answer {
    let mut answer = http::text(StatusCode::OK, raw);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("message/rfc822"));
    answer
}

#[cfg(test)]
mod tests;
