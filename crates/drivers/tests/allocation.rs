//! A kept-alive operation allocates nothing once its connection is warm: neither in the driver nor
//! on the whole way from the plan to the record.
#![expect(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

mod planned;
mod stand;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drivers::http1::conversation::Conversation;
use drivers::http1::driver::Http1;
use drivers::http1::driver::Operation;
use drivers::http2::driver::Http2;
use drivers::nats::driver::Nats;
use drivers::redis::driver::Redis;
use drivers::smtp::driver::Smtp;
use engine::StopSignal;
use engine::clock::{Clock, Virtual};
use engine::driver::{CompileContext, Driver, Exchange};
use engine::transport::{Address, Endpoint, MemoryNetwork, Stream};
use engine::trial::{Setup, Start, run_virtual};
use plan::load::{Load, Model, Reuse, SteadyState, Stop, WarmUp};
use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::target::Target;
use record::Outcome;
use stand::{call, exchange, operation, run};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The system's allocator with a counter before it.
struct Counting;

thread_local! {
    /// Of this thread: on a busy machine, the test harness allocates meanwhile on its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Allocations of this thread so far.
fn so_far() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ANSWERS: [&[u8]; 3] = [
    b"HTTP/1.1 200 OK\r\nserver: test\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\
      server-timing: embed;dur=0.012;desc=\"a, b\", gateway;dur=0.17, oops;dur=x\r\n\r\n",
];

const STREAMS: [&[u8]; 1] = [
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n16\r\ndata: {\"a\":[{\"b\":1}]}\n\r\n27\r\n\ndata: \
      {\"a\":[{\"b\":\"t\"}],\ndata: \"c\":2}\n\n\r\nd\r\ndata: [DONE]\n\r\n1\r\n\n\r\n0\r\n\r\n",
];

/// Answers every request of a connection with the next of the answers; allocates only at first.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, answers: &[&[u8]]) {
    serve_after(stream, answers, async || ()).await;
}

/// The same, each answer after a pause.
async fn serve_after(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answers: &[&[u8]],
    pause: impl AsyncFn(),
) {
    let mut buffer = vec![0; 4096];
    for answer in answers.iter().cycle() {
        let mut seen = 0;
        while !buffer[..seen].ends_with(b"end") {
            match stream.read(&mut buffer[seen..]).await {
                Ok(0) | Err(_) => return,
                Ok(read) => seen += read,
            }
        }
        pause().await;
        if stream.write_all(answer).await.is_err() {
            return;
        }
    }
}

async fn allocations(operation: &Operation, warm_up: u64, operations: u64) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let answers = if operation.check.stream.is_some() { &STREAMS[..] } else { &ANSWERS[..] };
    let server = serve(theirs.expect("a connection").0, answers);
    let stream = Stream::Tcp(ours.expect("a connection"));
    let mut conversation = Conversation::new(stream, "example.test");
    let mut exchange = exchange(operation);
    let client = async {
        let mut before = 0;
        for sequence in 0..warm_up + operations {
            if sequence == warm_up {
                before = so_far();
            }
            exchange.clear(operation.check.items.len());
            operation.encode(&mut conversation, &call(sequence));
            let outcome = operation.perform(&mut conversation, &mut exchange).await;
            assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
            assert!(exchange.reusable);
        }
        so_far() - before
    };
    tokio::select! {
        count = client => count,
        () = server => unreachable!("the server outlives the client"),
    }
}

/// Takes every message of a connection; allocates only at first.
async fn keep_mail(mut stream: TcpStream) {
    let mut buffer = vec![0; 256 * 1024];
    let mut reply: &[u8] = b"220 mail.example\r\n";
    let (mut seen, mut in_data) = (0, false);
    loop {
        if stream.write_all(reply).await.is_err() {
            return;
        }
        let end: &[u8] = if in_data { b"\r\n.\r\n" } else { b"\r\n" };
        while !buffer[..seen].ends_with(end) {
            match stream.read(&mut buffer[seen..]).await {
                Ok(0) | Err(_) => return,
                Ok(read) => seen += read,
            }
        }
        in_data = buffer.starts_with(b"DATA\r\n");
        reply = if in_data { b"354 go on\r\n" } else { b"250 ok\r\n" };
        seen = 0;
    }
}

