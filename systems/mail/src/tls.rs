//! TLS as a server: a certificate from files, or a self-signed one made at the start.
//!
//! Renegotiation, a feature of TLS 1.2, does not exist here: `rustls` has none. Tickets and early data are off, so
//! every handshake is a complete one.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ProtocolVersion, SupportedProtocolVersion, version};
use serde::Serialize;
use serving::error::BadOption;
use serving::settings::Settings;
use serving::tls::Identity;
use tokio_rustls::TlsAcceptor;

/// Approximate bytes that a connection's TLS holds: two records and the keys.
pub const BYTES: u64 = 48 << 10;

/// The server's side of TLS.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    effective: Effective,
    certificate: CertificateDer<'static>,
}

/// The effective settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// The lowest accepted version.
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
    /// Reads `cert`, `key` and `min_tls` if the settings `tls` or `smtps` need TLS; reports problems as problems of
    /// the settings.
    pub fn read(settings: &Settings<'_>, hostname: &str) -> Option<Self> {
        let is_wanted = settings.text("tls", "none") != "none" || settings.has("smtps");
        let names = ["cert", "key", "min_tls"];
        if !is_wanted {
            for name in names.into_iter().filter(|name| settings.value(name).is_some()) {
                settings.wrong(name, "has no effect without `tls`");
            }
            return None;
        }
        let identity = Identity::read(settings);
        let min = settings.choice("min_tls", &["1.2", "1.3"], 0);
        let made = identity.and_then(|identity| match identity {
            None => Self::self_signed(hostname, min == 1),
            Some(identity) => Self::new(identity, min == 1),
        });
        made.map_err(|problem| settings.refuse(problem)).ok()
    }

    /// With a self-signed certificate for this name and for the local host.
    ///
    /// Errors: a problem of `hostname`, if it is not a valid name
    pub fn self_signed(hostname: &str, is_newest_only: bool) -> Result<Self, BadOption> {
        let names = [hostname, "localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let problem = |error: rcgen::Error| {
            BadOption::of("hostname", format!("cannot make a certificate for it: {error}"))
        };
        let made = rcgen::generate_simple_self_signed(names).map_err(problem)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let identity = Identity::new(vec![made.cert.der().clone()], key, "self-signed");
        Self::new(identity, is_newest_only)
    }

    /// With chain and key from these PEM files, which may be the same file.
    ///
    /// Errors: a problem of `cert` or `key`
    pub fn from_files(cert: &str, key: &str, is_newest_only: bool) -> Result<Self, BadOption> {
        Self::new(Identity::from_files(cert, key)?, is_newest_only)
    }

    fn new(identity: Identity, is_newest_only: bool) -> Result<Self, BadOption> {
        let both: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
        let certificate = identity.certificate();
        let effective = Effective {
            min_tls: if is_newest_only { "1.3" } else { "1.2" },
            certificate: identity.source().to_owned(),
        };
        let mut config = identity.config(if is_newest_only { &both[..1] } else { both })?;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), effective, certificate })
    }

    /// The effective settings.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// The server's certificate in DER, for clients that should trust it.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}

/// The standard name of a version.
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
