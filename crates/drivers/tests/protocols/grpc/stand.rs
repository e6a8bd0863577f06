//! Operations of a small service, and a peer that answers them with frames of a test's own.

use bytes::Bytes;
use drivers::grpc::driver::Grpc;
use drivers::grpc::operation::Operation;
use drivers::grpc::probe::probe;
use drivers::http2::connection::Connection;
use drivers::probe::Probe;
use engine::clock::Virtual;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use engine::transport::Stream;
use h2::server::SendResponse;
use http::{HeaderMap, Response};
use record::Outcome;
use tokio::io::DuplexStream;
use tokio::task::spawn_local;

pub use crate::http2::stand::{endpoint, serve_plain};

const SHOP: &str = r#"
syntax = "proto3"; package shop;
message Item { string id = 1; int64 count = 2; }
service Cart {
  rpc Add(Item) returns (Item);
  rpc List(Item) returns (stream Item);
  rpc Put(stream Item) returns (Item);
}
"#;

/// The message `{ id: "a", count: 2 }`, as it is in a body.
pub const ITEM: &[u8] = b"\0\0\0\0\x05\x0a\x01a\x10\x02";

/// The tables of a call of this method with these keys beside it.
pub fn planned(method: &str, rest: &str) -> plan::operation::Operation {
    let text = format!(
        "[grpc]\nproto = [{{ name = 'shop.proto', content = '''{SHOP}''' }}]\n\
         method = 'shop.Cart/{method}'\n{rest}\n"
    );
    plan::operation::Operation { multiplexes: true, ..crate::planned::planned("grpc", &text) }
}

/// The same, compiled.
pub fn operation(method: &str, rest: &str) -> Operation {
    compiled(&planned(method, rest))
}

pub fn compiled(planned: &plan::operation::Operation) -> Operation {
    let compile = CompileContext { operation: planned, targets: &[], wall_clock: "" };
    Grpc.compile(compile).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The client's end of a test.
pub struct Client {
    pub clock: Virtual,
    pub connection: Connection,
}

impl Client {
    /// Performs one call on a stream of its own.
    pub async fn perform(&mut self, operation: &Operation) -> (Outcome, Exchange<Virtual>) {
        let mut exchange = Exchange::new(self.clock.clone());
        exchange.clear(
            operation
                .check
                .items
                .len()
                .max(operation.check.stream.as_ref().map_or(0, |stream| stream.items.len())),
        );
        let mut stream = Grpc.open_stream(&mut self.connection).expect("it has not ended");
        Grpc.encode(operation, &mut stream, &Call { trial: 1, sequence: 7, ..Call::default() });
        exchange.started_at = exchange.now();
        let outcome = Grpc.perform(operation, &mut stream, &mut exchange).await;
        (outcome, exchange)
    }

    /// The same, shown.
    pub async fn probe(&mut self, operation: &Operation) -> Probe {
        let mut exchange = Exchange::new(self.clock.clone());
        let mut stream = Grpc.open_stream(&mut self.connection).expect("it has not ended");
        Grpc.encode(operation, &mut stream, &Call { trial: 1, sequence: 7, ..Call::default() });
        probe(operation, &mut stream, &mut exchange).await
    }
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
        let operation = operation("Add", "");
        let mut exchange = Exchange::new(clock.clone());
        let stream = Stream::Memory(ours);
        let connected = Grpc.connect(&operation, &endpoint(), stream, &mut exchange).await;
        let connected = connected.unwrap_or_else(|error| panic!("{error:?}"));
        spawn_local(connected.background.expect("a task that moves frames"));
        client(Client { clock, connection: connected.connection }).await
    })
}

/// How a peer answers a call.
#[derive(Debug, Clone)]
pub struct Answered {
    pub status: u16,
    pub head: &'static [(&'static str, &'static str)],
    pub body: Vec<u8>,
    /// None: the body is the end.
    pub trailers: Option<&'static [(&'static str, &'static str)]>,
}

pub const GRPC: &[(&str, &str)] = &[("content-type", "application/grpc")];
pub const OK: &[(&str, &str)] = &[("grpc-status", "0")];

impl Answered {
    /// A good answer with this body.
    pub fn ok(body: &[u8]) -> Self {
        Self { status: 200, head: GRPC, body: body.to_vec(), trailers: Some(OK) }
    }

    pub fn with_trailers(self, trailers: &'static [(&'static str, &'static str)]) -> Self {
        Self { trailers: Some(trailers), ..self }
    }

    /// Answers a request.
    pub fn send(&self, mut respond: SendResponse<Bytes>) {
        let mut head = Response::builder().status(self.status);
        for (name, value) in self.head {
            head = head.header(*name, *value);
        }
        let is_alone = self.body.is_empty() && self.trailers.is_none();
        let head = head.body(()).expect("a head");
        let mut send = respond.send_response(head, is_alone).expect("the client listens");
        if !self.body.is_empty() {
            let body = Bytes::copy_from_slice(&self.body);
            send.send_data(body, self.trailers.is_none()).expect("the client listens");
        }
        if let Some(trailers) = self.trailers {
            send.send_trailers(fields(trailers)).expect("the client listens");
        }
    }
}

pub fn fields(fields: &'static [(&'static str, &'static str)]) -> HeaderMap {
    let fields = fields
        .iter()
        .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
    fields.collect()
}

/// What came of one call that was answered so.
pub fn answered(operation: &Operation, answer: Answered) -> (Outcome, Exchange<Virtual>) {
    beside(
        move |_, stream| {
            serve_plain(stream, move |asked| {
                answer.send(asked.1);
                async {}
            })
        },
        async |mut client| client.perform(operation).await,
    )
}
