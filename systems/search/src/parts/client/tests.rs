//! A client of parts against real sockets: reuse, restarts, deadlines.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue";

/// Reads one small request; nothing at the connection's end.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).await.unwrap_or(0) == 0 {
            return None;
        }
        text.push(byte[0]);
    }
    let text = String::from_utf8(text).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    Some(text)
}

/// A part whose connections answer so many requests each and then break; how often it was asked and connected to.
async fn part(answers: u32) -> (String, Arc<[AtomicU32; 2]>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let counts: Arc<[AtomicU32; 2]> = Arc::default();
    let told = Arc::clone(&counts);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counts[1].fetch_add(1, Ordering::SeqCst);
            for _ in 0..answers {
                if request(&mut stream).await.is_none() {
                    break;
                }
                counts[0].fetch_add(1, Ordering::SeqCst);
                stream.write_all(ANSWER).await.unwrap();
            }
            // The next one is read and not answered.
            if request(&mut stream).await.is_some() {
                counts[0].fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    (address, told)
}

fn counted(counts: &[AtomicU32; 2]) -> [u32; 2] {
    [0, 1].map(|place| counts[place].load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_connection_is_kept() {
    let (address, counts) = part(10).await;
    let client = Client::new("index", &format!("http://{address}/"), Duration::from_secs(30));
    for _ in 0..5 {
        assert!(client.get::<bool>("/v1/status").await.unwrap());
    }
    assert_eq!(counted(&counts), [5, 1]);
}

#[tokio::test]
async fn a_read_over_a_broken_connection_is_sent_once_more_and_a_write_is_not() {
    let (address, counts) = part(1).await;
    let client = Client::new("index", &address, Duration::from_secs(30));
    assert!(client.get::<bool>("/v1/status").await.unwrap());
    assert!(client.get::<bool>("/v1/status").await.unwrap(), "over a new connection");
    assert_eq!(counted(&counts), [3, 2]);
    let error = client.post::<Value>("/v1/write", &json!({}), Kind::Write, 1).await.unwrap_err();
    assert_eq!((error.code, error.retry_after), (Code::Unavailable, Some(RETRY_AFTER)));
    assert!(error.message.starts_with(&format!("the index at {address}: ")), "{error}");
    assert_eq!(counted(&counts), [4, 2], "it was not sent again");
}

#[tokio::test]
async fn a_part_that_never_answers_is_unavailable_within_the_deadline() {
    let (address, _) = part(0).await;
    // Accepts and reads, and the connection breaks: known at once.
    let client = Client::new("embedder", &address, Duration::from_secs(30));
    assert_eq!(client.get::<Value>("/x").await.unwrap_err().code, Code::Unavailable);
    // Accepts by the kernel alone, and never answers.
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = mute.local_addr().unwrap().to_string();
    let client = Client::new("embedder", &address, Duration::from_millis(20));
    let error = client.get::<Value>("/x").await.unwrap_err();
    assert!(error.message.ends_with("no answer within 20 ms"), "{error}");
    // Refuses.
    drop(mute);
    let error = client.get::<Value>("/x").await.unwrap_err();
    assert!(error.message.contains("refused"), "{error}");
}

#[tokio::test]
async fn what_a_part_refuses_is_told_as_it_was() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let body = r#"{"error":{"code":"INVALID_FILTER","message":"no row has it","at":"/filter/x"}}"#;
    let length = body.len();
    let answer = format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {length}\r\n\r\n{body}");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let client = Client::new("index", &address, Duration::from_secs(30));
    let error = client.get::<Value>("/v1/status").await.unwrap_err();
    assert_eq!(error, ApiError::new(Code::InvalidFilter, "no row has it").at("/filter/x"));
}
