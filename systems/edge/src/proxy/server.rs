//! Puts a proxy together: listens, and serves each client until the stop.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use serving::error::ServeError;
use serving::listener;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, System};
use serving::stop::Stop;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::conversation::{Door, Guest, converse};
use super::desk::Desk;
use super::log;
use super::settings;
use super::tally::{Place, Tally};

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A proxy.
pub const SYSTEM: System =
    System { name: "proxy", check: |options| settings::read(options).map(drop), start };

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        let listener = listener::bind(options.listen)?;
        let tally = Tally::new();
        let log = log::open(&configuration.log, tally.lost_lines.clone());
        let log = log.map_err(ServeError::while_doing("open the access log"))?;
        Ok((configuration.threads, (configuration, listener, tally, log)))
    };
    start::run(stop, prepare, async |(configuration, listener, tally, log), stop| {
        let address = listener::address(&listener)?;
        let ready = Ready::new(SYSTEM.name, configuration.effective()).listening("http", address);
        let (log, writer) = log.unzip();
        let tally = Arc::new(tally);
        let desk = Arc::new(Desk::new(&configuration, Arc::clone(&tally), log));
        announce(&ready);
        let limits = configuration.limits;
        let (held, mut all_gone) = mpsc::channel(1);
        let door = Door {
            desk: Arc::clone(&desk),
            tls: configuration.tls,
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
    })
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
