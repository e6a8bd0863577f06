use super::*;
use crate::diagnostic::Span;

fn names() -> Names {
    let named = |name: &str, items: &[&str], spans: &[&str]| OperationNames {
        name: name.into(),
        items: items.iter().map(|item| (*item).to_owned()).collect(),
        spans: spans.iter().map(|span| (*span).to_owned()).collect(),
    };
    Names {
        operations: vec![
            named("register", &[], &["connect", "tls", "first_byte"]),
            named("multicast", &["targets", "delivered"], &["connect", "tls", "accepted"]),
            named("tls", &["reset"], &["connect", "tls"]),
        ],
        failures: &["timeout", "tls", "reset", "wrong_content"],
        recordings: vec![Recording {
            window: Duration::from_secs(1),
            measure: Some(Duration::from_secs(60)),
        }],
    }
}

fn parse(text: &str) -> Criterion {
    Criterion::parse(text, Span::new(0, text.len()), &names()).unwrap()
}

/// Message, label and place of each problem.
fn problems(text: &str) -> Vec<(String, String, usize)> {
    let span = Span::new(10, 10 + text.len());
    let found = Criterion::parse(text, span, &names()).unwrap_err();
    let shown = |problem: crate::diagnostic::Diagnostic| {
        (problem.message, problem.label, problem.span.start - 10)
    };
    found.into_iter().map(shown).collect()
}

#[test]
fn the_grammar() {
    let of =
        |operation: Option<&str>, part| RatioSide { operation: operation.map(str::to_owned), part };
    let item = |name: &str| of(Some("multicast"), CountedPart::Item(name.to_owned()));
    let count = |count| of(None, CountedPart::Count(count));
    let cases = [
        ("p99 < 20ms", None, Metric::Quantile(0.99), Operator::Less, 20e6),
        ("p97.5 < 20ms", None, Metric::Quantile(0.975), Operator::Less, 20e6),
        ("p99.9<=1.5s", None, Metric::Quantile(0.999), Operator::AtMost, 1.5e9),
        ("register p95 < 10ms", Some("register"), Metric::Quantile(0.95), Operator::Less, 10e6),
        ("mean > 1us", None, Metric::Mean, Operator::More, 1e3),
        ("max < 2s", None, Metric::Max, Operator::Less, 2e9),
        ("failed == 0", None, Metric::Count(Count::Failed), Operator::Equal, 0.0),
        ("started >= 95/s", None, Metric::Rate(Rate::Started), Operator::AtLeast, 95.0),
        ("started >= 95", None, Metric::Count(Count::Started), Operator::AtLeast, 95.0),
        ("goodput >= 30/m", None, Metric::Rate(Rate::Goodput), Operator::AtLeast, 0.5),
        (
            "multicast delivered / targets == 100%",
            Some("multicast"),
            Metric::Ratio(item("delivered"), item("targets")),
            Operator::Equal,
            1.0,
        ),
        (
            "failed/planned < 0.1%",
            None,
            Metric::Ratio(count(Count::Failed), count(Count::Planned)),
            Operator::Less,
            0.001,
        ),
    ];
    for (text, operation, metric, comparison, bound) in cases {
        let parsed = parse(text);
        assert_eq!(parsed.operation.as_deref(), operation, "{text}");
        assert_eq!(parsed.metric, metric, "{text}");
        assert_eq!(parsed.comparison, comparison, "{text}");
        assert!((parsed.bound - bound).abs() < 1e-12 * bound.max(1.0), "{text}");
    }
}

#[test]
fn kinds_of_failure_are_counted_by_their_names() {
    let asked = |text: &str| {
        let parsed = parse(text);
        (parsed.operation.unwrap_or_default(), parsed.metric)
    };
    let count = |kind| Metric::Count(Count::FailedAs(kind));
    assert_eq!(asked("wrong_content == 0"), (String::new(), count("wrong_content")));
    assert_eq!(asked("register timeout <= 3"), ("register".to_owned(), count("timeout")));
    assert_eq!(asked("tls tls == 0"), ("tls".to_owned(), count("tls")));
    assert_eq!(asked("tls == 0 over 5s windows"), (String::new(), count("tls")));
    let over = |text: &str| match parse(text).metric {
        Metric::Ratio(over, _) => over.part,
        _ => panic!("{text} is no ratio"),
    };
    assert_eq!(over("timeout / planned < 1%"), CountedPart::Count(Count::FailedAs("timeout")));
    assert_eq!(
        over("multicast reset / planned < 1%"),
        CountedPart::Count(Count::FailedAs("reset"))
    );
    assert_eq!(
        over("tls reset / planned < 1%"),
        CountedPart::Item("reset".to_owned()),
        "its item is meant"
    );
    let json = serde_json::to_value(parse("wrong_content == 0")).unwrap();
    assert_eq!(json["metric"], serde_json::json!({"count": {"failed_as": "wrong_content"}}));
    for (text, label) in [
        ("wrong_contents == 0", "did you mean `wrong_content`?"),
        ("register timeouts == 0", "did you mean `timeout`?"),
        ("multicast rest / planned == 0", "did you mean `reset`?"),
        ("wrong_content == none", "a count"),
        ("wrong_content < 1%", "a count"),
    ] {
        assert_eq!(problems(text)[0].1, label, "{text}");
    }
}

