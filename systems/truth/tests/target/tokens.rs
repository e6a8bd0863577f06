//! Mode `tokens` as its clients see it: the bytes of answers, their ends, and the report.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use serving::options::Options;

use crate::running::{Running, mode, read_answer, read_to_end};

/// Tokens without any time between them.
fn tokens(count: u64) -> Options {
    mode("tokens").with("tokens", count).with("gap", "0").with("rate", "1000000/s")
}

fn post(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: t\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Reads one answer in chunked coding: its head, and its chunks without the last, empty one.
fn read_chunks(stream: &mut TcpStream) -> (String, Vec<String>) {
    let head = read_until(stream, "\r\n\r\n");
    let mut chunks = Vec::new();
    loop {
        let size = read_until(stream, "\r\n");
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).unwrap();
        let chunk = String::from_utf8(chunk).unwrap();
        let content = chunk.strip_suffix("\r\n").unwrap();
        if content.is_empty() {
            return (head, chunks);
        }
        chunks.push(content.to_owned());
    }
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    text
}

fn event(chunk: &str) -> Value {
    let data = chunk.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n"));
    serde_json::from_str(data.unwrap()).unwrap()
}

fn is_token(chunk: &str) -> bool {
    chunk.contains("\"content\":\"tok\"")
}

#[test]
fn a_stream_has_exactly_these_bytes() {
    let target = Running::start(tokens(3).with("seed", 7));
    let mut stream = target.connect();
    let body = r#"{"stream":true,"stream_options":{"include_usage":true}}"#;
    let request = post(body).replace("host: t", "connection: close");
    stream.write_all(request.as_bytes()).unwrap();
    let chunk = |fields: &str| {
        let event = format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":0,\
             \"model\":\"truth\",{fields}}}\n\n"
        );
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let token = r#""choices":[{"index":0,"delta":{"content":"tok"},"finish_reason":null}]"#;
    let expect = [
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
         connection: close\r\n\r\n",
        &chunk(&token.replace("\"content\"", "\"role\":\"assistant\",\"content\"")),
        &chunk(token),
        &chunk(token),
        &chunk(r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}]"#),
        &chunk(
            r#""choices":[],"usage":{"prompt_tokens":14,"completion_tokens":3,"total_tokens":17}"#,
        ),
        "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
    ];
    assert_eq!(read_to_end(&mut stream), (expect.concat(), None));
}

