//! Commands on all pages work: those of a page are executed in order, as a reader would, with what the page says to save.
//!
//! Each page has a network of its own, so its ports are free. Runs are shortened; what they find is not looked at.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fences::{Fence, fences};
use crate::{programs, root};

/// Pages whose commands are executed at the same time: they mostly wait.
const ABREAST: usize = 4;

/// Blocks that are not executed: page, beginning, reason.
const NOT_EXECUTED: &str = include_str!("not_executed.txt");

/// What is not performed in a block that is executed; see `terminal.sh`.
const CHECKED_ONLY: &str = "\
Commands of pages, as a test executes them. In their place, `make` and `cargo` only check that there is what they would
build or run, other load tools print a sample, and experiments of this repository are checked: a test runs each of them.

";

/// Commands that go on until they are ended.
const LONG_RUNNING: [&str; 4] = ["proofload serve", "nats-server", "redis-server", "curl -sN"];

#[test]
fn commands_of_pages_work() {
    programs::ready();
    let (pages, next) = (pages(), AtomicUsize::new(0));
    let take = || pages.get(next.fetch_add(1, Ordering::Relaxed));
    let failures: Vec<String> = std::thread::scope(|scope| {
        let execute = || std::iter::from_fn(take).filter_map(execute).collect::<Vec<_>>();
        let workers: Vec<_> = (0..ABREAST).map(|_| scope.spawn(execute)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a page")).collect()
    });
    std::fs::write(scratch().join("list.txt"), list(&pages)).expect("a list");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// `proofload` in running text is followed by a command that exists, with flags that it has.
#[test]
fn flags_that_pages_name_exist() {
    let help = |command: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_proofload")).args(command).arg("--help").output();
        let output = output.expect("the binary starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut checked = 0;
    for path in all_pages() {
        let text = std::fs::read_to_string(&path).expect("a page can be read");
        let spans =
            text.split('`').filter(|span| span.starts_with("proofload ") && !span.contains('\n'));
        for span in spans {
            let words: Vec<_> = span.split_whitespace().skip(1).collect();
            let named =
                words.iter().take_while(|word| word.chars().all(|c| c.is_ascii_lowercase()));
            let named: Vec<_> = named.copied().collect();
            // The longest run of words that is a command; what follows it are arguments.
            let longest =
                (0..=named.len()).rev().find_map(|many| Some((many, help(&named[..many])?)));
            let (many, help) = longest.expect("help without a command");
            let place = format!("`{span}` in {}", path.display());
            assert!(many > 0 || named.is_empty(), "{place}: no such command");
            let known: Vec<_> = help.split(|c: char| !c.is_ascii_lowercase() && c != '-').collect();
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let flag = flag.split(['=', ',', '[']).next().expect("a part");
                assert!(known.contains(&flag), "{place}: no flag {flag}");
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "flags: {checked}");
}

/// A reason that no page needs is removed.
#[test]
fn what_is_not_executed_is_on_its_page() {
    for [page, start, _] in not_executed() {
        let text = std::fs::read_to_string(root().join(page)).expect(page);
        let many = commands(&text).iter().filter(|fence| fence.text.starts_with(start)).count();
        assert_eq!(many, 1, "blocks of {page} that begin with {start}");
    }
}

/// A page with commands.
struct Page {
    /// Below the repository.
    name: String,
    text: String,
}

fn pages() -> Vec<Page> {
    let page = |path: PathBuf| {
        let name =
            path.strip_prefix(root()).expect("below it").to_str().expect("a name").to_owned();
        let text = std::fs::read_to_string(&path).expect("a page can be read");
        (!commands(&text).is_empty()).then_some(Page { name, text })
    };
    all_pages().into_iter().filter_map(page).collect()
}

/// What is written for users. What was done on a day is no guide.
fn all_pages() -> Vec<PathBuf> {
    let places =
        ["README.md", "benchmarks", "docs", "experiments", "foundation", "packaging", "systems"];
    let files = places.iter().flat_map(|place| files(&root().join(place)));
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "md")
            && !path.starts_with(root().join("docs/journal"))
    };
    let mut pages: Vec<PathBuf> = files.filter(is_page).collect();
    pages.sort();
    pages
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() { programs::files_below(path) } else { vec![path.to_owned()] }
}

fn commands(text: &str) -> Vec<Fence<'_>> {
    fences(text).into_iter().filter(|fence| ["sh", "python"].contains(&fence.language)).collect()
}

fn not_executed() -> impl Iterator<Item = [&'static str; 3]> {
    NOT_EXECUTED.lines().map(|line| {
        let parts: Vec<_> = line.split(" | ").map(str::trim).collect();
        parts.try_into().expect("page | beginning | reason")
    })
}

/// Why this block is not executed, if it is not.
fn reason(page: &str, text: &str) -> Option<&'static str> {
    let mut of_page = not_executed().filter(|[name, ..]| *name == page);
    of_page.find(|[_, start, _]| text.starts_with(start)).map(|[.., why]| why)
}

