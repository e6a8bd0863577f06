//! Errors of a request, and the answers for them.

use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde_json::json;
use serving::http::{self, Answer};

use crate::failure::Failure;

/// Each code with its status; of several with the same, the first is that of a request which never was read whole.
const TABLE: &[(&str, StatusCode)] = &[
    (BAD_INPUT, StatusCode::BAD_REQUEST),
    (NOT_FOUND, StatusCode::NOT_FOUND),
    (METHOD_NOT_ALLOWED, StatusCode::METHOD_NOT_ALLOWED),
    ("too_slow", StatusCode::REQUEST_TIMEOUT),
    ("too_large", StatusCode::PAYLOAD_TOO_LARGE),
    ("damaged", StatusCode::BAD_GATEWAY),
    ("refused", StatusCode::BAD_GATEWAY),
    ("crowded", StatusCode::SERVICE_UNAVAILABLE),
    ("unreachable", StatusCode::SERVICE_UNAVAILABLE),
    ("deadline", StatusCode::GATEWAY_TIMEOUT),
];
/// The code of what the client has to correct.
const BAD_INPUT: &str = "bad_input";
const NOT_FOUND: &str = "not_found";
const METHOD_NOT_ALLOWED: &str = "method_not_allowed";

/// The codes of all that can go wrong.
pub(super) fn codes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(code, _)| *code)
}

/// One thing that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    /// A stable word.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The parameter that it is about.
    pub at: Option<&'static str>,
}

impl ApiError {
    /// Something is wrong with this parameter.
    pub fn at(parameter: &'static str, message: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, message: message.into(), at: Some(parameter) }
    }

    /// Something is wrong with the request as a whole.
    pub fn bad(message: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, message: message.into(), at: None }
    }

    /// The request could not be had whole; the status says why.
    pub fn unread(status: StatusCode, reason: &str) -> Self {
        let code = TABLE.iter().find(|(_, of)| *of == status).map_or(BAD_INPUT, |(code, _)| *code);
        Self { code, message: reason.to_owned(), at: None }
    }

    /// There is no such path.
    pub fn not_found() -> Self {
        let message =
            "use /api/users-via-api, /api/users-via-uds, /api/users-via-shm, /healthz or /metrics";
        Self { code: NOT_FOUND, message: message.to_owned(), at: None }
    }

    /// The path is there, for GET alone.
    pub fn method_not_allowed() -> Self {
        Self { code: METHOD_NOT_ALLOWED, message: "use GET".to_owned(), at: None }
    }

    /// The answer for it.
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

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self { code: failure.kind(), message: failure.to_string(), at: None }
    }
}
