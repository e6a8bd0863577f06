use super::*;

mod burstiness;
mod processes;

const FILES: FileNames<'_> = FileNames { requests: "r.txt", offsets: "o.csv", sessions: None };

fn converted(log: &str, hosts: &[&str]) -> (LogSummary, Vec<String>, Vec<u64>) {
    let wanted = Options { hosts: hosts.iter().map(|host| (*host).to_owned()).collect() };
    let (mut requests, mut offsets) = (Vec::new(), Vec::new());
    let summary = convert(log.as_bytes(), &wanted, &mut requests, &mut offsets, None).unwrap();
    let lines = |bytes: Vec<u8>| -> Vec<String> {
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    };
    let (requests, offsets) = (lines(requests), lines(offsets));
    assert_eq!(offsets[0], "offset_ns,request");
    let arrivals = offsets[1..].iter().map(|line| {
        let (offset, number) = line.split_once(',').unwrap();
        let number: usize = number.parse().unwrap();
        (requests[number - 1].clone(), offset.parse::<u64>().unwrap())
    });
    let (requests, offsets) = arrivals.unzip();
    (summary, requests, offsets)
}

fn line(second: u64, request: &str) -> String {
    format!(
        "h - - [10/Oct/2000:13:{:02}:{:02} +0000] \"{request} HTTP/1.1\" 200 1\n",
        second / 60,
        second % 60
    )
}

#[test]
fn requests_of_a_second_are_spread_over_it() {
    let log: String =
        (0..3000).map(|number| line(number / 1000, &format!("GET /{number}"))).collect();
    let (summary, requests, offsets) = converted(&log, &[]);
    assert_eq!(
        (summary.requests, summary.within, summary.left_out.len()),
        (3000, 1_000_000_000, 0)
    );
    assert_eq!(summary.origin, UNKNOWN);
    // In the order of the log.
    assert!((0..3000).all(|number| requests[number] == format!("GET /{number}")));
    assert!(offsets.is_sorted());
    for (second, of_second) in (0..).zip(offsets.chunks(1000)) {
        let within = |offset: &u64| offset / 1_000_000_000 == second;
        assert!(of_second.iter().all(within), "a second of the log is one of the replay");
    }
    // Uniform given the count: of 1,000 the halves differ by less than 5 standard deviations (79).
    let middle = 1_500_000_000;
    let first_half = offsets[1000..2000].iter().filter(|offset| **offset < middle).count();
    assert!((421..=579).contains(&first_half), "{first_half}");
    assert_eq!(converted(&log, &[]).2, offsets, "the same log gives the same instants");
}

#[test]
fn late_lines_come_into_their_order() {
    let log = [
        line(10, "GET /b"),
        line(5, "GET /a"),
        line(100, "GET /c"),
        line(40, "GET /d"),
        line(101, "GET /e"),
    ];
    let (summary, requests, _) = converted(&log.concat(), &[]);
    let paths: Vec<&str> = requests.iter().map(|line| &line[line.len() - 2..]).collect();
    assert_eq!(paths, ["/a", "/b", "/d", "/c", "/e"]);
    assert!(summary.left_out.is_empty());
    let (summary, requests, _) =
        converted(&[line(5, "GET /a"), line(100, "GET /b"), line(4, "GET /c")].concat(), &[]);
    assert_eq!(
        (requests.len(), &summary.left_out),
        (2, &BTreeMap::from([("it is more than a minute late", (1, 3))]))
    );
}

/// Nothing of it is written yet when the line comes.
#[test]
fn a_line_from_an_hour_before_does_not_lengthen_a_short_log() {
    let (summary, _, offsets) =
        converted(&[line(3600 - 1, "GET /a"), line(1, "GET /b")].concat(), &[]);
    assert_eq!((offsets.len(), summary.left_out.len()), (1, 1));
    assert!(summary.length < 1_000_000_000, "{summary:?}");
}

#[test]
fn what_is_left_out_is_counted_with_its_first_line() {
    let long = format!("{}\n", "x".repeat(3 << 20));
    let log = [
        line(0, "GET /a b\tc"),
        line(1, "POST /a"),
        "\n".to_owned(),
        "broken\n".to_owned(),
        long,
        line(2, "POST /b"),
        line(3, "HEAD http://other/x?y#z"),
        line(4, "GET /last").trim_end().to_owned(),
    ];
    let (summary, requests, offsets) = converted(&log.concat(), &[]);
    assert_eq!(requests, ["GET /a%20b%20c", "GET /last"]);
    assert_eq!(offsets.len(), 2);
    assert_eq!(
        summary.left_out,
        BTreeMap::from([
            ("its body is not in the log", (2, 2)),
            ("it has no request in quotes", (1, 4)),
            ("it is longer than 1 MiB", (1, 5)),
            ("it goes to another host than the first", (1, 7)),
        ])
    );
}

