//! What all connections of one target share. One thread, so cells rather than locks.

use std::cell::{Cell, RefCell};
use std::io;

use serving::metrics::{Counter, Gauge, Registry};
use serving::timer::Timer;

use crate::configuration::{Conduct, Configuration};
use crate::model::{Draws, Model, Planned};
use crate::script::{self, Last, Script};
use crate::stamps::Stamps;

/// Everything between the sockets.
pub(crate) struct Room {
    pub(crate) configuration: Configuration,
    pub(crate) timer: Timer,
    pub(crate) registry: Registry,
    pub(crate) counts: Counts,
    pub(crate) stamps: RefCell<Stamps>,
    /// Set once the target was told to stop: every answer is then its connection's last.
    pub(crate) stopping: Cell<bool>,
    model: RefCell<Model>,
    luck: RefCell<Draws>,
    configured: Answer,
    ordinary: Answer,
}

/// What `/metrics` tells.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) requests: Counter,
    pub(crate) accepted: Counter,
    pub(crate) turned_away: Counter,
    pub(crate) swept: Counter,
    pub(crate) open: Gauge,
}

/// An answer made ready, with and without `connection: close`.
pub(crate) struct Answer {
    open: Script,
    last: Script,
}

impl Answer {
    fn of(render: impl Fn(Last) -> Script) -> Self {
        Self { open: render(Last::No), last: render(Last::Yes) }
    }

    pub(crate) fn script(&self, last: Last) -> &Script {
        match last {
            Last::No => &self.open,
            Last::Yes => &self.last,
        }
    }
}

impl Room {
    /// A room on the current runtime.
    pub(crate) fn new(configuration: Configuration) -> io::Result<Self> {
        let registry = Registry::default();
        let room = Self {
            timer: Timer::new()?,
            counts: Counts::new(&registry),
            registry,
            stamps: RefCell::new(Stamps::new(configuration.max_stamps as usize)),
            stopping: Cell::new(false),
            model: RefCell::new(Model::new(configuration.timing, configuration.seed)),
            luck: RefCell::new(luck(&configuration)),
            configured: Answer::of(|last| script::configured(&configuration, last)),
            ordinary: Answer::of(|last| script::ordinary(&configuration, last)),
            configuration,
        };
        Ok(room)
    }

    /// Stamps an arrival and plans its answer.
    pub(crate) fn arrive(&self, arrived_ns: u64) -> Planned {
        let planned = self.model.borrow_mut().plan(arrived_ns);
        self.stamps.borrow_mut().arrived(arrived_ns, planned);
        self.counts.requests.one();
        planned
    }

    /// Draws the answer to the next request: the conduct's, or an ordinary one if it is spared.
    pub(crate) fn draw(&self) -> &Answer {
        let refusing = matches!(self.configuration.conduct, Conduct::Refuse { .. });
        if !refusing && self.strikes() { &self.configured } else { &self.ordinary }
    }

    /// Whether this connection is one of those that are closed at once.
    pub(crate) fn refuses(&self) -> bool {
        matches!(self.configuration.conduct, Conduct::Refuse { .. }) && self.strikes()
    }

    /// Back to the state before the first request: no stamps, idle server, same draws again.
    pub(crate) fn reset(&self) {
        self.stamps.borrow_mut().clear();
        *self.model.borrow_mut() = Model::new(self.configuration.timing, self.configuration.seed);
        *self.luck.borrow_mut() = luck(&self.configuration);
    }

    fn strikes(&self) -> bool {
        self.luck.borrow_mut().happens(self.configuration.share)
    }
}

/// A stream of draws apart from that of the service times.
fn luck(configuration: &Configuration) -> Draws {
    Draws::new(!configuration.seed)
}

impl Counts {
    fn new(registry: &Registry) -> Self {
        Self {
            requests: registry.counter("truth_requests_total", "Requests, control apart."),
            accepted: registry.counter("truth_connections_total", "Connections accepted."),
            turned_away: registry
                .counter("truth_connections_refused_total", "Connections closed when accepted."),
            swept: registry
                .counter("truth_connections_timed_out_total", "Connections closed by a limit."),
            open: registry.gauge("truth_connections", "Open connections."),
        }
    }
}
