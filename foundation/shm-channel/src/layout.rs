//! Where everything lies: `LAYOUT.md` as numbers.

use crate::Error;

/// Version of the layout that this crate speaks, and no other.
pub const VERSION: u32 = 1;
/// Size of a page: regions and rooms begin at one.
pub(crate) const PAGE: u64 = 4096;
/// Size of an entry of a ring.
const ENTRY: u64 = 64;
/// Where the ring begins in either region; the page before it has the client's word in `requests`.
pub(crate) const RING: usize = PAGE as usize;
/// In `requests`: how the client sleeps.
pub(crate) const CLIENT_SLEEPS: usize = 0;
/// In the bell's page: the word that clients count up.
pub(crate) const BELL: usize = 0;
/// In the bell's page: whether the worker sleeps.
pub(crate) const WORKER_SLEEPS: usize = 64;
/// Length of the bell's region.
pub(crate) const BELL_LENGTH: usize = PAGE as usize;
/// Rooms are of whole cache lines.
const LINE: u64 = 64;
const MOST_SLOTS: u32 = 4096;
const MOST_ROOM: u64 = 1 << 32;
const MOST_REGION: u64 = 1 << 42;

/// The shape of a client's two regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    slots: u32,
    request_room: u64,
    answer_room: u64,
}

impl Geometry {
    /// The shape for this many slots with room for this many bytes each, rooms rounded up to 64.
    ///
    /// Errors: [`Error::Settings`] where `slots` is no power of two up to 4,096, a room is empty or
    /// beyond 4 GiB, or a region beyond 4 TiB.
    pub fn new(slots: u32, request_room: u64, answer_room: u64) -> Result<Self, Error> {
        if !slots.is_power_of_two() || slots > MOST_SLOTS {
            let most = format!("slots = {slots}: a power of two from 1 to {MOST_SLOTS} is wanted");
            return Err(Error::Settings(most));
        }
        for (name, room) in [("request_room", request_room), ("answer_room", answer_room)] {
            if room == 0 || room > MOST_ROOM {
                let most = format!("{name} = {room}: 1 to {MOST_ROOM} bytes are wanted");
                return Err(Error::Settings(most));
            }
        }
        let rounded = |room: u64| room.next_multiple_of(LINE);
        let shape =
            Self { slots, request_room: rounded(request_room), answer_room: rounded(answer_room) };
        let larger = shape.requests_length().max(shape.answers_length());
        if larger > MOST_REGION {
            let most = format!("a region of {larger} bytes: at most {MOST_REGION} are wanted");
            return Err(Error::Settings(most));
        }
        Ok(shape)
    }

    /// Number of slots, and of entries in each ring.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Bytes that a slot has for a request.
    pub fn request_room(&self) -> u64 {
        self.request_room
    }

    /// Bytes that a slot has for an answer.
    pub fn answer_room(&self) -> u64 {
        self.answer_room
    }

    /// Where the rooms begin, in either region.
    pub fn rooms(&self) -> u64 {
        PAGE + (u64::from(self.slots) * ENTRY).next_multiple_of(PAGE)
    }

    /// Where the request of the run that begins at `slot` lies in `requests`.
    pub fn request_at(&self, slot: u32) -> u64 {
        self.rooms() + u64::from(slot) * self.request_room
    }

    /// Where the answer of the run that begins at `slot` lies in `answers`.
    pub fn answer_at(&self, slot: u32) -> u64 {
        self.rooms() + u64::from(slot) * self.answer_room
    }

    /// Length of the region `requests`.
    pub fn requests_length(&self) -> u64 {
        self.request_at(self.slots).next_multiple_of(PAGE)
    }

    /// Length of the region `answers`.
    pub fn answers_length(&self) -> u64 {
        self.answer_at(self.slots).next_multiple_of(PAGE)
    }

    /// How many neighbouring slots have room for a request and an answer of these lengths.
    ///
    /// Errors: [`Error::TooLarge`] where all slots together have not.
    pub fn run(&self, request: u64, answer: u64) -> Result<u32, Error> {
        let wanted = request.div_ceil(self.request_room).max(answer.div_ceil(self.answer_room));
        match u32::try_from(wanted.max(1)) {
            Ok(run) if run <= self.slots => Ok(run),
            _ if request > self.request_room * u64::from(self.slots) => Err(Error::TooLarge {
                needed: request,
                most: self.request_room * u64::from(self.slots),
            }),
            _ => Err(Error::TooLarge {
                needed: answer,
                most: self.answer_room * u64::from(self.slots),
            }),
        }
    }

    /// Whether a run lies within the slots.
    pub(crate) fn holds(&self, first: u32, count: u32) -> bool {
        let end = u64::from(first) + u64::from(count);
        count > 0 && end <= u64::from(self.slots)
    }
}