#[test]
fn a_time_may_be_named_before_its_quantile() {
    let span = |name: &str| Time::Span(name.to_owned());
    let cases = [
        ("p99 < 5ms", None, Time::Response),
        ("service p99 < 5ms", None, Time::Service),
        ("queue_wait max < 1ms", None, Time::QueueWait),
        ("first_byte mean < 5ms", None, span("first_byte")),
        ("register connect p95 < 1ms", Some("register"), span("connect")),
        ("multicast accepted p50 < 1ms", Some("multicast"), span("accepted")),
        // An operation takes precedence over a span of the same name.
        ("tls p99 < 5ms", Some("tls"), Time::Response),
        ("all tls p99 < 5ms", None, span("tls")),
        ("tls tls p99 < 5ms", Some("tls"), span("tls")),
    ];
    for (text, operation, time) in cases {
        let parsed = parse(text);
        assert_eq!((parsed.operation.as_deref(), parsed.time), (operation, time), "{text}");
    }
}

#[test]
fn a_ratio_may_be_of_two_operations() {
    let cases = [
        ("register failed / register planned < 1%", Some("register"), ["register", "register"]),
        ("register failed / planned < 1%", Some("register"), ["register", "register"]),
        ("register failed / all planned < 1%", None, ["register", ""]),
        ("multicast delivered / register succeeded == 1", None, ["multicast", "register"]),
        ("failed / planned < 1%", None, ["", ""]),
    ];
    for (text, operation, sides) in cases {
        let parsed = parse(text);
        assert_eq!(parsed.operation.as_deref(), operation, "{text}");
        let Metric::Ratio(over, under) = parsed.metric else { panic!("{text} is no ratio") };
        let named = [&over, &under].map(|term| term.operation.as_deref().unwrap_or_default());
        assert_eq!(named, sides, "{text}");
    }
}

#[test]
fn windows_must_be_joined_from_recorded_ones() {
    assert_eq!(parse("p99 < 20ms over 10s windows").over, Some(Duration::from_secs(10)));
    assert_eq!(parse("goodput >= 95/s over 1s windows").over, Some(Duration::from_secs(1)));
    assert_eq!(parse("failed / planned < 1% over 1m windows").over, Some(Duration::from_secs(60)));
    let cases = [
        ("p99 < 20ms over 1.5s windows", "windows of 1.5s cannot be joined from the recorded ones"),
        ("p99 < 20ms over 0s windows", "windows of 0s cannot be joined from the recorded ones"),
        ("p99 < 20ms over 2m windows", "no window of 2m fits into the measure phase"),
        ("mean < 20ms over 2s windows", "exact sums of times are not kept window by window"),
        ("connect p99 < 20ms over 2s windows", "spans are not kept window by window"),
        (
            "completed > 5/s over 2s windows",
            "operations begun or completed in time are not kept window by window",
        ),
        (
            "missed == 0 over 2s windows",
            "started, missed and abandoned operations are not kept window by window",
        ),
    ];
    for (text, message) in cases {
        let place = text.find(" over ").unwrap() + 6;
        let found = problems(text);
        assert_eq!((found[0].0.as_str(), found[0].2, found.len()), (message, place, 1), "{text}");
    }
    let label = "expected a multiple of 1s";
    assert_eq!(problems("p99 < 20ms over 1.5s windows")[0].1, label);
}

