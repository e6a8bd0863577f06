//! What a monitor is started with.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serving::error::BadOptions;
use serving::limits::Limits;
use serving::options::Options;
use serving::settings::Settings;

use super::{ledger, recent};
use crate::cast::Address;
use crate::cast::settings::{longest, subject};

/// The settings of `monitor`.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    /// Where casters connect to.
    pub casts: SocketAddr,
    /// NATS, if casts come over it as well.
    pub nats: Option<String>,
    pub subject: String,
    /// Connections of casters at a time.
    pub connections: usize,
    pub bounds: ledger::Bounds,
    /// Pause after what was read at a time.
    pub slow: Duration,
    pub threads: usize,
    /// Bounds of the HTTP side; `read` and `idle` hold for casters, too.
    pub limits: Limits,
}

/// Reads them.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let count = |key, default, most| settings.count(key, default, 1..=most) as usize;
    let configuration = Configuration {
        casts: casts(&settings),
        nats: nats(&settings),
        subject: subject(&settings, "subject", "casts"),
        connections: count("max_casters", 256, 10_000),
        bounds: ledger::Bounds {
            senders: count("max_senders", 1_024, 100_000),
            longest_frame: longest(&settings, "max_frame", 64 << 10),
            recent: recent::Bounds {
                bytes: usize::try_from(settings.size("keep", 64 << 20)).unwrap_or(usize::MAX),
                messages: settings.count("keep_messages", 100_000, 0..=100_000_000) as usize,
            },
        },
        slow: Duration::from_nanos(settings.time("slow", 0)),
        threads: count("threads", 1, 64),
        limits: Limits::read(&settings),
    };
    if configuration.nats.is_none() && settings.has("subject") {
        settings.idle("subject", "needs `nats`");
    }
    settings.finish("the monitor")?;
    Ok(configuration)
}

fn casts(settings: &Settings<'_>) -> SocketAddr {
    let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let text = settings.text("casts", &default.to_string());
    text.parse().unwrap_or_else(|_| {
        let what = format!("expected an address such as 127.0.0.1:7171, got \"{text}\"");
        settings.wrong("casts", what);
        default
    })
}

fn nats(settings: &Settings<'_>) -> Option<String> {
    let text = settings.text("nats", "");
    match Address::read(&text) {
        Ok(Address::Nats(url)) => Some(url),
        _ if text.is_empty() => None,
        _ => {
            settings.wrong("nats", format!("expected nats://HOST:PORT, got \"{text}\""));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_at_once() {
        let options = Options::default()
            .with("casts", "here")
            .with("nats", "127.0.0.1:4222")
            .with("max_frame", "1B")
            .with("slow", "5")
            .with("keep", "all")
            .with("subject", "a b")
            .with("x", 1);
        // The subject is wrong and idle, too.
        assert_eq!(read(&options).unwrap_err().problems.len(), 8);
    }

    #[test]
    fn settings_have_defaults() {
        let read = |options: Options| read(&options).unwrap();
        let plain = read(Options::default());
        assert_eq!((plain.nats, plain.slow, plain.threads), (None, Duration::ZERO, 1));
        assert!(plain.casts.ip().is_loopback());
        let set = read(
            Options::default()
                .with("nats", "nats://127.0.0.1:4222")
                .with("subject", "a.b")
                .with("keep", "0")
                .with("slow", "5ms"),
        );
        assert_eq!((set.subject.as_str(), set.bounds.recent.bytes), ("a.b", 0));
        assert_eq!(set.slow, Duration::from_millis(5));
    }
}
