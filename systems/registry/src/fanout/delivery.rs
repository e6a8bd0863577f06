//! Deliveries: the parts of a multicast for each subscription, split to a maximum size.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use hyper::body::Bytes;

use super::tracker::DeliveryState;
use crate::bus::Outcome;
use crate::message::{self, Header, Message};
use crate::subscription::table::{Group, Groups};

/// Limits of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryLimits {
    /// Recipients of one delivery.
    pub recipients: usize,
    /// Most bytes of one delivery, header and payload, unless [`DeliveryLimits::least_names`] bytes
    /// of names need more.
    pub bytes: usize,
    /// Bytes of names that a delivery may always contain, however large its payload is.
    pub least_names: usize,
}

impl Default for DeliveryLimits {
    fn default() -> Self {
        Self { recipients: 1_000, bytes: 256 << 10, least_names: 32 << 10 }
    }
}

/// Bytes of a header without names and the message's own fields.
const HEADER: usize = 256;

impl DeliveryLimits {
    fn names(&self, message: &Message) -> usize {
        let rest = message.payload.len() + message.content_type.len() + HEADER;
        self.bytes.saturating_sub(rest).max(self.least_names)
    }
}

/// A delivery that has no id yet.
#[derive(Debug)]
pub struct Delivery<S> {
    /// Its subscription.
    pub subscription: Arc<S>,
    /// Its targets, as a range of all targets.
    pub to: Range<usize>,
}

/// All deliveries of a multicast.
#[derive(Debug)]
pub struct Deliveries<S> {
    /// In order of their targets.
    pub all: Vec<Delivery<S>>,
    targets: Vec<Arc<str>>,
}

impl<S> Deliveries<S> {
    /// The targets of a delivery.
    pub fn names(&self, index: usize) -> &[Arc<str>] {
        &self.targets[self.all[index].to.clone()]
    }

    /// The outcome of each target, from the state of each delivery.
    pub fn outcomes(
        self,
        states: impl IntoIterator<Item = DeliveryState>,
        outcomes: &mut Vec<Outcome>,
    ) {
        let mut targets = self.targets.into_iter();
        for (delivery, state) in self.all.into_iter().zip(states) {
            let to = targets.by_ref().take(delivery.to.len());
            outcomes.extend(to.map(|identity| state.outcome(identity)));
        }
    }
}

/// Splits groups into deliveries within the limits.
pub fn cut<S>(groups: Groups<S>, message: &Message, bounds: DeliveryLimits) -> Deliveries<S> {
    let room = bounds.names(message);
    let Groups { groups, targets, .. } = groups;
    let mut all = Vec::with_capacity(groups.len());
    let mut begin = 0;
    for Group { subscription, count } in groups {
        let end = begin + count;
        let mut taken = 0;
        for (position, target) in (begin..end).zip(&targets[begin..end]) {
            let length = written(target);
            if position - begin >= bounds.recipients || position > begin && taken + length > room {
                all.push(Delivery { subscription: Arc::clone(&subscription), to: begin..position });
                begin = position;
                taken = 0;
            }
            taken += length;
        }
        all.push(Delivery { subscription, to: begin..end });
        begin = end;
    }
    Deliveries { all, targets }
}

/// Bytes of a name in a header, with quotes and comma; names have no control characters.
fn written(name: &str) -> usize {
    let escaped = name.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    name.len() + escaped + 3
}

/// The common parts of all deliveries of a multicast, encoded once; each delivery is a copy with
/// its number and names.
#[derive(Debug)]
pub struct HeaderTemplate {
    /// Up to the delivery's number.
    head: Vec<u8>,
    /// From there to the names.
    middle: Vec<u8>,
    /// From there to the end, payload included.
    end: Vec<u8>,
}

impl HeaderTemplate {
    /// The template of deliveries whose ids are this prefix and a number.
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
        // Quotes within a text are escaped, so neither pattern can occur in one.
        let names = find(&head, TO).expect("a header has recipients") + TO.len();
        let end = head.split_off(names);
        let number = find(&head, MESSAGE).expect("a header has a message");
        let middle = head.split_off(number);
        Self { head, middle, end }
    }

    /// The bytes of one delivery.
    pub fn fill(&self, number: u64, to: &[Arc<str>]) -> Bytes {
        let mut bytes = Vec::with_capacity(self.room(to));
        self.write(number, to, &mut bytes);
        bytes.into()
    }

    /// Most bytes of a delivery, unless names must be escaped.
    pub fn room(&self, to: &[Arc<str>]) -> usize {
        let names: usize = to.iter().map(|name| name.len() + 3).sum();
        self.head.len() + LONGEST_NUMBER + self.middle.len() + names + self.end.len()
    }

    /// Appends a delivery.
    pub fn write(&self, number: u64, to: &[Arc<str>], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.head);
        decimal(number, bytes);
        bytes.extend_from_slice(&self.middle);
        for (index, name) in to.iter().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            quote(name, bytes);
        }
        bytes.extend_from_slice(&self.end);
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

