//! Multicasts over NATS: published without waiting for one another, confirmed together.

use std::sync::Arc;

use hyper::body::Bytes;
use tokio::time::{Instant, timeout_at};

use super::link::Run;
use super::presence;
use super::receivers::Receiver;
use super::*;
use crate::fanout::ledger::{Account, Enough};

/// Room that a delivery leaves in a message for what travels beside it.
const BESIDE: usize = 1 << 10;

/// A delivery with its bytes, as often as it takes.
struct Letter {
    receiver: Arc<Receiver>,
    to: Vec<Arc<str>>,
    bytes: Bytes,
    /// The connection over which it was published last.
    run: Option<Run>,
}

impl Room {
    /// The servers without what opens them.
    pub(super) fn servers(&self) -> String {
        let bare = |server: &str| server.rsplit('@').next().unwrap_or(server).to_owned();
        let servers = self.settings.servers.split(',').map(|server| bare(server.trim()));
        servers.collect::<Vec<_>>().join(",")
    }

    /// Letters for those who are served, and the outcomes of those who are not.
    fn address(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        reach: Reach,
    ) -> (Vec<Parcel<Receiver>>, Vec<Outcome>) {
        let mut outcomes = Vec::with_capacity(targets.len());
        let (groups, unserved) = self.receivers().table.group(&message.namespace, targets, reach);
        let nobody = State::Refused(Why::NoSubscriber);
        outcomes.extend(unserved.into_iter().map(|identity| nobody.outcome(identity)));
        let mut bounds = self.settings.bounds;
        if let Some(room) = self.links[0].room() {
            bounds.bytes = bounds.bytes.min(room.saturating_sub(BESIDE));
            let rest = room.saturating_sub(message.payload.len() + BESIDE);
            bounds.least_names = bounds.least_names.min(rest);
        }
        (parcel::cut(groups, message, bounds), outcomes)
    }

    /// Sent once, to whoever listens as the server sees it.
    pub(super) async fn once(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let (parcels, mut outcomes) = self.address(message, targets, Reach::Present);
        let owners = parcels.iter().map(|parcel| parcel.subscription.key());
        let owners = owners.map(|key| (key, Enough::Acknowledgement));
        let account = self.ledger.open(&message.namespace, owners);
        let runs: Vec<Option<Run>> = self.links.iter().map(Link::run).collect();
        let mut used = vec![false; self.links.len()];
        for (index, parcel) in parcels.iter().enumerate() {
            let link = self.link(&parcel.subscription);
            let number = account.number(index);
            let bytes = parcel::encode(message, &self.ledger.id(number), &parcel.to, None);
            if runs[link].is_none() {
                account.put(index, State::Refused(Why::BusAway));
                continue;
            }
            let publish = self.links[link].publish(&parcel.subscription.subject, number, bytes);
            match timeout_at(deadline, publish).await {
                Ok(Ok(())) => used[link] = true,
                Ok(Err(why)) => drop(account.put(index, State::Refused(why))),
                Err(_) => break,
            }
            self.counts.sent.one();
        }
        let passed = self.passed(&runs, &used, deadline).await;
        for (index, parcel) in parcels.into_iter().enumerate() {
            let link = self.link(&parcel.subscription);
            let state = match account.state(index) {
                State::Open(_) => passed[link],
                state => state,
            };
            if state == State::Refused(Why::NoSubscriber) {
                // The server knows better than its last sign of life.
                parcel.subscription.lose();
            }
            outcomes.extend(parcel.to.into_iter().map(|identity| state.outcome(identity)));
        }
        outcomes
    }

    /// What has become of what each link took, beyond what was refused: one barrier a link.
    async fn passed(&self, runs: &[Option<Run>], used: &[bool], deadline: Instant) -> Vec<State> {
        let links = self.links.iter().zip(runs).zip(used);
        let waits = links.map(|((link, run), used)| async move {
            if !used {
                return State::Open(None);
            }
            let passed = timeout_at(deadline, link.passed()).await.is_ok();
            match (link.run() == *run, passed) {
                (true, true) => State::Taken,
                (true, false) => State::Open(None),
                (false, _) => State::Refused(Why::BusAway),
            }
        });
        futures_util::future::join_all(waits).await
    }

