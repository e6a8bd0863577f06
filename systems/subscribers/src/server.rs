//! Assembles subscribers: opens the sockets, serves the counts, stops.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;
use serving::error::ServeError;
use serving::http;
use serving::limits;
use serving::listener;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;

use super::ledger::{COUNTS, Ledger};
use super::settings::{self, Configuration};
use super::socket::{self, SharedLedger};

/// Sockets that are being opened at a time.
const OPENED_AT_A_TIME: usize = 64;

/// Subscribers, which are ready when each socket is open and subscribed.
pub const SYSTEM: System = System {
    name: "subscribers",
    about: "sockets that count which published messages reach them, and when",
    page: "systems/subscribers/README.md",
    surface: |_| Surface { counts: COUNTS.into(), ..Surface::default() },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || Ok((1, (settings::read(options)?, listener::bind(options.listen)?)));
    start::run(stop, prepare, async |(configuration, listener), stop| {
        observe(configuration, listener, stop, announce).await
    })
}

async fn observe(
    configuration: Configuration,
    listener: std::net::TcpListener,
    stop: Stop,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let address = listener::address(&listener)?;
    let ledger = Arc::new(Mutex::new(Ledger::of(configuration.sockets)));
    let configuration = Arc::new(configuration);
    let opened = open_all(&configuration, &ledger).await.map_err(std::io::Error::other);
    opened.map_err(ServeError::while_doing("subscribe"))?;
    let effective = json!({ "sockets": configuration.sockets, "open_files": limits::open_files() });
    announce(&Ready::new(SYSTEM.name, effective).listening("http", address));
    let observed = move || ledger.lock().unwrap_or_else(PoisonError::into_inner).observed();
    http::serve(listener, http::observer(observed), configuration.limits, Registry::default(), stop)
        .await
        .map_err(ServeError::while_doing("serve"))
}

/// Opens every socket, each of which then listens in a task of its own.
///
/// Errors: why one of them is not open
async fn open_all(configuration: &Arc<Configuration>, ledger: &SharedLedger) -> Result<(), String> {
    let opening = stream::iter(1..=configuration.sockets).map(|number| {
        let (configuration, ledger) = (Arc::clone(configuration), Arc::clone(ledger));
        // In a task: a server whose handshake panics the library is a reason, and no end of this process.
        let opening = tokio::spawn(async move {
            let socket = socket::open(configuration, number).await?;
            tokio::spawn(socket::listen(socket, number, ledger));
            Ok(())
        });
        async move {
            let broken = |_| Err(format!("socket {number}: the server's handshake is malformed"));
            opening.await.unwrap_or_else(broken)
        }
    });
    let mut opening = opening.buffer_unordered(OPENED_AT_A_TIME);
    while let Some(opened) = opening.next().await {
        opened?;
    }
    Ok(())
}
