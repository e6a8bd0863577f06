//! TLS as a server: a certificate out of files, or one made for the occasion that nobody else has signed.
//!
//! Renegotiation, which TLS 1.2 had, does not exist here: `rustls` has none. Tickets and early data are off, so that a
//! handshake is always a whole one.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ProtocolVersion, ServerConfig, SupportedProtocolVersion, version};
use serde::Serialize;
use serving::error::BadOption;
use serving::settings::Settings;
use tokio_rustls::TlsAcceptor;

/// Bytes that a connection's TLS holds, about: two records and the keys.
pub const BYTES: u64 = 48 << 10;

/// The server's side of TLS.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    effective: Effective,
    certificate: CertificateDer<'static>,
}

/// What is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// The lowest version that is spoken.
    pub min_tls: &'static str,
    /// Where the certificate comes from: a file, or `self-signed`.
    pub certificate: String,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tls").field("effective", &self.effective).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads `cert`, `key` and `min_tls` if the settings `tls` or `smtps` ask for TLS; what is wrong with them becomes a
    /// problem of the settings.
    pub fn read(settings: &Settings<'_>, hostname: &str) -> Option<Self> {
        let is_wanted = settings.text("tls", "none") != "none" || settings.has("smtps");
        let names = ["cert", "key", "min_tls"];
        if !is_wanted {
            for name in names.into_iter().filter(|name| settings.value(name).is_some()) {
                settings.wrong(name, "there is no TLS, because `tls` is none");
            }
            return None;
        }
        let (cert, key) = (settings.text("cert", ""), settings.text("key", ""));
        let min = settings.choice("min_tls", &["1.2", "1.3"], 0);
        let files = match (cert.is_empty(), key.is_empty()) {
            (true, true) => None,
            (false, true) => Some((cert.clone(), cert)),
            (false, false) => Some((cert, key)),
            (true, false) => {
                settings.wrong("key", "without `cert` it proves nothing");
                return None;
            }
        };
        let made = match files {
            None => Self::self_signed(hostname, min == 1),
            Some((cert, key)) => Self::from_files(&cert, &key, min == 1),
        };
        made.map_err(|problem| settings.refuse(problem)).ok()
    }

    /// With a certificate made now, for this name and for the local host.
    ///
    /// Errors: of `hostname`; the name is none
    pub fn self_signed(hostname: &str, is_newest_only: bool) -> Result<Self, BadOption> {
        let names = [hostname, "localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let problem = |error: rcgen::Error| {
            BadOption::of("hostname", format!("no certificate for it: {error}"))
        };
        let made = rcgen::generate_simple_self_signed(names).map_err(problem)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        Self::new(vec![made.cert.der().clone()], key, is_newest_only, "self-signed")
    }

    /// With the chain and the key out of these PEM files, which may be the same one.
    ///
    /// Errors: of `cert` or `key`
    pub fn from_files(cert: &str, key: &str, is_newest_only: bool) -> Result<Self, BadOption> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(Path::new(cert))
            .and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| BadOption::of("cert", format!("{cert}: {error}")))?;
        if chain.is_empty() {
            return Err(BadOption::of("cert", format!("{cert}: it holds no certificate")));
        }
        let private = PrivateKeyDer::from_pem_file(Path::new(key))
            .map_err(|error| BadOption::of("key", format!("{key}: {error}")))?;
        Self::new(chain, private, is_newest_only, cert)
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        is_newest_only: bool,
        source: &str,
    ) -> Result<Self, BadOption> {
        let both: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
        let versions = if is_newest_only { &both[..1] } else { both };
        let certificate = chain[0].clone();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| BadOption::of("cert", format!("{source}: {error}")))?;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let effective = Effective {
            min_tls: if is_newest_only { "1.3" } else { "1.2" },
            certificate: source.to_owned(),
        };
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), effective, certificate })
    }

    /// What is in force.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The server's own certificate in DER, for clients that are to trust it.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}

/// The name of a version, as standards write it.
pub(crate) fn version_name(version: Option<ProtocolVersion>) -> &'static str {
    match version {
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
        Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serving::options::Options;

    fn read(options: &Options) -> (Option<Effective>, usize) {
        let settings = Settings::new(&options.settings);
        let tls = Tls::read(&settings, "mail.example");
        settings.text("smtps", "");
        let problems = settings.check().map_or_else(|bad| bad.problems.len(), |()| 0);
        (tls.map(|tls| tls.effective().clone()), problems)
    }

    #[test]
    fn without_files_the_certificate_is_our_own() {
        assert_eq!(read(&Options::default()), (None, 0));
        let certificate = "self-signed".to_owned();
        let expect = Effective { min_tls: "1.2", certificate: certificate.clone() };
        assert_eq!(read(&Options::default().with("tls", "starttls")), (Some(expect), 0));
        let newest = Options::default().with("smtps", "127.0.0.1:0").with("min_tls", "1.3");
        assert_eq!(read(&newest), (Some(Effective { min_tls: "1.3", certificate }), 0));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        assert_eq!(read(&Options::default().with("cert", "x").with("key", "y")), (None, 2));
        let tls = || Options::default().with("tls", "starttls");
        assert_eq!(read(&tls().with("cert", "/nonexistent")), (None, 1));
        assert_eq!(read(&tls().with("key", "/nonexistent")), (None, 1));
    }

    #[test]
    fn a_certificate_and_its_key_come_out_of_files() {
        let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
        let path = std::env::temp_dir().join(format!("mail-tls-{}.pem", std::process::id()));
        std::fs::write(&path, made.cert.pem() + &made.signing_key.serialize_pem()).unwrap();
        let path = path.to_str().unwrap();
        let tls = Tls::from_files(path, path, false).unwrap();
        assert_eq!(tls.certificate(), made.cert.der().as_ref());
        std::fs::write(path, made.signing_key.serialize_pem()).unwrap();
        assert_eq!(Tls::from_files(path, path, false).unwrap_err().key, "cert");
        std::fs::write(path, made.cert.pem()).unwrap();
        assert_eq!(Tls::from_files(path, path, false).unwrap_err().key, "key");
        std::fs::remove_file(path).unwrap();
    }
}
