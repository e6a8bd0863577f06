//! Where a handler puts an answer: a run of slots in shared memory, and the tag of what it held before.

use std::ops::{Deref, DerefMut};

use crate::Checksum;

/// How a handler ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// The first so many bytes of the buffer are the answer.
    Answer(usize),
    /// The answer has so many bytes, and the client lent fewer; it may ask again with more.
    TooLarge(usize),
    /// There is no answer, for a reason with a number of the handler's own.
    Refused(u64),
}

/// The buffer of one answer, in shared memory: the client reads in place what is written here.
///
/// It derefs to bytes that nobody else can write. They are what this buffer held last; if the
/// handler gave that a [tag](AnswerBuffer::set_tag), [`AnswerBuffer::tag`] returns it, so that a
/// prepared payload is copied once and later only patched. A buffer is lent again only after the
/// client is done with its former answer.
#[derive(Debug)]
pub struct AnswerBuffer<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) tag: Option<u64>,
    pub(super) new_tag: Option<u64>,
    pub(super) checksum: Option<Checksum>,
}

impl AnswerBuffer<'_> {
    /// The tag of what the buffer still holds, if it was given one and nothing was written over it.
    pub fn tag(&self) -> Option<u64> {
        self.tag
    }

    /// Gives what the buffer now holds a tag.
    pub fn set_tag(&mut self, tag: u64) {
        self.new_tag = Some(tag);
    }

    /// Sends a checksum of the answer along.
    pub fn set_checksum(&mut self, checksum: Checksum) {
        self.checksum = Some(checksum);
    }

    /// Copies a whole answer, if it fits.
    pub fn put(&mut self, answer: &[u8]) -> Reply {
        match self.bytes.get_mut(..answer.len()) {
            Some(place) => {
                place.copy_from_slice(answer);
                Reply::Answer(answer.len())
            }
            None => Reply::TooLarge(answer.len()),
        }
    }
}

impl Deref for AnswerBuffer<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for AnswerBuffer<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

/// The tags of what the buffers of a client hold.
#[derive(Debug)]
pub(super) struct Tags {
    /// For each slot, which run was written over it last; runs are numbered from 1.
    owner: Vec<u64>,
    /// For each slot, the tag of the run that began there.
    tagged: Vec<Option<Tagged>>,
    runs: u64,
}

#[derive(Debug)]
struct Tagged {
    tag: u64,
    run: u64,
    count: u32,
}

impl Tags {
    pub(super) fn new(slots: u32) -> Self {
        let tagged = (0..slots).map(|_| None).collect();
        Self { owner: vec![0; slots as usize], tagged, runs: 0 }
    }

    /// A run is about to be written over: the tag of what it holds, if it is all still there.
    pub(super) fn begin(&mut self, first: u32, count: u32) -> Option<u64> {
        let owner = &mut self.owner[first as usize..][..count as usize];
        let tagged = self.tagged[first as usize].take();
        let is_whole = |it: &Tagged| it.count == count && owner.iter().all(|run| *run == it.run);
        let tag = tagged.filter(is_whole).map(|it| it.tag);
        self.runs += 1;
        owner.fill(self.runs);
        tag
    }

    /// The run just begun holds something with this tag.
    pub(super) fn end(&mut self, first: u32, count: u32, tag: Option<u64>) {
        self.tagged[first as usize] = tag.map(|tag| Tagged { tag, run: self.runs, count });
    }
}