#[test]
fn hosts_of_a_log_are_kept() {
    let of = |host: &str| {
        format!(
            "{{\"ts\":1709164800.5,\"method\":\"GET\",\"uri\":\"/{host}\",\"host\":\"{host}\"}}\n"
        )
    };
    let log = [of("a"), of("b"), of("a:81")].concat();
    let (summary, requests, _) = converted(&log, &["b"]);
    assert_eq!(
        (summary.origin.as_str(), requests.len(), summary.left_out.len()),
        ("http://b", 1, 0)
    );
    assert_eq!(summary.within, 1_000_000);
    let experiment = crate::write(&summary.draft("a.log", FILES), "a.log");
    assert!(experiment.contains("url = \"http://b\""), "{experiment}");
    assert!(experiment.contains("resolution = \"1ms\" "), "{experiment}");
    assert!(seems(&log) && seems(&line(0, "GET /")) && !seems("curl http://h/") && !seems(""));
}

#[test]
fn stamps_that_drop_their_zeros_stay_in_order() {
    let at =
        |time: &str| format!("{{\"time\":\"2016-04-15T20:17:{time}Z\",\"uri\":\"/{time}\"}}\n");
    let log = [at("00"), at("00.1"), at("00.25"), at("01"), at("01.125")].concat();
    let (summary, requests, offsets) = converted(&log, &[]);
    assert_eq!((requests.len(), summary.requests), (5, 5));
    assert!(offsets.is_sorted() && offsets[4] < 2_000_000_000, "{offsets:?}");
}

#[test]
fn hosts_and_stamps_that_cannot_be_are_left_out() {
    let of = |host: &str| format!("{{\"ts\":1709164800,\"uri\":\"/\",\"host\":\"{host}\"}}\n");
    for host in ["h\\nGET http://evil/", "a:99999", "a b", "{{env.X}}.evil", "a:0"] {
        let (summary, requests, _) = converted(&of(host), &[]);
        let left_out = BTreeMap::from([("its host cannot be read", (1, 1))]);
        assert_eq!((requests.len(), summary.left_out), (0, left_out), "{host}");
    }
    let (summary, ..) = converted(&[of("h"), of("H"), of("h:80")].concat(), &[]);
    assert_eq!((summary.requests, summary.origin.as_str()), (3, "http://h"));
    for stamp in ["170141183460469231731687303715884105727", "-1", "99999999999999999999"] {
        let (summary, ..) = converted(&format!("{{\"ts\":\"{stamp}\",\"uri\":\"/\"}}\n"), &[]);
        assert_eq!(summary.requests, 0, "{stamp}");
    }
    let (summary, ..) = converted(&line(0, "GET http://bob:s3cret@h/a"), &[]);
    assert_eq!(summary.origin, "http://h");
}

/// As JMeter writes it: a transaction without an address, and a message of two lines.
const JTL: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n\
    1700000000000,12,home,200,OK,users 1-1,text,true,,300,120,1,1,http://shop.example/,11,0,3\n\
    1700000000250,30,\"a, b\",500,Internal Server Error,users 1-2,text,false,\"expected 200\nbut \"\"500\"\"\",300,120,2,2,http://shop.example/cart?id=1,29,0,0\n\
    1700000000000,42,buy,,\"Number of samples: 2\",users 1-1,,true,,600,240,1,1,null,0,0,3\n\
    broken\n\
    1700000001500,9,home,200,OK,users 1-1,text,true,,300,120,1,1,http://shop.example/,9,0,0\n";

