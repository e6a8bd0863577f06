//! Access logs, and results of load tools: the requests in their order, and the instants at which each began.
//!
//! The log is read once, line by line, within a bound of memory. A stamp says an instant only to the second, or to the
//! millisecond. The requests of one stamp are spread over it: given their count, their instants are uniform, as those of
//! every process are whose rate does not change within the stamp.
//!
//! Not here: whether the load that was performed kept the burstiness of the log (see `judge`).

mod client;
mod distinct;
mod line;
mod sessions;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::time::Duration;

use plan::randomness::{RandomStream, draw, unit};
use quantities::format_duration;
use url::{Position, Url};

use distinct::Distinct;
use line::Request;
pub use sessions::SessionFile;
use sessions::Sessions;
use table::Table;

use crate::draft::{Draft, DraftJourney, DraftOperation, DraftStep, Replay};
use crate::format::Options;
use crate::masks::UNKNOWN;
use crate::stamp::Stamp;

/// Longer lines are skipped.
const LONGEST_LINE: u64 = 1 << 20;
/// Servers write a line when a request has ended, so lines may be late; how late, in nanoseconds.
const LATE: i128 = 60_000_000_000;
/// How much waits for such late ones, at most; see [`sessions::weight`].
const MOST_WAITING: usize = 1 << 20;
/// Stamps that are finer need no remark; in nanoseconds.
const COARSE: u64 = 1_000_000;
/// The seed of the instants within stamps: the same log always gives the same files.
const SEED: u64 = 1;
/// Methods whose requests are whole without a body.
const WITHOUT_BODY: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// Labels that are counted.
const MOST_LABELS: usize = 1_000;
/// Labels that are shown.
const LABELS_SHOWN: usize = 10;

/// What became of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// Requests that were written.
    pub requests: u64,
    /// Sessions that they belong to, if those were asked for.
    pub sessions: Option<u64>,
    /// How many of them were cut, since too many went on at a time.
    pub cut_sessions: u64,
    /// Lines that were left out, by reason: how many, and the number of the first, from 1.
    pub left_out: BTreeMap<&'static str, (u64, u64)>,
    /// Nanoseconds from the first stamp to the last request.
    pub length: u64,
    /// The coarsest stamp, in nanoseconds.
    pub within: u64,
    /// Where the requests go; of a log without hosts, an address to be filled in.
    pub origin: String,
    /// Requests to hosts that are not wanted, and where the first of them goes.
    pub unwanted: u64,
    /// See `unwanted`.
    pub unwanted_origin: String,
    /// Requests by what a load tool calls them.
    pub labels: BTreeMap<String, u64>,
    /// Whether the log says no methods.
    pub is_without_methods: bool,
}

