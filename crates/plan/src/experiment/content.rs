//! Files that the tables of protocols name: their content takes the place of their names.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::operation::Reading;
use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Node, Table, Value};
use crate::protocol::{FileForm, FileKey};

/// Most files that one file may lead to.
const SOURCES_LIMIT: usize = 1_000;

impl Reading<'_> {
    /// Reads every file that this table of a protocol names.
    pub(super) fn files(&mut self, keys: &[FileKey], table: &mut Table) {
        for key in keys {
            match key.form {
                FileForm::Parts => {
                    let named = table.entries.iter_mut().find(|entry| entry.key == key.key);
                    if let Some(Entry { node: Node { value: Value::Table(parts), .. }, .. }) = named
                    {
                        parts.entries.retain_mut(|part| self.parts(&mut part.node));
                    }
                }
                _ => self.file(table, key),
            }
        }
    }

    /// Reads the files of a part, or of a list of parts. Each is taken out after a problem, as below.
    fn parts(&mut self, node: &mut Node) -> bool {
        match &mut node.value {
            Value::Array(nodes) => {
                nodes.retain_mut(|node| self.parts(node));
                !nodes.is_empty()
            }
            Value::Table(part) => self.part(part),
            _ => true,
        }
    }

    /// Puts the content of the file, in base64, in the place of `file`, and its name beside it.
    fn part(&mut self, part: &mut Table) -> bool {
        let Some(at) = part.entries.iter().position(|entry| entry.key == "file") else {
            return true;
        };
        let entry = &mut part.entries[at];
        let Some(file) = entry.node.as_str().map(str::to_owned) else {
            self.problems.push(entry.node.unlike("the name of a file"));
            return false;
        };
        match self.bytes(Path::new(&file)) {
            Ok(bytes) => entry.node.value = Value::String(STANDARD.encode(bytes)),
            Err(message) => {
                self.problems.push(Diagnostic::new(entry.node.span, message, "named here"));
                return false;
            }
        }
        entry.key = "content".to_owned();
        let (key_span, span) = (entry.key_span, entry.node.span);
        let name = Path::new(&file).file_name().map(|name| name.to_string_lossy().into_owned());
        if let Some(name) = name.filter(|_| part.get("name").is_none()) {
            let node = Node { span, value: Value::String(name) };
            part.entries.push(Entry { key: "name".to_owned(), key_span, node });
        }
        true
    }

    /// Puts the content of the files under this key in the place of their names.
    fn file(&mut self, table: &mut Table, key: &FileKey) {
        let Some(at) = table.entries.iter().position(|entry| entry.key == key.key) else {
            return;
        };
        // Taken out: were it left in after a problem, the driver would report it once more.
        let mut entry = table.entries.remove(at);
        if key.content != key.key && table.get(key.content).is_some() {
            let message = format!("`{}` and `{}` exclude each other", key.content, key.key);
            return self.problems.push(Diagnostic::new(entry.key_span, message, "keep one"));
        }
        let before = self.problems.len();
        match (key.form, &mut entry.node.value) {
            (FileForm::Sources(named), _) => self.sources(&mut entry.node, named),
            (form, Value::Array(nodes)) => {
                nodes.iter_mut().for_each(|node| self.content(node, form));
            }
            (form, _) => self.content(&mut entry.node, form),
        }
        // Where the content takes the name's place, an empty one stands for a file that cannot be read.
        let is_empty = key.content == key.key && entry.node.as_str() == Some("");
        if is_empty && self.problems.len() == before {
            self.problems.push(Diagnostic::new(entry.node.span, "the file is empty", "named here"));
        }
        if self.problems.len() == before {
            entry.key = key.content.to_owned();
            table.entries.insert(at, entry);
        } else if key.content == key.key {
            // Were it absent, the driver would report that it is missing.
            entry.node.value = Value::String(String::new());
            table.entries.insert(at, entry);
        }
    }

    /// From the name of a file to its content.
    fn content(&mut self, node: &mut Node, form: FileForm) {
        let Some(file) = node.as_str() else {
            return self.problems.push(node.unlike("the name of a file"));
        };
        let content = match form {
            FileForm::Base64 => self.bytes(Path::new(file)).map(|bytes| STANDARD.encode(bytes)),
            _ => self.text(Path::new(file)).map(|text| text.replace("{{", "{{{{")),
        };
        match content {
            Ok(text) => node.value = Value::String(text),
            Err(message) => self.problems.push(Diagnostic::new(node.span, message, "named here")),
        }
    }

    /// From the names of files to a list of them and of all files that they name, each `{ name, content }`.
    fn sources(&mut self, node: &mut Node, named: fn(&str) -> Vec<String>) {
        let span = node.span;
        let nodes = match &node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut found = Vec::new();
        for node in nodes {
            let Some(file) = node.as_str() else {
                self.problems.push(node.unlike("the name of a file"));
                continue;
            };
            match self.text(Path::new(file)) {
                Ok(text) => {
                    self.sources_of(Source::new(file.into(), file, text), named, &mut found)
                }
                Err(message) => {
                    self.problems.push(Diagnostic::new(node.span, message, "named here"));
                }
            }
        }
        let entry = |key: &str, text: String| Entry {
            key: key.to_owned(),
            key_span: span,
            node: Node { span, value: Value::String(text) },
        };
        let table = |Source { name, text, .. }| {
            // Their braces are no placeholders.
            let entries = vec![entry("name", name), entry("content", text.replace("{{", "{{{{"))];
            Node { span, value: Value::Table(Table { span, entries }) }
        };
        node.value = Value::Array(found.into_iter().map(table).collect());
    }

    /// Adds this file and those that it leads to. Each is called as others name it.
    fn sources_of(&self, file: Source, named: fn(&str) -> Vec<String>, found: &mut Vec<Source>) {
        let folders: Vec<PathBuf> = file.path.ancestors().skip(1).map(Path::to_owned).collect();
        let mut next = found.len();
        add(file, found);
        while let Some(source) = found.get(next) {
            for name in named(&source.text) {
                let mut paths = folders.iter().map(|folder| folder.join(&name));
                let read = |path: PathBuf| Some((self.text(&path).ok()?, path));
                if let Some((text, path)) = paths.find_map(read) {
                    add(Source::new(path, &name, text), found);
                }
            }
            next += 1;
        }
    }

    fn bytes(&self, file: &Path) -> Result<Vec<u8>, String> {
        let read = self.world.inputs.read(file);
        read.map_err(|error| format!("cannot read {}: {error}", file.display()))
    }

    fn text(&self, file: &Path) -> Result<String, String> {
        let text = String::from_utf8(self.bytes(file)?);
        text.map_err(|_| format!("{} is not UTF-8 text", file.display()))
    }
}

/// A file of several that belong together.
struct Source {
    path: PathBuf,
    name: String,
    text: String,
}

impl Source {
    fn new(path: PathBuf, name: &str, text: String) -> Self {
        Self { path, name: name.to_owned(), text }
    }
}

/// Adds a file, or gives the one that is there the name by which it is asked for now.
fn add(source: Source, found: &mut Vec<Source>) {
    if let Some(known) = found.iter_mut().find(|known| known.path == source.path) {
        known.name = source.name;
    } else if found.len() < SOURCES_LIMIT {
        found.push(source);
    }
}
