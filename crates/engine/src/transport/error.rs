//! Why a target cannot be used: its URL, its name, its certificates.

/// Why a target cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The address cannot be connected to.
    #[error("target {url}: {reason}")]
    Url {
        /// As written.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The name has no address.
    #[error("cannot resolve {host}: {reason}")]
    Resolve {
        /// Host and port.
        host: String,
        /// Error of the resolver.
        reason: String,
    },
    /// A certificate or key cannot be read or used.
    #[error("{what} {path}: {reason}")]
    Certificate {
        /// `cacert`, `cert` or `key`.
        what: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The TLS configuration is inconsistent.
    #[error("TLS configuration: {0}")]
    Tls(String),
}

impl TransportError {
    /// A URL that cannot be used.
    pub(super) fn url(url: &str, reason: &str) -> Self {
        Self::Url { url: url.to_owned(), reason: reason.to_owned() }
    }

    /// One thing to do, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Url { .. } => {
                Some("write it as SCHEME://HOST:PORT, such as http://127.0.0.1:8080")
            }
            Self::Resolve { .. } => Some("check the spelling, or set `connect_to` to an address"),
            Self::Certificate { .. } => Some("give a readable file in PEM form"),
            Self::Tls(_) => None,
        }
    }
}
