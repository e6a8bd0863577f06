//! The gate: a thread that accepts, greets, refuses, and learns of each client's end.
//!
//! Nothing here is on the way of a request.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::SocketFlags;

use super::link::{Link, Place};
use super::room::Kept;
use super::worker::{Desk, Notice};
use super::{Tally, count, regions};
use crate::error::while_doing;
use crate::greeting::{self, Hello, LENGTH, Outcome, Welcome};
use crate::layout::VERSION;
use crate::region::{self, Mapping};
use crate::{Error, Geometry, socket};

/// Event numbers of what is no client.
const LISTENER: u64 = 0;
const STOP: u64 = u64::MAX;
/// How long a connection may say nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to leave the listener alone when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(10);

/// What all clients are told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub geometry: Geometry,
    pub generation: u64,
    pub limit: u32,
}

/// A connection that has not said hello.
struct Guest {
    socket: OwnedFd,
    place: Place,
    since: Instant,
}

pub(super) struct Gate {
    epoll: OwnedFd,
    listener: OwnedFd,
    _stop: Arc<OwnedFd>,
    desks: Vec<Desk>,
    terms: Terms,
    tally: Arc<Tally>,
    guests: HashMap<u64, Guest>,
    /// Number of the latest connection.
    latest: u64,
}

impl Gate {
    pub(super) fn new(
        listener: OwnedFd,
        stop: Arc<OwnedFd>,
        desks: Vec<Desk>,
        terms: Terms,
        tally: Arc<Tally>,
    ) -> Result<Self, Error> {
        let doing = "making an epoll";
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(while_doing(doing))?;
        for (descriptor, number) in [(listener.as_fd(), LISTENER), (stop.as_fd(), STOP)] {
            epoll::add(&epoll, descriptor, EventData::new_u64(number), EventFlags::IN)
                .map_err(while_doing(doing))?;
        }
        let guests = HashMap::new();
        Ok(Self { epoll, listener, _stop: stop, desks, terms, tally, guests, latest: 0 })
    }

    /// Runs until told to stop.
    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        loop {
            let patience = PATIENCE.try_into().expect("a second");
            let timeout = (!self.guests.is_empty()).then_some(&patience);
            // An interruption, or nothing: the loop goes round.
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), timeout);
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(),
                    number => self.hear(number),
                }
            }
            self.show_out();
        }
    }

    /// Accepts all who wait.
    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => self.let_in(socket),
                Err(rustix::io::Errno::AGAIN) => return,
                // Gone already, or no descriptors left: those who wait go on waiting.
                Err(_) => return std::thread::sleep(PAUSE),
            }
        }
    }

    /// Gives a connection a place among the clients, if there is one, and waits for its hello.
    fn let_in(&mut self, socket: OwnedFd) {
        if self.tally.living.load(Ordering::Relaxed) >= u64::from(self.terms.limit) {
            return self.refuse(&socket, Outcome::Crowded);
        }
        if !socket::is_own_user(&socket) {
            return self.refuse(&socket, Outcome::OtherUser);
        }
        self.latest += 1;
        let data = EventData::new_u64(self.latest);
        if epoll::add(&self.epoll, &socket, data, EventFlags::IN | EventFlags::RDHUP).is_ok() {
            let place = Place::take(self.tally.clone());
            self.guests.insert(self.latest, Guest { socket, place, since: Instant::now() });
        }
    }

    /// A connection said something, or is gone.
    fn hear(&mut self, number: u64) {
        let Some(guest) = self.guests.remove(&number) else {
            self.desk(number).tell(Notice::Left(number));
            return;
        };
        let mut bytes = [0; LENGTH];
        let length = rustix::io::read(&guest.socket, &mut bytes).unwrap_or(0);
        match Hello::decode(&bytes[..length]) {
            None => self.refuse(&guest.socket, Outcome::NotUnderstood),
            Some(Hello { version }) if version != VERSION => {
                self.refuse(&guest.socket, Outcome::OtherVersion);
            }
            Some(_) => self.admit(number, guest),
        }
    }

    fn admit(&self, number: u64, guest: Guest) {
        let socket = Arc::new(guest.socket);
        if self.hand_over(number, &socket, guest.place).is_err() {
            self.refuse(&socket, Outcome::Failed);
        }
    }

    /// Makes a client's memory, gives it to its worker, and then to the client: when the client
    /// knows that it is welcome, its worker knows of it.
    fn hand_over(&self, number: u64, socket: &Arc<OwnedFd>, place: Place) -> Result<(), Error> {
        let Terms { geometry, generation, limit } = self.terms;
        let (requests, answers, eventfd) = regions(geometry)?;
        let eventfd = Arc::new(eventfd);
        let link = Link {
            number,
            _socket: socket.clone(),
            eventfd: eventfd.clone(),
            requests: Mapping::readable(&requests, geometry.requests_length())?,
            answers: Mapping::writable(&answers, geometry.answers_length())?,
            geometry,
            kept: Kept::new(geometry.slots()),
            next: 0,
            _place: place,
        };
        region::seal(&requests, false)?;
        region::seal(&answers, true)?;
        let data = EventData::new_u64(number);
        epoll::modify(&self.epoll, socket, data, EventFlags::RDHUP | EventFlags::ONESHOT)
            .map_err(while_doing("watching a client"))?;
        if !self.desk(number).tell(Notice::Joined(Box::new(link))) {
            return Err(Error::Gone);
        }
        let terms = greeting::Terms { geometry, generation, client: number };
        let outcome = Outcome::Admitted;
        let welcome = Welcome { version: VERSION, outcome, terms: Some(terms), limit };
        let bell = &self.desk(number).memory;
        let passed = [requests.as_fd(), answers.as_fd(), bell.as_fd(), eventfd.as_fd()];
        count(&self.tally.admitted);
        // A client that left meanwhile is told of by its socket.
        let _ = socket::send(socket, &welcome.encode(), &passed);
        Ok(())
    }

    /// The worker that has this client.
    fn desk(&self, number: u64) -> &Desk {
        &self.desks[(number % self.desks.len() as u64) as usize]
    }

    fn refuse(&self, socket: &OwnedFd, outcome: Outcome) {
        count(&self.tally.refused);
        let refusal = Welcome::refusal(outcome, self.terms.limit);
        // One that left does not need to know.
        let _ = socket::send(socket, &refusal.encode(), &[]);
    }

    /// Closes connections that said nothing for too long.
    fn show_out(&mut self) {
        let refused = &self.tally.refused;
        self.guests.retain(|_, guest| {
            let may_stay = guest.since.elapsed() < PATIENCE;
            if !may_stay {
                count(refused);
            }
            may_stay
        });
    }
}
