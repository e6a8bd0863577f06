//! The programs of the bundled systems, beside the binary under test.
//!
//! `cargo test --workspace` builds them. Where only this package is tested, they may be missing or older than their
//! sources: then they are built here, once, all together, with the profile of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// The packages; each has the program `proofload-PACKAGE`.
const PACKAGES: [&str; 6] = ["edge", "exchange", "mail", "registry", "search", "truth"];

/// Sees to it that all of them are there.
pub fn ready() {
    static READY: Once = Once::new();
    READY.call_once(|| {
        let folder = folder();
        if !PACKAGES.iter().all(|package| is_fresh(&folder.join(format!("proofload-{package}")))) {
            build(&folder);
        }
    });
}

/// Where cargo puts programs of this profile.
fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_proofload"));
    own.parent().expect("a program lies in a folder").to_owned()
}

/// Whether it is no older than any source that cargo lists beside it.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    let Ok(list) = std::fs::read_to_string(program.with_extension("d")) else { return false };
    let Some((_, sources)) = list.split_once(": ") else { return false };
    // A space within a path is written with a backslash before it.
    let sources = sources.trim_end().replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|path| PathBuf::from(path.replace('\0', " ")));
    let built = changed(program);
    built.is_some() && sources.all(|source| changed(&source) <= built)
}

fn build(folder: &Path) {
    let name = folder.file_name().and_then(|name| name.to_str()).expect("the folder of a profile");
    // The profile `test` has its files there, too.
    let profile = if name == "debug" { "test" } else { name };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--bins", "--profile", profile]);
    cargo.arg("--target-dir").arg(folder.parent().expect("the target folder"));
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let built = cargo.output().expect("cargo starts");
    let talk = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "the systems cannot be built:\n{talk}");
}
