//! Run folders of earlier versions: each opens, makes every report, and keeps the fields that programs read.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::lab::{Lab, repository};

fn folders() -> Vec<PathBuf> {
    let all = fs::read_dir(repository("crates/proofload/tests/e2e/earlier")).expect("a folder");
    let mut paths: Vec<PathBuf> = all.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

/// The places of all fields, such as `arms[].trials[].accounting.planned`.
fn fields(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(inner) => inner.iter().for_each(|(name, value)| {
            found.insert(format!("{place}.{name}"));
            fields(value, &format!("{place}.{name}"), found);
        }),
        Value::Array(inner) => {
            inner.iter().for_each(|value| fields(value, &format!("{place}[]"), found))
        }
        _ => {}
    }
}

fn fields_of(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    fields(&serde_json::from_str(text).expect("JSON"), "", &mut found);
    found
}

#[test]
fn folders_of_earlier_versions_make_every_report_and_keep_their_fields() {
    let folders = folders();
    assert!(!folders.is_empty());
    for folder in folders {
        let lab = Lab::new();
        let copied = lab.shell(&format!("cp -r {} run", folder.display()));
        assert_eq!(copied.code, 0, "{copied:?}");
        let before = lab.read("run/summary.json");
        for form in ["text", "markdown", "html", "json", "hgrm", "hlog", "csv", "junit", "k6"] {
            let made = lab.proofload(&["report", "run", "--format", form]);
            assert_eq!(
                (made.code, made.stderr.as_str()),
                (0, ""),
                "{form} of {}",
                folder.display()
            );
            assert!(!made.stdout.is_empty(), "{form} of {}", folder.display());
            if form == "json" {
                let lost: Vec<String> =
                    fields_of(&before).difference(&fields_of(&made.stdout)).cloned().collect();
                assert_eq!(lost, [""; 0], "fields of {}", folder.display());
            }
        }
        let same = lab.proofload(&["compare", "run", "run"]);
        assert!([0, 3].contains(&same.code), "{same:?}");
    }
}