/// What so many messages allocate on a kept connection that has carried some.
async fn allocations_of_mail(table: &str) -> u64 {
    let (table, problems) = plan::document::parse(table);
    assert_eq!(problems, []);
    let named = plan::operation::Operation::named("mail");
    let planned = plan::operation::Operation { table, ..named };
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    let operation = Smtp.compile(compile).expect("it compiles");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let server = keep_mail(theirs.expect("a connection").0);
    let place = Address::Memory("mail".into());
    let endpoint =
        Endpoint { authority: "x".into(), address: place, tls: None, upgrade: None, is_web: true };
    let client = async {
        let mut exchange = Exchange::new(stand::Ticks::default());
        let stream = Stream::Tcp(ours.expect("a connection"));
        let connected = Smtp.connect(&operation, &endpoint, stream, &mut exchange).await;
        let mut connection = connected.unwrap_or_else(|error| panic!("{error:?}")).connection;
        let mut stream = Smtp.open_stream(&mut connection).expect("the one stream");
        let mut before = 0;
        for sequence in 0..330 {
            if sequence == 30 {
                before = so_far();
            }
            exchange.clear(0);
            Smtp.encode(&operation, &mut stream, &call(sequence));
            let outcome = Smtp.perform(&operation, &mut stream, &mut exchange).await;
            assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        }
        so_far() - before
    };
    tokio::select! {
        count = client => count,
        () = server => unreachable!("the server outlives the client"),
    }
}

/// Answers every request of HTTP/2 with a status and no more; allocates only at first.
async fn answer_streams(mut stream: TcpStream) -> std::io::Result<()> {
    let mut frame = vec![0; 64 * 1024];
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
    stream.read_exact(&mut frame[..24]).await?;
    loop {
        stream.read_exact(&mut frame[..9]).await?;
        let (length, kind) = (u16::from_be_bytes([frame[1], frame[2]]), frame[3]);
        // The last frame of an answer, with its whole head: `:status: 200` of the static table.
        let mut answer = [0, 0, 1, 1, 5, 0, 0, 0, 0, 0x88];
        answer[5..9].copy_from_slice(&frame[5..9]);
        stream.read_exact(&mut frame[..usize::from(length)]).await?;
        if kind == 1 {
            stream.write_all(&answer).await?;
        }
    }
}

/// Answers every read of a connection, which is one command, as this decides; allocates only at first.
async fn answer_commands(
    mut stream: TcpStream,
    greeting: &[u8],
    answer: impl AsyncFn(&[u8], &mut Vec<u8>),
) {
    let (mut heard, mut said) = (vec![0; 64 * 1024], greeting.to_vec());
    loop {
        if stream.write_all(&said).await.is_err() {
            return;
        }
        match stream.read(&mut heard).await {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                said.clear();
                answer(&heard[..read], &mut said).await;
            }
        }
    }
}

/// `+OK` to each command, also to `HELLO`.
async fn redis(_: &[u8], said: &mut Vec<u8>) {
    said.extend_from_slice(b"+OK\r\n");
}

/// A `PONG` for a `PING`, and an acknowledgement for a message with an inbox.
async fn nats(heard: &[u8], said: &mut Vec<u8>) {
    if heard.ends_with(b"PING\r\n") {
        said.extend_from_slice(b"PONG\r\n");
        return;
    }
    let inbox = heard.split(|byte| *byte == b' ').nth(2).unwrap_or_default();
    said.extend_from_slice(b"MSG ");
    said.extend_from_slice(inbox);
    said.extend_from_slice(b" 1 22\r\n{\"stream\":\"S\",\"seq\":1}\r\n");
}

