//! The scripts, each of which is one operation: one round trip, done whole or not at all.

use redis::Script;

/// About how many entries a log keeps; a copy further behind reads everything anew.
pub(super) const LOG_LENGTH: &str = "100000";

/// All scripts, each with what they share before it.
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

/// What one namespace has in Redis.
#[derive(Debug)]
pub(super) struct Keys {
    /// Hash: name to identity, as JSON.
    pub(super) identities: String,
    /// Sorted set: name by the instant at which it ends, for those that end.
    pub(super) expiry: String,
    /// Stream: every change, the entries numbered without a hole.
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
