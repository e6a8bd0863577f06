//! What a body means to write: its rows with their places, and those that cannot be taken.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api_error::{ApiError, Code};
use crate::gateway::reading;
use crate::row::{REFUSED_TOLD, Refused, Row};

/// How a body is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct IngestOptions {
    /// One row a line; otherwise one object.
    pub is_lines: bool,
    /// As the path's parameters say.
    pub drop: bool,
    /// Likewise.
    pub all_or_nothing: bool,
}

/// A row with its line (from 1) or its position in the list (from 0).
#[derive(Debug)]
pub(super) struct PlacedRow {
    pub row: Row,
    place: u64,
}

/// What is to be written.
#[derive(Debug)]
pub(super) struct IngestRequest {
    is_lines: bool,
    pub drop: bool,
    all_or_nothing: bool,
    pub rows: Vec<PlacedRow>,
    pub delete: Vec<String>,
    /// The first of those that cannot be taken.
    pub refused: Vec<Refused>,
    /// How many those are.
    pub refused_count: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    #[serde(default, borrow)]
    rows: Vec<&'a RawValue>,
    #[serde(default)]
    drop: bool,
    #[serde(default)]
    delete: Vec<String>,
    #[serde(default)]
    all_or_nothing: bool,
}

impl IngestRequest {
    /// Reads a body.
    ///
    /// Errors: it is no such object, or means nothing; a bad row is no error but refused
    pub fn read(body: &[u8], form: IngestOptions) -> Result<Self, ApiError> {
        let IngestOptions { is_lines, drop, all_or_nothing } = form;
        let (rows, delete, refused) = (Vec::new(), Vec::new(), Vec::new());
        let mut intended =
            Self { is_lines, drop, all_or_nothing, rows, delete, refused, refused_count: 0 };
        if is_lines {
            let lines = (1..).zip(body.split(|byte| *byte == b'\n'));
            for (place, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
                intended.take(place, line);
            }
        } else {
            let body: Body<'_> = reading::read(body)?;
            intended.drop |= body.drop;
            intended.all_or_nothing |= body.all_or_nothing;
            intended.delete = body.delete;
            for (place, row) in (0..).zip(body.rows) {
                intended.take(place, row.get().as_bytes());
            }
        }
        let is_empty = intended.rows.is_empty() && intended.refused.is_empty();
        if is_empty && intended.delete.is_empty() && !intended.drop {
            let what = "the request writes nothing: give rows, delete or drop";
            return Err(ApiError::new(Code::InvalidRequest, what).at(""));
        }
        Ok(intended)
    }

    fn take(&mut self, place: u64, json: &[u8]) {
        match Row::read(json) {
            Ok(row) => self.rows.push(PlacedRow { row, place }),
            Err(refusal) => self.refuse_row(place, refusal),
        }
    }

    /// Keeps the rows that this has nothing against.
    pub fn retain(&mut self, check: impl Fn(&Row) -> Result<(), ApiError>) {
        let rows = std::mem::take(&mut self.rows);
        for placed in rows {
            match check(&placed.row) {
                Ok(()) => self.rows.push(placed),
                Err(refusal) => self.refuse_row(placed.place, refusal),
            }
        }
    }

    /// Takes out one of the rows.
    pub fn refuse(&mut self, number: usize, refusal: ApiError) {
        let placed = self.rows.remove(number);
        self.refuse_row(placed.place, refusal);
    }

    fn refuse_row(&mut self, place: u64, mut refusal: ApiError) {
        self.refused_count += 1;
        if self.refused.len() == REFUSED_TOLD {
            return;
        }
        let line = self.is_lines.then_some(place);
        if !self.is_lines {
            refusal.at = Some(format!("/rows/{place}{}", refusal.at.unwrap_or_default()));
        }
        self.refused.push(Refused { line, refusal });
    }

