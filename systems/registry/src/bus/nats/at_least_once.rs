//! At-least-once multicasts: published to present receivers, and stored for receivers that are
//! absent or do not acknowledge in time.
//!
//! Storing is many times more expensive for the server than publishing, so only the necessary
//! deliveries go to the stream. A receiver that gets a delivery both ways recognises it by its id.
//! Nothing is promised before the multicast is answered, so nothing has to be stored before.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::connection::ConnectionEpoch;
use super::connection::EncodedDelivery;
use super::presence;
use super::receivers::Receiver;
use super::*;
use crate::fanout::delivery::{Deliveries, Delivery, HeaderTemplate};
use crate::fanout::tracker::{MulticastTracker, SettledBy};

/// A delivery with its bytes, which may be sent several times.
struct SentDelivery {
    connection: usize,
    encoded: EncodedDelivery,
    /// How it was last published.
    route: Route,
    /// The connection on which it was last published.
    run: Option<ConnectionEpoch>,
    /// Whether it was published to a subject with a listening receiver.
    reached_listener: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Route {
    Unsent,
    ToListeners,
    IntoStream,
}

impl SentDelivery {
    /// Whether the connection on which it was published is lost.
    fn is_lost(&self, runs: &[Option<ConnectionEpoch>]) -> bool {
        self.run.is_none() || runs[self.connection] != self.run
    }
}

/// A multicast in progress.
struct AtLeastOnceSend<'a> {
    bus: &'a BusState,
    tracked: MulticastTracker,
    deliveries: Deliveries<Receiver>,
    sent: Vec<SentDelivery>,
    deadline: Instant,
}

/// The server reported that there is no listener.
const NO_LISTENER: DeliveryState = DeliveryState::Open(Some(FailureReason::NoSubscriber));

impl BusState {
    /// Sends until acknowledged or stored.
    pub(super) async fn until_acknowledged(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let (deliveries, mut outcomes) = self.address(message, targets, ReceiverScope::Known);
        let settled_by = |receiver: &Receiver| match receiver.is_present() {
            true => SettledBy::Acknowledgement,
            false => SettledBy::Storage,
        };
        let owner =
            |one: &Delivery<Receiver>| (one.subscription.key(), settled_by(&one.subscription));
        let tracked = self.tracker.open(&message.namespace, deliveries.all.iter().map(owner));
        let namespace = presence::token(&message.namespace);
        let acks = format!("{}.{}.{namespace}", presence::ACKS, self.coordinator);
        let template = HeaderTemplate::new(message, self.tracker.prefix(), Some(&acks));
        let mut sent = Vec::with_capacity(deliveries.all.len());
        while sent.len() < deliveries.all.len() {
            let rest = deliveries.all[sent.len()..].iter();
            let encoded = self.write(&template, &tracked, &deliveries, sent.len());
            sent.extend(rest.zip(encoded).map(|(delivery, encoded)| {
                let connection = self.connection(&delivery.subscription);
                SentDelivery {
                    connection,
                    encoded,
                    route: Route::Unsent,
                    run: None,
                    reached_listener: false,
                }
            }));
        }
        let mut send = AtLeastOnceSend { bus: self, tracked, deliveries, sent, deadline };
        send.publish(|_, _| true).await;
        send.retry_until().await;
        send.outcomes(&mut outcomes);
        outcomes
    }
}

