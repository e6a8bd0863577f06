//! The settings of an edge: the proxy's as they are, those of the parts with a prefix.

use std::collections::BTreeMap;

use serde_json::Value;
use serving::error::BadOptions;
use serving::options::Options;
use serving::settings::Settings;
use serving::supervisor::ChildSpec;

use crate::{monitor, origin, proxy};

/// The proxy's setting for where requests go.
const UPSTREAM: &str = "upstream";
/// The proxy's setting for where messages about answers go.
const CAST_TO: &str = "cast_to";
/// The monitor's setting for where casters connect to.
pub(super) const CASTS: &str = "casts";

/// The origin's settings are the edge's with this before their names.
const ORIGIN: &str = "origin_";
/// Those that it has, prefixed.
const OF_ORIGIN: &[&str] = &[
    "origin_recipe",
    "origin_seed",
    "origin_max_payload",
    "origin_max_payloads",
    "origin_max_routes",
    "origin_ca",
    "origin_threads",
    "origin_max_connections",
    "origin_max_head",
    "origin_max_body",
    "origin_idle",
    "origin_read",
    "origin_drain",
];

/// Likewise the monitor's.
const MONITOR: &str = "monitor_";
/// Those that it has, prefixed.
const OF_MONITOR: &[&str] = &[
    "monitor_casts",
    "monitor_nats",
    "monitor_subject",
    "monitor_max_casters",
    "monitor_max_senders",
    "monitor_max_frame",
    "monitor_keep",
    "monitor_keep_messages",
    "monitor_slow",
    "monitor_threads",
    "monitor_max_connections",
    "monitor_max_head",
    "monitor_max_body",
    "monitor_idle",
    "monitor_read",
    "monitor_drain",
];

/// The configuration in force, but for the addresses of the parts.
#[derive(Debug, Clone)]
pub(super) struct Configuration {
    /// The proxy's, with addresses that stand in for those of the parts.
    pub proxy: proxy::Configuration,
    /// None where requests go elsewhere.
    pub origin: Option<ChildSpec>,
    /// None if messages go to another monitor, or nowhere.
    pub monitor: Option<ChildSpec>,
    given: BTreeMap<String, Value>,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(super) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    // Of the parts nothing is known yet but that they will be somewhere.
    let given = with(&options.settings, "127.0.0.1:1", Some("127.0.0.1:1"));
    let settings = Settings::new(&given);
    let origin = ChildSpec::read(&settings, ORIGIN, OF_ORIGIN, &origin::SYSTEM);
    let [has_origin, has_monitor] = starts(&options.settings);
    if !has_origin {
        unused(&settings, OF_ORIGIN, "an origin is started only without `upstream`");
    }
    let monitor = ChildSpec::read(&settings, MONITOR, OF_MONITOR, &monitor::SYSTEM);
    if !has_monitor {
        unused(&settings, OF_MONITOR, "a monitor is started only without `cast_to`");
    }
    let proxy = proxy::read_among(&settings);
    settings.finish("edge")?;
    Ok(Configuration {
        proxy,
        origin: has_origin.then_some(origin),
        monitor: has_monitor.then_some(monitor),
        given: options.settings.clone(),
    })
}

/// Whether an edge with these settings starts an origin, and whether a monitor.
pub(super) fn starts(given: &BTreeMap<String, Value>) -> [bool; 2] {
    // By way of a server that both know it can be told although its address is not the one that is given.
    let monitor = !given.contains_key(CAST_TO) || given.contains_key("monitor_nats");
    [!given.contains_key(UPSTREAM), monitor]
}

/// Tells that these change nothing, where they are given.
fn unused(settings: &Settings<'_>, keys: &[&'static str], why: &str) {
    keys.iter().filter(|key| settings.has(key)).for_each(|key| settings.idle(key, why));
}

/// These settings, and where the parts are unless they say so.
fn with(
    given: &BTreeMap<String, Value>,
    origin: &str,
    casts: Option<&str>,
) -> BTreeMap<String, Value> {
    let mut settings = given.clone();
    settings.entry(UPSTREAM.to_owned()).or_insert_with(|| format!("http://{origin}").into());
    if let Some(casts) = casts {
        settings.entry(CAST_TO.to_owned()).or_insert_with(|| casts.into());
    }
    settings
}

