//! Real sockets on loopback: TCP, Unix, TLS with certificates made here, and failures.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use plan::target::Target;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::*;

mod cacert;

const WITHIN: Duration = Duration::from_secs(30);

/// Each reading is one later than the one before, so that time stamps are exact.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<AtomicU64>);

impl Clock for Counting {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    async fn sleep_until(&self, _at: u64) {}
}

/// A folder of the test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("transport-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(future)
}

fn target(url: String) -> Target {
    Target { url, ..Target::default() }
}

fn open(target: &Target) -> Result<(Stream, Exchange<Counting>), (FailureKind, String)> {
    let endpoint = Endpoint::resolve(target).unwrap();
    let mut exchange = Exchange::new(Counting::default());
    block_on(Kernel.open(&endpoint, &mut exchange)).map(|stream| (stream, exchange))
}

const CONNECT: usize = Exchange::<Counting>::CONNECT;
const TLS: usize = Exchange::<Counting>::TLS;

#[test]
fn tcp_is_opened_without_delay_and_stamped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stream, exchange) = open(&target(format!("http://{address}/"))).unwrap();
    let Stream::Tcp(socket) = &stream else { panic!("{stream:?}") };
    assert!(socket.nodelay().unwrap());
    assert_eq!(exchange.spans.get(CONNECT), Some(1));
    assert_eq!(exchange.spans.get(TLS), None);
}

#[test]
fn the_next_address_is_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open_address = listener.local_addr().unwrap();
    let (stream, _) = block_on(async {
        let endpoint = Endpoint {
            authority: "x".into(),
            address: Address::Tcp(vec![closed_address(), open_address]),
            tls: None,
            upgrade: None,
            is_web: true,
        };
        let mut exchange = Exchange::new(Counting::default());
        Kernel.open(&endpoint, &mut exchange).await.map(|stream| (stream, exchange)).unwrap()
    });
    let Stream::Tcp(socket) = &stream else { panic!("{stream:?}") };
    assert_eq!(socket.peer_addr().unwrap(), open_address);
}

#[test]
fn addresses_take_turns_within_their_family() {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second, third] = listeners.each_ref().map(|one| one.local_addr().unwrap());
    let other_family = "[::1]:1".parse().unwrap();
    let endpoint = Endpoint {
        authority: "x".into(),
        address: Address::Tcp(vec![first, closed_address(), second, third, other_family]),
        tls: None,
        upgrade: None,
        is_web: true,
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build_local(Default::default());
    let peers = runtime.unwrap().block_on(async {
        let mut exchange = Exchange::new(crate::clock::Real::start().unwrap());
        let mut peers = Vec::new();
        for turn in [0, 1, 2, 3, 4, usize::MAX] {
            exchange.turn = turn;
            let Stream::Tcp(socket) = Kernel.open(&endpoint, &mut exchange).await.unwrap() else {
                panic!("not TCP")
            };
            peers.push((socket.peer_addr().unwrap(), exchange.address));
        }
        peers
    });
    // The second refuses, so the third is used in its turn; the greatest number leaves 3 of 4.
    let expected = [(first, 0), (second, 2), (second, 2), (third, 3), (first, 0), (third, 3)];
    assert_eq!(peers, expected);
}

#[test]
fn an_address_that_stays_silent_is_passed_over() {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    // Its queue holds one connection, and nobody takes it out.
    let full = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&full, &std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    listen(&full, 0).unwrap();
    let silent: std::net::SocketAddr = getsockname(&full).unwrap().try_into().unwrap();
    let _queued = std::net::TcpStream::connect(silent).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open_address = listener.local_addr().unwrap();
    let endpoint = Endpoint {
        authority: "x".into(),
        address: Address::Tcp(vec![silent, open_address]),
        tls: None,
        upgrade: None,
        is_web: true,
    };
    // This clock never lets anybody wait.
    let mut exchange = Exchange::new(Counting::default());
    let stream = block_on(Kernel.open(&endpoint, &mut exchange)).unwrap();
    let Stream::Tcp(socket) = &stream else { panic!("{stream:?}") };
    assert_eq!((socket.peer_addr().unwrap(), exchange.address), (open_address, 1));
}