#[test]
fn a_connection_carries_one_stream_after_the_other() {
    let target = Running::start(tokens(4));
    let mut stream = target.connect();
    for number in 1..=3 {
        stream.write_all(post("").as_bytes()).unwrap();
        let (head, chunks) = read_chunks(&mut stream);
        assert!(!head.contains("connection:"), "{head}");
        assert_eq!(chunks.iter().filter(|chunk| is_token(chunk)).count(), 4);
        assert_eq!(chunks.len(), 6, "4 tokens, the finish, and the end: {chunks:?}");
        assert_eq!(event(&chunks[4])["id"], format!("chatcmpl-{number}"));
        assert_eq!(chunks[5], "data: [DONE]\n\n");
    }
    stream.write_all(post(r#"{"stream":true}"#).repeat(2).as_bytes()).unwrap();
    for _pipelined in 0..2 {
        assert_eq!(read_chunks(&mut stream).1.len(), 6);
    }
    let report = target.report("");
    assert_eq!((&report["received"], &report["tokens"]), (&json!(5), &json!(20)));
    assert_eq!(report["streams_cut"], 0);
}

#[test]
fn an_answer_that_is_not_streamed_is_one_object() {
    let target = Running::start(tokens(3));
    let mut stream = target.connect();
    for _ in 0..2 {
        stream.write_all(post(r#"{"messages":[]}"#).as_bytes()).unwrap();
        let answer = read_answer(&mut stream);
        assert!(answer.contains("content-type: application/json\r\n"), "{answer}");
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["choices"][0]["message"]["content"], "toktoktok");
        assert_eq!(body["choices"][0]["finish_reason"], "stop");
        let usage = json!({"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7});
        assert_eq!(body["usage"], usage);
    }
    assert_eq!(target.report("")["tokens"], 6);
}

#[test]
fn a_request_limits_the_tokens() {
    let target = Running::start(tokens(5));
    let mut stream = target.connect();
    for (limits, expect) in [
        (r#""max_tokens":2"#, 2),
        (r#""max_completion_tokens":1"#, 1),
        (r#""max_tokens":4,"max_completion_tokens":3"#, 3),
        (r#""max_tokens":500"#, 5),
    ] {
        stream.write_all(post(&format!("{{\"stream\":true,{limits}}}")).as_bytes()).unwrap();
        let (_, chunks) = read_chunks(&mut stream);
        assert_eq!(chunks.iter().filter(|chunk| is_token(chunk)).count(), expect, "{limits}");
    }
}

#[test]
fn a_cut_stream_ends_within_an_event() {
    let target = Running::start(tokens(9).with("cut", "100%"));
    let mut stream = target.connect();
    stream.write_all(post("").as_bytes()).unwrap();
    let (answer, error) = read_to_end(&mut stream);
    assert_eq!(error, None);
    assert_eq!(answer.matches("\"content\":\"tok\"").count(), 4);
    assert!(!answer.contains("finish_reason\":\"stop") && !answer.contains("[DONE]"));
    // The announced chunk is longer than what is left of it.
    let (announced, part) = answer.rsplit_once("\r\n").unwrap();
    let announced = announced.rsplit_once("\r\n").unwrap().1;
    assert!(part.starts_with("data: {"), "{part}");
    assert!(part.len() < usize::from_str_radix(announced, 16).unwrap());
    let report = target.report("");
    assert_eq!((&report["tokens"], &report["streams_cut"]), (&json!(4), &json!(1)));
    assert_eq!(report["last_token_ns"], Value::Null);
}

#[test]
fn an_answer_that_is_not_streamed_is_never_cut() {
    let target = Running::start(tokens(9).with("cut", "100%"));
    let mut stream = target.connect();
    stream.write_all(post("{}").as_bytes()).unwrap();
    assert!(read_answer(&mut stream).contains("\"completion_tokens\":9"));
    assert_eq!(target.report("")["streams_cut"], 0);
}

#[test]
fn other_requests_are_refused_and_are_no_arrivals() {
    let target = Running::start(tokens(1));
    let mut stream = target.connect();
    for (request, status) in [
        (post("not JSON"), "400 Bad Request"),
        (post(r#"{"max_tokens":0}"#), "400 Bad Request"),
        ("GET /v1/models HTTP/1.1\r\n\r\n".to_owned(), "405 Method Not Allowed"),
        (post("{}").replace("POST", "PUT"), "405 Method Not Allowed"),
    ] {
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_answer(&mut stream);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
        assert_eq!(answer.contains("\r\nallow: POST\r\n"), status.starts_with("405"));
    }
    assert_eq!(target.report("")["received"], 0);
    stream.write_all(post("{}").as_bytes()).unwrap();
    assert!(read_answer(&mut stream).contains("chatcmpl-1"));
}

#[test]
fn a_long_prompt_that_comes_in_parts_is_read() {
    let target = Running::start(tokens(2));
    let mut stream = target.connect();
    let prompt = "x".repeat(300_000);
    let body = format!("{{\"prompt\":\"{prompt}\",\"stream\":true,\"max_tokens\":1}}");
    for _ in 0..2 {
        let head = format!(
            "POST / HTTP/1.1\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(read_until(&mut stream, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(body.as_bytes()).unwrap();
        let (_, chunks) = read_chunks(&mut stream);
        assert_eq!(chunks.iter().filter(|chunk| is_token(chunk)).count(), 1);
    }
}

#[test]
fn the_report_has_the_planned_times() {
    let constant = mode("tokens").with("tokens", 4).with("prefill", "constant");
    let target =
        Running::start(constant.with("rate", "500/s").with("gap", "3ms").with("gaps", "constant"));
    for path in ["{}", ""] {
        let mut stream = target.connect();
        let started = std::time::Instant::now();
        let request = post(path).replace("host: t", "connection: close");
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(read_to_end(&mut stream).1, None);
        assert!(started.elapsed().as_millis() >= 2 + 3 * 3, "no token is early");
    }
    let report = target.report("");
    assert_eq!(report["first_token_ns"]["min"], 2_000_000);
    assert_eq!(report["first_token_ns"]["max"], 2_000_000);
    assert_eq!(
        (&report["gap_ns"]["min"], &report["gap_ns"]["count"]),
        (&json!(3_000_000), &json!(6))
    );
    assert_eq!(report["last_token_ns"]["max"], 11_000_000);
    assert_eq!(report["answer_lateness_ns"]["count"], 5, "4 tokens of a stream, and one answer");
    assert_eq!(target.ready["effective"]["conduct"]["tokens"]["gap_ns"], 3_000_000);
}

#[test]
fn its_figures_can_be_referred_to_in_this_mode_only() {
    let counts = |name| (truth::SYSTEM.surface)(&mode(name)).counts;
    for figure in ["first_token_ns", "gap_ns", "last_token_ns", "tokens", "streams_cut"] {
        assert!(counts("tokens").contains(&figure), "{figure}");
        assert!(!counts("mm1").contains(&figure), "{figure}");
    }
}

#[test]
fn streams_in_progress_lengthen_the_gaps_of_others() {
    let batched = tokens(100_000).with("gap", "1ms").with("gaps", "constant");
    let target = Running::start(batched.with("batch", "50%").with("drain", "1ms"));
    let gaps_of_a_stream = || {
        target.control("POST /truth/reset");
        let mut stream = target.connect();
        stream.write_all(post(r#"{"stream":true,"max_tokens":3}"#).as_bytes()).unwrap();
        read_chunks(&mut stream);
        target.report("")["gap_ns"].clone()
    };
    assert_eq!(gaps_of_a_stream()["max"], 1_000_000);
    let mut others: Vec<_> = (0..2).map(|_| target.connect()).collect();
    for other in &mut others {
        other.write_all(post("").as_bytes()).unwrap();
        read_until(other, "\r\n\r\n");
    }
    // Two streams beside it, which go on long after it.
    assert_eq!(gaps_of_a_stream()["max"], 2_000_000);
    drop(others);
    while !target.control("GET /metrics").contains("truth_connections 1\n") {}
    assert_eq!(gaps_of_a_stream()["max"], 1_000_000);
}

#[test]
fn a_reset_repeats_the_draws() {
    let drawn = mode("tokens").with("rate", "20000/s").with("gap", "50us").with("tokens", 5);
    let target = Running::start(drawn.with("lengths", "geometric").with("seed", 3));
    let run = || {
        let mut stream = target.connect();
        for _ in 0..20 {
            stream.write_all(post("").as_bytes()).unwrap();
            read_chunks(&mut stream);
        }
        let report = target.report("");
        ["service_ns", "gap_ns", "tokens"].map(|field| report[field].clone())
    };
    let first = run();
    target.control("POST /truth/reset");
    assert_eq!(target.report("")["tokens"], 0);
    assert_eq!(run(), first);
}

#[test]
fn a_client_that_does_not_read_is_closed_and_others_go_on() {
    // Some 19 MB, more than the buffers of both sockets hold.
    let target = Running::start(tokens(100_000).with("read", "1ms"));
    let mut slow = target.connect();
    slow.write_all(post("").as_bytes()).unwrap();
    while target.control("GET /metrics").contains("truth_connections_timed_out_total 0\n") {
        let mut other = target.connect();
        other.write_all(post(r#"{"stream":true,"max_tokens":2}"#).as_bytes()).unwrap();
        assert_eq!(read_chunks(&mut other).1.len(), 4);
    }
    let mut received = Vec::new();
    // How it ends, in order or by a reset, is up to the kernel.
    let _ = slow.read_to_end(&mut received);
    assert!(!received.ends_with(b"0\r\n\r\n"));
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let target = Running::start(tokens(100_000).with("gap", "100us"));
    let mut stream = target.connect();
    stream.write_all(post("").as_bytes()).unwrap();
    read_until(&mut stream, "\r\n\r\n");
    drop(stream);
    while !target.control("GET /metrics").contains("truth_connections 1\n") {}
    assert_eq!(target.report("")["last_token_ns"], Value::Null);
}

#[test]
fn a_stop_lets_streams_end_and_then_closes() {
    let mut target = Running::start(tokens(20).with("gap", "5ms").with("drain", "10m"));
    let mut stream = target.connect();
    stream.write_all(post("").as_bytes()).unwrap();
    read_until(&mut stream, "\r\n\r\n");
    target.stop();
    let (rest, error) = read_to_end(&mut stream);
    assert!(rest.ends_with("[DONE]\n\n\r\n0\r\n\r\n"), "{error:?}");
    target.join();
}
