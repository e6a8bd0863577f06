//! At-most-once multicasts: published without waiting in between, confirmed together.

use std::sync::Arc;

use async_nats::Subject;
use hyper::body::Bytes;
use tokio::time::{Instant, timeout_at};

use super::connection::{ConnectionEpoch, EncodedDelivery};
use super::receivers::Receiver;
use super::*;
use crate::fanout::delivery::{Deliveries, HeaderTemplate};
use crate::fanout::tracker::{MulticastTracker, SettledBy};

/// Bytes of a NATS message reserved for everything except the delivery.
const BESIDE: usize = 1 << 10;

/// Bytes of deliveries that are encoded together in one allocation.
const PAGE: usize = 64 << 10;

impl BusState {
    /// Deliveries to targets with a subscription, and the outcomes of targets without one.
    pub(super) fn address(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        scope: ReceiverScope,
    ) -> (Deliveries<Receiver>, Vec<Outcome>) {
        let mut outcomes = Vec::with_capacity(targets.len());
        let mut groups = self.receivers().table.group(&message.namespace, targets, scope);
        let nobody = DeliveryState::Refused(FailureReason::NoSubscriber);
        outcomes.extend(groups.unserved.drain(..).map(|identity| nobody.outcome(identity)));
        let mut bounds = self.settings.bounds;
        if let Some(largest) = self.connections[0].max_payload() {
            bounds.bytes = bounds.bytes.min(largest.saturating_sub(BESIDE));
            let rest = largest.saturating_sub(message.payload.len() + BESIDE);
            bounds.least_names = bounds.least_names.min(rest);
        }
        (delivery::cut(groups, message, bounds), outcomes)
    }

    /// Encodes deliveries from this one on, at least one, into shared memory: an allocation for
    /// each would be more expensive than encoding it, and a connection sends many together.
    pub(super) fn write(
        &self,
        template: &HeaderTemplate,
        tracked: &MulticastTracker,
        deliveries: &Deliveries<Receiver>,
        from: usize,
    ) -> Vec<EncodedDelivery> {
        let least = BESIDE + template.room(deliveries.names(from));
        let mut page = Vec::with_capacity(PAGE.max(least));
        let mut ends = Vec::new();
        for (index, delivery) in deliveries.all.iter().enumerate().skip(from) {
            let (number, to) = (tracked.number(index), deliveries.names(index));
            if !page.is_empty() && page.len() + BESIDE + template.room(to) > PAGE {
                break;
            }
            self.connections[self.connection(&delivery.subscription)]
                .write_reply(number, &mut page);
            let reply = page.len();
            template.write(number, to, &mut page);
            ends.push((reply, page.len()));
        }
        let page = Bytes::from(page);
        let mut begin = 0;
        let cut = |(reply, end)| {
            let subject = page.slice(std::mem::replace(&mut begin, end)..reply);
            let subject = Subject::from_utf8(subject).expect("it was written as text");
            EncodedDelivery { reply: subject, bytes: page.slice(reply..end) }
        };
        ends.into_iter().map(cut).collect()
    }

    /// Sends once, to the receivers that listen according to the server.
    pub(super) async fn send_once(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let (deliveries, mut outcomes) = self.address(message, targets, ReceiverScope::Present);
        let owners = deliveries.all.iter().map(|delivery| delivery.subscription.key());
        let owners = owners.map(|key| (key, SettledBy::Acknowledgement));
        let tracked = self.tracker.open(&message.namespace, owners);
        let template = HeaderTemplate::new(message, self.tracker.prefix(), None);
        let runs = self.runs();
        let mut used = vec![false; self.connections.len()];
        let mut sent = 0;
        let publishing = async {
            let mut index = 0;
            while index < deliveries.all.len() {
                for encoded in self.write(&template, &tracked, &deliveries, index) {
                    let receiver = &deliveries.all[index].subscription;
                    let connection = self.connection(receiver);
                    let published = match runs[connection] {
                        Some(_) => {
                            self.connections[connection].publish(&receiver.subject, encoded).await
                        }
                        None => Err(FailureReason::BusAway),
                    };
                    match published {
                        Ok(()) => {
                            used[connection] = true;
                            sent += 1;
                        }
                        Err(why) => drop(tracked.put(index, DeliveryState::Refused(why))),
                    }
                    index += 1;
                }
            }
        };
        // Nothing is published after the deadline.
        let _ = timeout_at(deadline, publishing).await;
        self.counts.sent.add(sent);
        let flushed = self.flushed(&runs, &used, deadline).await;
        let mut states = tracked.states();
        for (delivery, state) in deliveries.all.iter().zip(&mut states) {
            if *state == DeliveryState::Open(None) {
                *state = flushed[self.connection(&delivery.subscription)];
            } else if *state == DeliveryState::Open(Some(FailureReason::NoSubscriber)) {
                // The server's report is newer than the receiver's last presence message.
                delivery.subscription.mark_away();
            }
        }
        deliveries.outcomes(states, &mut outcomes);
        outcomes
    }

    /// The current connection of each link.
    pub(super) fn runs(&self) -> Vec<Option<ConnectionEpoch>> {
        self.connections.iter().map(NatsConnection::run).collect()
    }

    /// The state of everything that each link published and that was not refused: one barrier per
    /// link.
    pub(super) async fn flushed(
        &self,
        runs: &[Option<ConnectionEpoch>],
        used: &[bool],
        deadline: Instant,
    ) -> Vec<DeliveryState> {
        let connections = self.connections.iter().zip(runs).zip(used);
        let waits = connections.map(|((connection, run), used)| async move {
            if !used {
                return DeliveryState::Open(None);
            }
            let flushed = timeout_at(deadline, connection.flushed()).await.is_ok();
            match (connection.run() == *run, flushed) {
                (true, true) => DeliveryState::Taken,
                (true, false) => DeliveryState::Open(None),
                (false, _) => DeliveryState::Refused(FailureReason::BusAway),
            }
        });
        futures_util::future::join_all(waits).await
    }
}
