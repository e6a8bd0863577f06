//! The settings of a proxy.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use proxying::{Bounds, Upstream};
use serde_json::{Value, json};
use serving::error::BadOptions;
use serving::limits::{self, Limits};
use serving::options::Options;
use serving::settings::{Settings, in_nanoseconds};

use super::breaker;
use super::log::Target;
use super::messages;
use super::policy;
use crate::cast::{self, Address};
use crate::tls::Tls;

/// What proxies are called in `Via`, each with a number of its own behind it.
const NAME: &str = "edge-proxy";
/// Ways of standing aside, by the names of the setting.
const BUSTS: [&str; 3] = ["off", "header", "always"];

/// When the cache stands aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bust {
    Off,
    /// For requests that say so.
    Header,
    Always,
}

/// What of the cache can be set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Caching {
    /// Bytes that are stored at most; none is no cache.
    pub most: u64,
    /// Bytes of a body that is stored at most.
    pub object: usize,
    pub rules: policy::Rules,
    /// How long a request waits for an equal one; not at all if it is zero.
    pub collapse: Duration,
    pub bust: Bust,
    /// Whether what is had past the cache is stored all the same, each under a key of its own.
    pub stores_busted: bool,
}

/// The configuration in force.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    /// Where requests go.
    pub upstream: Upstream,
    pub bounds: Bounds,
    /// What clients may take: connections, bytes of a head, time without a request, to take an answer, to drain.
    pub limits: Limits,
    /// None where clients speak in the clear.
    pub tls: Option<Tls>,
    /// Streams of a client's connection at a time.
    pub streams: u32,
    pub threads: usize,
    /// Requests under way at most.
    pub in_flight: u64,
    pub(super) caching: Caching,
    /// None if nothing is ever refused.
    pub(super) breaker: Option<breaker::Rules>,
    pub routes: Vec<String>,
    pub(super) log: Target,
    /// None if no messages are cast.
    pub(super) messages: Option<messages::Plan>,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let configuration = read_among(&settings);
    settings.finish("proxy")?;
    Ok(configuration)
}

/// The same where there are settings beside these; the reader collects every problem.
pub(crate) fn read_among(settings: &Settings<'_>) -> Configuration {
    let upstream = upstream(settings);
    let limits = limits(settings);
    let configuration = |upstream| Configuration {
        upstream,
        bounds: bounds(settings, &limits),
        limits,
        tls: Tls::read(settings),
        streams: settings.count("streams", 256, 1..=65_536) as u32,
        threads: settings.count("threads", 1, 1..=1024) as usize,
        in_flight: settings.count("in_flight", 4096, 1..=u64::MAX),
        caching: caching(settings),
        breaker: breaker(settings),
        routes: routes(settings),
        log: match settings.text("access_log", "off").as_str() {
            "off" => Target::Off,
            "stderr" => Target::Stderr,
            path => Target::File(path.to_owned()),
        },
        messages: messages(settings),
    };
    // Read all the same, so that all problems are reported; it is not used.
    let stand_in =
        || Upstream::new("127.0.0.1", 1, NAME).expect("an address can stand in a header");
    configuration(upstream.unwrap_or_else(stand_in))
}

fn limits(settings: &Settings<'_>) -> Limits {
    let default = Limits::default();
    Limits {
        max_connections: settings.count("max_connections", default.max_connections, 1..=u64::MAX),
        max_head_bytes: settings.size("max_head", default.max_head_bytes).max(8 << 10),
        idle_ns: settings.positive_time("idle", default.idle_ns),
        read_ns: settings.positive_time("read", default.read_ns),
        drain_ns: settings.time("drain", default.drain_ns),
        ..default
    }
}

fn bounds(settings: &Settings<'_>, limits: &Limits) -> Bounds {
    Bounds { buffer: limits.max_head_bytes as usize, ..proxying::settings::bounds(settings) }
}

fn caching(settings: &Settings<'_>) -> Caching {
    let most = settings.size("cache", 256 << 20);
    let object = settings.size("cache_object", most.min(8 << 20));
    if object > most {
        settings.wrong("cache_object", "must not be larger than `cache`");
    }
    let bust = match settings.choice("cache_bust", &BUSTS, 0) {
        0 => Bust::Off,
        1 => Bust::Header,
        _ => Bust::Always,
    };
    let stores_busted = settings.flag("cache_bust_stored", false);
    if stores_busted && bust == Bust::Off {
        settings.idle("cache_bust_stored", "needs cache_bust = header or always");
    }
    Caching {
        most,
        object: usize::try_from(object).unwrap_or(usize::MAX),
        rules: policy::Rules {
            heuristic: settings.ratio("heuristic", 0.0),
            stale_if_error: settings.duration("stale_if_error", Duration::from_secs(3600)),
        },
        collapse: settings.duration("collapse", Duration::from_secs(1)),
        bust,
        stores_busted,
    }
}