/// Executes the commands of a page; what went wrong.
fn execute(page: &Page) -> Option<String> {
    let folder = folder(page);
    std::fs::write(folder.join(".commands"), script(page, &folder)).expect("a script");
    let programs = Path::new(env!("CARGO_BIN_EXE_proofload")).parent().expect("its folder");
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--net",
            "--pid",
            "--mount-proc",
            "--fork",
            "--kill-child",
        ])
        .args(["timeout", "300", "bash", ".commands"])
        .current_dir(&folder)
        .env("ROOT", root())
        .env("PAGE", &page.name)
        .env("PROGRAMS", programs)
        .stdin(Stdio::null())
        .output()
        .expect("unshare (Debian: util-linux)");
    let talk = [output.stdout, output.stderr].concat();
    let talk = String::from_utf8_lossy(&talk);
    println!("{}\n{talk}", page.name);
    (!output.status.success()).then(|| format!("{}: {}\n{talk}", page.name, output.status))
}

/// Which blocks were executed, and why others were not.
fn list(pages: &[Page]) -> String {
    let mut list = String::from(CHECKED_ONLY);
    for page in pages {
        for fence in commands(&page.text) {
            let line = format!("{}:{}", page.name, fence.line);
            match reason(&page.name, fence.text) {
                None => writeln!(list, "{line}\n{}", fence.text),
                Some(why) => writeln!(list, "{line}: not executed: {why}\n"),
            }
            .expect("a line");
        }
    }
    list
}

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands")
}

/// An empty folder for a page.
fn folder(page: &Page) -> PathBuf {
    let name = page.name.replace('/', "-");
    let folder = scratch().join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last test's folder can go");
    }
    std::fs::create_dir_all(&folder).expect("it can be made");
    folder
}

/// What is executed, in order: what the reader has before, then files and commands of the page.
fn script(page: &Page, folder: &Path) -> String {
    let here = "$ROOT/crates/proofload/tests/documents";
    let mut script = format!("source \"{here}/terminal.sh\"\nsource \"{here}/setup.sh\"\n");
    for fence in fences(&page.text) {
        let place = format!("{}:{}", page.name, fence.line);
        if let Some(file) = fence.file.filter(|file| file.contains('.')) {
            let copy = format!(".{}-{file}", fence.line);
            std::fs::write(folder.join(&copy), fence.text).expect("a file can be written");
            writeln!(script, "cp {copy} {file}").expect("a line");
        }
        let added = match (fence.language, reason(&page.name, fence.text)) {
            ("sh" | "python", Some(why)) => format!("at '{place}: not executed: {why}'"),
            ("sh", None) => format!("at {place}\n{}", as_here(fence.text)),
            ("python", None) => {
                format!("at {place}\n\"$ROOT/.venv/bin/python\" - <<'.'\n{}.", fence.text)
            }
            _ => continue,
        };
        writeln!(script, "{added}").expect("a line");
    }
    script
}

/// The commands with folders of the machine replaced by those of the page. A server is ready when the next command
/// comes, also where the page lets it run in the background.
fn as_here(commands: &str) -> String {
    let own = commands.replace("/tmp/", "./").replace("/var/lib/", "./");
    let line = |line: &str| {
        let serves = LONG_RUNNING.iter().any(|server| line.starts_with(server));
        let kept = line.split(" # ").next().unwrap_or(line).trim_end();
        let waited = kept.strip_suffix('&').filter(|_| serves).unwrap_or(line);
        format!("{waited}\n")
    };
    own.lines().map(line).collect()
}
