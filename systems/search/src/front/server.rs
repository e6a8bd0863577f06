//! Puts a front together: one thread accepts and deals out, and all of them serve what they were dealt.

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
use super::desk::Desk;
use super::lane::{Accepted, Lane};
use super::settings::{self, Configuration};
use super::tally::Tally;

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
        let (mut lanes, hands) = lanes(&configuration, &tally, &stop);
        let own = lanes.pop().map(Lane::serve);
        let others = elsewhere(lanes)?;
        announce(&ready);
        let own = own.map(tokio::spawn);
        let most = configuration.limits.max_connections;
        let dealt = deal(listener, hands, most, &tally, stop).await;
        if let Some(own) = own {
            own.await.map_err(io::Error::other).map_err(ServeError::while_doing("serve"))?;
        }
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        dealt.map_err(ServeError::while_doing("accept"))
    })
}

/// A lane for each thread, and what hands connections to it.
fn lanes(
    configuration: &Configuration,
    tally: &Arc<Tally>,
    stop: &Stop,
) -> (Vec<Lane>, Vec<UnboundedSender<Accepted>>) {
    let burner = Arc::new(Burner::new(configuration.cost));
    let lane = |number| {
        let (hand, accepted) = unbounded_channel();
        let proxy = Proxy::new(&configuration.upstream, configuration.bounds, tally.of(number));
        let desk = Desk::new(proxy, Arc::clone(tally), Arc::clone(&burner));
        (Lane::new(desk, configuration.limits, accepted, stop.clone()), hand)
    };
    (0..configuration.threads).map(lane).unzip()
}

/// Serves each lane on a thread of its own, where nothing is handed to another.
fn elsewhere(lanes: Vec<Lane>) -> Result<Vec<JoinHandle<()>>, ServeError> {
    let serve = |lane: Lane| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("lane".to_owned()).spawn(move || runtime.block_on(lane.serve()))
    };
    let threads: io::Result<_> = lanes.into_iter().map(serve).collect();
    threads.map_err(ServeError::while_doing("start a thread"))
}

/// Accepts until stopped, and deals connections out in turn; beyond the most they are closed at once.
async fn deal(
    listener: StdListener,
    hands: Vec<UnboundedSender<Accepted>>,
    most: u64,
    tally: &Tally,
    mut stop: Stop,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    for hand in hands.iter().cycle() {
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
        let guest = tally.admit();
        // A lane takes connections as long as there is one of its own thread.
        let _ = hand.send(Accepted { stream: stream.into_std()?, address, guest });
    }
    Ok(())
}