fn breaker(settings: &Settings<'_>) -> Option<breaker::Rules> {
    let errors = settings.count("breaker_errors", 100, 0..=u64::MAX);
    let positive =
        |key, default_s: u64| settings.positive_duration(key, Duration::from_secs(default_s));
    let rules = breaker::Rules {
        errors,
        window: positive("breaker_window", 60),
        pause: positive("breaker_pause", 5),
        probes: settings.count("breaker_probes", 1, 1..=u64::MAX),
    };
    (errors > 0).then_some(rules)
}

/// What is cast about each request, and to whom.
fn messages(settings: &Settings<'_>) -> Option<messages::Plan> {
    let casts = cast::Settings::read(settings, "proxy");
    let each = settings.count("cast_messages", 1, 0..=1000) as usize;
    let bytes = settings.size("cast_bytes", 2000);
    if casts.peers.is_empty() {
        for key in ["cast_messages", "cast_bytes", "cast_blocking", "cast_room"] {
            if settings.has(key) {
                settings.idle(key, "needs cast_to");
            }
        }
        return None;
    }
    // The frame's own fields take the rest of the longest one.
    let most = casts.longest_frame as u64 / 2;
    if !(1..=most).contains(&bytes) {
        settings.wrong(
            "cast_bytes",
            format!("expected 1B to {most}B, half of cast_longest, got {bytes}B"),
        );
    }
    let bytes = bytes.min(most) as usize;
    Some(messages::Plan { each, bytes, casts })
}

/// Prefixes of paths, parted by commas.
fn routes(settings: &Settings<'_>) -> Vec<String> {
    let text = settings.text("routes", "");
    let routes: Vec<String> = text
        .split(',')
        .map(str::trim)
        .filter(|route| !route.is_empty())
        .map(str::to_owned)
        .collect();
    if routes.iter().any(|route| !route.starts_with('/')) {
        let expected = "expected prefixes of paths such as /api,/static";
        settings.wrong("routes", format!("{expected}, got \"{text}\""));
    }
    routes
}

fn upstream(settings: &Settings<'_>) -> Option<Upstream> {
    // A random name, so that another proxy of this kind behind this one is not taken for a loop.
    let number = RandomState::new().hash_one(()) as u32;
    proxying::settings::upstream(settings, &format!("{NAME}-{number:08x}"))
}

impl Configuration {
    /// Each setting by its name, as it is in force.
    pub fn effective(&self) -> Value {
        let Self { upstream, bounds, limits, caching, breaker, messages, .. } = self;
        let log = match &self.log {
            Target::Off => "off",
            Target::Stderr => "stderr",
            Target::File(path) => path,
        };
        json!({
            "upstream": format!("http://{}", upstream.authority()),
            "threads": self.threads,
            "in_flight": self.in_flight,
            "cache_bytes": caching.most,
            "cache_object_bytes": caching.object,
            "heuristic": caching.rules.heuristic,
            "stale_if_error_ns": in_nanoseconds(caching.rules.stale_if_error),
            "collapse_ns": in_nanoseconds(caching.collapse),
            "cache_bust": BUSTS[caching.bust as usize],
            "cache_bust_stored": caching.stores_busted,
            "breaker_errors": breaker.map_or(0, |rules| rules.errors),
            "breaker_window_ns": breaker.map(|rules| in_nanoseconds(rules.window)),
            "breaker_pause_ns": breaker.map(|rules| in_nanoseconds(rules.pause)),
            "breaker_probes": breaker.map(|rules| rules.probes),
            "routes": self.routes,
            "access_log": log,
            "cast_to": messages.iter().flat_map(|plan| plan.casts.peers.iter().map(Address::shown)).collect::<Vec<_>>(),
            "cast_messages": messages.as_ref().map_or(0, |plan| plan.each),
            "cast_bytes": messages.as_ref().map_or(0, |plan| plan.bytes),
            "cast_blocking": messages.as_ref().is_some_and(|plan| plan.casts.blocking),
            "connections": bounds.connections,
            "queue": bounds.queue,
            "queue_wait_ns": in_nanoseconds(bounds.queue_wait),
            "upstream_idle_ns": in_nanoseconds(bounds.idle),
            "connect_ns": in_nanoseconds(bounds.connect),
            "first_byte_ns": in_nanoseconds(bounds.first_byte),
            "whole_ns": in_nanoseconds(bounds.whole),
            "max_connections": limits.max_connections,
            "max_head_bytes": limits.max_head_bytes,
            "streams": self.streams,
            "cert": self.tls.as_ref().map(Tls::certificate),
            "idle_ns": limits.idle_ns,
            "read_ns": limits.read_ns,
            "drain_ns": limits.drain_ns,
            "open_files": limits::open_files(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}
