//! `proofload serve`: starts a bundled system, prints its ready line, serves until told to stop.

use std::collections::BTreeMap;
use std::fs;

use plan::diagnostic::near_miss;
use plan::experiment::{BadSetting, Tells, Wrong};
use serving::error::{BadOption, Kind, ServeError};
use serving::options::Options;
use serving::orphans;
use serving::ready::Ready;
use serving::start::System;

use crate::cli::ServeArgs;
use crate::exit::Exit;
use crate::message::Problem;
use crate::output;

/// The bundled systems and their companions.
const TABLE: &[System] = &[
    truth::SYSTEM,
    registry::SYSTEM,
    mail::SYSTEM,
    mail::crowd::SYSTEM,
    search::front::SYSTEM,
    registry::receivers::SYSTEM,
    search::server::SYSTEM,
    search::server::EMBEDDER,
    search::server::INDEX,
    exchange::front::SYSTEM,
    exchange::producer::SYSTEM,
    search::recall_observer::SYSTEM,
    edge::assembly::SYSTEM,
    edge::origin::SYSTEM,
    edge::proxy::SYSTEM,
    edge::monitor::SYSTEM,
];

/// Their names.
pub const NAMES: &[&str] = &{
    let mut names = [""; TABLE.len()];
    let mut place = 0;
    while place < TABLE.len() {
        names[place] = TABLE[place].name;
        place += 1;
    }
    names
};

/// What a system finds wrong with its settings; nothing where there is no such system.
pub fn settings(system: &str, set: &BTreeMap<String, String>) -> Vec<BadSetting> {
    let Some(found) = TABLE.iter().find(|one| one.name == system) else { return Vec::new() };
    let settings = set.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect();
    let bad = (found.check)(&Options { settings, ..Options::default() }).err().unwrap_or_default();
    let wrong = |BadOption { key, what, kind }| {
        let kind = match kind {
            Kind::Value => Wrong::Value,
            Kind::Unknown(known) => Wrong::Unknown(known),
            Kind::Idle => Wrong::Idle,
        };
        BadSetting { key, what, kind }
    };
    bad.problems.into_iter().map(wrong).collect()
}

/// What a system says that it will tell of itself; nothing where that is not known.
pub fn tells(system: &str, set: &BTreeMap<String, String>) -> Option<Tells> {
    let counts = |counts: &[&'static str]| Tells { counts: counts.to_vec(), ..Tells::default() };
    let tells = match system {
        "truth" => counts(&truth::report::COUNTS),
        "mail" => counts(&mail::ledger::COUNTS),
        "mail-crowd" => counts(&[]),
        "registry-receivers" => counts(&registry::receivers::arrivals::COUNTS),
        "search-judge" => counts(&search::recall_observer::COUNTS),
        "monitor" => counts(&edge::monitor::ledger::COUNTS),
        "edge" => Tells {
            // As the observer is called, so is the part that is asked.
            counts: [&edge::monitor::ledger::COUNTS[..], &edge::origin::tally::COUNTS].concat(),
            parts: edge::proxy::PARTS.to_vec(),
            // Another upstream may tell of itself, too.
            other_parts: set.contains_key("upstream"),
            ..Tells::default()
        },
        "origin" => counts(&edge::origin::tally::COUNTS),
        "search" => {
            let front = set.get("front").map_or("", String::as_str);
            let (parts, other_parts) = search::server::parts(front);
            Tells { parts, other_parts, ..Tells::default() }
        }
        "registry" | "exchange-producer" | "search-embedder" | "search-index" => Tells::default(),
        // What is behind it may tell of itself, too.
        "proxy" => {
            Tells { parts: edge::proxy::PARTS.to_vec(), other_parts: true, ..Tells::default() }
        }
        "search-front" => {
            Tells { parts: search::server::parts("").0, other_parts: true, ..Tells::default() }
        }
        "exchange" => Tells { parts: exchange::front::PARTS.to_vec(), ..Tells::default() },
        _ => return None,
    };
    Some(Tells { listening: listening(system, set), processes: processes(system, set), ..tells })
}

/// The addresses in its ready line.
fn listening(system: &str, set: &BTreeMap<String, String>) -> Vec<&'static str> {
    match system {
        "truth" => vec!["http", "control"],
        "mail" if set.contains_key("smtps") => vec!["http", "smtp", "smtps"],
        "mail" => vec!["http", "smtp"],
        "search" => vec!["http", "gateway"],
        "exchange" => vec!["http", "producer", "unix", "shm"],
        "exchange-producer" => vec!["http", "unix", "shm"],
        "monitor" => vec!["http", "casts"],
        "edge" => {
            let [origin, monitor] = parts_of_edge(set);
            let names =
                [(true, "http"), (origin, "origin"), (monitor, "monitor"), (monitor, "casts")];
            names.into_iter().filter_map(|(is_there, name)| is_there.then_some(name)).collect()
        }
        _ => vec!["http"],
    }
}

