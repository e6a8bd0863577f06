//! Lanes that share a connection, each with a stream of its own on it.
//!
//! Where a connection carries one operation at a time each lane is alone in its bundle, and all of this costs one
//! reference count for each connection. Where it carries many, the first lane that needs the connection makes it, the
//! others wait for that, and it goes when the last of them does, or when it can carry nothing more.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use record::FailureKind;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_local};

use super::job::Job;
use super::room::Room;
use crate::clock::Clock;
use crate::driver::{Connected, Driver, Exchange};
use crate::transport::Network;

/// A connection in use, with the task that it needs.
///
/// Fields are dropped in order: the connection before its task.
pub(super) struct Trunk<C: Clock, N: Network, D: Driver> {
    room: Rc<Room<C, N, D>>,
    ended: Cell<bool>,
    connection: RefCell<D::Connection>,
    _background: Option<Background>,
}

/// The task of a connection; it ends with it.
struct Background(JoinHandle<()>);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A stream that a lane has, and the connection that it is on.
///
/// Fields are dropped in order: the stream before its connection.
pub(super) struct Line<C: Clock, N: Network, D: Driver> {
    pub(super) stream: D::Stream,
    pub(super) trunk: Rc<Trunk<C, N, D>>,
}

/// The connections of some lanes, one to each target.
pub(super) struct Bundle<C: Clock, N: Network, D: Driver> {
    /// By target.
    slots: RefCell<Vec<Slot<C, N, D>>>,
    /// Wakes those who wait for a connection that another one makes.
    changed: Notify,
}

enum Slot<C: Clock, N: Network, D: Driver> {
    Free,
    /// One of the lanes is at it.
    Connecting,
    Open(Rc<Trunk<C, N, D>>),
}

impl<C: Clock, N: Network, D: Driver> Trunk<C, N, D> {
    /// Nothing new is begun on it; `given_up` if that was not our plan. Gives whether that is news.
    pub(super) fn end(&self, given_up: bool) -> bool {
        let is_news = !self.ended.replace(true);
        if is_news && given_up {
            self.room.lost();
        }
        is_news
    }

    /// Whether it goes on where one of its streams does not.
    pub(super) fn outlives_streams(&self) -> bool {
        self.room.brief.driver.outlives_streams(&mut self.connection.borrow_mut())
    }

    fn open_stream(&self) -> Option<D::Stream> {
        self.room.brief.driver.open_stream(&mut self.connection.borrow_mut())
    }
}

impl<C: Clock, N: Network, D: Driver> Drop for Trunk<C, N, D> {
    /// Open until now: what was under way when it ended may have taken a while.
    fn drop(&mut self) {
        self.room.disconnected();
    }
}

impl<C: Clock, N: Network, D: Driver> Bundle<C, N, D> {
    /// One without connections.
    pub(super) fn new(room: &Room<C, N, D>) -> Rc<Self> {
        let slots = room.brief.endpoints.iter().map(|_| Slot::Free).collect();
        Rc::new(Self { slots: RefCell::new(slots), changed: Notify::new() })
    }

    /// A stream to this job's target, on the connection that is there or on one that is made. May be dropped
    /// at any time.
    ///
    /// Errors: of connecting, the kind of failure and what was seen
    pub(super) async fn join(
        &self,
        room: &Rc<Room<C, N, D>>,
        job: &Job,
        exchange: &mut Exchange<C>,
    ) -> Result<Line<C, N, D>, (FailureKind, String)> {
        let claim = loop {
            let changed = self.changed.notified();
            let open = match &self.slots.borrow()[job.target] {
                Slot::Free => None,
                Slot::Connecting => Some(None),
                Slot::Open(trunk) => Some(Some(Rc::clone(trunk))),
            };
            match open {
                None => break Claim::of(self, job.target),
                Some(None) => changed.await,
                Some(Some(trunk)) => match trunk.open_stream() {
                    Some(stream) => return Ok(Line { stream, trunk }),
                    None => {
                        self.forget(job.target, &trunk);
                        trunk.end(true);
                    }
                },
            }
        };
        let line = connect(room, job, exchange).await?;
        claim.settle(&line.trunk);
        Ok(line)
    }

