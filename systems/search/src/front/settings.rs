//! What a front is told, and what it makes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use proxying::{Bounds, Upstream};
use serde_json::{Value, json};
use serving::error::{BadOption, BadOptions};
use serving::limits::{self, Limits};
use serving::options::Options;
use serving::settings::Settings;

use super::cost::Cost;

/// The front's name in `Via` and `Server-Timing`.
pub(crate) const NAME: &str = "front";

/// The configuration in force.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    /// Where requests go.
    pub upstream: Upstream,
    /// Bounds of all threads together, but for `connections`: those of one.
    pub bounds: Bounds,
    /// What clients may take: connections, bytes of a head, time without a request, time to drain.
    pub limits: Limits,
    /// Threads, each with its own connections to the upstream.
    pub threads: usize,
    /// One request at a time.
    pub is_serial: bool,
    /// What each request costs beside what it must.
    pub cost: Cost,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let upstream = upstream(&settings);
    let threads = settings.count("threads", 1, 1..=1024) as usize;
    let is_serial = settings.flag("serial", false);
    if is_serial && threads > 1 {
        settings.wrong("serial", "one request at a time needs threads = 1");
    }
    let default = Limits::default();
    let limits = Limits {
        max_connections: settings.count("max_connections", default.max_connections, 1..=u64::MAX),
        max_head_bytes: settings.size("max_head", default.max_head_bytes).max(8 << 10),
        idle_ns: settings.positive_time("idle", default.idle_ns),
        drain_ns: settings.time("drain", default.drain_ns),
        ..default
    };
    let mut bounds = bounds(&settings);
    bounds.buffer = limits.max_head_bytes as usize;
    bounds.connections = if is_serial { 1 } else { bounds.connections.div_ceil(threads) };
    let cost = Cost {
        usual: time(&settings, "cost", Duration::ZERO),
        slow: time(&settings, "slow_cost", Duration::ZERO),
        slow_share: settings.ratio("slow_share", 0.0),
        seed: settings.count("seed", 1, 0..=u64::MAX),
    };
    if (cost.slow_share > 0.0) != (cost.slow > Duration::ZERO) {
        settings.wrong("slow_share", "goes with slow_cost; give both or neither");
    }
    settings.finish("search-front")?;
    // Without one the reading has failed.
    let upstream = upstream.ok_or_else(|| BadOptions::one("upstream: there is none"))?;
    Ok(Configuration { upstream, bounds, limits, threads, is_serial, cost })
}

/// What is wrong with the settings of a front whose upstream is known later.
pub(super) fn problems(given: &BTreeMap<String, Value>) -> Vec<BadOption> {
    let upstream = Options::default().with("upstream", "http://127.0.0.1:1");
    let settings = given.clone().into_iter().chain(upstream.settings).collect();
    let read = read(&Options { settings, ..Options::default() });
    read.err().map(|bad| bad.problems).unwrap_or_default()
}

fn bounds(settings: &Settings<'_>) -> Bounds {
    let default = Bounds::default();
    let positive = |key, default: Duration| {
        Duration::from_nanos(settings.positive_time(key, nanoseconds(default)))
    };
    Bounds {
        connections: settings.count("connections", default.connections as u64, 1..=1 << 20)
            as usize,
        queue: settings.count("queue", default.queue as u64, 0..=1 << 20) as usize,
        queue_wait: positive("queue_wait", default.queue_wait),
        idle: positive("upstream_idle", default.idle),
        connect: positive("connect", default.connect),
        first_byte: positive("first_byte", default.first_byte),
        whole: positive("whole", default.whole),
        ..default
    }
}

fn time(settings: &Settings<'_>, key: &'static str, default: Duration) -> Duration {
    Duration::from_nanos(settings.time(key, nanoseconds(default)))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `http://HOST:PORT`, with nothing behind it.
fn upstream(settings: &Settings<'_>) -> Option<Upstream> {
    let text = settings.text("upstream", "");
    let trusts_clients = settings.flag("trust_forwarded", false);
    let upstream = Upstream::at(&text, NAME);
    if upstream.is_none() {
        let expected = "expected where requests go, such as http://127.0.0.1:8080";
        settings.wrong("upstream", format!("{expected}, got \"{text}\""));
    }
    upstream.map(|upstream| upstream.trusting(trusts_clients))
}

impl Configuration {
    /// Each setting by its name, as it is in force.
    pub fn effective(&self) -> Value {
        let Self { upstream, bounds, limits, threads, is_serial, cost } = self;
        json!({
            "upstream": format!("http://{}", upstream.authority()),
            "trust_forwarded": upstream.trusts_clients(),
            "threads": threads,
            "serial": is_serial,
            "cost_ns": nanoseconds(cost.usual),
            "slow_share": cost.slow_share,
            "slow_cost_ns": nanoseconds(cost.slow),
            "seed": cost.seed,
            "connections_a_thread": bounds.connections,
            "queue_a_thread": bounds.queue,
            "queue_wait_ns": nanoseconds(bounds.queue_wait),
            "upstream_idle_ns": nanoseconds(bounds.idle),
            "connect_ns": nanoseconds(bounds.connect),
            "first_byte_ns": nanoseconds(bounds.first_byte),
            "whole_ns": nanoseconds(bounds.whole),
            "max_connections": limits.max_connections,
            "max_head_bytes": limits.max_head_bytes,
            "idle_ns": limits.idle_ns,
            "drain_ns": limits.drain_ns,
            "open_files": limits::open_files(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}
