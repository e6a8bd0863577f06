//! Texts for people: no grading words, one title per page, and links that work.

use super::source::{Source, has_word};
use super::tree::{Problem, Tree};

/// Words that grade instead of giving a number.
const GRADING: &[&str] = &[
    "excellent",
    "superb",
    "production-ready",
    "production ready",
    "enterprise-grade",
    "world-class",
    "best-in-class",
    "state-of-the-art",
    "blazing",
    "lightning-fast",
    "cutting-edge",
    "bulletproof",
    "impressive",
];

/// Crates whose texts people read.
const SHOWN: &[&str] = &["crates/judge/", "crates/pages/", "crates/audit/"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.ending(".md") {
        problems.extend(grades(path, text.lines().enumerate()));
        problems.extend(titles(path, text));
        problems.extend(links(tree, path, text));
    }
    for ending in [".rs", ".html", ".jinja"] {
        let shown = |path: &str| SHOWN.iter().any(|folder| path.starts_with(folder));
        for (path, text) in tree.ending(ending).filter(|(path, _)| shown(path)) {
            let source = Source::new(path, if ending == ".rs" { text } else { "" });
            let lines = text.lines().enumerate();
            problems.extend(grades(path, lines.filter(|(index, _)| !source.is_test(index + 1))));
        }
    }
    problems
}

fn grades<'a>(path: &str, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in lines {
        let lower = line.to_lowercase();
        for word in GRADING.iter().filter(|word| has_word(&lower, word)) {
            let what = format!("the grading word `{word}`");
            problems.push(Problem::new(path, index + 1, what, "use a number"));
        }
    }
    problems
}

/// Lines outside fenced blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

fn titles(path: &str, text: &str) -> Vec<Problem> {
    let mut titles = prose(text).filter(|(_, line)| line.starts_with("# "));
    match (titles.next(), titles.next()) {
        (None, _) => vec![Problem::new(path, 1, "a page without a title", "use one `# ` line")],
        (_, Some((line, _))) => vec![Problem::new(path, line, "a second title", "use `## `")],
        _ => Vec::new(),
    }
}

fn links(tree: &Tree, path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in prose(text) {
        for link in targets(line) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { path.to_owned() } else { resolve(path, file) };
            let exists = tree.exists(&file);
            let lands =
                anchor.is_empty() || tree.text(&file).is_some_and(|text| has_anchor(text, anchor));
            if !exists || !lands {
                let what = format!("the link `{link}` leads nowhere");
                problems.push(Problem::new(
                    path,
                    number,
                    what,
                    "use a file and heading that exist",
                ));
            }
        }
    }
    problems
}

/// Targets of `[text](target)` within this repository.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let outside = |link: &&str| !link.contains("://") && !link.starts_with("mailto:");
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(outside)
}

/// The path from the root that `link` means on the page at `path`.
fn resolve(path: &str, link: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a heading of the page has this anchor.
fn has_anchor(text: &str, anchor: &str) -> bool {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| slug(line)).any(|slug| slug == anchor)
}

fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let text: String = heading.trim_start_matches('#').trim().chars().filter(kept).collect();
    text.to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<Problem> {
        check(&Tree::of(&[(path, text), ("docs/a.md", "# A\n\n## One, two\n")]))
    }

    #[test]
    fn numbers_stand_where_grades_would() {
        assert_eq!(problems("docs/b.md", "# B\n\nAn Excellent result.\n").len(), 1);
        assert_eq!(problems("crates/pages/src/page.rs", "//! P.\nlet a = \"blazing\";\n").len(), 1);
        assert_eq!(problems("crates/pages/pages/a.html", "<b>superb</b>").len(), 1);
        assert_eq!(problems("crates/pages/src/tests.rs", "//! P.\nlet a = \"blazing\";\n"), []);
        assert_eq!(problems("docs/b.md", "# B\n\np99 was 12 ms.\n"), []);
    }

    #[test]
    fn pages_have_one_title() {
        assert_eq!(problems("docs/b.md", "No title.\n").len(), 1);
        assert_eq!(problems("docs/b.md", "# One\n\n# Two\n").len(), 1);
        assert_eq!(problems("docs/b.md", "# One\n\n```sh\n# a comment\n```\n"), []);
    }

    #[test]
    fn links_lead_somewhere() {
        for good in ["a.md", "a.md#one-two", "../docs/a.md", "../docs/", "https://example.org/x"] {
            assert_eq!(problems("docs/b.md", &format!("# B\n\n[x]({good})\n")), [], "{good}");
        }
        for bad in ["c.md", "a.md#three", "../a.md"] {
            assert_eq!(problems("docs/b.md", &format!("# B\n\n[x]({bad})\n")).len(), 1, "{bad}");
        }
    }
}
