//! What people read when the program panics: a bug of this program, unless a library panics over an invalid file.

use std::io::{Write, stderr};
use std::panic::PanicHookInfo;

/// Libraries that panic where a file of the user's makes no sense. Who called them catches that, and says which
/// folder it is.
const READERS: [&str; 4] = ["redb", "model2vec-rs", "tokenizers", "safetensors"];

/// Writes to stderr what happened.
pub(super) fn report(panic: &PanicHookInfo<'_>) {
    let message = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let text = match panic.location().is_some_and(|at| reads_files(at.file())) {
        true => format!("note: a file could not be read: {message}{place}"),
        false => format!(
            "error: a bug in proofload {version}: {message}{place}\n  hint: please report it with the command line"
        ),
    };
    // A terminal that was closed must not turn a panic into an abort.
    let _ = writeln!(stderr(), "{text}");
}

/// Whether this source is that of such a library: its folder is called after name and version.
fn reads_files(source: &str) -> bool {
    let is_version = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    let version = |folder: &str| {
        READERS.iter().any(|name| {
            let rest = folder.strip_prefix(*name).and_then(|rest| rest.strip_prefix('-'));
            rest.is_some_and(is_version)
        })
    };
    source.split('/').any(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_reads_files_is_known_by_where_it_lies() {
        let known =
            |library| reads_files(&format!("/home/ada/.cargo/registry/src/x/{library}/src/lib.rs"));
        for library in
            ["redb-3.1.0", "model2vec-rs-0.4.0", "tokenizers-0.21.4", "safetensors-0.5.3"]
        {
            assert!(known(library), "{library}");
        }
        for other in ["hyper-1.8.1", "redbird-1.0.0", "tokenizers-extra-1.0.0", "tokio-1.48.0"] {
            assert!(!known(other), "{other}");
        }
        assert!(!reads_files("systems/search/src/guarded.rs"));
    }

    #[test]
    fn those_libraries_are_in_this_build() {
        let locked = include_str!("../../../../Cargo.lock");
        for name in READERS {
            assert!(locked.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
    }
}