/// Whether an edge starts an origin and a monitor of its own.
fn parts_of_edge(set: &BTreeMap<String, String>) -> [bool; 2] {
    let origin = !set.contains_key("upstream");
    [origin, !set.contains_key("cast_to") || set.contains_key("monitor_nats")]
}

/// The processes in its ready line, beside its own.
fn processes(system: &str, set: &BTreeMap<String, String>) -> Vec<&'static str> {
    let given = |key: &str| set.get(key).is_some_and(|text| !text.is_empty());
    match system {
        "search" if given("front") && set["front"] != "direct" => vec!["front"],
        // Where it is told of one that runs already, it starts none.
        "exchange" if !["http", "unix", "shm"].into_iter().any(given) => vec!["producer"],
        "edge" => {
            let parts = parts_of_edge(set).into_iter().zip(["origin", "monitor"]);
            parts.filter_map(|(is_there, name)| is_there.then_some(name)).collect()
        }
        _ => Vec::new(),
    }
}

/// Serves until SIGTERM, SIGINT or SIGHUP.
pub fn serve(args: &ServeArgs) -> Result<Exit, Problem> {
    let refused = |error: &ServeError| refused(&args.system, error);
    let options = Options::parse(Some(&args.listen), &args.set)
        .map_err(|bad| refused(&ServeError::Options(bad)))?;
    let Some(system) = TABLE.iter().find(|one| one.name == args.system) else {
        let near = near_miss(&args.system, NAMES);
        let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        return Err(Problem::usage(format!("no system is called \"{}\"", args.system))
            .hint(format!("{near}the bundled ones are: {}", NAMES.join(", "))));
    };
    take_name(system.name);
    let _below = orphans::adopt();
    system.serve(&options, announce).map_err(|error| refused(&error))?;
    Ok(Exit::Passed)
}

/// Lets the kernel call this process what it serves, so that the processes of a run can be told from each other.
/// It keeps the first 15 characters.
fn take_name(system: &str) {
    // A process without a name of its own serves as well.
    let _ = fs::write("/proc/self/comm", system);
}

/// Whoever started the system waits for this line; if it went away, there is nobody to tell.
fn announce(ready: &Ready) {
    let _ = output::print(&format!("{}\n", ready.line()));
}

/// Bad options are one line alone, as launchers expect it: what to do stands in it. Of others the first line says what
/// is wrong, with where and what to do below it.
fn refused(system: &str, error: &ServeError) -> Problem {
    match error {
        ServeError::Options(bad) => {
            let is_unknown = |one: &BadOption| matches!(one.kind, Kind::Unknown(_));
            let where_to_look = match bad.problems.iter().any(is_unknown) {
                true => format!(" (the settings of {system} are listed in {})", page(system)),
                false => String::new(),
            };
            Problem::usage(format!("{bad}{where_to_look}"))
        }
        ServeError::Stopped { doing, why, hint } => {
            Problem::environment(why).during(*doing).hint(*hint)
        }
        ServeError::Listen { .. } | ServeError::Io { .. } => {
            Problem::environment(error.to_string())
        }
    }
}

