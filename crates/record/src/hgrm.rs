//! The percentile spectrum of HdrHistogram as text (`.hgrm`), which its plotters read.
//!
//! Values are in milliseconds, to the nanosecond, and are upper ends of buckets as in HdrHistogram itself;
//! mean, deviation and maximum below the table are exact.

#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::str::FromStr;

use stats::{Bucket, Histogram, RANGE_BITS};

use crate::RecordError;
use crate::lines::Lines;

/// Lines for each halving of the distance to 100 %: the usual step of HdrHistogram.
pub const TICKS: u32 = 5;
/// Nanoseconds in the unit of the file.
const UNIT: f64 = 1e6;

/// One line of the spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumLine {
    /// Upper end of the bucket.
    pub value_ns: u64,
    /// The fraction asked for, in [0, 1].
    pub quantile: f64,
    /// Values up to this bucket.
    pub cumulative: u64,
}

/// The lines of a spectrum: the quantile grows by 1/`ticks` of each halving of the distance to 1.
///
/// Overflown values stand at the exact maximum.
///
/// Source: HdrHistogram, `PercentileIterator`
pub fn spectrum(histogram: &Histogram, ticks: u32) -> Vec<SpectrumLine> {
    let overflow =
        Bucket { low: 1 << RANGE_BITS, high: histogram.max(), count: histogram.overflow() };
    let total = histogram.count();
    let (mut lines, mut cumulative, mut level) = (Vec::new(), 0, 0.0);
    for bucket in histogram.buckets().chain(Some(overflow)).filter(|bucket| bucket.count > 0) {
        cumulative += bucket.count;
        let line = |level: f64| SpectrumLine {
            value_ns: bucket.high,
            quantile: level / 100.0,
            cumulative,
        };
        if cumulative == total {
            // The first line of the last bucket is where its level leads; the very last one is 100 %.
            lines.push(line(level));
            lines.push(line(100.0));
            break;
        }
        let reached = 100.0 * cumulative as f64 / total as f64;
        while reached >= level {
            lines.push(line(level));
            level = next_level(level, ticks);
        }
    }
    lines
}

/// Levels are percentages, as in the source, so that rounding is the same.
fn next_level(level: f64, ticks: u32) -> f64 {
    let halvings = (100.0 / (100.0 - level)).log2().floor() + 1.0;
    level + 100.0 / (f64::from(ticks) * halvings.exp2())
}

/// Writes the spectrum of a histogram of nanoseconds.
pub fn write(writer: &mut dyn Write, histogram: &Histogram) -> io::Result<()> {
    writeln!(
        writer,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    for SpectrumLine { value_ns, quantile, cumulative } in spectrum(histogram, TICKS) {
        let value = value_ns as f64 / UNIT;
        write!(writer, "{value:12.6} {quantile:.12} {cumulative:>10}")?;
        if quantile < 1.0 {
            write!(writer, " {:14.2}", 1.0 / (1.0 - quantile))?;
        }
        writeln!(writer)?;
    }
    footer(writer, histogram)?;
    writer.flush()
}

fn footer(writer: &mut dyn Write, histogram: &Histogram) -> io::Result<()> {
    let (mean, stdev) = (histogram.mean() / UNIT, histogram.stdev() / UNIT);
    let (max, count) = (histogram.max() as f64 / UNIT, histogram.count());
    let power = histogram.grouping_power();
    // A bucket in HdrHistogram's words is a power of two, of which the first has two halves.
    let (buckets, sub_buckets) = (RANGE_BITS - power, 1_u64 << (power + 1));
    writeln!(writer, "#[Mean    = {mean:12.6}, StdDeviation   = {stdev:12.6}]")?;
    writeln!(writer, "#[Max     = {max:12.6}, Total count    = {count:>12}]")?;
    writeln!(writer, "#[Buckets = {buckets:>12}, SubBuckets     = {sub_buckets:>12}]")
}

/// Reads a spectrum; an unfinished last line is passed over.
pub fn read(file: &str, reader: Box<dyn Read>) -> Result<Vec<SpectrumLine>, RecordError> {
    let mut lines = Lines::new(file, reader);
    std::iter::from_fn(|| lines.next(line)).collect()
}

fn line(text: &str) -> Result<Option<SpectrumLine>, String> {
    let mut columns = text.split_whitespace();
    let Some(value) = columns.next().filter(|first| !first.starts_with('#') && *first != "Value")
    else {
        return Ok(None);
    };
    let milliseconds: f64 = number("a value", Some(value))?;
    Ok(Some(SpectrumLine {
        value_ns: (milliseconds * UNIT).round() as u64,
        quantile: number("a percentile", columns.next())?,
        cumulative: number("a count", columns.next())?,
    }))
}

fn number<T: FromStr>(what: &str, text: Option<&str>) -> Result<T, String> {
    let text = text.ok_or_else(|| format!("expected {what}, got the end of the line"))?;
    text.parse().map_err(|_| format!("expected {what}, got {text:?}"))
}
