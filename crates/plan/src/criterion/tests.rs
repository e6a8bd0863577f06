use super::*;

fn names() -> Names {
    let items = vec!["targets".to_owned(), "delivered".to_owned()];
    Names { operations: vec![("register".into(), vec![]), ("multicast".into(), items)] }
}

fn parse(text: &str) -> Criterion {
    Criterion::parse(text, Span::new(0, text.len()), &names()).unwrap()
}

fn problem(text: &str) -> (String, String, usize) {
    let span = Span::new(10, 10 + text.len());
    let problem = Criterion::parse(text, span, &names()).unwrap_err();
    (problem.message, problem.label, problem.span.start - 10)
}

#[test]
fn the_grammar() {
    let item = |name: &str| Term::Item(name.to_owned());
    let cases = [
        ("p99 < 20ms", None, Metric::Quantile(0.99), Operator::Less, 20e6),
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
            Metric::Ratio(Term::Count(Count::Failed), Term::Count(Count::Planned)),
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
fn problems_point_at_the_word() {
    let cases = [
        ("p99 < 20", "expected a duration such as 20ms, 1.5s or 2m, got \"20\"", 6),
        ("p98 < 20ms", "unknown metric `p98`", 0),
        ("registre p95 < 10ms", "unknown operation `registre`", 0),
        ("p99 20ms", "expected a criterion such as p99 < 20ms, got \"p99 20ms\"", 0),
        ("failed == none", "expected a whole number, got \"none\"", 10),
        ("goodput > 5", "expected a rate such as 500/s, got \"5\"", 10),
        ("multicast delivred / targets == 1", "unknown item or count `delivred`", 10),
        (
            "multicast delivered / targets == all",
            "expected a percentage such as 100% or a number, got \"all\"",
            33,
        ),
        ("< 5ms", "expected a criterion such as p99 < 20ms, got \"< 5ms\"", 0),
        ("register p95 p99 < 5ms", "expected a metric, got \"register p95 p99\"", 0),
    ];
    for (text, message, at) in cases {
        let (found, _, place) = problem(text);
        assert_eq!((found.as_str(), place), (message, at), "{text}");
    }
    assert_eq!(problem("registre p95 < 10ms").1, "did you mean `register`?");
}

#[test]
fn operators_hold() {
    assert!(Operator::Less.holds(1.0, 2.0) && !Operator::Less.holds(2.0, 2.0));
    assert!(Operator::AtMost.holds(2.0, 2.0) && Operator::AtLeast.holds(2.0, 2.0));
    assert!(Operator::More.holds(3.0, 2.0) && Operator::Equal.holds(2.0, 2.0));
}