/// What 300 operations allocate on one stream of a shared connection that has carried some.
async fn allocations_of_broker<D: Driver>(
    driver: D,
    (protocol, table, greeting): (&str, &str, &[u8]),
    answer: impl AsyncFn(&[u8], &mut Vec<u8>),
) -> u64 {
    let planned = planned::planned(protocol, table);
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    let operation = driver.compile(compile).expect("it compiles");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let server = answer_commands(theirs.expect("a connection").0, greeting, answer);
    let client = async {
        let place = Address::Memory("broker".into());
        let endpoint = Endpoint {
            authority: "x".into(),
            address: place,
            tls: None,
            upgrade: None,
            is_web: false,
        };
        let mut exchange = Exchange::new(stand::Ticks::default());
        let stream = Stream::Tcp(ours.expect("a connection"));
        let connected = driver.connect(&operation, &endpoint, stream, &mut exchange).await;
        let mut connected = connected.unwrap_or_else(|error| panic!("{error:?}"));
        let task = connected.background.take().expect("a task that reads");
        let mut stream = driver.open_stream(&mut connected.connection).expect("a stream");
        let operations = async {
            let mut before = 0;
            for sequence in 0..330 {
                if sequence == 30 {
                    before = so_far();
                }
                exchange.clear(0);
                driver.encode(&operation, &mut stream, &call(sequence));
                let outcome = driver.perform(&operation, &mut stream, &mut exchange).await;
                assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
            }
            so_far() - before
        };
        tokio::select! {
            count = operations => count,
            () = task => unreachable!("the connection outlives the client"),
        }
    };
    tokio::select! {
        count = client => count,
        () = server => unreachable!("the server outlives the client"),
    }
}

/// What so many operations allocate on one line of a kept connection that has carried some.
async fn allocations_of_stream(table: &str, operations: u64) -> u64 {
    let planned = planned::planned("http2", table);
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    let operation = Http2.compile(compile).expect("it compiles");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let server = answer_streams(theirs.expect("a connection").0);
    let place = Address::Memory("target".into());
    let endpoint = Endpoint {
        authority: "x:1".into(),
        address: place,
        tls: None,
        upgrade: None,
        is_web: true,
    };
    let mut exchange = Exchange::new(stand::Ticks::default());
    let stream = Stream::Tcp(ours.expect("a connection"));
    let connected = Http2.connect(&operation, &endpoint, stream, &mut exchange).await;
    let mut connected = connected.unwrap_or_else(|error| panic!("{error:?}"));
    let frames = connected.background.take().expect("a task that moves frames");
    let mut line = Http2.open_stream(&mut connected.connection).expect("a line");
    let client = async {
        let mut before = 0;
        for sequence in 0..100 + operations {
            if sequence == 100 {
                before = so_far();
            }
            exchange.clear(0);
            Http2.encode(&operation, &mut line, &call(sequence));
            let outcome = Http2.perform(&operation, &mut line, &mut exchange).await;
            assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        }
        so_far() - before
    };
    tokio::select! {
        count = client => count,
        ended = server => unreachable!("the server outlives the client: {ended:?}"),
        () = frames => unreachable!("the connection outlives the client"),
    }
}

/// What a whole trial of so many operations on four connections allocates, in virtual time.
fn allocations_of_trial(operations: u64, trace_share: Option<f64>) -> u64 {
    const BETWEEN: u64 = 10_000;
    let clock = Virtual::new();
    let network = MemoryNetwork::new();
    let pacing = clock.clone();
    network.serve("target", move |stream| {
        let clock = pacing.clone();
        async move {
            serve_after(stream, &ANSWERS, async || clock.sleep_until(clock.now() + BETWEEN).await)
                .await;
        }
    });
    let arm = arm(operations, trace_share.is_some());
    let setup = Setup {
        driver: Arc::new(Http1),
        arm: &arm,
        trial: &TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed: 1, duet: false },
        wall_clock: "2026-01-01T00:00:00Z".to_owned(),
        calendar: String::new,
        trace_share,
        keep_samples: None,
        real_time: true,
        share: PlanShare::WHOLE,
        start: Start::Ready,
        stop: StopSignal::new(),
        end: engine::EndSignal::new(),
    };
    let before = so_far();
    let trial = run_virtual(&setup, &clock, network, 1, &mut |_| {}).expect("it runs");
    assert_eq!(trial.totals.total().succeeded, operations);
    so_far() - before
}

