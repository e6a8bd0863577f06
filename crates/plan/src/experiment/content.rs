//! Files that the tables of protocols name: their content takes the place of their names.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::operation::Reading;
use crate::diagnostic::Diagnostic;
use crate::document::{Entry, Node, Table, Value};

/// Keys of a protocol's table that name files, and those that their content comes under.
const FILES: [(&str, &str); 2] = [("body_file", "body"), ("message_file", "message")];

impl Reading<'_> {
    /// Reads every file that this table of a protocol names.
    pub(super) fn files(&mut self, table: &mut Table) {
        for (key, text) in FILES {
            self.file(table, key, text);
        }
        let multipart = table.entries.iter_mut().find(|entry| entry.key == "multipart");
        if let Some(Entry { node: Node { value: Value::Table(parts), .. }, .. }) = multipart {
            parts.entries.retain_mut(|part| self.parts(&mut part.node));
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
        match self.world.inputs.read(Path::new(&file)) {
            Ok(bytes) => entry.node.value = Value::String(STANDARD.encode(bytes)),
            Err(error) => {
                let message = format!("cannot read {file}: {error}");
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

    /// Puts the content of the files under `key` in the place of `text`, word for word: their braces are no
    /// placeholders.
    fn file(&mut self, table: &mut Table, key: &str, text: &str) {
        let Some(at) = table.entries.iter().position(|entry| entry.key == key) else {
            return;
        };
        // Taken out: were it left in after a problem, the driver would report it once more.
        let mut entry = table.entries.remove(at);
        if table.get(text).is_some() {
            let message = format!("`{text}` and `{key}` exclude each other");
            return self.problems.push(Diagnostic::new(entry.key_span, message, "keep one"));
        }
        let before = self.problems.len();
        match &mut entry.node.value {
            Value::Array(nodes) => nodes.iter_mut().for_each(|node| self.content(node)),
            _ => self.content(&mut entry.node),
        }
        if self.problems.len() == before {
            entry.key = text.to_owned();
            table.entries.insert(at, entry);
        }
    }

    /// From the name of a file to its content.
    fn content(&mut self, node: &mut Node) {
        let Some(file) = node.as_str() else {
            return self.problems.push(node.unlike("the name of a file"));
        };
        let read = self.world.inputs.read(Path::new(file));
        let text = read.map_err(|error| format!("cannot read {file}: {error}")).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8 text"))
        });
        match text {
            Ok(text) => node.value = Value::String(text.replace("{{", "{{{{")),
            Err(message) => self.problems.push(Diagnostic::new(node.span, message, "named here")),
        }
    }
}
