//! The page's server with clients that know nothing of it but HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::*;
use crate::audience::News;
use crate::tests::{measuring, part, plan, progress, window};

const MS: u64 = 1_000_000;
const LOOPBACK: &str = "127.0.0.1:0";

fn served(at: &str) -> (Browser, Arc<Plan>) {
    let plan = plan(&["p99 < 20ms"], &["<b>home</b>"]);
    let browser = Browser::start(at.parse().expect("an address"), &plan).expect("it serves");
    (browser, plan)
}

fn tell(browser: &mut Browser, news: News) {
    browser.audience.send(&Arc::new(news));
}

/// A trial of two minutes with a hundred operations in each of these seconds.
fn run_for(browser: &mut Browser, plan: &Arc<Plan>, seconds: std::ops::Range<u64>) {
    if seconds.start == 0 {
        let [mut begin, phase] = measuring(plan, &[]);
        if let News::Begin(head, _) = &mut begin {
            head.measure_ns = Some(120_000 * MS);
        }
        tell(browser, begin);
        tell(browser, phase);
    }
    for number in seconds {
        tell(browser, News::Window(window(number, vec![part(100, 100, 2 * MS)])));
        tell(browser, progress(number + 1, 0));
    }
}

/// A connection on which this was sent.
fn asked(browser: &Browser, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", browser.port)).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it reads");
    // What does not come fails the test.
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream
}

fn answer(browser: &Browser, target: &str, fields: &str) -> String {
    let request =
        format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n{fields}connection: close\r\n\r\n");
    let mut answer = String::new();
    asked(browser, &request).read_to_string(&mut answer).expect("an answer");
    answer
}

/// The events of a viewer.
struct Events(BufReader<TcpStream>);

impl Events {
    fn of(browser: &Browser) -> Self {
        Self(BufReader::new(asked(browser, "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")))
    }

    /// The next event with its name; `None` when the stream is over.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("text") == 0 {
                return None;
            }
            if let Some(event) = line.strip_prefix("event: ") {
                name = event.trim().to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).expect("JSON")));
            }
        }
    }

    /// The next frame that has this second.
    fn with_second(&mut self, second: u64) -> Value {
        std::iter::from_fn(|| self.next())
            .find(|(_, frame)| {
                let points = frame["points"].as_array().into_iter().flatten();
                points.filter_map(|point| point["t"].as_u64()).any(|t| t == second)
            })
            .expect("it comes")
            .1
    }
}

#[test]
fn a_viewer_who_comes_late_sees_the_whole_run_and_then_what_is_new_and_the_report() {
    let (mut browser, plan) = served(LOOPBACK);
    let mut early = Events::of(&browser);
    run_for(&mut browser, &plan, 0..90);
    early.with_second(89);
    let mut late = Events::of(&browser);
    let first = late.with_second(89);
    assert_eq!(first["new"], true);
    let points = first["points"].as_array().expect("points");
    assert_eq!(points.len(), 90, "a minute is not enough");
    assert_eq!(points[5]["planned"], 100.0);
    assert_eq!(first["state"]["operations"][0]["name"], "<b>home</b>", "a text is a text");
    assert_eq!(first["state"]["operations"][0]["done"], "9,000");
    run_for(&mut browser, &plan, 90..91);
    let next = late.with_second(90);
    assert_eq!((&next["new"], next["points"].as_array().map(Vec::len)), (&false.into(), Some(1)));
    browser.end("<html>\nthe report</html>".to_owned());
    for viewer in [&mut early, &mut late] {
        let last = std::iter::from_fn(|| viewer.next()).last().expect("the report");
        assert_eq!(last, ("report".to_owned(), "<html>\nthe report</html>".into()));
    }
}

#[test]
fn another_trial_begins_anew() {
    let (mut browser, plan) = served(LOOPBACK);
    let mut viewer = Events::of(&browser);
    run_for(&mut browser, &plan, 0..20);
    viewer.with_second(19);
    run_for(&mut browser, &plan, 0..1);
    let frame = viewer.with_second(0);
    assert_eq!((&frame["new"], frame["points"].as_array().map(Vec::len)), (&true.into(), Some(1)));
}