impl AtLeastOnceSend<'_> {
    /// Publishes due deliveries until the deadline.
    async fn publish(&mut self, is_due: impl Fn(&SentDelivery, DeliveryState) -> bool) {
        let Self { bus, tracked, deliveries, sent, deadline } = self;
        let runs = bus.runs();
        let publishing = async {
            for (index, sent_one) in sent.iter_mut().enumerate() {
                let state = tracked.state(index);
                // Unless an answer has just arrived.
                if is_due(sent_one, state) && tracked.put(index, DeliveryState::Open(None)) {
                    sent_one.reached_listener &= state != NO_LISTENER;
                    let receiver = &deliveries.all[index].subscription;
                    let counts = &bus.counts;
                    let counter =
                        if sent_one.route == Route::Unsent { &counts.sent } else { &counts.resent };
                    match bus.attempt(sent_one, receiver, &runs, tracked.number(index)).await {
                        Ok(()) => counter.one(),
                        // Another attempt before the deadline would fail, too.
                        Err(FailureReason::NotStored)
                            if !sent_one.reached_listener && bus.jetstream.is_refused() =>
                        {
                            tracked.put(index, DeliveryState::Refused(FailureReason::NotStored));
                        }
                        Err(why) => drop(tracked.put(index, DeliveryState::Open(Some(why)))),
                    }
                }
            }
        };
        let _ = timeout_at(*deadline, publishing).await;
    }

    /// Waits for acknowledgements until the deadline. A delivery without a listener is stored after
    /// one round trip, an unacknowledged delivery some time before the deadline. After that,
    /// refused or possibly lost deliveries are published again; those on their way to the stream
    /// are not.
    async fn retry_until(&mut self) {
        let bus = self.bus;
        let begin = Instant::now();
        let left = self.deadline.saturating_duration_since(begin);
        let answered = begin + bus.settings.unanswered.min(left / 2);
        tokio::select! {
            biased;
            () = self.tracked.settled() => return,
            () = self.wait_for_acks(answered) => {}
        }
        self.publish(|_, state| state == NO_LISTENER).await;
        let mut pause = Backoff::new(bus.settings.retry, bus.settings.longest_retry);
        let mut wait = answered.saturating_duration_since(Instant::now());
        while self.tracked.lacks_after(wait, self.deadline).await {
            let runs = bus.runs();
            let is_due = |sent_one: &SentDelivery, state| match state {
                DeliveryState::Open(None) => {
                    sent_one.route != Route::IntoStream || sent_one.is_lost(&runs)
                }
                state => matches!(state, DeliveryState::Open(_)),
            };
            self.publish(is_due).await;
            wait = pause.draw();
        }
    }

    /// Resolves when the server has reported for every published delivery whether a receiver
    /// listens, or at this instant.
    async fn wait_for_acks(&self, until: Instant) {
        let bus = self.bus;
        let mut used = vec![false; bus.connections.len()];
        for sent_one in self.sent.iter().filter(|sent_one| sent_one.route == Route::ToListeners) {
            used[sent_one.connection] = true;
        }
        bus.flushed(&bus.runs(), &used, until).await;
    }

    /// The outcome of each target. A delivery lost with its connection is not pending. A delivery
    /// that reached a listener has not failed, even if it could not be stored.
    fn outcomes(self, outcomes: &mut Vec<Outcome>) {
        let runs = self.bus.runs();
        let mut states = self.tracked.states();
        for (sent_one, state) in self.sent.iter().zip(&mut states) {
            match *state {
                DeliveryState::Open(None) if sent_one.is_lost(&runs) => {
                    *state = DeliveryState::Refused(FailureReason::BusAway);
                }
                DeliveryState::Open(Some(FailureReason::NotStored))
                    if sent_one.reached_listener =>
                {
                    *state = DeliveryState::Open(None)
                }
                DeliveryState::Stored => self.bus.counts.stored.one(),
                _ => {}
            }
        }
        self.deliveries.outcomes(states, outcomes);
    }
}

impl BusState {
    /// Publishes a delivery first to its receiver's subject and then to the stream; if it cannot be
    /// stored, to the subject again.
    async fn attempt(
        &self,
        sent_one: &mut SentDelivery,
        receiver: &Receiver,
        runs: &[Option<ConnectionEpoch>],
        number: u64,
    ) -> Result<(), FailureReason> {
        let connection = &self.connections[sent_one.connection];
        sent_one.run.clone_from(&runs[sent_one.connection]);
        if sent_one.run.is_none() {
            return Err(FailureReason::BusAway);
        }
        if receiver.is_present() && (sent_one.route == Route::Unsent || !receiver.is_durable()) {
            connection.publish(&receiver.subject, sent_one.encoded.clone()).await?;
            sent_one.route = Route::ToListeners;
            sent_one.reached_listener = true;
        } else if receiver.is_durable() {
            let (id, bytes) = (self.tracker.id(number), sent_one.encoded.bytes.clone());
            connection.store(&receiver.stored, number, &id, bytes).await?;
            sent_one.route = Route::IntoStream;
        } else {
            return Err(FailureReason::NotStored);
        }
        Ok(())
    }
}
