//! Puts a front together: one thread accepts and hands connections out, and all of them serve theirs.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proxying::Proxy;
use serving::error::ServeError;
use serving::listener;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::cost::Burner;
use super::handler::Handler;
use super::settings::{self, Configuration};
use super::tally::Tally;
use super::worker::{Accepted, Worker};

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A front before a service.
pub const SYSTEM: System = System {
    name: "search-front",
    about: "a reverse proxy before a search service, or before any server",
    page: "experiments/fronts/README.md",
    surface: |_| Surface { parts: crate::server::parts(), other_parts: true, ..Surface::default() },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        let listener = listener::bind(options.listen)?;
        // The others' threads are not those of the runtime on which it begins.
        Ok((1, (configuration, listener)))
    };
    start::run(stop, prepare, async |(configuration, listener), stop| {
        let address = listener::address(&listener)?;
        let ready = Ready::new(SYSTEM.name, configuration.effective()).listening("http", address);
        let tally = Arc::new(Tally::new(configuration.threads));
        let (mut workers, senders) = workers(&configuration, &tally, &stop);
        let own = workers.pop().map(Worker::serve);
        let others = spawn_workers(workers)?;
        announce(&ready);
        let own = own.map(tokio::spawn);
        let most = configuration.limits.max_connections;
        let dealt = distribute(listener, senders, most, &tally, stop).await;
        if let Some(own) = own {
            own.await.map_err(io::Error::other).map_err(ServeError::while_doing("serve"))?;
        }
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        dealt.map_err(ServeError::while_doing("accept"))
    })
}

/// A worker for each thread, and what sends connections to it.
fn workers(
    configuration: &Configuration,
    tally: &Arc<Tally>,
    stop: &Stop,
) -> (Vec<Worker>, Vec<UnboundedSender<Accepted>>) {
    let burner = Arc::new(Burner::new(configuration.cost));
    let worker = |number| {
        let (sender, accepted) = unbounded_channel();
        let proxy = Proxy::new(&configuration.upstream, configuration.bounds, tally.of(number));
        let handler = Handler::new(proxy, Arc::clone(tally), Arc::clone(&burner));
        (Worker::new(handler, configuration.limits, accepted, stop.clone()), sender)
    };
    (0..configuration.threads).map(worker).unzip()
}

/// Serves each worker on a thread of its own, which keeps its connections.
fn spawn_workers(workers: Vec<Worker>) -> Result<Vec<JoinHandle<()>>, ServeError> {
    let serve = |worker: Worker| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || runtime.block_on(worker.serve()))
    };
    let threads: io::Result<_> = workers.into_iter().map(serve).collect();
    threads.map_err(ServeError::while_doing("start a thread"))
}

/// Accepts until stopped, and hands connections to the workers in turn; beyond `most` they are closed at once.
async fn distribute(
    listener: StdListener,
    senders: Vec<UnboundedSender<Accepted>>,
    most: u64,
    tally: &Tally,
    mut stop: Stop,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    for sender in senders.iter().cycle() {
        let (stream, address) = loop {
            tokio::select! {
                () = stop.pulled() => return Ok(()),
                accepted = listener.accept() => match accepted {
                    Ok(accepted) if tally.clients() < most => break accepted,
                    Ok(_) => tally.turn_away(),
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        };
        let permit = tally.admit();
        // A worker takes connections as long as there is one of its own thread.
        let _ = sender.send(Accepted { stream: stream.into_std()?, address, permit });
    }
    Ok(())
}
