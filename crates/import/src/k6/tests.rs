use super::*;

const BEGIN: &str = "import http from 'k6/http';\nimport { check, group, sleep } from 'k6';\nimport { Trend, Rate } from 'k6/metrics';\n";

/// The warnings of a script with these options and this iteration.
fn warnings(options: &str, body: &str) -> Vec<String> {
    let text = format!(
        "{BEGIN}export const options = {options};\nexport default function () {{ {body} }}\n"
    );
    let found = check("a.js", &text).unwrap_or_else(|problems| panic!("{problems:?}"));
    found.into_iter().map(|one| one.to_string()).collect()
}

/// Options and an iteration, and what is said of them.
const ODD: &[(&str, &str, &str)] = &[
    (
        "{ executor: 'ramping-arrival-rate', stages: [{ duration: '1m', target: 100 }] }",
        "http.get('http://h/')",
        "k6 ignores `executor` at the root of `options` (the stages are numbers of users, not rates)",
    ),
    (
        "{ vus: 1, duraton: '1m' }",
        "",
        "k6 ignores `duraton`, which is no key of options (did you mean `duration`?)",
    ),
    (
        "{ scenarios: { a: { executor: 'constant-vus', vus: 1, duration: '1m', rate: 5 } } }",
        "",
        "k6 ignores `rate`, which is no key of `constant-vus`",
    ),
    (
        "{ scenarios: { a: { executor: 'constant-arival-rate' } } }",
        "",
        "unknown executor `constant-arival-rate`",
    ),
    (
        "{ scenarios: { a: { executor: 'constant-vus', vus: 1 } } }",
        "",
        "the scenario `a` has no `duration`",
    ),
    ("{ vus: 1, duration: '1s', scenarios: {} }", "", "`vus` and `scenarios` exclude each other"),
    ("{ vus: 10 }", "", "`vus` has no `duration`"),
    (
        "{}",
        "check(http.get('http://h/'), { ok: (r) => r.status === 200 });",
        "nothing depends on the checks: a run in which all of them fail ends with exit code 0",
    ),
    (
        "{ thresholds: { http_req_failed: ['rate<0.01'] } }",
        "check(http.get('http://h/'), { ok: (r) => r.status === 200 });",
        "nothing depends on the checks: one that fails at a status of 200 to 399 fails no threshold",
    ),
    (
        "{ thresholds: { http_req_duratoin: ['p(95)<500'] } }",
        "http.get('http://h/')",
        "`http_req_duratoin` (did you mean `http_req_duration`?)",
    ),
    (
        "{ thresholds: { checks: ['rate>0.9'] } }",
        "http.get('http://h/')",
        "nothing in the script makes samples of `checks`",
    ),
    (
        "{ thresholds: { ws_connecting: ['p(95)<500'] } }",
        "http.get('http://h/')",
        "nothing in the script makes samples of `ws_connecting`",
    ),
    (
        "{ thresholds: { 'http_req_duration{name:login}': ['p(95)<500'] } }",
        "http.get('http://h/', { tags: { name: 'home' } })",
        "no request has the name `login`",
    ),
    (
        "{ thresholds: { 'http_req_duration{group:main}': ['p(95)<500'] } }",
        "group('main', () => http.get('http://h/'))",
        "the name of a group begins with `::`",
    ),
    (
        "{ thresholds: { 'http_req_duration{scenario:b}': ['p(95)<500'] }, scenarios: { a: { executor: 'shared-iterations' } } }",
        "http.get('http://h/')",
        "there is no scenario `b`",
    ),
    (
        "{ thresholds: { 'http_req_duration{kind:b}': ['p(95)<500'] } }",
        "http.get('http://h/')",
        "nothing in the script has the tag `kind`",
    ),
    (
        "{ scenarios: { a: { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: '1m', preAllocatedVUs: 10 } } }",
        "http.get('http://h/'); sleep(1);",
        "10 preallocated users cannot begin 50 iterations a second that sleep 1 s each (50 are busy",
    ),
    (
        "{ scenarios: { a: { executor: 'constant-arrival-rate', rate: 50, duration: '1m', preAllocatedVUs: 100 } } }",
        "http.get('http://h/'); pause(); } function pause() { sleep(1);",
        "`sleep` in an iteration that an arrival rate starts",
    ),
    (
        "{ vus: 100, duration: '1m' /*x*/ }; // 100 requests per second",
        "http.get('http://h/');",
        "users are no rate",
    ),
    (
        "{ vus: 100, duration: '1m', thresholds: { http_reqs: ['rate>100'] } }",
        "http.get('http://h/');",
        "(a threshold expects a rate)",
    ),
];

