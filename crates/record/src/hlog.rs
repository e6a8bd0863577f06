//! The interval log of HdrHistogram, version 1.3: one line an interval and tag, readable by its tools.
//!
//! Values are in nanoseconds, the column of the greatest value in milliseconds. Overflown values stand at
//! the first value beyond our range, so that their number survives.

#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use stats::{Bucket, COARSE, FINE, Histogram, RANGE_BITS};

use crate::RecordError;
use crate::lines::Lines;

/// Nanoseconds in a millisecond, the unit of the column of the greatest value.
const MAX_UNIT: f64 = 1e6;
/// Half of the last digit of that column.
const MAX_ROUNDING: f64 = 500.0;
/// Greatest value of the exported geometry: one power of two for the overflow.
const HIGHEST: u64 = (1 << (RANGE_BITS + 1)) - 1;

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogInterval {
    /// What was recorded, if the line says it.
    pub tag: Option<String>,
    /// Start, in nanoseconds from the start of the log (to the millisecond).
    pub start_ns: u64,
    /// Length in nanoseconds (to the millisecond).
    pub length_ns: u64,
    /// The values; coarse. The least is known to its bucket, the greatest to a microsecond.
    pub histogram: Histogram,
}

/// Writes an interval log.
pub struct IntervalLogWriter {
    writer: Box<dyn Write + Send>,
    serializer: V2DeflateSerializer,
    payload: Vec<u8>,
    line: String,
}

impl IntervalLogWriter {
    /// Begins a log with its header. `start_ms`: milliseconds since the Unix epoch, to which every interval
    /// is relative.
    pub fn new(mut writer: Box<dyn Write + Send>, start_ms: u64) -> io::Result<Self> {
        let seconds = start_ms as f64 / 1e3;
        write!(
            writer,
            "#[Histogram log format version 1.3]\n\
             #[StartTime: {seconds:.3} (seconds since epoch)]\n\
             #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        )?;
        writer.flush()?;
        Ok(Self {
            writer,
            serializer: V2DeflateSerializer::new(),
            payload: Vec::new(),
            line: String::new(),
        })
    }

    /// Appends one line. Nothing is on disk before [`Self::flush`].
    ///
    /// Shape:  `tag` without commas, blanks and line ends
    pub fn write(
        &mut self,
        tag: &str,
        start_ns: u64,
        length_ns: u64,
        histogram: &Histogram,
    ) -> io::Result<()> {
        self.payload.clear();
        self.serializer
            .serialize(&to_hdr(histogram), &mut self.payload)
            .map_err(io::Error::other)?;
        self.line.clear();
        STANDARD.encode_string(&self.payload, &mut self.line);
        let (start, length) = (start_ns as f64 / 1e9, length_ns as f64 / 1e9);
        let max = histogram.max() as f64 / MAX_UNIT;
        writeln!(self.writer, "Tag={tag},{start:.3},{length:.3},{max:.3},{}", self.line)
    }

    /// Hands everything to the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Reads an interval log line by line; an unfinished last line is passed over.
pub struct IntervalLog {
    lines: Lines,
    deserializer: Deserializer,
}

impl IntervalLog {
    /// Reads from here; `file` is its name in messages.
    pub fn new(file: &str, reader: Box<dyn Read>) -> Self {
        Self { lines: Lines::new(file, reader), deserializer: Deserializer::new() }
    }
}

impl Iterator for IntervalLog {
    type Item = Result<LogInterval, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let deserializer = &mut self.deserializer;
        self.lines.next(|line| match line.as_bytes().first() {
            None | Some(b'#' | b'"') => Ok(None),
            Some(_) => interval(line, deserializer).map(Some),
        })
    }
}

fn interval(line: &str, deserializer: &mut Deserializer) -> Result<LogInterval, String> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(tagged) => {
            let (tag, rest) = tagged.split_once(',').ok_or("a tag without an interval")?;
            (Some(tag.to_owned()), rest)
        }
        None => (None, line),
    };
    let columns: Vec<&str> = rest.splitn(4, ',').collect();
    let [start, length, max, payload] = columns[..] else {
        return Err(format!(
            "expected start, length, greatest value and histogram, got {} columns",
            columns.len()
        ));
    };
    let mut histogram = decode_as(COARSE, payload, deserializer)?;
    if let Ok(max) = f64::from_str(max) {
        histogram.tighten_max((max * MAX_UNIT + MAX_ROUNDING).round() as u64);
    }
    Ok(LogInterval {
        tag,
        start_ns: nanoseconds(start)?,
        length_ns: nanoseconds(length)?,
        histogram,
    })
}

fn nanoseconds(seconds: &str) -> Result<u64, String> {
    let value = f64::from_str(seconds).map_err(|_| format!("expected seconds, got {seconds:?}"))?;
    Ok((value * 1e9).round() as u64)
}

/// Reads one histogram of nanoseconds: HdrHistogram V2, compressed, in base64. Fine.
///
/// Errors: a sentence on what is wrong with it
pub fn decode(payload: &str) -> Result<Histogram, String> {
    decode_as(FINE, payload, &mut Deserializer::new())
}

fn decode_as(
    grouping_power: u32,
    payload: &str,
    deserializer: &mut Deserializer,
) -> Result<Histogram, String> {
    let bytes = STANDARD
        .decode(payload)
        .map_err(|error| format!("the histogram is not base64: {error}"))?;
    let hdr: Hdr<u64> = deserializer
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| format!("the histogram cannot be decoded: {error}"))?;
    Ok(from_hdr(&hdr, grouping_power))
}

/// The same counts in the geometry of HdrHistogram: 3 digits for a fine histogram, 2 for a coarse one.
pub fn to_hdr(histogram: &Histogram) -> Hdr<u64> {
    let digits = if histogram.grouping_power() > COARSE { 3 } else { 2 };
    let mut hdr =
        Hdr::new_with_bounds(1, HIGHEST, digits).expect("constant bounds that the library allows");
    let overflow = Bucket { low: 1 << RANGE_BITS, high: u64::MAX, count: histogram.overflow() };
    for bucket in histogram.buckets().chain(Some(overflow)).filter(|bucket| bucket.count > 0) {
        hdr.record_n(bucket.low, bucket.count).expect("every bucket lies below the greatest value");
    }
    hdr
}

/// The counts of an HdrHistogram in this geometry; exact if the other is the same or a finer one.
pub fn from_hdr(hdr: &Hdr<u64>, grouping_power: u32) -> Histogram {
    let mut histogram = Histogram::new(grouping_power);
    for step in hdr.iter_recorded() {
        let high = step.value_iterated_to();
        let low = hdr.lowest_equivalent(high);
        histogram.restore(&Bucket { low, high, count: step.count_at_value() });
    }
    histogram
}
