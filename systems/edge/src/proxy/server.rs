//! Puts a proxy together: listens, and serves each client until the stop.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use serving::error::ServeError;
use serving::listener;
use serving::metrics::Counter;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::conversation::{Door, Guest, converse};
use super::desk::Desk;
use super::log::{self, Log, Writer};
use super::settings::{self, Configuration};
use super::tally::{Place, Tally};
use super::times::PARTS;

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A proxy.
pub const SYSTEM: System = System {
    name: "proxy",
    about: "a caching reverse proxy",
    page: "systems/edge/proxy.md",
    surface: |_| Surface {
        parts: PARTS.into(),
        // What is behind it may report its own.
        other_parts: true,
        ..Surface::default()
    },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        let premises = Premises::take(options.listen, &configuration)?;
        Ok((configuration.threads, (configuration, premises)))
    };
    start::run(stop, prepare, async |(configuration, premises), stop| {
        let address = premises.address()?;
        let ready = Ready::new(SYSTEM.name, configuration.effective()).listening("http", address);
        serve(&configuration, premises, stop, || announce(&ready)).await
    })
}

/// What a proxy has before it serves.
#[derive(Debug)]
pub(crate) struct Premises {
    listener: StdListener,
    tally: Tally,
    log: Option<(Log, Writer)>,
}

impl Premises {
    /// Listens here, and opens the access log; where requests go plays no part yet.
    pub fn take(listen: SocketAddr, configuration: &Configuration) -> Result<Self, ServeError> {
        let listener = listener::bind(listen)?;
        let tally = Tally::new();
        let log = log::open(&configuration.log, tally.lost_lines.clone());
        let log = log.map_err(ServeError::while_doing("open the access log"))?;
        Ok(Self { listener, tally, log })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        listener::address(&self.listener)
    }

    /// Counts how often a part beside the proxy was started again, among its own figures.
    pub fn restarts(&self, part: &str) -> Counter {
        self.tally.restarts(part)
    }
}

/// Serves until stopped; what is cast about the last answers has gone out or is counted as dropped when this returns.
pub(crate) async fn serve(
    configuration: &Configuration,
    premises: Premises,
    stop: Stop,
    announce: impl FnOnce(),
) -> Result<(), ServeError> {
    let Premises { listener, tally, log } = premises;
    let (log, writer) = log.unzip();
    let tally = Arc::new(tally);
    let desk = Arc::new(Desk::new(configuration, Arc::clone(&tally), log));
    announce();
    let limits = configuration.limits;
    let (held, mut all_gone) = mpsc::channel(1);
    let door = Door {
        desk: Arc::clone(&desk),
        tls: configuration.tls.clone(),
        limits,
        streams: configuration.streams,
        tally,
        held,
    };
    let served = accept(listener, Arc::new(door), stop).await;
    // Streams are tasks of their own, which end with their connections.
    all_gone.recv().await;
    desk.finish(limits.drain()).await;
    // The log is at its end once nobody can write to it.
    drop(desk);
    if let Some(writer) = writer {
        writer.finish();
    }
    served.map_err(ServeError::while_doing("accept"))
}

/// Accepts until stopped, then finishes what is under way within the time for it. Beyond the most clients, one more is
/// closed at once.
async fn accept(listener: StdListener, door: Arc<Door>, mut stop: Stop) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let (limits, tally) = (door.limits, &door.tally);
    let mut talks = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = talks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => match Place::take(&tally.clients, limits.max_connections) {
                    Some(place) => {
                        let guest = Guest { stream, address, place };
                        talks.spawn(converse(guest, Arc::clone(&door), stop.clone()));
                    }
                    None => tally.turned_away.one(),
                },
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let all = async { while talks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.drain(), all).await;
    // What is still under way after the bound is cut off.
    talks.shutdown().await;
    Ok(())
}
