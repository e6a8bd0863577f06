//! A thread that accepts and greets clients, refuses some, and notices when one has left.
//!
//! No request passes through it.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::SocketFlags;

use super::answer_buffer::Tags;
use super::connection::{ClientPermit, Connection};
use super::worker::{Notice, WorkerHandle};
use super::{SharedCounts, count, regions};
use crate::error::while_doing;
use crate::greeting::{self, Hello, LENGTH, Outcome, Welcome};
use crate::layout::VERSION;
use crate::region::{self, Mapping};
use crate::{Error, Geometry, socket};

/// Event numbers of what is no client.
const LISTENER: u64 = 0;
const STOP: u64 = u64::MAX;
/// How long a connection may take to send its hello.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to leave the listener alone when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(10);

/// What every client's welcome says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub geometry: Geometry,
    pub generation: u64,
    pub limit: u32,
}

/// A connection that has not said hello.
struct PendingClient {
    socket: OwnedFd,
    permit: ClientPermit,
    since: Instant,
}

pub(super) struct Acceptor {
    epoll: OwnedFd,
    listener: OwnedFd,
    _stop: Arc<OwnedFd>,
    workers: Vec<WorkerHandle>,
    terms: Terms,
    counts: Arc<SharedCounts>,
    pending: HashMap<u64, PendingClient>,
    /// Number of the latest connection.
    latest: u64,
}

impl Acceptor {
    pub(super) fn new(
        listener: OwnedFd,
        stop: Arc<OwnedFd>,
        workers: Vec<WorkerHandle>,
        terms: Terms,
        counts: Arc<SharedCounts>,
    ) -> Result<Self, Error> {
        let doing = "making an epoll";
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(while_doing(doing))?;
        for (descriptor, number) in [(listener.as_fd(), LISTENER), (stop.as_fd(), STOP)] {
            epoll::add(&epoll, descriptor, EventData::new_u64(number), EventFlags::IN)
                .map_err(while_doing(doing))?;
        }
        let pending = HashMap::new();
        Ok(Self { epoll, listener, _stop: stop, workers, terms, counts, pending, latest: 0 })
    }

    /// Runs until it is stopped.
    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        loop {
            let patience = PATIENCE.try_into().expect("a second");
            let timeout = (!self.pending.is_empty()).then_some(&patience);
            // An interruption, or nothing: the loop goes round.
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), timeout);
            for event in events.drain(..) {
                match event.data.u64() {
                    STOP => return,
                    LISTENER => self.accept(),
                    number => self.read_hello(number),
                }
            }
            self.expire_silent();
        }
    }

    /// Accepts all who wait.
    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            match rustix::net::accept_with(&self.listener, flags) {
                Ok(socket) => self.take_in(socket),
                Err(rustix::io::Errno::AGAIN) => return,
                // Gone already, or no descriptors left: those who wait go on waiting.
                Err(_) => return std::thread::sleep(PAUSE),
            }
        }
    }

    /// Takes a connection in, if there may be one more client, and waits for its hello.
    fn take_in(&mut self, socket: OwnedFd) {
        if self.counts.living.load(Ordering::Relaxed) >= u64::from(self.terms.limit) {
            return self.refuse(&socket, Outcome::Crowded);
        }
        if !socket::is_own_user(&socket) {
            return self.refuse(&socket, Outcome::OtherUser);
        }
        self.latest += 1;
        let data = EventData::new_u64(self.latest);
        if epoll::add(&self.epoll, &socket, data, EventFlags::IN | EventFlags::RDHUP).is_ok() {
            let permit = ClientPermit::take(self.counts.clone());
            self.pending
                .insert(self.latest, PendingClient { socket, permit, since: Instant::now() });
        }
    }

    /// A connection sent its hello, or has left.
    fn read_hello(&mut self, number: u64) {
        let Some(client) = self.pending.remove(&number) else {
            self.worker(number).send(Notice::Left(number));
            return;
        };
        let mut bytes = [0; LENGTH];
        let length = rustix::io::read(&client.socket, &mut bytes).unwrap_or(0);
        match Hello::decode(&bytes[..length]) {
            None => self.refuse(&client.socket, Outcome::NotUnderstood),
            Some(Hello { version }) if version != VERSION => {
                self.refuse(&client.socket, Outcome::OtherVersion);
            }
            Some(_) => self.admit(number, client),
        }
    }

    fn admit(&self, number: u64, client: PendingClient) {
        let socket = Arc::new(client.socket);
        if self.start(number, &socket, client.permit).is_err() {
            self.refuse(&socket, Outcome::Failed);
        }
    }

    /// Makes a client's memory, gives it to its worker, and then to the client: when the client
    /// knows that it is welcome, its worker knows of it.
    fn start(&self, number: u64, socket: &Arc<OwnedFd>, permit: ClientPermit) -> Result<(), Error> {
        let Terms { geometry, generation, limit } = self.terms;
        let (requests, answers, eventfd) = regions(geometry)?;
        let eventfd = Arc::new(eventfd);
        let connection = Connection {
            number,
            _socket: socket.clone(),
            eventfd: eventfd.clone(),
            requests: Mapping::readable(&requests, geometry.requests_length())?,
            answers: Mapping::writable(&answers, geometry.answers_length())?,
            geometry,
            tags: Tags::new(geometry.slots()),
            next: 0,
            _permit: permit,
        };
        region::seal(&requests, false)?;
        region::seal(&answers, true)?;
        let data = EventData::new_u64(number);
        epoll::modify(&self.epoll, socket, data, EventFlags::RDHUP | EventFlags::ONESHOT)
            .map_err(while_doing("watching a client"))?;
        if !self.worker(number).send(Notice::Joined(Box::new(connection))) {
            return Err(Error::Gone);
        }
        let terms = greeting::Terms { geometry, generation, client: number };
        let outcome = Outcome::Admitted;
        let welcome = Welcome { version: VERSION, outcome, terms: Some(terms), limit };
        let bell = &self.worker(number).memory;
        let passed = [requests.as_fd(), answers.as_fd(), bell.as_fd(), eventfd.as_fd()];
        count(&self.counts.admitted);
        // If the client has left meanwhile, its socket reports it.
        let _ = socket::send(socket, &welcome.encode(), &passed);
        Ok(())
    }

    /// The worker that has this client.
    fn worker(&self, number: u64) -> &WorkerHandle {
        &self.workers[(number % self.workers.len() as u64) as usize]
    }

    fn refuse(&self, socket: &OwnedFd, outcome: Outcome) {
        count(&self.counts.refused);
        let refusal = Welcome::refusal(outcome, self.terms.limit);
        // If it has left, the refusal is not needed.
        let _ = socket::send(socket, &refusal.encode(), &[]);
    }

    /// Closes connections that have sent no hello in time.
    fn expire_silent(&mut self) {
        let refused = &self.counts.refused;
        self.pending.retain(|_, client| {
            let may_stay = client.since.elapsed() < PATIENCE;
            if !may_stay {
                count(refused);
            }
            may_stay
        });
    }
}
