//! What each crate may use: I2 (pure crates) and I3 (who reads the clock on the measuring side).

use super::paths::{is_below, named};
use super::source::{Source, has_word, sources};
use super::tree::{Problem, Tree};

const PURE: &[&str] = &[
    "crates/stats/",
    "crates/plan/",
    "crates/record/",
    "crates/judge/",
    "crates/pages/",
    "crates/audit/",
    "crates/import/",
    "foundation/nonce/",
    "foundation/quantities/",
];

/// Paths that pure crates must not use, and what to do instead.
const IMPURE: &[(&str, &str)] = &[
    ("std::fs", "use `Read` and `Write` given by the caller"),
    ("std::net", "use text or `std::net::SocketAddr`; sockets belong to `engine::transport`"),
    ("std::os", "use `engine` for what the system offers"),
    ("std::thread", "use the caller's thread"),
    ("std::process", "use `engine::process`"),
    ("std::env", "use values given by the caller"),
    ("std::time::Instant", "use instants given by the caller"),
    ("std::time::SystemTime", "use instants given by the caller"),
    ("std::hash::RandomState", "use an ordered map"),
    ("std::collections::hash_map::RandomState", "use an ordered map"),
    ("tokio", "use `engine`"),
    ("libc", "use `engine`"),
    ("rustix", "use `engine`"),
    ("getrandom", "use the plan's seed"),
    ("rand::rng", "use the plan's seed"),
    ("rand::thread_rng", "use the plan's seed"),
    ("jiff::Timestamp::now", "use an instant given by the caller"),
    ("jiff::Zoned::now", "use an instant given by the caller"),
    ("Instant::now", "use instants given by the caller"),
    ("SystemTime::now", "use instants given by the caller"),
    ("Timestamp::now", "use an instant given by the caller"),
    ("Zoned::now", "use an instant given by the caller"),
    ("File::open", "use `Read` given by the caller"),
    ("File::create", "use `Write` given by the caller"),
];

/// Allowed in pure crates: addresses are data.
const DATA: &[&str] = &["IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr", "AddrParseError"];

/// The measuring side, and the parts of it with exceptions.
const MEASURING: &[&str] = &["crates/engine/", "crates/drivers/"];
const TRUSTED: &[&str] =
    &["crates/engine/src/clock/", "crates/engine/src/transport/", "crates/engine/src/process/"];

const MEASURED: &[(&str, &str)] = &[
    ("std::time::Instant", "use `Clock::now`"),
    ("std::time::SystemTime", "use `engine::clock`"),
    ("Instant::now", "use `Clock::now`"),
    ("SystemTime::now", "use `engine::clock`"),
    ("tokio::time", "use `Clock::sleep_until`"),
    ("std::thread::sleep", "use `Clock::sleep_until`"),
    ("thread::sleep", "use `Clock::sleep_until`"),
    ("ClockId::Monotonic", "use `Clock::now`"),
    ("ClockId::Realtime", "use `engine::clock`"),
    ("ClockId::Boottime", "use `engine::clock`"),
    ("rustix::time::timerfd_create", "use `Clock::sleep_until`"),
    ("rustix::thread::nanosleep", "use `Clock::sleep_until`"),
    ("tokio::net", "use `engine::transport`"),
    ("std::net", "use `engine::transport`"),
    ("std::os::unix::net", "use `engine::transport`"),
    ("socket2", "use `engine::transport`"),
    ("std::process::Command", "use `engine::process`"),
    ("tokio::process", "use `engine::process`"),
    ("libc::clock_gettime", "use `engine::clock`"),
    ("libc::nanosleep", "use `Clock::sleep_until`"),
];

/// Crates that no pure crate may depend on.
const IMPURE_CRATES: &[&str] =
    &["tokio", "libc", "rustix", "socket2", "getrandom", "rand", "hyper", "mio", "nix"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources(tree) {
        let within = |rooms: &[&str]| rooms.iter().any(|room| source.path.starts_with(room));
        if within(PURE) {
            problems.extend(refused(&source, IMPURE, DATA, "a pure crate"));
        } else if within(MEASURING) && !within(TRUSTED) {
            problems.extend(refused(&source, MEASURED, DATA, "this part of the measuring side"));
        }
    }
    for (path, text) in tree.ending("/Cargo.toml") {
        if PURE.iter().any(|room| path.starts_with(room)) {
            problems.extend(impure_crates(path, text));
        }
    }
    problems
}

