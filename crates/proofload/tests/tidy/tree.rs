//! The repository as files in memory, and what a check says of them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Folders that hold nothing of ours: at the root, and anywhere.
const MADE: &[&str] = &["target", "runs", "dist", "site"];
const FOREIGN: &[&str] = &["vendor", "node_modules"];

/// Endings that checks look at.
const READ: &[&str] = &["rs", "toml", "md", "html", "jinja"];

/// Files by path from the root, with `/` between parts.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
    others: Vec<String>,
}

/// One thing to mend.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    pub what: String,
    pub instead: String,
}

impl Problem {
    pub fn new(
        file: &str,
        line: usize,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Self {
        Self { file: file.to_owned(), line, what: what.into(), instead: instead.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: error: {}, {}", self.file, self.line, self.what, self.instead)
    }
}

impl Tree {
    /// A tree of these files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { files: files.collect(), others: Vec::new() }
    }

    /// The repository that this test belongs to.
    pub fn of_this_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut tree = Self::default();
        tree.read(&root, "");
        tree
    }

    fn read(&mut self, folder: &Path, prefix: &str) {
        let entries = std::fs::read_dir(folder).expect("a folder of the repository can be listed");
        for entry in entries {
            let entry = entry.expect("an entry of the repository can be read");
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if entry.path().is_dir() {
                let made = prefix.is_empty()
                    && (MADE.contains(&name.as_str()) || name.starts_with("dist-"));
                if !name.starts_with('.') && !made && !FOREIGN.contains(&name.as_str()) {
                    self.others.push(path.clone());
                    self.read(&entry.path(), &format!("{path}/"));
                }
            } else if READ.iter().any(|ending| path.ends_with(&format!(".{ending}"))) {
                let text = std::fs::read_to_string(entry.path()).expect("our files are UTF-8");
                self.files.insert(path, text);
            } else {
                self.others.push(path);
            }
        }
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether a file or folder stands there.
    pub fn exists(&self, path: &str) -> bool {
        let below = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains_key(path)
            || self.others.iter().any(|other| other == path.trim_end_matches('/'))
            || self.files.keys().any(|file| file.starts_with(&below))
    }

    /// Files with this ending, in order of their paths.
    pub fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(ending))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// The number of the line of a manifest that sets `key`, from 1; 1 where none does.
pub fn key_line(manifest: &str, key: &str) -> usize {
    let sets = |line: &str| line.split(['=', '.']).next().is_some_and(|word| word.trim() == key);
    manifest.lines().position(sets).map_or(1, |index| index + 1)
}
