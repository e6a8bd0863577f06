//! Targets of operations.

use std::path::{Path, PathBuf};

use serde::Serialize;
use url::Url;

use crate::protocol::{Place, Scheme, WEB};

/// An address, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// Scheme, host and port as written, or with a placeholder of the launcher (`{system.http}`); for a shared-memory
    /// channel `shm://` and a path.
    pub url: String,
    /// Connect here instead, to one place or several with commas between them; the URL still names the host.
    pub connect_to: Option<String>,
    /// Connect to this Unix socket instead.
    pub unix_socket: Option<PathBuf>,
    /// Trust these authorities or server certificates, in addition to the system's authorities (PEM).
    pub cacert: Option<PathBuf>,
    /// Client certificate (PEM).
    pub cert: Option<PathBuf>,
    /// Its key (PEM).
    pub key: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
    /// The protocol that TLS must negotiate (ALPN), if the operations' protocol has a name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpn: Option<&'static str>,
    /// The schemes of the operations' protocol.
    #[serde(skip)]
    pub schemes: &'static [Scheme],
}

impl Default for Target {
    /// A web site without an address.
    fn default() -> Self {
        Self {
            url: String::new(),
            connect_to: None,
            unix_socket: None,
            cacert: None,
            cert: None,
            key: None,
            insecure: false,
            alpn: None,
            schemes: &WEB,
        }
    }
}

impl Target {
    /// The scheme of its address, if its protocol knows it.
    pub fn scheme(&self) -> Option<&'static Scheme> {
        Scheme::of(&self.url, self.schemes)
    }

    /// The Unix socket, if this is a shared-memory channel.
    pub fn channel(&self) -> Option<&Path> {
        let scheme = self.scheme().filter(|scheme| scheme.place == Place::Channel)?;
        Some(Path::new(&self.url[scheme.name.len() + "://".len()..]))
    }
}

/// Scheme, host and port of a URL, and path and query; `None` if it has no such beginning, or a placeholder in it.
pub fn split_url(text: &str) -> Option<(&str, &str)> {
    let host = text.find("://")? + "://".len();
    let end = text[host..].find(['/', '?', '#']).map_or(text.len(), |end| host + end);
    let (origin, rest) = text.split_at(end);
    let rest = rest.split('#').next().unwrap_or_default();
    (!origin.contains("{{")).then_some((origin, rest))
}

/// Whether an address contains user or password, which every output would show.
pub(crate) fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// The intended address, without the text between the scheme and an `@`.
pub fn without_credentials(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    match rest.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() => format!("…@{host}"),
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => text.to_owned(),
    }
}
