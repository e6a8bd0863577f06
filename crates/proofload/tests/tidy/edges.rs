//! Which crate may use which: the diagram in `ARCHITECTURE.md`, compared with manifests and `use`
//! lines.
//!
//! The diagram is the block fenced as `edges`: `engine -> plan, record`. Arrows are transitive, and
//! `systems/*` stands for each crate in that folder. Crates have their package names.

use std::collections::{BTreeMap, BTreeSet};

use super::fences::blocks;
use super::manifests::dependencies;
use super::source::{Source, has_word, sources};
use super::tree::{Problem, Tree, key_line};

const DRAWING: &str = "ARCHITECTURE.md";

/// A member of the workspace.
struct Member {
    /// Package name.
    name: String,
    /// `crates/engine`.
    folder: String,
    /// Every crate that its manifest names, tests included.
    dependencies: BTreeSet<String>,
}

/// Allowed edges by package name, including indirect ones.
type Allowed = BTreeMap<String, BTreeSet<String>>;

pub fn check(tree: &Tree) -> Vec<Problem> {
    let members = members(tree);
    let Some(drawn) = tree.text(DRAWING).and_then(drawing) else {
        return vec![Problem::new(
            DRAWING,
            1,
            "no block fenced as `edges`",
            "draw who may know whom",
        )];
    };
    let allowed = closure(&drawn, &members);
    let mut problems = Vec::new();
    for member in &members {
        problems.extend(manifest_edges(tree, member, &members, &allowed));
    }
    for source in sources(tree) {
        problems.extend(use_edges(&source, &members, &allowed));
    }
    problems
}

fn members(tree: &Tree) -> Vec<Member> {
    let manifests = tree.ending("/Cargo.toml");
    manifests.filter_map(|(path, text)| member(path.strip_suffix("/Cargo.toml")?, text)).collect()
}

fn member(folder: &str, manifest: &str) -> Option<Member> {
    let manifest: toml::Table = manifest.parse().ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
    let dependencies = dependencies(&manifest).map(|(key, value)| {
        let renamed = value.get("package").and_then(|package| package.as_str());
        renamed.unwrap_or(key).to_owned()
    });
    Some(Member { name, folder: folder.to_owned(), dependencies: dependencies.collect() })
}

/// The lines `a -> b, c` of the diagram.
fn drawing(text: &str) -> Option<Vec<(String, Vec<String>)>> {
    let block = blocks(text, "edges").next()?;
    let lines = block.lines().filter_map(|line| line.split_once("->"));
    let names = |to: &str| to.split(',').map(|name| name.trim().to_owned()).collect();
    Some(lines.map(|(from, to)| (from.trim().to_owned(), names(to))).collect())
}

fn closure(drawn: &[(String, Vec<String>)], members: &[Member]) -> Allowed {
    let mut allowed = Allowed::new();
    for member in members {
        let mut open = vec![member];
        let mut reached = BTreeSet::new();
        while let Some(from) = open.pop() {
            let arrows = drawn.iter().filter(|(pattern, _)| names(pattern, from));
            for pattern in arrows.flat_map(|(_, to)| to) {
                let targets = members.iter().filter(|to| names(pattern, to));
                open.extend(targets.filter(|to| reached.insert(to.name.clone())));
            }
        }
        allowed.insert(member.name.clone(), reached);
    }
    allowed
}

/// Whether a word of the diagram means this member.
fn names(pattern: &str, member: &Member) -> bool {
    match pattern.strip_suffix("/*") {
        Some(room) => member.folder.starts_with(&format!("{room}/")),
        None => pattern == member.name || pattern == member.folder,
    }
}

fn may_know(allowed: &Allowed, from: &str, to: &str) -> bool {
    from == to || allowed.get(from).is_some_and(|reached| reached.contains(to))
}

fn refusal(file: &str, line: usize, from: &str, to: &str) -> Problem {
    let what = format!("`{from}` may not know `{to}`");
    Problem::new(file, line, what, format!("use what lies on an arrow from `{from}` in {DRAWING}"))
}

fn manifest_edges(
    tree: &Tree,
    from: &Member,
    members: &[Member],
    allowed: &Allowed,
) -> Vec<Problem> {
    let manifest = format!("{}/Cargo.toml", from.folder);
    let text = tree.text(&manifest).unwrap_or("");
    let forbidden = members.iter().filter(|to| {
        from.dependencies.contains(&to.name) && !may_know(allowed, &from.name, &to.name)
    });
    forbidden.map(|to| refusal(&manifest, key_line(text, &to.name), &from.name, &to.name)).collect()
}

