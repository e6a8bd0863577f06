//! Messages, and their wire format on every bus.
//!
//! A delivery is one message for all recipients that one subscription serves, so recipients on the
//! same connection share its bytes. On the wire it is one line of JSON, a line feed, and the
//! unchanged payload:
//!
//! ```text
//! {"delivery":"7f3a-12","message":"7f3a-5","namespace":"loadtest","to":["user-1","user-2"],
//!  "content_type":"text/plain","sent_at":1763700000000,"ack":"registry.acks.7f3a.loadtest"}
//! <payload>
//! ```
//!
//! (one line; broken here). `ack` is absent when no acknowledgement is wanted. A receiver that has
//! handled it answers with `{"ack":["7f3a-12", …]}`, with any number of deliveries: over the
//! connection on which it got them, or on the subject in `ack`.

use std::sync::Arc;

use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::identity::Millis;

/// The delivery guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Semantics {
    /// Sent once, to the receivers that are connected.
    #[default]
    AtMostOnce,
    /// Sent until the recipient acknowledges; may arrive twice with the same delivery id.
    AtLeastOnce,
}

/// One multicast's content, shared by all its deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Unique among all coordinators.
    pub id: String,
    /// The namespace of its recipients.
    pub namespace: Arc<str>,
    /// The media type of the payload.
    pub content_type: String,
    /// Unchanged from the sender.
    pub payload: Bytes,
    /// When the multicast was accepted.
    pub sent_at: Millis,
}

/// The first line of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header<'a> {
    /// The id for acknowledgements; the same when it is sent again.
    pub delivery: &'a str,
    /// The multicast.
    pub message: &'a str,
    /// The namespace of the recipients.
    pub namespace: &'a str,
    /// The recipients that this subscription serves.
    #[serde(borrow)]
    pub to: Vec<std::borrow::Cow<'a, str>>,
    /// The media type of the payload.
    #[serde(borrow)]
    pub content_type: std::borrow::Cow<'a, str>,
    /// When the multicast was accepted.
    pub sent_at: Millis,
    /// The subject for acknowledgements on a bus with subjects; `""`: over the same connection;
    /// absent: no acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ack: Option<&'a str>,
}

/// A receiver's acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// Deliveries that all their recipients have received.
    pub ack: Vec<String>,
}

/// Header and payload in the wire format.
pub fn encode(header: &Header<'_>, payload: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(128 + 16 * header.to.len() + payload.len());
    serde_json::to_writer(&mut bytes, header).expect("strings and numbers always serialize");
    bytes.push(b'\n');
    bytes.extend_from_slice(payload);
    bytes.into()
}

/// The inverse of [`encode`]; `None` for other bytes.
pub fn decode(bytes: &[u8]) -> Option<(Header<'_>, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let header = serde_json::from_slice(&bytes[..end]).ok()?;
    Some((header, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_reads_back_with_its_bytes() {
        let header = Header {
            delivery: "a-1",
            message: "a-0",
            namespace: "loadtest",
            to: vec!["user-1".into(), "us\"er".into()],
            content_type: "application/octet-stream".into(),
            sent_at: 5,
            ack: Some("registry.acks.a"),
        };
        let bytes = encode(&header, b"\n\x00payload\n");
        let (read, payload) = decode(&bytes).unwrap();
        assert_eq!(read, header);
        assert_eq!(payload, b"\n\x00payload\n");
        assert!(bytes.starts_with(b"{\"delivery\":\"a-1\",\"message\":\"a-0\""));
    }

    #[test]
    fn what_is_no_delivery_is_told() {
        for bad in [&b""[..], b"{}", b"{}\n", b"nonsense\npayload", b"\n"] {
            assert_eq!(decode(bad), None);
        }
    }
}
