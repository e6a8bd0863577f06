//! Rules that the compiler does not check: I4, I5, I8, and terms that code must not use.

use super::source::{Source, has_word, sources};
use super::tree::{Problem, Tree};

/// Macros and calls that only the binary uses.
const PRINTING: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "process::exit"];

/// Types that allow a global to change or to be initialised late.
const MUTABLE: &[&str] =
    &["Mutex", "RwLock", "OnceLock", "OnceCell", "LazyLock", "LazyCell", "RefCell", "Cell"];

/// Paths that may contain `unsafe`.
const UNSAFE_PATHS: &[&str] = &["crates/engine/src/process/", "foundation/shm-channel/"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let rules = [printing, globals, unsafety, exceptions, unfinished, wording];
    let mut problems = Vec::new();
    for source in sources(tree) {
        problems.extend(rules.iter().flat_map(|rule| rule(&source)));
    }
    problems
}

fn found(
    source: &Source<'_>,
    what: &str,
    instead: &str,
    holds: impl Fn(&str) -> bool,
) -> Vec<Problem> {
    let lines = source.lines().filter(|(_, line)| holds(line));
    lines.map(|(number, _)| Problem::new(source.path, number, what, instead)).collect()
}

/// I4: only `proofload` prints and ends the process (and `serving::program`, by return values).
fn printing(source: &Source<'_>) -> Vec<Problem> {
    if source.path.starts_with("crates/proofload/") {
        return Vec::new();
    }
    found(source, "printing or exiting outside `proofload`", "use a `Write` or a value", |line| {
        PRINTING.iter().any(|word| has_word(line, word))
    })
}

/// I5: no shared mutable globals.
fn globals(source: &Source<'_>) -> Vec<Problem> {
    found(source, "global mutable state", "use a field of its owner", |line| {
        let words = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        let global = words.starts_with("static ");
        let mutable = MUTABLE.iter().any(|word| has_word(line, word)) || line.contains("Atomic");
        has_word(line, "static mut")
            || has_word(line, "thread_local!")
            || has_word(line, "lazy_static!")
            || global && mutable
    })
}

/// I8: `unsafe` in few places, and each block states its reason.
fn unsafety(source: &Source<'_>) -> Vec<Problem> {
    let is_unsafe = |line: &str| has_word(line, "unsafe");
    if !UNSAFE_PATHS.iter().any(|path| source.path.starts_with(path)) {
        return found(source, "`unsafe` outside its rooms", "use a safe wrapper", is_unsafe);
    }
    let comments: Vec<&str> = source.comments.lines().collect();
    let reasoned = |number: usize| {
        let above = &comments[number.saturating_sub(8)..number];
        above.iter().any(|line| line.contains("SAFETY:") || line.contains("# Safety"))
    };
    let blocks = source.lines().filter(|(number, line)| is_unsafe(line) && !reasoned(*number));
    let problem = |number| {
        Problem::new(source.path, number, "`unsafe` without its reason", "use `// SAFETY: …`")
    };
    blocks.map(|(number, _)| problem(number)).collect()
}

/// Lint exceptions must use `expect`, which reports when they are no longer needed.
fn exceptions(source: &Source<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in source.all_lines() {
        if line.contains("#[allow(") || line.contains("#![allow(") {
            let instead = "use `expect(…, reason = \"…\")`";
            problems.push(Problem::new(source.path, number, "`allow` of a lint", instead));
        }
    }
    problems
}

/// No unfinished work.
fn unfinished(source: &Source<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in source.all_lines() {
        if has_word(line, "todo!") || has_word(line, "unimplemented!") || has_word(line, "ignore]")
        {
            let instead = "use code that does it";
            problems.push(Problem::new(source.path, number, "unfinished work", instead));
        }
    }
    for (index, line) in source.comments.lines().enumerate() {
        if ["TODO", "FIXME", "XXX", "HACK"].iter().any(|word| has_word(line, word)) {
            let instead = "use a decision, or do it";
            problems.push(Problem::new(source.path, index + 1, "a note for later", instead));
        }
    }
    problems
}

/// One term for each concept: response time, service time, dispatch lag, queue wait.
fn wording(source: &Source<'_>) -> Vec<Problem> {
    let instead = "use `response_time`, `service_time` or the span that is meant";
    found(source, "an identifier says `latency`", instead, |line| {
        line.to_ascii_lowercase().contains("latency")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    const ENGINE: &str = "crates/engine/src/pool.rs";

    #[test]
    fn only_the_binary_prints() {
        let text = "fn f() { println!(\"x\"); }";
        assert_eq!(count(ENGINE, text), 1);
        assert_eq!(count("service-kit/serving/src/lib.rs", "fn f() { std::process::exit(1) }"), 1);
        assert_eq!(count("crates/proofload/src/main.rs", text), 0);
        assert_eq!(count(ENGINE, "fn f(out: &mut W) { writeln!(out, \"println!\"); }"), 0);
    }

    #[test]
    fn globals_do_not_change() {
        assert_eq!(count(ENGINE, "static mut X: u8 = 0;"), 1);
        assert_eq!(count(ENGINE, "pub static X: AtomicU64 = AtomicU64::new(0);"), 1);
        assert_eq!(count(ENGINE, "static X: LazyLock<A> = LazyLock::new(a);"), 1);
        assert_eq!(count(ENGINE, "thread_local! { }"), 1);
        assert_eq!(
            count(ENGINE, "static NAMES: &[&str] = &[];\nfn f(x: &'static Mutex<u8>) {}"),
            0
        );
    }

    #[test]
    fn unsafe_stands_in_its_rooms_with_a_reason() {
        let bare = "fn f() { unsafe { g() } }";
        let reasoned = "fn f() {\n    // SAFETY: g is harmless.\n    unsafe { g() }\n}";
        assert_eq!((count(ENGINE, bare), count(ENGINE, reasoned)), (1, 1));
        let room = "crates/engine/src/process/spawn.rs";
        assert_eq!((count(room, bare), count(room, reasoned)), (1, 0));
        assert_eq!(count(ENGINE, "#[expect(unsafe_code, reason = \"x\")]\nfn f() {}"), 0);
    }

    #[test]
    fn lint_exceptions_are_expectations() {
        assert_eq!(count(ENGINE, "#[allow(dead_code)]\nfn f() {}"), 1);
        assert_eq!(count(ENGINE, "#[expect(dead_code, reason = \"x\")]\nfn f() {}"), 0);
    }

    #[test]
    fn nothing_is_left_for_later() {
        for text in ["fn f() { todo!() }", "// TODO: x", "/// FIXME", "#[ignore]\nfn f() {}"] {
            assert_eq!(count(ENGINE, text), 1, "{text}");
        }
        assert_eq!(count(ENGINE, "let a = \"TODO todo!()\";"), 0);
    }

    #[test]
    fn spans_have_their_own_names() {
        assert_eq!(count(ENGINE, "let p99_latency = 1;"), 1);
        assert_eq!(count(ENGINE, "let header = \"Latency\"; // latency"), 0);
    }
}
