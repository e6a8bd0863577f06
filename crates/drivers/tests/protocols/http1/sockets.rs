//! The same conversation over real sockets: TCP, with its resets, and Unix.

use drivers::http1::conversation::Conversation;
use engine::transport::Stream;
use record::{FailureKind, Outcome};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::http1::peer::perform;
use crate::http1::stand::{exchange, operation, run};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async fn tcp() -> (Conversation, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let (ours, theirs) = tokio::join!(TcpStream::connect(address), listener.accept());
    let stream = Stream::Tcp(ours.expect("a connection"));
    (Conversation::new(stream, "example.test"), theirs.expect("a connection").0)
}

#[test]
fn a_hundred_operations_on_one_unix_socket() {
    let operation = operation("http = {}");
    run(async {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let mut conversation = Conversation::new(Stream::Unix(ours), "example.test");
        let mut exchange = exchange(&operation);
        let serve = async {
            let mut buffer = [0; 1024];
            for _ in 0..100 {
                let read = theirs.read(&mut buffer).await.expect("a request");
                assert!(buffer[..read].ends_with(b"\r\n\r\n"), "one write for each request");
                theirs.write_all(OK).await.expect("the other end reads");
            }
        };
        let ask = async {
            for _ in 0..100 {
                let outcome = perform(&operation, &mut conversation, &mut exchange).await;
                assert_eq!(outcome, Outcome::Succeeded);
            }
        };
        tokio::join!(serve, ask);
    });
}

#[test]
fn a_reset_is_a_reset_before_the_answer_and_within_it() {
    let operation = operation("http = {}");
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfour"] {
        run(async {
            let (mut conversation, mut peer) = tcp().await;
            let mut exchange = exchange(&operation);
            let serve = async {
                let mut buffer = [0; 1024];
                let _ = peer.read(&mut buffer).await.expect("a request");
                peer.write_all(answer).await.expect("the other end reads");
                peer.set_zero_linger().expect("a socket option");
                drop(peer);
            };
            let (outcome, ()) =
                tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
            assert_eq!(outcome, Outcome::Failed(FailureKind::Reset), "{:?}", exchange.detail);
            assert!(!exchange.reusable);
        });
    }
}

#[test]
fn a_peer_that_closes_a_kept_connection_is_noticed_while_idle() {
    let operation = operation("http = {}");
    run(async {
        let (mut conversation, mut peer) = tcp().await;
        let mut exchange = exchange(&operation);
        let serve = async {
            let mut buffer = [0; 1024];
            let _ = peer.read(&mut buffer).await.expect("a request");
            peer.write_all(OK).await.expect("the other end reads");
            drop(peer);
        };
        let (outcome, ()) =
            tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(outcome, Outcome::Succeeded);
        conversation.idle().await;
        let outcome = perform(&operation, &mut conversation, &mut exchange).await;
        assert_eq!(outcome, Outcome::Failed(FailureKind::Closed));
        assert_eq!(exchange.bytes_sent, 0);
    });
}

#[test]
fn a_long_answer_comes_whole_through_a_small_buffer() {
    let operation = operation("http = {}\nexpect = { body_size = \"5MB\", contains = \"last\" }");
    run(async {
        let (mut conversation, mut peer) = tcp().await;
        let mut exchange = exchange(&operation);
        let serve = async {
            let mut buffer = [0; 1024];
            let _ = peer.read(&mut buffer).await.expect("a request");
            let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n".to_vec();
            answer.resize(answer.len() + 4_999_996, b'x');
            answer.extend_from_slice(b"last");
            peer.write_all(&answer).await.expect("the other end reads");
        };
        let (outcome, ()) =
            tokio::join!(perform(&operation, &mut conversation, &mut exchange), serve);
        assert_eq!(outcome, Outcome::Succeeded, "{:?}", exchange.detail);
        assert!(exchange.reusable);
    });
}
