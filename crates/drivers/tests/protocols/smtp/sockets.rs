//! Real sockets: TLS from the first byte and after `STARTTLS`, certificates that are not trusted, what is injected.

use std::sync::Arc;

use drivers::smtp::driver::Smtp;
use drivers::smtp::span::NAMES;
use engine::clock::Real;
use engine::driver::{Driver, Exchange};
use engine::transport::{Endpoint, Kernel, Network};
use plan::target::Target;
use record::{FailureKind, Outcome};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::self_signed::SelfSigned;
use crate::smtp::stand::{call, operation};

/// A certificate that nobody has reason to trust.
fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a configuration");
    TlsAcceptor::from(Arc::new(config))
}

async fn line(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        match stream.read_u8().await {
            Ok(byte) => line.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(line).expect("a command is text")
}

async fn tell(stream: &mut (impl AsyncWrite + Unpin), text: &str) {
    stream.write_all(text.as_bytes()).await.expect("the client reads");
}

/// From `EHLO` to `QUIT`; gives the bytes of the content.
async fn session(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> usize {
    assert_eq!(line(stream).await, "EHLO client.example\r\n");
    tell(stream, "250-mail.example\r\n250 STARTTLS\r\n").await;
    for _ in 0..2 {
        assert!(!line(stream).await.is_empty());
        tell(stream, "250 ok\r\n").await;
    }
    assert_eq!(line(stream).await, "DATA\r\n");
    tell(stream, "354 go on\r\n").await;
    let mut length = 0;
    loop {
        match line(stream).await.as_str() {
            ".\r\n" => break,
            text => length += text.len() - usize::from(text.starts_with('.')),
        }
    }
    tell(stream, "250 kept\r\n").await;
    assert_eq!(line(stream).await, "QUIT\r\n");
    tell(stream, "221 bye\r\n").await;
    length
}

/// How the server comes to TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    FromTheStart,
    Later,
    /// With a line that somebody put between the leave and the handshake.
    Injected,
}

async fn serve(listener: TcpListener, way: Way, acceptor: TlsAcceptor) -> Option<usize> {
    let (mut stream, _) = listener.accept().await.expect("a client");
    if way != Way::FromTheStart {
        tell(&mut stream, "220 mail.example\r\n").await;
        assert_eq!(line(&mut stream).await, "EHLO client.example\r\n");
        tell(&mut stream, "250-mail.example\r\n250 STARTTLS\r\n").await;
        assert_eq!(line(&mut stream).await, "STARTTLS\r\n");
        let injected = if way == Way::Injected { "250 injected\r\n" } else { "" };
        tell(&mut stream, &format!("220 go\r\n{injected}")).await;
    }
    let mut stream = acceptor.accept(stream).await.ok()?;
    if way == Way::FromTheStart {
        tell(&mut stream, "220 mail.example\r\n").await;
    }
    Some(session(&mut stream).await)
}

type Sent = (Result<Outcome, (FailureKind, String)>, Exchange<Real>, Option<usize>);

/// Sends one message of 100 KiB to a server that comes to TLS in this way.
fn send(scheme: &str, way: Way, insecure: bool) -> Sent {
    send_by(acceptor(), (scheme, way), Target { insecure, ..Target::default() })
}

/// The same to a server that shows a certificate; `trust` says what of that is trusted.
fn send_by(acceptor: TlsAcceptor, (scheme, way): (&str, Way), trust: Target) -> Sent {
    let tls = if way == Way::FromTheStart { "never" } else { "starttls" };
    let text = format!("smtp = {{ to = \"a@b.example\", size = \"100KiB\", tls = \"{tls}\" }}");
    let operation = operation(&text);
    let options = tokio::runtime::LocalOptions::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build_local(options);
    runtime.expect("a runtime").block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket").port();
        let url = format!("{scheme}://localhost:{port}");
        let connect_to = Some(format!("127.0.0.1:{port}"));
        let target = Target { url, connect_to, schemes: &drivers::smtp::SCHEMES, ..trust };
        let endpoint = Endpoint::resolve(&target).expect("an endpoint");
        let mut exchange = Exchange::new(Real::start().expect("a clock"));
        let client = async {
            let stream = Kernel.open(&endpoint, &mut exchange).await?;
            let connected = Smtp.connect(&operation, &endpoint, stream, &mut exchange).await?;
            let mut connection = connected.connection;
            let mut stream = Smtp.open_stream(&mut connection).expect("the one");
            Smtp.encode(&operation, &mut stream, &call(0));
            exchange.started_at = exchange.now();
            exchange.is_last = true;
            Ok(Smtp.perform(&operation, &mut stream, &mut exchange).await)
        };
        let (result, received) = tokio::join!(client, serve(listener, way, acceptor));
        (result, exchange, received)
    })
}

fn stamped(exchange: &Exchange<Real>) -> Vec<&'static str> {
    let names = ["connect", "tls"].iter().chain(NAMES);
    let is_stamped =
        |(place, name): (usize, &&'static str)| exchange.spans.get(place).map(|_| *name);
    names.enumerate().filter_map(is_stamped).collect()
}

#[test]
fn tls_may_come_from_the_first_byte_or_after_starttls() {
    let (result, exchange, received) = send("smtps", Way::FromTheStart, true);
    assert_eq!((result, received), (Ok(Outcome::Succeeded), Some(102_400)));
    let message = ["mail", "rcpt", "data", "content", "accepted", "quit"];
    let before = ["connect", "tls", "greeting", "ehlo"];
    assert_eq!(stamped(&exchange), [&before[..], &message].concat());

    let (result, exchange, received) = send("smtp", Way::Later, true);
    assert_eq!((result, received), (Ok(Outcome::Succeeded), Some(102_400)));
    let before = ["connect", "tls", "greeting", "ehlo", "starttls", "ehlo_tls"];
    assert_eq!(stamped(&exchange), [&before[..], &message].concat());
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    for (scheme, way) in [("smtps", Way::FromTheStart), ("smtp", Way::Later)] {
        let (result, exchange, received) = send(scheme, way, false);
        let (kind, detail) = result.expect_err("no trust");
        assert_eq!((kind, received), (FailureKind::Tls, None), "{detail}");
        assert!(exchange.spans.get(1).is_some(), "the time of the handshake was spent");
    }
}

#[test]
fn a_certificate_that_signed_itself_is_trusted_where_it_was_given() {
    let own = SelfSigned::new("smtp-self-signed", &[]);
    for way in [("smtps", Way::FromTheStart), ("smtp", Way::Later)] {
        let given = Target { cacert: Some(own.file.clone()), ..Target::default() };
        let (result, _, received) = send_by(own.acceptor.clone(), way, given);
        assert_eq!((result, received), (Ok(Outcome::Succeeded), Some(102_400)), "{way:?}");
    }
}

#[test]
fn what_is_put_before_the_handshake_is_refused() {
    let (result, _, received) = send("smtp", Way::Injected, true);
    let (kind, detail) = result.expect_err("refused");
    assert_eq!((kind, received), (FailureKind::Malformed, None));
    assert_eq!(detail, "14 bytes came in the clear before the TLS handshake");
}
