//! Counts stored messages: messages, bytes, recipients, and the data that a load puts into its messages.
//!
//! Memory is bounded: [`RecentNonces`] knows at least the last [`REMEMBERED`] messages of a load, and
//! recipients beyond [`RECIPIENTS`] are counted together.

use std::collections::{BTreeMap, HashSet};

use nonce::Nonce;
use serde_json::{Map, Value, json};
use serving::observed::{DeliveryTimes, Observed};

use super::integrity::Body;

/// The counts in addition to those of every observer.
pub const COUNTS: [&str; 6] =
    ["intact", "damaged", "messages", "bytes", "recipients", "forgotten_messages"];

/// Messages of a load that are remembered to detect duplicates.
const REMEMBERED: usize = 2 << 20;
/// Recipients that are counted individually.
const RECIPIENTS: usize = 10_000;

/// One stored message, for counting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored<'a> {
    pub bytes: u64,
    pub recipients: &'a [String],
    pub nonce: Option<Nonce>,
    pub body: Body,
    /// When the store kept its promise, on the clock of nonces.
    pub at_ns: u64,
}

/// The counts of one server.
#[derive(Debug)]
pub(super) struct Account {
    messages: u64,
    bytes: u64,
    recipients: u64,
    by_recipient: BTreeMap<String, u64>,
    other_recipients: u64,
    trial: Option<u32>,
    received: u64,
    duplicates: u64,
    unexpected: u64,
    intact: u64,
    damaged: u64,
    seen: RecentNonces,
    times: DeliveryTimes,
}

impl Default for Account {
    fn default() -> Self {
        Self::bounded(REMEMBERED)
    }
}

impl Account {
    fn bounded(remembered: usize) -> Self {
        Self {
            messages: 0,
            bytes: 0,
            recipients: 0,
            by_recipient: BTreeMap::new(),
            other_recipients: 0,
            trial: None,
            received: 0,
            duplicates: 0,
            unexpected: 0,
            intact: 0,
            damaged: 0,
            seen: RecentNonces::new(remembered),
            times: DeliveryTimes::default(),
        }
    }

    /// Counts a stored message.
    pub fn count(&mut self, stored: &Stored<'_>) {
        self.messages += 1;
        self.bytes += stored.bytes;
        self.recipients += stored.recipients.len() as u64;
        stored.recipients.iter().for_each(|recipient| self.count_recipient(recipient));
        match stored.body {
            Body::Intact => self.intact += 1,
            Body::Damaged => self.damaged += 1,
            Body::Unchecked => {}
        }
        // The first nonce decides the trial; messages of other trials are unexpected.
        let trial = stored.nonce.map(|nonce| *self.trial.get_or_insert(nonce.trial));
        let Some(nonce) = stored.nonce.filter(|nonce| trial == Some(nonce.trial)) else {
            self.unexpected += 1;
            return;
        };
        if self.seen.insert((nonce.index, nonce.sent_at)) {
            self.received += 1;
            self.times.record(stored.at_ns.saturating_sub(nonce.sent_at));
        } else {
            self.duplicates += 1;
        }
    }

    fn count_recipient(&mut self, recipient: &str) {
        if let Some(count) = self.by_recipient.get_mut(recipient) {
            *count += 1;
        } else if self.by_recipient.len() < RECIPIENTS {
            self.by_recipient.insert(recipient.to_owned(), 1);
        } else {
            self.other_recipients += 1;
        }
    }

    /// The answer of `GET /observed`.
    pub fn observed(&self) -> Observed {
        let Self { intact, damaged, messages, bytes, recipients, .. } = *self;
        let values = [intact, damaged, messages, bytes, recipients, self.seen.forgotten];
        let details = COUNTS.iter().zip(values);
        let detail: Map<String, Value> =
            details.map(|(name, count)| ((*name).to_owned(), count.into())).collect();
        Observed {
            counts: "messages",
            received: self.received,
            duplicates: self.duplicates,
            unexpected: self.unexpected,
            lost: 0,
            delivery_time: self.times.encode(),
            detail,
        }
    }

