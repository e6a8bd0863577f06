//! Which entries of a recording are requests that a load should send.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::draft::Draft;
use crate::format::Options;

/// Other hosts that are named.
const HOSTS_NAMED: usize = 8;
/// Parts of a page, by what the browser says it wanted.
const STATIC: [&str; 7] =
    ["image", "stylesheet", "script", "font", "media", "manifest", "texttrack"];
/// Parts of a page, by the type of the answer.
const STATIC_TYPES: [&str; 7] = [
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/manifest+json",
    "application/vnd.ms-fontobject",
    "application/wasm",
];

/// Whether it goes to a server: not to a proxy only, and not answered by the browser because of HSTS.
fn is_web(entry: &Entry<'_>) -> bool {
    matches!(entry.url.scheme(), "http" | "https")
        && entry.method != "CONNECT"
        && entry.answer_header("non-authoritative-reason").is_none()
}

/// The entries to take, in order; the others are noted.
pub fn wanted<'a>(all: Vec<Entry<'a>>, options: &Options, draft: &mut Draft) -> Vec<Entry<'a>> {
    let (web, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_web);
    let sockets = others.iter().filter(|entry| matches!(entry.url.scheme(), "ws" | "wss")).count();
    note(draft, sockets, "WebSocket is", "WebSockets are", "left out");
    let taken = of_hosts(web, options, draft);
    let taken = without(taken, draft, |entry| entry.is_cached, "answered from the browser's cache");
    let none = "without an answer (blocked or cancelled)";
    let taken = without(taken, draft, |entry| entry.status == 0, none);
    let (sockets, taken): (Vec<_>, Vec<_>) =
        taken.into_iter().partition(|entry| entry.purpose == "websocket" || entry.status == 101);
    note(draft, sockets.len(), "WebSocket is", "WebSockets are", "left out");
    let taken = without(taken, draft, is_preflight, "of the browser about CORS (OPTIONS)");
    let streams = "for an endless stream of events";
    let taken = without(taken, draft, is_endless, streams);
    if taken.iter().all(is_static) {
        return taken;
    }
    without(taken, draft, is_static, "for images, styles, scripts, fonts and media")
}

fn note(draft: &mut Draft, count: usize, one: &str, many: &str, what: &str) {
    match count {
        0 => {}
        1 => draft.note(None, format!("1 {one} {what}")),
        _ => draft.note(None, format!("{count} {many} {what}")),
    }
}

/// Without entries like these, which are noted.
fn without<'a>(
    entries: Vec<Entry<'a>>,
    draft: &mut Draft,
    is_left_out: impl Fn(&Entry<'a>) -> bool,
    what: &str,
) -> Vec<Entry<'a>> {
    let (left_out, taken): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_left_out);
    match left_out.len() {
        0 => {}
        1 => draft.note(None, format!("1 request {what} is left out")),
        count => draft.note(None, format!("{count} requests {what} are left out")),
    }
    taken
}

/// Entries to the hosts that are wanted; without any, to the origin of the first page.
fn of_hosts<'a>(entries: Vec<Entry<'a>>, options: &Options, draft: &mut Draft) -> Vec<Entry<'a>> {
    if !options.hosts.is_empty() {
        return entries.into_iter().filter(|entry| options.wants(&entry.origin())).collect();
    }
    // A recording may begin with what an earlier page still sends, or with a redirect to the real site.
    let is_answered = |entry: &&Entry<'_>| entry.status != 0;
    let is_page = |entry: &&Entry<'_>| entry.is_document() && entry.redirect().is_none();
    let mut answered = entries.iter().filter(is_answered);
    let first = answered.clone().find(is_page).or_else(|| answered.next());
    let Some(origin) = first.map(Entry::origin) else { return entries };
    let (taken, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.origin() == origin);
    note_others(&others, draft);
    taken
}

fn note_others(others: &[Entry<'_>], draft: &mut Draft) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in others {
        *counts.entry(entry.origin()).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named = |(origin, count): &(String, usize)| {
        let host = origin.split_once("://").map_or("", |(_, host)| host);
        match count {
            1 => format!("1 request to {origin} is left out; add it with --host {host}"),
            _ => format!("{count} requests to {origin} are left out; add them with --host {host}"),
        }
    };
    for origin in counts.iter().take(HOSTS_NAMED) {
        draft.note(None, named(origin));
    }
    let rest = counts.iter().skip(HOSTS_NAMED);
    let requests: usize = rest.clone().map(|(_, count)| count).sum();
    if requests > 0 {
        let what = format!("{requests} requests to {} further hosts are left out", rest.len());
        draft.note(None, what);
    }
}

/// Whether a browser asks by itself whether a page may send a request.
fn is_preflight(entry: &Entry<'_>) -> bool {
    entry.purpose == "preflight"
        || (entry.method == "OPTIONS" && entry.header("access-control-request-method").is_some())
}

/// Whether the answer has no end that a load could wait for. One to a POST, as of a language model, has.
fn is_endless(entry: &Entry<'_>) -> bool {
    entry.purpose == "eventsource" || (entry.method == "GET" && entry.mime() == "text/event-stream")
}

/// Whether it is a part of a page that a load rarely asks for.
fn is_static(entry: &Entry<'_>) -> bool {
    let mime = entry.mime();
    let is_type = ["image/", "font/", "audio/", "video/", "application/font", "application/x-font"]
        .iter()
        .any(|kind| mime.starts_with(kind))
        || STATIC_TYPES.contains(&mime.as_str())
        // Browsers ask for it by themselves, and a site without one answers with a page.
        || entry.url.path() == "/favicon.ico";
    match entry.purpose.as_str() {
        "document" | "xhr" | "fetch" => false,
        purpose => STATIC.contains(&purpose) || is_type,
    }
}
