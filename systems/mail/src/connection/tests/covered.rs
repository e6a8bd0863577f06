//! TLS: from the first byte, and after `STARTTLS`.

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::session::Policy;
use crate::tls::Tls;

fn covered(is_implicit_tls: bool, is_newest_only: bool) -> Arc<Smtp<GatedStore>> {
    let tls = Tls::self_signed("mail.example", is_newest_only).unwrap();
    let settings = Settings { tls: Policy::Optional, ..Settings::default() };
    Arc::new(Smtp { tls: Some(tls), is_implicit_tls, ..smtp(settings) })
}

async fn handshake<T: AsyncRead + AsyncWrite + Unpin>(
    stream: T,
    shared: &Smtp<GatedStore>,
    versions: &[&'static SupportedProtocolVersion],
) -> std::io::Result<Client<TlsStream<T>>> {
    let mut roots = RootCertStore::empty();
    let certificate = shared.tls.as_ref().unwrap().certificate().to_vec();
    roots.add(CertificateDer::from(certificate)).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("mail.example").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map(Client::new)
}

const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

#[tokio::test]
async fn a_message_over_tls_from_the_first_byte_and_after_starttls() {
    for (is_implicit, versions, name) in [
        (true, BOTH, "TLSv1.3"),
        (false, BOTH, "TLSv1.3"),
        (true, &BOTH[1..], "TLSv1.2"),
        (false, &BOTH[1..], "TLSv1.2"),
    ] {
        let shared = covered(is_implicit, false);
        let (mut plain, task) = connect(&shared, 65_536);
        if !is_implicit {
            plain.reply().await;
            plain
                .holds(&[("EHLO c", "250"), ("STARTTLS", "220 2.0.0 Ready to start TLS\r\n")])
                .await;
        }
        let mut client = handshake(plain.stream, &shared, versions).await.unwrap();
        if is_implicit {
            assert!(client.reply().await.starts_with("220 "));
        }
        client.holds(&BEGIN).await;
        let content = format!("{}\r\n", "x".repeat(900)).repeat(100);
        client
            .holds(&[(&format!("{content}."), "250"), ("STARTTLS", "502"), ("QUIT", "221")])
            .await;
        // The server ends TLS properly, so a reading client sees no truncation.
        assert_eq!(client.stream.read(&mut [0; 8]).await.unwrap(), 0);
        task.await.unwrap();
        let messages = shared.store.messages.lock().unwrap();
        assert_eq!((messages[0].0.tls, messages[0].1.len()), (Some(name), content.len()));
        assert_eq!((shared.counts.handshakes.get(), shared.counts.buffered.get()), (1, 0));
    }
}

#[tokio::test]
async fn an_old_version_is_refused() {
    let shared = covered(true, true);
    let (plain, task) = connect(&shared, 65_536);
    assert!(handshake(plain.stream, &shared, &BOTH[1..]).await.is_err());
    task.await.unwrap();
    assert_eq!((shared.counts.handshakes_failed.get(), shared.counts.handshakes.get()), (1, 0));
}

/// A client that rejects the certificate leaves, and the next client is served as usual.
#[tokio::test]
async fn a_certificate_that_is_not_believed_ends_one_connection_alone() {
    let (shared, stranger) = (covered(true, false), covered(true, false));
    let (plain, task) = connect(&shared, 65_536);
    assert!(handshake(plain.stream, &stranger, BOTH).await.is_err());
    task.await.unwrap();
    let (plain, task) = connect(&shared, 65_536);
    let mut client = handshake(plain.stream, &shared, BOTH).await.unwrap();
    assert!(client.reply().await.starts_with("220 "));
    client.holds(&BEGIN).await;
    drop(client);
    task.await.unwrap();
    let counts = &shared.counts;
    assert_eq!((counts.handshakes_failed.get(), counts.handshakes.get()), (1, 1));
    assert_eq!(counts.aborted.get(), 1);
}

/// Bytes that an attacker injects between the client's `STARTTLS` and the handshake, whether the server reads them
/// with the command or after it.
#[tokio::test]
async fn commands_injected_ahead_of_the_handshake_are_never_executed() {
    let injected = "EHLO evil\r\nMAIL FROM:<x@y>\r\nRCPT TO:<x@y>\r\nDATA\r\nevil\r\n.\r\n";
    let shared = covered(false, false);
    let (mut client, task) = greeted(&shared).await;
    client.holds(&[("EHLO c", "250")]).await;
    let said = client.say(&format!("STARTTLS\r\n{injected}")).await;
    assert!(said.starts_with("554 5.5.0"), "{said}");
    assert_eq!(client.rest().await, "");
    drop(client);
    task.await.unwrap();
    let (mut client, task) = greeted(&shared).await;
    client.holds(&[("EHLO c", "250"), ("STARTTLS", "220")]).await;
    client.stream.write_all(injected.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    let _ = client.stream.read_to_end(&mut said).await;
    // At most a TLS alert, and no reply.
    assert!(!said.windows(3).any(|code| matches!(code, b"250" | b"354")), "{said:?}");
    task.await.unwrap();
    assert_eq!(shared.counts.handshakes_failed.get(), 1);
    assert!(shared.store.contents().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_does_not_come_is_not_waited_for() {
    for is_implicit in [true, false] {
        let shared = covered(is_implicit, false);
        let (mut client, task) = connect(&shared, 65_536);
        if !is_implicit {
            client.reply().await;
            client.holds(&[("EHLO c", "250"), ("STARTTLS", "220")]).await;
        }
        let start = Instant::now();
        assert_eq!(client.rest().await, "");
        assert_eq!(start.elapsed().as_secs(), 60);
        task.await.unwrap();
        assert_eq!(shared.counts.buffered.get(), 0);
    }
}