/// An address without a listener: bound, so that no other process takes it, but not listening.
fn closed_address() -> std::net::SocketAddr {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
    let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&held, &std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = getsockname(&held).unwrap().try_into().unwrap();
    std::mem::forget(held);
    address
}

#[test]
fn nobody_there_is_refused_before_and_during_a_run() {
    let nowhere = target(format!("http://{}/", closed_address()));
    let (kind, detail) = open(&nowhere).unwrap_err();
    assert_eq!(kind, FailureKind::Refused);
    assert!(detail.starts_with("connecting to 127.0.0.1:"), "{detail}");
    let endpoint = Endpoint::resolve(&nowhere).unwrap();
    let (kind, detail) = check_reachable(&endpoint, WITHIN).unwrap_err();
    assert_eq!(kind, FailureKind::Refused);
    assert!(detail.contains("connection refused"), "{detail}");
}

#[test]
fn somebody_there_is_met_without_a_word() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = target(format!("http://{}/", listener.local_addr().unwrap()));
    check_reachable(&Endpoint::resolve(&there).unwrap(), WITHIN).unwrap();
    let (mut met, _) = listener.accept().unwrap();
    assert_eq!(std::io::Read::read(&mut met, &mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_unix_socket_carries_bytes_both_ways() {
    let folder = Folder::new();
    let path = folder.0.join("socket");
    let unix = Target { unix_socket: Some(path.clone()), ..target("http://localhost/".into()) };
    let endpoint = Endpoint::resolve(&unix).unwrap();
    assert_eq!(check_reachable(&endpoint, WITHIN).unwrap_err().0, FailureKind::Refused);
    assert_eq!(open(&unix).unwrap_err().0, FailureKind::Refused);
    block_on(async {
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let mut exchange = Exchange::new(Counting::default());
        let mut stream = Kernel.open(&endpoint, &mut exchange).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        peer.read_exact(&mut [0; 4]).await.unwrap();
        peer.write_all(b"pong").await.unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"pong");
        check_reachable(&endpoint, WITHIN).unwrap();
    });
}

/// A certificate authority, and a server certificate for `localhost` that it signs.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { issuer: CertifiedIssuer::self_signed(params, key).unwrap() }
    }

    /// Certificate and key for this name.
    fn certify(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    fn server(&self, wants_client: bool) -> TlsAcceptor {
        let (certificate, key) = self.certify("localhost");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if wants_client {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let chain = vec![certificate.der().clone()];
        Arc::new(builder.with_single_cert(chain, key).unwrap()).into()
    }
}

/// Connects to a TLS server, and exchanges one byte.
fn converse(
    acceptor: &TlsAcceptor,
    change: impl FnOnce(&mut Target),
) -> Result<Exchange<Counting>, (FailureKind, String)> {
    block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut target = Target {
            connect_to: Some(format!("127.0.0.1:{port}")),
            ..target(format!("https://localhost:{port}"))
        };
        change(&mut target);
        let endpoint = Endpoint::resolve(&target).unwrap();
        let serve = async {
            let (socket, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(socket).await else { return };
            let byte = stream.read_u8().await.unwrap();
            stream.write_u8(byte + 1).await.unwrap();
        };
        let mut exchange = Exchange::new(Counting::default());
        let ask = async {
            let mut stream = Kernel.open(&endpoint, &mut exchange).await?;
            let broken = |error: std::io::Error| (failure_kind(&error), error.to_string());
            stream.write_u8(41).await.map_err(broken)?;
            stream.flush().await.map_err(broken)?;
            assert_eq!(stream.read_u8().await.map_err(broken)?, 42);
            Ok(())
        };
        let ((), asked) = tokio::join!(serve, ask);
        asked.map(|()| exchange)
    })
}