#[test]
fn k6_lints_fire_where_they_should() {
    for (options, body, says) in ODD {
        let found = warnings(options, body);
        assert!(found.iter().any(|one| one.contains(says)), "{says}\n{found:#?}");
    }
}

#[test]
fn k6_lints_fire_nowhere_else() {
    for (options, body) in [
        ("{}", "http.get('http://h/')"),
        (
            "{ vus: 10, duration: '1m' }",
            "http.get('http://h/a'); sleep(2); http.get('http://h/b'); sleep(2);",
        ),
        // A pause at the end is k6's own template: it says nothing of a rate.
        ("{ vus: 100, duration: '1m' }", "http.get('http://h/'); sleep(1);"),
        ("{ vus: 10, iterations: 20 }", "http.get('http://h/a'); sleep(1);"),
        ("{ stages: [{ duration: '1m', target: 5 }] }", "http.get('http://rps.example/a');"),
        (
            "{ scenarios: { a: { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1m', duration: '1m', preAllocatedVUs: 1 } } }",
            "http.get('http://h/');",
        ),
        (
            "{ scenarios: { a: { executor: 'constant-arrival-rate', rate: 50, duration: '1m', preAllocatedVUs: 100, exec: 'other' } } }",
            "sleep(1)",
        ),
        (
            "{ scenarios: { a: { executor: 'ramping-arrival-rate', startRate: 5, stages: [], preAllocatedVUs: 100, gracefulStop: '1s', tags: { kind: 'x' } } }, thresholds: { 'http_reqs{kind:x}': ['count>1'], 'http_reqs{scenario:a}': ['count>1'] } }",
            "http.get('http://h/')",
        ),
        (
            "{ thresholds: { checks: ['rate>0.9'] } }",
            "check(http.get('http://h/'), { ok: (r) => r.status === 200 });",
        ),
        (
            "{}",
            "if (!check(http.get('http://h/'), { ok: (r) => r.status === 200 })) { throw new Error('x'); }",
        ),
        (
            "{ thresholds: { mine: ['avg<5'], 'http_req_duration{name:a}': ['avg<5'], 'http_req_duration{group:::g}': ['avg<5'], 'http_req_duration{expected_response:true}': ['avg<5'] } }",
            "group('g', () => own.add(http.get('http://h/', { tags: { name: 'a' } }).timings.duration)); } const own = new Trend('mine'); function x() {",
        ),
        (
            "{ thresholds: { [`http_req_duration{name:${__ENV.X}}`]: ['avg<5'] } }",
            "http.get('http://h/')",
        ),
        (
            "{ thresholds: { other: ['avg<5'] } }",
            "lib(); } import { lib } from './lib.js'; function x() {",
        ),
    ] {
        assert_eq!(warnings(options, body), Vec::<String>::new(), "{options} {body}");
    }
}

#[test]
fn k6_scripts_with_errors_have_line_and_caret() {
    let problems = check("a.js", "let a = 1;\nlet b = ;\n").expect_err("it is no script");
    let shown = plan::diagnostic::render(
        "a.js",
        "let a = 1;\nlet b = ;\n",
        &problems,
        plan::diagnostic::Colour::Off,
    );
    assert!(
        shown.starts_with("error: the script cannot be parsed: Unexpected token\n --> a.js:2:9\n"),
        "{shown}"
    );
    assert!(check("a.ts", "const a: number = 1 as number;").is_ok());
    assert!(check("a.js", "const a: number = 1;").is_err());
}

#[test]
fn deep_k6_scripts_end_in_an_error_and_not_in_a_full_stack() {
    let shapes = [
        ("(", ")"),
        ("[", "]"),
        ("{a:", "}"),
        ("a=>", ""),
        ("if(a)", ";"),
        ("!", "a"),
        ("`${", "}`"),
        ("f(", ")"),
        ("(function(){", "})"),
        ("(class{a=", "})"),
        ("if(a)b;else ", "c"),
        ("a?b:", "c"),
        ("new ", "a"),
        ("-", "a"),
        ("a=", "b"),
        ("a.", "b"),
        ("a+", "b"),
        ("a**", "b"),
        ("{", "}"),
        ("do ", ""),
        ("a:", ";"),
        ("for(;;)", ";"),
        ("typeof\n", "a"),
        ("()", ""),
        ("``", ""),
        ("async()=>", "a"),
        ("a??", "a"),
        ("x=/`/,(", ""),
        ("[a=", "]"),
        ("({}/`/`+[", "]"),
        ("try{", "}catch{}"),
        ("await ", "a"),
        ("f<a,", ">"),
        ("let a:f<", ">"),
        ("keyof\n", ""),
    ];
    let texts = |open: &str, close: &str, count: usize| {
        let ends = [close.repeat(count), close.to_owned()];
        let open = open.repeat(count);
        let begins = ["", "let x = ", "type X = ", "a"];
        begins.map(|before| ends.clone().map(|end| format!("{before}{open}a{end}")))
    };
    with_stack(move || {
        for (open, close) in shapes {
            for name in ["a.js", "a.ts"] {
                for text in texts(open, close, 1_900).iter().flatten() {
                    // That it comes back is what is shown here.
                    let _ = check(name, text);
                }
                for text in texts(open, close, 50_000).iter().flatten() {
                    let refused = check(name, text).expect_err(open);
                    assert!(refused[0].message.contains("nests too deeply"), "{open}: {refused:?}");
                }
            }
        }
    });
}

