//! Assembles a registry and serves it.

use std::sync::Arc;

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

use crate::api::{Api, HttpSubscriptions};
use crate::api_error::ApiError;
use crate::bus::embedded::Embedded;
use crate::bus::nats::Nats;
use crate::bus::{self, Bus};
use crate::identity;
use crate::metrics::Metrics;
use crate::service::{EXPIRY_PERIOD, Service};
use crate::settings::{self, Backend, Configuration};
use crate::store::{self, Store};

/// A registry.
pub const SYSTEM: System = System {
    name: "registry",
    about: "a multicast registry: identities, filters, fan-out",
    page: "systems/registry/README.md",
    surface: |_| Surface::default(),
    check: |options| settings::read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        if let Some(folder) = &configuration.durable {
            let make = ServeError::while_doing("make the folder of `durable`");
            std::fs::create_dir_all(folder).map_err(make)?;
        }
        let listener = listener::bind(options.listen)?;
        Ok((configuration.threads, (configuration, listener)))
    };
    start::run(stop, prepare, async |(configuration, listener), stop| {
        with_store(configuration, HttpEndpoint::new(listener, stop)?, announce).await
    })
}

async fn with_store(
    configuration: Configuration,
    endpoint: HttpEndpoint,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let reach = ServeError::while_doing("open the store");
    let namespaces = configuration.quotas.max_namespaces;
    match &configuration.store {
        Backend::Embedded => {
            let file = configuration.durable.as_ref().map(|folder| folder.join("identities.redb"));
            let settings = store::embedded::Settings { file, namespaces, ..Default::default() };
            let store = store::embedded::Embedded::open(settings);
            with_bus(configuration, store.map_err(failed).map_err(reach)?, endpoint, announce).await
        }
        Backend::Server(url) => {
            let store = store::redis::Redis::connect(url).await.map_err(failed).map_err(reach)?;
            with_bus(configuration, store.with_at_most(namespaces), endpoint, announce).await
        }
    }
}

async fn with_bus(
    configuration: Configuration,
    store: impl Store,
    endpoint: HttpEndpoint,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let reach = ServeError::while_doing("open the bus");
    let coordinator = coordinator();
    let counts = bus::Counts::new(&endpoint.metrics);
    match &configuration.bus {
        Backend::Embedded => {
            let all_stored_bytes = configuration.max_stored_bytes;
            let settings = bus::embedded::Settings { all_stored_bytes, ..Default::default() };
            let stop = endpoint.stop.clone();
            let bus = match &configuration.durable {
                Some(folder) => {
                    let file = folder.join("messages.redb");
                    Embedded::open(&file, &coordinator, settings, counts, stop).map_err(failed)
                }
                None => Ok(Embedded::new(&coordinator, settings, counts, stop)),
            };
            let backends = Backends { store, bus: bus.map_err(reach)?, coordinator };
            endpoint.serve(configuration, backends, announce).await
        }
        Backend::Server(url) => {
            let settings = bus::nats::Settings { servers: url.clone(), ..Default::default() };
            let bus = Nats::connect(&coordinator, settings, counts).await;
            let bus = bus.map_err(failed).map_err(reach)?;
            endpoint.serve(configuration, Backends { store, bus, coordinator }, announce).await
        }
    }
}

/// An API error at the start, as an I/O error.
fn failed(error: ApiError) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// A name that no other coordinator on the same store and bus has.
fn coordinator() -> String {
    format!("{:x}-{:x}", identity::now(), std::process::id())
}

/// The opened backends of a coordinator, and its name.
struct Backends<S, B> {
    store: S,
    bus: B,
    coordinator: String,
}

/// The listener and its settings.
struct HttpEndpoint {
    listener: std::net::TcpListener,
    address: std::net::SocketAddr,
    stop: Stop,
    metrics: Registry,
}

impl HttpEndpoint {
    fn new(listener: std::net::TcpListener, stop: Stop) -> Result<Self, ServeError> {
        let address = listener::address(&listener)?;
        Ok(Self { listener, address, stop, metrics: Registry::default() })
    }

    async fn serve<S: Store, B: Bus + HttpSubscriptions>(
        self,
        configuration: Configuration,
        backends: Backends<S, B>,
        announce: impl FnOnce(&Ready),
    ) -> Result<(), ServeError> {
        let Configuration { access, quotas, limits, threads, .. } = configuration;
        let Backends { store, bus, coordinator } = backends;
        let effective = json!({
            "parts": { "store": store.effective(), "bus": bus.effective() },
            "namespaces": if access.is_open() { "open" } else { "tokens" },
            "quotas": quotas,
            "limits": limits,
            "threads": threads,
            "backlog": listener::backlog(&self.listener).ok(),
            "open_files": limits::open_files(),
        });
        let bus = Arc::new(bus);
        let metrics = Metrics::new(&self.metrics, &store.figures());
        let service = Service::new(store, Arc::clone(&bus), quotas, metrics, &coordinator);
        let service = Arc::new(service);
        let expiry = tokio::spawn(expire(Arc::clone(&service)));
        let api = Api::new(service, bus, access);
        announce(&Ready::new(SYSTEM.name, effective).listening("http", self.address));
        let served = http::serve(self.listener, api, limits, self.metrics, self.stop).await;
        expiry.abort();
        served.map_err(ServeError::while_doing("serve"))
    }
}

async fn expire<S: Store, B: Bus>(service: Arc<Service<S, B>>) {
    let mut tick = tokio::time::interval(EXPIRY_PERIOD);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        service.expire().await;
    }
}
