//! The shape of files: a header with the file's purpose, a limited size, and a noun as the name.

use super::source::sources;
use super::tree::{Problem, Tree};

/// Most lines of a file without its tests.
const LINES_LIMIT: usize = 500;

/// Names that do not say what is inside.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "manager", "managers", "misc", "imp", "stuff",
];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = overlooked(tree);
    for source in sources(tree) {
        let problem = |line, what: String, instead| Problem::new(source.path, line, what, instead);
        // The file that a `tests.rs` belongs to explains it.
        let explained = source.path.ends_with("/tests.rs");
        if !source.raw.starts_with("//!") && !explained {
            let what = "no module header".to_owned();
            problems.push(problem(1, what, "use `//!` to say what the file is for and not for"));
        }
        let lines = (1..=source.raw.lines().count()).filter(|line| !source.is_test(*line)).count();
        if lines > LINES_LIMIT {
            let what = format!("{lines} lines without tests");
            problems.push(problem(LINES_LIMIT, what, "use two files of one purpose each"));
        }
        let name = |part: &&str| EMPTY_NAMES.contains(&part.trim_end_matches(".rs"));
        if let Some(part) = source.path.split('/').find(name) {
            problems.push(problem(
                1,
                format!("a file or folder named `{part}`"),
                "use a noun for its content",
            ));
        }
        for (number, line) in source.all_lines() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let named = words.windows(2).find(|w| w[0] == "mod" && EMPTY_NAMES.contains(&w[1]));
            if let Some(words) = named {
                let what = format!("a module named `{}`", words[1]);
                problems.push(problem(number, what, "use a noun for its content"));
            }
        }
    }
    problems
}

/// The Makefile runs two test programs beside all those that do not begin with "e".
fn overlooked(tree: &Tree) -> Vec<Problem> {
    let name =
        |path: &str| Some(path.rsplit_once("/tests/")?.1.split(['/', '.']).next()?.to_owned());
    let begins = |(path, _): &(&str, &str)| {
        let program = name(path).filter(|_| !path.contains("/src/"));
        program.is_some_and(|name| name.starts_with('e') && name != "e2e" && name != "experiments")
    };
    let overlooked = tree.ending(".rs").filter(begins);
    let what = "a test program that `make test` does not run";
    overlooked
        .map(|(path, _)| Problem::new(path, 1, what, "use a name without \"e\" at its start"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn every_file_says_what_it_is_for() {
        assert_eq!(count("crates/a/src/b.rs", "fn f() {}\n"), 1);
        assert_eq!(count("crates/a/src/b.rs", "//! B.\nfn f() {}\n"), 0);
        assert_eq!(count("crates/a/src/b/tests.rs", "use super::*;\n"), 0);
    }

    #[test]
    fn every_test_program_is_run() {
        assert_eq!(count("crates/a/tests/events.rs", "//! E.\n"), 1);
        assert_eq!(count("crates/a/tests/events/main.rs", "//! E.\n"), 1);
        assert_eq!(count("crates/a/tests/e2e/main.rs", "//! E.\n"), 0);
        assert_eq!(count("crates/a/tests/made/events.rs", "//! E.\n"), 0);
        assert_eq!(count("crates/a/src/x/tests/events.rs", "//! E.\n"), 0);
    }

    #[test]
    fn files_can_be_read_at_once() {
        let body = |lines: usize| format!("//! B.\n{}", "let a = 1;\n".repeat(lines - 1));
        assert_eq!(count("crates/a/src/b.rs", &body(500)), 0);
        assert_eq!(count("crates/a/src/b.rs", &body(501)), 1);
        let tested =
            format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", body(400), "    a();\n".repeat(400));
        assert_eq!(count("crates/a/src/b.rs", &tested), 0);
    }

    #[test]
    fn names_say_what_is_inside() {
        assert_eq!(count("crates/a/src/utils.rs", "//! U.\n"), 1);
        assert_eq!(count("crates/a/tests/common/mod.rs", "//! U.\n"), 1);
        assert_eq!(count("crates/a/src/lib.rs", "//! A.\npub(crate) mod helpers;\n"), 1);
        assert_eq!(count("crates/a/src/pool.rs", "//! Not the common case.\nmod slot;\n"), 0);
    }
}
