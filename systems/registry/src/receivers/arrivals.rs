//! Counts arrivals at the receiver: each recipient of each message once.
//!
//! A delivery id that arrives again is ignored and counted as redelivered; a duplicate is a message
//! that reaches its recipient under another id.
//!
//! A recipient is identified by namespace and name.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use nonce::Nonce;
use serde_json::{Map, Value};
use serving::deliveries::Deliveries;
use serving::observed::{DeliveryTimes, Observed};

use crate::message::Header;

/// Most delivery ids that are remembered, the latest ones; only deliveries with acknowledgements
/// are sent again.
const MOST_IDS: usize = 1 << 18;

/// The counts in addition to those of every observer.
pub const COUNTS: [&str; 6] =
    ["deliveries", "redelivered", "recipients", "messages", "out_of_order", "forgotten_messages"];

/// The counts of one receiver process.
#[derive(Debug, Default)]
pub struct Arrivals {
    trial: Option<u32>,
    recipients: HashMap<String, HashMap<String, usize>>,
    known_recipients: usize,
    messages: Deliveries,
    ids: HashSet<Arc<str>>,
    id_order: VecDeque<Arc<str>>,
    counts: Counts,
    times: DeliveryTimes,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    unexpected: u64,
    deliveries: u64,
    redelivered: u64,
    out_of_order: u64,
}

/// The last message on one connection, to check the order.
#[derive(Debug, Default, Clone, Copy)]
pub struct LastSeen {
    sent_at: u64,
}

impl Arrivals {
    /// Counts one delivery that arrived at an instant of CLOCK_MONOTONIC, in nanoseconds.
    pub fn record(
        &mut self,
        last: &mut LastSeen,
        header: &Header<'_>,
        payload: &[u8],
        now_ns: u64,
    ) {
        self.counts.deliveries += 1;
        if header.ack.is_some() && !self.is_new(header.delivery) {
            self.counts.redelivered += 1;
            return;
        }
        let nonce = Nonce::parse(payload);
        let trial = nonce.map(|nonce| *self.trial.get_or_insert(nonce.trial));
        let Some(nonce) = nonce.filter(|nonce| trial == Some(nonce.trial)) else {
            self.counts.unexpected += header.to.len() as u64;
            return;
        };
        self.counts.out_of_order += u64::from(nonce.sent_at < last.sent_at);
        last.sent_at = last.sent_at.max(nonce.sent_at);
        let before = self.messages.received();
        for name in &header.to {
            let recipient = self.recipient(header.namespace, name);
            self.messages.mark((nonce.index, nonce.sent_at), recipient);
        }
        let received = self.messages.received() - before;
        self.times.record_many(now_ns.saturating_sub(nonce.sent_at), received);
    }

    /// The answer of `GET /observed`.
    pub fn observed(&self) -> Observed {
        let Counts { unexpected, deliveries, redelivered, out_of_order } = self.counts;
        let (received, duplicates) = (self.messages.received(), self.messages.duplicates());
        let (recipients, messages) = (self.known_recipients as u64, self.messages.messages());
        let forgotten = self.messages.forgotten();
        let values = [deliveries, redelivered, recipients, messages, out_of_order, forgotten];
        let details = COUNTS.iter().zip(values);
        let detail: Map<String, Value> =
            details.map(|(name, count)| ((*name).to_owned(), count.into())).collect();
        let delivery_time = self.times.encode();
        let counts = "messages at receivers";
        Observed { counts, received, duplicates, unexpected, lost: 0, delivery_time, detail }
    }

    fn is_new(&mut self, id: &str) -> bool {
        if self.ids.contains(id) {
            return false;
        }
        let id: Arc<str> = id.into();
        self.id_order.push_back(Arc::clone(&id));
        self.ids.insert(id);
        if self.ids.len() > MOST_IDS
            && let Some(oldest) = self.id_order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }

    fn recipient(&mut self, namespace: &str, name: &str) -> usize {
        if !self.recipients.contains_key(namespace) {
            self.recipients.insert(namespace.to_owned(), HashMap::new());
        }
        let names = self.recipients.get_mut(namespace).expect("it was put there");
        if let Some(recipient) = names.get(name) {
            return *recipient;
        }
        let recipient = self.known_recipients;
        names.insert(name.to_owned(), recipient);
        self.known_recipients += 1;
        recipient
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'a>(namespace: &'a str, to: &[&'a str]) -> Header<'a> {
        Header {
            delivery: "d",
            message: "m",
            namespace,
            to: to.iter().map(|name| (*name).into()).collect(),
            content_type: "text/plain".into(),
            sent_at: 0,
            ack: None,
        }
    }

    fn mark(trial: u32, index: u64, sent_at: u64) -> Vec<u8> {
        format!("{trial:08x}{index:012x}{:012x}-{sent_at}", 0).into_bytes()
    }

    #[test]
    fn each_recipient_of_each_message_counts_once() {
        let (mut arrivals, mut last) = (Arrivals::default(), LastSeen::default());
        arrivals.record(&mut last, &header("n", &["a", "b"]), &mark(1, 0, 100), 1_100);
        arrivals.record(&mut last, &header("n", &["b", "c"]), &mark(1, 0, 100), 2_100);
        arrivals.record(&mut last, &header("other", &["a"]), &mark(1, 0, 100), 3_100);
        arrivals.record(&mut last, &header("n", &["a"]), &mark(1, 5, 50), 4_050);
        let observed = arrivals.observed();
        assert_eq!((observed.received, observed.duplicates, observed.unexpected), (5, 1, 0));
        assert_eq!(observed.detail["recipients"], 4);
        assert_eq!(observed.detail["messages"], 2);
        assert_eq!(observed.detail["out_of_order"], 1);
    }

    #[test]
    fn a_delivery_that_comes_again_under_its_id_is_dropped_and_counted() {
        let (mut arrivals, mut last) = (Arrivals::default(), LastSeen::default());
        let wanted = |delivery| Header { delivery, ack: Some(""), ..header("n", &["a", "b"]) };
        for delivery in ["c-1", "c-1", "c-2"] {
            arrivals.record(&mut last, &wanted(delivery), &mark(1, 0, 100), 1_100);
        }
        let observed = arrivals.observed();
        assert_eq!((observed.received, observed.duplicates), (2, 2));
        assert_eq!(
            (&observed.detail["redelivered"], &observed.detail["deliveries"]),
            (&1.into(), &3.into())
        );
    }

    #[test]
    fn a_place_in_the_schedule_that_is_sent_again_is_another_message() {
        let (mut arrivals, mut last) = (Arrivals::default(), LastSeen::default());
        for sent_at in [100, 900, 900] {
            arrivals.record(&mut last, &header("n", &["a"]), &mark(1, 0, sent_at), 1_100);
        }
        let observed = arrivals.observed();
        assert_eq!((observed.received, observed.duplicates), (2, 1));
        assert_eq!(observed.detail["messages"], 2);
    }

    #[test]
    fn strangers_are_counted_apart() {
        let (mut arrivals, mut last) = (Arrivals::default(), LastSeen::default());
        arrivals.record(&mut last, &header("n", &["a", "b"]), b"hello", 5);
        arrivals.record(&mut last, &header("n", &["a"]), &mark(3, 0, 1), 5);
        arrivals.record(&mut last, &header("n", &["a"]), &mark(2, 0, 1), 5);
        let observed = arrivals.observed();
        assert_eq!((observed.received, observed.unexpected), (1, 3));
    }
}
