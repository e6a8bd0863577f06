//! Hostile input to the audit, and reports damaged by a broken disk.

use super::*;
use crate::rules::audit;

const VEGETA: &str = include_str!("samples/vegeta.json");
const WRK: &str = include_str!("samples/wrk.txt");
const JTL_HEAD: &str = "timeStamp,elapsed,label,success\n";

/// The message for a report that is refused.
fn refused(text: &str, from: Option<&str>) -> String {
    read(text, from).map(|report| report.format).expect_err("no report").to_string()
}

/// An object with this many counts, each the largest that is allowed.
fn largest_counts(many: usize) -> String {
    let counts: Vec<String> =
        (0..many).map(|key| format!("\"{key}\": {}", figure::COUNT_LIMIT - 1)).collect();
    format!("{{{}}}", counts.join(", "))
}

#[test]
fn sums_of_many_large_counts_stay_in_range() {
    let counts = largest_counts(3_000);
    let most = figure::COUNT_LIMIT - 1;
    let kinds: Vec<String> = (0..3_000).map(|kind| format!("k{kind} {most}")).collect();
    let lines: String = (0..3_000).map(|code| format!("  [{code}] {most} responses\n")).collect();
    let fortio = include_str!("samples/fortio.json");
    let oha = format!(
        "{{\"summary\": {{\"successRate\": 1}}, \"latencyPercentiles\": {{}}, \"statusCodeDistribution\": {counts}, \
         \"errorDistribution\": {counts}}}"
    );
    let texts = [
        VEGETA.replace("{\"200\":8882}", &counts),
        fortio.replace("{\"1\": 40}", &counts),
        oha,
        include_str!("samples/hey.txt")
            .replace("Status code distribution:\n", &format!("Status code distribution:\n{lines}")),
        WRK.replace("Requests/sec", &format!("Socket errors: {}\nRequests/sec", kinds.join(", "))),
    ];
    for text in texts {
        let report = read(&text, None).unwrap_or_else(|error| panic!("{error}"));
        audit(&report);
        let row = report.runs[0].total.as_ref().expect("a total");
        let large = row.statuses.len() + row.failures.len() >= 3_000;
        assert!(large, "{}: the counts were not read", report.format);
    }
    let row = format!("{{\"n\": {most}}}");
    let rows = vec![row.as_str(); 3_000].join(",");
    let figures =
        format!("{{\"format\": \"proofload-figures/1\", \"runs\": [{{\"rows\": [{rows}]}}]}}");
    let report = read(&figures, None).expect("a report");
    assert_eq!(report.runs[0].count(), None, "no sum of what cannot be summed");
    audit(&report);
}

#[test]
fn more_than_anybody_prints_is_refused_before_it_fills_the_memory() {
    let line = |label: usize| format!("1,1,label {label},true\n");
    let jtl: String = JTL_HEAD
        .chars()
        .chain((0..10_001).flat_map(|n| line(n).chars().collect::<Vec<_>>()))
        .collect();
    assert!(refused(&jtl, None).contains("an end after 10000 l"), "{}", refused(&jtl, None));
    let rows = vec!["{\"n\":1}"; 10_001].join(",");
    let figures =
        format!("{{\"format\": \"proofload-figures/1\", \"runs\": [{{\"rows\": [{rows}]}}]}}");
    assert!(refused(&figures, None).contains("lines of figures"), "{}", refused(&figures, None));
    let many: String = (0..20_000).map(|n| format!("  0.{n:06}%  1.00ms\n")).collect();
    let percentiles = WRK.replace("Requests/sec", &format!("{many}Requests/sec"));
    assert!(refused(&percentiles, None).contains("percentiles"));
    let block = include_str!("samples/vegeta.txt");
    assert!(refused(&block.repeat(1_001), None).contains("an end after 1000 runs"));
    let long = format!("{WRK}{}", " ".repeat(format::SUMMARY));
    assert!(refused(&long, None).contains("an end within 8 MiB"));
}

#[test]
fn what_is_no_count_is_named() {
    for (wrong, says) in [
        ("-8882", "a count in `200`, which is -8882"),
        ("8882.5", "8882.5"),
        ("1e300", "a count in `200`"),
        ("18446744073709551616", "a count in `200`"),
        ("\"many\"", "many"),
        ("1e999", "number out of range"),
        ("NaN", "the rest of the JSON"),
        ("-Infinity", "the rest of the JSON"),
    ] {
        let error =
            refused(&VEGETA.replace("{\"200\":8882}", &format!("{{\"200\":{wrong}}}")), None);
        assert!(
            error.contains("looks like vegeta-json") && error.contains(says),
            "{wrong}: {error}"
        );
        assert!(error.contains("recognised: \"latencies\""), "{error}");
    }
    for (right, wrong) in [
        ("306347 requests", "-306347 requests"),
        ("306347 requests", "99999999999999999999 requests"),
        ("205.02us", "NaN"),
        ("61243.96", "inf"),
    ] {
        let error = refused(&WRK.replace(right, wrong), None);
        assert!(error.contains("the values of `"), "{wrong}: {error}");
    }
}

