//! Counts arrivals: each message once at each socket.

use nonce::Nonce;
use serde_json::{Map, Value};
use serving::deliveries::Deliveries;
use serving::observed::{DeliveryTimes, Observed};

/// The counts in addition to those of every observer.
pub const COUNTS: [&str; 5] =
    ["sockets", "disconnected", "messages", "everywhere", "forgotten_messages"];

/// The counts of all sockets.
#[derive(Debug)]
pub struct Ledger {
    sockets: u64,
    trial: Option<u32>,
    deliveries: Deliveries,
    everywhere: u64,
    unexpected: u64,
    disconnected: u64,
    times: DeliveryTimes,
}

impl Ledger {
    /// Nothing has arrived at any of these sockets.
    pub fn of(sockets: u64) -> Self {
        Self {
            sockets,
            trial: None,
            deliveries: Deliveries::default(),
            everywhere: 0,
            unexpected: 0,
            disconnected: 0,
            times: DeliveryTimes::default(),
        }
    }

    /// Counts a message that a socket got at an instant of CLOCK_MONOTONIC, in nanoseconds.
    pub fn record(&mut self, socket: usize, message: &[u8], now_ns: u64) {
        let nonce = Nonce::find(message);
        let trial = nonce.map(|nonce| *self.trial.get_or_insert(nonce.trial));
        let Some(nonce) = nonce.filter(|nonce| trial == Some(nonce.trial)) else {
            self.unexpected += 1;
            return;
        };
        if let Some(reached) = self.deliveries.mark((nonce.index, nonce.sent_at), socket) {
            self.times.record(now_ns.saturating_sub(nonce.sent_at));
            self.everywhere += u64::from(reached == self.sockets);
        }
    }

    /// Counts a socket that has ended before it was told to.
    pub fn disconnect(&mut self) {
        self.disconnected += 1;
    }

    /// The answer of `GET /observed`.
    pub fn observed(&self) -> Observed {
        let Self { sockets, disconnected, everywhere, unexpected, deliveries, .. } = self;
        let (received, messages) = (deliveries.received(), deliveries.messages());
        let values = [*sockets, *disconnected, messages, *everywhere, deliveries.forgotten()];
        let detail: Map<String, Value> =
            COUNTS.iter().zip(values).map(|(name, count)| ((*name).into(), count.into())).collect();
        Observed {
            counts: "messages at sockets",
            received,
            duplicates: deliveries.duplicates(),
            unexpected: *unexpected,
            // What reached nobody is known to the sender alone.
            lost: (messages * sockets).saturating_sub(received),
            delivery_time: self.times.encode(),
            detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(trial: u32, index: u64, sent_at: u64) -> Vec<u8> {
        let mut text = b"{\"text\":\"".to_vec();
        Nonce { trial, index, check: 7, sent_at }.render(&mut text);
        text.extend_from_slice(b"\"}");
        text
    }

    #[test]
    fn a_message_is_everywhere_once_each_socket_has_it() {
        let mut ledger = Ledger::of(2);
        for (socket, index) in [(0, 1), (1, 1), (1, 1), (0, 2)] {
            ledger.record(socket, &message(1, index, 100), 1_100);
        }
        let observed = ledger.observed();
        assert_eq!((observed.received, observed.duplicates, observed.lost), (3, 1, 1));
        assert_eq!(
            (&observed.detail["messages"], &observed.detail["everywhere"]),
            (&2.into(), &1.into())
        );
    }

    #[test]
    fn what_this_trial_did_not_publish_is_counted_apart() {
        let mut ledger = Ledger::of(1);
        ledger.record(0, b"welcome", 5);
        ledger.record(0, &message(3, 0, 1), 5);
        ledger.record(0, &message(2, 0, 1), 5);
        ledger.disconnect();
        let observed = ledger.observed();
        assert_eq!((observed.received, observed.unexpected), (1, 2));
        assert_eq!(observed.detail["disconnected"], 1);
    }
}
