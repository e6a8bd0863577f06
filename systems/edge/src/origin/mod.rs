//! A programmable origin: recipes set what it serves, how late, and how it fails.
//!
//! In reading order. Pure: what a recipe says ([`recipe`]), how long answers wait ([`delay`], drawn
//! by [`draws`]), what holds when ([`timeline`]), what is served ([`payload`]), and all routes
//! together, replaced as a whole ([`routes`]). At work: payloads are made or fetched ([`fetch`], over TLS by [`trust`]), each
//! worker ([`worker`]) has a state of its own ([`worker_state`]) in which it answers as told ([`simulation`])
//! and counts ([`tally`]); answers may be held back or cut ([`served`]), and connections end as they
//! were told to ([`wire`]). The administration ([`admin`]) adds recipes and tells what is in force.

pub mod admin;
pub mod delay;
pub mod draws;
pub mod fetch;
pub mod payload;
pub mod recipe;
pub mod routes;
pub mod served;
pub mod settings;
pub mod simulation;
pub mod tally;
pub mod timeline;
pub mod trust;
pub mod welcome;
pub mod wire;
pub mod worker;
pub mod worker_state;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use serving::error::ServeError;
use serving::listener;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use timer::monotonic;
use tokio::sync::mpsc;

use self::routes::SharedRoutes;
use self::settings::Configuration;
use self::tally::Tally;
use self::worker_state::Shared;

/// An origin; `listening` has `http`.
pub const SYSTEM: System = System {
    name: "origin",
    about: "an origin that answers, waits and fails as recipes say",
    page: "systems/edge/origin.md",
    surface: |_| Surface { counts: tally::COUNTS.into(), ..Surface::default() },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        // The workers have threads of their own; this one waits for them.
        Ok((1, (configuration, listener::bind(options.listen)?)))
    };
    start::run(stop, prepare, async |(configuration, listener), stop| {
        work(configuration, listener, stop, announce).await
    })
}

async fn work(
    configuration: Configuration,
    listener: TcpListener,
    stop: Stop,
    announce: Announce<'_>,
) -> Result<(), ServeError> {
    let effective = configuration.effective();
    let threads = configuration.threads;
    let shared = Arc::new(share(configuration).await?);
    let address = listener.local_addr();
    let address = address.map_err(ServeError::while_doing("read an address back"))?;
    let (end, mut ended) = mpsc::unbounded_channel();
    for worker in 0..threads {
        let listener = listener.try_clone().map_err(ServeError::while_doing("share a listener"))?;
        let (shared, stop, end) = (Arc::clone(&shared), stop.clone(), end.clone());
        let serve = move || {
            // Whoever waits for it is gone only if another worker failed.
            let _ = end.send(worker::run(listener, shared, worker, stop));
        };
        let named = thread::Builder::new().name(format!("origin-{worker}"));
        named.spawn(serve).map_err(ServeError::while_doing("start a worker"))?;
    }
    // Connections are refused once the workers, and with them the last listener, are gone.
    drop((listener, end));
    announce(&Ready::new(SYSTEM.name, effective).listening("http", address));
    while let Some(result) = ended.recv().await {
        result?;
    }
    Ok(())
}

async fn share(configuration: Configuration) -> Result<Shared, ServeError> {
    let Configuration { recipes, loader, bounds, limits, tls, threads, .. } = configuration;
    let stopped = |why: String| ServeError::Stopped {
        doing: "load the recipes",
        why,
        hint: "start what they fetch from first, or begin with recipe=none and add them later",
    };
    let loaded = loader.load(recipes).await.map_err(|problems| {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        stopped(told.join("; "))
    })?;
    let routes = SharedRoutes::default();
    routes.add(loaded.clone(), monotonic(), bounds).map_err(stopped)?;
    let registry = Registry::default();
    let open = registry.gauge("http_connections", "Open connections.");
    let tallies = (0..threads).map(|_| Tally::default()).collect();
    Ok(Shared { routes, tallies, beginning: loaded, bounds, loader, limits, tls, registry, open })
}
