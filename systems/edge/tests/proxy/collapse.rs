//! Equal requests at the same time: one of them asks.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use crate::house::{House, Upstream, answer, ask, connect, message, request, reset};

/// So many clients that ask for the same at the same time; what each of them sees.
fn crowd(house: &House, count: usize, short: &str) -> Vec<thread::JoinHandle<String>> {
    let (address, text) = (house.address, request(short));
    let client = |_| {
        let text = text.clone();
        thread::spawn(move || ask(address, &text))
    };
    (0..count).map(client).collect()
}

/// An upstream that answers each request when it is let.
fn gated(short: &'static str) -> (Upstream, mpsc::Sender<()>) {
    let (let_go, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let upstream = Upstream::new(move |_, _| {
        // Whoever lets go of the sender lets all of them.
        let _ = gate.lock().unwrap().recv();
        answer(short)
    });
    (upstream, let_go)
}

/// What `x-cache` says, counted.
fn words(answers: &[String], word: &str) -> usize {
    answers.iter().filter(|answer| answer.contains(&format!("x-cache: {word}\r\n"))).count()
}

#[test]
fn fifty_that_ask_for_the_same_are_one_for_the_upstream() {
    let (upstream, let_go) = gated("200|cache-control: max-age=60|=one");
    let house = House::with(upstream.address, &[("collapse", "20s"), ("threads", "2")]);
    let clients = crowd(&house, 50, "GET /");
    house.until("proxy_under_way", 50);
    upstream.until(1);
    let_go.send(()).unwrap();
    let answers: Vec<String> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer.ends_with("\r\n\r\none")), "{answers:?}");
    assert_eq!(upstream.times(), 1);
    assert_eq!(words(&answers, "miss"), 1);
    // One that came to look only after it had landed found it there.
    assert_eq!(words(&answers, "collapsed") + words(&answers, "hit"), 49);
    assert_eq!(house.figure("proxy_answers_total{cache=\"miss\"}"), 1);
}

/// The same for what is stale: it is asked about once.
#[test]
fn a_stale_answer_is_asked_about_once() {
    let (sender, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let upstream = Upstream::new(move |head, _| {
        if !head.contains("if-none-match") {
            return answer("200|cache-control: max-age=60|age: 60|etag: \"a\"|=one");
        }
        let _ = gate.lock().unwrap().recv();
        answer("304|etag: \"a\"|cache-control: max-age=60")
    });
    let house = House::with(upstream.address, &[("collapse", "20s")]);
    house.ask("GET /");
    let clients = crowd(&house, 10, "GET /");
    house.until("proxy_under_way", 10);
    upstream.until(2);
    sender.send(()).unwrap();
    let answers: Vec<String> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert_eq!(upstream.times(), 2);
    assert_eq!(words(&answers, "revalidated"), 1);
    assert_eq!(words(&answers, "collapsed") + words(&answers, "hit"), 9);
}

#[test]
fn what_serves_nobody_else_is_asked_for_by_each() {
    for short in ["200|cache-control: no-store|=one", "200|=one", "404|=one", "503|=one"] {
        let (upstream, let_go) = gated(short);
        let house = House::with(upstream.address, &[("collapse", "20s")]);
        let clients = crowd(&house, 5, "GET /");
        house.until("proxy_under_way", 5);
        drop(let_go);
        for client in clients {
            assert!(client.join().unwrap().ends_with("one"), "{short}");
        }
        assert_eq!(upstream.times(), 5, "{short}");
    }
}

/// Whoever waits for one that is slow goes on alone in the end.
#[test]
fn nobody_waits_longer_than_the_bound() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::with(listener.local_addr().unwrap(), &[("collapse", "100ms")]);
    let mut slow = connect(house.address);
    slow.write_all(request("GET /").as_bytes()).unwrap();
    let held = accept(&listener);
    let second = crowd(&house, 1, "GET /").remove(0);
    // Asked for while the first is still without an answer.
    let mut stream = accept(&listener);
    stream.write_all(answer("200|cache-control: max-age=60|=two").as_bytes()).unwrap();
    let seen = second.join().unwrap();
    assert!(seen.contains("x-cache: miss\r\n") && seen.ends_with("two"), "{seen}");
    drop(held);
}

/// If the client of the one that asks resets, one of those who wait asks.
#[test]
fn another_one_asks_when_the_first_resets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::with(listener.local_addr().unwrap(), &[("collapse", "20s")]);
    let mut first = connect(house.address);
    first.write_all(request("GET /").as_bytes()).unwrap();
    let held = accept(&listener);
    let others = crowd(&house, 5, "GET /");
    house.until("proxy_under_way", 6);
    reset(first);
    let mut stream = accept(&listener);
    stream.write_all(answer("200|cache-control: max-age=60|=two").as_bytes()).unwrap();
    for other in others {
        assert!(other.join().unwrap().ends_with("two"));
    }
    assert_eq!(house.figure("proxy_upstream_requests_total"), 2);
    drop(held);
}

#[test]
fn nobody_waits_where_that_is_off() {
    let (upstream, let_go) = gated("200|cache-control: max-age=60|=one");
    let house = House::with(upstream.address, &[("collapse", "0")]);
    let clients = crowd(&house, 5, "GET /");
    upstream.until(5);
    drop(let_go);
    clients.into_iter().for_each(|client| assert!(client.join().unwrap().ends_with("one")));
}

/// A connection of the proxy's on which a request has been read.
fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    stream
}
