//! Where metrics go: an address, and who may write there. User, password and token are never shown.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, crypto};
use url::Url;

/// What is spoken there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Prometheus remote write 1.0.
    RemoteWrite,
    /// OpenTelemetry's protocol over HTTP, with `/v1/metrics` and `/v1/traces` behind the address.
    Otlp,
}

/// Where metrics go.
#[derive(Clone)]
pub struct Destination {
    /// What is spoken there.
    pub protocol: Protocol,
    /// The address as users may see it.
    pub shown: String,
    /// Host and port for a connection.
    pub(super) authority: (String, u16),
    /// Of the field `Host`.
    pub(super) host: HeaderValue,
    /// Path and query of a request with metrics.
    pub(super) target: String,
    /// Of one with spans.
    pub(super) spans_target: String,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Destination").field(&self.protocol).field(&self.shown).finish()
    }
}

impl Destination {
    /// At this address. A user in it is used before `token`.
    ///
    /// Errors: what is wrong with the address, without quoting it
    pub fn parse(protocol: Protocol, address: &str, token: Option<&str>) -> Result<Self, String> {
        let mut url = Url::parse(address).map_err(|error| format!("its URL is wrong: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("its URL must begin with http:// or https://".to_owned());
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err("its URL names no host".to_owned());
        };
        let name = host.trim_matches(['[', ']']).to_owned();
        let own_port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host_and_port = format!("{host}{own_port}");
        let authorization = authorization(&url, token)?;
        let tls = match url.scheme() {
            "https" => Some((Arc::new(client_config()?), server_name(&name)?)),
            _ => None,
        };
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let base = url.path().trim_end_matches('/').to_owned();
        let spans_target = format!("{base}/v1/traces{query}");
        if protocol == Protocol::Otlp {
            url.set_path(&format!("{base}/v1/metrics"));
        }
        let shown = format!("{}://{host_and_port}{}", url.scheme(), url.path());
        let host = HeaderValue::from_str(&host_and_port).map_err(|error| error.to_string())?;
        let target = format!("{}{query}", url.path());
        let authority = (name, port);
        Ok(Self { protocol, shown, authority, host, target, spans_target, authorization, tls })
    }
}

fn authorization(url: &Url, token: Option<&str>) -> Result<Option<HeaderValue>, String> {
    let value = match (url.username(), url.password(), token) {
        ("", None, None | Some("")) => return Ok(None),
        ("", None, Some(token)) => format!("Bearer {}", token.trim()),
        (user, password, _) => {
            let mut pair: Vec<u8> = percent_decode_str(user).collect();
            pair.push(b':');
            pair.extend(percent_decode_str(password.unwrap_or_default()));
            format!("Basic {}", STANDARD.encode(pair))
        }
    };
    let mut value =
        HeaderValue::from_str(&value).map_err(|_| "its token has control characters".to_owned())?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Trusts the system's authorities.
fn client_config() -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS cannot be used: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(host.to_owned()).map_err(|_| "its host is no name for TLS".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_password_token_and_query_are_sent_and_not_shown() {
        let at = |url: &str, token| {
            Destination::parse(Protocol::RemoteWrite, url, token).expect("a destination")
        };
        let basic = at("http://ada:s%40cret@db:9090/api/v1/write?key=1", Some("t0ken"));
        assert_eq!(basic.shown, "http://db:9090/api/v1/write");
        assert_eq!(basic.target, "/api/v1/write?key=1");
        let sent = |one: &Destination| {
            one.authorization.as_ref().and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        assert_eq!(sent(&basic), Some(format!("Basic {}", STANDARD.encode("ada:s@cret"))));
        let bearer = at("https://[::1]/write", Some("t0ken"));
        assert_eq!(sent(&bearer).as_deref(), Some("Bearer t0ken"));
        assert_eq!(bearer.authority, ("::1".to_owned(), 443));
        assert_eq!(sent(&at("http://db/", None)), None);
        for shown in [format!("{basic:?}"), format!("{bearer:?}")] {
            assert!(!shown.contains("s%40cret") && !shown.contains("t0ken"), "{shown}");
        }
    }

    #[test]
    fn otlp_has_a_path_of_its_own() {
        for url in ["http://collector:4318", "http://collector:4318/"] {
            let one = Destination::parse(Protocol::Otlp, url, None).expect("a destination");
            assert_eq!(one.target, "/v1/metrics");
            assert_eq!(one.spans_target, "/v1/traces");
        }
        let one = Destination::parse(Protocol::Otlp, "http://c/otlp/?a=b", None).expect("one");
        assert_eq!(one.target, "/otlp/v1/metrics?a=b");
    }

    #[test]
    fn a_wrong_address_is_not_quoted() {
        for url in ["ada:secret@db", "ftp://ada:secret@db/", "http://", "http://ada:secret@/"] {
            let error = Destination::parse(Protocol::Otlp, url, None).expect_err("it is wrong");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
