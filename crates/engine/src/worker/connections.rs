//! Connections that slots share, with a stream for each slot.
//!
//! Where a connection carries one operation at a time, each slot has its own, and sharing costs one reference count
//! for each connection. Where it carries many, the first slot of a group that needs the connection opens it and the
//! others wait; it is closed when the last slot drops it or when it can carry nothing more.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use record::FailureKind;
use tokio::sync::Notify;

use super::due_operation::DueOperation;
use super::state::WorkerState;
use super::workload::Workload;
use crate::clock::Clock;
use crate::connect::{self, BackgroundTask, OpenedConnection};
use crate::driver::{Driver, Exchange};
use crate::transport::Network;

/// A connection in use, with the task that it needs.
///
/// Fields are dropped in order: the connection before its task.
pub(super) struct SharedConnection<C: Clock, N: Network, D: Driver> {
    state: Rc<WorkerState<C, N, D>>,
    ended: Cell<bool>,
    connection: RefCell<D::Connection>,
    _background: Option<BackgroundTask>,
}

/// A stream that a slot has, and the connection that it is on.
///
/// Fields are dropped in order: the stream before its connection.
pub(super) struct OpenStream<C: Clock, N: Network, D: Driver> {
    pub(super) stream: D::Stream,
    pub(super) connection: Rc<SharedConnection<C, N, D>>,
}

/// The streams of a slot, or of a journey that lends them to one, and the connections that they are on.
pub(super) struct ConnectionSet<C: Clock, N: Network, D: Driver> {
    /// By target.
    pub(super) streams: Vec<Option<OpenStream<C, N, D>>>,
    pub(super) group: Rc<ConnectionGroup<C, N, D>>,
}

impl<C: Clock, N: Network, D: Driver> ConnectionSet<C, N, D> {
    /// One on the connections of this group.
    pub(super) fn joining(
        state: &WorkerState<C, N, D>,
        group: Rc<ConnectionGroup<C, N, D>>,
    ) -> Self {
        Self { streams: state.workload.endpoints.iter().map(|_| None).collect(), group }
    }

    /// Closes a stream and its connection. Returns whether the connection had not ended before.
    pub(super) fn close(&mut self, target: usize, given_up: bool) -> bool {
        let Some(OpenStream { stream, connection }) = self.streams[target].take() else {
            return false;
        };
        drop(stream);
        self.group.forget(target, &connection);
        connection.end(given_up)
    }

    /// Closes everything, as planned.
    pub(super) fn close_all(mut self) {
        for target in 0..self.streams.len() {
            self.close(target, false);
        }
    }
}

/// The connections of some slots, one to each target.
pub(super) struct ConnectionGroup<C: Clock, N: Network, D: Driver> {
    /// By target.
    connections: RefCell<Vec<ConnectionState<C, N, D>>>,
    /// Wakes slots that wait for a connection which another slot opens.
    changed: Notify,
}

enum ConnectionState<C: Clock, N: Network, D: Driver> {
    Free,
    /// One of the slots is opening it.
    Connecting,
    Open(Rc<SharedConnection<C, N, D>>),
}

impl<C: Clock, N: Network, D: Driver> SharedConnection<C, N, D> {
    /// Ends it for new operations; `given_up` if that was not planned. Returns whether it had not ended before.
    pub(super) fn end(&self, given_up: bool) -> bool {
        let is_first = !self.ended.replace(true);
        if is_first && given_up {
            self.state.lost();
        }
        is_first
    }

    /// Whether it stays usable after one of its streams was given up.
    pub(super) fn outlives_streams(&self) -> bool {
        self.state.workload.driver.outlives_streams(&mut self.connection.borrow_mut())
    }

    fn open_stream(&self) -> Option<D::Stream> {
        self.state.workload.driver.open_stream(&mut self.connection.borrow_mut())
    }
}

impl<C: Clock, N: Network, D: Driver> Drop for SharedConnection<C, N, D> {
    /// It counts as open until now, since operations on it may still have run after it ended.
    fn drop(&mut self) {
        self.state.disconnected();
    }
}

impl<C: Clock, N: Network, D: Driver> ConnectionGroup<C, N, D> {
    /// One without connections.
    pub(super) fn new(workload: &Workload<D>) -> Rc<Self> {
        let connections = workload.endpoints.iter().map(|_| ConnectionState::Free).collect();
        Rc::new(Self { connections: RefCell::new(connections), changed: Notify::new() })
    }

