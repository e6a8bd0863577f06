//! What a proxy casts about its answers, and that its clients never notice.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use edge::monitor;
use serde_json::Value;
use serving::error::ServeError;
use serving::options::Options;
use serving::stop::{Stop, Stopper};

use crate::fixture::{PATIENCE, TestProxy, Upstream, ask};

/// A monitor of a test's own.
struct Monitor {
    ready: Value,
    stopper: Stopper,
    served: JoinHandle<Result<(), ServeError>>,
}

impl Monitor {
    fn start() -> Self {
        let (stopper, stop) = Stop::pair();
        let (tell, told) = mpsc::channel();
        let served = thread::spawn(move || {
            monitor::SYSTEM.serve_until(&Options::default(), stop, |ready| {
                tell.send(serde_json::to_value(ready).unwrap()).unwrap();
            })
        });
        Self { ready: told.recv_timeout(PATIENCE).unwrap(), stopper, served }
    }

    fn address(&self, name: &str) -> &str {
        self.ready["listening"][name].as_str().unwrap()
    }

    fn get(&self, path: &str) -> Value {
        let address = self.address("http").parse().unwrap();
        let text = ask(address, &format!("GET {path} HTTP/1.0\r\n\r\n"));
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn stop(self) {
        self.stopper.stop();
        self.served.join().unwrap().unwrap();
    }
}

#[test]
fn each_answer_is_told_as_often_and_as_long_as_was_asked_for() {
    let monitor = Monitor::start();
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let to = monitor.address("casts");
    let settings = [("cast_to", to), ("cast_messages", "3"), ("cast_bytes", "500B")];
    let proxy = TestProxy::with(upstream.address, &settings);
    assert_eq!(proxy.ready["effective"]["cast_messages"], 3);
    for (path, line) in [("/a", "200 miss one"), ("/a", "200 hit one"), ("/b", "200 miss one")] {
        assert_eq!(proxy.ask(&format!("GET {path}")).line(), line);
    }
    proxy.until(&format!("proxy_casts_taken_total{{to=\"{to}\"}}"), 9);
    proxy.stopped();
    let seen = monitor.get("/observed");
    let count = |name: &str| {
        let own = seen.get(name).filter(|value| value.is_u64());
        own.unwrap_or(&seen["detail"][name]).as_u64().unwrap()
    };
    assert_eq!(["received", "dropped", "cast", "unbalanced"].map(count), [9, 0, 9, 0], "{seen}");
    let kept = monitor.get("/v1/messages");
    let lengths: Vec<usize> = kept["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["payload"].as_str().unwrap().len())
        .collect();
    // 500 bytes in base64.
    assert_eq!(lengths, [668; 9]);
    monitor.stop();
}

#[test]
fn clients_are_served_while_no_monitor_is_there_and_what_has_no_room_is_counted() {
    // Nobody listens there.
    let to = "127.0.0.1:1";
    let upstream = Upstream::always("200|=one");
    let room = [("cast_room", "1KiB"), ("cast_blocking", "true")];
    let settings = [("cast_to", to), ("cast_messages", "4"), room[0], room[1]];
    let proxy = TestProxy::with(upstream.address, &settings);
    for _ in 0..5 {
        assert_eq!(proxy.ask("GET /").status, 200);
    }
    let figure = |name: &str| proxy.figure(&format!("proxy_casts_{name}{{to=\"{to}\"}}"));
    let [cast, dropped, taken, pending] =
        ["total", "dropped_total", "taken_total", "pending"].map(figure);
    assert_eq!((cast, taken, cast), (20, 0, dropped + pending));
    assert!(dropped >= 19 - 8, "a lane has room for one message of 2,000 bytes: {dropped}");
}