fn use_edges(source: &Source<'_>, members: &[Member], allowed: &Allowed) -> Vec<Problem> {
    let Some(from) = members.iter().find(|member| member.folder == source.folder()) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    for (number, line) in source.all_lines() {
        let start = line.trim_start().trim_start_matches("pub ");
        for to in members.iter().filter(|to| !may_know(allowed, &from.name, &to.name)) {
            let library = to.name.replace('-', "_");
            let path = start.strip_prefix("use ").or(start.strip_prefix("extern crate "));
            let first = path.map(|path| path.trim_start_matches("::"));
            let named =
                first.is_some_and(|path| path.starts_with(&library) && has_word(path, &library));
            let own = || {
                source.code.lines().any(|line| has_word(line, "mod") && has_word(line, &library))
            };
            if named && !own() {
                problems.push(refusal(source.path, number, &from.name, &to.name));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWN: &str = "# A\n\n```edges\nengine -> plan, record\nplan -> stats\nrecord -> stats\n\
                         report -> plan, record\nproofload -> engine, report, systems/*\n\
                         systems/* -> service-kit/*\n```\n";

    fn house(extra: &[(&str, &str)]) -> Tree {
        let mut files = vec![("ARCHITECTURE.md", DRAWN)];
        let manifest = |name: &str, needs: &str| -> &'static str {
            format!("[package]\nname = \"{name}\"\n[dependencies]\n{needs}\n").leak()
        };
        files.push(("crates/stats/Cargo.toml", manifest("stats", "")));
        files.push(("crates/plan/Cargo.toml", manifest("plan", "stats = { workspace = true }")));
        files
            .push(("crates/record/Cargo.toml", manifest("record", "stats = { workspace = true }")));
        files
            .push(("crates/engine/Cargo.toml", manifest("engine", "stats = { workspace = true }")));
        files.push(("crates/report/Cargo.toml", manifest("report", "plan = { workspace = true }")));
        files.push(("service-kit/serving/Cargo.toml", manifest("serving", "")));
        files.push(("systems/truth/Cargo.toml", manifest("truth", "serving.workspace = true")));
        files.push(("systems/mail/Cargo.toml", manifest("mail", "serving.workspace = true")));
        files.push((
            "crates/proofload/Cargo.toml",
            manifest("proofload", "stats = {}\nserving = {}"),
        ));
        files.extend(extra);
        Tree::of(&files)
    }

    #[test]
    fn drawn_edges_pass_and_arrows_are_transitive() {
        assert_eq!(check(&house(&[])), []);
    }

    #[test]
    fn a_forbidden_edge_in_a_manifest_is_refused() {
        let manifest =
            "[package]\nname = \"engine\"\n[dependencies]\nreport = { workspace = true }\n";
        let problems = check(&house(&[("crates/engine/Cargo.toml", manifest)]));
        assert_eq!(
            problems[0].to_string(),
            "crates/engine/Cargo.toml:4: error: `engine` may not know `report`, \
             use what lies on an arrow from `engine` in ARCHITECTURE.md"
        );
    }

    #[test]
    fn a_forbidden_edge_for_tests_or_under_another_name_is_refused() {
        let tests = "[package]\nname = \"stats\"\n[dev-dependencies]\nplan.workspace = true\n";
        assert_eq!(check(&house(&[("crates/stats/Cargo.toml", tests)])).len(), 1);
        let renamed = "[package]\nname = \"stats\"\n[dependencies]\np = { package = \"plan\" }\n";
        assert_eq!(check(&house(&[("crates/stats/Cargo.toml", renamed)])).len(), 1);
    }

    #[test]
    fn a_system_knows_no_other_system_and_no_part_of_the_instrument() {
        let manifest = "[package]\nname = \"mail\"\n[dependencies]\ntruth = {}\nstats = {}\n";
        assert_eq!(check(&house(&[("systems/mail/Cargo.toml", manifest)])).len(), 2);
    }

    #[test]
    fn a_forbidden_use_line_is_refused() {
        let problems = check(&house(&[("crates/plan/src/lib.rs", "//! x\nuse record::Sample;\n")]));
        assert_eq!((problems.len(), problems[0].line), (1, 2));
    }

    #[test]
    fn a_crate_in_the_folder_of_another_has_edges_of_its_own() {
        let files = [
            ("crates/record/inner/Cargo.toml", "[package]\nname = \"inner\"\n"),
            ("crates/record/inner/src/lib.rs", "//! x\nuse stats::Mean;\n"),
            ("crates/record/src/lib.rs", "//! x\nuse stats::Mean;\nuse inner::Thing;\n"),
        ];
        let problems = check(&house(&files));
        let found: Vec<_> = problems.iter().map(|one| (one.file.as_str(), one.line)).collect();
        assert_eq!(found, [("crates/record/inner/src/lib.rs", 2), ("crates/record/src/lib.rs", 3)]);
    }

    #[test]
    fn modules_of_ones_own_are_no_edges() {
        let text = "//! x\nmod record;\npub use record::Thing;\nuse crate::report::X;\n";
        assert_eq!(check(&house(&[("crates/plan/src/lib.rs", text)])), []);
    }

    #[test]
    fn a_house_without_a_drawing_is_refused() {
        assert_eq!(check(&Tree::of(&[("ARCHITECTURE.md", "# A\n")])).len(), 1);
    }
}