#[test]
fn nothing_can_be_changed_and_no_other_page_reads_it() {
    let (browser, _) = served(LOOPBACK);
    let page = answer(&browser, "/", "");
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
    for field in ["content-security-policy: default-src 'none'", "x-content-type-options: nosniff"]
    {
        assert!(page.contains(field), "{field}");
    }
    assert!(!page.contains("access-control-allow-origin"));
    assert!(answer(&browser, "/other", "").starts_with("HTTP/1.1 404"));
    let post = asked(&browser, "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    let mut line = String::new();
    BufReader::new(post).read_line(&mut line).expect("an answer");
    assert!(line.starts_with("HTTP/1.1 405"), "{line}");
    let rebound = asked(&browser, "GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n");
    let mut line = String::new();
    BufReader::new(rebound).read_line(&mut line).expect("an answer");
    assert!(line.starts_with("HTTP/1.1 403"), "{line}");
}

#[test]
fn others_than_this_machine_need_the_token_of_the_link() {
    let (browser, _) = served("0.0.0.0:0");
    assert!(answer(&browser, "/", "").starts_with("HTTP/1.1 403"));
    assert!(answer(&browser, "/events?token=0", "").starts_with("HTTP/1.1 403"));
    let (_, token) = browser.link.split_once("token=").expect("a token");
    assert!(answer(&browser, &format!("/?token={token}"), "").starts_with("HTTP/1.1 200"));
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert!(answer(&browser, "/", &bearer).starts_with("HTTP/1.1 200"));
}

/// Two hundred who watch, and forty who read nothing.
#[test]
fn slow_viewers_delay_neither_the_run_nor_others() {
    let (mut browser, plan) = served(LOOPBACK);
    let _silent: Vec<TcpStream> = (0..40)
        .map(|_| asked(&browser, "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n"))
        .collect();
    let mut viewers: Vec<Events> = (0..200).map(|_| Events::of(&browser)).collect();
    viewers.iter_mut().for_each(|viewer| assert!(viewer.next().is_some()));
    let long = "x".repeat(4_000);
    let slowest = (0..100).map(|second| {
        let began = Instant::now();
        tell(&mut browser, News::Note(long.clone()));
        run_for(&mut browser, &plan, second..second + 1);
        began.elapsed()
    });
    let slowest = slowest.max().expect("it ran");
    assert!(slowest < LAST_FRAME_WITHIN, "the run does not wait for viewers: {slowest:?}");
    let last = viewers.last_mut().expect("one").with_second(99);
    assert!(last["state"]["notes"].as_array().is_some_and(|notes| notes.len() <= 50));
    // One who comes when there is no room is refused, and is not kept waiting.
    let _more: Vec<TcpStream> = (0..40)
        .map(|_| asked(&browser, "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n"))
        .collect();
    let refused = answer(&browser, "/", "");
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    drop(viewers);
    let began = Instant::now();
    browser.end(String::new());
    assert!(began.elapsed() < 2 * LAST_FRAME_WITHIN, "the silent ones are not waited for");
}

#[test]
fn a_scraper_gets_metrics_in_the_form_that_it_accepts() {
    let (mut browser, plan) = served("0.0.0.0:0");
    let mut viewer = {
        let (_, query) = browser.link.split_once("/?").expect("a token");
        let request = format!("GET /events?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        Events(BufReader::new(asked(&browser, &request)))
    };
    run_for(&mut browser, &plan, 0..2);
    viewer.with_second(1);
    assert!(answer(&browser, "/metrics", "").starts_with("HTTP/1.1 403"));
    let (_, token) = browser.link.split_once("token=").expect("a token");
    let bearer = format!("authorization: Bearer {token}\r\n");
    let classic = answer(&browser, "/metrics", &bearer);
    assert!(classic.contains("content-type: text/plain; version=0.0.4"), "{classic}");
    assert!(classic.contains("run=\"20261124T1200Z-shop\"} 200\n"), "{classic}");
    let accept = format!("{bearer}accept: application/openmetrics-text;version=1.0.0\r\n");
    let open = answer(&browser, "/metrics", &accept);
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0"), "{open}");
    assert!(open.ends_with("# EOF\n"));
}
