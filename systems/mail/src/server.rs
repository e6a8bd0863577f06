//! Assembles a mail server and serves it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use serving::error::ServeError;
use serving::http;
use serving::limits::{self, Limits};
use serving::listener;
use serving::metrics::Registry;
use serving::options::Options;
use serving::ready::Ready;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use tokio::task::JoinSet;

use crate::api::MailApi;
use crate::connection::{self, Smtp};
use crate::ledger::{COUNTS, CountedStore, Ledger};
use crate::session::{self, Policy};
use crate::settings::{self, Configuration, StoreKind};
use crate::store::Store;
use crate::store::discard::Discard;
use crate::store::maildir::Maildir;
use crate::store::memory::Memory;
use crate::store::retained::RetainedMessages;

/// A mail server.
pub const SYSTEM: System = System {
    name: "mail",
    about: "an SMTP server that receives, and shows what it got",
    page: "systems/mail/README.md",
    surface,
    check: |options| settings::read(options).map(drop),
    start,
};

fn surface(options: &Options) -> Surface {
    let mut listening = vec!["http", "smtp"];
    if options.settings.contains_key("smtps") {
        listening.push("smtps");
    }
    Surface { listening, counts: COUNTS.into(), ..Surface::default() }
}

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || {
        let configuration = settings::read(options)?;
        let listeners = Listeners::bind(options.listen, &configuration)?;
        Ok((configuration.threads, (configuration, listeners)))
    };
    start::run(stop, prepare, async |(mut configuration, listeners), stop| {
        let store = std::mem::replace(&mut configuration.store, StoreKind::Discard);
        let house = ServerSetup { configuration, listeners, metrics: Registry::default(), stop };
        house.open(store, announce).await
    })
}

/// The listeners.
#[derive(Debug)]
struct Listeners {
    smtp: TcpListener,
    smtps: Option<TcpListener>,
    http: TcpListener,
}

impl Listeners {
    fn bind(smtp: SocketAddr, configuration: &Configuration) -> Result<Self, ServeError> {
        let bind = |address| listener::bind_with(address, configuration.backlog);
        let smtps = configuration.smtps.map(bind).transpose()?;
        Ok(Self { smtp: bind(smtp)?, smtps, http: listener::bind(configuration.http)? })
    }

    /// Adds the addresses that the kernel assigned.
    fn add_addresses(&self, mut ready: Ready) -> Result<Ready, ServeError> {
        ready = ready.listening("smtp", listener::address(&self.smtp)?);
        if let Some(smtps) = &self.smtps {
            ready = ready.listening("smtps", listener::address(smtps)?);
        }
        Ok(ready.listening("http", listener::address(&self.http)?))
    }
}

/// Everything except the store.
struct ServerSetup {
    configuration: Configuration,
    listeners: Listeners,
    metrics: Registry,
    stop: Stop,
}

impl ServerSetup {
    async fn open(self, store: StoreKind, announce: impl FnOnce(&Ready)) -> Result<(), ServeError> {
        match store {
            StoreKind::Discard => self.serve(Discard::default(), None, announce).await,
            StoreKind::Hook(hook) => self.serve(hook, None, announce).await,
            StoreKind::Memory(bounds) => {
                let retained = RetainedMessages::new(bounds, &self.metrics);
                self.serve(Memory::new(retained.clone()), Some(retained), announce).await
            }
            StoreKind::Maildir(path, bounds) => {
                let retained = RetainedMessages::new(bounds, &self.metrics);
                let host = &self.configuration.session.hostname;
                let store = Maildir::open(&path, host, retained.clone(), &self.metrics);
                let store = store.map_err(ServeError::while_doing("open the folder of `path`"))?;
                self.serve(store, Some(retained), announce).await
            }
        }
    }

    async fn serve<S: Store>(
        self,
        store: S,
        retained: Option<RetainedMessages>,
        announce: impl FnOnce(&Ready),
    ) -> Result<(), ServeError> {
        let ready = Ready::new(SYSTEM.name, self.effective(&store));
        let ready = self.listeners.add_addresses(ready)?;
        let Self { configuration, listeners, metrics, stop } = self;
        let ledger = Ledger::new(&metrics);
        let api = MailApi::new(ledger.clone(), retained, stop.clone());
        let store = Arc::new(CountedStore::new(store, ledger));
        let counts = session::Counts::new(&metrics);
        let smtp = |is_implicit_tls| {
            let how = Smtp {
                store: Arc::clone(&store),
                settings: configuration.session.clone(),
                tls: configuration.tls.clone(),
                is_implicit_tls,
                counts: counts.clone(),
            };
            Arc::new(how)
        };
        announce(&ready);
        let limits = api_limits(&configuration.session);
        // Separate tasks, so that the thread that accepts a connection also serves it.
        let mut parts = JoinSet::new();
        parts.spawn(connection::serve(listeners.smtp, smtp(false), stop.clone()));
        if let Some(listener) = listeners.smtps {
            parts.spawn(connection::serve(listener, smtp(true), stop.clone()));
        }
        parts.spawn(http::serve(listeners.http, api, limits, metrics.clone(), stop.clone()));
        while let Some(ended) = parts.join_next().await {
            let ended = ended.unwrap_or_else(|broken| Err(std::io::Error::other(broken)));
            ended.map_err(ServeError::while_doing("serve"))?;
        }
        Ok(())
    }

    /// The effective configuration, by setting.
    fn effective(&self, store: &impl Store) -> Value {
        let Configuration { session, tls, threads, .. } = &self.configuration;
        let mut effective = Map::new();
        let parts =
            [json!(session), store.effective(), json!(tls.as_ref().map(|tls| tls.effective()))];
        for part in parts {
            if let Value::Object(fields) = part {
                effective.extend(fields);
            }
        }
        let more = json!({
            "tls": tls_word(session.tls),
            "backlog": listener::backlog(&self.listeners.smtp).ok(),
            "threads": threads,
            "open_files": limits::open_files(),
            "door": api_limits(session),
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Value::Object(fields) = more {
            effective.extend(fields);
        }
        effective.into()
    }
}

/// The value of the setting `tls`.
fn tls_word(policy: Policy) -> &'static str {
    match policy {
        Policy::None => "none",
        Policy::Optional => "starttls",
        Policy::Required => "required",
    }
}

/// Limits of the HTTP API, whose requests are small.
fn api_limits(session: &session::Settings) -> Limits {
    Limits {
        max_connections: 1_000,
        max_body_bytes: 64 << 10,
        drain_ns: session.drain_ns,
        ..Limits::default()
    }
}