fn refused(source: &Source<'_>, table: &[(&str, &str)], data: &[&str], room: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, path) in named(source) {
        let exempt = data.iter().any(|name| path.split("::").any(|part| part.starts_with(name)));
        let row = table.iter().find(|(forbidden, _)| names(&path, forbidden));
        if let (Some((_, instead)), false) = (row, exempt) {
            problems.push(Problem::new(source.path, line, format!("`{path}` in {room}"), *instead));
        }
    }
    problems
}

/// Whether a path refers to the forbidden one, written out fully or in part.
fn names(path: &str, forbidden: &str) -> bool {
    is_below(path, forbidden)
        || path.match_indices("::").any(|(at, _)| is_below(&path[at + 2..], forbidden))
}

fn impure_crates(path: &str, manifest: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut counted = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            counted = line.trim() == "[dependencies]";
        }
        let key = line.split(['=', '.']).next().unwrap_or("").trim();
        let named = IMPURE_CRATES.iter().find(|name| key == **name && has_word(line, name));
        if let (Some(name), true) = (named, counted) {
            let what = format!("`{name}` in a pure crate");
            problems.push(Problem::new(path, index + 1, what, "use `engine` for it"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<Problem> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn pure_crates_touch_nothing() {
        for text in [
            "use std::fs::File;",
            "use std::{io, net::TcpStream};",
            "use std::time::{Duration, Instant};",
            "fn f() { std::thread::spawn(g); }",
            "fn f() -> String { std::env::var(a) }",
            "fn f() { let t = jiff::Timestamp::now(); }",
            "use tokio::io::AsyncRead;",
        ] {
            assert_eq!(problems("crates/stats/src/lib.rs", text).len(), 1, "{text}");
            assert_eq!(problems("systems/truth/src/lib.rs", text), [], "{text}");
        }
    }

    #[test]
    fn durations_addresses_and_readers_are_data() {
        let text = "use std::io::{Read, Write};\nuse std::time::Duration;\nuse std::net::IpAddr;\n\
                    // std::fs\nlet a = \"std::fs\";\nlet v = env!(\"CARGO_PKG_VERSION\");\n";
        assert_eq!(problems("crates/record/src/lib.rs", text), []);
    }

    #[test]
    fn tests_of_pure_crates_may_use_files() {
        let text = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(problems("crates/judge/src/lib.rs", text), []);
    }

    #[test]
    fn pure_crates_depend_on_nothing_impure() {
        let manifest = "[package]\nname = \"plan\"\n[dependencies]\ntokio = { workspace = true }\n";
        assert_eq!(problems("crates/plan/Cargo.toml", manifest).len(), 1);
        assert_eq!(problems("crates/engine/Cargo.toml", manifest), []);
    }

    #[test]
    fn only_three_rooms_read_the_clock_open_sockets_and_start_processes() {
        for text in [
            "fn f() { let t = std::time::Instant::now(); }",
            "use tokio::time::sleep;",
            "use std::net::TcpStream;",
            "use std::process::Command;",
            "fn f() { clock_gettime(rustix::time::ClockId::Monotonic); }",
        ] {
            assert_eq!(problems("crates/engine/src/pool.rs", text).len(), 1, "{text}");
            assert_eq!(problems("crates/drivers/src/http1/mod.rs", text).len(), 1, "{text}");
            assert_eq!(problems("crates/engine/src/clock/real.rs", text), [], "{text}");
            assert_eq!(problems("crates/engine/src/process/mod.rs", text), [], "{text}");
        }
        let fine = "use tokio::io::AsyncRead;\nlet t = clock_gettime(ClockId::ThreadCPUTime);\n";
        assert_eq!(problems("crates/drivers/src/http1/mod.rs", fine), []);
    }
}
