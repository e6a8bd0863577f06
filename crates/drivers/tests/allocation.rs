//! A kept-alive operation allocates nothing once its connection is warm.
#![expect(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

mod stand;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use drivers::http1::conversation::Conversation;
use drivers::http1::operation::Operation;
use engine::transport::Stream;
use record::Outcome;
use stand::{call, exchange, operation, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The system's allocator with a counter before it.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ANSWERS: [&[u8]; 3] = [
    b"HTTP/1.1 200 OK\r\nserver: test\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
];

/// Answers every request of a connection with the next of the answers; allocates only at first.
async fn serve(mut stream: TcpStream) {
    let mut buffer = vec![0; 4096];
    for answer in ANSWERS.iter().cycle() {
        let mut seen = 0;
        while !buffer[..seen].ends_with(b"end") {
            match stream.read(&mut buffer[seen..]).await {
                Ok(0) | Err(_) => return,
                Ok(read) => seen += read,
            }
        }
        stream.write_all(answer).await.expect("the other end reads");
    }
}

async fn allocations(operation: &Operation, warm_up: u64, operations: u64) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let server = serve(theirs.expect("a connection").0);
    let stream = Stream::Tcp(ours.expect("a connection"));
    let mut conversation = Conversation::new(stream, "example.test");
    let mut exchange = exchange(operation);
    let client = async {
        let mut before = 0;
        for sequence in 0..warm_up + operations {
            if sequence == warm_up {
                before = ALLOCATIONS.load(Ordering::Relaxed);
            }
            exchange.clear(operation.items.len());
            operation.encode(&mut conversation, &call(sequence));
            let outcome = operation.perform(&mut conversation, &mut exchange).await;
            assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
            assert!(exchange.reusable);
        }
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    tokio::select! {
        count = client => count,
        () = server => unreachable!("the server outlives the client"),
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
    run(async {
        assert_eq!(allocations(&literal, 30, 300).await, 0, "literal request");
        assert_eq!(allocations(&templates, 30, 300).await, 0, "request with templates");
        assert!(ALLOCATIONS.load(Ordering::Relaxed) > 0, "the counter counts");
    });
}
