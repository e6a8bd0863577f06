use std::io::{BufReader, Cursor};

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::folder::{Folder, MemoryFolder};

fn filled(grouping_power: u32, values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(grouping_power);
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

fn log() -> Vec<u8> {
    let folder = MemoryFolder::default();
    let mut writer =
        IntervalLogWriter::new(folder.create("log").unwrap(), 1_500_000_000_250).unwrap();
    for (number, values) in [[1_000, 2_000_000], [3, 90_000_000_000]].iter().enumerate() {
        writer
            .write(
                "get.response_time",
                number as u64 * 100_000_000,
                100_000_000,
                &filled(COARSE, values),
            )
            .unwrap();
    }
    writer.flush().unwrap();
    folder.content("log").unwrap()
}

fn read(bytes: &[u8]) -> Vec<Result<LogInterval, RecordError>> {
    IntervalLog::new("windows.hlog", Box::new(Cursor::new(bytes.to_vec()))).collect()
}

#[test]
fn a_log_has_the_header_and_the_columns_of_its_version() {
    let text = String::from_utf8(log()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    assert_eq!(lines[1], "#[StartTime: 1500000000.250 (seconds since epoch)]");
    assert_eq!(
        lines[3],
        r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#
    );
    assert!(lines[4].starts_with("Tag=get.response_time,0.000,0.100,2.000,HISTF"), "{}", lines[4]);
}

#[test]
fn what_was_written_is_read() {
    let intervals: Vec<LogInterval> = read(&log()).into_iter().map(Result::unwrap).collect();
    assert_eq!(intervals.len(), 2);
    assert_eq!(intervals[1].tag.as_deref(), Some("get.response_time"));
    assert_eq!((intervals[1].start_ns, intervals[1].length_ns), (100_000_000, 100_000_000));
    assert!(intervals[1].histogram.buckets().eq(filled(COARSE, &[3, 90_000_000_000]).buckets()));
}

#[test]
fn the_greatest_value_is_known_to_a_microsecond() {
    let maxima: Vec<u64> =
        read(&log()).into_iter().map(|interval| interval.unwrap().histogram.max()).collect();
    assert_eq!(maxima, [2_000_500, 90_000_000_500]);
}

#[test]
fn another_reader_finds_the_same_counts() {
    let bytes = log();
    let text = String::from_utf8(bytes).unwrap();
    let without_legend: String =
        text.lines().filter(|line| !line.starts_with('"')).flat_map(|line| [line, "\n"]).collect();
    let entries: Vec<_> =
        IntervalLogIterator::new(without_legend.as_bytes()).map(Result::unwrap).collect();
    let [LogEntry::StartTime(start), LogEntry::BaseTime(_), LogEntry::Interval(first), _] =
        &entries[..]
    else {
        panic!("{entries:?}")
    };
    assert_eq!((start.as_millis(), first.max()), (1_500_000_000_250, 2.0));
    let payload = STANDARD.decode(first.encoded_histogram()).unwrap();
    let hdr: Hdr<u64> = Deserializer::new().deserialize(&mut payload.as_slice()).unwrap();
    assert_eq!((hdr.len(), hdr.count_at(1_000), hdr.count_at(2_000_000)), (2, 1, 1));
}

#[test]
fn a_log_cut_anywhere_is_read_up_to_its_last_whole_line() {
    let whole = log();
    let ends: Vec<usize> = (0..whole.len()).filter(|&place| whole[place] == b'\n').collect();
    for cut in 0..=whole.len() {
        let intervals = read(&whole[..cut]);
        assert!(intervals.iter().all(Result::is_ok), "cut at {cut}");
        assert_eq!(
            intervals.len(),
            ends.iter().filter(|&&end| end < cut).count().saturating_sub(4),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_damaged_line_is_named() {
    let mut bytes = log();
    bytes.extend_from_slice(b"Tag=x,0.000,0.100,1.000,????\n");
    let error = read(&bytes).pop().unwrap().unwrap_err();
    assert!(
        error.to_string().starts_with("windows.hlog, line 7: the histogram is not base64"),
        "{error}"
    );
    let error = read(b"1.0,2.0\n").pop().unwrap().unwrap_err();
    assert!(error.to_string().contains("got 2 columns"), "{error}");
}

#[test]
fn overflow_survives() {
    let histogram = filled(COARSE, &[7, 1 << RANGE_BITS, u64::MAX]);
    let back = from_hdr(&to_hdr(&histogram), COARSE);
    assert_eq!((back.count(), back.overflow()), (3, 2));
}

#[test]
fn a_log_of_another_tool_without_tags_is_read() {
    let payload = {
        let mut hdr = Hdr::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
        hdr.record_n(5_000, 4).unwrap();
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&hdr, &mut bytes).unwrap();
        STANDARD.encode(bytes)
    };
    let text = format!("#comment\n0.127,1.007,2.769,{payload}\r\n");
    let intervals = read(text.as_bytes());
    let interval = intervals[0].as_ref().unwrap();
    assert_eq!(
        (interval.tag.as_ref(), interval.start_ns, interval.histogram.count()),
        (None, 127_000_000, 4)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn counts_survive_the_way_through_hdrhistogram(values in vec(any::<u64>().prop_map(|v| v >> (27 + v % 37)), 0..200)) {
        for power in [COARSE, FINE] {
            let original = filled(power, &values);
            let hdr = to_hdr(&original);
            for bucket in original.buckets() {
                prop_assert_eq!(hdr.count_at(bucket.high), bucket.count);
                prop_assert_eq!((hdr.lowest_equivalent(bucket.high), hdr.highest_equivalent(bucket.low)), (bucket.low, bucket.high));
            }
            let back = from_hdr(&hdr, power);
            prop_assert!(back.buckets().eq(original.buckets()));
        }
    }
}

#[test]
fn reading_keeps_one_line_in_memory() {
    // A reader that fails after the first interval: what came before was given out already.
    struct ThenFails(BufReader<Cursor<Vec<u8>>>);
    impl Read for ThenFails {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("disk gone")),
                some => Ok(some),
            }
        }
    }
    let reader = ThenFails(BufReader::new(Cursor::new(log())));
    let mut log = IntervalLog::new("windows.hlog", Box::new(reader));
    assert!(log.next().unwrap().is_ok());
    assert!(log.next().unwrap().is_ok());
    assert_eq!(log.next().unwrap().unwrap_err().to_string(), "windows.hlog: disk gone");
}

#[test]
fn a_single_histogram_is_read_whatever_its_range() {
    let mut hdr = Hdr::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    hdr.record_n(1_000_000, 3).unwrap();
    hdr.record(4_000_000).unwrap();
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&hdr, &mut bytes).unwrap();
    let text = STANDARD.encode(bytes);
    let read = decode(&text).unwrap();
    assert_eq!((read.count(), read.grouping_power()), (4, FINE));
    assert!(read.quantile(0.5).unwrap().abs_diff(1_000_000) < 1_000);
    assert!(decode("no histogram").is_err());
}
