//! Assembles receivers: subscribes, serves the counts, stops.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

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
use tokio::sync::mpsc;

use super::arrivals::COUNTS;
use super::devices::DeviceRegistration;
use super::settings::{self, Configuration};
use super::subscription_task::{ReadySender, SharedArrivals, SubscriptionTask};
use super::{nats, websocket};

/// Time limit for every subscription to become active.
const SUBSCRIBED_WITHIN: Duration = Duration::from_secs(10);

/// Receivers, which are ready when every subscription is active.
pub const SYSTEM: System = System {
    name: "registry-receivers",
    about: "receivers of a registry's messages, which count what arrives",
    page: "systems/registry/README.md",
    surface: |_| Surface { counts: COUNTS.into(), ..Surface::default() },
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || Ok((1, (settings::read(options)?, listener::bind(options.listen)?)));
    start::run(stop, prepare, async |(configuration, listener), stop| {
        receive(configuration, listener, stop, announce).await
    })
}

async fn receive(
    configuration: Configuration,
    listener: std::net::TcpListener,
    stop: Stop,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let address = listener::address(&listener)?;
    let arrivals = SharedArrivals::default();
    let (ready, socket_error) = mpsc::unbounded_channel();
    let subscriptions = subscribe(&configuration, &arrivals, &stop, &ready);
    drop(ready);
    subscribed(subscriptions, socket_error).await?;
    register(&configuration).await?;
    announce(&Ready::new(SYSTEM.name, effective(&configuration)).listening("http", address));
    let observed = move || arrivals.lock().unwrap_or_else(PoisonError::into_inner).observed();
    http::serve(listener, http::observer(observed), configuration.limits, Registry::default(), stop)
        .await
        .map_err(ServeError::while_doing("serve"))
}

/// Starts one task for each namespace and pattern; each subscribes again when it is disconnected.
fn subscribe(
    configuration: &Configuration,
    arrivals: &SharedArrivals,
    stop: &Stop,
    ready: &ReadySender,
) -> usize {
    let mut subscriptions = 0;
    for namespace in &configuration.namespaces {
        for (number, pattern) in (1..).zip(&configuration.patterns) {
            let recipient = SubscriptionTask {
                registry: configuration.registry.clone(),
                namespace: namespace.clone(),
                pattern: pattern.to_string(),
                name: format!("{}-{number}", configuration.name),
                token: configuration.token.clone(),
                arrivals: Arc::clone(arrivals),
                ready: ready.clone(),
            };
            let stop = stop.clone();
            match configuration.nats.clone() {
                Some(url) => tokio::spawn(nats::receive(recipient, url, stop)),
                None => tokio::spawn(websocket::receive(recipient, stop)),
            };
            subscriptions += 1;
        }
    }
    subscriptions
}

async fn subscribed(
    wanted: usize,
    mut socket_error: mpsc::UnboundedReceiver<Result<(), String>>,
) -> Result<(), ServeError> {
    let all = async {
        for _ in 0..wanted {
            match socket_error.recv().await {
                Some(Ok(())) => {}
                Some(Err(reason)) => return Err(std::io::Error::other(reason)),
                None => return Err(std::io::Error::other("a subscription ended at once")),
            }
        }
        Ok(())
    };
    let late = || std::io::Error::other("not every subscription was in effect within ten seconds");
    let done = tokio::time::timeout(SUBSCRIBED_WITHIN, all).await.unwrap_or_else(|_| Err(late()));
    done.map_err(ServeError::while_doing("subscribe"))
}

/// Registers the receivers' own identities after they have subscribed.
async fn register(configuration: &Configuration) -> Result<(), ServeError> {
    for namespace in &configuration.namespaces {
        let roll = DeviceRegistration {
            registry: configuration.registry.clone(),
            token: configuration.token.clone(),
            namespace: namespace.clone(),
            identities: configuration.identities,
        };
        let called = roll.call().await.map_err(std::io::Error::other);
        called.map_err(ServeError::while_doing("register identities"))?;
    }
    Ok(())
}

fn effective(configuration: &Configuration) -> serde_json::Value {
    let patterns: Vec<String> = configuration.patterns.iter().map(ToString::to_string).collect();
    json!({
        "bus": if configuration.nats.is_some() { "nats" } else { "embedded" },
        "namespaces": configuration.namespaces,
        "patterns": patterns,
        "open_files": limits::open_files(),
    })
}
