//! `{{folder}}`: the folder of the experiment file, for processes that are started elsewhere.

use std::path::PathBuf;

use super::*;

/// Files in a folder below the working directory.
struct Below(&'static str);

impl Inputs for Below {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn locate(&self, path: &Path) -> PathBuf {
        Path::new(self.0).join(path)
    }
}

const FILE: &str = r#"[factors]
path = ["direct", { name = "own", value = "node '{{folder}}/own.mjs' {front_port}" }]
[system]
serve = "search"
set = { model = "{{ folder }}/model", front = "{{factor.path}}", index = "{{{{folder}}" }
[load]
connections = 1
operations = 5
[[operation]]
http = { path = "/" }
"#;

#[test]
fn the_folder_of_the_file_stands_wherever_it_is_asked_for() {
    for (folder, found) in [("lab/exp", "lab/exp"), ("/lab/", "/lab"), ("", ".")] {
        let world = ExperimentContext { inputs: &Below(folder), known: &Build };
        let options = Options { fresh_seed: 1, ..Options::default() };
        let loaded = load("test.toml", FILE, world, &options);
        let plan = loaded.unwrap_or_else(|bad| panic!("{}", bad.render(Colour::Off))).plan;
        let set = |arm: usize, key: &str| {
            let system = plan.arms[arm].system.as_ref().unwrap();
            system.set[key].as_str().unwrap().to_owned()
        };
        assert_eq!(set(0, "model"), format!("{found}/model"));
        assert_eq!(set(1, "front"), format!("node '{found}/own.mjs' {{front_port}}"));
        assert_eq!(set(0, "index"), "{{{{folder}}", "what is escaped stays so");
    }
}

/// Runs of one file do not depend on its folder or the working directory: they can be compared and resumed, and show no paths.
#[test]
fn the_plan_is_the_same_from_wherever_the_file_is_reached() {
    let [here, there] = ["lab/exp", "/home/anna/lab/exp"].map(|folder| {
        let world = ExperimentContext { inputs: &Below(folder), known: &Build };
        let options = Options { fresh_seed: 1, ..Options::default() };
        load("test.toml", FILE, world, &options).unwrap_or_else(|_| panic!("{folder}")).plan
    });
    assert_eq!(here.hash(), there.hash());
    let written = there.to_json().to_string();
    assert!(written.contains("{{ folder }}/model") && !written.contains("anna"), "{written}");
}
