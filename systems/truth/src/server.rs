//! Accepts, sweeps and drains.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use serde_json::{Value, json};
use serving::error::ServeError;
use serving::limits;
use serving::listener;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use timer::monotonic;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use crate::configuration::{self, Behaviour, Configuration};
use crate::connection::{ConnectionStatus, serve_connection};
use crate::report::{COUNTS, TOKEN_COUNTS};
use crate::state::TargetState;

/// How often connections are looked over for those that have had their time.
const SWEEP_NS: u64 = 500_000_000;
/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE_NS: u64 = 10_000_000;
/// Before idle connections are closed in a drain, so that requests already here are read.
const LAST_LOOK_NS: u64 = 1_000_000;

/// A target that listens and is ready to run.
#[derive(Debug)]
pub struct Truth {
    configuration: Configuration,
    http: std::net::TcpListener,
    control: std::net::TcpListener,
    ready: Ready,
}

impl Truth {
    /// Reads the settings and listens for load at the given address, and for the control paths on a
    /// port that the kernel chooses, so that they answer in every mode.
    ///
    /// Errors: bad settings (exit code 2); an address that cannot be listened on (4)
    pub fn bind(options: &Options) -> Result<Self, ServeError> {
        let configuration = configuration::read(options)?;
        let http = listener::bind(options.listen)?;
        let control = listener::bind(SocketAddr::new(options.listen.ip(), 0))?;
        let ready = Ready::new(SYSTEM.name, effective(&configuration, &http))
            .listening("http", listener::address(&http)?)
            .listening("control", listener::address(&control)?);
        Ok(Self { configuration, http, control, ready })
    }

    /// What to announce. The sockets listen already: what connects from now on is served.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Serves on the calling thread until stopped and drained.
    ///
    /// Errors: the runtime or the timer cannot be made
    pub fn run(self, stop: Stop) -> Result<(), ServeError> {
        on_this_thread(async { self.serve(stop).await })
    }

    async fn serve(self, mut stop: Stop) -> Result<(), ServeError> {
        let state = TargetState::new(self.configuration)
            .map_err(ServeError::while_doing("make a timer"))?;
        let listen = ServeError::while_doing("listen");
        let listeners = TcpListener::from_std(self.http)
            .and_then(|http| Ok((http, TcpListener::from_std(self.control)?)));
        let (http, control) = listeners.map_err(listen)?;
        let mut server = Server {
            state: Rc::new(state),
            http: Some(http),
            control,
            connections: JoinSet::new(),
            open: HashMap::new(),
        };
        server.accept_until(&mut stop).await;
        server.drain().await;
        Ok(())
    }
}

/// A target of known behaviour.
pub const SYSTEM: System = System {
    name: "truth",
    about: "a target of known behaviour",
    page: "systems/truth/README.md",
    surface,
    check: |options| configuration::read(options).map(drop),
    start,
};

fn surface(options: &Options) -> Surface {
    let mut counts = Vec::from(COUNTS);
    if options.settings.get("mode").is_some_and(|mode| mode == "tokens") {
        counts.extend(TOKEN_COUNTS);
    }
    Surface { listening: vec!["http", "control"], counts, ..Surface::default() }
}

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    limits::raise_open_files();
    let truth = Truth::bind(options)?;
    on_this_thread(async {
        let stop = start::until(stop)?;
        announce(truth.ready());
        truth.serve(stop).await
    })
}

fn on_this_thread(work: impl Future<Output = Result<(), ServeError>>) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .build_local(LocalOptions::default())
        .map_err(ServeError::while_doing("make a runtime"))?;
    runtime.block_on(work)
}

/// The configuration in force.
fn effective(configuration: &Configuration, http: &std::net::TcpListener) -> Value {
    let mut value = json!(configuration);
    value["backlog"] = listener::backlog(http).ok().into();
    value["open_files"] = limits::open_files().into();
    value["version"] = env!("CARGO_PKG_VERSION").into();
    value
}

