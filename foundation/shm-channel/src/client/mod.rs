//! The client: submits requests, waits for their answers, and reads these in place.

mod answer;
mod greeting;
mod waiting;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::greeting::{Terms, Welcome};
use crate::layout::{BELL_LENGTH, RING};
use crate::producer::{connection, worker};
use crate::region::{self, Mapping};
use crate::ring::{self, Entry, Look, Message};
use crate::slots::Slots;
use crate::{Error, Geometry, socket};

use answer::Held;
pub use answer::{Answer, Times};
pub use greeting::Greeting;

/// How long a greeting may take, before there is a deadline of the caller's.
const PATIENCE: Duration = Duration::from_secs(5);

/// An exchange that has ended.
#[derive(Debug)]
pub struct Completed {
    /// What [`Client::submit`] returned for the request.
    pub ticket: u64,
    /// The answer, or [`Error::TooLarge`] or [`Error::Refused`].
    pub outcome: Result<Answer, Error>,
}

/// A request under way, under the first of its slots.
#[derive(Debug)]
struct Flight {
    ticket: u64,
    slots: u32,
    /// Its answer is not waited for any more.
    is_abandoned: bool,
}

/// One client of a producer. It belongs to one thread at a time; its [`Answer`]s may go anywhere.
#[derive(Debug)]
pub struct Client {
    socket: Arc<OwnedFd>,
    eventfd: Arc<OwnedFd>,
    bell: Mapping,
    requests: Mapping,
    held: Arc<Held>,
    terms: Terms,
    spin: Duration,
    /// Number of the next submission.
    next: u32,
    /// Number of the next completion.
    due: u32,
    latest: u64,
    is_timed: bool,
    flights: Vec<Option<Flight>>,
    done: VecDeque<Completed>,
    damage: Option<&'static str>,
}

impl Client {
    /// Connects to the producer at `path`.
    ///
    /// `spin` is how long a blocking wait looks before it sleeps; zero for not at all. Errors: the
    /// producer's refusal, or the system's.
    pub fn connect(path: impl AsRef<Path>, spin: Duration) -> Result<Self, Error> {
        let socket = socket::connect(path.as_ref(), PATIENCE)?;
        match Greeting::over(socket).answer(spin)? {
            Ok(client) => Ok(client),
            Err(_unanswered) => Err(Error::Deadline),
        }
    }

    /// The client that a welcome makes, with what was passed beside it.
    fn welcomed(
        socket: Arc<OwnedFd>,
        welcome: &[u8],
        passed: Vec<OwnedFd>,
        spin: Duration,
    ) -> Result<Self, Error> {
        let terms = Welcome::decode(welcome)?;
        let Ok([requests, answers, bell, eventfd]) = <[OwnedFd; 4]>::try_from(passed) else {
            return Err(Error::Damaged("the descriptors of a welcome"));
        };
        if ![&requests, &answers, &bell].into_iter().all(region::is_sealed) {
            return Err(Error::Damaged("a region could become shorter"));
        }
        let Terms { geometry, .. } = terms;
        let answers = Mapping::readable(&answers, geometry.answers_length())?;
        let slots = Slots::new(geometry.slots());
        Ok(Self {
            requests: Mapping::writable(&requests, geometry.requests_length())?,
            bell: Mapping::writable(&bell, BELL_LENGTH as u64)?,
            held: Arc::new(Held { answers, slots }),
            flights: (0..geometry.slots()).map(|_| None).collect(),
            socket,
            eventfd: Arc::new(eventfd),
            terms,
            spin,
            next: 0,
            due: 0,
            latest: 0,
            is_timed: false,
            done: VecDeque::new(),
            damage: None,
        })
    }

    /// The shape that the producer chose.
    pub fn geometry(&self) -> Geometry {
        self.terms.geometry
    }

    /// A number that another start of the producer does not have.
    pub fn generation(&self) -> u64 {
        self.terms.generation
    }

    /// Sends a request and waits for its answer, for which room for `room` bytes is lent; the room
    /// of one slot where that is less.
    ///
    /// Errors: those of [`Client::submit`]; [`Error::Deadline`], after which the request's slots
    /// are free as soon as its answer comes; [`Error::Gone`], [`Error::Damaged`]; and what the
    /// producer said instead, [`Error::TooLarge`] or [`Error::Refused`].
    pub fn call(
        &mut self,
        request: &[u8],
        room: usize,
        patience: Duration,
    ) -> Result<Answer, Error> {
        let ticket = self.submit(request, room)?;
        let until = Instant::now().checked_add(patience);
        loop {
            self.collect()?;
            if let Some(at) = self.done.iter().position(|done| done.ticket == ticket) {
                let done = self.done.remove(at).expect("it was found there");
                return done.outcome;
            }
            if !self.wait_until(until)? {
                self.abandon(ticket);
                return Err(Error::Deadline);
            }
        }
    }