/// Appends a number in decimal digits; formatting would be several times slower.
pub fn decimal(mut number: u64, bytes: &mut Vec<u8>) {
    let mut digits = [0; LONGEST_NUMBER];
    let mut first = LONGEST_NUMBER;
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    bytes.extend_from_slice(&digits[first..]);
}

/// A name as JSON; most names need only quotes.
fn quote(name: &str, bytes: &mut Vec<u8>) {
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

    fn group(count: usize, name: impl Fn(usize) -> String) -> Groups<()> {
        let targets = (0..count).map(|number| name(number).into()).collect();
        let groups = vec![Group { subscription: Arc::new(()), count }];
        Groups { groups, targets, unserved: Vec::new() }
    }

    #[test]
    fn a_group_is_cut_by_recipients_and_nobody_is_lost() {
        let deliveries =
            cut(group(2_500, |n| format!("u{n}")), &message(10), DeliveryLimits::default());
        let sizes: Vec<usize> = deliveries.all.iter().map(|delivery| delivery.to.len()).collect();
        assert_eq!(sizes, [1_000, 1_000, 500]);
        assert_eq!(*deliveries.names(2)[499], *"u2499");
        let states = [DeliveryState::Acknowledged, DeliveryState::Stored, DeliveryState::Taken];
        let mut outcomes = Vec::new();
        deliveries.outcomes(states, &mut outcomes);
        let expected = (0..2_500).map(|n| states[n / 1_000].outcome(format!("u{n}").into()));
        assert_eq!(outcomes, expected.collect::<Vec<_>>());
    }

    #[test]
    fn each_group_is_cut_by_itself() {
        let mut groups = group(5, |n| format!("{n}"));
        groups.groups[0].count = 2;
        groups.groups.push(Group { subscription: Arc::new(()), count: 3 });
        let bounds = DeliveryLimits { recipients: 2, ..DeliveryLimits::default() };
        let deliveries = cut(groups, &message(1), bounds);
        let places: Vec<_> = deliveries.all.iter().map(|delivery| delivery.to.clone()).collect();
        assert_eq!(places, [0..2, 2..4, 4..5]);
    }

    #[test]
    fn a_delivery_stays_within_its_bytes_whatever_the_names_hold() {
        let bounds = DeliveryLimits { recipients: 1_000, bytes: 8_000, least_names: 1_000 };
        let message = message(2_000);
        let deliveries = cut(group(300, |n| format!("{n}{}", "\\\"".repeat(40))), &message, bounds);
        assert!(deliveries.all.len() > 5);
        for index in 0..deliveries.all.len() {
            let template = HeaderTemplate::new(&message, "c-", Some("registry.acks.c"));
            let bytes = template.fill(1, deliveries.names(index));
            assert!(bytes.len() <= bounds.bytes, "{}", bytes.len());
        }
    }

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for number in [0, 1, 9, 10, 99, 100, 1_234_567_890, u64::MAX - 1, u64::MAX] {
            let mut bytes = b"-".to_vec();
            decimal(number, &mut bytes);
            assert_eq!(bytes, format!("-{number}").into_bytes());
        }
    }

    #[test]
    fn a_large_payload_still_goes_to_many_at_once() {
        let deliveries = cut(
            group(1_000, |n| format!("user-{n}")),
            &message(1 << 20),
            DeliveryLimits::default(),
        );
        assert_eq!(deliveries.all.len(), 1);
    }

    #[test]
    fn a_filled_form_is_the_header_that_it_stands_for() {
        let mut message = message(3);
        message.id = r#"m","message":"to":[\"#.into();
        message.namespace = r#""to":["#.into();
        for ack in [None, Some("registry.acks.c")] {
            let template = HeaderTemplate::new(&message, "c\"-", ack);
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
                assert_eq!(template.fill(17, &names), message::encode(&header, &message.payload));
            }
        }
    }
}
