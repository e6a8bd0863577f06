//! The files that an experiment names, for agents that do not have them.

use std::path::{Component, Path, PathBuf};

use engine::file;
use fleet::protocol::ShippedFile;
use plan::hash;

use crate::problem::Problem;

/// Bytes of all files that are sent to agents.
const LARGEST: u64 = 128 << 20;

/// A file and its content.
#[derive(Debug)]
pub struct Shipment {
    /// Where agents put it.
    pub file: ShippedFile,
    /// What is in it.
    pub content: Vec<u8>,
}

/// Reads the files for agents.
///
/// Errors: one cannot be read, lies elsewhere than below the working folder, or all are too large
pub fn pack(files: &[PathBuf]) -> Result<Vec<Shipment>, Problem> {
    let mut left = LARGEST;
    files
        .iter()
        .map(|path| {
            let name = path.display();
            if !is_below(path) {
                return Err(Problem::usage(format!(
                    "{name} cannot be sent to agents: its path does not lead straight below this folder"
                ))
                .during("sending the experiment's files to agents")
                .hint("put it beside the experiment, and start the run from a folder above both"));
            }
            let content = file::read(path, left).map_err(|error| {
                Problem::usage(format!("cannot send {name} to agents: {error}"))
                    .hint(format!("all files of the experiment may have {} MiB", LARGEST >> 20))
            })?;
            left -= content.len() as u64;
            let file = ShippedFile { path: name.to_string(), sha256: hash::hex(&[&content]) };
            Ok(Shipment { file, content })
        })
        .collect()
}

/// Writes files that a coordinator sent, below this folder and nowhere else.
///
/// Errors: a path leads elsewhere, or cannot be written; a sentence
pub fn unpack(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), String> {
    for (name, content) in files {
        let path = Path::new(name);
        if !is_below(path) {
            return Err(format!("the coordinator sent {name:?}, which is no path below a folder"));
        }
        let path = folder.join(path);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = written.and_then(|()| std::fs::write(&path, content));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Whether a path stays below the folder that it counts from.
pub fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        && path.components().any(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_elsewhere() {
        for path in ["a", "a/b.csv", "./a"] {
            assert!(is_below(Path::new(path)), "{path}");
        }
        for path in ["", ".", "..", "../a", "a/../../b", "/etc/passwd"] {
            assert!(!is_below(Path::new(path)), "{path}");
            let files = [(path.to_owned(), Vec::new())];
            assert!(unpack(Path::new("/nonexistent"), &files).is_err(), "{path}");
        }
    }
}
