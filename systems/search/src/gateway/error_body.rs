//! Errors as answers.

use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde::{Deserialize, Serialize};
use serving::http::{self, Answer};

use crate::api_error::{ApiError, Code};

/// The body of an error answer: the first error, and all others.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ErrorBody {
    pub error: ApiError,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<ApiError>,
}

/// The answer for one thing that is wrong.
pub(crate) fn error_answer(error: ApiError) -> Answer {
    refusals(error, Vec::new())
}

/// The answer for all that is wrong, with the status of the first.
pub(crate) fn refusals(error: ApiError, others: Vec<ApiError>) -> Answer {
    let status = StatusCode::from_u16(error.code.status());
    let status = status.expect("the table holds valid statuses");
    let retry_after = error.retry_after;
    let body = serde_json::to_vec(&ErrorBody { error, others });
    let mut answer = http::json(status, body.expect("strings always serialize"));
    if let Some(after) = retry_after {
        let seconds = after.as_secs().max(1);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// The answer for a body that could not be had, with a status of its own.
pub(crate) fn unread(status: StatusCode, reason: &str) -> Answer {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        StatusCode::SERVICE_UNAVAILABLE => Code::Unavailable,
        _ => Code::InvalidRequest,
    };
    let mut answer = error_answer(ApiError::new(code, reason).at(""));
    *answer.status_mut() = status;
    answer
}