#[test]
fn a_text_that_never_ends_its_brackets_is_refused() {
    for format in FORMATS {
        let marks = format.marks.join(" ");
        for bracket in ["[", "{\"a\":", "((", "\"", "<", "|"] {
            let text = format!("{marks}\n{}", bracket.repeat(200_000));
            if let Ok(report) = read(&text, Some(format.name)) {
                audit(&report);
            }
        }
    }
    let deep = format!(
        "{{\"latencies\": {}, \"bytes_in\" \"wait\" \"status_codes\" \"success\"",
        "[".repeat(100_000)
    );
    assert!(refused(&deep, None).contains("recursion limit"), "{}", refused(&deep, None));
}

#[test]
fn two_reports_in_one_are_not_mixed() {
    for (text, name) in [
        (WRK, "wrk"),
        (include_str!("samples/ab.txt"), "ab"),
        (include_str!("samples/hey.txt"), "hey"),
        (include_str!("samples/h2load.txt"), "h2load"),
        (include_str!("samples/bombardier.txt"), "bombardier"),
    ] {
        let error = refused(&text.repeat(2), None);
        assert!(
            error.contains(&format!("looks like {name}")) && error.contains("a single report"),
            "{error}"
        );
    }
    assert_eq!(
        read(&include_str!("samples/vegeta.txt").repeat(2), None).expect("several").runs.len() % 2,
        0
    );
}

#[test]
fn the_encodings_of_shells_are_read() {
    let wide: Vec<u8> = "\u{feff}"
        .chars()
        .chain(WRK.chars())
        .map(|c| c as u16)
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read(&decode(wide), None).expect("a report").format, "wrk");
    let marked = [b"\xef\xbb\xbf", WRK.as_bytes()].concat();
    assert_eq!(read(&decode(marked), None).expect("a report").format, "wrk");
    let broken = [WRK.as_bytes(), b"\xff\xfe\x80"].concat();
    assert_eq!(read(&decode(broken), None).expect("a report").format, "wrk");
    assert_eq!(read(&decode(vec![0xff, 0xfe, 0x00]), None), Err(ImportError::Empty));
    assert_eq!(read(&decode(vec![0x89, b'P', b'N', b'G', 0, 0]), None), Err(ImportError::NoText));
}

#[test]
fn names_of_csv_files_may_hold_anything() {
    let odd = "\"a \"\"quoted\"\", name\nwith a | and <b>\"";
    let jtl = format!("{JTL_HEAD}1,5,{odd},true\n2,7,{odd},true\n");
    let report = read(&jtl, None).expect("a report");
    assert_eq!(report.runs[0].rows[0].name, "a \"quoted\", name\nwith a | and <b>");
    assert_eq!(report.runs[0].rows[0].n, Some(2));
    let unclosed = format!("{JTL_HEAD}1,5,\"never closed,true\n2,7,x,true\n");
    assert!(refused(&unclosed, None).contains("looks like jtl"), "{}", refused(&unclosed, None));
    let ragged = format!("{JTL_HEAD}1,5,x,true,more\n");
    assert!(refused(&ragged, None).contains("whole lines"), "{}", refused(&ragged, None));
    for cell in
        ["-1,5,x,true", "1,-5,x,true", "1,NaN,x,true", "1,5,x,perhaps", "1,99999999999,x,true"]
    {
        assert!(refused(&format!("{JTL_HEAD}{cell}\n"), None).contains("figures in"), "{cell}");
    }
}

#[test]
fn messages_are_short_and_steer_no_terminal() {
    let steering =
        WRK.replace("306347 requests", &format!("\u{1b}]0;title\u{7}{}", "x".repeat(100_000)));
    let error = refused(&steering.replace("Latency   205.02us", "Latency \u{1b}[2J"), None);
    assert!(!error.contains('\u{1b}') && error.len() < 2_000, "{error}");
    assert!(refused(WRK, Some("\u{1b}[2J")).contains("\u{fffd}[2J"));
}