#[test]
fn a_given_authority_is_trusted_and_the_handshake_stamped() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let cacert = folder.write("ca.pem", &authority.issuer.pem());
    let exchange = converse(&authority.server(false), |target| target.cacert = Some(cacert));
    let exchange = exchange.unwrap();
    assert_eq!(exchange.spans.get(CONNECT), Some(1));
    assert_eq!(exchange.spans.get(TLS), Some(1));
}

#[test]
fn an_unknown_authority_is_a_tls_failure() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let other = folder.write("other.pem", &Authority::new().issuer.pem());
    let (kind, detail) =
        converse(&authority.server(false), |target| target.cacert = Some(other)).unwrap_err();
    assert_eq!(kind, FailureKind::Tls);
    assert!(detail.contains("TLS handshake with 127.0.0.1:"), "{detail}");
    let (kind, _) = converse(&authority.server(false), |_| {}).unwrap_err();
    assert_eq!(kind, FailureKind::Tls);
}

#[test]
fn another_name_is_a_tls_failure() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let cacert = folder.write("ca.pem", &authority.issuer.pem());
    let outcome = converse(&authority.server(false), |target| {
        target.cacert = Some(cacert);
        target.url = "https://elsewhere.invalid/".into();
    });
    assert_eq!(outcome.unwrap_err().0, FailureKind::Tls);
}

#[test]
fn insecure_accepts_any_certificate() {
    let authority = Authority::new();
    converse(&authority.server(false), |target| target.insecure = true).unwrap();
}

#[test]
fn a_server_that_wants_a_client_certificate_gets_it() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let cacert = folder.write("ca.pem", &authority.issuer.pem());
    let (certificate, key) = authority.certify("client");
    let cert = folder.write("client.pem", &certificate.pem());
    let key = folder.write("client.key", &key.serialize_pem());
    let server = authority.server(true);
    converse(&server, |target| {
        (target.cacert, target.cert, target.key) = (Some(cacert.clone()), Some(cert), Some(key));
    })
    .unwrap();
    // The server's alert and its close race each other.
    let (kind, _) = converse(&server, |target| target.cacert = Some(cacert)).unwrap_err();
    assert!(matches!(kind, FailureKind::Tls | FailureKind::Reset), "{kind:?}");
}

#[test]
fn a_server_that_speaks_no_tls_is_a_tls_failure() {
    let kind = block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let endpoint = Endpoint::resolve(&target(url)).unwrap();
        let serve = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            let _ = socket.read(&mut [0; 4096]).await;
        };
        let mut exchange = Exchange::new(Counting::default());
        let ((), opened) = tokio::join!(serve, Kernel.open(&endpoint, &mut exchange));
        opened.unwrap_err().0
    });
    assert_eq!(kind, FailureKind::Tls);
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    let empty = folder.write("empty.pem", "nothing\n");
    let missing = folder.0.join("missing.pem");
    let with = |change: fn(&mut Target, PathBuf), path: &PathBuf| {
        let mut target = target("https://127.0.0.1/".into());
        change(&mut target, path.clone());
        Endpoint::resolve(&target).unwrap_err()
    };
    for (error, file) in [
        (with(|target, path| target.cacert = Some(path), &empty), "cacert"),
        (with(|target, path| target.cacert = Some(path), &missing), "cacert"),
        (with(|target, path| target.cert = Some(path), &empty), "cert"),
    ] {
        assert!(matches!(&error, TransportError::Certificate { what, .. } if *what == file));
        assert!(error.hint().is_some());
    }
    let lone_key = with(|target, path| target.key = Some(path), &empty);
    assert!(matches!(lone_key, TransportError::Tls(_)));
}

#[test]
fn an_address_of_the_virtual_network_is_not_for_the_kernel() {
    let endpoint = Endpoint {
        authority: "x".into(),
        address: Address::Memory("x".into()),
        tls: None,
        upgrade: None,
        is_web: true,
    };
    let mut exchange = Exchange::new(Counting::default());
    let (kind, _) = block_on(Kernel.open(&endpoint, &mut exchange)).unwrap_err();
    assert_eq!(kind, FailureKind::Unreachable);
}