    /// A stream to this operation's target, on the open connection or on a new one. May be dropped at any time.
    ///
    /// Errors: connecting failed: the kind of failure and what was seen
    pub(super) async fn join(
        &self,
        state: &Rc<WorkerState<C, N, D>>,
        due: &DueOperation,
        exchange: &mut Exchange<C>,
    ) -> Result<OpenStream<C, N, D>, (FailureKind, String)> {
        let (workload, place) = (&*state.workload, due.assignment.operation);
        let operation = &workload.prepared[place].operation;
        let is_shared = workload.operations[place].multiplexes
            && workload.driver.shares_connection(operation, operation);
        if !is_shared {
            return connect(state, due, exchange).await;
        }
        let guard = loop {
            let changed = self.changed.notified();
            let open = match &self.connections.borrow()[due.target] {
                ConnectionState::Free => None,
                ConnectionState::Connecting => Some(None),
                ConnectionState::Open(connection) => Some(Some(Rc::clone(connection))),
            };
            match open {
                None => break ConnectGuard::of(self, due.target),
                Some(None) => changed.await,
                Some(Some(connection)) => match connection.open_stream() {
                    Some(stream) => return Ok(OpenStream { stream, connection }),
                    None => {
                        self.forget(due.target, &connection);
                        connection.end(true);
                    }
                },
            }
        };
        let open = connect(state, due, exchange).await?;
        guard.settle(&open.connection);
        Ok(open)
    }

    /// Stops opening streams on this connection.
    pub(super) fn forget(&self, target: usize, connection: &Rc<SharedConnection<C, N, D>>) {
        let current = &mut self.connections.borrow_mut()[target];
        if matches!(current, ConnectionState::Open(known) if Rc::ptr_eq(known, connection)) {
            *current = ConnectionState::Free;
        }
    }
}

/// Held while a slot connects; its drop wakes the slots that wait, whether connecting succeeded or not.
struct ConnectGuard<'a, C: Clock, N: Network, D: Driver> {
    group: &'a ConnectionGroup<C, N, D>,
    target: usize,
}

impl<'a, C: Clock, N: Network, D: Driver> ConnectGuard<'a, C, N, D> {
    fn of(group: &'a ConnectionGroup<C, N, D>, target: usize) -> Self {
        group.connections.borrow_mut()[target] = ConnectionState::Connecting;
        Self { group, target }
    }

    fn settle(self, connection: &Rc<SharedConnection<C, N, D>>) {
        self.group.connections.borrow_mut()[self.target] =
            ConnectionState::Open(Rc::clone(connection));
    }
}

impl<C: Clock, N: Network, D: Driver> Drop for ConnectGuard<'_, C, N, D> {
    fn drop(&mut self) {
        let current = &mut self.group.connections.borrow_mut()[self.target];
        if matches!(current, ConnectionState::Connecting) {
            *current = ConnectionState::Free;
        }
        self.group.changed.notify_waiters();
    }
}

/// Connects for this operation and opens a stream.
async fn connect<C: Clock, N: Network, D: Driver>(
    state: &Rc<WorkerState<C, N, D>>,
    due: &DueOperation,
    exchange: &mut Exchange<C>,
) -> Result<OpenStream<C, N, D>, (FailureKind, String)> {
    let endpoint = &state.workload.endpoints[due.target];
    let operation = &state.workload.prepared[due.assignment.operation].operation;
    let driver = &state.workload.driver;
    exchange.turn = state.addresses.turn(due.target);
    let opened = connect::connect(&**driver, operation, endpoint, &state.network, exchange).await?;
    state.addresses.count(due.target, exchange.address);
    let OpenedConnection { stream, connection, background } = opened;
    state.connected();
    let connection = SharedConnection {
        state: Rc::clone(state),
        ended: Cell::new(false),
        connection: RefCell::new(connection),
        _background: background,
    };
    Ok(OpenStream { stream, connection: Rc::new(connection) })
}

/// The groups that slots of an open load are assigned to: a further connection is opened where every stream of
/// the others is busy.
pub(super) struct ConnectionGroups<C: Clock, N: Network, D: Driver> {
    /// By target: the group that is being filled.
    last: Vec<Option<FillingGroup<C, N, D>>>,
}

/// A group that may take further slots.
struct FillingGroup<C: Clock, N: Network, D: Driver> {
    group: Rc<ConnectionGroup<C, N, D>>,
    slots: u32,
}

impl<C: Clock, N: Network, D: Driver> ConnectionGroups<C, N, D> {
    /// Groups without connections.
    pub(super) fn new(workload: &Workload<D>) -> Self {
        Self { last: workload.endpoints.iter().map(|_| None).collect() }
    }

    /// Fills none of them any further.
    pub(super) fn clear(&mut self) {
        self.last.iter_mut().for_each(|last| *last = None);
    }

    /// The group of a new slot towards this target.
    pub(super) fn place(
        &mut self,
        workload: &Workload<D>,
        target: usize,
    ) -> Rc<ConnectionGroup<C, N, D>> {
        let last = &mut self.last[target];
        match last {
            Some(filling) if filling.slots < workload.load.streams => {
                filling.slots += 1;
                Rc::clone(&filling.group)
            }
            _ => {
                let filling = FillingGroup { group: ConnectionGroup::new(workload), slots: 1 };
                Rc::clone(&last.insert(filling).group)
            }
        }
    }
}