    /// Stored for each recipient, and waited for until those who are there acknowledge.
    pub(super) async fn until_acknowledged(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let (parcels, mut outcomes) = self.address(message, targets, Reach::Known);
        let enough = |receiver: &Receiver| match receiver.is_present() {
            true => Enough::Acknowledgement,
            false => Enough::Storage,
        };
        let owners = parcels.iter().map(|one| (one.subscription.key(), enough(&one.subscription)));
        let account = self.ledger.open(&message.namespace, owners);
        let namespace = presence::token(&message.namespace);
        let acks = format!("{}.{}.{namespace}", presence::ACKS, self.coordinator);
        let mut letters = Vec::with_capacity(parcels.len());
        for (index, Parcel { subscription, to }) in parcels.into_iter().enumerate() {
            let id = self.ledger.id(account.number(index));
            let bytes = parcel::encode(message, &id, &to, Some(&acks));
            let mut letter = Letter { receiver: subscription, to, bytes, run: None };
            self.counts.sent.one();
            // Beyond the deadline nothing is published any more.
            let _ = timeout_at(deadline, self.attempt(&mut letter, &account, index)).await;
            letters.push(letter);
        }
        self.insist(&mut letters, &account, deadline).await;
        for (index, letter) in letters.into_iter().enumerate() {
            let state = self.left(&letter, account.state(index));
            if state == State::Stored {
                self.counts.stored.one();
            }
            outcomes.extend(letter.to.into_iter().map(|identity| state.outcome(identity)));
        }
        outcomes
    }

    async fn attempt(&self, letter: &mut Letter, account: &Account, index: usize) {
        let link = &self.links[self.link(&letter.receiver)];
        letter.run = link.run();
        let failed = if letter.run.is_none() {
            Some(Why::BusAway)
        } else if !letter.receiver.is_durable() {
            Some(Why::NotStored)
        } else {
            let number = account.number(index);
            let id = self.ledger.id(number);
            let bytes = letter.bytes.clone();
            link.store(&letter.receiver.stored, number, &id, bytes).await.err()
        };
        match failed {
            // A server without JetStream: another attempt before the deadline would be in vain.
            Some(Why::NotStored) if self.streams.is_refused() => {
                account.put(index, State::Refused(Why::NotStored));
            }
            Some(_) => drop(account.put(index, State::Open(failed))),
            None => {}
        }
    }

    /// Publishes again what was refused or may be lost with its connection, until the deadline; what
    /// is still on its way needs no company. The stream takes no id twice.
    async fn insist(&self, letters: &mut [Letter], account: &Account, deadline: Instant) {
        let mut pause = Pause::new(self.settings.retry, self.settings.longest_retry);
        while account.lacks_after(pause.draw(), deadline).await {
            for (index, letter) in letters.iter_mut().enumerate() {
                let lost = match account.state(index) {
                    State::Open(None) => self.is_lost(letter),
                    state => matches!(state, State::Open(_)),
                };
                // Unless the answer came while this was looked at.
                if lost && account.put(index, State::Open(None)) {
                    self.counts.resent.one();
                    let _ = timeout_at(deadline, self.attempt(letter, account, index)).await;
                }
            }
        }
    }

    /// What a state means at the end: what a lost connection took with it is not under way.
    fn left(&self, letter: &Letter, state: State) -> State {
        match state {
            State::Open(None) if self.is_lost(letter) => State::Refused(Why::BusAway),
            state => state,
        }
    }

    /// Whether the connection over which it was published is no more.
    fn is_lost(&self, letter: &Letter) -> bool {
        self.links[self.link(&letter.receiver)].run() != letter.run
    }
}
