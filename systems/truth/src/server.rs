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
use serving::nonce::now_ns;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use crate::configuration::{self, Conduct, Configuration};
use crate::connection::{Presence, converse};
use crate::report::COUNTS;
use crate::room::Room;

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
    /// Reads the settings and listens: for load where told, and on a port of the kernel's choice
    /// for the control paths alone, which thus answer whatever is done to the load.
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
        let room =
            Room::new(self.configuration).map_err(ServeError::while_doing("make a timer"))?;
        let listen = ServeError::while_doing("listen");
        let listeners = TcpListener::from_std(self.http)
            .and_then(|http| Ok((http, TcpListener::from_std(self.control)?)));
        let (http, control) = listeners.map_err(listen)?;
        let mut server = Server {
            room: Rc::new(room),
            http: Some(http),
            control,
            talks: JoinSet::new(),
            present: HashMap::new(),
        };
        let driver = tokio::task::spawn_local(server.room.timer.clone().drive());
        server.accept_until(&mut stop).await?;
        server.drain().await?;
        driver.abort();
        Ok(())
    }
}

/// A target of known behaviour.
pub const SYSTEM: System = System {
    name: "truth",
    about: "a target of known behaviour",
    page: "systems/truth/README.md",
    surface: |_| Surface {
        listening: vec!["http", "control"],
        counts: COUNTS.into(),
        ..Surface::default()
    },
    check: |options| configuration::read(options).map(drop),
    start,
};

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
    room: Rc<Room>,
    /// Gone once mode `refuse` has closed it.
    http: Option<TcpListener>,
    control: TcpListener,
    talks: JoinSet<io::Result<()>>,
    present: HashMap<Id, (Rc<Presence>, AbortHandle)>,
}

impl Server {
    async fn accept_until(&mut self, stop: &mut Stop) -> Result<(), ServeError> {
        let timer = self.room.timer.clone();
        let mut sweep = timer.sleep_until(now_ns() + SWEEP_NS);
        loop {
            tokio::select! {
                () = stop.pulled() => return Ok(()),
                accepted = accept(self.http.as_ref()) => match accepted {
                    Ok(stream) => self.admit_load(stream),
                    Err(_) => self.pause().await?,
                },
                accepted = accept(Some(&self.control)) => match accepted {
                    Ok(stream) => self.admit(stream),
                    Err(_) => self.pause().await?,
                },
                Some(ended) = self.talks.join_next_with_id() => self.forget(ended),
                slept = &mut sweep => {
                    slept.map_err(ServeError::while_doing("wait"))?;
                    self.sweep();
                    sweep = timer.sleep_until(now_ns() + SWEEP_NS);
                }
            }
        }
    }

    /// A connection for load: refused, turned away, or admitted.
    fn admit_load(&mut self, stream: TcpStream) {
        let counts = &self.room.counts;
        counts.accepted.one();
        let limit = self.room.configuration.limits.max_connections;
        if self.room.refuses() || self.talks.len() as u64 >= limit {
            counts.turned_away.one();
            drop(stream);
        } else {
            self.admit(stream);
        }
        let conduct = self.room.configuration.conduct;
        if let Conduct::Refuse { close_listener_after: Some(after) } = conduct
            && self.room.counts.accepted.get() >= after
        {
            self.http = None;
        }
    }

    fn admit(&mut self, stream: TcpStream) {
        let presence = Rc::new(Presence { until_ns: Cell::new(u64::MAX), idle: Cell::new(true) });
        let talk = converse(stream, Rc::clone(&self.room), Rc::clone(&presence));
        let handle = self.talks.spawn_local(talk);
        self.present.insert(handle.id(), (presence, handle));
        self.room.counts.open.add(1);
    }

    /// How a conversation broke off is the peer's affair; a panic is ours and goes on.
    fn forget(&mut self, ended: Result<(Id, io::Result<()>), JoinError>) {
        let id = match ended {
            Ok((id, _)) => id,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => error.id(),
        };
        if self.present.remove(&id).is_some() {
            self.room.counts.open.add(-1);
        }
    }

    fn sweep(&mut self) {
        let now_ns = now_ns();
        for (presence, handle) in self.present.values() {
            if presence.until_ns.get() < now_ns && !handle.is_finished() {
                self.room.counts.swept.one();
                handle.abort();
            }
        }
    }

    /// Closes what is idle, lets the rest finish, and cuts off what has not by the bound.
    async fn drain(&mut self) -> Result<(), ServeError> {
        let waiting = ServeError::while_doing("wait");
        self.http = None;
        self.room.stopping.set(true);
        let timer = self.room.timer.clone();
        let now_ns = now_ns();
        timer.sleep_until(now_ns + LAST_LOOK_NS).await.map_err(waiting)?;
        for (presence, handle) in self.present.values() {
            if presence.idle.get() {
                handle.abort();
            }
        }
        let drain_ns = self.room.configuration.limits.drain_ns;
        let mut bound = timer.sleep_until(now_ns.saturating_add(drain_ns));
        loop {
            tokio::select! {
                ended = self.talks.join_next_with_id() => match ended {
                    Some(ended) => self.forget(ended),
                    None => return Ok(()),
                },
                slept = &mut bound => {
                    self.talks.abort_all();
                    return slept.map_err(ServeError::while_doing("wait"));
                }
            }
        }
    }

    async fn pause(&self) -> Result<(), ServeError> {
        let until_ns = now_ns() + ACCEPT_PAUSE_NS;
        self.room.timer.sleep_until(until_ns).await.map_err(ServeError::while_doing("wait"))
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => Ok(listener.accept().await?.0),
        None => pending().await,
    }
}
