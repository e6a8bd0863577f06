//! The door beside the mail: what was stored, over HTTP, for people who test code that sends mail.
//!
//! | request | answers |
//! |---|---|
//! | `GET /messages` | the messages, newest first; `to`, `from`, `subject`, `limit`, `cursor`, `wait` |
//! | `GET /messages/{id}` | one of them, decoded |
//! | `GET /messages/{id}/raw` | one of them as it came |
//! | `DELETE /messages` | takes all of them away |
//! | `GET /counts` | what was stored since the start |
//! | `GET /observed` | the same, as an observer tells it |
//!
//! `/healthz` and `/metrics` are there as well. Errors are `{"error":…}`.

mod asked;
mod list;
mod show;

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
use crate::store::shelf::{Shelf, Shelved};
use asked::Asked;

/// Messages that are taken apart or searched at a time.
const READERS: usize = 4;

/// A refusal at the door.
type Fault = (StatusCode, String);

/// What answers requests.
#[derive(Debug)]
pub struct Door {
    ledger: Ledger,
    shelf: Option<Shelf>,
    readers: Arc<Semaphore>,
    stop: Stop,
}

impl Door {
    /// A door to what this ledger counts and this shelf holds; who waits for a message is answered when stopped.
    pub fn new(ledger: Ledger, shelf: Option<Shelf>, stop: Stop) -> Self {
        Self { ledger, shelf, readers: Arc::new(Semaphore::new(READERS)), stop }
    }

    async fn try_answer(&self, request: Request<Bytes>) -> Result<Answer, Fault> {
        let path = request.uri().path();
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (request.method(), &segments[..]) {
            (&Method::GET, ["observed"]) => {
                Ok(http::json(StatusCode::OK, self.ledger.observed().body()))
            }
            (&Method::GET, ["counts"]) => Ok(told(&self.counts())),
            (&Method::GET, ["messages"]) => {
                let asked = Asked::read(request.uri().query())?;
                self.list(asked).await
            }
            (&Method::DELETE, ["messages"]) => {
                if request.uri().query().is_some_and(|query| !query.is_empty()) {
                    let all =
                        "all messages are taken away at once, and parameters choose none of them";
                    return Err((StatusCode::BAD_REQUEST, all.to_owned()));
                }
                self.clear().await
            }
            (&Method::GET, ["messages", id]) => {
                let message = self.find(id)?;
                let shown = self.reading(move || show::whole(&message)).await?;
                Ok(told(&shown?))
            }
            (&Method::GET, ["messages", id, "raw"]) => {
                let message = self.find(id)?;
                let raw = self.reading(move || message.content.read()).await?;
                Ok(as_it_came(raw.map_err(|_| gone())?))
            }
            (_, ["observed" | "counts"] | ["messages", _] | ["messages", _, "raw"]) => {
                Err((StatusCode::METHOD_NOT_ALLOWED, "asked for with GET".to_owned()))
            }
            (_, ["messages"]) => {
                Err((StatusCode::METHOD_NOT_ALLOWED, "asked for with GET or DELETE".to_owned()))
            }
            _ => {
                let paths = "there are /messages, /messages/{id}, /messages/{id}/raw, /counts, /observed, \
                             /healthz and /metrics";
                Err((StatusCode::NOT_FOUND, paths.to_owned()))
            }
        }
    }

    fn counts(&self) -> Value {
        let mut counts = self.ledger.counts();
        counts["kept"] = self.shelf.as_ref().map(Shelf::len).into();
        counts
    }

    fn shelf(&self) -> Result<&Shelf, Fault> {
        let nothing = "this store keeps no messages; store=memory and store=maildir do";
        self.shelf.as_ref().ok_or_else(|| (StatusCode::CONFLICT, nothing.to_owned()))
    }

    fn find(&self, id: &str) -> Result<Arc<Shelved>, Fault> {
        let id = asked::unescape(id)?;
        self.shelf()?.get(&id).ok_or_else(gone)
    }

    /// Lists what there is; where that is nothing, waits for it as long as asked.
    async fn list(&self, asked: Asked) -> Result<Answer, Fault> {
        let shelf = self.shelf()?.clone();
        let until = tokio::time::Instant::now() + asked.wait;
        let asked = Arc::new(asked);
        let (mut arrivals, mut stop) = (shelf.arrivals(), self.stop.clone());
        let mut seen = 0;
        loop {
            // Marked as seen before it is looked at: what comes later wakes the wait below.
            let newest = *arrivals.borrow_and_update();
            let (looked_at, wanted) = (shelf.clone(), Arc::clone(&asked));
            let page = self.reading(move || list::page(&looked_at, seen, &wanted)).await?;
            if !page.messages.is_empty() || asked.wait == Duration::ZERO {
                return Ok(told(&page));
            }
            seen = newest;
            tokio::select! {
                changed = arrivals.changed() => if changed.is_err() { return Ok(told(&page)) },
                () = tokio::time::sleep_until(until) => return Ok(told(&page)),
                () = stop.pulled() => return Ok(told(&page)),
            }
        }
    }

    async fn clear(&self) -> Result<Answer, Fault> {
        let shelf = self.shelf()?.clone();
        let removed = self.reading(move || {
            let messages = shelf.clear();
            messages.iter().filter(|message| message.content.remove().is_ok()).count()
        });
        Ok(told(&json!({ "removed": removed.await? })))
    }

    /// Does what takes time or reads a file elsewhere, for a few requests at a time.
    async fn reading<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let failed = || {
            let what = "the message cannot be taken apart; its raw form is there";
            (StatusCode::INTERNAL_SERVER_ERROR, what.to_owned())
        };
        let _permit = self.readers.acquire().await.map_err(|_| failed())?;
        tokio::task::spawn_blocking(work).await.map_err(|_| failed())
    }
}

impl Handler for Door {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        self.try_answer(request).await.unwrap_or_else(|(status, why)| refusal(status, &why))
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        refusal(status, reason)
    }
}

fn gone() -> Fault {
    (StatusCode::NOT_FOUND, "there is no such message, or not any more".to_owned())
}

fn told(body: &impl serde::Serialize) -> Answer {
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
