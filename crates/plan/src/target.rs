//! Where operations go.

use std::path::{Path, PathBuf};

use serde::Serialize;
use url::Url;

/// How the address of a shared-memory channel begins; the path of its Unix socket follows.
pub const CHANNEL: &str = "shm://";

/// An address with what it takes to reach it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Target {
    /// Scheme, host and port as written, or with a placeholder of the launcher (`{system.http}`); of a shared-memory
    /// channel `shm://` and a path.
    pub url: String,
    /// Connect here instead; the URL still names the host.
    pub connect_to: Option<String>,
    /// Connect to this Unix socket instead.
    pub unix_socket: Option<PathBuf>,
    /// Trust these authorities, or these certificates of servers, beside the system's authorities (PEM).
    pub cacert: Option<PathBuf>,
    /// Client certificate (PEM).
    pub cert: Option<PathBuf>,
    /// Its key (PEM).
    pub key: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
    /// What TLS is to agree on (ALPN), where the protocol of its operations has a name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpn: Option<&'static str>,
}

impl Target {
    /// The Unix socket of a shared-memory channel, where this is one.
    pub fn channel(&self) -> Option<&Path> {
        self.url.strip_prefix(CHANNEL).map(Path::new)
    }
}

/// Whether user or password stand in an address, where every output would show them.
pub(crate) fn has_credentials(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// What was meant as an address, without what stands between the scheme and an `@`.
pub(crate) fn without_credentials(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    match rest.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() => format!("…@{host}"),
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => text.to_owned(),
    }
}
