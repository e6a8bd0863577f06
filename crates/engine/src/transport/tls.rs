//! TLS with rustls: authorities, client certificates, and no check at all on request.
//!
//! Each configuration names the crypto provider; none is installed for the process. Sessions are never resumed: each
//! connection performs the whole handshake, so its cost does not depend on earlier connections.

use std::path::Path;
use std::sync::Arc;

use plan::target::Target;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme, crypto,
};
use url::Host;

use super::cacert::CacertVerifier;
use super::error::TransportError;
use crate::file;

/// Bytes of the largest file of certificates or of a key; all authorities of a system together take less than one MiB.
const LARGEST: u64 = 16 << 20;

/// TLS towards an endpoint.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Roots, client certificate, versions.
    pub config: Arc<ClientConfig>,
    /// The name that the certificate must have.
    pub server_name: ServerName<'static>,
}

impl Tls {
    /// The configuration that a target asks for.
    ///
    /// Errors: an unreadable certificate or key, a host that no certificate can have
    pub(super) fn new(target: &Target, host: &Host) -> Result<Self, TransportError> {
        let server_name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone())
                .map_err(|error| TransportError::Tls(format!("{name}: {error}")))?,
            Host::Ipv4(ip) => ServerName::from(std::net::IpAddr::from(*ip)),
            Host::Ipv6(ip) => ServerName::from(std::net::IpAddr::from(*ip)),
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| TransportError::Tls(error.to_string()))?;
        let builder = if target.insecure {
            let verifier = Arc::new(AcceptAll { provider });
            builder.dangerous().with_custom_certificate_verifier(verifier)
        } else if let Some(cacert) = &target.cacert {
            let verifier = Arc::new(cacert_verifier(cacert, provider)?);
            builder.dangerous().with_custom_certificate_verifier(verifier)
        } else {
            builder.with_root_certificates(system_roots())
        };
        let mut config = identify(builder, target)?;
        config.resumption = Resumption::disabled();
        config.alpn_protocols = target.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Self { config: Arc::new(config), server_name })
    }
}

/// The system's authorities.
///
/// A system without any is no error here: the handshake then fails with a clear error.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// The system's authorities, the given certificates as authorities, and the given certificates as server certificates.
fn cacert_verifier(
    cacert: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<CacertVerifier, TransportError> {
    let refuse = |error: &dyn std::error::Error| unusable("cacert", cacert, &error.to_string());
    let given = read_certificates("cacert", cacert)?;
    let mut roots = system_roots();
    for certificate in &given {
        roots.add(certificate.clone()).map_err(|error| refuse(&error))?;
    }
    let chains = WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map_err(|error| refuse(&error))?;
    Ok(CacertVerifier { chains, given })
}

fn identify(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    target: &Target,
) -> Result<ClientConfig, TransportError> {
    let (cert, key) = match (&target.cert, &target.key) {
        (None, None) => return Ok(builder.with_no_client_auth()),
        (Some(cert), Some(key)) => (cert, key),
        // One file may contain both, as many tools write it.
        (Some(both), None) => (both, both),
        (None, Some(_)) => {
            return Err(TransportError::Tls("`key` needs `cert`".to_owned()));
        }
    };
    let chain = read_certificates("cert", cert)?;
    let private = PrivateKeyDer::from_pem_slice(&content("key", key)?)
        .map_err(|error| unusable("key", key, &error.to_string()))?;
    builder
        .with_client_auth_cert(chain, private)
        .map_err(|error| unusable("cert", cert, &error.to_string()))
}

fn read_certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    match CertificateDer::pem_slice_iter(&content(what, path)?).collect::<Result<Vec<_>, _>>() {
        Ok(found) if found.is_empty() => Err(unusable(what, path, "it holds no certificate")),
        Ok(found) => Ok(found),
        Err(error) => Err(unusable(what, path, &error.to_string())),
    }
}

fn content(what: &'static str, path: &Path) -> Result<Vec<u8>, TransportError> {
    file::read(path, LARGEST).map_err(|error| unusable(what, path, &error.to_string()))
}

fn unusable(what: &'static str, path: &Path, reason: &str) -> TransportError {
    TransportError::Certificate {
        what,
        path: path.display().to_string(),
        reason: reason.to_owned(),
    }
}

/// Accepts any certificate, for `insecure`. It still checks the handshake's signatures, because otherwise nothing
/// would prove that the peer has the key of its certificate.
#[derive(Debug)]
struct AcceptAll {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
