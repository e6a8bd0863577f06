//! Where operations go.

use std::path::PathBuf;

use serde::Serialize;

/// An address with what it takes to reach it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Target {
    /// Scheme, host and port as written, or with a placeholder of the launcher (`{system.http}`).
    pub url: String,
    /// Connect here instead; the URL still names the host.
    pub connect_to: Option<String>,
    /// Connect to this Unix socket instead.
    pub unix_socket: Option<PathBuf>,
    /// Trust this authority (PEM) beside the system's.
    pub cacert: Option<PathBuf>,
    /// Client certificate (PEM).
    pub cert: Option<PathBuf>,
    /// Its key (PEM).
    pub key: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure: bool,
}
