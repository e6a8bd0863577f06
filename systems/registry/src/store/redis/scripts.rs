//! The scripts; each is one operation: one round trip, executed completely or not at all.

use redis::Script;

/// Approximate number of entries in a log; a copy further behind reads everything again.
pub(super) const LOG_LENGTH: &str = "100000";

/// All scripts, each with the shared code before it.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) open: Script,
    pub(super) register: Script,
    pub(super) unregister: Script,
    pub(super) schema: Script,
    pub(super) expire: Script,
    pub(super) since: Script,
    pub(super) here: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        let script =
            |text: &str| Script::new(&[include_str!("scripts/prelude.lua"), text].concat());
        Self {
            open: script(include_str!("scripts/open.lua")),
            register: script(include_str!("scripts/register.lua")),
            unregister: script(include_str!("scripts/unregister.lua")),
            schema: script(include_str!("scripts/schema.lua")),
            expire: script(include_str!("scripts/expire.lua")),
            since: script(include_str!("scripts/since.lua")),
            here: script(include_str!("scripts/here.lua")),
        }
    }
}

/// The set of all namespaces.
pub(super) const NAMESPACES: &str = "registry:namespaces";

/// The keys of one namespace in Redis.
#[derive(Debug)]
pub(super) struct Keys {
    /// Hash: name to identity, as JSON.
    pub(super) identities: String,
    /// Sorted set: names by expiry, of those that expire.
    pub(super) expiry: String,
    /// Stream: every change; entries are numbered without gaps.
    pub(super) log: String,
    /// Hash: `epoch`, and `sequence`, the number of the newest entry.
    pub(super) about: String,
    /// The schema and the names of its indexes, as JSON.
    pub(super) schema: String,
}

impl Keys {
    pub(super) fn of(namespace: &str) -> Self {
        let key = |what| format!("registry:{namespace}:{what}");
        Self {
            identities: key("identities"),
            expiry: key("expiry"),
            log: key("log"),
            about: key("about"),
            schema: key("schema"),
        }
    }
}