impl Configuration {
    /// The proxy's settings with the addresses of the parts in them, of which those that are not there are given.
    ///
    /// Errors: none, unless something has changed since the settings were read
    pub fn before(
        &self,
        origin: &str,
        casts: Option<&str>,
    ) -> Result<proxy::Configuration, BadOptions> {
        let is_own = |key: &str| !key.starts_with(ORIGIN) && !key.starts_with(MONITOR);
        let mut given = with(&self.given, origin, casts);
        given.retain(|key, _| is_own(key));
        let settings = Settings::new(&given);
        let proxy = proxy::read_among(&settings);
        settings.finish("edge")?;
        Ok(proxy)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(options: &Options) -> Vec<String> {
        read(options).err().unwrap_or_default().sentences()
    }

    #[test]
    fn everything_has_a_default_and_nothing_is_told_of_addresses() {
        let plain = read(&Options::default()).unwrap();
        let [origin, monitor] = [plain.origin, plain.monitor].map(|part| part.unwrap());
        assert_eq!((origin.system, monitor.system), ("origin", "monitor"));
        assert!(origin.settings.is_empty() && monitor.settings.is_empty());
        // What is cast has somebody to go to.
        assert_eq!(plain.proxy.effective()["cast_messages"], 1);
    }

    #[test]
    fn settings_of_the_parts_are_passed_on_and_judged_by_them() {
        let given = Options::default()
            .with("origin_recipe", "none")
            .with("monitor_slow", "5ms")
            .with("cast_messages", 40);
        let read = read(&given).unwrap();
        assert_eq!(read.origin.unwrap().settings, [("recipe".to_owned(), json!("none"))].into());
        assert_eq!(read.monitor.unwrap().settings, [("slow".to_owned(), json!("5ms"))].into());
        assert_eq!(read.proxy.effective()["cast_messages"], 40);
        let bad = given.with("origin_recipe", "[1]").with("monitor_slow", "5").with("threads", 0);
        let told = problems(&bad);
        for (place, beginning) in
            ["origin_recipe: $[0]", "monitor_slow: expected", "threads: expected"]
                .into_iter()
                .enumerate()
        {
            assert!(told.len() == 3 && told[place].starts_with(beginning), "{told:?}");
        }
        for key in OF_ORIGIN.iter().chain(OF_MONITOR) {
            let told = problems(&Options::default().with(key, json!([])));
            assert!(told.iter().all(|problem| !problem.contains("no setting of")), "{told:?}");
        }
    }

    #[test]
    fn a_setting_of_a_part_is_known_by_its_name_there() {
        for (key, told) in [
            ("recipe", "recipe: no setting of edge; did you mean origin_recipe?"),
            ("slow", "slow: no setting of edge; did you mean monitor_slow?"),
            ("origin_recipes", "origin_recipes: no setting of edge; did you mean origin_recipe?"),
        ] {
            assert_eq!(problems(&Options::default().with(key, "0")), [told]);
        }
    }

    #[test]
    fn a_part_elsewhere_is_not_started_and_has_no_settings() {
        let elsewhere = Options::default().with("upstream", "http://127.0.0.1:80");
        let settings = read(&elsewhere).unwrap();
        assert!(settings.origin.is_none() && settings.monitor.is_some());
        let told = problems(&elsewhere.with("origin_seed", 2));
        assert_eq!(told, ["origin_seed: an origin is started only without `upstream`"]);
        for (peer, settings, is_started, problem) in [
            ("127.0.0.1:81", None, false, None),
            ("", None, false, None),
            (
                "127.0.0.1:81",
                Some(("monitor_keep", "0")),
                false,
                Some("monitor_keep: a monitor is"),
            ),
            ("nats://127.0.0.1:1", Some(("monitor_nats", "nats://127.0.0.1:1")), true, None),
        ] {
            let mut options = Options::default().with("cast_to", peer);
            if let Some((key, value)) = settings {
                options = options.with(key, value);
            }
            match (read(&options), problem) {
                (Ok(read), None) => assert_eq!(read.monitor.is_some(), is_started, "{peer}"),
                (Err(bad), Some(told)) => assert!(bad.to_string().starts_with(told), "{bad}"),
                other => panic!("{peer}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_proxy_stands_before_the_parts_that_were_started() {
        let given = Options::default().with("origin_recipe", "none").with("cast_messages", 3);
        let read = read(&given).unwrap();
        let before = read.before("127.0.0.1:7", Some("127.0.0.1:8")).unwrap().effective();
        assert_eq!(before["upstream"], "http://127.0.0.1:7");
        assert_eq!(
            (&before["cast_to"], &before["cast_messages"]),
            (&json!(["127.0.0.1:8"]), &json!(3))
        );
    }
}
