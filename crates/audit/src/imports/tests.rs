use record::summary::Severity;

use super::*;
use crate::rules::audit;

/// A stored report: its file, the format to pass explicitly, and its number of requests. Real tools
/// printed all of them, and no number contradicts another.
///
/// Made for this test against nginx: wrk, h2load, ab, hey, k6 1.8 and Locust. Published by others:
/// vegeta.txt with an example of attacks at several rates, vegeta.json in a log of a pipeline,
/// oha.json in the test of a parser, wrk2.txt in wrk2's own README, bombardier in two comparisons of
/// web frameworks, fortio.json in Fortio's own README, jmeter.jtl in notes on remote engines.
const SAMPLES: &[(&str, &str, u64)] = &[
    (include_str!("samples/wrk.txt"), "wrk", 306_347),
    (include_str!("samples/wrk-failing.txt"), "wrk", 195_886),
    (include_str!("samples/wrk2.txt"), "wrk", 60_018),
    (include_str!("samples/h2load.txt"), "h2load", 5_000),
    (include_str!("samples/h2load-timed.txt"), "h2load", 278_720),
    (include_str!("samples/h2load-refused.txt"), "h2load", 10),
    (include_str!("samples/ab.txt"), "ab", 5_000),
    (include_str!("samples/ab-failing.txt"), "ab", 2_000),
    (include_str!("samples/hey.txt"), "hey", 2_000),
    (include_str!("samples/hey-refused.txt"), "hey", 100),
    (include_str!("samples/k6-export.json"), "k6", 601),
    (include_str!("samples/k6-handle-summary.json"), "k6", 601),
    (include_str!("samples/k6-machine.json"), "k6-machine", 601),
    (include_str!("samples/locust_stats.csv"), "locust", 708),
    (include_str!("samples/vegeta.txt"), "vegeta-text", 2_640),
    (include_str!("samples/vegeta.json"), "vegeta-json", 8_882),
    (include_str!("samples/oha.json"), "oha", 8_168),
    (include_str!("samples/bombardier.txt"), "bombardier", 5_000_000),
    (include_str!("samples/bombardier-refused.txt"), "bombardier", 100_000),
    (include_str!("samples/bombardier.json"), "bombardier-json", 2_506_725),
    (include_str!("samples/fortio.json"), "fortio", 40),
    (include_str!("samples/jmeter.jtl"), "jtl", 8),
    (include_str!("samples/figures.json"), "figures", 75_000),
];

/// Reports with a contradiction, which the audit's golden tests describe.
const FLAWED: &[(&str, &str)] = &[
    (include_str!("samples/golden/registry.json"), "figures"),
    (include_str!("samples/golden/mail-high.json"), "figures"),
    (include_str!("samples/golden/edge.txt"), "vegeta-text"),
    (include_str!("samples/golden/exchange.json"), "figures"),
];

fn everything() -> impl Iterator<Item = (&'static str, &'static str)> {
    SAMPLES.iter().map(|(text, format, _)| (*text, *format)).chain(FLAWED.iter().copied())
}

fn contradictions(audit: &crate::rules::Audit) -> Vec<String> {
    let errors = audit.findings.iter().filter(|one| one.severity == Severity::Error);
    errors.map(|one| format!("{} {:?}: {}", one.code, one.operation, one.claim)).collect()
}

#[test]
fn each_sample_is_told_by_its_content_and_contradicts_nothing() {
    for (text, format, n) in SAMPLES {
        let report = read(text, None).unwrap_or_else(|error| panic!("{format}: {error}"));
        assert_eq!(report.format, *format);
        assert_eq!(report.runs[0].count(), Some(*n), "{format}");
        let audit = audit(&report);
        assert_eq!(contradictions(&audit), [""; 0], "{format}");
        assert!(!audit.findings.is_empty(), "{format}: nothing at all is noticed");
    }
}

#[test]
fn each_format_of_the_table_has_a_sample() {
    let read: std::collections::BTreeSet<&str> = everything().map(|(_, format)| format).collect();
    for format in FORMATS {
        assert!(read.contains(format.name), "{}", format.name);
    }
    assert_eq!(read.len(), FORMATS.len());
}

#[test]
fn a_format_may_be_named() {
    let (text, format) = everything().next().expect("a sample");
    assert_eq!(read(text, Some(format)).expect("a report").format, format);
    let wrong = read(text, Some("k6")).expect_err("not k6");
    assert!(matches!(wrong, ImportError::Broken { format: "k6", .. }), "{wrong:?}");
    assert_eq!(read(text, Some("k7")), Err(ImportError::NoSuchFormat("k7".to_owned())));
    assert_eq!(read(" \n", None), Err(ImportError::Empty));
    assert_eq!(read("\u{fffd}PNG\0", None), Err(ImportError::NoText));
    assert_eq!(read("{}", None), Err(ImportError::Unknown));
    assert_eq!(read("Dear Sir or Madam", None), Err(ImportError::Unknown));
}

