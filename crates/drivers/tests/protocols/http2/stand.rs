//! A peer in the same process, which answers as a test says, and a client that talks to it, in virtual time.

use std::rc::Rc;

use bytes::Bytes;
use drivers::http2::connection::{Connection, StreamSlot};
use drivers::http2::driver::Http2;
use drivers::http2::operation::Operation;
use engine::clock::Virtual;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use engine::transport::{Address, Endpoint, Stream};
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use http::{Request, Response};
use record::Outcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::spawn_local;

/// A request as the peer got it, and where its answer goes.
pub type Asked = (Request<RecvStream>, SendResponse<Bytes>);

/// An operation as planned, from the text of its table in an experiment file.
pub fn planned(text: &str) -> plan::operation::Operation {
    let mut planned = crate::planned::planned("http2", text);
    planned.multiplexes = true;
    planned.parts = drivers::parts("http2", &planned.table);
    (0..).zip(&mut planned.parts).for_each(|(place, part)| part.place = place);
    planned
}

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    let compile = CompileContext { operation: &planned(text), targets: &[], wall_clock: "" };
    Http2.compile(compile).expect("the operation of the test compiles")
}

pub fn endpoint() -> Endpoint {
    let address = Address::Memory("target".into());
    Endpoint {
        authority: "example.test:8080".into(),
        address,
        tls: None,
        upgrade: None,
        is_web: true,
    }
}

pub fn call(sequence: u64) -> Call {
    Call { index: sequence, sequence, trial: 1, seed: 7, now: 99, ..Call::default() }
}

/// The client's end of a test.
pub struct Client {
    pub clock: Virtual,
    pub connection: Connection,
}

impl Client {
    /// A place on the connection.
    pub fn line(&mut self) -> StreamSlot {
        Http2.open_stream(&mut self.connection).expect("the connection is not at its end")
    }

    /// Performs one operation on a line of its own; gives what was seen of it.
    pub async fn perform(&mut self, operation: &Operation) -> (Outcome, Exchange<Virtual>) {
        let mut exchange = Exchange::new(self.clock.clone());
        exchange.parts_after(1);
        let mut line = self.line();
        let outcome = perform(operation, &mut line, &mut exchange).await;
        (outcome, exchange)
    }
}

/// Encodes and performs one operation.
pub async fn perform(
    operation: &Operation,
    line: &mut StreamSlot,
    exchange: &mut Exchange<Virtual>,
) -> Outcome {
    exchange.clear(operation.meaning.check.items.len());
    Http2.encode(operation, line, &call(0));
    exchange.started_at = exchange.now();
    Http2.perform(operation, line, exchange).await
}

/// Runs a client against a peer that serves its end so.
pub fn beside<S, T>(
    serve: impl FnOnce(Virtual, DuplexStream) -> S,
    client: impl AsyncFnOnce(Client) -> T,
) -> T
where
    S: Future<Output = ()> + 'static,
{
    let clock = Virtual::new();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let server = serve(clock.clone(), theirs);
    let runtime = clock.runtime().expect("a runtime");
    runtime.block_on(async {
        spawn_local(server);
        let operation = operation("http2 = {}");
        let mut exchange = Exchange::new(clock.clone());
        let stream = Stream::Memory(ours);
        let connected = Http2.connect(&operation, &endpoint(), stream, &mut exchange).await;
        let connected = connected.unwrap_or_else(|error| panic!("{error:?}"));
        spawn_local(connected.background.expect("a task that moves frames"));
        client(Client { clock, connection: connected.connection }).await
    })
}

/// Answers every request of a connection, each by a task of its own.
pub async fn serve<F>(builder: Builder, stream: DuplexStream, answer: impl Fn(Asked) -> F)
where
    F: Future<Output = ()> + 'static,
{
    let mut connection = builder.handshake(stream).await.expect("a client of HTTP/2");
    while let Some(Ok(asked)) = connection.accept().await {
        spawn_local(answer(asked));
    }
}

/// The same, with what a server says unless told otherwise.
pub async fn serve_plain<F>(stream: DuplexStream, answer: impl Fn(Asked) -> F)
where
    F: Future<Output = ()> + 'static,
{
    serve(Builder::new(), stream, answer).await;
}

/// One request, answered with these fields and this body.
pub fn answer_with(fields: &[(&str, &str)], body: &'static [u8]) -> impl Fn(Asked) + 'static {
    let fields: Vec<_> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let fields = Rc::new(fields);
    move |(_, mut respond)| {
        let mut head = Response::builder();
        for (name, value) in fields.iter() {
            head = head.header(name, value);
        }
        let head = head.body(()).expect("a head");
        let mut send = respond.send_response(head, body.is_empty()).expect("the client listens");
        if !body.is_empty() {
            send.send_data(Bytes::from_static(body), true).expect("the client listens");
        }
    }
}

/// The whole body of a request.
pub async fn body_of(request: Request<RecvStream>) -> Vec<u8> {
    let (mut body, mut whole) = (request.into_body(), Vec::new());
    while let Some(data) = body.data().await {
        let data = data.expect("the client goes on");
        whole.extend_from_slice(&data);
        let _ = body.flow_control().release_capacity(data.len());
    }
    whole
}

/// A peer that says these bytes once the client has said something, and then listens until it has heard all.
pub async fn say(mut stream: DuplexStream, bytes: &'static [u8]) {
    let mut heard = [0; 4096];
    let _ = stream.read(&mut heard).await.expect("the client begins");
    stream.write_all(bytes).await.expect("the client listens");
    while stream.read(&mut heard).await.is_ok_and(|read| read > 0) {}
}
