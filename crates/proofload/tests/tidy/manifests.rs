//! Dependencies: each is declared once, in the root manifest, with the reason for having it, and is used.

use toml::{Table, Value};

use super::source::{Source, has_word, sources};
use super::tree::{Problem, Tree, key_line};

const ROOT: &str = "Cargo.toml";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = tree.text(ROOT).map(reasons).unwrap_or_default();
    let sources: Vec<Source<'_>> = sources(tree).collect();
    for (path, text) in tree.ending("/Cargo.toml") {
        match text.parse::<Table>() {
            Ok(manifest) if manifest.contains_key("workspace") => {}
            Ok(manifest) => {
                problems.extend(inherited(path, text, &manifest));
                problems.extend(used(path, text, &manifest, &sources));
            }
            Err(_) => problems.push(Problem::new(path, 1, "this is no TOML", "use a manifest")),
        }
    }
    problems
}

/// All dependencies of a manifest by the names that its code uses, those of tests and of some targets included.
pub fn dependencies(manifest: &Table) -> impl Iterator<Item = (&String, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let places = targets.into_iter().flatten().filter_map(|(_, target)| target.as_table());
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = std::iter::once(manifest).chain(places).flat_map(move |place| {
        kinds.into_iter().filter_map(move |kind| place.get(kind)?.as_table())
    });
    tables.flatten()
}

/// Each line of `[workspace.dependencies]` with an external crate ends in a comment.
fn reasons(text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim() == "[workspace.dependencies]";
        }
        let dependency = inside && line.contains('=') && !line.starts_with('#');
        let ours = line.contains("path = ");
        let reason = line.rsplit_once("# ").is_some_and(|(_, reason)| reason.trim().len() > 3);
        if dependency && !ours && !reason {
            let name = line.split('=').next().unwrap_or(line).trim();
            let what = format!("dependency `{name}` without a reason");
            problems.push(Problem::new(
                ROOT,
                index + 1,
                what,
                "use a comment at the end of its line",
            ));
        }
    }
    problems
}

/// Members inherit versions from the root.
fn inherited(path: &str, text: &str, manifest: &Table) -> Vec<Problem> {
    let own = dependencies(manifest).filter(|(_, value)| value.get("workspace").is_none());
    let problem = |name: &str| {
        let what = format!("dependency `{name}` with a version of its own");
        Problem::new(path, key_line(text, name), what, "use `workspace = true`")
    };
    own.map(|(name, _)| problem(name)).collect()
}

/// Each dependency is named in the code of its package, or of a package within its folder.
fn used(path: &str, text: &str, manifest: &Table, sources: &[Source<'_>]) -> Vec<Problem> {
    let folder = path.trim_end_matches("Cargo.toml");
    let named = |name: &str| {
        let word = name.replace('-', "_");
        let own = sources.iter().filter(|source| source.path.starts_with(folder));
        own.flat_map(Source::all_lines).any(|(_, line)| has_word(line, &word))
    };
    let unused = dependencies(manifest).filter(|(name, _)| !named(name));
    let problem = |name: &str| {
        let what = format!("no code uses dependency `{name}`");
        Problem::new(path, key_line(text, name), what, "use it or take it out")
    };
    unused.map(|(name, _)| problem(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_have_reasons() {
        let root = "[workspace.dependencies]\nours = { path = \"crates/ours\" }\n\
                    # --- theirs ---\na = \"1\" # for a\nb = { version = \"1\" }\n[profile.release]\nlto = \"thin\"\n";
        let problems = check(&Tree::of(&[("Cargo.toml", root)]));
        assert_eq!((problems.len(), problems[0].line), (1, 5));
    }

    #[test]
    fn versions_stand_in_the_root_alone() {
        let member = "[package]\nname = \"a\"\n[dependencies]\nb = { workspace = true }\nc.workspace = true\nd = \"1\"\n\
                      [target.'cfg(unix)'.dev-dependencies]\ne = \"1\"\n";
        let code = "use {b, c, d, e};\n";
        let files = [("crates/a/Cargo.toml", member), ("crates/a/src/lib.rs", code)];
        let problems = check(&Tree::of(&files));
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [6, 8]);
    }

    #[test]
    fn dependencies_are_used_by_their_own_package() {
        let member = "[package]\nname = \"a\"\n[dependencies]\nb-c = { workspace = true }\nd = { workspace = true }\n";
        let files = [
            ("crates/a/Cargo.toml", member),
            ("crates/a/tests/a.rs", "use b_c::x;\n"),
            ("crates/ab/src/lib.rs", "use d::x;\n"),
        ];
        let problems = check(&Tree::of(&files));
        assert_eq!((problems.len(), problems[0].line), (1, 5));
    }
}
