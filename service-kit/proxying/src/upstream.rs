//! Where a proxy's requests go, and what it is called there.
//!
//! Not here: whether anybody is there, and connections to it (see `pool`).

use hyper::header::HeaderValue;

use crate::authority::split;
use crate::heads::Intermediary;

/// Where requests go, and the name of the proxy that sends them.
#[derive(Debug, Clone)]
pub struct Upstream {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) intermediary: Intermediary,
}

impl Upstream {
    /// An upstream by its URL, `http://HOST:PORT` and nothing behind it; port 80 if none is named.
    ///
    /// Errors: `None` for anything else, and as [`Upstream::new`]
    pub fn at(url: &str, via: &str) -> Option<Self> {
        let named = url.strip_prefix("http://")?;
        let (host, port) = split(named.strip_suffix('/').unwrap_or(named))?;
        Self::new(host, port.unwrap_or(80), via)
    }

    /// An upstream by name or address (one of IPv6 without brackets) and port; `via` is the proxy's name, a token.
    ///
    /// Errors: `None` where one of the names cannot stand in a header
    pub fn new(host: &str, port: u16, via: &str) -> Option<Self> {
        let value = |text: String| HeaderValue::try_from(text).ok();
        let intermediary = Intermediary {
            host: value(authority(host, port))?,
            via: value(format!("1.1 {via}"))?,
            via_old: value(format!("1.0 {via}"))?,
            via_multiplexed: value(format!("2.0 {via}"))?,
            trusts_clients: false,
        };
        Some(Self { host: host.to_owned(), port, intermediary })
    }

    /// Whether `Forwarded` and its kin are believed and added to, or replaced, as at first.
    pub fn trusting(mut self, trusts_clients: bool) -> Self {
        self.intermediary.trusts_clients = trusts_clients;
        self
    }

    /// Whether it is so.
    pub fn trusts_clients(&self) -> bool {
        self.intermediary.trusts_clients
    }

    /// Host and port as in a URL.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

fn authority(host: &str, port: u16) -> String {
    match (host.contains(':'), port) {
        (true, port) => format!("[{host}]:{port}"),
        (false, 80) => host.to_owned(),
        (false, port) => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_host_with_a_port_and_nothing_else() {
        for (url, authority) in [
            ("http://h", "h"),
            ("http://h:80/", "h"),
            ("http://Shop.example:8080", "Shop.example:8080"),
            ("http://127.0.0.1:65535/", "127.0.0.1:65535"),
            ("http://[::1]", "[::1]:80"),
            ("http://[2001:db8::1]:81", "[2001:db8::1]:81"),
        ] {
            let upstream = Upstream::at(url, "proxy");
            assert_eq!(upstream.map(|upstream| upstream.authority()).as_deref(), Some(authority));
        }
        for url in [
            "",
            "h:80",
            "http://",
            "http:///",
            "http://h:0",
            "http://h:99999",
            "http://h/path",
            "http://h//",
            "http://h?query",
            "http://user@h",
            "https://h",
            "ftp://h",
        ] {
            assert!(Upstream::at(url, "proxy").is_none(), "{url}");
        }
    }
}
