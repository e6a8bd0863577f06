//! The answer of JetStream to a message that was published to it.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What JetStream says of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledgement<'a> {
    /// A stream has stored it.
    Stored,
    /// It is not stored.
    Refused(ApiError<'a>),
}

/// Why JetStream refuses.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq, Default)]
#[serde(default)]
pub struct ApiError<'a> {
    /// As of HTTP.
    pub code: u16,
    /// Which error exactly; 0 from servers before 2.4.
    pub err_code: u32,
    /// For people.
    #[serde(borrow)]
    pub description: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    error: Option<ApiError<'a>>,
    stream: Option<IgnoredAny>,
    seq: Option<u64>,
}

impl ApiError<'_> {
    /// The name under which it is counted, such as `JS10059`.
    pub fn name(&self) -> String {
        let number = if self.err_code > 0 { self.err_code } else { self.code.into() };
        format!("JS{number}")
    }
}

/// Reads the payload of an answer; `None` if it is no acknowledgement.
pub fn read(payload: &[u8]) -> Option<Acknowledgement<'_>> {
    // A list would be read as the fields of the object in order.
    let object = payload.trim_ascii_start();
    let answer: Answer<'_> =
        serde_json::from_slice(object.starts_with(b"{").then_some(object)?).ok()?;
    match answer {
        Answer { error: Some(error), .. } => Some(Acknowledgement::Refused(error)),
        Answer { stream: Some(_), seq: Some(_), .. } => Some(Acknowledgement::Stored),
        _ => None,
    }
}
