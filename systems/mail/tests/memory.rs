//! The memory of a connection and of a message, counted by the allocator.
#![expect(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mail::connection::{Smtp, serve};
use mail::envelope::Envelope;
use mail::refusal::Refusal;
use mail::session::{Counts, Policy, Settings};
use mail::store::{Draft, Store};
use mail::tls::Tls;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use serving::stop::{Stop, Stopper};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Bytes of glibc's heap for an allocation: its size plus a word, rounded up to 16 bytes.
fn taken(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

/// The system's allocator; counts allocations and held bytes.
struct CountingAllocator;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MADE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(taken(layout), Ordering::Relaxed);
        MADE.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(taken(layout), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// A store that keeps nothing.
struct NullStore;

struct NullDraft;

impl Store for NullStore {
    type Draft = NullDraft;

    async fn begin(&self, _: Envelope) -> Result<NullDraft, Refusal> {
        Ok(NullDraft)
    }

    fn effective(&self) -> Value {
        Value::Null
    }
}

impl Draft for NullDraft {
    async fn write(&mut self, _: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }

    async fn commit(self) -> Result<String, Refusal> {
        Ok(String::new())
    }
}

fn start() -> (SocketAddr, Tls, Stopper) {
    let tls = Tls::self_signed("mail.example", false).expect("a certificate");
    let settings = Settings { tls: Policy::Optional, ..Settings::default() };
    let how = Smtp {
        store: Arc::new(NullStore),
        settings,
        tls: Some(tls.clone()),
        is_implicit_tls: false,
        counts: Counts::default(),
    };
    let listener = serving::listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stopper, stop) = Stop::pair();
    tokio::spawn(serve(listener, Arc::new(how), stop));
    (address, tls, stopper)
}

/// Sends text and reads one complete reply, without allocating.
async fn say<T>(stream: &mut T, text: &str, expect: &str)
where
    T: AsyncReadExt + AsyncWriteExt + Unpin,
{
    stream.write_all(text.as_bytes()).await.expect("it is sent");
    stream.flush().await.expect("it is sent");
    let (mut read, mut end) = ([0; 1_024], 0);
    while !is_whole(&read[..end]) {
        let more = stream.read(&mut read[end..]).await.expect("it is answered");
        assert!(more > 0, "the connection is open");
        end += more;
    }
    assert!(read.starts_with(expect.as_bytes()), "{}", String::from_utf8_lossy(&read[..end]));
}

fn is_whole(read: &[u8]) -> bool {
    let last = read.split_inclusive(|byte| *byte == b'\n').next_back();
    last.is_some_and(|line| line.ends_with(b"\n") && line.get(3) == Some(&b' '))
}

async fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    say(&mut stream, "", "220").await;
    say(&mut stream, "EHLO c\r\n", "250").await;
    stream
}

async fn send(stream: &mut TcpStream, content: &str) {
    say(stream, "MAIL FROM:<a@b.example>\r\n", "250").await;
    say(stream, "RCPT TO:<c@d.example>\r\n", "250").await;
    say(stream, "DATA\r\n", "354").await;
    say(stream, content, "250").await;
}

fn connector(tls: &Tls) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(tls.certificate().to_vec())).expect("a certificate");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

const CONNECTIONS: usize = 40;

/// A single test, because the counters cover the whole process.
#[tokio::test]
async fn connections_and_messages_cost_little() {
    let (address, tls, stopper) = start();
    let mut open = Vec::with_capacity(3 * CONNECTIONS);
    open.push(connect(address).await);

    let before = held();
    for _ in 0..CONNECTIONS {
        open.push(connect(address).await);
    }
    let plain = (held() - before) / CONNECTIONS;
    assert!(plain <= 64 << 10, "{plain} bytes a plain connection");

    let (connector, name) = (connector(&tls), ServerName::try_from("mail.example").unwrap());
    let before = held();
    for _ in 0..CONNECTIONS {
        let mut stream = connect(address).await;
        say(&mut stream, "STARTTLS\r\n", "220").await;
        let mut covered = connector.connect(name.clone(), stream).await.unwrap();
        say(&mut covered, "EHLO c\r\n", "250").await;
        // The client's side of TLS is dropped, and the server's side remains.
        open.push(covered.into_inner().0);
    }
    let covered = (held() - before) / CONNECTIONS;
    assert!(covered <= 128 << 10, "{covered} bytes a connection with TLS");
    assert!(covered > plain, "TLS is counted: {covered} bytes, and {plain} without");

    let content = format!("{}\r\n.\r\n", "x".repeat(900));
    send(&mut open[0], &content).await;
    let (before, made) = (held(), MADE.load(Ordering::Relaxed));
    for _ in 0..CONNECTIONS {
        send(&mut open[0], &content).await;
    }
    // The reverse path, the list of recipients, the recipient, and the client's name in the envelope.
    let made = (MADE.load(Ordering::Relaxed) - made) / CONNECTIONS;
    assert!(made <= 4, "{made} allocations a message");
    assert!(held() <= before, "a message leaves nothing behind");
    drop(stopper);
}