    /// The answer of `GET /counts`.
    pub fn counts(&self) -> Value {
        json!({
            "messages": self.messages,
            "bytes": self.bytes,
            "recipients": self.recipients,
            "by_recipient": self.by_recipient,
            "other_recipients": self.other_recipients,
            "intact": self.intact,
            "damaged": self.damaged,
        })
    }
}

/// The last messages of a load, in two generations: when the younger one is full, the older one is forgotten.
#[derive(Debug)]
struct RecentNonces {
    most: usize,
    younger: HashSet<(u64, u64)>,
    older: HashSet<(u64, u64)>,
    forgotten: u64,
}

impl RecentNonces {
    /// Remembers between half of `most` and `most` messages.
    fn new(most: usize) -> Self {
        Self { most, younger: HashSet::new(), older: HashSet::new(), forgotten: 0 }
    }

    /// Whether it is new.
    fn insert(&mut self, message: (u64, u64)) -> bool {
        if self.older.contains(&message) || !self.younger.insert(message) {
            return false;
        }
        if self.younger.len() * 2 >= self.most {
            self.forgotten += self.older.len() as u64;
            self.older = std::mem::take(&mut self.younger);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(trial: u32, index: u64) -> Option<Nonce> {
        Some(Nonce { trial, index, check: 0, sent_at: 1_000 })
    }

    fn take(account: &mut Account, nonce: Option<Nonce>, body: Body) {
        let recipients = ["a@x".to_owned(), "b@x".to_owned()];
        account.count(&Stored { bytes: 10, recipients: &recipients, nonce, body, at_ns: 5_000 });
    }

    #[test]
    fn each_message_of_the_trial_counts_once() {
        let mut account = Account::default();
        take(&mut account, nonce(1, 0), Body::Intact);
        take(&mut account, nonce(1, 1), Body::Damaged);
        take(&mut account, nonce(1, 0), Body::Intact);
        take(&mut account, nonce(2, 0), Body::Intact);
        take(&mut account, None, Body::Unchecked);
        let observed = account.observed();
        assert_eq!((observed.received, observed.duplicates, observed.unexpected), (2, 1, 2));
        let detail = |name: &str| observed.detail[name].as_u64().unwrap();
        assert_eq!((detail("intact"), detail("damaged")), (3, 1));
        assert_eq!((detail("messages"), detail("bytes"), detail("recipients")), (5, 50, 10));
        assert!(observed.delivery_time.is_some());
    }

    #[test]
    fn recipients_beyond_the_bound_are_counted_together() {
        let mut account = Account::default();
        for number in 0..RECIPIENTS + 7 {
            account.count(&Stored {
                bytes: 1,
                recipients: &[format!("user-{number}@x")],
                nonce: None,
                body: Body::Unchecked,
                at_ns: 0,
            });
        }
        take(&mut account, None, Body::Unchecked);
        let counts = account.counts();
        assert_eq!(counts["by_recipient"].as_object().unwrap().len(), RECIPIENTS);
        assert_eq!(counts["other_recipients"], 9);
        assert_eq!(counts["recipients"], RECIPIENTS + 9);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_forgetting_is_told() {
        let mut account = Account::bounded(8);
        for index in 0..100 {
            take(&mut account, nonce(1, index), Body::Unchecked);
            assert!(account.seen.younger.len() + account.seen.older.len() <= 8);
        }
        // The last four are certainly remembered, the first one is not.
        for index in 96..100 {
            take(&mut account, nonce(1, index), Body::Unchecked);
        }
        take(&mut account, nonce(1, 0), Body::Unchecked);
        let observed = account.observed();
        assert_eq!((observed.received, observed.duplicates), (101, 4));
        assert!(observed.detail["forgotten_messages"].as_u64().unwrap() >= 92);
    }
}
