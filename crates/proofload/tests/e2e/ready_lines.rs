//! Names in the ready lines of bundled systems: `check` knows them before the systems start.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::lab::Lab;
use crate::lab::server::{Served, bundled};

/// Systems that other systems need.
struct Others {
    _served: [Served; 3],
    registry: String,
    smtp: String,
    /// The address of a producer of user records.
    producer: Vec<String>,
}

impl Others {
    fn start() -> Self {
        let (registry, at_registry) = bundled("registry", &[]);
        let (mail, at_mail) = bundled("mail", &[]);
        let (producer, at_producer) = bundled("exchange-producer", &[]);
        let producer_at = ["http", "unix", "shm"].map(|key| address(&at_producer, key, key));
        Self {
            _served: [registry, mail, producer],
            registry: address(&at_registry, "http", "registry"),
            smtp: address(&at_mail, "smtp", "smtp"),
            producer: producer_at.into(),
        }
    }

    /// The settings to start a system with here; one or several variants.
    fn settings(&self, system: &str) -> Vec<Vec<String>> {
        let one = |settings: &[&str]| settings.iter().map(|one| (*one).to_owned()).collect();
        match system {
            "registry-receivers" => vec![vec![self.registry.clone()]],
            "subscribers" => {
                let registry = self.registry.replace("registry=", "url=ws://");
                vec![vec![format!("{registry}/v1/loadtest/subscribe/*")]]
            }
            "mail" => vec![one(&[]), one(&["tls=required", "smtps=127.0.0.1:0"])],
            "mail-crowd" => vec![vec![self.smtp.clone(), "sessions=1".to_owned()]],
            "search" => vec![
                one(&["workers=5"]),
                one(&["workers=5", "front=direct"]),
                one(&["workers=5", "front=front"]),
            ],
            "search-front" | "proxy" => vec![one(&["upstream=http://127.0.0.1:1"])],
            "search-judge" => vec![one(&["search=http://127.0.0.1:1"])],
            "exchange" => vec![one(&[]), self.producer.clone()],
            _ => vec![one(&[])],
        }
    }
}

/// An address of the ready line, as a setting.
fn address(ready: &Value, key: &str, setting: &str) -> String {
    format!("{setting}={}", ready["listening"][key].as_str().expect("an address"))
}

/// The names of all bundled systems.
fn systems(lab: &Lab) -> Vec<String> {
    let list = lab.proofload(&["serve"]).stdout;
    let names = list.lines().filter_map(|line| line.split_once(' '));
    let names: Vec<String> = names.map(|(name, _)| name.to_owned()).collect();
    assert!(names.len() >= 17, "{list}");
    names
}

/// The names that `check` suggests when this piece of a file uses an unknown name.
fn known(lab: &Lab, (system, settings): (&str, &[String]), piece: &str) -> BTreeSet<String> {
    let set = settings.iter().map(|one| one.split_once('=').expect("key=value"));
    let set: Vec<String> = set.map(|(key, value)| format!("{key} = \"{value}\"")).collect();
    let file = format!(
        "[system]\nserve = \"{system}\"\nset = {{ {} }}\n{piece}[load]\nconnections = 1\nduration = \"1s\"\n\
         warm_up = \"0s\"\n[[operation]]\nhttp = {{ path = \"/\" }}\n",
        set.join(", ")
    );
    lab.write("stranger.toml", &file);
    let ran = lab.proofload(&["check", "stranger.toml"]);
    assert_eq!((ran.code, ran.stderr.matches("error: ").count()), (2, 1), "{system}: {ran:?}");
    let list = ran.stderr.split_once("known here: ").map(|(_, list)| list.lines().next());
    list.flatten().into_iter().flat_map(|list| list.split(", ")).map(str::to_owned).collect()
}

#[test]
fn check_knows_the_addresses_and_the_parts_of_every_bundled_system() {
    let lab = Lab::new();
    let others = Others::start();
    for system in systems(&lab) {
        for settings in others.settings(&system) {
            let given: Vec<&str> = settings.iter().map(String::as_str).collect();
            let (served, ready) = bundled(&system, &given);
            let what = (&*system, &*settings);
            let listening = ready["listening"].as_object().expect("addresses").keys();
            let target = "[target]\nurl = \"http://{system.nothing}\"\n";
            assert_eq!(known(&lab, what, target), listening.cloned().collect(), "{what:?}");
            let processes = ready["processes"].as_array().expect("processes").iter();
            // The process that was started is no part, whatever its name.
            let parts = processes.filter(|one| one["pid"] != served.child.id());
            let parts = parts.map(|one| one["name"].as_str().expect("a name").to_owned()).collect();
            let fault = "[[fault]]\nprocess = \"system.nothing\"\nat = \"0s\"\naction = \"kill\"\n";
            assert_eq!(known(&lab, what, fault), parts, "{what:?}");
        }
    }
}
