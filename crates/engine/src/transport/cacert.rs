//! Verifies servers against the certificates of `cacert`: as authorities, and as server certificates themselves.
//!
//! A self-signed certificate is often marked as an authority; rustls refuses such a certificate for a server.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Verifies chains up to the roots, and also trusts the given certificates themselves.
#[derive(Debug)]
pub(super) struct CacertVerifier {
    pub(super) chains: Arc<WebPkiServerVerifier>,
    pub(super) given: Vec<CertificateDer<'static>>,
}

impl CacertVerifier {
    /// Whether this is a given certificate with this name that was refused only because of its issuer.
    ///
    /// rustls checks dates before the issuer, so an expired certificate has another error.
    fn trusts(&self, shown: &CertificateDer<'_>, name: &ServerName<'_>, refused: &Error) -> bool {
        let issuer = matches!(
            refused,
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer
                    // The signing authority has the same name as another one.
                    | CertificateError::BadSignature
                    // The certificate is marked as an authority.
                    | CertificateError::Other(_)
            )
        );
        let named = ParsedCertificate::try_from(shown)
            .is_ok_and(|parsed| verify_server_name(&parsed, name).is_ok());
        issuer && named && self.given.iter().any(|given| given == shown)
    }
}

impl ServerCertVerifier for CacertVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chains = &self.chains;
        match chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            Err(refused) if self.trusts(end_entity, server_name, &refused) => {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}
