//! The paths that a file names, with `use` trees expanded.

use super::source::Source;

/// Every path in the file's code with its line, without tests: `std::time::Instant`.
pub fn named(source: &Source<'_>) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    let mut statement: Option<(usize, String)> = None;
    for (number, line) in source.lines() {
        if statement.is_none() && is_use(line) {
            statement = Some((number, String::new()));
        }
        match statement.take() {
            Some((start, text)) => {
                let text = text + line.trim();
                if text.contains(';') {
                    paths.extend(used(&text).into_iter().map(|path| (start, path)));
                } else {
                    statement = Some((start, text));
                }
            }
            None => paths.extend(written(line).into_iter().map(|path| (number, path))),
        }
    }
    paths
}

/// Whether `path` is `prefix` or below it.
pub fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn is_use(line: &str) -> bool {
    let line = line.trim_start();
    let line =
        line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
    line.starts_with("use ")
}

/// The leaves of a `use` statement.
fn used(statement: &str) -> Vec<String> {
    let start = statement.find("use ").map_or(0, |at| at + 4);
    let end = statement.find(';').unwrap_or(statement.len());
    let mut leaves = Vec::new();
    expand("", statement[start..end].trim(), &mut leaves);
    leaves
}

fn expand(prefix: &str, tree: &str, leaves: &mut Vec<String>) {
    let Some(open) = tree.find('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree).trim();
        let path = format!("{prefix}{}", name.trim_start_matches("::"));
        return leaves.push(path.trim_end_matches("::self").to_owned());
    };
    let close = tree.rfind('}').unwrap_or(tree.len());
    let prefix = format!("{prefix}{}", tree[..open].trim());
    for branch in branches(&tree[open + 1..close]) {
        expand(&prefix, branch, leaves);
    }
}

/// The parts between commas that are outside braces.
fn branches(inner: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0i32, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inner[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Paths of at least two parts in a line of code.
fn written(line: &str) -> Vec<String> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    line.split(|c| !part(c))
        .map(|word| word.trim_matches(':'))
        .filter(|word| word.contains("::"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_trees_are_written_out() {
        let text = "use std::{\n    fs, io::{self, Read as R},\n};\nlet x = std::env::var(a);\n";
        let source = Source::new("crates/x/src/lib.rs", text);
        let paths: Vec<String> = named(&source).into_iter().map(|(_, path)| path).collect();
        assert_eq!(paths, ["std::fs", "std::io", "std::io::Read", "std::env::var"]);
    }

    #[test]
    fn below_counts_whole_parts() {
        assert!(is_below("std::fs::File", "std::fs") && is_below("std::fs", "std::fs"));
        assert!(!is_below("std::fsx", "std::fs"));
    }
}