/// The page of the repository that lists a system's settings: that of its folder, which its name begins with.
fn page(system: &str) -> String {
    match system {
        "search-front" => "experiments/fronts/README.md".to_owned(),
        "origin" => "systems/edge/origin.md".to_owned(),
        "proxy" => "systems/edge/proxy.md".to_owned(),
        "monitor" => "systems/edge/README.md".to_owned(),
        _ => format!("systems/{}/README.md", system.split('-').next().unwrap_or(system)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_system_has_a_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let missing = NAMES.iter().map(|name| page(name)).filter(|page| !root.join(page).is_file());
        assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn each_system_says_what_it_tells() {
        let silent = NAMES.iter().filter(|name| tells(name, &BTreeMap::new()).is_none());
        assert_eq!(silent.collect::<Vec<_>>(), [&""; 0]);
    }

    /// Where each system's settings are described.
    const PAGES: &[(&str, &[&str])] = &[
        ("truth", &[include_str!("../../../../systems/truth/README.md")]),
        ("registry", &[include_str!("../../../../systems/registry/README.md")]),
        ("registry-receivers", &[include_str!("../../../../systems/registry/README.md")]),
        ("mail", &[include_str!("../../../../systems/mail/README.md")]),
        ("mail-crowd", &[include_str!("../../../../systems/mail/README.md")]),
        ("search-front", &[FRONTS]),
        ("search", &[include_str!("../../../../systems/search/README.md"), FRONTS]),
        ("search-embedder", &[include_str!("../../../../systems/search/README.md")]),
        ("search-index", &[include_str!("../../../../systems/search/README.md")]),
        ("exchange", &[EXCHANGE]),
        ("exchange-producer", &[EXCHANGE]),
        ("search-judge", &[include_str!("../../../../systems/search/README.md")]),
        ("origin", &[ORIGIN]),
        ("proxy", &[PROXY]),
        ("monitor", &[EDGE]),
        ("edge", &[EDGE, PROXY, ORIGIN]),
    ];
    const EDGE: &str = include_str!("../../../../systems/edge/README.md");
    const ORIGIN: &str = include_str!("../../../../systems/edge/origin.md");
    const PROXY: &str = include_str!("../../../../systems/edge/proxy.md");
    const EXCHANGE: &str = include_str!("../../../../systems/exchange/README.md");
    const FRONTS: &str = include_str!("../../../../experiments/fronts/README.md");

    /// What there is to set beside these settings.
    fn known(system: &str, set: &[(&str, &str)]) -> Vec<&'static str> {
        let set = set.iter().chain(&[("?", "")]).map(|(key, text)| ((*key).into(), (*text).into()));
        let bad = settings(system, &set.collect());
        let known = |bad: BadSetting| match bad.kind {
            Wrong::Unknown(known) => Some(known),
            _ => None,
        };
        bad.into_iter().find_map(known).expect("there is no `?`")
    }

    /// The values of a setting that decides which others there are, as the refusal of another value lists them.
    fn choices(system: &str, key: &str) -> Vec<String> {
        let bad = settings(system, &[(key.to_owned(), "?".to_owned())].into());
        let list = bad.iter().find_map(|bad| bad.what.strip_prefix("expected one of "));
        let list = list.and_then(|list| list.split_once(", got ")).expect("a list of choices").0;
        list.split(", ").map(str::to_owned).collect()
    }

    #[test]
    fn every_setting_is_described() {
        let mut missing = Vec::new();
        for system in NAMES {
            let (_, pages) =
                PAGES.iter().find(|(name, _)| name == system).expect("each system has a page");
            let lists = match *system {
                "truth" => choices(system, "mode")
                    .iter()
                    .map(|one| known(system, &[("mode", one)]))
                    .collect(),
                "mail" => choices(system, "store")
                    .iter()
                    .map(|one| known(system, &[("store", one)]))
                    .collect(),
                _ => vec![known(system, &[])],
            };
            for key in lists.concat() {
                let prefixes = ["front_", "producer_", "origin_", "monitor_"];
                let plain = prefixes.iter().find_map(|prefix| key.strip_prefix(prefix));
                let plain = plain.unwrap_or(key);
                let is_described = |page: &&str| {
                    page.contains(&format!("`{key}`")) || page.contains(&format!("`{plain}`"))
                };
                if !pages.iter().any(is_described) {
                    missing.push(format!("{key} of {system}"));
                }
            }
        }
        assert_eq!(missing, [""; 0], "these settings are in no document");
    }

    #[test]
    fn all_settings_of_the_front_can_be_given_by_way_of_the_service() {
        let by_way = known("search", &[]);
        for key in known("search-front", &[]).iter().filter(|key| **key != "upstream") {
            assert!(by_way.contains(&&*format!("front_{key}")), "front_{key}");
        }
    }

    #[test]
    fn all_settings_of_the_producer_can_be_given_by_way_of_the_exchange() {
        let by_way = known("exchange", &[]);
        for key in known("exchange-producer", &[]).iter().filter(|key| **key != "file_race") {
            assert!(by_way.contains(&&*format!("producer_{key}")), "producer_{key}");
        }
    }

    #[test]
    fn all_settings_of_the_parts_can_be_given_by_way_of_the_edge() {
        let by_way = known("edge", &[]);
        let missing = |system: &str, prefix: &str| {
            // The proxy asks its origin in the clear.
            let is_for_it = |key: &&str| system != "origin" || !matches!(*key, "cert" | "key");
            let keys = known(system, &[]).into_iter().filter(is_for_it);
            let keys = keys.map(|key| format!("{prefix}{key}"));
            keys.filter(|key| !by_way.contains(&&**key)).collect::<Vec<_>>()
        };
        for (system, prefix) in [("proxy", ""), ("origin", "origin_"), ("monitor", "monitor_")] {
            assert_eq!(missing(system, prefix), [""; 0]);
        }
    }
}
