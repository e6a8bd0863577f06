//! Puts a monitor together: listens, subscribes, says what it saw, stops.

use std::net::TcpListener;

use serde_json::{Value, json};
use serving::error::ServeError;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use serving::{http, limits, listener};
use tokio::task::JoinSet;

use super::api::Api;
use super::intake::{self, Shared, Terms};
use super::ledger::{COUNTS, Ledger};
use super::nats::Bus;
use super::settings::{self, Configuration};
use crate::cast::Address;

/// A monitor.
pub const SYSTEM: System = System {
    name: "monitor",
    about: "a monitor that counts the messages which services cast",
    page: "systems/edge/README.md",
    surface: |_| Surface {
        listening: vec!["http", "casts"],
        counts: COUNTS.into(),
        ..Surface::default()
    },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        let http = listener::bind(options.listen)?;
        let casts = listener::bind(configuration.casts)?;
        Ok((configuration.threads, (configuration, http, casts)))
    };
    start::run(stop, prepare, async |(configuration, http, casts), stop| {
        monitor(configuration, http, casts, stop, announce).await
    })
}

async fn monitor(
    configuration: Configuration,
    http: TcpListener,
    casts: TcpListener,
    stop: Stop,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let bus = match &configuration.nats {
        Some(url) => Some(Bus::subscribe(url, &configuration.subject).await),
        None => None,
    };
    let bus = bus.transpose().map_err(ServeError::while_doing("subscribe to `nats`"))?;
    let ready = Ready::new(SYSTEM.name, effective(&configuration, &casts))
        .listening("http", listener::address(&http)?)
        .listening("casts", listener::address(&casts)?);
    let ledger = Shared::new(Ledger::new(configuration.bounds));
    let registry = Registry::default();
    let api = Api::new(ledger.clone(), &registry);
    let terms = terms(&configuration);
    let mut parts = JoinSet::new();
    parts.spawn(intake::serve(casts, terms, ledger.clone(), stop.clone()));
    if let Some(bus) = bus {
        let received = bus.receive(ledger, configuration.slow, stop.clone());
        parts.spawn(async move {
            received.await;
            Ok(())
        });
    }
    parts.spawn(http::serve(http, api, configuration.limits, registry, stop));
    announce(&ready);
    while let Some(ended) = parts.join_next().await {
        let ended = ended.unwrap_or_else(|broken| Err(std::io::Error::other(broken)));
        ended.map_err(ServeError::while_doing("serve"))?;
    }
    Ok(())
}

fn terms(configuration: &Configuration) -> Terms {
    Terms {
        connections: configuration.connections,
        longest_frame: configuration.bounds.longest_frame,
        within: configuration.limits.read_time(),
        idle: configuration.limits.idle(),
        slow: configuration.slow,
    }
}

/// The configuration in force.
fn effective(configuration: &Configuration, casts: &TcpListener) -> Value {
    let Configuration { nats, subject, connections, bounds, slow, threads, limits, .. } =
        configuration;
    let nats = nats.as_ref().map(|url| Address::Nats(url.clone()).shown());
    json!({
        "subject": nats.is_some().then_some(subject),
        "nats": nats,
        "max_casters": connections,
        "max_senders": bounds.senders,
        "max_frame": bounds.longest_frame,
        "keep": bounds.recent.bytes,
        "keep_messages": bounds.recent.messages,
        "slow_ns": slow.as_nanos() as u64,
        "threads": threads,
        "limits": limits,
        "backlog": listener::backlog(casts).ok(),
        "open_files": limits::open_files(),
        "version": env!("CARGO_PKG_VERSION"),
    })
}
