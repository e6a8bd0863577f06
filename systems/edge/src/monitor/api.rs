//! The monitor's HTTP API.
//!
//! | request | answers |
//! |---|---|
//! | `GET /observed` | what was counted, as an observer tells it |
//! | `GET /v1/senders` | the casters, each with its counts |
//! | `GET /v1/messages` | the messages that are kept, the oldest first; `sender`, `from`, `limit` |
//!
//! `/healthz` and `/metrics` are there as well. Errors are `{"error":…}`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use serde_json::{Map, Value, json};
use serving::http::{self, Answer, Handler};
use serving::metrics::Registry;
use serving::percent;

use super::figures::Figures;
use super::intake::Shared;
use super::ledger::{Sender, Totals};
use super::recent::RecentMessage;
use crate::cast::account::Why;

/// Messages of an answer, unless told otherwise and at most.
const LIMIT: usize = 100;
const MOST: usize = 1_000;
/// Bytes of payloads in an answer, the last one of which may go beyond.
const MOST_BYTES: usize = 1 << 20;

/// A refused request: the status, and what is wrong.
type ApiError = (StatusCode, String);

/// What answers requests.
#[derive(Debug)]
pub(super) struct Api {
    ledger: Shared,
    figures: Figures,
}

impl Api {
    /// Answers from this ledger; its figures are exported by this registry.
    pub fn new(ledger: Shared, registry: &Registry) -> Self {
        Self { ledger, figures: Figures::new(registry) }
    }

    fn try_answer(&self, request: &Request<Bytes>) -> Result<String, ApiError> {
        let path = request.uri().path();
        if !["/observed", "/v1/senders", "/v1/messages"].contains(&path) {
            let there = "there are /observed, /v1/senders, /v1/messages, /healthz and /metrics";
            return Err((StatusCode::NOT_FOUND, there.to_owned()));
        }
        if request.method() != Method::GET {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "asked for with GET".to_owned()));
        }
        match path {
            "/observed" => Ok(self.ledger.lock().observed().body()),
            "/v1/senders" => {
                let senders = self.ledger.lock().senders();
                let senders: Vec<Value> = senders.iter().map(sender).collect();
                Ok(json!({ "senders": senders }).to_string())
            }
            _ => Ok(self.messages(&Query::read(request.uri().query())?).to_string()),
        }
    }

    fn messages(&self, query: &Query) -> Value {
        let (mut messages, mut bytes, mut next) = (Vec::new(), 0, None);
        let ledger = self.ledger.lock();
        let wanted = ledger
            .messages(query.from)
            .filter(|kept| query.sender.is_none_or(|sender| sender == kept.caster));
        for kept in wanted {
            if messages.len() >= query.limit || bytes >= MOST_BYTES {
                next = Some(kept.arrival);
                break;
            }
            bytes += kept.payload.len();
            messages.push(message(&kept));
        }
        json!({ "messages": messages, "next": next })
    }
}

impl Handler for Api {
    async fn handle(&self, request: Request<Bytes>) -> Answer {
        match self.try_answer(&request) {
            Ok(body) => http::json(StatusCode::OK, body),
            Err((status, why)) => self.refuse(status, &why),
        }
    }

    fn refuse(&self, status: StatusCode, reason: &str) -> Answer {
        http::json(status, json!({ "error": reason }).to_string())
    }

    async fn measure(&self) {
        let ledger = self.ledger.lock();
        self.figures.show(&ledger.sums());
    }
}

/// A caster's number as it is written everywhere.
fn name(caster: u64) -> String {
    format!("{caster:016x}")
}

fn sender(sender: &Sender) -> Value {
    let Sender { caster, name: called, is_connected, totals, delays } = sender;
    let mut shown = json!({
        "sender": name(*caster),
        "name": called,
        "connected": is_connected,
        "delay": { "min_ns": delays.min_ns, "mean_ns": delays.mean_ns(), "max_ns": delays.max_ns },
    });
    let Totals { received, bytes, duplicates, out_of_order, gaps, missing, .. } = *totals;
    let counts = [
        ("received", received),
        ("bytes", bytes),
        ("duplicates", duplicates),
        ("out_of_order", out_of_order),
        ("gaps", gaps),
        ("missing", missing),
        ("ahead", totals.ahead),
        ("unbalanced", totals.unbalanced),
        ("cast", totals.account.cast),
        ("lost", totals.lost),
    ];
    for (name, count) in counts {
        shown[name] = count.into();
    }
    let dropped =
        Why::ALL.map(|why| (why.name().to_owned(), Value::from(totals.account.dropped_for(why))));
    shown["dropped"] = Value::Object(Map::from_iter(dropped));
    shown
}

fn message(kept: &RecentMessage<'_>) -> Value {
    let RecentMessage { arrival, caster, lane, sequence, sent_at, received_at, payload } = *kept;
    json!({
        "arrival": arrival,
        "sender": name(caster),
        "lane": lane,
        "sequence": sequence,
        "sent_at": sent_at,
        "received_at": received_at,
        "payload": STANDARD.encode(payload),
    })
}

/// Which messages are asked for.
#[derive(Debug, PartialEq, Eq)]
struct Query {
    sender: Option<u64>,
    from: u64,
    limit: usize,
}

impl Query {
    /// Reads a query.
    ///
    /// Errors: 400 with what is wrong and what was expected
    fn read(query: Option<&str>) -> Result<Self, ApiError> {
        let mut wanted = Self { sender: None, from: 0, limit: LIMIT };
        let pairs = query.into_iter().flat_map(|query| query.split('&'));
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent::decode(value).unwrap_or_else(|| value.to_owned());
            let bad = |expected: &str| {
                let what = format!("{name}: expected {expected}, got \"{value}\"");
                (StatusCode::BAD_REQUEST, what)
            };
            match name {
                "sender" => {
                    let number = u64::from_str_radix(&value, 16).ok();
                    let number = number.filter(|number| self::name(*number) == value);
                    wanted.sender = Some(
                        number.ok_or_else(|| bad("16 hexadecimal digits, as in /v1/senders"))?,
                    );
                }
                "from" => {
                    let arrival = value.parse();
                    wanted.from =
                        arrival.map_err(|_| bad("an arrival, or the next of an answer"))?;
                }
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MOST).contains(limit));
                    wanted.limit = limit.ok_or_else(|| bad("a whole number from 1 to 1000"))?;
                }
                _ => {
                    let what = format!("{name}: there are sender, from and limit");
                    return Err((StatusCode::BAD_REQUEST, what));
                }
            }
        }
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read_and_bounded() {
        let plain = Query { sender: None, from: 0, limit: LIMIT };
        assert_eq!(Query::read(None), Ok(plain));
        let query = Query::read(Some("sender=00000000000000ff&from=7&limit=1000")).unwrap();
        assert_eq!(query, Query { sender: Some(255), from: 7, limit: 1000 });
        for bad in [
            "sender=ff",
            "sender=+0000000000000ff",
            "sender=00000000000000FF",
            "from=-1",
            "from=",
            "limit=0",
            "limit=1001",
            "limit=%",
            "size=1",
        ] {
            let (status, why) = Query::read(Some(bad)).unwrap_err();
            assert_eq!(status, StatusCode::BAD_REQUEST, "{bad}: {why}");
        }
    }
}