#[test]
fn results_of_jmeter_are_replayed() {
    let (summary, requests, offsets) = converted(JTL, &[]);
    assert!(seems(JTL));
    assert_eq!(requests, ["GET /", "GET /cart?id=1", "GET /"]);
    assert_eq!(summary.origin, "http://shop.example");
    let milliseconds: Vec<u64> = offsets.iter().map(|one| one / 1_000_000).collect();
    assert_eq!(milliseconds, [0, 250, 1_500]);
    let left_out: Vec<_> = summary.left_out.iter().map(|(why, at)| (*why, *at)).collect();
    let expected = [("it has no address", (1, 5)), ("it has no time that is understood", (1, 6))];
    assert_eq!(left_out, expected);
    let draft = summary.draft("a.jtl", FILES);
    assert!(draft.notes.iter().any(|note| note.what.contains("sent as GET")), "{draft:?}");
    assert_eq!(draft.operations[0].comments[0], "Labels: home (2), a, b (1).");
    assert_eq!(converted(&JTL.replace("\"a, b\"", "a").replace(',', ";"), &[]).2.len(), 3);
}

#[test]
fn results_of_vegeta_are_replayed_at_their_nanoseconds() {
    let line = |at: u64, method: &str, url: &str| {
        format!("{at},200,1264837,86,414,,,run,0,{method},{url},\n")
    };
    let text = line(1_700_000_000_000_000_000, "GET", "http://h:1/a")
        + &line(1_700_000_000_000_000_007, "POST", "http://h:1/b")
        + &line(1_700_000_000_123_456_789, "HEAD", "http://h:1/c")
        + &line(1_700_000_000_200_000_000, "", "");
    assert!(seems(&text));
    let (summary, requests, offsets) = converted(&text, &[]);
    assert_eq!(
        (requests, &*summary.origin),
        (vec!["GET /a".to_owned(), "HEAD /c".to_owned()], "http://h:1")
    );
    assert_eq!(offsets, [0, 123_456_789]);
    let left_out: Vec<_> = summary.left_out.iter().map(|(why, at)| (*why, *at)).collect();
    assert_eq!(left_out, [("it has no address", (1, 4)), ("its body is not in the log", (1, 2))]);
    assert!(summary.draft("a", FILES).notes.iter().all(|note| note.line.is_some()));
}

#[test]
fn a_quote_that_does_not_end_takes_no_more_than_its_bound() {
    let text = format!("{JTL}1700000001600,9,\"open{}\n", "\n1700000001700,9".repeat(200_000));
    let (summary, requests, _) = converted(&text, &[]);
    assert_eq!((summary.requests, requests.len()), (3, 3));
    let table = Table::begun_by(JTL.lines().next().unwrap()).unwrap();
    for hostile in ["", "\"", ",", "1,\"", "1700000000000,\u{0}", &",".repeat(100_000)] {
        assert!(table.read(hostile).is_err(), "{hostile}");
    }
}

#[test]
fn sessions_keep_their_requests_together_and_begin_at_instants_of_their_own() {
    let log: String =
        [(0, "a", "/1"), (1, "b", "/x"), (3, "a", "/2"), (9, "b", "/y"), (9, "-", "/lost")]
            .map(|(second, client, path)| {
                line(second, &format!("GET {path}")).replacen('h', client, 1)
            })
            .concat();
    let (mut requests, mut offsets, mut file) = (Vec::new(), Vec::new(), Vec::new());
    let sessions = SessionFile { field: None, file: &mut file };
    let summary =
        convert(log.as_bytes(), &Options::default(), &mut requests, &mut offsets, Some(sessions));
    let summary = summary.unwrap();
    assert_eq!((summary.requests, summary.sessions), (4, Some(2)));
    assert_eq!(summary.left_out["it names no client"], (1, 5));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(text(requests), "GET /1\nGET /2\nGET /x\nGET /y\n");
    // The instants are those that the requests have without sessions.
    let all = converted(&log, &[]).2;
    let (offsets, file) = (text(offsets), text(file));
    assert_eq!(offsets, format!("offset_ns\n{}\n{}\n", all[0], all[1]));
    let expected =
        format!("session,after_ns\n1,0\n1,{}\n2,0\n2,{}\n", all[2] - all[0], all[3] - all[1]);
    assert_eq!(file, expected);
    let read = plan::sessions::Sessions::parse("s.csv", &file).unwrap();
    assert_eq!((read.len(), read.requests()), (2, 4));
    let draft = summary.draft("a.log", FileNames { sessions: Some("s.csv"), ..FILES });
    let experiment = crate::write(&draft, "a.log");
    for part in [
        "# sessions: 2, requests: 4, in ",
        "duration = \"10s\"\n",
        "# a tenth of the sessions",
        "sessions = \"s.csv\"",
        "after_failure = \"continue\"",
        "name   = \"session\"",
    ] {
        assert!(experiment.contains(part), "{part}: {experiment}");
    }
}
