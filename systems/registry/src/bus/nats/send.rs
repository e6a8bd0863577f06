//! Multicasts to whoever listens: published without waiting for one another, confirmed together.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::link::Run;
use super::receivers::Receiver;
use super::*;
use crate::fanout::ledger::Enough;
use crate::fanout::parcel::Form;

/// Room that a delivery leaves in a message for what travels beside it.
const BESIDE: usize = 1 << 10;

impl Room {
    /// The servers without what opens them.
    pub(super) fn servers(&self) -> String {
        let bare = |server: &str| server.rsplit('@').next().unwrap_or(server).to_owned();
        let servers = self.settings.servers.split(',').map(|server| bare(server.trim()));
        servers.collect::<Vec<_>>().join(",")
    }

    /// Letters for those who are served, and the outcomes of those who are not.
    pub(super) fn address(
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
        let form = Form::new(message, self.ledger.prefix(), None);
        let runs = self.runs();
        let mut used = vec![false; self.links.len()];
        let mut sent = 0;
        let publishing = async {
            for (index, Parcel { subscription, to }) in parcels.iter().enumerate() {
                let link = self.link(subscription);
                let published = if runs[link].is_some() {
                    let number = account.number(index);
                    let bytes = form.fill(number, to);
                    self.links[link].publish(&subscription.subject, number, bytes).await
                } else {
                    Err(Why::BusAway)
                };
                match published {
                    Ok(()) => {
                        used[link] = true;
                        sent += 1;
                    }
                    Err(why) => drop(account.put(index, State::Refused(why))),
                }
            }
        };
        // Beyond the deadline nothing is published any more.
        let _ = timeout_at(deadline, publishing).await;
        self.counts.sent.add(sent);
        let passed = self.passed(&runs, &used, deadline).await;
        for (parcel, state) in parcels.into_iter().zip(account.states()) {
            let state = match state {
                State::Open(None) => passed[self.link(&parcel.subscription)],
                state => state,
            };
            if state == State::Open(Some(Why::NoSubscriber)) {
                // The server knows better than its last sign of life.
                parcel.subscription.lose();
            }
            outcomes.extend(parcel.to.into_iter().map(|identity| state.outcome(identity)));
        }
        outcomes
    }

    /// The connections that hold now, by link.
    pub(super) fn runs(&self) -> Vec<Option<Run>> {
        self.links.iter().map(Link::run).collect()
    }

    /// What has become of what each link took, beyond what was refused: one barrier a link.
    pub(super) async fn passed(
        &self,
        runs: &[Option<Run>],
        used: &[bool],
        deadline: Instant,
    ) -> Vec<State> {
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
}
