//! Multicasts to whoever listens: published without waiting for one another, confirmed together.

use std::sync::Arc;

use async_nats::Subject;
use hyper::body::Bytes;
use tokio::time::{Instant, timeout_at};

use super::link::Run;
use super::receivers::Receiver;
use super::*;
use crate::fanout::ledger::{Account, Enough};
use crate::fanout::parcel::{Form, Parcels};

/// Room that a delivery leaves in a message for what travels beside it.
const BESIDE: usize = 1 << 10;

/// Bytes of deliveries that are written at a time and share memory.
const PAGE: usize = 64 << 10;

/// A delivery as it goes to whoever listens.
#[derive(Debug, Clone)]
pub(super) struct Written {
    /// Where the server answers if nobody does.
    pub(super) reply: Subject,
    pub(super) bytes: Bytes,
}

impl Room {
    /// Letters for those who are served, and the outcomes of those who are not.
    pub(super) fn address(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        reach: Reach,
    ) -> (Parcels<Receiver>, Vec<Outcome>) {
        let mut outcomes = Vec::with_capacity(targets.len());
        let mut groups = self.receivers().table.group(&message.namespace, targets, reach);
        let nobody = State::Refused(Why::NoSubscriber);
        outcomes.extend(groups.unserved.drain(..).map(|identity| nobody.outcome(identity)));
        let mut bounds = self.settings.bounds;
        if let Some(room) = self.links[0].room() {
            bounds.bytes = bounds.bytes.min(room.saturating_sub(BESIDE));
            let rest = room.saturating_sub(message.payload.len() + BESIDE);
            bounds.least_names = bounds.least_names.min(rest);
        }
        (parcel::cut(groups, message, bounds), outcomes)
    }

    /// Writes deliveries from this one on, one at least, into memory that they share: to
    /// allocate for each would cost more than to write it, and a connection that gets many at a time
    /// sends them together.
    pub(super) fn write(
        &self,
        form: &Form,
        account: &Account,
        parcels: &Parcels<Receiver>,
        from: usize,
    ) -> Vec<Written> {
        let least = BESIDE + form.room(parcels.names(from));
        let mut page = Vec::with_capacity(PAGE.max(least));
        let mut ends = Vec::new();
        for (index, parcel) in parcels.all.iter().enumerate().skip(from) {
            let (number, to) = (account.number(index), parcels.names(index));
            if !page.is_empty() && page.len() + BESIDE + form.room(to) > PAGE {
                break;
            }
            self.links[self.link(&parcel.subscription)].write_reply(number, &mut page);
            let reply = page.len();
            form.write(number, to, &mut page);
            ends.push((reply, page.len()));
        }
        let page = Bytes::from(page);
        let mut begin = 0;
        let cut = |(reply, end)| {
            let subject = page.slice(std::mem::replace(&mut begin, end)..reply);
            let subject = Subject::from_utf8(subject).expect("it was written as text");
            Written { reply: subject, bytes: page.slice(reply..end) }
        };
        ends.into_iter().map(cut).collect()
    }

    /// Sent once, to whoever listens as the server sees it.
    pub(super) async fn once(
        &self,
        message: &Message,
        targets: Vec<Arc<str>>,
        deadline: Instant,
    ) -> Vec<Outcome> {
        let (parcels, mut outcomes) = self.address(message, targets, Reach::Present);
        let owners = parcels.all.iter().map(|parcel| parcel.subscription.key());
        let owners = owners.map(|key| (key, Enough::Acknowledgement));
        let account = self.ledger.open(&message.namespace, owners);
        let form = Form::new(message, self.ledger.prefix(), None);
        let runs = self.runs();
        let mut used = vec![false; self.links.len()];
        let mut sent = 0;
        let publishing = async {
            let mut index = 0;
            while index < parcels.all.len() {
                for written in self.write(&form, &account, &parcels, index) {
                    let receiver = &parcels.all[index].subscription;
                    let link = self.link(receiver);
                    let published = match runs[link] {
                        Some(_) => self.links[link].publish(&receiver.subject, written).await,
                        None => Err(Why::BusAway),
                    };
                    match published {
                        Ok(()) => {
                            used[link] = true;
                            sent += 1;
                        }
                        Err(why) => drop(account.put(index, State::Refused(why))),
                    }
                    index += 1;
                }
            }
        };
        // Beyond the deadline nothing is published any more.
        let _ = timeout_at(deadline, publishing).await;
        self.counts.sent.add(sent);
        let passed = self.passed(&runs, &used, deadline).await;
        let mut states = account.states();
        for (parcel, state) in parcels.all.iter().zip(&mut states) {
            if *state == State::Open(None) {
                *state = passed[self.link(&parcel.subscription)];
            } else if *state == State::Open(Some(Why::NoSubscriber)) {
                // The server knows better than its last sign of life.
                parcel.subscription.lose();
            }
        }
        parcels.outcomes(states, &mut outcomes);
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
