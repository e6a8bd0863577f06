//! Where the time of an answer went, as its `Server-Timing` tells it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{PATIENCE, Received, TestProxy, Upstream, answer};

/// The parts that an answer tells of, in milliseconds, with the lines of others as they stand.
pub fn reported(seen: &Received) -> (Vec<String>, [f64; 3]) {
    let lines = seen.head.lines().filter_map(|line| line.strip_prefix("server-timing: "));
    let (own, others): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with("proxy;dur="));
    let [own] = &own[..] else { panic!("told once: {}", seen.head) };
    let mut parts = own.split(", ");
    let times = ["proxy", "upstream", "cast"].map(|name| {
        let part = parts.next().and_then(|part| part.strip_prefix(name)?.strip_prefix(";dur="));
        part.unwrap_or_else(|| panic!("no {name} in {own}")).parse().unwrap()
    });
    assert_eq!(parts.next(), None, "{own}");
    (others.into_iter().map(str::to_owned).collect(), times)
}

#[test]
fn every_answer_tells_where_its_time_went() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    for (short, line, is_asked_for) in [
        ("GET /a", "200 miss one", true),
        ("GET /a", "200 hit one", false),
        ("POST /a|=x", "200 pass one", true),
        ("GET /b|cache-control: only-if-cached", "504 none", false),
    ] {
        let seen = proxy.ask(short);
        assert!(seen.line().starts_with(line), "{short}: {}", seen.line());
        let (_, [whole, upstream, cast]) = reported(&seen);
        assert_eq!(upstream > 0.0, is_asked_for, "{short}: {}", seen.head);
        assert!(whole > 0.0 && whole >= upstream, "{short}: {}", seen.head);
        assert_eq!(cast.to_bits(), 0, "nobody is told");
    }
    let own = proxy.ask("GET /_proxy/healthz");
    assert_eq!(own.header("server-timing"), None, "its own paths are no answers of the edge's");
}

#[test]
fn what_the_upstream_tells_of_itself_goes_on_and_is_not_kept() {
    let first = "200|cache-control: max-age=60|server-timing: origin;dur=5|server-timing: x|=one";
    let answers: VecDeque<String> = [first.to_owned()].into();
    let upstream = Upstream::of(&Arc::new(Mutex::new(answers)));
    let proxy = TestProxy::before(upstream.address);
    let seen = proxy.ask("GET /");
    assert_eq!(
        (seen.line().as_str(), reported(&seen).0),
        ("200 miss one", vec!["origin;dur=5".to_owned(), "x".to_owned()])
    );
    let seen = proxy.ask("GET /");
    assert_eq!((seen.line().as_str(), reported(&seen).0), ("200 hit one", Vec::new()));
}

#[test]
fn the_time_until_the_upstream_answers_is_its_own() {
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let upstream = Upstream::new(move |_, _| {
        gone.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        answer("200|=one")
    });
    let proxy = TestProxy::before(upstream.address);
    thread::scope(|scope| {
        let asked = scope.spawn(|| proxy.ask("GET /"));
        upstream.until(1);
        // It waits for an answer from here on, at the latest.
        let begun = Instant::now();
        // The length is the known answer, not a way to wait for something.
        thread::sleep(Duration::from_millis(2));
        let least = begun.elapsed();
        go.send(()).unwrap();
        let (_, [whole, upstream, _]) = reported(&asked.join().unwrap());
        assert!(whole >= upstream, "{whole} and {upstream}");
        let least_ms = least.as_secs_f64() * 1e3;
        assert!(upstream >= least_ms, "{upstream} ms, of which {least_ms} at least");
    });
}
