//! The bundled systems: their descriptions agree with their documentation, and settings reach the intended parts.
//!
//! Not here: their behaviour (see `e2e`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

mod programs;

/// The names of all systems, each with its program.
fn systems() -> Vec<(String, PathBuf)> {
    programs::ready();
    let proofload = Path::new(env!("CARGO_BIN_EXE_proofload"));
    let output = Command::new(proofload).arg("serve").output().expect("the binary starts");
    let list = String::from_utf8(output.stdout).expect("a list of names");
    let system = |line: &str| {
        let (name, rest) = line.split_once(' ').expect("a name and more");
        let program = rest.rsplit(['(', ')']).nth(1).expect("a program");
        (name.to_owned(), proofload.with_file_name(program))
    };
    let systems: Vec<_> = list.lines().map(system).collect();
    assert!(systems.len() >= 16, "{list}");
    systems
}

/// A system's description with these settings.
fn described((name, program): &(String, PathBuf), set: &[String]) -> Value {
    let mut command = Command::new(program);
    command.args([name, "--describe"]);
    set.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{name}: {output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a description in JSON");
    document["systems"][0].clone()
}

/// The names of the settings that are available with these.
fn settings(system: &(String, PathBuf), set: &[String]) -> Vec<String> {
    let described = described(system, set);
    let settings = described["settings"].as_array().unwrap_or_else(|| panic!("{described}"));
    let name = |setting: &Value| setting["name"].as_str().expect("a name").to_owned();
    settings.iter().map(name).collect()
}

/// The names of all settings: with every value of every setting that decides which others exist.
fn all_settings(system: &(String, PathBuf)) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = settings(system, &[]).into_iter().collect();
    let described = described(system, &[]);
    for setting in described["settings"].as_array().into_iter().flatten() {
        let choices = setting["expects"].as_str().and_then(|text| text.strip_prefix("one of "));
        for choice in choices.into_iter().flat_map(|list| list.split(", ")) {
            let set = format!("{}={choice}", setting["name"].as_str().expect("a name"));
            all.extend(settings(system, &[set]));
        }
    }
    all
}

/// A page of the repository, and the pages that it links to.
fn pages(page: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let path = root.join(page);
    let text = read(&path);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let linked = targets.filter(|target| target.ends_with(".md") && !target.contains("://"));
    let folder = path.parent().expect("a page lies in a folder");
    let linked: BTreeSet<PathBuf> = linked.map(|target| folder.join(target)).collect();
    let linked: Vec<String> = linked.iter().map(|path| read(path)).collect();
    [text].into_iter().chain(linked).collect()
}

#[test]
fn every_setting_is_described_on_the_page_that_the_system_names() {
    let mut missing = Vec::new();
    for system in systems() {
        let page = described(&system, &[])["page"].as_str().expect("a page").to_owned();
        let pages = pages(&page);
        for key in all_settings(&system) {
            let prefixes = ["front_", "producer_", "origin_", "monitor_"];
            let plain = prefixes.iter().find_map(|prefix| key.strip_prefix(prefix)).unwrap_or(&key);
            let names = [format!("`{key}`"), format!("`{plain}`")];
            if !pages.iter().any(|page| names.iter().any(|name| page.contains(name))) {
                missing.push(format!("{key} of {}: {page}", system.0));
            }
        }
    }
    assert_eq!(missing, [""; 0], "these settings are in no document");
}

/// Every setting of a part can be given through the system that starts it, except settings that this system fills in.
#[test]
fn settings_of_parts_can_be_given_by_way_of_the_system_that_starts_them() {
    let systems = systems();
    let of = |name: &str| {
        let system = systems.iter().find(|(one, _)| one == name).expect("a bundled system");
        settings(system, &[])
    };
    for (whole, part, prefix, without) in [
        ("search", "search-front", "front_", &["upstream"][..]),
        ("exchange", "exchange-producer", "producer_", &["file_race"]),
        ("edge", "proxy", "", &[]),
        // The proxy connects to its origin without TLS.
        ("edge", "origin", "origin_", &["cert", "key"]),
        ("edge", "monitor", "monitor_", &[]),
    ] {
        let by_way = of(whole);
        let mut missing = of(part);
        missing.retain(|key| !without.contains(&&**key));
        missing.retain(|key| !by_way.contains(&format!("{prefix}{key}")));
        assert_eq!(missing, [""; 0], "of {part} by way of {whole}");
    }
}
