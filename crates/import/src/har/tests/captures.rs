//! What requests hand to each other, and what is hidden.

use super::*;

#[test]
fn a_chain_of_redirects_is_one_operation() {
    let to = |value: Value, target: &str| with(value, "/response/redirectURL", target);
    let entries = [
        to(entry(0.0, "POST", "http://h/a", 302), "/b?x=1"),
        to(entry(0.05, "GET", "http://h/b?x=1", 301), "http://h/c"),
        entry(0.1, "GET", "http://h/c", 503),
        to(entry(9.0, "GET", "http://h/d", 302), "http://h/e"),
        entry(15.0, "GET", "http://h/e", 200),
        to(entry(16.0, "GET", "http://h/f", 302), "https://login.example/"),
        to(entry(17.0, "PUT", "http://h/g", 307), "/i"),
        entry(17.05, "PUT", "http://h/i", 200),
        to(entry(18.0, "PUT", "http://h/j", 302), "/k"),
        entry(18.05, "PUT", "http://h/k", 200),
        to(entry(19.0, "PUT", "http://h/l", 303), "/m"),
        entry(19.05, "GET", "http://h/m", 200),
    ];
    let draft = draft(&entries);
    let of = |one: &DraftOperation| {
        (one.path.as_str().to_owned(), one.follow, one.expect.status.clone())
    };
    let operations: Vec<_> = draft.operations.iter().map(of).collect();
    let expected = [
        ("/a", 2, vec![Status::Code(503)]),
        ("/d", 0, vec![Status::Code(302)]),
        ("/e", 0, vec![]),
        ("/f", 0, vec![Status::Code(302)]),
        ("/g", 1, vec![]),
        ("/j", 1, vec![]),
        ("/l", 1, vec![]),
    ];
    assert_eq!(
        operations,
        expected.map(|(path, follow, status)| (path.to_owned(), follow, status))
    );
}

#[test]
fn a_chain_stays_several_steps_where_a_value_is_on_its_way() {
    let redirect = answering_with(
        entry(0.0, "GET", "http://h/auth", 302),
        &[
            ("Location", "/back?code=k7%2Fx9q2&s=1"),
            ("Set-Cookie", "XSRF-TOKEN=q1w2e3r4%3D; Path=/"),
        ],
    );
    let exchange = posting(
        entry(1.0, "POST", "http://h/exchange", 200),
        "application/x-www-form-urlencoded",
        "code=k7%2Fx9q2&grant_type=authorization_code",
    );
    let entries = [
        redirect,
        entry(0.05, "GET", "http://h/back?code=k7%2Fx9q2&s=1", 200),
        sending(exchange, &[("X-XSRF-TOKEN", "q1w2e3r4=")]),
    ];
    let draft = draft(&entries);
    assert_eq!(paths(&draft), ["/auth", "/back", "/exchange"]);
    let auth = &draft.operations[0];
    assert_eq!((auth.follow, auth.expect.status.as_slice()), (0, [Status::Code(302)].as_slice()));
    let header = Capture::Header("location".to_owned(), Some("[?&]code=([^&#]+)".to_owned()));
    let cookie = Capture::Cookie("XSRF-TOKEN".to_owned());
    let decoded = |capture| Capture::Decoded(Box::new(capture), "url");
    assert_eq!(
        auth.captures,
        [("code".to_owned(), decoded(header)), ("csrf".to_owned(), decoded(cookie))]
    );
    assert_eq!(query(&draft.operations[1]), ["{{auth.code}}", "1"]);
    assert_eq!(draft.operations[2].headers[0].1.as_str(), "{{auth.csrf}}");
    assert_eq!(auth.comments[0], "captured: code, used by back, exchange");
    assert_eq!(draft.credentials.names().count(), 0);
}

