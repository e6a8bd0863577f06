//! `{NAME}` in an address: what the launcher will fill in, held against what will be started.
//!
//! Not here: `{{…}}` (see `resolve` and the templates), and commands, where braces may be the
//! program's own. In settings they may be, too, so that only a name which is nearly one of ours is refused there.

use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Node, Table, Value};
use crate::process::{Observer, Service};

/// Keys of a target in which the launcher fills placeholders.
const FILLED: [&str; 3] = ["url", "connect_to", "unix_socket"];

/// The names that stand for addresses in one arm.
pub(super) struct Started {
    names: Vec<String>,
}

impl Started {
    pub(super) fn of(services: &[Service], system: bool, observers: &[Observer]) -> Self {
        let services = services.iter().map(|service| service.name.clone());
        let observers = observers.iter().map(|observer| observer.name.clone());
        let system = system.then(|| "system".to_owned());
        Self { names: services.chain(system).chain(observers).collect() }
    }

    /// The names of all that is started.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Placeholders of `[target]` and of the operations' own targets that nobody will fill, and those in settings that
    /// nearly name what is started.
    pub(super) fn strangers(&self, root: &Table) -> Vec<Diagnostic> {
        let shared = root.get("target").map(|entry| &entry.node);
        let operations = match root.get("operation").map(|entry| &entry.node.value) {
            Some(Value::Array(operations)) => operations.as_slice(),
            _ => &[],
        };
        let own = operations.iter().filter_map(|operation| match &operation.value {
            Value::Table(table) => Some(&table.get("target")?.node),
            _ => None,
        });
        let targets = shared.into_iter().chain(own).flat_map(|target| self.of_target(target));
        targets.chain(self.nearly(root)).collect()
    }

    /// Placeholders in the settings of system and observers that are nearly a name of what is started.
    fn nearly(&self, root: &Table) -> Vec<Diagnostic> {
        let nodes = ["system", "observer"].into_iter().filter_map(|key| Some(&root.get(key)?.node));
        let tables = nodes.flat_map(|node| match &node.value {
            Value::Array(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        });
        let mut problems = Vec::new();
        for node in tables {
            let Value::Table(table) = &node.value else { continue };
            let Some(Value::Table(set)) = table.get("set").map(|entry| &entry.node.value) else {
                continue;
            };
            for Entry { node, .. } in &set.entries {
                problems.extend(self.of_text(node.as_str().unwrap_or(""), node.span));
            }
        }
        problems.retain(|problem| problem.label.starts_with("did you mean"));
        problems
    }

    fn of_target(&self, target: &Node) -> Vec<Diagnostic> {
        match &target.value {
            Value::String(text) => self.of_text(text, target.span),
            Value::Table(table) => {
                let filled = FILLED.iter().filter_map(|key| Some(&table.get(key)?.node));
                filled
                    .flat_map(|node| self.of_text(node.as_str().unwrap_or(""), node.span))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_text(&self, text: &str, span: Span) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        // Those of two braces are somebody else's.
        let masked = text.replace("{{", "  ");
        for (start, _) in masked.match_indices('{') {
            let Some(length) = masked[start..].find('}') else { continue };
            let name = &text[start + 1..start + length];
            let owner = name.split_once('.').map_or(name, |(owner, _)| owner);
            if !self.names.iter().any(|known| known == name || known == owner) {
                let span = span.within(text, start, start + length + 1);
                problems.push(self.stranger(name, span));
            }
        }
        problems
    }

    fn stranger(&self, name: &str, span: Span) -> Diagnostic {
        let (owner, key) = name.split_once('.').map_or((name, ""), |(owner, key)| (owner, key));
        let mut known: Vec<String> = self.names.clone();
        if !key.is_empty() {
            known.extend(self.names.iter().map(|known| format!("{known}.{key}")));
        }
        let problem =
            Diagnostic::unknown("placeholder", name, span, known.iter().map(String::as_str));
        if self.names.is_empty() {
            return problem.with_hint(format!("nothing is started that could be `{{{owner}}}`"));
        }
        problem.with_hint(format!("started here: {}", self.names.join(", ")))
    }
}
