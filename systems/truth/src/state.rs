//! What all connections of one target share. One thread, so cells rather than locks.

use std::cell::{Cell, RefCell};
use std::io;

use serving::metrics::{Counter, Gauge, Registry};
use timer::Timer;

use crate::answer::{self, Last, PreparedAnswer};
use crate::configuration::{Behaviour, Configuration, TokenSettings};
use crate::model::{Draws, Model, Planned};
use crate::stamps::Stamps;
use crate::tokens::TokenPlan;

/// The state that all connections share.
pub(crate) struct TargetState {
    pub(crate) configuration: Configuration,
    pub(crate) timer: Timer,
    pub(crate) registry: Registry,
    pub(crate) counts: Counts,
    pub(crate) stamps: RefCell<Stamps>,
    /// Set when the target stops: every answer is then the last on its connection.
    pub(crate) stopping: Cell<bool>,
    /// Answers of which the first token is due and the last is not yet sent.
    pub(crate) decoding: Decoding,
    model: RefCell<Model>,
    behaviour_draws: RefCell<Draws>,
    configured: AnswerPair,
    ordinary: AnswerPair,
}

/// Counts the answers that emit tokens.
#[derive(Debug, Default)]
pub(crate) struct Decoding(Cell<u64>);

/// One answer that emits tokens, until it is dropped.
pub(crate) struct DecodingAnswer<'a>(&'a Cell<u64>);

/// The counters of `/metrics`.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) requests: Counter,
    pub(crate) accepted: Counter,
    pub(crate) turned_away: Counter,
    pub(crate) swept: Counter,
    pub(crate) open: Gauge,
}

/// An answer made ready, with and without `connection: close`.
pub(crate) struct AnswerPair {
    open: PreparedAnswer,
    last: PreparedAnswer,
}

impl AnswerPair {
    fn of(render: impl Fn(Last) -> PreparedAnswer) -> Self {
        Self { open: render(Last::No), last: render(Last::Yes) }
    }

    pub(crate) fn answer(&self, last: Last) -> &PreparedAnswer {
        match last {
            Last::No => &self.open,
            Last::Yes => &self.last,
        }
    }
}

impl Decoding {
    pub(crate) fn enter(&self) -> DecodingAnswer<'_> {
        self.0.update(|count| count + 1);
        DecodingAnswer(&self.0)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.get()
    }
}

impl Drop for DecodingAnswer<'_> {
    fn drop(&mut self) {
        self.0.update(|count| count - 1);
    }
}

impl TargetState {
    /// The state before the first request, with a timer on the current runtime.
    pub(crate) fn new(configuration: Configuration) -> io::Result<Self> {
        let registry = Registry::default();
        let state = Self {
            timer: Timer::start()?,
            counts: Counts::new(&registry),
            registry,
            stamps: RefCell::new(empty_stamps(&configuration)),
            stopping: Cell::new(false),
            decoding: Decoding::default(),
            model: RefCell::new(Model::new(configuration.timing, configuration.seed)),
            behaviour_draws: RefCell::new(behaviour_draws(&configuration)),
            configured: AnswerPair::of(|last| answer::configured(&configuration, last)),
            ordinary: AnswerPair::of(|last| answer::ordinary(&configuration, last)),
            configuration,
        };
        Ok(state)
    }

    /// Stamps an arrival and plans its answer.
    pub(crate) fn arrive(&self, arrived_ns: u64) -> Planned {
        let planned = self.model.borrow_mut().plan(arrived_ns);
        self.stamps.borrow_mut().arrived(arrived_ns, planned);
        self.counts.requests.one();
        planned
    }

    /// Chooses the answer to the next request: the configured behaviour, or an ordinary answer.
    pub(crate) fn pick_answer(&self) -> &AnswerPair {
        let refusing = matches!(self.configuration.behaviour, Behaviour::Refuse { .. });
        if !refusing && self.is_affected() { &self.configured } else { &self.ordinary }
    }

    /// Draws the tokens of the next answer; `limit` is the most that its client takes.
    pub(crate) fn plan_tokens(&self, settings: TokenSettings, limit: Option<u64>) -> TokenPlan {
        TokenPlan::new(settings, self.behaviour_draws.borrow_mut().fork(), limit)
    }

    /// Whether this connection is closed at once.
    pub(crate) fn refuses(&self) -> bool {
        matches!(self.configuration.behaviour, Behaviour::Refuse { .. }) && self.is_affected()
    }

    /// Back to the state before the first request: no stamps, idle server, same draws again.
    pub(crate) fn reset(&self) {
        self.stamps.borrow_mut().clear();
        *self.model.borrow_mut() = Model::new(self.configuration.timing, self.configuration.seed);
        *self.behaviour_draws.borrow_mut() = behaviour_draws(&self.configuration);
    }

    fn is_affected(&self) -> bool {
        self.behaviour_draws.borrow_mut().happens(self.configuration.share)
    }
}

fn empty_stamps(configuration: &Configuration) -> Stamps {
    let bound = configuration.max_stamps as usize;
    match configuration.behaviour {
        Behaviour::Tokens(_) => Stamps::with_tokens(bound),
        _ => Stamps::new(bound),
    }
}

/// Affected requests and tokens are drawn independently of the service times.
fn behaviour_draws(configuration: &Configuration) -> Draws {
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