#[test]
fn problems_point_at_the_word() {
    let cases = [
        ("p99 < 20", "expected a duration such as 20ms, 1.5s or 2m, got \"20\"", 6),
        ("p100 < 20ms", "expected a percentile such as p99, got \"p100\"", 0),
        ("p0 < 20ms", "expected a percentile such as p99, got \"p0\"", 0),
        ("p9.9.9 < 20ms", "expected a percentile such as p99, got \"p9.9.9\"", 0),
        ("median < 20ms", "unknown metric `median`", 0),
        ("registre p95 < 10ms", "unknown operation or span `registre`", 0),
        ("registre failed == 0", "unknown operation `registre`", 0),
        ("register acepted p95 < 10ms", "unknown span `acepted`", 9),
        ("p99 20ms", "expected a criterion such as p99 < 20ms, got \"p99 20ms\"", 0),
        ("failed == none", "expected a whole number, got \"none\"", 10),
        ("goodput > 5", "expected a rate such as 500/s, got \"5\"", 10),
        ("multicast delivred / targets == 1", "unknown item or count `delivred`", 10),
        (
            "multicast delivered / targets == all",
            "expected a percentage such as 100% or a number, got \"all\"",
            33,
        ),
        ("p99 == 5ms", "a time is never exactly its bound", 4),
        ("< 5ms", "expected a criterion such as p99 < 20ms, got \"< 5ms\"", 0),
        ("register p95 p99 < 5ms", "unknown span `p95`", 9),
        ("a b register p99 < 5ms", "expected a metric, got \"a b register p99\"", 0),
        ("failed / < 5%", "expected a criterion such as p99 < 20ms, got \"failed / < 5%\"", 0),
        ("p99 < 5ms over 10s", "expected over and a length, such as over 10s windows", 10),
        (
            "p99 < 5ms over ten windows",
            "expected a duration such as 20ms, 1.5s or 2m, got \"ten\"",
            15,
        ),
    ];
    for (text, message, at) in cases {
        let (found, _, place) = problems(text).remove(0);
        assert_eq!((found.as_str(), place), (message, at), "{text}");
    }
}

#[test]
fn near_misses_are_named() {
    let cases = [
        ("registre p95 < 10ms", "did you mean `register`?"),
        ("register conect p95 < 10ms", "did you mean `connect`?"),
        ("servce p95 < 10ms", "did you mean `service`?"),
        ("p99 < 20mss", "did you mean `20ms`?"),
        ("p99 < -20ms", "a bound needs its unit"),
        ("register p99 < 1", "a bound needs its unit"),
        ("p99 =< 20ms", "did you mean `<=`?"),
        ("failed = 0", "did you mean `==`?"),
        ("goodput ≥ 20/s", "did you mean `>=`?"),
        ("failed != 0", "one of <, <=, >, >=, =="),
        ("fialed == 0", "did you mean `failed`?"),
        ("multicast delivered / target == 1", "did you mean `targets`?"),
    ];
    for (text, label) in cases {
        assert_eq!(problems(text)[0].1, label, "{text}");
    }
}

#[test]
fn everything_wrong_with_one_criterion_is_told_at_once() {
    let messages = |text: &str| -> Vec<String> {
        problems(text).into_iter().map(|(message, ..)| message).collect()
    };
    assert_eq!(
        messages("registre conect p99 < 20 over 7 windows"),
        [
            "unknown operation `registre`",
            "unknown operation or span `conect`",
            "expected a duration such as 20ms, 1.5s or 2m, got \"20\"",
            "expected a duration such as 20ms, 1.5s or 2m, got \"7\"",
        ]
    );
    assert_eq!(
        messages("multicast delivred / registre planned < few"),
        [
            "unknown item or count `delivred`",
            "unknown operation `registre`",
            "expected a percentage such as 100% or a number, got \"few\"",
        ]
    );
}

#[test]
fn what_stands_in_a_plan_is_what_stood_there_before() {
    let json = |text: &str| serde_json::to_value(parse(text)).unwrap();
    assert_eq!(
        json("register p99 < 20ms"),
        serde_json::json!({
            "text": "register p99 < 20ms", "operation": "register", "metric": {"quantile": 0.99},
            "comparison": "<", "bound": 20e6,
        })
    );
    let ratio = &json("failed / planned < 1%")["metric"]["ratio"];
    assert_eq!(ratio[0], serde_json::json!({"count": "failed"}));
    assert_eq!(json("connect p9 < 1s")["time"], serde_json::json!({"span": "connect"}));
}

#[test]
fn operators_hold() {
    assert!(Operator::Less.holds(1.0, 2.0) && !Operator::Less.holds(2.0, 2.0));
    assert!(Operator::AtMost.holds(2.0, 2.0) && Operator::AtLeast.holds(2.0, 2.0));
    assert!(Operator::More.holds(3.0, 2.0) && Operator::Equal.holds(2.0, 2.0));
}

#[test]
fn a_criterion_that_only_failures_meet_asks_for_them() {
    for text in [
        "failed > 0",
        "failed >= 1",
        "failed == 3",
        "reset > 10",
        "failed / planned >= 50%",
        "succeeded == 0",
        "succeeded / planned < 10%",
    ] {
        assert!(parse(text).asks_for_failures(), "{text}");
    }
    for text in [
        "failed == 0",
        "failed < 5",
        "failed >= 0",
        "succeeded > 0",
        "succeeded == 5",
        "goodput > 5/s",
        "p99 < 20ms",
        "succeeded / planned >= 99%",
    ] {
        assert!(!parse(text).asks_for_failures(), "{text}");
    }
}
