//! Multicasts that must arrive: told to those who are there, stored for those who are not, and for
//! whoever does not acknowledge in good time.
//!
//! Storing costs the server many times what telling costs. So the stream gets only what needs it,
//! and whoever gets a delivery on both ways knows it by its id. Nothing is promised before the
//! multicast is answered, so that nothing has to be stored before.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::link::Run;
use super::presence;
use super::receivers::Receiver;
use super::send::Written;
use super::*;
use crate::fanout::ledger::{Account, Enough};
use crate::fanout::parcel::{Form, Parcel, Parcels};

/// A delivery with its bytes, as often as it takes.
struct Letter {
    link: usize,
    written: Written,
    /// How it was published last.
    way: Way,
    /// The connection over which it was.
    run: Option<Run>,
    /// Whether it was published to whoever listens, and somebody did.
    is_told: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Unsent,
    ToListeners,
    IntoStream,
}

impl Letter {
    /// Whether the connection over which it was published is no more.
    fn is_lost(&self, runs: &[Option<Run>]) -> bool {
        self.run.is_none() || runs[self.link] != self.run
    }
}

/// A multicast under way.
struct Sending<'a> {
    room: &'a Room,
    account: Account,
    parcels: Parcels<Receiver>,
    letters: Vec<Letter>,
    deadline: Instant,
}

/// The server had nobody to tell it to.
const UNHEARD: State = State::Open(Some(Why::NoSubscriber));

impl Room {
    /// Sent until it is acknowledged or stored.
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
        let owner = |one: &Parcel<Receiver>| (one.subscription.key(), enough(&one.subscription));
        let account = self.ledger.open(&message.namespace, parcels.all.iter().map(owner));
        let namespace = presence::token(&message.namespace);
        let acks = format!("{}.{}.{namespace}", presence::ACKS, self.coordinator);
        let form = Form::new(message, self.ledger.prefix(), Some(&acks));
        let mut letters = Vec::with_capacity(parcels.all.len());
        while letters.len() < parcels.all.len() {
            let rest = parcels.all[letters.len()..].iter();
            let written = self.write(&form, &account, &parcels, letters.len());
            letters.extend(rest.zip(written).map(|(parcel, written)| {
                let link = self.link(&parcel.subscription);
                Letter { link, written, way: Way::Unsent, run: None, is_told: false }
            }));
        }
        let mut sending = Sending { room: self, account, parcels, letters, deadline };
        sending.publish(|_, _| true).await;
        sending.insist().await;
        sending.outcomes(&mut outcomes);
        outcomes
    }
}

impl Sending<'_> {
    /// Publishes what is due, as long as there is time.
    async fn publish(&mut self, is_due: impl Fn(&Letter, State) -> bool) {
        let Self { room, account, parcels, letters, deadline } = self;
        let runs = room.runs();
        let publishing = async {
            for (index, letter) in letters.iter_mut().enumerate() {
                let state = account.state(index);
                // Unless the answer came while this was looked at.
                if is_due(letter, state) && account.put(index, State::Open(None)) {
                    letter.is_told &= state != UNHEARD;
                    let receiver = &parcels.all[index].subscription;
                    let counts = &room.counts;
                    let counter =
                        if letter.way == Way::Unsent { &counts.sent } else { &counts.resent };
                    match room.attempt(letter, receiver, &runs, account.number(index)).await {
                        Ok(()) => counter.one(),
                        // Another attempt before the deadline would be in vain.
                        Err(Why::NotStored) if !letter.is_told && room.streams.is_refused() => {
                            account.put(index, State::Refused(Why::NotStored));
                        }
                        Err(why) => drop(account.put(index, State::Open(Some(why)))),
                    }
                }
            }
        };
        let _ = timeout_at(*deadline, publishing).await;
    }

    /// Waits for acknowledgements until the deadline. What nobody listened to is stored as soon as
    /// that is known, one round trip later; what is not acknowledged, in good time before the
    /// deadline. From then on what was refused, or may be lost with its connection, is published
    /// again; what is still on its way into the stream needs no company.
    async fn insist(&mut self) {
        let room = self.room;
        let begin = Instant::now();
        let left = self.deadline.saturating_duration_since(begin);
        let answered = begin + room.settings.unanswered.min(left / 2);
        tokio::select! {
            biased;
            () = self.account.settled() => return,
            () = self.heard(answered) => {}
        }
        self.publish(|_, state| state == UNHEARD).await;
        let mut pause = Pause::new(room.settings.retry, room.settings.longest_retry);
        let mut wait = answered.saturating_duration_since(Instant::now());
        while self.account.lacks_after(wait, self.deadline).await {
            let runs = room.runs();
            let is_due = |letter: &Letter, state| match state {
                State::Open(None) => letter.way != Way::IntoStream || letter.is_lost(&runs),
                state => matches!(state, State::Open(_)),
            };
            self.publish(is_due).await;
            wait = pause.draw();
        }
    }

    /// Resolves once the server has said of all that was told whether somebody listens, or at this
    /// instant.
    async fn heard(&self, until: Instant) {
        let room = self.room;
        let mut used = vec![false; room.links.len()];
        for letter in self.letters.iter().filter(|letter| letter.way == Way::ToListeners) {
            used[letter.link] = true;
        }
        room.passed(&room.runs(), &used, until).await;
    }

    /// What has become of each target. What a lost connection took with it is not under way; what
    /// was told is no failure because it could not be stored, too.
    fn outcomes(self, outcomes: &mut Vec<Outcome>) {
        let runs = self.room.runs();
        let mut states = self.account.states();
        for (letter, state) in self.letters.iter().zip(&mut states) {
            match *state {
                State::Open(None) if letter.is_lost(&runs) => {
                    *state = State::Refused(Why::BusAway);
                }
                State::Open(Some(Why::NotStored)) if letter.is_told => *state = State::Open(None),
                State::Stored => self.room.counts.stored.one(),
                _ => {}
            }
        }
        self.parcels.outcomes(states, outcomes);
    }
}

impl Room {
    /// Publishes a letter to whoever is there, and the next time into the stream; to whoever is
    /// there again if nothing can be stored for it.
    async fn attempt(
        &self,
        letter: &mut Letter,
        receiver: &Receiver,
        runs: &[Option<Run>],
        number: u64,
    ) -> Result<(), Why> {
        let link = &self.links[letter.link];
        letter.run.clone_from(&runs[letter.link]);
        if letter.run.is_none() {
            return Err(Why::BusAway);
        }
        if receiver.is_present() && (letter.way == Way::Unsent || !receiver.is_durable()) {
            link.publish(&receiver.subject, letter.written.clone()).await?;
            letter.way = Way::ToListeners;
            letter.is_told = true;
        } else if receiver.is_durable() {
            let (id, bytes) = (self.ledger.id(number), letter.written.bytes.clone());
            link.store(&receiver.stored, number, &id, bytes).await?;
            letter.way = Way::IntoStream;
        } else {
            return Err(Why::NotStored);
        }
        Ok(())
    }
}
