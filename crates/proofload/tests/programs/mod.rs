//! The programs of the bundled systems, next to the binary under test.
//!
//! `cargo test --workspace` builds them. If only this package is tested, they may be missing or out of date; then this
//! module builds all of them once, with the profile of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// The packages; each has the program `proofload-PACKAGE`.
const PACKAGES: [&str; 7] =
    ["edge", "exchange", "mail", "registry", "search", "subscribers", "truth"];

/// Folders of crates that systems share.
const SHARED: [&str; 2] = ["foundation", "service-kit"];

/// Makes sure that all of them exist and are up to date.
pub fn ready() {
    static READY: Once = Once::new();
    READY.call_once(|| {
        let folder = folder();
        if !PACKAGES.iter().all(|package| is_fresh(&folder, package)) {
            build(&folder);
        }
    });
}

/// Where cargo puts programs of this profile.
fn folder() -> PathBuf {
    let own = Path::new(env!("CARGO_BIN_EXE_proofload"));
    own.parent().expect("a program lies in a folder").to_owned()
}

/// Whether the program of this package is newer than all of its sources. Cargo's own list of them is missing if `cargo
/// test` built the program as part of the package's tests.
fn is_fresh(folder: &Path, package: &str) -> bool {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|about| about.modified()).ok();
    let Some(built) = changed(&folder.join(format!("proofload-{package}"))) else { return false };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let package = root.join("systems").join(package);
    // A system may have further crates in its folder.
    let is_source = |file: &PathBuf| {
        let inner = file.strip_prefix(&package).unwrap_or(file);
        inner.components().any(|part| part.as_os_str() == "src")
    };
    let own = files_below(&package).into_iter().filter(is_source);
    let shared = SHARED.iter().flat_map(|place| files_below(&root.join(place)));
    own.chain(shared).all(|source| changed(&source) <= Some(built))
}

/// The files in this folder and in those below it.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"))
    {
        let path = entry.path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

fn build(folder: &Path) {
    let name = folder.file_name().and_then(|name| name.to_str()).expect("the folder of a profile");
    // The profiles `dev` and `test` are the same and share a folder.
    let profile = if name == "debug" { "dev" } else { name };
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--bins", "--profile", profile]);
    cargo.arg("--target-dir").arg(folder.parent().expect("the target folder"));
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let built = cargo.output().expect("cargo starts");
    let talk = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "the systems cannot be built:\n{talk}");
}
