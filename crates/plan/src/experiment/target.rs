//! `[target]`, an operation's own target, and the target of each operation.

use std::path::Path;

use url::Url;

use super::request::ExperimentContext;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Node, Reader, Table, Value};
use crate::protocol::{Place, ProtocolTraits, Scheme, is_web};
use crate::target::{Target, has_credentials, without_credentials};

/// Keys that a channel must not have.
const NOT_OF_A_CHANNEL: [&str; 6] =
    ["unix_socket", "connect_to", "cacert", "cert", "key", "insecure"];

/// `[target]`: the target of all operations that name none.
pub(super) struct SharedTarget {
    pub(super) target: Target,
    /// Further ones, to which an answer may lead.
    pub(super) also: Vec<Target>,
}

/// Reads `[target]`.
pub(super) fn shared(
    table: &Table,
    world: ExperimentContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> SharedTarget {
    let mut reader = Reader::new(table);
    let target = fields(&mut reader, table, world);
    let listed = match reader.node("also") {
        Some(Node { value: Value::Array(nodes), .. }) => nodes.as_slice(),
        Some(node) => std::slice::from_ref(node),
        None => &[],
    };
    problems.extend(reader.finish());
    let also = listed.iter().filter_map(|node| further(node, &target, world, problems)).collect();
    SharedTarget { target, also }
}

/// A target of `also`.
fn further(
    node: &Node,
    shared: &Target,
    world: ExperimentContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Target> {
    let before = problems.len();
    let target = own(node, Some(shared), world, problems)?;
    let scheme = target.url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let label = match target.url.as_str() {
        _ if problems.len() > before => return None,
        "" if target.unix_socket.is_some() => return Some(target),
        "" => "add `url`",
        _ if is_web(&scheme) => return Some(target),
        url if url.starts_with('{') => return Some(target),
        _ => "expected http:// or https://",
    };
    problems.push(Diagnostic::new(node.span, "`also` takes addresses of web sites", label));
    None
}

/// Reads a `target` table.
fn read(table: &Table, world: ExperimentContext<'_>, problems: &mut Vec<Diagnostic>) -> Target {
    let mut reader = Reader::new(table);
    let target = fields(&mut reader, table, world);
    problems.extend(reader.finish());
    target
}

fn fields(reader: &mut Reader<'_>, table: &Table, world: ExperimentContext<'_>) -> Target {
    let mut target = Target::default();
    if let Some((url, span)) = reader.string("url") {
        target.url = address(url, span, world, reader);
    }
    let scheme = Scheme::of(&target.url, world.known.schemes());
    let file = |key: &str, reader: &mut Reader<'_>| {
        reader.string(key).map(|(path, _)| world.inputs.locate(Path::new(path)))
    };
    target.unix_socket = file("unix_socket", reader);
    target.cacert = file("cacert", reader);
    target.cert = file("cert", reader);
    target.key = file("key", reader);
    let to = reader.parsed("connect_to", "a place such as 127.0.0.1:8080", places);
    target.connect_to = to.map(|(to, _)| to);
    target.insecure = reader.boolean("insecure").unwrap_or(false);
    if target.cert.is_some() != target.key.is_some() {
        let message = "`cert` and `key` belong together";
        reader.problem(Diagnostic::new(table.span, message, "only one of them is here"));
    }
    if scheme.is_some_and(|scheme| scheme.place == Place::Channel) {
        for entry in NOT_OF_A_CHANNEL.iter().filter_map(|key| table.get(key)) {
            let message =
                format!("`{}` has no effect on a channel, which needs only its path", entry.key);
            reader.problem(Diagnostic::new(entry.key_span, message, "remove this"));
        }
    }
    target
}

/// An operation's `target`: a table, or an address that inherits the certificates of `[target]`.
pub(super) fn own(
    node: &Node,
    shared: Option<&Target>,
    world: ExperimentContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Target> {
    match &node.value {
        Value::Table(table) => Some(read(table, world, problems)),
        Value::String(url) => Some(at(url, node.span, shared, world, problems)),
        _ => {
            problems.push(node.unlike("an address such as http://127.0.0.1:8080, or a table"));
            None
        }
    }
}

/// The target at this address, with the certificates of `[target]`.
pub(super) fn at(
    url: &str,
    span: Span,
    shared: Option<&Target>,
    world: ExperimentContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Target {
    let empty = Table::default();
    let mut reader = Reader::new(&empty);
    let url = address(url, span, world, &mut reader);
    problems.extend(reader.finish());
    elsewhere(url, shared)
}

/// Another address with the certificates of `[target]`.
pub(super) fn elsewhere(url: String, shared: Option<&Target>) -> Target {
    let base = shared.cloned().unwrap_or_default();
    Target { url, connect_to: None, unix_socket: None, ..base }
}

/// The default address of a system that the run starts, for this scheme.
pub(super) fn of_system(scheme: &str) -> Target {
    Target { url: format!("{scheme}://{{system.{scheme}}}"), ..Target::default() }
}

/// The target as this protocol reaches it. A Unix socket needs no address beside it.
pub(super) fn spoken_to(mut target: Target, traits: &ProtocolTraits) -> Target {
    if target.url.is_empty() && target.unix_socket.is_some() {
        target.url = format!("{}://localhost", traits.usual_scheme());
    }
    Target { alpn: traits.alpn, schemes: traits.schemes, ..target }
}

/// Whether it says where to connect.
pub(super) fn has_place(target: &Target) -> bool {
    !target.url.is_empty() || target.unix_socket.is_some()
}

/// An operation of this protocol whose target is an address of none or of another.
pub(super) fn astray(
    target: &Target,
    protocol: &str,
    span: Span,
    world: ExperimentContext<'_>,
) -> Option<Diagnostic> {
    let url = &target.url;
    if target.scheme().is_some() || !url.contains("://") || url.starts_with('{') {
        return None;
    }
    let label = match Scheme::of(url, world.known.schemes()) {
        Some(_) => "another protocol is spoken there",
        None => "an unknown scheme",
    };
    let what = format!("an operation of `{protocol}` goes to {}", without_credentials(url));
    let own = target.schemes.iter().map(|scheme| format!("{}://", scheme.name));
    let hint = format!("its target begins with {}", own.collect::<Vec<_>>().join(" or "));
    Some(Diagnostic::new(span, what, label).with_hint(hint))
}

/// Scheme, host and port, without a slash at the end; for a channel its path, relative to the
/// file's folder. Placeholders of the launcher are kept.
fn address(
    text: &str,
    span: Span,
    world: ExperimentContext<'_>,
    reader: &mut Reader<'_>,
) -> String {
    let trimmed = text.trim_end_matches('/');
    if text.contains("{{") {
        let message = format!("unknown placeholder in `{text}`");
        let label = "a target takes {{env.NAME}} and {{factor.NAME}}";
        reader.problem(Diagnostic::new(span, message, label));
    }
    if text.contains('{') {
        return trimmed.to_owned();
    }
    let scheme = Scheme::of(text, world.known.schemes());
    if let Some(Scheme { name, .. }) = scheme.filter(|scheme| scheme.place == Place::Channel) {
        let path = &text[name.len() + "://".len()..];
        if path.is_empty() {
            let message =
                format!("expected an address such as {name}:///run/users.{name}, got \"{text}\"");
            reader.problem(Diagnostic::new(span, message, "expected the path of a Unix socket"));
        }
        return format!("{name}://{}", world.inputs.locate(Path::new(path)).display());
    }
    if let Some(problem) = bad_address(text, span, scheme) {
        reader.problem(problem);
    }
    trimmed.to_owned()
}

/// The problem of an address without placeholders, if it has one.
fn bad_address(text: &str, span: Span, scheme: Option<&Scheme>) -> Option<Diagnostic> {
    let Some(url) = Url::parse(text).ok().filter(Url::has_host) else {
        let shown = without_credentials(text);
        let message = format!("expected an address such as http://127.0.0.1:8080, got \"{shown}\"");
        return Some(Diagnostic::new(span, message, "expected scheme, host and port"));
    };
    if has_credentials(&url) {
        let problem = Diagnostic::new(span, "an address holds credentials", "user or password");
        let instead = scheme.map_or("remove them", |scheme| scheme.credentials);
        return Some(problem.with_hint(instead));
    }
    if url.port() == Some(0) {
        let message = format!("port 0 cannot be a target, got \"{text}\"");
        return Some(Diagnostic::new(span, message, "expected a port from 1 to 65535"));
    }
    let rest = &url[url::Position::BeforePath..];
    (!matches!(rest, "" | "/")).then(|| {
        let message = format!("a target is scheme, host and port, got \"{text}\"");
        let problem = Diagnostic::new(span, message, "has a path");
        match is_web(url.scheme()) {
            true => problem.with_hint(format!("write path = \"{rest}\" in the operation")),
            false => problem,
        }
    })
}

/// `connect_to`: hosts and ports with commas between them, or placeholders of the launcher.
fn places(text: &str) -> Option<String> {
    text.split(',').all(|place| is_place(place.trim())).then(|| text.to_owned())
}

fn is_place(text: &str) -> bool {
    let url = Url::parse(&format!("tcp://{text}")).ok().filter(Url::has_host);
    let is_bare =
        |url: Url| matches!(&url[url::Position::BeforePath..], "") && !has_credentials(&url);
    text.contains('{') || url.is_some_and(is_bare)
}
