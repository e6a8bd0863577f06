//! Where threads leave what they cast: frames that wait, and the account of them, under one lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::account::{Account, Why};
use super::frame::{self, Cast, Frame};

/// What a lane has room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub bytes: usize,
    pub messages: usize,
    /// Bytes of the longest payload.
    pub payload: usize,
}

/// What became of a message that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// It waits; nothing waited before, or something did.
    Taken { was_empty: bool },
    /// It was dropped, and counted.
    Dropped(Why),
    /// There is no room, and nothing was counted.
    NoRoom,
}

/// One of a peer's lanes. Aligned so that the locks of two share no line of a processor's cache.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Lane {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    frames: Vec<u8>,
    messages: usize,
    account: Account,
    is_closed: bool,
}

impl Lane {
    /// Takes a message, whose sequence is given here; `full` is the reason for which it is dropped where there is no
    /// room, if it is.
    pub fn offer(&self, cast: Cast<'_>, bounds: &Bounds, full: Option<Why>) -> Offer {
        let mut waiting = self.lock();
        let refused = if waiting.is_closed {
            Some(Why::Unsent)
        } else if cast.payload.len() > bounds.payload {
            Some(Why::Oversize)
        } else if waiting.has_room(frame::size(cast.payload.len()), bounds) {
            None
        } else if full.is_none() {
            return Offer::NoRoom;
        } else {
            full
        };
        let sequence = waiting.account.cast;
        waiting.account.cast += 1;
        if let Some(why) = refused {
            waiting.account.drop(why, 1);
            return Offer::Dropped(why);
        }
        Frame::Cast(Cast { sequence, ..cast }).write(&mut waiting.frames);
        waiting.messages += 1;
        Offer::Taken { was_empty: waiting.messages == 1 }
    }

    /// Takes out the frames that wait, in exchange for an empty buffer; adds the account of all that was cast up to them.
    pub fn take(&self, frames: &mut Vec<u8>, account: &mut Account) -> usize {
        let mut waiting = self.lock();
        std::mem::swap(&mut waiting.frames, frames);
        account.add(&waiting.account);
        std::mem::take(&mut waiting.messages)
    }

    /// The account of all that was cast.
    pub fn account(&self) -> Account {
        self.lock().account
    }

    /// Counts messages as dropped that were taken out.
    pub fn discount(&self, why: Why, messages: u64) {
        self.lock().account.drop(why, messages);
    }

    /// Drops what comes from now on.
    pub fn close(&self) {
        self.lock().is_closed = true;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn has_room(&self, more: usize, bounds: &Bounds) -> bool {
        self.messages == 0
            || self.messages < bounds.messages && self.frames.len() + more <= bounds.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { bytes: 100, messages: 3, payload: 90 };

    fn offer(lane: &Lane, payload: &[u8], full: Option<Why>) -> Offer {
        let cast = Cast { lane: 1, caster: 2, sequence: 0, sent_at: 3, payload };
        lane.offer(cast, &BOUNDS, full)
    }

    fn sequences(frames: &[u8]) -> Vec<u64> {
        let mut found = Vec::new();
        let mut rest = frames;
        while let Some(body) = frame::cut(rest, usize::MAX).unwrap() {
            match Frame::read(body).unwrap() {
                Frame::Cast(cast) => found.push(cast.sequence),
                other => panic!("{other:?}"),
            }
            rest = &rest[frame::LENGTH + body.len()..];
        }
        found
    }

    #[test]
    fn what_has_no_room_is_dropped_for_its_reason_and_leaves_a_gap() {
        let lane = Lane::default();
        let first = Offer::Taken { was_empty: true };
        let next = Offer::Taken { was_empty: false };
        assert_eq!(offer(&lane, b"", Some(Why::Full)), first);
        assert_eq!(offer(&lane, &[0; 91], Some(Why::Full)), Offer::Dropped(Why::Oversize));
        assert_eq!(offer(&lane, &[0; 41], Some(Why::Full)), Offer::Dropped(Why::Full), "bytes");
        assert_eq!(offer(&lane, b"", Some(Why::Full)), next);
        assert_eq!(offer(&lane, b"", Some(Why::Full)), next);
        let dropped = Offer::Dropped(Why::Disconnected);
        assert_eq!(offer(&lane, b"", Some(Why::Disconnected)), dropped, "messages");
        assert_eq!(offer(&lane, b"", None), Offer::NoRoom);
        let (mut frames, mut account) = (Vec::new(), Account { cast: 10, ..Account::default() });
        assert_eq!(lane.take(&mut frames, &mut account), 3);
        assert_eq!(sequences(&frames), [0, 3, 4]);
        assert_eq!(account, Account { cast: 16, dropped: [1, 1, 1, 0] });
        assert_eq!(lane.account().cast, 6);
    }

    #[test]
    fn an_empty_lane_has_room_for_one_however_large() {
        let lane = Lane::default();
        assert_eq!(offer(&lane, &[0; 90], None), Offer::Taken { was_empty: true });
        assert_eq!(offer(&lane, b"", None), Offer::NoRoom);
        let mut frames = Vec::new();
        lane.take(&mut frames, &mut Account::default());
        assert_eq!(offer(&lane, b"", None), Offer::Taken { was_empty: true });
    }

    #[test]
    fn a_closed_lane_drops_all() {
        let lane = Lane::default();
        lane.close();
        assert_eq!(offer(&lane, b"", None), Offer::Dropped(Why::Unsent));
        lane.discount(Why::Unsent, 4);
        assert_eq!(lane.account(), Account { cast: 1, dropped: [0, 0, 0, 5] });
    }
}
