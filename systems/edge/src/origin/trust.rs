//! Whom an origin that is fetched over TLS must be known by.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The system's authorities and those of a file.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    beside: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// The system's authorities, and those of this file in PEM.
    ///
    /// Errors: the file cannot be read, or has none
    pub fn beside(file: &Path) -> Result<Self, String> {
        let beside =
            CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let beside = beside.map_err(|error| format!("{}: {error}", file.display()))?;
        match beside.is_empty() {
            true => Err(format!("{}: it holds no certificate", file.display())),
            false => Ok(Self { beside }),
        }
    }

    /// TLS on a connection to a host.
    ///
    /// Errors: why not
    pub(super) async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, String> {
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        let mut roots = RootCertStore::empty();
        // A system without any is no error here: the handshake then fails and says so.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.beside.iter().cloned());
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await.map_err(|error| error.to_string())
    }
}
