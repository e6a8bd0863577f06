//! Who a server is over TLS: a chain of certificates and the key to it, out of PEM files.
//!
//! Not here: what else is agreed on in a handshake; each system says that itself.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};

use crate::error::BadOption;
use crate::settings::Settings;

/// A chain and its key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    source: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Identity {
    /// This chain, the server's own certificate first, and its key; `source` is what it is called.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        source: &str,
    ) -> Self {
        Self { chain, key, source: source.to_owned() }
    }

    /// Reads the files of the settings `cert` and `key`; without `key`, the key is in the file of
    /// `cert`. `None` without either.
    ///
    /// Errors: of `cert` or `key`
    pub fn read(settings: &Settings<'_>) -> Result<Option<Self>, BadOption> {
        let (cert, key) = (settings.text("cert", ""), settings.text("key", ""));
        match (cert.is_empty(), key.is_empty()) {
            (true, true) => Ok(None),
            (true, false) => Err(BadOption::of("key", "without `cert` it proves nothing")),
            (false, true) => Self::from_files(&cert, &cert).map(Some),
            (false, false) => Self::from_files(&cert, &key).map(Some),
        }
    }

    /// The chain and the key out of these PEM files, which may be the same one.
    ///
    /// Errors: of `cert` or `key`
    pub fn from_files(cert: &str, key: &str) -> Result<Self, BadOption> {
        let chain = CertificateDer::pem_file_iter(Path::new(cert))
            .and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| BadOption::of("cert", format!("{cert}: {error}")))?;
        if chain.is_empty() {
            return Err(BadOption::of("cert", format!("{cert}: it holds no certificate")));
        }
        let private = PrivateKeyDer::from_pem_file(Path::new(key))
            .map_err(|error| BadOption::of("key", format!("{key}: {error}")))?;
        Ok(Self::new(chain, private, cert))
    }

    /// What it is called: the file of the chain, unless it was made otherwise.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The server's own certificate in DER, for clients that are to trust it.
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.chain[0].clone()
    }

    /// A server that is this one, asks no client who it is, and speaks these versions.
    ///
    /// Errors: of `cert`; the chain and the key do not go together
    pub fn config(
        self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Result<ServerConfig, BadOption> {
        let Self { chain, key, source } = self;
        ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(versions)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| BadOption::of("cert", format!("{source}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::options::Options;

    /// A folder that is gone with the test, with a certificate, its key, both in one file, and the key of another.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(format!("serving-tls-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let made = || rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
            let (one, other) = (made(), made());
            let key = one.signing_key.serialize_pem();
            for (name, text) in [
                ("cert", one.cert.pem()),
                ("key", key.clone()),
                ("both", one.cert.pem() + &key),
                ("other", other.signing_key.serialize_pem()),
                ("empty", String::new()),
            ] {
                std::fs::write(folder.join(name), text).unwrap();
            }
            Self(folder)
        }

        /// The result for these file names: whether there is TLS, or the setting with the problem.
        fn read(&self, given: &[(&str, &str)]) -> Result<bool, String> {
            let mut options = Options::default();
            for (key, name) in given {
                options = options.with(key, self.0.join(name).display().to_string());
            }
            let settings = Settings::new(&options.settings);
            let identity = Identity::read(&settings);
            let config = identity.and_then(|identity| {
                identity.map(|identity| identity.config(rustls::ALL_VERSIONS)).transpose()
            });
            match config {
                Ok(config) => Ok(config.is_some()),
                Err(problem) => {
                    let is_named = given.is_empty() || problem.what.contains(given[0].1);
                    assert!(is_named || problem.what.starts_with("without"), "{problem}");
                    Err(problem.key)
                }
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_chain_and_its_key_come_out_of_two_files_or_of_one() {
        let folder = Folder::new();
        assert_eq!(folder.read(&[]), Ok(false));
        assert_eq!(folder.read(&[("cert", "both")]), Ok(true));
        assert_eq!(folder.read(&[("cert", "cert"), ("key", "key")]), Ok(true));
        let problem = |given: &[(&str, &str)]| folder.read(given).unwrap_err();
        assert_eq!(problem(&[("key", "key")]), "key");
        assert_eq!(problem(&[("cert", "cert")]), "key");
        assert_eq!(problem(&[("cert", "key")]), "cert");
        assert_eq!(problem(&[("cert", "empty")]), "cert");
        assert_eq!(problem(&[("cert", "nothing")]), "cert");
        assert_eq!(problem(&[("cert", "cert"), ("key", "other")]), "cert");
    }
}
