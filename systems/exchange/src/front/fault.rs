//! What went wrong with a request, and the answer that says so.

use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde_json::json;
use serving::http::{self, Answer};

use crate::way::Failure;

/// Each code with its status.
const TABLE: &[(&str, StatusCode)] = &[
    (BAD_INPUT, StatusCode::BAD_REQUEST),
    (NO_SUCH_PATH, StatusCode::NOT_FOUND),
    (NO_SUCH_METHOD, StatusCode::METHOD_NOT_ALLOWED),
    ("damaged", StatusCode::BAD_GATEWAY),
    ("refused", StatusCode::BAD_GATEWAY),
    ("unreachable", StatusCode::SERVICE_UNAVAILABLE),
    ("crowded", StatusCode::SERVICE_UNAVAILABLE),
    ("deadline", StatusCode::GATEWAY_TIMEOUT),
];
/// The code of what the client has to correct.
pub(super) const BAD_INPUT: &str = "bad_input";
const NO_SUCH_PATH: &str = "no_such_path";
const NO_SUCH_METHOD: &str = "no_such_method";

/// The codes of all that can go wrong.
pub(super) fn codes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(code, _)| *code)
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// A stable word.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The parameter that it is about.
    pub at: Option<&'static str>,
}

impl Fault {
    /// Something is wrong with this parameter.
    pub fn at(parameter: &'static str, message: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, message: message.into(), at: Some(parameter) }
    }

    /// Something is wrong with the request as a whole.
    pub fn bad(message: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, message: message.into(), at: None }
    }

    /// There is no such path.
    pub fn no_such_path() -> Self {
        let message = "there are /api/users-via-api, /api/users-via-uds, /api/users-via-shm, /healthz and /metrics";
        Self { code: NO_SUCH_PATH, message: message.to_owned(), at: None }
    }

    /// The path is there, for GET alone.
    pub fn no_such_method() -> Self {
        Self { code: NO_SUCH_METHOD, message: "GET is all there is".to_owned(), at: None }
    }

    /// The answer that tells of it.
    pub fn answer(&self) -> Answer {
        let status = TABLE.iter().find(|(code, _)| *code == self.code);
        let status = status.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status);
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(at) = self.at {
            error["at"] = json!(at);
        }
        let mut answer = http::json(status, json!({ "error": error }).to_string());
        if status == StatusCode::SERVICE_UNAVAILABLE {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self { code: failure.kind(), message: failure.to_string(), at: None }
    }
}
