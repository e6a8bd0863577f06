//! Names that systems list in advance, and settings that only some arms use.

use std::collections::BTreeMap;

use super::*;

/// Knows an observer, and a system whose setting for the front's cost has no effect without a
/// front.
struct Knowing;

impl KnownNames for Knowing {
    fn protocols(&self) -> &[&str] {
        Build.protocols()
    }

    fn parts(&self, protocol: &str, table: &document::Table) -> Vec<Part> {
        Build.parts(protocol, table)
    }

    fn settings(&self, system: &str, set: &BTreeMap<String, String>) -> Vec<BadSetting> {
        let has_front = set.get("front").is_some_and(|front| front == "front");
        let is_idle = system == "search" && !has_front && set.contains_key("front_cost");
        let (key, what) = ("front_cost".to_owned(), "there is no front".to_owned());
        is_idle.then_some(BadSetting { key, what, kind: SettingError::Idle }).into_iter().collect()
    }

    fn reported_names(
        &self,
        system: &str,
        set: &BTreeMap<String, String>,
    ) -> Option<ReportedNames> {
        let other_parts = set.get("front").is_some_and(|front| front.contains("{upstream}"));
        match system {
            "search" => {
                let processes = match set.get("front").map(String::as_str) {
                    Some("front") => names(&["front"]),
                    _ => Vec::new(),
                };
                let (parts, counts) = (names(&["gateway", "front"]), Vec::new());
                let listening = names(&["http", "gateway"]);
                Some(ReportedNames { parts, other_parts, counts, listening, processes })
            }
            "judge" => {
                let listening = names(&["http"]);
                Some(ReportedNames {
                    counts: names(&["recall"]),
                    listening,
                    ..ReportedNames::default()
                })
            }
            _ => None,
        }
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const FILE: &str = r#"[factors]
path = ["direct", "front"]
[system]
serve = "search"
set = { front = "{{factor.path}}", front_cost = "1ms" }
[[observer]]
name = "judge"
serve = "judge"
expect = "recall >= 0.9 and received == all.succeeded"
[load]
connections = 1
operations = 5
[[operation]]
name = "search"
http = { path = "/", told = ["gateway"] }
"#;

fn checked(text: &str) -> Result<Experiment, String> {
    let world = ExperimentContext { inputs: &Memory::new(), known: &Knowing };
    let options = Options { fresh_seed: 1, ..Options::default() };
    load("test.toml", text, world, &options).map_err(|refused| refused.render(Colour::Off))
}

/// The warnings of a valid file.
fn warned(text: &str) -> Option<String> {
    checked(text).unwrap_or_else(|problems| panic!("{problems}")).warned(Colour::Off)
}

#[test]
fn names_that_are_told_are_no_problem() {
    assert_eq!(warned(FILE), None);
}

#[test]
fn a_count_that_an_observer_does_not_have_is_refused_with_the_one_that_was_meant() {
    let refused = checked(&FILE.replace("recall >=", "recal >=")).unwrap_err();
    for told in [
        "error: unknown count of the observer `recal`",
        "^^^^^ did you mean `recall`?",
        "known here: recall, received, duplicates, unexpected, lost",
    ] {
        assert!(refused.contains(told), "{told}:\n{refused}");
    }
    assert_eq!(refused.matches("error: ").count(), 1, "once, and not once an arm:\n{refused}");
}

#[test]
fn of_an_observer_that_is_somebody_elses_nobody_knows() {
    let theirs = FILE.replace("serve = \"judge\"", "command = \"judge {port}\"");
    let warned = warned(&theirs).expect("a warning");
    assert!(
        warned.starts_with(
            "warning: it is unknown until the run whether the observer reports `recall`"
        )
    );
    assert_eq!(warned.matches("warning: ").count(), 1, "{warned}");
}

#[test]
fn a_part_that_the_system_does_not_tell_of_is_refused() {
    let refused = checked(&FILE.replace("[\"gateway\"]", "[\"gatway\"]")).unwrap_err();
    assert!(refused.contains("unknown part of the system `gatway`"), "{refused}");
    assert!(refused.contains("^^^^^^ did you mean `gateway`?"), "{refused}");
}

#[test]
fn of_parts_of_another_target_nobody_knows() {
    let told = FILE.replace("[\"gateway\"]", "[\"gateway\", \"edge\"]");
    let elsewhere = format!("{told}target = \"http://127.0.0.1:1\"\n");
    let both = warned(&elsewhere).expect("a warning");
    assert_eq!(
        both.matches("warning: it is unknown until the run whether the target reports").count(),
        2,
        "{both}"
    );
    let fronted = told.replace("\"front\"]", "\"front {front_port} {upstream}\"]");
    let one = warned(&fronted.replace(", front_cost = \"1ms\"", "")).expect("a warning");
    assert!(one.contains("`edge`") && !one.contains("`gateway`"), "{one}");
    assert!(checked(&told).is_err(), "without such a front it is known");
}

#[test]
fn an_address_that_a_system_does_not_have_is_refused_wherever_it_stands() {
    let judge = "[[observer]]\nname = \"judge\"\nserve = \"judge\"\n";
    let set = |text: &str| FILE.replace(judge, &format!("{judge}set = {{ a = \"{text}\" }}\n"));
    for well in ["http://{system.gateway}", "{system}", "{judge.http}", "{system.gateway} {it.x}"] {
        assert_eq!(warned(&set(well)), None, "{well}");
    }
    let target = |text: &str| format!("{FILE}target = \"http://{text}\"\n");
    let service = "[[service]]\nname = \"it\"\ncommand = \"it {port} {system.gatway}\"\n";
    for file in [
        set("http://{system.gatway}/x"),
        target("{system.gatway}"),
        FILE.replace("[load]", &format!("{service}[load]")),
    ] {
        let refused = checked(&file).unwrap_err();
        assert!(refused.contains("error: unknown address of `system` `gatway`"), "{refused}");
        assert!(refused.contains("^^^^^^ did you mean `gateway`?"), "{refused}");
        assert!(refused.contains("known here: http, gateway"), "{refused}");
        assert_eq!(refused.matches("error: ").count(), 1, "{refused}");
    }
    // The names of a command are unknown.
    let set = "set = { front = \"{{factor.path}}\", front_cost = \"1ms\" }\n";
    let theirs = FILE.replace("serve = \"search\"", "command = \"it {port}\"").replace(set, "");
    let theirs = theirs.replace("path = \"/\"", "path = \"/{{factor.path}}\"");
    let asked = format!("{theirs}target = \"http://{{system.any}}\"\n");
    checked(&asked).unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn a_part_that_a_system_does_not_have_cannot_be_hit() {
    let hit = |part: &str| {
        let fault =
            format!("[[fault]]\nprocess = \"system.{part}\"\nat = \"0s\"\naction = \"kill\"\n");
        FILE.replace("[load]", &format!("{fault}[load]"))
    };
    let front = |file: String| file.replace("[\"direct\", \"front\"]", "[\"front\"]");
    assert!(checked(&front(hit("front"))).is_ok());
    let refused = checked(&front(hit("frnt"))).unwrap_err();
    assert!(refused.contains("error: unknown part of `system` `frnt`"), "{refused}");
    assert!(refused.contains("^^^^ did you mean `front`?"), "{refused}");
    let refused = checked(&hit("front")).unwrap_err();
    assert!(refused.contains("error: `system` has no parts of its own"), "in one arm:\n{refused}");
    assert!(refused.contains("^^^^^ hit `system` itself"), "{refused}");
}

#[test]
fn a_setting_of_the_front_goes_to_the_arm_that_has_one() {
    let plan = checked(FILE).unwrap().plan;
    let has_cost = |arm: &crate::plan::Arm| {
        arm.system.as_ref().is_some_and(|system| system.set.contains_key("front_cost"))
    };
    assert_eq!(plan.arms.iter().map(has_cost).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_setting_that_no_arm_has_a_use_for_is_told() {
    let direct = FILE.replace("[\"direct\", \"front\"]", "[\"direct\", \"none\"]");
    let warned = warned(&direct).expect("a warning");
    assert!(
        warned.starts_with("warning: `front_cost` of `search` changes nothing in any arm"),
        "{warned}"
    );
    assert!(warned.contains("^^^^^^^^^^ there is no front"), "{warned}");
    assert_eq!(warned.matches("warning: ").count(), 1, "{warned}");
}