#[test]
fn a_page_that_a_request_was_sent_from_divides_no_chain() {
    let redirect = answering_with(
        entry(0.0, "POST", "http://h/add", 302),
        &[("Location", "/orders/100482/change/")],
    );
    let from = [("Referer", "http://h/orders/100482/change/")];
    let page = entry(0.05, "GET", "http://h/orders/100482/change/", 200);
    let entries =
        [redirect.clone(), page.clone(), sending(entry(1.0, "GET", "http://h/all", 200), &from)];
    let merged = draft(&entries);
    assert_eq!(paths(&merged), ["/add", "/all"]);
    assert_eq!(merged.operations[1].name, "all_2", "all operations together have the name `all`");
    let entries = [redirect, page, entry(1.0, "POST", "http://h/orders/100482/change/", 200)];
    let divided = draft(&entries);
    let change = "/orders/{{add.id}}/change/";
    assert_eq!(paths(&divided), ["/add", change, change]);
    let pattern = Some("/orders/([^/?#]+)".to_owned());
    let capture = Capture::Header("location".to_owned(), pattern);
    assert_eq!(divided.operations[0].captures, [("id".to_owned(), capture)]);
}

#[test]
fn values_of_answers_become_captures() {
    let list = r#"{"data":[{"id":"a1b2c3"},{"id":"d4e5f6","odd key":{"it's":"x9y8z7"}}],"n":123456,"token":"abcdefgh"}"#;
    let again = r#"{"id":"d4e5f6"}"#;
    let change = posting(
        entry(3.0, "POST", "http://h/change", 200),
        "application/json",
        r#"{"n":123456,"at":null,"text":"{{x}}"}"#,
    );
    let entries = [
        answering(entry(0.0, "GET", "http://h/list", 200), "application/json", list),
        answering(
            entry(1.0, "GET", "http://h/show/d4e5f6/more?k=x9y8z7", 200),
            "application/json",
            again,
        ),
        entry(2.0, "GET", "http://h/show?id=d4e5f6&other=a1b2c3", 200),
        sending(change, &[("Authorization", "Bearer abcdefgh")]),
    ];
    let draft = draft(&entries);
    let json = |name: &str, path: &str| (name.to_owned(), Capture::Json(path.to_owned()));
    let captures = [
        json("it_s", r"$.data[1]['odd key']['it\'s']"),
        json("id", "$.data[1].id"),
        json("id_2", "$.data[0].id"),
        json("token", "$.token"),
        json("n", "$.n"),
    ];
    assert_eq!(draft.operations[0].captures, captures);
    assert_eq!(draft.operations[1].captures, [json("id", "$.id")], "the latest answer");
    assert_eq!(paths(&draft)[1], "/show/{{list.id}}/more");
    assert_eq!(draft.operations[1].name, "show_more");
    assert_eq!(query(&draft.operations[2]), ["{{show_more.id}}", "{{list.id_2}}"]);
    let Body::Text(body) = &draft.operations[3].body else { panic!() };
    assert_eq!(body.as_str(), r#"{"at":null,"n":{{list.n}},"text":"{{{{x}}"}"#);
    let written = write(&draft, "x.har");
    assert!(written.contains(r#"auth = { bearer = "{{list.token}}" }"#), "{written}");
    assert_eq!(draft.credentials.names().count(), 0);
}

#[test]
fn what_a_person_types_and_what_is_common_is_no_capture() {
    let body = r#"{"echo":"green-tea-42","day":"2026-11-26T10:00","host":"shop1.example","word":"published",
        "price":100000,"short":"a1b2","flag":"false","url":"https://shop1.example/a1"}"#;
    let url = "http://shop1.example/search?q=green-tea-42";
    let later = "http://shop1.example/b?q=green-tea-42&d=2026-11-26T10:00&h=shop1.example&w=published&p=100000\
        &s=a1b2&f=false&u=https://shop1.example/a1";
    let entries = [
        answering(entry(0.0, "GET", url, 200), "application/json", body),
        entry(1.0, "GET", later, 200),
    ];
    let draft = draft(&entries);
    assert_eq!(draft.operations[0].captures, []);
    assert!(query(&draft.operations[1]).iter().all(|value| !value.contains("{{")));
}

#[test]
fn values_of_pages_are_found_where_they_stand() {
    let page = r#"<form action="/out"><input name="csrf" value="logout-1"></form>
        <input type="hidden" value='main&amp;2' name='csrf'><meta name="x-csrf-token" content="meta-token-3">
        <input name="pin" type="password">"#;
    let post = posting(
        entry(1.0, "POST", "http://h/in", 200),
        "application/x-www-form-urlencoded; charset=UTF-8",
        "csrf=main%262&pin=secret99&user=ada",
    );
    let base64 = "PGlucHV0IG5hbWU9InQiIHZhbHVlPSJiYXNlNjQtNCI+";
    let encoded = answering(entry(2.0, "GET", "http://h/next", 200), "text/html", base64);
    let entries = [
        answering(entry(0.0, "GET", "http://h/in", 200), "text/html", page),
        sending(post, &[("X-CSRF-Token", "meta-token-3")]),
        with(encoded, "/response/content/encoding", "base64"),
        posting(
            entry(3.0, "POST", "http://h/t", 200),
            "application/x-www-form-urlencoded",
            "t=base64-4",
        ),
    ];
    let draft = draft(&entries);
    let pattern = r"\svalue='([^']+)'[^>]*\sname='csrf'".to_owned();
    let form = Capture::Decoded(Box::new(Capture::Matches(pattern)), "html");
    let pattern = r#"\sname="x\-csrf\-token"[^>]*\scontent="([^"]+)""#.to_owned();
    let captures = &draft.operations[0].captures;
    assert!(captures.contains(&("csrf_2".to_owned(), form)), "{captures:?}");
    assert!(captures.contains(&("csrf".to_owned(), Capture::Matches(pattern))), "{captures:?}");
    let Body::Form(form) = &draft.operations[1].body else { panic!() };
    let values: Vec<&str> = form.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["{{in.csrf_2}}", "{{env.PIN}}", "ada"]);
    let Body::Form(form) = &draft.operations[3].body else { panic!() };
    assert_eq!(form[0].1.as_str(), "{{next.t}}");
}

#[test]
fn a_request_that_needs_an_answer_does_not_begin_beside_it() {
    let first =
        answering(entry(0.0, "GET", "http://h/a", 200), "application/json", r#"{"id":"a1b2c3"}"#);
    let entries = [
        first,
        entry(0.01, "GET", "http://h/b", 200),
        entry(0.02, "GET", "http://h/c?id=a1b2c3", 200),
    ];
    let steps = draft(&entries).journeys.remove(0).steps;
    assert_eq!(steps, [DraftStep::Do(vec![0, 1]), DraftStep::Do(vec![2])]);
}

#[test]
fn no_credential_is_written() {
    let json = r#"{"a":null,"password":"s3cret-pw1","twice":"s3cret-pw1","note":"my cookie is s3cret-ck1"}"#;
    let fields = [
        ("Cookie", "sid=s3cret-ck1; other=s3cret-ck2"),
        ("Authorization", "Bearer s3cret-au1"),
        ("X-Csrf", "s3cret-ck2"),
        ("Referer", "http://h/reset/s3cret-ck1?access_token=s3cret-rf1&a=b"),
    ];
    let basic = [("Authorization", "Basic YWRhOnMzY3JldC1hdTI="), ("X-Api-Key", "s3cret-au3")];
    let form = posting(
        entry(1.0, "POST", "http://h/b/s3cret-ck1/c?api_key=s3cret-qu1", 200),
        "application/x-www-form-urlencoded",
        "pwd=s3cret-pw2&note=s3cret-pw1&also=s3cret-au1",
    );
    let text = posting(entry(2.0, "POST", "http://h/c", 200), "text/plain", "sid is s3cret-ck1");
    let entries = [
        sending(posting(entry(0.0, "POST", "http://h/a", 200), "application/json", json), &fields),
        sending(form, &basic),
        sending(text, &[("Authorization", "Digest s3cret-au4")]),
        answering_with(entry(3.0, "GET", "http://h/d", 200), &[("Set-Cookie", "sid=s3cret-ck3")]),
    ];
    let draft = draft(&entries);
    let written = write(&draft, "x.har");
    assert!(!written.contains("s3cret"), "{written}");
    let debug = format!("{draft:?}");
    assert!(!debug.contains("s3cret"), "{debug}");
}