#[test]
fn what_is_missing_is_said() {
    let text = SAMPLES[0].0;
    let cut = &text[..text.find("Transfer").expect("its last line")];
    let error = read(cut, None).expect_err("not whole").to_string();
    assert!(error.contains("looks like wrk") && error.contains("`Transfer/sec:`"), "{error}");
    assert!(error.contains("recognised: Running"), "{error}");
}

/// A truncated report is refused, or is complete enough that nothing seems contradicted.
#[test]
fn cutting_a_sample_anywhere_breaks_nothing() {
    for (text, format, _) in SAMPLES {
        for end in (0..text.len()).step_by(13).chain(text.len().saturating_sub(40)..text.len()) {
            let Some(cut) = text.get(..end) else { continue };
            let Ok(report) = read(cut, None) else { continue };
            let audit = audit(&report);
            assert_eq!(contradictions(&audit), [""; 0], "{format} to {end}");
        }
    }
}

/// Reading and checking any report ends without a panic.
#[test]
fn random_changes_break_nothing() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    const BYTES: &[u8] = b"0123456789-.,:e%/ \"[]{}()\n\tsmk\xff";
    let mut still_read = 0;
    for (text, format) in everything() {
        for _ in 0..60 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..1 + random(4) {
                let place = random(bytes.len());
                match random(3) {
                    0 => drop(bytes.remove(place)),
                    1 => bytes.insert(place, BYTES[random(BYTES.len())]),
                    _ => bytes[place] = BYTES[random(BYTES.len())],
                }
            }
            let changed = String::from_utf8_lossy(&bytes);
            for from in [None, Some(format)] {
                still_read +=
                    usize::from(read(&changed, from).map(|report| audit(&report)).is_ok());
            }
        }
    }
    assert!(still_read > 500, "changes hardly ever reach the rules: {still_read}");
}

/// Numbers at the ends of what can be written, in every field of every row.
#[test]
fn extreme_numbers_break_nothing() {
    let mut still_read = 0;
    for extreme in ["0", "18446744073709551615", "1e308", "1e-308", "-1"] {
        for (text, _) in everything() {
            let mut changed = String::new();
            let mut digits = false;
            for c in text.chars() {
                if c.is_ascii_digit() && !digits {
                    changed.push_str(extreme);
                } else if !c.is_ascii_digit() {
                    changed.push(c);
                }
                digits = c.is_ascii_digit();
            }
            still_read += usize::from(read(&changed, None).map(|report| audit(&report)).is_ok());
        }
    }
    assert!(still_read > 20, "such numbers hardly ever reach the rules: {still_read}");
}

#[test]
fn fields_of_the_reference_are_those_that_are_read() {
    for (place, name, _) in FIELDS {
        let object = format!("{{\"{name}\": null}}");
        let error = match *place {
            "report" => serde_json::from_str::<Report>(&object).err(),
            "run" => serde_json::from_str::<report::Run>(&object).err(),
            "row" => serde_json::from_str::<report::Row>(&object).err(),
            "items" => serde_json::from_str::<report::Items>(&object).err(),
            "interval" => serde_json::from_str::<report::Period>(&object).err(),
            "claim" => serde_json::from_str::<claims::Claim>(&object).err(),
            _ => serde_json::from_str::<claims::Headroom>(&object).err(),
        };
        let unknown = error.is_some_and(|error| error.to_string().contains("unknown field"));
        assert!(!unknown, "{place} {name}");
    }
    let unknown = serde_json::from_str::<report::Row>("{\"latency\": 1}").expect_err("unknown");
    let of_rows = FIELDS.iter().filter(|(place, ..)| *place == "row");
    for (_, name, _) in of_rows.clone() {
        assert!(unknown.to_string().contains(&format!("`{name}`")), "{name}");
    }
    assert_eq!(unknown.to_string().matches('`').count() / 2 - 1, of_rows.count());
}

#[test]
fn our_own_exports_can_be_read_back() {
    let page = pages::Format::named("vegeta-json").expect("an export");
    let mut text = Vec::new();
    let folder = record::folder::MemoryFolder::default();
    page.write(&judge::example::record(), &folder, &mut text).expect("written to memory");
    let report = read(&String::from_utf8_lossy(&text), None).expect("a report");
    assert_eq!(report.format, "vegeta-json");
    let audit = audit(&report);
    assert_eq!(contradictions(&audit), [""; 0]);
}

/// A program that never closed its metrics wrote shares and means of 0; a whole number in JSON is
/// as exact as any other.
#[test]
fn a_whole_share_of_json_is_not_taken_for_a_rounded_one() {
    let text = include_str!("samples/vegeta.json").replace("\"success\":1", "\"success\":0");
    let audit = audit(&read(&text, None).expect("a report"));
    assert_eq!(contradictions(&audit).len(), 1, "{:?}", contradictions(&audit));
    assert_eq!(audit.findings[0].code, "R12");
}

#[test]
fn progress_before_the_json_is_skipped() {
    let text = include_str!("samples/bombardier.json");
    let text = format!("Bombarding http://example.org using 200 connection(s)\nDone!\n{text}");
    assert_eq!(read(&text, None).expect("a report").format, "bombardier-json");
}