    /// Nobody opens a stream on this connection any more.
    pub(super) fn forget(&self, target: usize, trunk: &Rc<Trunk<C, N, D>>) {
        let slot = &mut self.slots.borrow_mut()[target];
        if matches!(slot, Slot::Open(known) if Rc::ptr_eq(known, trunk)) {
            *slot = Slot::Free;
        }
    }
}

/// Somebody connects; whatever becomes of that, those who wait are told.
struct Claim<'a, C: Clock, N: Network, D: Driver> {
    bundle: &'a Bundle<C, N, D>,
    target: usize,
}

impl<'a, C: Clock, N: Network, D: Driver> Claim<'a, C, N, D> {
    fn of(bundle: &'a Bundle<C, N, D>, target: usize) -> Self {
        bundle.slots.borrow_mut()[target] = Slot::Connecting;
        Self { bundle, target }
    }

    fn settle(self, trunk: &Rc<Trunk<C, N, D>>) {
        self.bundle.slots.borrow_mut()[self.target] = Slot::Open(Rc::clone(trunk));
    }
}

impl<C: Clock, N: Network, D: Driver> Drop for Claim<'_, C, N, D> {
    fn drop(&mut self) {
        let slot = &mut self.bundle.slots.borrow_mut()[self.target];
        if matches!(slot, Slot::Connecting) {
            *slot = Slot::Free;
        }
        self.bundle.changed.notify_waiters();
    }
}

/// Connects for this job and opens a stream.
async fn connect<C: Clock, N: Network, D: Driver>(
    room: &Rc<Room<C, N, D>>,
    job: &Job,
    exchange: &mut Exchange<C>,
) -> Result<Line<C, N, D>, (FailureKind, String)> {
    let endpoint = &room.brief.endpoints[job.target];
    let operation = &room.brief.prepared[job.assignment.operation].operation;
    let driver = &room.brief.driver;
    let stream = room.network.open(endpoint, exchange).await?;
    let Connected { mut connection, background } =
        driver.connect(operation, endpoint, stream, exchange).await?;
    let background = background.map(|task| Background(spawn_local(task)));
    let Some(stream) = driver.open_stream(&mut connection) else {
        return Err((FailureKind::Closed, "a new connection carries no stream".to_owned()));
    };
    room.connected();
    let trunk = Trunk {
        room: Rc::clone(room),
        ended: Cell::new(false),
        connection: RefCell::new(connection),
        _background: background,
    };
    Ok(Line { stream, trunk: Rc::new(trunk) })
}

/// The bundles that the lanes of an open load are dealt out to: a further connection is made where every stream of
/// the others is busy.
pub(super) struct Bundles<C: Clock, N: Network, D: Driver> {
    /// By target.
    last: Vec<Option<Filling<C, N, D>>>,
}

/// The last bundle, and how many lanes it has.
type Filling<C, N, D> = (Rc<Bundle<C, N, D>>, u32);

impl<C: Clock, N: Network, D: Driver> Bundles<C, N, D> {
    /// None yet.
    pub(super) fn new(room: &Room<C, N, D>) -> Self {
        Self { last: room.brief.endpoints.iter().map(|_| None).collect() }
    }

    /// The bundle of a new lane towards this target.
    pub(super) fn place(&mut self, room: &Room<C, N, D>, target: usize) -> Rc<Bundle<C, N, D>> {
        let last = &mut self.last[target];
        match last {
            Some((bundle, lanes)) if *lanes < room.brief.load.streams => {
                *lanes += 1;
                Rc::clone(bundle)
            }
            _ => Rc::clone(&last.insert((Bundle::new(room), 1)).0),
        }
    }
}