/// Whether a text begins with lines of an access log, or of results.
pub fn seems(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    if text.lines().next().is_some_and(|first| Table::begun_by(first).is_some()) {
        return true;
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(20);
    let (good, all) = lines
        .map(|line| usize::from(line::read(line).is_ok()))
        .fold((0, 0), |(good, all), one| (good + one, all + 1));
    good > 0 && good * 2 >= all
}

/// Reads a log, and writes a line of `offsets` for each request, and one of `requests` (method and path) for each that is
/// new. With `sessions`, `requests` has all of them, those of a session together, and `offsets` a line for each session.
///
/// Errors: those of the reader and the writers
pub fn convert<'a>(
    mut log: impl BufRead,
    wanted: &Options,
    requests: &'a mut impl Write,
    offsets: &'a mut impl Write,
    sessions: Option<SessionFile<'a>>,
) -> io::Result<LogSummary> {
    writeln!(offsets, "{}", if sessions.is_some() { "offset_ns" } else { "offset_ns,request" })?;
    let mut queue =
        Queue { waiting: BTreeMap::new(), weight: 0, newest: i128::MIN, written: i128::MIN };
    let mut files = Files {
        requests,
        offsets,
        sessions: sessions.map(Sessions::new).transpose()?,
        distinct: Distinct::new(),
        began: None,
        drawn: 0,
        finest: u64::MAX,
        summary: LogSummary::default(),
    };
    let (mut line, mut next, mut table) = (Vec::new(), 1, None::<Table>);
    while let Some(lines) = read_record(&mut log, &mut line, table.is_some())? {
        let number = next;
        next += lines;
        if !line.ends_with(b"\n") && line.len() as u64 == LONGEST_LINE {
            files.leave_out("it is longer than 1 MiB", number);
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        if text.trim().is_empty() {
            continue;
        }
        if number == 1 {
            table = Table::begun_by(text);
            files.summary.is_without_methods =
                table.as_ref().is_some_and(|table| !table.has_methods());
            if table.as_ref().is_some_and(|table| table.has_header) {
                continue;
            }
        }
        let read = match &table {
            Some(table) => table.read(text),
            None => line::read(text.trim_end()),
        };
        let names_client = table.is_none().then_some(text);
        match read.and_then(|request| files.request(&request, names_client, wanted)) {
            Ok(Some(entry)) => queue.add(entry, number, &mut files)?,
            Ok(None) => {}
            Err(reason) => files.leave_out(reason, number),
        }
    }
    queue.end(&mut files)?;
    files.end_sessions()?;
    files.requests.flush()?;
    files.offsets.flush()?;
    Ok(files.summary)
}

/// Reads a line; in a table, also the lines in which a text in quotes goes on. How many there were; `None` at the end.
fn read_record(
    log: &mut impl BufRead,
    line: &mut Vec<u8>,
    is_table: bool,
) -> io::Result<Option<u64>> {
    line.clear();
    let (mut lines, mut quotes) = (0, 0);
    loop {
        let before = line.len();
        let room = LONGEST_LINE.saturating_sub(before as u64);
        if log.by_ref().take(room).read_until(b'\n', line)? == 0 {
            return Ok((lines > 0).then_some(lines));
        }
        lines += 1;
        if !line.ends_with(b"\n") && line.len() as u64 == LONGEST_LINE {
            skip_line(log)?;
            return Ok(Some(lines));
        }
        quotes += line[before..].iter().filter(|byte| **byte == b'"').count();
        if !is_table || quotes % 2 == 0 {
            return Ok(Some(lines));
        }
    }
}

/// Reads up to the end of the line.
fn skip_line(log: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = log.fill_buf()?;
        let (used, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        log.consume(used);
        if is_end {
            return Ok(());
        }
    }
}

/// The address of a host that may have a scheme and a port.
fn address_of(host: &str) -> String {
    match host.rsplit_once(':') {
        _ if host.contains("://") => host.to_owned(),
        Some((_, "443")) => format!("https://{host}"),
        _ => format!("http://{host}"),
    }
}

/// Scheme, host and port of an address, without user and password.
///
/// Errors: why it has none
fn origin(address: &str) -> Result<String, &'static str> {
    let url = Url::parse(address).map_err(|_| "its host cannot be read")?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.port() != Some(0);
    // A line end within a host is left out by the reader of addresses, and so could begin a request.
    let is_clean = !address.contains(|c: char| c.is_control() || c.is_whitespace());
    let host = url.host_str().filter(|host| !host.is_empty() && !host.contains('{'));
    let host = host.filter(|_| is_web && is_clean).ok_or("its host cannot be read")?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Ok(format!("{}://{host}{port}", url.scheme()))
}

/// A request with the stamp of its line.
struct Entry {
    stamp: Stamp,
    sent: Sent,
}

/// What was sent, and by whom.
struct Sent {
    /// Method and path.
    target: String,
    /// Empty where nobody asks.
    client: String,
}

impl Sent {
    fn weight(&self) -> usize {
        sessions::weight(&self.target) + self.client.len() / 256
    }
}

/// Requests of the same stamp.
struct SameStamp {
    within: u64,
    requests: Vec<Sent>,
}

/// Requests that may still be overtaken by a late line with an earlier stamp.
struct Queue {
    waiting: BTreeMap<i128, SameStamp>,
    weight: usize,
    newest: i128,
    /// The latest stamp that was written.
    written: i128,
}

