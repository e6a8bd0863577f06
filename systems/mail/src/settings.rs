//! The settings of the mail server, in addition to those of its sessions.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serving::error::BadOptions;
use serving::listener::BACKLOG;
use serving::options::Options;
use serving::settings::Settings;

use crate::session;
use crate::store::hook::Hook;
use crate::store::retained::{RetentionLimits, WhenFull};
use crate::tls::Tls;

/// Default limits of stored messages and bytes.
const MESSAGES: u64 = 10_000;
const BYTES: u64 = 256 << 20;
/// Time limit for a hook to connect, to take each piece, and to answer.
const HOOK_TIMEOUT_NS: u64 = 30_000_000_000;

/// The store for messages.
#[derive(Debug)]
pub(crate) enum StoreKind {
    /// Nowhere.
    Discard,
    /// Into memory.
    Memory(RetentionLimits),
    /// Into a folder.
    Maildir(PathBuf, RetentionLimits),
    /// To an HTTP hook.
    Hook(Hook),
}

/// The settings of `mail`.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// The store for messages.
    pub store: StoreKind,
    /// The settings of each session.
    pub session: session::Settings,
    /// The server's side of TLS, if there is any.
    pub tls: Option<Tls>,
    /// Address for TLS from the first byte, if there is one.
    pub smtps: Option<SocketAddr>,
    /// Address of the HTTP API.
    pub http: SocketAddr,
    /// Length of the accept queue.
    pub backlog: i32,
    /// Threads that serve.
    pub threads: usize,
}

/// Reads the settings.
///
/// Errors: every problem at once
pub(crate) fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let (store, scope) = store(&settings);
    let session = session::Settings::read(&settings);
    let tls = Tls::read(&settings, &session.hostname);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let threads = settings.count("threads", processors, 1..=1_024);
    let backlog = settings.count("backlog", BACKLOG as u64, 1..=65_535);
    let configuration = Configuration {
        store,
        session,
        tls,
        smtps: if settings.has("smtps") { address(&settings, "smtps", "") } else { None },
        http: address(&settings, "http", "127.0.0.1:0").unwrap_or(options.listen),
        backlog: i32::try_from(backlog).unwrap_or(BACKLOG),
        threads: usize::try_from(threads).unwrap_or(1),
    };
    settings.finish(scope)?;
    Ok(configuration)
}

/// A setting of a store that is not in use counts as unknown and is refused.
fn store(settings: &Settings<'_>) -> (StoreKind, &'static str) {
    match settings.choice("store", &["memory", "maildir", "hook", "discard"], 0) {
        0 => {
            let full = settings.choice("store_full", &["oldest", "refuse"], 0);
            let bounds = bounds(settings, [WhenFull::Oldest, WhenFull::Refuse][full]);
            (StoreKind::Memory(bounds), "the mail server with store=memory")
        }
        1 => {
            let path = settings.text("path", "");
            if path.is_empty() {
                settings.wrong("path", "store=maildir needs a folder");
            }
            let bounds = bounds(settings, WhenFull::Oldest);
            (StoreKind::Maildir(path.into(), bounds), "the mail server with store=maildir")
        }
        2 => (hook(settings), "the mail server with store=hook"),
        _ => (StoreKind::Discard, "the mail server with store=discard"),
    }
}

fn bounds(settings: &Settings<'_>, full: WhenFull) -> RetentionLimits {
    let messages = settings.count("store_messages", MESSAGES, 1..=10_000_000);
    let bytes = settings.size("store_bytes", BYTES);
    RetentionLimits { messages: usize::try_from(messages).unwrap_or(usize::MAX), bytes, full }
}

fn hook(settings: &Settings<'_>) -> StoreKind {
    let within = Duration::from_nanos(settings.positive_time("hook_timeout", HOOK_TIMEOUT_NS));
    match Hook::new(&settings.text("hook", ""), within) {
        Ok(hook) => StoreKind::Hook(hook),
        Err(problem) => {
            settings.wrong("hook", problem);
            StoreKind::Discard
        }
    }
}

fn address(settings: &Settings<'_>, key: &'static str, default: &str) -> Option<SocketAddr> {
    let text = settings.text(key, default);
    let address = text.parse().ok();
    if address.is_none() {
        let what = format!("expected an address such as 127.0.0.1:2525, got \"{text}\"");
        settings.wrong(key, what);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(options: &Options) -> Vec<String> {
        read(options).map_or_else(|bad| bad.sentences(), |_| Vec::new())
    }

    #[test]
    fn everything_has_a_default() {
        let plain = read(&Options::default()).unwrap();
        let StoreKind::Memory(bounds) = plain.store else { panic!("{:?}", plain.store) };
        assert_eq!((bounds.messages, bounds.full), (10_000, WhenFull::Oldest));
        assert!(plain.tls.is_none() && plain.smtps.is_none());
        assert_eq!((plain.backlog, plain.http.port()), (4_096, 0));
    }

    #[test]
    fn a_store_has_its_own_settings_and_no_others() {
        let with = |store: &str| Options::default().with("store", store);
        assert!(problems(&with("maildir").with("path", "/x")).is_empty());
        assert!(problems(&with("hook").with("hook", "http://127.0.0.1:1/x")).is_empty());
        assert!(problems(&with("discard")).is_empty());
        assert!(problems(&with("memory").with("store_full", "refuse")).is_empty());
        for odd in [
            with("maildir"),
            with("hook"),
            with("hook").with("hook", "ftp://x"),
            with("paper"),
            with("memory").with("path", "/x"),
            with("discard").with("store_bytes", "1MiB"),
            with("maildir").with("path", "/x").with("store_full", "refuse"),
        ] {
            assert_eq!(problems(&odd).len(), 1, "{odd:?}");
        }
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let bad = Options::default()
            .with("smtps", "here")
            .with("http", "there")
            .with("backlog", 0)
            .with("threads", 0)
            .with("max_mesage", "1MiB");
        assert_eq!(problems(&bad).len(), 5);
    }
}
