//! The producer over HTTP: `GET /users?count=100&nonce=00000000000000ff`.

use std::sync::{Arc, Weak};

use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde_json::json;
use serving::http::{self, Answer, Handler};

use super::metrics::{ClientMetrics, TransportMetrics};
use super::payloads::{PayloadCache, PayloadCopy};
use crate::race;
use crate::refusal::Refusal;
use crate::request::{DataRequest, Wanted, read_nonce};
use crate::transports::http::CHECKSUM;

/// What answers HTTP requests.
pub(super) struct Api {
    pub cache: Arc<PayloadCache>,
    /// How many users there are where it is not said.
    pub users: u32,
    pub figures: TransportMetrics,
    pub clients: ClientMetrics,
    /// The channel, which may end before connections of HTTP do.
    pub shm: Weak<shm_channel::Producer>,
    /// The file that is written on demand, where that is let.
    pub race: Option<race::File>,
}

impl Handler for Api {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/users") => {
                let outcome = self.answer(request.uri().query().unwrap_or(""));
                self.figures.count(&outcome);
                outcome.unwrap_or_else(|(status, why)| error(status, &why))
            }
            (&Method::GET, race::PATH) if self.race.is_some() => {
                let written = self.write(request.uri().query().unwrap_or(""));
                written.unwrap_or_else(|(status, why)| error(status, &why))
            }
            (_, "/users") => error(StatusCode::METHOD_NOT_ALLOWED, "use GET"),
            _ => error(StatusCode::NOT_FOUND, "use /users, /healthz or /metrics"),
        }
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        error(status, reason)
    }

    async fn measure(&self) {
        if let Some(shm) = self.shm.upgrade() {
            self.clients.set(shm.counts());
        }
    }
}

impl Api {
    fn answer(&self, query: &str) -> Result<Answer, (StatusCode, String)> {
        let copied = self.copied(query)?;
        let checksum = HeaderValue::try_from(format!("crc32-{:08x}", copied.checksum()));
        let mut answer = http::json(StatusCode::OK, Bytes::from_owner(copied));
        let checksum = checksum.expect("letters, digits and a hyphen");
        answer.headers_mut().insert(HeaderName::from_static(CHECKSUM), checksum);
        Ok(answer)
    }

    fn copied(&self, query: &str) -> Result<PayloadCopy, (StatusCode, String)> {
        let ask = ask(query, self.users).map_err(|why| (StatusCode::BAD_REQUEST, why))?;
        self.cache.copied(&ask).map_err(|refusal| (status(refusal), refusal.to_string()))
    }

    /// What is asked for goes into the file that is there for all.
    fn write(&self, query: &str) -> Result<Answer, (StatusCode, String)> {
        let copied = self.copied(query)?;
        let written = self.race.as_ref().map_or(Ok(()), |file| file.write(copied.as_ref()));
        written.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
        Ok(http::json(StatusCode::OK, r#"{"written":true}"#))
    }
}

fn status(refusal: Refusal) -> StatusCode {
    match refusal {
        Refusal::NotUnderstood | Refusal::OutOfBounds => StatusCode::BAD_REQUEST,
        Refusal::Crowded => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn error(status: StatusCode, why: &str) -> Answer {
    http::json(status, json!({ "error": why }).to_string())
}

/// Reads a query strictly: each parameter once, and no unknown ones.
fn ask(query: &str, users: u32) -> Result<DataRequest, String> {
    let (mut what, mut nonce) = (None, None);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let wrong = |refusal: Refusal| format!("{pair}: {refusal}");
        let former = match name {
            "count" => what.replace(Wanted::users(value).map_err(wrong)?).is_some(),
            "size" => what.replace(Wanted::bytes(value).map_err(wrong)?).is_some(),
            "nonce" => nonce.replace(read_nonce(value).map_err(wrong)?).is_some(),
            _ => return Err(format!("{name}: unknown parameter; use count or size, and nonce")),
        };
        if former {
            return Err(format!("{name}: given twice, or both count and size"));
        }
    }
    let nonce = nonce.ok_or("nonce must be 16 lower-case hexadecimal digits")?;
    Ok(DataRequest { what: what.unwrap_or(Wanted::Users(users)), nonce })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_what_and_a_nonce() {
        let nonce = 0xff;
        for (query, what) in [
            ("count=7&nonce=00000000000000ff", Wanted::Users(7)),
            ("nonce=00000000000000ff&size=2048", Wanted::Bytes(2_048)),
            ("nonce=00000000000000ff", Wanted::Users(100)),
            ("&nonce=00000000000000ff&", Wanted::Users(100)),
        ] {
            assert_eq!(ask(query, 100), Ok(DataRequest { what, nonce }), "{query}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_name() {
        for (query, named) in [
            ("", "nonce"),
            ("count=7", "nonce"),
            ("count=7&nonce=ff", "nonce=ff"),
            ("count=0&nonce=00000000000000ff", "count=0"),
            ("count=7&size=2048&nonce=00000000000000ff", "size"),
            ("nonce=00000000000000ff&nonce=00000000000000ff", "nonce"),
            ("nonce=00000000000000FF", "nonce=00000000000000FF"),
            ("size=1023&nonce=00000000000000ff", "size=1023"),
            ("size=1KiB&nonce=00000000000000ff", "size=1KiB"),
            ("users=7&nonce=00000000000000ff", "users"),
            ("count&nonce=00000000000000ff", "count"),
            ("count=%37&nonce=00000000000000ff", "count=%37"),
        ] {
            let why = ask(query, 100).unwrap_err();
            assert!(why.starts_with(named), "{query}: {why}");
        }
    }
}