impl Queue {
    fn add<R: Write, O: Write>(
        &mut self,
        entry: Entry,
        line: u64,
        files: &mut Files<'_, R, O>,
    ) -> io::Result<()> {
        let Entry { stamp, sent } = entry;
        // In a short log, nothing is written yet.
        if stamp.at <= self.written || stamp.at.saturating_add(LATE) < self.newest {
            files.leave_out("it is more than a minute late", line);
            return Ok(());
        }
        let empty = || SameStamp { within: stamp.within, requests: Vec::new() };
        self.weight += sent.weight();
        self.waiting.entry(stamp.at).or_insert_with(empty).requests.push(sent);
        self.newest = self.newest.max(stamp.at);
        while self.weight > MOST_WAITING
            || self.waiting.first_key_value().is_some_and(|(at, _)| *at + LATE < self.newest)
        {
            self.write_first(files)?;
        }
        Ok(())
    }

    fn write_first<R: Write, O: Write>(&mut self, files: &mut Files<'_, R, O>) -> io::Result<()> {
        if let Some((at, same)) = self.waiting.pop_first() {
            self.weight -= same.requests.iter().map(Sent::weight).sum::<usize>();
            self.written = at;
            files.write(at, same)?;
        }
        Ok(())
    }

    fn end<R: Write, O: Write>(&mut self, files: &mut Files<'_, R, O>) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_first(files)?;
        }
        Ok(())
    }
}

/// The two files.
struct Files<'a, R, O> {
    requests: &'a mut R,
    offsets: &'a mut O,
    /// If they were asked for.
    sessions: Option<Sessions<'a>>,
    distinct: Distinct,
    /// The first stamp: intervals from it on are those of the log, so their counts are too.
    began: Option<i128>,
    /// Instants that were drawn so far.
    drawn: u64,
    /// The finest stamp so far, in nanoseconds.
    finest: u64,
    summary: LogSummary,
}

impl<R: Write, O: Write> Files<'_, R, O> {
    fn leave_out(&mut self, reason: &'static str, line: u64) {
        self.summary.left_out.entry(reason).or_insert((0, line)).0 += 1;
    }

    /// The request of a line, whose text may name a client; `None` if it goes to a host that is not wanted.
    ///
    /// Errors: why it is left out
    fn request(
        &mut self,
        request: &Request<'_>,
        text: Option<&str>,
        wanted: &Options,
    ) -> Result<Option<Entry>, &'static str> {
        if !WITHOUT_BODY.contains(&&*request.method) {
            return Err("its body is not in the log");
        }
        let (origin, path) = match request.target.starts_with('/') {
            true => {
                let host = request.host.as_deref();
                let origin = host.map(|host| origin(&address_of(host))).transpose()?;
                (origin, request.target.to_string())
            }
            false => {
                let url = Url::parse(&request.target).map_err(|_| "its address cannot be read")?;
                let path = url[Position::BeforePath..Position::AfterQuery].to_owned();
                (Some(origin(&request.target)?), path)
            }
        };
        if let Some(origin) = origin.as_deref().filter(|origin| !wanted.wants(origin)) {
            if self.summary.unwanted == 0 {
                origin.clone_into(&mut self.summary.unwanted_origin);
            }
            self.summary.unwanted += 1;
            return Ok(None);
        }
        if self.summary.origin.is_empty() {
            let wanted = wanted.hosts.first();
            let host = wanted.map(|host| self::origin(&address_of(host))).transpose()?;
            self.summary.origin = origin.clone().or(host).unwrap_or_else(|| UNKNOWN.to_owned());
        }
        if origin.is_some_and(|origin| origin != self.summary.origin) {
            return Err("it goes to another host than the first");
        }
        let client = match &self.sessions {
            None => String::new(),
            Some(sessions) => {
                let text = text.ok_or("it is of a load tool, which names no clients")?;
                client::of(text, sessions.field())?
            }
        };
        let path = path.replace(|c: char| c.is_whitespace() || c.is_control(), "%20");
        let target = format!("{} {path}", request.method);
        if let Some(label) = &request.label {
            let labels = &mut self.summary.labels;
            if labels.len() < MOST_LABELS || labels.contains_key(label) {
                *labels.entry(label.clone()).or_default() += 1;
            }
        }
        Ok(Some(Entry { stamp: request.stamp, sent: Sent { target, client } }))
    }

    /// Writes requests of one stamp at instants within it.
    fn write(&mut self, at: i128, same: SameStamp) -> io::Result<()> {
        // A log that drops zeros at the end of a fraction has stamps that look coarser than its clock is.
        self.finest = self.finest.min(same.within);
        let within = self.finest;
        let mut instants: Vec<u64> = (self.drawn..)
            .take(same.requests.len())
            .map(|index| {
                let place = 1.0 - unit(draw(SEED, RandomStream::Schedule, index));
                (place * within as f64) as u64
            })
            .collect();
        self.drawn += instants.len() as u64;
        instants.sort_unstable();
        self.summary.requests += same.requests.len() as u64;
        for (Sent { target, client }, instant) in same.requests.into_iter().zip(instants) {
            let instant = at + i128::from(instant);
            let began = *self.began.get_or_insert(at);
            let offset = u64::try_from(instant - began).unwrap_or_default();
            let offset = self.summary.length.max(offset);
            self.summary.length = offset;
            let Some(sessions) = &mut self.sessions else {
                let number = self.distinct.number(target, self.requests)?;
                writeln!(self.offsets, "{offset},{number}")?;
                continue;
            };
            if sessions.add(client, target, offset, self.requests)? {
                writeln!(self.offsets, "{offset}")?;
            }
        }
        self.summary.within = self.summary.within.max(within);
        Ok(())
    }
}