fn arm(operations: u64, is_traced: bool) -> Arm {
    Arm {
        name: "all".to_owned(),
        factors: BTreeMap::new(),
        values: BTreeMap::new(),
        targets: vec![Target { url: "http://target".to_owned(), ..Target::default() }],
        load: Load {
            model: Model::Closed,
            stop: Stop::Operations { count: operations },
            warm_up: WarmUp::Fixed { length: Duration::ZERO },
            timeout: Duration::from_secs(1),
            connections: 4,
            streams: 1,
            reuse: Reuse::KeepAlive,
            steady_state: SteadyState::Reported,
            workers: Some(1),
            busy_poll: false,
        },
        operations: vec![plan::operation::Operation {
            is_traced,
            ..stand::planned("http = { method = \"POST\", path = \"/a\", body = \"end\" }")
        }],
        services: Vec::new(),
        system: None,
        observers: Vec::new(),
        faults: Vec::new(),
        journeys: Vec::new(),
        setup: None,
        teardown: None,
    }
}

/// One test, since the counter counts whatever the process allocates.
#[test]
fn a_warm_operation_allocates_nothing() {
    let literal = operation("http = { method = \"POST\", path = \"/a\", body = \"end\" }");
    let templates = operation(
        "http = { method = \"POST\", path = \"/a-{{sequence}}\", header = { x-id = \"{{nonce}}\" }, \
         body = \"{{random 0..99}} {{uuid}} end\" }\nexpect = { status = \"2xx\" }",
    );
    let stream = operation(
        "http = { path = \"/a\", body = \"end\", stream = { format = \"sse\", event = \"$.a[0].b\" } }\n\
         expect = { last = \"[DONE]\", events = 2 }",
    );
    let timed = operation(
        "http = { path = \"/a\", body = \"end\", server_timing = [\"gateway\", [\"embed\", \"search\"]] }",
    );
    run(async {
        assert_eq!(allocations(&literal, 30, 300).await, 0, "literal request");
        assert_eq!(allocations(&stream, 30, 300).await, 0, "stream of events");
        assert_eq!(allocations(&timed, 30, 300).await, 0, "request whose answer tells its times");
        assert_eq!(
            timed.check.reported_times.note().as_deref(),
            Some("110 metrics of `Server-Timing`, warm-up included, could not be parsed")
        );
        assert_eq!(allocations(&templates, 30, 300).await, 0, "request with templates");
        let mail =
            "to = [\"a-{{sequence}}@b.example\", \"c@d.example\"]\nsubject = \"{{nonce}}\"\n";
        for kind in ["size = \"1KiB\"", "size = \"100KiB\"", "body = \"{{bytes 500B}}\""] {
            let count = allocations_of_mail(&format!("{mail}{kind}")).await;
            assert_eq!(count, 0, "message of {kind}");
        }
        for command in ["[\"SET\", \"key:{{random 0..9}}\", \"{{bytes 100B}}\"]", "[\"PING\"]"] {
            let table = format!("redis = {{ command = {command} }}");
            let count = allocations_of_broker(Redis, ("redis", &table, b""), redis).await;
            assert_eq!(count, 0, "command {command}");
        }
        for (action, each) in
            [("publish", ", header = { a = \"{{nonce}}\" }"), ("request", ""), ("jetstream", "")]
        {
            let table = format!(
                "nats = {{ {action} = \"a.{{{{random 0..9}}}}\", payload = \"{{{{bytes 100B}}}}\"{each} }}"
            );
            let greeting = b"INFO {\"headers\":true}\r\n";
            let count = allocations_of_broker(Nats, ("nats", &table, greeting), nats).await;
            assert_eq!(count, 0, "{table}");
        }
        // What h2 needs: the map of fields, what it makes of it, and its frames.
        for (table, each) in [
            ("http2 = { path = \"/a\", header = { x = \"y\" } }", 12),
            ("http2 = { path = \"/a-{{sequence}}\", header = { x = \"{{nonce}}\" } }", 13),
        ] {
            let count = allocations_of_stream(table, 1_000).await;
            assert!(count <= 1_000 * each, "{count} allocations for 1,000 operations of {table}");
        }
        assert!(so_far() > 0, "the counter counts");
    });
    // A window of the trial costs some allocations, however many operations it holds: 40,000 more
    // operations of 10 µs each on four connections are one window more.
    allocations_of_trial(1_000, None);
    for share in [None, Some(1.0)] {
        let (few, many) =
            (allocations_of_trial(10_000, share), allocations_of_trial(50_000, share));
        assert!(many < few + 400, "{few} allocations for 10,000 operations, {many} for 50,000");
    }
}
