//! The paths that do not count as load: `/healthz`, `/metrics`, `/observed` and `/truth/…`.

use std::fmt::Write;
use std::io;

use serde_json::Value;
use serving::metrics;
use serving::observed::Observed;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::answer::Last;
use crate::head::Head;
use crate::report::{self, ReportQuery};
use crate::state::TargetState;

/// Stamps that go out in one chunk of `/truth/arrivals`.
const STAMPS_PER_CHUNK: usize = 4096;

/// A request for one of them.
#[derive(Debug)]
pub(crate) enum Request {
    Health,
    Metrics,
    Reset,
    Report(Result<ReportQuery, String>),
    Observed,
    Arrivals,
    /// A `/truth/` path, or a method, that does not exist.
    Unknown(u16),
}

impl Request {
    /// `None` if the request is load.
    pub(crate) fn of(head: &Head<'_>) -> Option<Self> {
        let request = match head.path {
            b"/healthz" => Self::Health,
            b"/metrics" => Self::Metrics,
            b"/truth/reset" if head.method == b"POST" => return Some(Self::Reset),
            b"/truth/reset" => Self::Unknown(405),
            b"/truth/report" => {
                Self::Report(ReportQuery::parse(&String::from_utf8_lossy(head.query)))
            }
            b"/truth/arrivals" => Self::Arrivals,
            b"/observed" => Self::Observed,
            path if path.starts_with(b"/truth/") => Self::Unknown(404),
            _ => return None,
        };
        Some(if head.method == b"GET" { request } else { Self::Unknown(405) })
    }
}

/// Answers in full.
pub(crate) async fn answer(
    stream: &mut TcpStream,
    state: &TargetState,
    request: &Request,
    last: Last,
) -> io::Result<()> {
    let (status, media_type, body) = match request {
        Request::Health => ("200 OK", "text/plain", "ok\n".to_owned()),
        Request::Metrics => ("200 OK", metrics::CONTENT_TYPE, state.registry.render()),
        Request::Reset => {
            state.reset();
            ("200 OK", "application/json", "{\"reset\":true}\n".to_owned())
        }
        Request::Report(Ok(query)) => ("200 OK", "application/json", render_report(state, *query)),
        Request::Observed => ("200 OK", "application/json", render_observed(state)),
        Request::Report(Err(problem)) => ("400 Bad Request", "text/plain", format!("{problem}\n")),
        Request::Arrivals => return write_arrivals(stream, state, last).await,
        Request::Unknown(405) => ("405 Method Not Allowed", "text/plain", String::new()),
        Request::Unknown(_) => (
            "404 Not Found",
            "text/plain",
            "use /truth/report, /truth/arrivals or POST /truth/reset\n".to_owned(),
        ),
    };
    let length = format!("content-length: {}", body.len());
    let whole = render_head(status, media_type, &length, last) + &body;
    stream.write_all(whole.as_bytes()).await
}

fn render_report(state: &TargetState, query: ReportQuery) -> String {
    let stamps = state.stamps.borrow();
    let report = report::report(&stamps, &state.configuration, query);
    serde_json::to_string(&report).expect("numbers and strings always serialize") + "\n"
}

/// What arrived, in the form that launchers read from every observer.
fn render_observed(state: &TargetState) -> String {
    let stamps = state.stamps.borrow();
    let query = ReportQuery { rate: state.configuration.planned_rate, ..ReportQuery::default() };
    let report = report::report(&stamps, &state.configuration, query);
    let mut observed =
        Observed { counts: "requests", received: stamps.received(), ..Observed::default() };
    if let Ok(Value::Object(detail)) = serde_json::to_value(&report) {
        observed.detail = detail;
    }
    observed.body() + "\n"
}

/// One stamp a line, in chunks, so that millions of them need little memory.
async fn write_arrivals(stream: &mut TcpStream, state: &TargetState, last: Last) -> io::Result<()> {
    let head = render_head("200 OK", "text/plain", "transfer-encoding: chunked", last);
    stream.write_all(head.as_bytes()).await?;
    let count = state.stamps.borrow().arrivals().len();
    let mut from = 0;
    while from < count {
        let text = render_stamps(state, from..count.min(from + STAMPS_PER_CHUNK));
        // Fewer than there were: a reset came in between, and the list ends here.
        if text.is_empty() {
            break;
        }
        stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
        from += STAMPS_PER_CHUNK;
    }
    stream.write_all(b"0\r\n\r\n").await
}

fn render_stamps(state: &TargetState, range: std::ops::Range<usize>) -> String {
    let stamps = state.stamps.borrow();
    let mut text = String::new();
    for arrival in stamps.arrivals().get(range).unwrap_or_default() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", arrival.arrived_ns);
    }
    text
}

fn render_head(status: &str, media_type: &str, framing: &str, last: Last) -> String {
    let close = if last == Last::Yes { "connection: close\r\n" } else { "" };
    format!("HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\n{framing}\r\n{close}\r\n")
}