impl<R: Write, O> Files<'_, R, O> {
    fn end_sessions(&mut self) -> io::Result<()> {
        if let Some(sessions) = &mut self.sessions {
            sessions.end(self.requests)?;
            self.summary.sessions = Some(sessions.begun);
            self.summary.cut_sessions = sessions.cut;
        }
        Ok(())
    }
}

/// Names of the files that a log becomes.
#[derive(Debug, Clone, Copy)]
pub struct FileNames<'a> {
    /// Methods and paths.
    pub requests: &'a str,
    /// Instants.
    pub offsets: &'a str,
    /// Sessions, if they were asked for.
    pub sessions: Option<&'a str>,
}

impl LogSummary {
    /// The experiment that replays these files.
    pub fn draft(&self, source: &str, files: FileNames<'_>) -> Draft {
        let length = Duration::from_nanos(self.length);
        let mut draft = Draft {
            title: format!("Replay of {source}"),
            load: Some(Replay {
                offsets: files.offsets.to_owned(),
                requests: self.requests,
                sessions: self.sessions,
                length,
                resolution: (self.within >= COARSE).then(|| Duration::from_nanos(self.within)),
            }),
            ..Draft::default()
        };
        for (reason, (count, first)) in &self.left_out {
            let first = usize::try_from(*first).ok();
            draft.note(first, format!("{reason} (lines like this: {count})"));
        }
        if self.cut_sessions > 0 {
            let what = format!("too many sessions go on at a time: {} are cut", self.cut_sessions);
            draft.note(None, what);
        }
        if self.is_without_methods {
            let what = "the results have no methods and no bodies: each request is sent as GET";
            draft.note(None, what);
        }
        let mut comments = Vec::new();
        if !self.labels.is_empty() {
            let mut labels: Vec<_> = self.labels.iter().collect();
            labels.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let shown = labels.iter().take(LABELS_SHOWN);
            let shown: Vec<_> = shown.map(|(label, count)| format!("{label} ({count})")).collect();
            let more = labels.len().saturating_sub(LABELS_SHOWN);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            comments.push(format!("Labels: {}{more}.", shown.join(", ")));
        }
        if self.within >= COARSE {
            let within = format_duration(Duration::from_nanos(self.within));
            comments.push(format!(
                "The log says instants to {within}; within that, requests are spread evenly at random."
            ));
        }
        let request = draft.add(DraftOperation {
            name: "request".to_owned(),
            origin: self.origin.clone(),
            targets: Some(files.requests.to_owned()),
            comments,
            ..DraftOperation::default()
        });
        if let Some(sessions) = files.sessions {
            draft.add_journey(DraftJourney {
                name: "session".to_owned(),
                steps: vec![DraftStep::Do(vec![request])],
                sessions: Some(sessions.to_owned()),
                ..DraftJourney::default()
            });
        }
        draft
    }
}
