//! Messages for tests.

use hyper::body::Bytes;

use crate::message::Message;

/// A message in the namespace `n`.
pub fn sample(payload: impl Into<Bytes>) -> Message {
    Message {
        id: "m-1".into(),
        namespace: "n".into(),
        content_type: "text/plain".into(),
        payload: payload.into(),
        sent_at: 1,
    }
}
