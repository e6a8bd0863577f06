//! Checks that the repository follows `ARCHITECTURE.md`: edges, purity, habits, shape, manifests,
//! prose.
//!
//! Every check is a pure function from a [`Tree`](tree::Tree) in memory to problems, so tests can
//! show that it refuses a bad example and accepts a good one. The last test here reads the real
//! tree. Not here: what the compiler and clippy already refuse.

mod edges;
#[path = "../fences/mod.rs"]
mod fences;
mod habits;
mod manifests;
mod paths;
mod prose;
mod purity;
mod shape;
mod source;
mod tree;

use tree::{Problem, Tree};

/// A pure function from the tree to its problems.
type Check = fn(&Tree) -> Vec<Problem>;

/// Every check, by name.
const CHECKS: &[(&str, Check)] = &[
    ("edges between crates", edges::check),
    ("purity and who may read the clock", purity::check),
    ("habits", habits::check),
    ("shape of files", shape::check),
    ("manifests", manifests::check),
    ("prose", prose::check),
];

#[test]
fn the_tree_is_tidy() {
    let tree = Tree::of_this_repository();
    let problems: Vec<String> = CHECKS
        .iter()
        .flat_map(|(name, check)| check(&tree).into_iter().map(move |p| format!("{p}  [{name}]")))
        .collect();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_real_tree_is_read() {
    let tree = Tree::of_this_repository();
    for file in ["Cargo.toml", "ARCHITECTURE.md", "crates/stats/src/lib.rs"] {
        assert!(tree.text(file).is_some(), "{file} was not read");
    }
    for source in source::sources(&tree) {
        let count = |brace: char| source.code.matches(brace).count();
        assert_eq!(count('{'), count('}'), "{} was not taken apart rightly", source.path);
    }
}
