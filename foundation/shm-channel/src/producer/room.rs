//! Where an answer is put: a run's room in shared memory, and what it held before.

use std::ops::{Deref, DerefMut};

use crate::Checksum;

/// How a handler ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The first so many bytes of the room are the answer.
    Answer(usize),
    /// The answer has so many bytes, and the client gave less room; it may ask again with more.
    TooLarge(usize),
    /// There is no answer, for a reason with a number of the handler's own.
    Refused(u64),
}

/// The room of one answer, in place: what is written here, the client reads here.
///
/// It derefs to bytes that nobody else can write. They are what this room held last; where the
/// handler gave that a [tag](Room::keep_as), [`Room::kept`] says it, so that a prepared payload is
/// copied once and later only patched. A room is lent again only after the client is done with
/// its former answer.
#[derive(Debug)]
pub struct Room<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) kept: Option<u64>,
    pub(super) keep: Option<u64>,
    pub(super) checksum: Option<Checksum>,
}

impl Room<'_> {
    /// The tag of what the room still holds, if it was given one and nothing was put over it.
    pub fn kept(&self) -> Option<u64> {
        self.kept
    }

    /// Gives what the room now holds a tag.
    pub fn keep_as(&mut self, tag: u64) {
        self.keep = Some(tag);
    }

    /// Sends a checksum of the answer along.
    pub fn set_checksum(&mut self, checksum: Checksum) {
        self.checksum = Some(checksum);
    }

    /// Copies a whole answer, if there is room.
    pub fn put(&mut self, answer: &[u8]) -> Reply {
        match self.bytes.get_mut(..answer.len()) {
            Some(room) => {
                room.copy_from_slice(answer);
                Reply::Answer(answer.len())
            }
            None => Reply::TooLarge(answer.len()),
        }
    }
}

impl Deref for Room<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for Room<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

/// What the rooms of a client hold, as their handler named it.
#[derive(Debug)]
pub(super) struct Kept {
    /// For each slot, which run was put over it last; runs are numbered from 1.
    owner: Vec<u64>,
    /// For each slot, what the run that began there was named.
    named: Vec<Option<Named>>,
    runs: u64,
}

#[derive(Debug)]
struct Named {
    tag: u64,
    run: u64,
    count: u32,
}

impl Kept {
    pub(super) fn new(slots: u32) -> Self {
        let named = (0..slots).map(|_| None).collect();
        Self { owner: vec![0; slots as usize], named, runs: 0 }
    }

    /// A run is about to be put over: the tag of what it holds, if it is all still there.
    pub(super) fn begin(&mut self, first: u32, count: u32) -> Option<u64> {
        let owner = &mut self.owner[first as usize..][..count as usize];
        let named = self.named[first as usize].take();
        let is_whole = |it: &Named| it.count == count && owner.iter().all(|run| *run == it.run);
        let kept = named.filter(is_whole).map(|it| it.tag);
        self.runs += 1;
        owner.fill(self.runs);
        kept
    }

    /// The run just begun holds something with this tag.
    pub(super) fn end(&mut self, first: u32, count: u32, tag: Option<u64>) {
        self.named[first as usize] = tag.map(|tag| Named { tag, run: self.runs, count });
    }
}