struct Server {
    state: Rc<TargetState>,
    /// Gone once mode `refuse` has closed it.
    http: Option<TcpListener>,
    control: TcpListener,
    connections: JoinSet<io::Result<()>>,
    open: HashMap<Id, (Rc<ConnectionStatus>, AbortHandle)>,
}

impl Server {
    async fn accept_until(&mut self, stop: &mut Stop) {
        let timer = self.state.timer.clone();
        let mut sweep = timer.sleep_until(monotonic() + SWEEP_NS);
        loop {
            tokio::select! {
                () = stop.pulled() => return,
                accepted = accept(self.http.as_ref()) => match accepted {
                    Ok(stream) => self.accept_load(stream),
                    Err(_) => self.pause().await,
                },
                accepted = accept(Some(&self.control)) => match accepted {
                    Ok(stream) => self.accept_connection(stream),
                    Err(_) => self.pause().await,
                },
                Some(ended) = self.connections.join_next_with_id() => self.forget(ended),
                () = &mut sweep => {
                    self.sweep();
                    sweep = timer.sleep_until(monotonic() + SWEEP_NS);
                }
            }
        }
    }

    /// A connection for load: refused, turned away, or admitted.
    fn accept_load(&mut self, stream: TcpStream) {
        let counts = &self.state.counts;
        counts.accepted.one();
        let limit = self.state.configuration.limits.max_connections;
        if self.state.refuses() || self.connections.len() as u64 >= limit {
            counts.turned_away.one();
            drop(stream);
        } else {
            self.accept_connection(stream);
        }
        let behaviour = self.state.configuration.behaviour;
        if let Behaviour::Refuse { close_listener_after: Some(after) } = behaviour
            && self.state.counts.accepted.get() >= after
        {
            self.http = None;
        }
    }

    fn accept_connection(&mut self, stream: TcpStream) {
        let status =
            Rc::new(ConnectionStatus { until_ns: Cell::new(u64::MAX), idle: Cell::new(true) });
        let connection = serve_connection(stream, Rc::clone(&self.state), Rc::clone(&status));
        let handle = self.connections.spawn_local(connection);
        self.open.insert(handle.id(), (status, handle));
        self.state.counts.open.add(1);
    }

    /// An error of a connection is the peer's fault and is ignored; a panic is a bug and continues
    /// here.
    fn forget(&mut self, ended: Result<(Id, io::Result<()>), JoinError>) {
        let id = match ended {
            Ok((id, _)) => id,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => error.id(),
        };
        if self.open.remove(&id).is_some() {
            self.state.counts.open.add(-1);
        }
    }

    fn sweep(&mut self) {
        let now_ns = monotonic();
        for (status, handle) in self.open.values() {
            if status.until_ns.get() < now_ns && !handle.is_finished() {
                self.state.counts.swept.one();
                handle.abort();
            }
        }
    }

    /// Closes what is idle, lets the rest finish, and cuts off what has not by the bound.
    async fn drain(&mut self) {
        self.http = None;
        self.state.stopping.set(true);
        let timer = self.state.timer.clone();
        let now_ns = monotonic();
        timer.sleep_until(now_ns + LAST_LOOK_NS).await;
        for (status, handle) in self.open.values() {
            if status.idle.get() {
                handle.abort();
            }
        }
        let drain_ns = self.state.configuration.limits.drain_ns;
        let mut bound = timer.sleep_until(now_ns.saturating_add(drain_ns));
        loop {
            tokio::select! {
                ended = self.connections.join_next_with_id() => match ended {
                    Some(ended) => self.forget(ended),
                    None => return,
                },
                () = &mut bound => return self.connections.abort_all(),
            }
        }
    }

    async fn pause(&self) {
        self.state.timer.sleep_until(monotonic() + ACCEPT_PAUSE_NS).await;
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => pending().await,
    }
}
