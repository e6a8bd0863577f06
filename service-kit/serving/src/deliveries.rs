//! Which recipients have got which messages: each recipient of each message once.
//!
//! A message is identified by its place in the schedule and the instant of sending, because places start again after a
//! warm-up. Memory is one bit for each recipient of each message, up to a limit. Beyond that, the oldest messages are
//! forgotten and counted, and a duplicate of one of them counts as received.

use std::collections::{HashMap, VecDeque};

/// Most words of 64 recipients that an observer keeps: 256 MiB.
const MOST_WORDS: usize = 32 << 20;

/// Place in the schedule and instant of sending.
pub type SendStamp = (u64, u64);

/// The messages that have arrived, and where.
#[derive(Debug)]
pub struct Deliveries {
    most_words: usize,
    messages: HashMap<SendStamp, Recipients>,
    order: VecDeque<SendStamp>,
    words: usize,
    received: u64,
    duplicates: u64,
    forgotten: u64,
}

#[derive(Debug, Default)]
struct Recipients {
    bits: Vec<u64>,
    count: u64,
}

impl Default for Deliveries {
    fn default() -> Self {
        Self::bounded(MOST_WORDS)
    }
}

impl Deliveries {
    /// None yet, with a limit on words of 64 recipients.
    pub fn bounded(most_words: usize) -> Self {
        Self {
            most_words,
            messages: HashMap::new(),
            order: VecDeque::new(),
            words: 0,
            received: 0,
            duplicates: 0,
            forgotten: 0,
        }
    }

    /// A message has reached a recipient, who has a number. How many have it now; `None` if this one had it before.
    pub fn mark(&mut self, message: SendStamp, recipient: usize) -> Option<u64> {
        let recipients = self.messages.entry(message).or_insert_with(|| {
            self.order.push_back(message);
            Recipients::default()
        });
        let (word, bit) = (recipient / 64, 1 << (recipient % 64));
        if recipients.bits.len() <= word {
            self.words += word + 1 - recipients.bits.len();
            recipients.bits.resize(word + 1, 0_u64);
        }
        if recipients.bits[word] & bit != 0 {
            self.duplicates += 1;
            return None;
        }
        recipients.bits[word] |= bit;
        recipients.count += 1;
        self.received += 1;
        let count = recipients.count;
        self.forget();
        Some(count)
    }

    /// Arrivals of a message at a recipient, each once.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Arrivals of a message where it had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Messages that reached anybody.
    pub fn messages(&self) -> u64 {
        self.order.len() as u64 + self.forgotten
    }

    /// Messages whose recipients are no longer known.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn forget(&mut self) {
        while self.words > self.most_words
            && let Some(oldest) = self.order.pop_front()
        {
            self.words -= self.messages.remove(&oldest).map_or(0, |known| known.bits.len());
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipient_of_each_message_counts_once() {
        let mut deliveries = Deliveries::default();
        let marks = [(1, 0), (1, 70), (1, 0), (2, 0)]
            .map(|(place, recipient)| deliveries.mark((place, 100), recipient));
        assert_eq!(marks, [Some(1), Some(2), None, Some(1)]);
        assert_eq!((deliveries.received(), deliveries.duplicates()), (3, 1));
        assert_eq!(deliveries.messages(), 2);
    }

    #[test]
    fn the_oldest_messages_are_forgotten_and_that_is_told() {
        let mut deliveries = Deliveries::bounded(2);
        for place in [0, 1, 2, 0] {
            assert_eq!(deliveries.mark((place, 1), 5), Some(1));
        }
        assert_eq!((deliveries.messages(), deliveries.forgotten()), (4, 2));
    }
}
