//! The settings of a front.

use std::collections::BTreeMap;
use std::time::Duration;

use proxying::{Bounds, Upstream};
use serde_json::{Value, json};
use serving::error::{BadOption, BadOptions};
use serving::limits::{self, Limits};
use serving::options::Options;
use serving::settings::{Settings, in_nanoseconds};

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
    let mut bounds = proxying::settings::bounds(&settings);
    bounds.buffer = limits.max_head_bytes as usize;
    bounds.connections = if is_serial { 1 } else { bounds.connections.div_ceil(threads) };
    let cost = Cost {
        usual: settings.duration("cost", Duration::ZERO),
        slow: settings.duration("slow_cost", Duration::ZERO),
        slow_share: settings.ratio("slow_share", 0.0),
        seed: settings.count("seed", 1, 0..=u64::MAX),
    };
    if (cost.slow_share > 0.0) != (cost.slow > Duration::ZERO) {
        settings.wrong("slow_share", "goes with slow_cost; give both or neither");
    }
    settings.finish("search-front")?;
    // Without one the reading has failed.
    let upstream = upstream.ok_or_else(|| BadOptions::one("upstream: it is missing"))?;
    Ok(Configuration { upstream, bounds, limits, threads, is_serial, cost })
}

/// What is wrong with the settings of a front whose upstream is known later.
pub(super) fn problems(given: &BTreeMap<String, Value>) -> Vec<BadOption> {
    let upstream = Options::default().with("upstream", "http://127.0.0.1:1");
    let settings = given.clone().into_iter().chain(upstream.settings).collect();
    let read = read(&Options { settings, ..Options::default() });
    read.err().map(|bad| bad.problems).unwrap_or_default()
}

fn upstream(settings: &Settings<'_>) -> Option<Upstream> {
    let trusts_clients = settings.flag("trust_forwarded", false);
    let upstream = proxying::settings::upstream(settings, NAME)?;
    Some(upstream.trusting(trusts_clients))
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
            "cost_ns": in_nanoseconds(cost.usual),
            "slow_share": cost.slow_share,
            "slow_cost_ns": in_nanoseconds(cost.slow),
            "seed": cost.seed,
            "connections_a_thread": bounds.connections,
            "queue_a_thread": bounds.queue,
            "queue_wait_ns": in_nanoseconds(bounds.queue_wait),
            "upstream_idle_ns": in_nanoseconds(bounds.idle),
            "connect_ns": in_nanoseconds(bounds.connect),
            "first_byte_ns": in_nanoseconds(bounds.first_byte),
            "whole_ns": in_nanoseconds(bounds.whole),
            "max_connections": limits.max_connections,
            "max_head_bytes": limits.max_head_bytes,
            "idle_ns": limits.idle_ns,
            "drain_ns": limits.drain_ns,
            "open_files": limits::open_files(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}
