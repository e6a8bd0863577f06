//! A server that plays from a script, and a client with several streams on one socket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drivers::websocket::driver::{Connection, Conversation, WebSocket};
use drivers::websocket::operation::Operation;
use engine::clock::Virtual;
use engine::driver::{Call, CompileContext, Driver, Exchange, NewConnection};
use engine::transport::{Address, Endpoint, Stream};
use record::{FailureKind, Outcome};
use sha1_smol::Sha1;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    let planned = crate::planned::planned("websocket", text);
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    WebSocket.compile(compile).expect("the operation of the test compiles")
}

fn endpoint() -> Endpoint {
    let address = Address::Memory("target".into());
    Endpoint { authority: "chat.example".into(), address, tls: None, upgrade: None, is_web: false }
}

/// An unmasked frame with this first byte.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("a short one");
    assert!(length < 126, "a short one");
    [&[first, length], payload].concat()
}

/// A text message in one frame.
pub fn text(payload: &str) -> Vec<u8> {
    frame(0x81, payload.as_bytes())
}

/// The far end of a connection.
pub struct Server(pub DuplexStream);

impl Server {
    /// Reads a handshake: its text, and what must be answered to its key.
    pub async fn hear_handshake(&mut self) -> (String, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.expect("a handshake"));
        }
        let head = String::from_utf8(head).expect("text");
        let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: "));
        let mut hash = Sha1::from(key.expect("a key"));
        hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
        (head, STANDARD.encode(hash.digest().bytes()))
    }

    /// Agrees to a handshake, and writes these frames with it.
    pub async fn agree(&mut self, frames: &[u8]) -> String {
        let (head, accept) = self.hear_handshake().await;
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-accept: {accept}\r\n\r\n"
        );
        self.say(&[answer.as_bytes(), frames].concat()).await;
        head
    }

    /// Reads a short masked frame: its first byte and its payload.
    pub async fn hear(&mut self) -> (u8, String) {
        let mut head = [0; 6];
        self.0.read_exact(&mut head).await.expect("a frame");
        let [first, length, mask @ ..] = head;
        assert!((0x80..0x80 + 126).contains(&length), "masked and short");
        let mut payload = vec![0; usize::from(length & 0x7f)];
        self.0.read_exact(&mut payload).await.expect("a payload");
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        (first, String::from_utf8_lossy(&payload).into_owned())
    }

    /// Writes this.
    pub async fn say(&mut self, bytes: &[u8]) {
        // A client that has seen enough goes away.
        let _ = self.0.write_all(bytes).await;
    }

    /// Writes this, one byte at a time.
    pub async fn spell(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.say(&[*byte]).await;
            tokio::task::yield_now().await;
        }
    }
}

/// The near end of a connection.
pub struct Client {
    pub clock: Virtual,
    pub connection: Connection,
}

impl Client {
    /// One more stream, with an exchange of its own.
    pub fn stream(&mut self) -> (Conversation, Exchange<Virtual>) {
        let stream = WebSocket.open_stream(&mut self.connection).expect("a stream");
        (stream, Exchange::new(self.clock.clone()))
    }
}

/// Performs the operation once, as the call with this number.
pub async fn perform(
    operation: &Operation,
    sequence: u64,
    (stream, exchange): &mut (Conversation, Exchange<Virtual>),
) -> Outcome {
    exchange.clear(operation.ask.as_ref().map_or(0, |ask| ask.items.len()));
    WebSocket.encode(operation, stream, &Call { trial: 1, sequence, ..Call::default() });
    exchange.started_at = exchange.now();
    WebSocket.perform(operation, stream, exchange).await
}

/// Opens a connection for this operation; its task runs beside the test.
pub async fn connect(
    operation: &Operation,
    near: DuplexStream,
    clock: &Virtual,
) -> Result<Client, (FailureKind, String)> {
    let mut exchange = Exchange::new(clock.clone());
    let stream = Stream::Memory(near);
    let opened = WebSocket.connect(operation, &endpoint(), stream, &mut exchange).await;
    opened.map(|NewConnection { connection, background }| {
        background.into_iter().for_each(|task| drop(tokio::task::spawn_local(task)));
        Client { clock: clock.clone(), connection }
    })
}

/// Runs a test of both ends.
pub fn over_connection<S: Future<Output = ()> + 'static>(
    text: &str,
    server: impl FnOnce(Server, Virtual) -> S + 'static,
    client: impl AsyncFnOnce(Operation, Result<Client, (FailureKind, String)>) + 'static,
) {
    let operation = operation(text);
    let clock = Virtual::new();
    let runtime = clock.runtime().expect("a runtime");
    runtime.block_on(async move {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let times = clock.clone();
        let server = tokio::task::spawn_local(async move { server(Server(far), times).await });
        let connected = connect(&operation, near, &clock).await;
        client(operation, connected).await;
        server.await.expect("the server keeps to its script");
    });
}
