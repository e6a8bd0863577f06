//! A server that plays from a script, and a client with several streams on one connection.

use std::rc::Rc;

use drivers::nats::connection::Connection;
use drivers::nats::driver::Nats;
use drivers::nats::operation::Operation;
use drivers::nats::stream::MessageStream;
use engine::clock::Virtual;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use engine::transport::{Address, Endpoint, Stream};
use record::{FailureKind, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// What a server greets with, much shortened.
pub const INFO: &str =
    "INFO {\"server_id\":\"NSERVER\",\"client_id\":7,\"headers\":true,\"max_payload\":1000}\r\n";
/// The subject of replies, without the last word.
pub const INBOX: &str = "_INBOX.SERVER7.";
/// What a client without credentials sends first.
pub const HELLO: &str = "CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\"name\":\"proofload\",\
     \"lang\":\"rust\",\"version\":\"VERSION\",\"protocol\":1,\"headers\":true,\"no_responders\":true}\r\n\
     SUB _INBOX.SERVER7.* 1\r\nPING\r\n";

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    let planned = crate::planned::planned("nats", text);
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    Nats.compile(compile).expect("the operation of the test compiles")
}

fn endpoint() -> Endpoint {
    let address = Address::Memory("target".into());
    Endpoint { authority: "broker".into(), address, tls: None, upgrade: None, is_web: false }
}

/// The far end of a connection.
pub struct Server(pub DuplexStream);

impl Server {
    /// Reads what must be this.
    pub async fn hear(&mut self, expected: &str) {
        let expected = expected.replace("VERSION", env!("CARGO_PKG_VERSION"));
        let mut heard = vec![0; expected.len()];
        self.0.read_exact(&mut heard).await.expect("a command");
        assert_eq!(String::from_utf8_lossy(&heard), expected);
    }

    /// Writes this.
    pub async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.expect("the client listens");
    }

    /// Writes this, one byte at a time.
    pub async fn spell(&mut self, text: &str) {
        for byte in text.bytes() {
            // A client that has seen enough goes away.
            let _ = self.0.write_all(&[byte]).await;
            tokio::task::yield_now().await;
        }
    }
}

/// The near end of a connection.
pub struct Client {
    pub clock: Virtual,
    pub connection: Rc<Connection>,
}

impl Client {
    /// One more stream, with an exchange of its own.
    pub fn stream(&mut self) -> (MessageStream, Exchange<Virtual>) {
        let stream = Nats.open_stream(&mut self.connection).expect("a stream");
        (stream, Exchange::new(self.clock.clone()))
    }
}

/// Performs the operation once.
pub async fn perform(
    operation: &Operation,
    (stream, exchange): &mut (MessageStream, Exchange<Virtual>),
) -> Outcome {
    exchange.clear(operation.items.len());
    Nats.encode(operation, stream, &Call { trial: 1, ..Call::default() });
    exchange.started_at = engine::clock::Clock::now(exchange.clock());
    Nats.perform(operation, stream, exchange).await
}

/// What came of connecting.
pub struct Connected {
    pub client: Result<Client, (FailureKind, String)>,
    pub exchange: Exchange<Virtual>,
}

/// Opens a connection for this operation; its task runs beside the test.
pub async fn connect(operation: &Operation, near: DuplexStream, clock: &Virtual) -> Connected {
    let mut exchange = Exchange::new(clock.clone());
    exchange.dialogue = Some(Vec::new());
    let stream = Stream::Memory(near);
    let opened = Nats.connect(operation, &endpoint(), stream, &mut exchange).await;
    let client = opened.map(|opened| {
        tokio::task::spawn_local(opened.background.expect("a task"));
        Client { clock: clock.clone(), connection: opened.connection }
    });
    Connected { client, exchange }
}

/// Runs a test of both ends; `server` has the far one of an open connection.
pub fn over_connection<S: Future<Output = ()> + 'static>(
    text: &str,
    server: impl FnOnce(Server, Virtual) -> S + 'static,
    client: impl AsyncFnOnce(Operation, Client) + 'static,
) {
    let operation = operation(text);
    let clock = Virtual::new();
    let runtime = clock.runtime().expect("a runtime");
    runtime.block_on(async move {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let times = clock.clone();
        let server = tokio::task::spawn_local(async move {
            let mut far = Server(far);
            far.say(INFO).await;
            far.hear(HELLO).await;
            far.say("PONG\r\n").await;
            server(far, times).await;
        });
        let connected = connect(&operation, near, &clock).await;
        client(operation, connected.client.expect("a session")).await;
        server.await.expect("the server keeps to its script");
    });
}