/// Runs this with the stack that deep scripts need.
fn with_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    thread.expect("a thread").join().expect("no panic");
}

#[test]
fn a_long_k6_script_is_read_in_bounded_time() {
    let one = "function f(a,b){return a?b.c[0](`x${a}`):/[`(]/.test(b)&&{d:1,e:[2,3]}}var g=f(1,2);if(g){g()}else{f()}\n";
    let text = one.repeat((5 << 20) / one.len());
    assert!(check("a.js", &text).is_ok_and(|found| found.is_empty()));
    assert!(check("a.js", &"x;\n".repeat(6 << 20)).is_err());
}

#[test]
fn thresholds_keep_their_direction() {
    let criteria = |metric: &str, said: &str| {
        let text = format!(
            "{BEGIN}export const options = {{ vus: 1, duration: '1s', thresholds: {{ {metric}: ['{said}'] }} }};\n\
             export default function () {{ http.get('http://h/'); }}\n"
        );
        read("a.js", &text, &Options::default()).expect("a draft").criteria
    };
    for (metric, said, expected) in [
        ("http_req_failed", "rate==0", "failed == 0"),
        ("http_req_failed", "rate<0.01", "failed / planned < 1%"),
        ("http_req_failed", "rate>0", "failed / planned > 0%"),
        ("checks", "rate>=1", "failed == 0"),
        ("checks", "rate>0.95", "failed / planned < 5%"),
        ("checks", "rate<1", "failed / planned > 0%"),
        ("http_req_duration", "p(95)<500", "p95 < 500ms"),
    ] {
        assert_eq!(criteria(metric, said), [expected], "{metric}: {said}");
    }
}

#[test]
fn a_form_without_texts_keeps_the_method_and_has_a_note() {
    let text = format!(
        "{BEGIN}export default function () {{ http.post('http://h/', {{ headers: {{ Accept: 'text/html' }} }}); }}\n"
    );
    let draft = read("a.js", &text, &Options::default()).expect("a draft");
    assert_eq!(draft.operations[0].method, "POST");
    assert!(matches!(draft.operations[0].body, crate::draft::Body::Empty));
    assert!(
        draft
            .notes
            .iter()
            .any(|note| format!("{note:?}").contains("the field headers of the form"))
    );
}

#[test]
fn a_duration_beside_iterations_has_a_note() {
    let notes = |options: &str| {
        let text = format!(
            "{BEGIN}export const options = {options};\nexport default function () {{ http.get('http://h/'); }}\n"
        );
        read("a.js", &text, &Options::default()).expect("a draft").notes.len()
    };
    assert_eq!(notes("{ vus: 2, iterations: 10 }"), 0);
    assert_eq!(notes("{ vus: 2, iterations: 10, duration: '5s' }"), 1);
}

#[test]
fn a_remainder_is_drawn_where_all_of_its_values_are_as_likely() {
    let path = |value: &str| {
        let text =
            format!("{BEGIN}export default function () {{ http.get(`http://h/${{{value}}}`); }}\n");
        let draft = read("a.js", &text, &Options::default()).expect("a draft");
        let path = draft.operations.first().map(|one| one.path.as_str().to_owned());
        (path.unwrap_or_default(), draft.notes.len())
    };
    let drawn = |low: u32, high: u32| (format!("/{{{{random {low}..{high}}}}}"), 0);
    assert_eq!(path("Math.floor(Math.random() * 15000 + 5000) % 15000"), drawn(0, 14_999));
    assert_eq!(path("Math.floor(Math.random() * 30) % 10"), drawn(0, 9));
    assert_eq!(path("Math.floor(Math.random() * 5 + 12) % 10"), drawn(2, 6));
    // 0 to 4 would come twice as often as 5 to 9.
    assert_eq!(path("Math.floor(Math.random() * 15) % 10").0, "");
    assert_eq!(path("Math.floor(Math.random() * 15) % 0").0, "");
    assert_eq!(path("__ITER % 10"), ("/{{sequence}}".to_owned(), 2));
}
