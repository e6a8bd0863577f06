//! A server certificate for `localhost` that signed itself, as OpenSSL makes one by default: it is also one of an
//! authority.

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// The certificate in a file, which goes away with this, and a server that shows it.
pub struct SelfSigned {
    pub file: PathBuf,
    pub acceptor: TlsAcceptor,
}

impl SelfSigned {
    /// Of a server that offers to speak these. `name` tells files of one test binary apart.
    pub fn new(name: &str, offers: &[&str]) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let made = params.self_signed(&key).expect("a certificate");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.der().clone()], key)
            .expect("a configuration");
        config.alpn_protocols = offers.iter().map(|offer| offer.as_bytes().to_vec()).collect();
        let file = std::env::temp_dir().join(format!("{name}-{}.pem", std::process::id()));
        std::fs::write(&file, made.pem()).expect("a file");
        Self { file, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}

impl Drop for SelfSigned {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}
