//! Deliveries: what one subscription gets of a multicast, in pieces that are not too large.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use hyper::body::Bytes;

use crate::message::{self, Header, Message};
use crate::subscription::table::Group;

/// How much one delivery may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Recipients of one delivery.
    pub recipients: usize,
    /// Bytes of one delivery, header and payload, as long as that leaves room for
    /// [`Bounds::least_names`] bytes of names.
    pub bytes: usize,
    /// Bytes of names that a delivery may hold however large its payload is.
    pub least_names: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { recipients: 1_000, bytes: 256 << 10, least_names: 32 << 10 }
    }
}

/// Bytes of a header beside names and the message's own fields.
const HEADER: usize = 256;

impl Bounds {
    fn names(&self, message: &Message) -> usize {
        let rest = message.payload.len() + message.content_type.len() + HEADER;
        self.bytes.saturating_sub(rest).max(self.least_names)
    }
}

/// A delivery that has no id yet.
#[derive(Debug)]
pub struct Parcel<S> {
    /// Who gets it.
    pub subscription: Arc<S>,
    /// For whom.
    pub to: Vec<Arc<str>>,
}

/// Cuts groups into parcels within bounds.
pub fn cut<S>(groups: Vec<Group<S>>, message: &Message, bounds: Bounds) -> Vec<Parcel<S>> {
    let room = bounds.names(message);
    let mut parcels = Vec::with_capacity(groups.len());
    for Group { subscription, targets } in groups {
        let mut to = Vec::new();
        let mut taken = 0;
        for target in targets {
            let length = written(&target);
            if to.len() >= bounds.recipients || !to.is_empty() && taken + length > room {
                let to = std::mem::take(&mut to);
                parcels.push(Parcel { subscription: Arc::clone(&subscription), to });
                taken = 0;
            }
            taken += length;
            to.push(target);
        }
        parcels.push(Parcel { subscription, to });
    }
    parcels
}

/// Bytes of a name in a header, with its quotes and comma; names have no control characters.
fn written(name: &str) -> usize {
    let escaped = name.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    name.len() + escaped + 3
}

/// What all deliveries of one multicast have in common, written once; each is made by copying it
/// around a number and names.
#[derive(Debug)]
pub struct Form {
    /// Up to the delivery's number.
    head: Vec<u8>,
    /// From there to the names.
    middle: Vec<u8>,
    /// From there to the end, payload included.
    end: Vec<u8>,
}

impl Form {
    /// The form of a message whose deliveries' ids begin so and end with their number.
    pub fn new(message: &Message, prefix: &str, ack: Option<&str>) -> Self {
        let header = Header {
            delivery: prefix,
            message: &message.id,
            namespace: &message.namespace,
            to: Vec::new(),
            content_type: Cow::Borrowed(&message.content_type),
            sent_at: message.sent_at,
            ack,
        };
        let mut head = message::encode(&header, &message.payload).to_vec();
        // Quotes within a text are escaped, so that neither occurs in one.
        let names = find(&head, TO).expect("a header has recipients") + TO.len();
        let end = head.split_off(names);
        let number = find(&head, MESSAGE).expect("a header has a message");
        let middle = head.split_off(number);
        Self { head, middle, end }
    }

    /// The bytes of a delivery.
    pub fn fill(&self, number: u64, to: &[Arc<str>]) -> Bytes {
        let names: usize = to.iter().map(|name| name.len() + 3).sum();
        let rest = self.head.len() + self.middle.len() + self.end.len();
        let mut bytes = Vec::with_capacity(rest + LONGEST_NUMBER + names);
        bytes.extend_from_slice(&self.head);
        write!(bytes, "{number}").expect("a vector takes everything");
        bytes.extend_from_slice(&self.middle);
        for (index, name) in to.iter().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            quote(&mut bytes, name);
        }
        bytes.extend_from_slice(&self.end);
        bytes.into()
    }
}

/// Digits of the largest number.
const LONGEST_NUMBER: usize = 20;
/// What follows the id of a delivery.
const MESSAGE: &[u8] = b"\",\"message\":";
/// What comes before the recipients.
const TO: &[u8] = b"\"to\":[";

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// A name as JSON has it; most need no more than their quotes.
fn quote(bytes: &mut Vec<u8>, name: &str) {
    if name.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        serde_json::to_writer(bytes, name).expect("a vector takes everything");
    } else {
        bytes.push(b'"');
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(payload: usize) -> Message {
        Message {
            id: "m-1".into(),
            namespace: "n".into(),
            content_type: "text/plain".into(),
            payload: vec![b'x'; payload].into(),
            sent_at: 1,
        }
    }

    fn group(count: usize, name: impl Fn(usize) -> String) -> Vec<Group<()>> {
        let targets = (0..count).map(|number| name(number).into()).collect();
        vec![Group { subscription: Arc::new(()), targets }]
    }

    #[test]
    fn a_group_is_cut_by_recipients_and_nobody_is_lost() {
        let parcels = cut(group(2_500, |n| format!("u{n}")), &message(10), Bounds::default());
        let sizes: Vec<usize> = parcels.iter().map(|parcel| parcel.to.len()).collect();
        assert_eq!(sizes, [1_000, 1_000, 500]);
        let all: Vec<Arc<str>> = parcels.into_iter().flat_map(|parcel| parcel.to).collect();
        let expected: Vec<Arc<str>> = (0..2_500).map(|n| format!("u{n}").into()).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_delivery_stays_within_its_bytes_whatever_the_names_hold() {
        let bounds = Bounds { recipients: 1_000, bytes: 8_000, least_names: 1_000 };
        let message = message(2_000);
        let parcels = cut(group(300, |n| format!("{n}{}", "\\\"".repeat(40))), &message, bounds);
        assert!(parcels.len() > 5);
        for parcel in &parcels {
            let form = Form::new(&message, "c-", Some("registry.acks.c"));
            let bytes = form.fill(1, &parcel.to);
            assert!(bytes.len() <= bounds.bytes, "{}", bytes.len());
        }
    }

    #[test]
    fn a_large_payload_still_goes_to_many_at_once() {
        let parcels =
            cut(group(1_000, |n| format!("user-{n}")), &message(1 << 20), Bounds::default());
        assert_eq!(parcels.len(), 1);
    }

    #[test]
    fn a_filled_form_is_the_header_that_it_stands_for() {
        let mut message = message(3);
        message.id = r#"m","message":"to":[\"#.into();
        message.namespace = r#""to":["#.into();
        for ack in [None, Some("registry.acks.c")] {
            let form = Form::new(&message, "c\"-", ack);
            for to in [&[][..], &["a"], &["a", r#"b"\,"#, "ü\u{1}"]] {
                let names: Vec<Arc<str>> = to.iter().map(|name| (*name).into()).collect();
                let header = Header {
                    delivery: "c\"-17",
                    message: &message.id,
                    namespace: &message.namespace,
                    to: to.iter().map(|name| Cow::Borrowed(*name)).collect(),
                    content_type: "text/plain".into(),
                    sent_at: 1,
                    ack,
                };
                assert_eq!(form.fill(17, &names), message::encode(&header, &message.payload));
            }
        }
    }
}
