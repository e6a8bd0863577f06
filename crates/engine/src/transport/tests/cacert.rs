//! A server's own certificate as `cacert`: a self-signed certificate is trusted for its name and while it is valid.

use rcgen::{SerialNumber, date_time_ymd};

use super::*;

/// A certificate and its key, in PEM.
struct Own {
    certificate: String,
    key: String,
}

impl Own {
    /// A self-signed certificate for `localhost`, with one change.
    fn signed(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, key: key.serialize_pem() }
    }

    /// A certificate that OpenSSL made.
    fn by_openssl() -> Self {
        Self {
            certificate: include_str!("samples/self-signed.pem").to_owned(),
            key: include_str!("samples/self-signed.key").to_owned(),
        }
    }

    fn server(&self) -> TlsAcceptor {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        let chain = vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Arc::new(config).into()
    }

    /// The result of a connection whose client has these certificates.
    fn met_with(&self, given: &str, change: impl FnOnce(&mut Target)) -> Result<(), String> {
        let folder = Folder::new();
        let cacert = folder.write("given.pem", given);
        let outcome = converse(&self.server(), |target| {
            target.cacert = Some(cacert);
            change(target);
        });
        outcome.map(drop).map_err(|(kind, detail)| {
            assert_eq!(kind, FailureKind::Tls);
            detail
        })
    }
}

fn authority(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
}

fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2020, 12, 31);
}

#[test]
fn a_certificate_that_signed_itself_is_trusted_where_it_was_given() {
    for own in [Own::by_openssl(), Own::signed(authority), Own::signed(|_| {})] {
        assert_eq!(own.met_with(&own.certificate, |_| {}), Ok(()));
        let among = format!("{}{}", Authority::new().issuer.pem(), own.certificate);
        assert_eq!(own.met_with(&among, |_| {}), Ok(()), "among others");
    }
}

#[test]
fn a_server_whose_certificate_was_given_is_trusted_whoever_signed_it() {
    let (certificate, key) = Authority::new().certify("localhost");
    let own = Own { certificate: certificate.pem(), key: key.serialize_pem() };
    assert_eq!(own.met_with(&own.certificate, |_| {}), Ok(()));
}

#[test]
fn one_that_was_not_given_is_refused() {
    for (own, other) in [
        (Own::by_openssl(), Own::signed(authority)),
        (Own::signed(authority), Own::by_openssl()),
        (Own::signed(|_| {}), Own::signed(|_| {})),
    ] {
        assert!(own.met_with(&other.certificate, |_| {}).is_err());
    }
    // The same key, but another certificate.
    let key = KeyPair::generate().unwrap();
    let with = |serial: u64| {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        authority(&mut params);
        params.serial_number = Some(SerialNumber::from(serial));
        params.self_signed(&key).unwrap().pem()
    };
    let own = Own { certificate: with(1), key: key.serialize_pem() };
    assert_eq!(own.met_with(&own.certificate, |_| {}), Ok(()));
    assert!(own.met_with(&with(2), |_| {}).is_err());
}

#[test]
fn its_name_and_its_dates_are_checked_all_the_same() {
    for own in [Own::by_openssl(), Own::signed(authority), Own::signed(|_| {})] {
        let elsewhere = |target: &mut Target| target.url = "https://elsewhere.invalid/".into();
        assert!(own.met_with(&own.certificate, elsewhere).is_err());
    }
    let both = |params: &mut CertificateParams| {
        authority(params);
        expired(params);
    };
    for own in [Own::signed(expired), Own::signed(both)] {
        let detail = own.met_with(&own.certificate, |_| {}).unwrap_err();
        assert!(detail.contains("expired"), "{detail}");
    }
}
