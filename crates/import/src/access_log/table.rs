//! Results of load tools as tables, one line a request: JMeter's JTL (CSV form) and vegeta's CSV.
//!
//! Source: JMeter's manual, "CSV Log format"; vegeta, `NewCSVEncoder` in `lib/results.go`

use super::line::{Reason, Request};
use crate::stamp::{iso, number_since_1970};

/// What JMeter writes for samples without an address.
const NULL: &str = "null";
/// Fields of vegeta since 12.9: the method and the address are the last but one.
const VEGETA: usize = 12;

/// Where the columns of a table are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    delimiter: u8,
    stamp: usize,
    label: Option<usize>,
    method: Option<usize>,
    url: Option<usize>,
    /// Whether the first line has names.
    pub(super) has_header: bool,
}

impl Table {
    /// The table that begins with this line.
    pub(super) fn begun_by(line: &str) -> Option<Self> {
        [b',', b';', b'\t'].into_iter().find_map(|delimiter| {
            let cells = cells(line, delimiter)?;
            let place = |name: &str| cells.iter().position(|cell| cell == name);
            if let (Some(stamp), Some(_)) = (place("timeStamp"), place("elapsed")) {
                let (label, method) = (place("label"), place("method"));
                return Some(Self {
                    delimiter,
                    stamp,
                    label,
                    method,
                    url: place("URL"),
                    has_header: true,
                });
            }
            let is_number = |at: usize| cells[at].bytes().all(|byte| byte.is_ascii_digit());
            let is_vegeta = cells.len() == VEGETA
                && cells[0].len() == 19
                && [0, 1, 2, 3, 4, 8].into_iter().all(is_number);
            is_vegeta.then_some(Self {
                delimiter,
                stamp: 0,
                label: None,
                method: Some(9),
                url: Some(10),
                has_header: false,
            })
        })
    }

    /// Whether the table says the method of each request.
    pub(super) fn has_methods(&self) -> bool {
        self.method.is_some()
    }

    /// The request of a line.
    ///
    /// Errors: why it is none
    pub(super) fn read(&self, line: &str) -> Result<Request<'static>, Reason> {
        let cells = cells(line, self.delimiter).ok_or("it is no line of the table")?;
        let cell = |place: usize| cells.get(place).map(String::as_str).unwrap_or_default();
        let stamp = cell(self.stamp);
        let stamp = number_since_1970(stamp).or_else(|| iso(stamp));
        let stamp = stamp.ok_or("it has no time that is understood")?;
        let url = self.url.map(cell).unwrap_or_default();
        if url.is_empty() || url == NULL {
            return Err("it has no address");
        }
        let method = self.method.map(cell).filter(|method| !method.is_empty()).unwrap_or("GET");
        let label = self.label.map(cell).filter(|label| !label.is_empty());
        Ok(Request {
            stamp,
            method: method.to_owned().into(),
            target: url.to_owned().into(),
            host: None,
            label: label.map(str::to_owned),
        })
    }
}

/// The fields of a line.
fn cells(line: &str, delimiter: u8) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    reader.has_headers(false).flexible(true).delimiter(delimiter);
    let mut records = reader.from_reader(line.as_bytes()).into_records();
    let record = records.next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}
