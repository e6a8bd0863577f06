//! Errors of an API as clients get them: a code, a sentence, and the place in the request.
//!
//! Not here: which codes there are, which is each system's own.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde::{Deserialize, Serialize};

use crate::http::{self, Answer};
use crate::percent;

/// The closed set of codes of an API; each has one HTTP status.
pub trait Code: Copy + Serialize {
    /// For a request that cannot be read.
    const INVALID: Self;
    /// For a body beyond the limit.
    const TOO_LARGE: Self;
    /// For a part that does not answer.
    const UNAVAILABLE: Self;

    /// The HTTP status that goes with it.
    fn status(self) -> u16;
}

/// One thing that is wrong.
///
/// As JSON: `{"code":"INVALID_FILTER","message":"…","at":"/filter/$or/1"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError<C> {
    /// Which kind of thing.
    pub code: C,
    /// What is wrong and what was expected, in a sentence.
    pub message: String,
    /// Where in the request, as a JSON pointer (RFC 6901); absent where no place can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// When to retry; sent in the header `retry-after`.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

/// The body of an error answer: the first error, and all others.
#[derive(Debug, Serialize, Deserialize)]
pub struct ErrorBody<C> {
    /// The first error.
    pub error: ApiError<C>,
    /// The others; absent if there are none.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<ApiError<C>>,
}

impl<C> ApiError<C> {
    /// An error without a place.
    pub fn new(code: C, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), at: None, retry_after: None }
    }

    /// The same at a place in the request, as a JSON pointer.
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.at = Some(pointer.into());
        self
    }

    /// The same, worth another try after this time.
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }
}

impl<C: Code> ApiError<C> {
    /// A part does not answer; another try makes sense after this time.
    pub fn unavailable(message: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(C::UNAVAILABLE, message).retry_after(retry_after)
    }

    /// A text that came percent-encoded; `what` names it in an error.
    ///
    /// Errors: `C::INVALID` if it is not UTF-8 in percent-encoding
    pub fn decoded(text: &str, what: &str) -> Result<String, Self> {
        let bad = || Self::new(C::INVALID, format!("{what} must be percent-encoded UTF-8"));
        percent::decode(text).ok_or_else(bad)
    }

    /// The answer for one thing that is wrong.
    pub fn answer(self) -> Answer {
        self.answer_with(Vec::new())
    }

    /// The answer for all that is wrong, with the status of the first.
    pub fn answer_with(self, others: Vec<Self>) -> Answer {
        let status = StatusCode::from_u16(self.code.status());
        let status = status.expect("codes have valid statuses");
        let retry_after = self.retry_after;
        let body = serde_json::to_vec(&ErrorBody { error: self, others });
        let mut answer = http::json(status, body.expect("strings always serialize"));
        if let Some(after) = retry_after {
            let seconds = after.as_secs().max(1);
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }

    /// The answer for a body that could not be read, with the status of that.
    pub fn unread(status: StatusCode, reason: &str) -> Answer {
        let code = match status {
            StatusCode::PAYLOAD_TOO_LARGE => C::TOO_LARGE,
            StatusCode::SERVICE_UNAVAILABLE => C::UNAVAILABLE,
            _ => C::INVALID,
        };
        let mut answer = Self::new(code, reason).at("").answer();
        *answer.status_mut() = status;
        answer
    }
}

impl<C> fmt::Display for ApiError<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{at}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl<C: fmt::Debug> std::error::Error for ApiError<C> {}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    enum TestCode {
        InvalidRequest,
        TooLarge,
        Unavailable,
    }

    impl Code for TestCode {
        const INVALID: Self = Self::InvalidRequest;
        const TOO_LARGE: Self = Self::TooLarge;
        const UNAVAILABLE: Self = Self::Unavailable;

        fn status(self) -> u16 {
            match self {
                Self::InvalidRequest => 400,
                Self::TooLarge => 413,
                Self::Unavailable => 503,
            }
        }
    }

    async fn text(answer: Answer) -> String {
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.into()).unwrap()
    }

    #[tokio::test]
    async fn an_error_is_a_body_with_the_status_of_its_code() {
        let error = ApiError::new(TestCode::InvalidRequest, "no").at("/a/0");
        assert_eq!(error.to_string(), "/a/0: no");
        let answer = error.clone().answer_with(vec![error.clone()]);
        assert_eq!(answer.status(), 400);
        let expected = r#"{"code":"INVALID_REQUEST","message":"no","at":"/a/0"}"#;
        let body = text(answer).await;
        assert_eq!(body, format!(r#"{{"error":{expected},"others":[{expected}]}}"#));
        let read: ErrorBody<TestCode> = serde_json::from_str(&body).unwrap();
        assert_eq!((&read.error, &read.others[..]), (&error, &[error.clone()][..]));
    }

    #[tokio::test]
    async fn when_to_retry_is_a_header_of_whole_seconds() {
        let away = ApiError::<TestCode>::unavailable("away", Duration::from_millis(10)).answer();
        assert_eq!(away.status(), 503);
        assert_eq!(away.headers()[RETRY_AFTER], "1");
        assert_eq!(text(away).await, r#"{"error":{"code":"UNAVAILABLE","message":"away"}}"#);
    }

    #[test]
    fn a_body_that_could_not_be_read_keeps_its_status() {
        let unread = |status| ApiError::<TestCode>::unread(status, "why").status();
        for status in [StatusCode::REQUEST_TIMEOUT, StatusCode::PAYLOAD_TOO_LARGE] {
            assert_eq!(unread(status), status);
        }
    }
}
