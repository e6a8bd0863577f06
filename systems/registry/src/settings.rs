//! The settings of the registry.

use std::path::PathBuf;

use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

use crate::access::Access;
use crate::service::Quotas;

/// A backend in this process or on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Backend {
    /// In this process.
    Embedded,
    /// At this address.
    Server(String),
}

/// The settings of `registry`.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    /// The store: embedded, or `redis://HOST:PORT[/DB]`.
    pub store: Backend,
    /// The bus: embedded, or `nats://HOST:PORT`.
    pub bus: Backend,
    /// Folder for the files of embedded backends; without it they store nothing.
    pub durable: Option<PathBuf>,
    /// Most bytes that the embedded bus stores for absent receivers.
    pub max_stored_bytes: usize,
    /// The access tokens.
    pub access: Access,
    /// The quotas.
    pub quotas: Quotas,
    /// Limits of connections and bodies.
    pub limits: Limits,
    /// Threads of the server.
    pub threads: usize,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(crate) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let store = part(&settings, "store", "redis://");
    let bus = part(&settings, "bus", "nats://");
    let durable = settings.text("durable", "");
    if !durable.is_empty() && store != Backend::Embedded && bus != Backend::Embedded {
        settings.wrong("durable", "has no effect: neither store nor bus is embedded");
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let threads = settings.count("threads", processors, 1..=1_024);
    let configuration = Configuration {
        store,
        bus,
        durable: (!durable.is_empty()).then(|| durable.into()),
        max_stored_bytes: usize::try_from(settings.size("max_stored", 1 << 30))
            .unwrap_or(usize::MAX),
        access: access(&settings),
        quotas: Quotas::read(&settings),
        limits: Limits::read_with_bodies(&settings),
        threads: usize::try_from(threads).unwrap_or(1),
    };
    settings.finish("the registry")?;
    Ok(configuration)
}

fn part(settings: &Settings<'_>, key: &'static str, scheme: &str) -> Backend {
    match settings.text(key, "embedded").as_str() {
        "embedded" => Backend::Embedded,
        url if url.starts_with(scheme) => Backend::Server(url.to_owned()),
        other => {
            let expected = format!("expected embedded or {scheme}HOST:PORT");
            settings.wrong(key, format!("{expected}, got \"{other}\""));
            Backend::Embedded
        }
    }
}

/// The tokens of the file that is named.
fn access(settings: &Settings<'_>) -> Access {
    let Some(text) = settings.content("tokens") else { return Access::default() };
    Access::parse(&text).unwrap_or_else(|bad| {
        settings.wrong("tokens", format!("{}: {bad}", settings.text("tokens", "")));
        Access::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_a_default_and_all_problems_are_told_at_once() {
        let plain = read(&Options::default()).unwrap();
        assert_eq!((plain.store, plain.bus), (Backend::Embedded, Backend::Embedded));
        assert!(plain.access.is_open());
        let bad = Options::default()
            .with("store", "mysql://x")
            .with("bus", "kafka://x")
            .with("tokens", "/nonexistent")
            .with("threads", "0")
            .with("durability", "yes");
        assert_eq!(read(&bad).unwrap_err().problems.len(), 5);
        let odd = Options::default()
            .with("store", "redis://h:1")
            .with("bus", "nats://h:1")
            .with("durable", "/tmp/x");
        assert_eq!(read(&odd).unwrap_err().problems.len(), 1);
    }
}
