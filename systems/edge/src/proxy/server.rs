//! Puts a proxy together: listens, and serves each client until the stop.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use proxying::Socket;
use serving::error::ServeError;
use serving::limits::Limits;
use serving::listener;
use serving::metrics::Counter;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, System};
use serving::stop::Stop;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::desk::{Desk, Peer};
use super::log::{self, Log, Writer};
use super::settings::{self, Configuration};
use super::tally::{Place, Tally};

/// Pause after a failed accept, mostly for want of file descriptors, which only time brings back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A proxy.
pub const SYSTEM: System =
    System { name: "proxy", check: |options| settings::read(options).map(drop), start };

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
    let served = accept(listener, Arc::clone(&desk), limits, &tally, stop).await;
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
async fn accept(
    listener: StdListener,
    desk: Arc<Desk>,
    limits: Limits,
    tally: &Tally,
    mut stop: Stop,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut talks = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.pulled() => break,
            Some(_) = talks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => match Place::take(&tally.clients, limits.max_connections) {
                    Some(guest) => {
                        let guest = Guest { stream, address, _place: guest };
                        talks.spawn(converse(guest, Arc::clone(&desk), limits, stop.clone()));
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

/// A client's connection among those that are open.
struct Guest {
    stream: TcpStream,
    address: SocketAddr,
    _place: Place,
}

/// One client, as long as it stays.
async fn converse(guest: Guest, desk: Arc<Desk>, limits: Limits, mut stop: Stop) {
    let Guest { stream, address, _place } = guest;
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    // An answer that nobody reads would keep its connection for ever.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(limits.read_time()));
    let (socket, breaker) = Socket::new(stream);
    let peer = Peer::new(address.ip());
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle())
        .max_buf_size(limits.max_head_bytes as usize)
        .serve_connection(TokioIo::new(socket), service_fn(|request| desk.answer(&peer, request)));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.pulled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // A user of hyper's is the answer's body, which broke off.
    if ended.is_err_and(|error| error.is_user()) {
        breaker.break_off();
    }
}
