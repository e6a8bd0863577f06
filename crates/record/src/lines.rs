//! Files of lines that may end in the middle of one, because the writer was killed.

use std::io::{BufRead, BufReader, Read};

use crate::RecordError;

/// Gives one value per line; a last line without its end does not count, even if it can be read: the half of
/// a number is a number.
pub(crate) struct Lines {
    file: String,
    reader: BufReader<Box<dyn Read>>,
    number: u64,
    line: String,
}

impl Lines {
    pub(crate) fn new(file: &str, reader: Box<dyn Read>) -> Self {
        Self {
            file: file.to_owned(),
            reader: BufReader::new(reader),
            number: 0,
            line: String::new(),
        }
    }

    /// The next value that `parse` finds; lines for which it gives `None` are passed over.
    pub(crate) fn next<T>(
        &mut self,
        mut parse: impl FnMut(&str) -> Result<Option<T>, String>,
    ) -> Option<Result<T, RecordError>> {
        loop {
            let mut bytes = std::mem::take(&mut self.line).into_bytes();
            bytes.clear();
            match self.reader.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(source) => return Some(Err(RecordError::io(&self.file)(source))),
            }
            if bytes.last() != Some(&b'\n') {
                return None;
            }
            self.line = String::from_utf8_lossy(&bytes).into_owned();
            match parse(self.line.trim_end_matches(['\r', '\n'])) {
                Ok(Some(value)) => return Some(Ok(value)),
                Ok(None) => {}
                Err(problem) => return Some(Err(self.malformed(problem))),
            }
        }
    }

    fn malformed(&self, problem: String) -> RecordError {
        RecordError::Malformed { file: self.file.clone(), line: self.number, problem }
    }
}
