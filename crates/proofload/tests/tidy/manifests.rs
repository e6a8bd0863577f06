//! Dependencies: each is declared once, in the root manifest, with the reason for having it.

use super::tree::{Problem, Tree, key_line};

const ROOT: &str = "Cargo.toml";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = tree.text(ROOT).map(reasons).unwrap_or_default();
    for (path, text) in tree.ending("/Cargo.toml") {
        problems.extend(inherited(path, text));
    }
    problems
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
fn inherited(path: &str, text: &str) -> Vec<Problem> {
    let manifest = match text.parse::<toml::Table>() {
        Ok(manifest) => manifest,
        Err(_) => return vec![Problem::new(path, 1, "this is no TOML", "use a manifest")],
    };
    if manifest.contains_key("workspace") {
        return Vec::new();
    }
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let named = tables.iter().filter_map(|table| manifest.get(*table)?.as_table()).flatten();
    let own = named.filter(|(_, value)| value.get("workspace").is_none());
    let problem = |name: &str| {
        let what = format!("dependency `{name}` with a version of its own");
        Problem::new(path, key_line(text, name), what, "use `workspace = true`")
    };
    own.map(|(name, _)| problem(name)).collect()
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
        let member = "[package]\nname = \"a\"\n[dependencies]\nb = { workspace = true }\nc.workspace = true\nd = \"1\"\n";
        let problems = check(&Tree::of(&[("crates/a/Cargo.toml", member)]));
        assert_eq!((problems.len(), problems[0].line), (1, 6));
    }
}
