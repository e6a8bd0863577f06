//! Pages say what is so: complete experiments in the README and the guide are valid, and commands on all pages work.
//!
//! Not here: fragments of experiments without a load of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use fences::blocks;

mod commands;
#[path = "../fences/mod.rs"]
mod fences;
#[path = "../programs/mod.rs"]
mod programs;

#[test]
fn experiments_in_documents_are_sound() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    std::fs::create_dir_all(&folder).expect("a folder for tests can be made");
    let mut checked = 0;
    programs::ready();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page can be read");
        if let Some(proto) = blocks(&text, "proto").next() {
            std::fs::write(folder.join("shop.proto"), proto).expect("a file can be written");
        }
        for experiment in experiments(&text) {
            checked += 1;
            let file = folder.join(format!("{checked}.toml"));
            std::fs::write(&file, experiment).expect("an experiment can be written");
            let mut command = Command::new(env!("CARGO_BIN_EXE_proofload"));
            // A variable that a page says to set.
            command.arg("check").arg(&file).env("PASSWORD", "engine-of-ada");
            let output = command.output().expect("the binary starts");
            let talk = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{}\n{experiment}\n{talk}", page.display());
        }
    }
    assert!(checked >= 2, "the README and the guide print whole experiments");
}

/// The guide shows how to compare a front and a service that are both already running.
#[test]
fn a_front_of_ones_own_stands_before_a_service_of_ones_own() {
    programs::ready();
    let pages = pages();
    let texts = pages.iter().map(|page| std::fs::read_to_string(page).expect("a page can be read"));
    let whole: String = texts.collect();
    let own = experiments(&whole).find(|text| text.contains("url = \"http://{{factor.path}}\""));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-front.toml");
    std::fs::write(&file, own.expect("the guide has one")).expect("an experiment can be written");
    let output = Command::new(env!("CARGO_BIN_EXE_proofload")).arg("check").arg(&file).output();
    let output = output.expect("the binary starts");
    let plan = String::from_utf8_lossy(&output.stdout);
    for told in ["http://127.0.0.1:9000", "http://127.0.0.1:8080", "comparison   path against"] {
        assert!(plan.contains(told), "{told}:\n{plan}");
    }
}

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// The README and every page of the guide.
fn pages() -> Vec<PathBuf> {
    let guide = std::fs::read_dir(root().join("docs/guide")).expect("the guide can be listed");
    let mut pages: Vec<_> =
        guide.map(|entry| entry.expect("an entry can be read").path()).collect();
    pages.push(root().join("README.md"));
    pages
}

/// Complete experiments in blocks fenced as TOML.
fn experiments(page: &str) -> impl Iterator<Item = &str> {
    blocks(page, "toml").filter(|block| block.contains("[load]") && block.contains("[[operation]]"))
}
