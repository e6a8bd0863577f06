//! What a program says of its systems before it serves them, as one JSON document.

use serde::Serialize;

use crate::error::{Kind, Setting};
use crate::options::Options;
use crate::start::{Surface, System};

/// The version of the contract.
const CONTRACT: u32 = 1;

/// A name that no setting has: who is given it lists those that there are.
const NO_SETTING: &str = "?";

#[derive(Serialize)]
struct Document {
    contract: u32,
    systems: Vec<Description>,
}

#[derive(Serialize)]
struct Description {
    name: &'static str,
    about: &'static str,
    page: &'static str,
    /// Left out where another problem hides which settings there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Vec<Setting>>,
    #[serde(flatten)]
    surface: Surface,
    problems: Vec<Problem>,
}

#[derive(Serialize)]
struct Problem {
    key: String,
    what: String,
    /// Whether the setting changes nothing beside the others, which keeps the system from starting nonetheless.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    idle: bool,
}

/// The document for these systems, each with these options.
pub(super) fn of(systems: &[&System], options: &Options) -> String {
    let systems = systems.iter().map(|system| describe(system, options)).collect();
    let document = Document { contract: CONTRACT, systems };
    serde_json::to_string_pretty(&document).expect("texts, numbers and flags always serialize")
}

fn describe(system: &System, options: &Options) -> Description {
    let asked = options.clone().with(NO_SETTING, "");
    let found = (system.check)(&asked).err().unwrap_or_default().problems;
    let mut settings = None;
    let mut problems = Vec::new();
    for problem in found {
        match problem.kind {
            // Which names are unknown follows from the list.
            Kind::Unknown(known) => settings = Some(known),
            kind => {
                let idle = kind == Kind::Idle;
                problems.push(Problem { key: problem.key, what: problem.what, idle });
            }
        }
    }
    let System { name, about, page, surface, .. } = *system;
    Description { name, about, page, settings, surface: surface(options), problems }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::error::BadOptions;
    use crate::settings::Settings;

    fn check(options: &Options) -> Result<(), BadOptions> {
        let settings = Settings::new(&options.settings);
        let mode = settings.choice("mode", &["plain", "slow"], 0);
        settings.check()?;
        if mode == 1 {
            settings.time("pause", 0);
        }
        if settings.has("more") {
            settings.idle("more", "nothing has it");
        }
        settings.finish("the test")
    }

    const SYSTEM: System = System {
        name: "test",
        about: "a test",
        page: "systems/test/README.md",
        surface: |options| Surface {
            counts: options.settings.keys().map(|_| "settings").collect(),
            ..Surface::default()
        },
        check,
        start: |_, _, _| Ok(()),
    };

    fn described(options: &Options) -> Value {
        let document: Value = serde_json::from_str(&of(&[&SYSTEM], options)).unwrap();
        assert_eq!(document["contract"], 1);
        document["systems"][0].clone()
    }

    #[test]
    fn a_system_is_described_as_it_would_start_by_default() {
        assert_eq!(
            described(&Options::default()),
            json!({
                "name": "test", "about": "a test", "page": "systems/test/README.md",
                "settings": [
                    { "name": "mode", "expects": "one of plain, slow" },
                    { "name": "more" },
                ],
                "listening": ["http"], "processes": [], "counts": [], "parts": [], "other_parts": false,
                "problems": [],
            })
        );
    }

    #[test]
    fn settings_decide_which_others_there_are_and_what_is_wrong() {
        let slow = described(&Options::default().with("mode", "slow").with("pause", "long"));
        let names = slow["settings"].as_array().unwrap().iter().map(|one| &one["name"]);
        assert_eq!(names.collect::<Vec<_>>(), ["mode", "more", "pause"]);
        let what = "expected a time such as 1ms, got \"long\"";
        assert_eq!(slow["problems"], json!([{ "key": "pause", "what": what }]));
        assert_eq!(slow["counts"], json!(["settings", "settings"]));
        let idle = described(&Options::default().with("more", "1"));
        let problem = json!({ "key": "more", "what": "nothing has it", "idle": true });
        assert_eq!(idle["problems"], json!([problem]));
    }

    #[test]
    fn the_list_is_left_out_where_it_is_not_known() {
        let wrong = described(&Options::default().with("mode", "quick"));
        assert_eq!(wrong.get("settings"), None);
        assert_eq!(wrong["problems"][0]["key"], "mode");
    }
}
