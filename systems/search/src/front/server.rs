//! Puts a front together: one thread accepts and deals out, and all of them serve what they were dealt.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use proxying::Proxy;
use serving::error::ServeError;
use serving::limits;
use serving::listener;
use serving::options::Options;
use serving::ready::Ready;
use serving::stop::Stop;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::cost::Burner;
use super::desk::Desk;
use super::lane::{Accepted, Lane};
use super::settings;
use super::tally::Tally;

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Serves a front until SIGTERM or SIGINT; `announce` is given the ready line's contents.
///
/// Errors: bad settings (exit code 2); a listener or threads that cannot be had (4)
pub fn serve(options: &Options, announce: impl FnOnce(&Ready)) -> Result<(), ServeError> {
    start(options, Stop::on_signals, announce)
}

/// The same until this is pulled.
///
/// Errors: as [`serve`]
pub fn serve_until(
    options: &Options,
    stop: Stop,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    start(options, || Ok(stop), announce)
}

fn start(
    options: &Options,
    stop: impl FnOnce() -> io::Result<Stop>,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    limits::raise_open_files();
    let configuration = settings::read(options)?;
    let listener = listener::bind(options.listen)?;
    let address = listener.local_addr().map_err(ServeError::while_doing("read an address back"))?;
    let ready = Ready::new("search-front", configuration.effective()).listening("http", address);
    let tally = Arc::new(Tally::new(configuration.threads));
    let burner = Arc::new(Burner::new(configuration.cost));
    let runtime = runtime()?;
    // Within the runtime, whose drivers signals need.
    let stop = runtime.block_on(async { stop() });
    let stop = stop.map_err(ServeError::while_doing("handle signals"))?;
    let (lanes, hands): (Vec<Lane>, Vec<_>) = (0..configuration.threads)
        .map(|number| {
            let (hand, accepted) = unbounded_channel();
            let counts = tally.of(number);
            let proxy = Proxy::new(&configuration.upstream, configuration.bounds, counts);
            let desk = Desk::new(proxy, Arc::clone(&tally), Arc::clone(&burner));
            (Lane::new(desk, configuration.limits, accepted, stop.clone()), hand)
        })
        .unzip();
    let others =
        (1..configuration.threads).map(|_| self::runtime()).collect::<Result<Vec<_>, _>>()?;
    thread::scope(|scope| {
        let mut lanes = lanes.into_iter();
        let own = lanes.next();
        for (lane, runtime) in lanes.zip(others) {
            scope.spawn(move || runtime.block_on(lane.serve()));
        }
        announce(&ready);
        let most = configuration.limits.max_connections;
        runtime.block_on(async {
            let own = own.map(|lane| tokio::spawn(lane.serve()));
            let dealt = deal(listener, hands, most, &tally, stop).await;
            if let Some(own) = own {
                own.await.map_err(io::Error::other)?;
            }
            dealt
        })
    })
    .map_err(ServeError::while_doing("serve"))
}

/// A thread's own: nothing is handed from one to another but what was just accepted.
fn runtime() -> Result<Runtime, ServeError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(ServeError::while_doing("make a runtime"))
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