    /// Sends a request and does not wait: its ticket.
    ///
    /// Errors: [`Error::TooLarge`] where all slots together have no room for the request or for an
    /// answer of `room` bytes, [`Error::NoSlot`] where there are not enough free ones side by side,
    /// [`Error::Damaged`]. That the producer is gone is seen while waiting.
    pub fn submit(&mut self, request: &[u8], room: usize) -> Result<u64, Error> {
        self.hold_together()?;
        let slots = self.terms.geometry.run(request.len() as u64, room as u64)?;
        let slot = match self.held.slots.take(slots) {
            Some(slot) => slot,
            None => {
                // What was abandoned may have been answered.
                self.collect()?;
                self.held.slots.take(slots).ok_or(Error::NoSlot { slots })?
            }
        };
        self.write(slot, request);
        self.latest += 1;
        let ticket = self.latest;
        self.flights[slot as usize] = Some(Flight { ticket, slots, is_abandoned: false });
        let length = request.len() as u64;
        let times = [if self.is_timed { connection::TIMED } else { 0 }, 0];
        let code = slots;
        let message = Message { slot, sequence: ticket, length, code, times, ..Message::default() };
        ring::put(self.submissions(), self.next, &message);
        self.next = self.next.wrapping_add(1);
        worker::ring(&self.bell);
        Ok(ticket)
    }

    /// Whether requests from now on ask the producer for its [`Times`], which are two readings of
    /// the clock for each, on its side. At first they do not.
    pub fn ask_for_times(&mut self, wanted: bool) {
        self.is_timed = wanted;
    }

    /// The next exchange that has ended, in the order in which they ended; never waits.
    ///
    /// Errors: [`Error::Damaged`].
    pub fn take(&mut self) -> Result<Option<Completed>, Error> {
        if self.done.is_empty() {
            self.collect()?;
        }
        Ok(self.done.pop_front())
    }

    /// Gives a request up: its answer will be dropped, and its slots are free when it came.
    pub fn abandon(&mut self, ticket: u64) {
        self.done.retain(|done| done.ticket != ticket);
        let flights = self.flights.iter_mut().flatten();
        flights.filter(|flight| flight.ticket == ticket).for_each(|it| it.is_abandoned = true);
    }

    /// How many slots are neither under way nor held as an answer.
    pub fn free_slots(&self) -> usize {
        self.held.slots.left()
    }

    /// Whether the producer is gone. What it answered before can still be taken.
    pub fn is_gone(&self) -> bool {
        socket::is_hung_up(&self.socket)
    }

    /// The Unix socket, for callers that wait without a thread: its hang-up is the producer's end.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    #[expect(unsafe_code, reason = "requests are written in place")]
    fn write(&self, slot: u32, request: &[u8]) {
        // SAFETY: the slots were free, so that nothing else of ours is at this place.
        unsafe { self.requests.copy_in(self.terms.geometry.request_at(slot), request) };
    }

    /// Moves what has been completed to `done`.
    fn collect(&mut self) -> Result<(), Error> {
        self.hold_together()?;
        loop {
            let taken = match ring::look(self.completions(), self.due) {
                Look::NotYet(_) => return Ok(()),
                Look::Ready(message) => self.complete(message),
                Look::Damaged => Err("the stamp of a completion"),
            };
            if let Err(what) = taken {
                self.damage = Some(what);
                return Err(Error::Damaged(what));
            }
            self.due = self.due.wrapping_add(1);
        }
    }

    /// Handles a completion, if it belongs to a request of this client.
    fn complete(&mut self, message: Message) -> Result<(), &'static str> {
        let flight = self.flights.get_mut(message.slot as usize).and_then(Option::as_mut);
        let flight = flight.ok_or("a completion of a slot that is not under way")?;
        if flight.ticket != message.sequence {
            return Err("a completion of another request");
        }
        let (ticket, slots) = (flight.ticket, flight.slots);
        let room = self.terms.geometry.answer_room() * u64::from(slots);
        let outcome = match message.code {
            connection::ANSWERED if message.length > room => {
                return Err("the length of a completion");
            }
            connection::ANSWERED => Ok(()),
            connection::TOO_LARGE => Err(Error::TooLarge { needed: message.length, most: room }),
            connection::REFUSED => Err(Error::Refused(message.length)),
            _ => return Err("the outcome of a completion"),
        };
        let is_abandoned = flight.is_abandoned;
        self.flights[message.slot as usize] = None;
        // Made in any case: whatever becomes of it, dropping it gives the slots back.
        let answer = Answer::new(self.held.clone(), self.terms.geometry, &message, slots);
        if !is_abandoned {
            self.done.push_back(Completed { ticket, outcome: outcome.map(|()| answer) });
        }
        Ok(())
    }

    fn hold_together(&self) -> Result<(), Error> {
        self.damage.map_or(Ok(()), |what| Err(Error::Damaged(what)))
    }

    fn submissions(&self) -> &[Entry] {
        self.requests.entries(RING, self.terms.geometry.slots())
    }

    fn completions(&self) -> &[Entry] {
        self.held.answers.entries(RING, self.terms.geometry.slots())
    }
}
