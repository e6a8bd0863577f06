//! `proofload import`: what it writes passes `check`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::{Lab, Ran};

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/samples")
}

/// The variables that a file names as to be set before a run.
fn variables(text: &str) -> Vec<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("# Set before a run: "));
    let names = line.unwrap_or_default().trim_end_matches('.').split(", ");
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn what_is_imported_passes_check() {
    let lab = Lab::new();
    let entries =
        fs::read_dir(samples()).expect("samples").map(|entry| entry.expect("an entry").path());
    let mut tried = 0;
    for sample in entries.filter(|path| path.extension().is_some_and(|ending| ending != "toml")) {
        let name = sample.file_name().expect("a name").to_string_lossy().into_owned();
        // Files that its requests send lie beside it.
        fs::copy(&sample, lab.path(&name)).expect("copied");
        let out = format!("{name}.toml");
        let ran = lab.proofload(&["import", &name, "--out", &out]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let text = fs::read_to_string(lab.path(&out)).expect("written");
        let set = variables(&text).into_iter().map(|name| (name, "s3cret-value"));
        let checked = lab.command(&["check", &out]).envs(set).output();
        let ran = Ran::from(checked.expect("the binary starts"));
        assert_eq!(ran.code, 0, "{name}: {}\n{text}", ran.stderr);
        tried += 1;
        let again = lab.proofload(&["import", &name, "--out", &out]);
        assert!(
            again.code == 4 && again.stderr.contains("hint: name another file"),
            "{}",
            again.stderr
        );
    }
    assert!(tried > 0);
}

#[test]
fn a_line_of_curl_is_imported_as_it_stands() {
    let lab = Lab::new();
    let ran = lab.proofload(&["import", "curl -d 'q=tea' http://127.0.0.1:8080/search"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("http   = { path = \"/search\", form = { q = \"tea\" } }"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("1 operation from"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let lab = Lab::new();
    for (name, text, says) in [
        ("a.txt", "hello", "a.txt is of no known format"),
        ("a.sh", "curl 'http://h/\n", "reading a.sh line 1"),
        ("b.sh", "curl ftp://h/", "b.sh holds no request"),
        ("c.sh", "curl h --frobnicate", "1 thing of c.sh cannot be taken over"),
    ] {
        lab.write(name, text);
        let ran = lab.proofload(&["import", name, "--strict"]);
        assert_eq!(ran.code, 2, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{name}");
    }
}
