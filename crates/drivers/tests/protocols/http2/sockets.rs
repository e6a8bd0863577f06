//! Real sockets: TLS that must agree on HTTP/2, and HTTP/2 taken for granted over TCP and a Unix socket.

use std::sync::Arc;

use drivers::http2::driver::Http2;
use engine::clock::Real;
use engine::driver::{Driver, Exchange};
use engine::transport::{Endpoint, Kernel, Network};
use http::Response;
use plan::target::Target;
use record::{FailureKind, Outcome};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::spawn_local;
use tokio_rustls::TlsAcceptor;

use crate::http2::stand::{call, operation};
use crate::self_signed::SelfSigned;

/// A certificate that nobody has reason to trust, and what the server offers to speak.
fn acceptor(offers: &[&str]) -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a configuration");
    config.alpn_protocols = offers.iter().map(|offer| offer.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Answers one connection's requests.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut connection = h2::server::handshake(stream).await.expect("a client of HTTP/2");
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        respond.send_response(Response::new(()), true).expect("the client listens");
    }
}

type Seen = Result<(Outcome, Exchange<Real>), (FailureKind, String)>;

/// One operation to this target, with real time.
async fn attempt(target: &Target) -> Seen {
    let operation = operation("http2 = {}");
    let endpoint = Endpoint::resolve(target).expect("an address");
    let mut exchange = Exchange::new(Real::start().expect("a clock"));
    exchange.clear(0);
    let stream = Kernel.open(&endpoint, &mut exchange).await?;
    let mut connected = Http2.connect(&operation, &endpoint, stream, &mut exchange).await?;
    spawn_local(connected.background.take().expect("a task that moves frames"));
    let mut line = Http2.open_stream(&mut connected.connection).expect("a stream");
    Http2.encode(&operation, &mut line, &call(0));
    exchange.started_at = exchange.now();
    let outcome = Http2.perform(&operation, &mut line, &mut exchange).await;
    Ok((outcome, exchange))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    runtime.expect("a runtime").block_on(future)
}

fn over_tls(offers: &[&str]) -> Seen {
    over_tls_by(acceptor(offers), Target { insecure: true, ..Target::default() })
}

/// One operation to a server that shows a certificate; `trust` says what of that is trusted.
fn over_tls_by(acceptor: TlsAcceptor, trust: Target) -> Seen {
    run(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("https://localhost:{}", listener.local_addr().expect("bound").port());
        spawn_local(async move {
            let (socket, _) = listener.accept().await.expect("a client");
            if let Ok(stream) = acceptor.accept(socket).await {
                serve(stream).await;
            }
        });
        let connect_to = Some("127.0.0.1".to_owned());
        let target = Target { url, connect_to, alpn: Some("h2"), ..trust };
        attempt(&target).await
    })
}

#[test]
fn tls_agrees_on_it_or_the_connection_is_not_used() {
    let (outcome, exchange) = over_tls(&["h2", "http/1.1"]).expect("a connection");
    assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
    assert!(exchange.spans.get(1).is_some_and(|tls| tls > 0), "the handshake was stamped");
    let (kind, detail) = over_tls(&[]).expect_err("the server agrees on nothing");
    assert_eq!(kind, FailureKind::Tls);
    assert!(detail.ends_with("did not agree to speak HTTP/2 (ALPN h2) over TLS"), "{detail}");
    let (kind, detail) = over_tls(&["http/1.1"]).expect_err("the server offers something else");
    assert_eq!(kind, FailureKind::Tls);
    assert!(detail.contains("NoApplicationProtocol"), "{detail}");
}

#[test]
fn a_certificate_that_signed_itself_is_trusted_where_it_was_given() {
    let own = SelfSigned::new("http2-self-signed", &["h2"]);
    let given = Target { cacert: Some(own.file.clone()), ..Target::default() };
    let (outcome, _) = over_tls_by(own.acceptor.clone(), given).expect("a connection");
    assert_eq!(outcome, Outcome::Succeeded);
    let (kind, _) = over_tls_by(own.acceptor.clone(), Target::default()).expect_err("no trust");
    assert_eq!(kind, FailureKind::Tls);
}

#[test]
fn it_is_taken_for_granted_over_tcp_and_over_a_unix_socket() {
    let (outcome, _) = run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        spawn_local(async move { serve(listener.accept().await.expect("a client").0).await });
        attempt(&Target { url, ..Target::default() }).await.expect("a connection")
    });
    assert_eq!(outcome, Outcome::Succeeded);
    let folder = std::env::temp_dir().join(format!("http2-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("socket");
    let (outcome, _) = run(async {
        let listener = UnixListener::bind(&path).expect("a socket");
        spawn_local(async move { serve(listener.accept().await.expect("a client").0).await });
        let (url, unix_socket) = ("http://localhost".to_owned(), Some(path.clone()));
        attempt(&Target { url, unix_socket, ..Target::default() }).await.expect("a connection")
    });
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    assert_eq!(outcome, Outcome::Succeeded);
}