    /// Why nothing of it is to be written, if so.
    pub fn error(&self) -> Option<ApiError> {
        let first = self.refused.first()?;
        let all = self.rows.len() as u64 + self.refused_count;
        let place = match (&first.line, &first.refusal.at) {
            (Some(line), Some(at)) => format!("line {line}, {at}"),
            (Some(line), None) => format!("line {line}"),
            (None, at) => at.clone().unwrap_or_default(),
        };
        let bad = self.refused_count;
        let why =
            format!("{bad} of {all} rows are invalid, first {place}: {}", first.refusal.message);
        let is_for_nothing = self.rows.is_empty() && self.delete.is_empty();
        (self.all_or_nothing || is_for_nothing).then(|| {
            let refusal = ApiError::new(Code::InvalidRow, format!("nothing was written: {why}"));
            match &first.refusal.at {
                Some(at) => refusal.at(at),
                None => refusal,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: IngestOptions =
        IngestOptions { is_lines: true, drop: false, all_or_nothing: false };
    const OBJECT: IngestOptions = IngestOptions { is_lines: false, ..LINES };

    #[test]
    fn the_bad_line_of_ten_thousand_is_named_and_the_others_are_taken() {
        let mut lines: Vec<String> =
            (1..=10_000).map(|n| format!(r#"{{"id":"w-{n}","text":"row {n}"}}"#)).collect();
        lines[6_999] = r#"{"id":"w-7000","text":7}"#.to_owned();
        let body = lines.join("\n");
        let intended = IngestRequest::read(body.as_bytes(), LINES).unwrap();
        assert_eq!((intended.rows.len(), intended.refused_count), (9_999, 1));
        let refused = &intended.refused[0];
        assert_eq!((refused.line, refused.refusal.at.as_deref()), (Some(7_000), Some("/text")));
        assert_eq!(intended.error(), None);
        let all = IngestOptions { all_or_nothing: true, ..LINES };
        let error = IngestRequest::read(body.as_bytes(), all).unwrap().error().unwrap();
        assert_eq!(error.code, Code::InvalidRow);
        assert!(
            error.message.contains("1 of 10000 rows are invalid, first line 7000, /text"),
            "{error}"
        );
    }

    #[test]
    fn an_object_names_places_in_its_list() {
        let body = br#"{"rows":[{"id":"a","text":"x"},{"id":""},3],"delete":["b"],"drop":true}"#;
        let intended = IngestRequest::read(body, OBJECT).unwrap();
        assert!(intended.drop);
        assert_eq!((intended.rows.len(), &*intended.delete), (1, &["b".to_owned()][..]));
        let places: Vec<_> = intended.refused.iter().map(|one| one.refusal.at.as_deref()).collect();
        assert_eq!(places, [Some("/rows/1/id"), Some("/rows/2")]);
        for bad in [&b"{}"[..], b"", b"[]", br#"{"row":[]}"#, br#"{"rows":[{}]"#] {
            let refusal = IngestRequest::read(bad, OBJECT).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidRequest);
        }
        assert!(IngestRequest::read(b"\n\n", LINES).is_err());
        assert!(IngestRequest::read(b"", IngestOptions { drop: true, ..LINES }).unwrap().drop);
    }

    #[test]
    fn all_bad_is_an_error_and_only_the_first_are_told() {
        let body = "x\n".repeat(1_000);
        let intended = IngestRequest::read(body.as_bytes(), LINES).unwrap();
        assert_eq!((intended.refused.len(), intended.refused_count), (REFUSED_TOLD, 1_000));
        assert!(intended.error().unwrap().message.contains("1000 of 1000 rows"));
    }

    #[test]
    fn rows_refused_later_keep_their_lines() {
        let body = b"{\"id\":\"a\",\"text\":\"x\"}\n\n{\"id\":\"b\",\"text\":\"y\"}\n";
        let mut intended = IngestRequest::read(body, LINES).unwrap();
        intended.refuse(1, ApiError::new(Code::InvalidRow, "no direction").at("/text"));
        assert_eq!(intended.refused[0].line, Some(3));
        intended.retain(|_| Err(ApiError::new(Code::InvalidRow, "no")));
        assert_eq!((intended.rows.len(), intended.refused[1].line), (0, Some(1)));
    }
}
