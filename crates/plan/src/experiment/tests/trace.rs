//! `[trace]`: what is read, what is refused, and what it leaves alone.

use super::*;

const FILE: &str = r#"
[target]
url = "http://127.0.0.1:8080"
[load]
rate = "10/s"
[[operation]]
name = "home"
http = { path = "/" }
"#;

fn refused(table: &str) -> String {
    read(&format!("{FILE}{table}"), &Options { fresh_seed: 1, ..Options::default() }).unwrap_err()
}

fn flags(traceparent: Option<&str>, trace_url: Option<&str>) -> Options {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let (traceparent, trace_url) = (text(traceparent), text(trace_url));
    Options { fresh_seed: 1, traceparent, trace_url, ..Options::default() }
}

#[test]
fn a_file_without_the_table_keeps_its_json() {
    let plan = plan(FILE);
    assert_eq!((plan.trace.as_ref(), plan.to_json().get("trace")), (None, None));
    assert!(!plan.arms[0].operations[0].is_traced);
    assert!(!plan.describe().contains("trace"));
}

#[test]
fn the_table_is_read_and_described() {
    let url = "https://t.example/{trace_id}";
    let traced = plan(&format!("{FILE}[trace]\nshare = \"25%\"\nurl = \"{url}\""));
    let trace = traced.trace.as_ref().unwrap();
    assert_eq!((trace.share, trace.url.as_deref()), (0.25, Some(url)));
    assert!(traced.arms[0].operations[0].is_traced);
    let line = format!("trace        a trace id on 25.0 % of every operation; shown at {url}");
    assert!(traced.describe().contains(&line), "{}", traced.describe());
    let all = plan(&format!("{FILE}[trace]"));
    assert_eq!(all.trace.as_ref().map(|trace| trace.share), Some(1.0));
    let hashes = [plan(FILE).hash(), traced.hash(), all.hash()];
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
}

#[test]
fn where_traces_are_shown_decides_nothing() {
    let hash = |url: &str| plan(&format!("{FILE}[trace]\nurl = \"{url}\"")).hash();
    assert_eq!(hash("https://a.example/{trace_id}"), hash("https://b.example/{trace_id}"));
}

#[test]
fn flags_stand_above_the_file() {
    let file = format!("{FILE}[trace]\nshare = \"25%\"\nurl = \"https://a.example/{{trace_id}}\"");
    let url = "http://b.example/{trace_id}";
    let trace = read(&file, &flags(Some("50%"), Some(url))).unwrap().trace.unwrap();
    assert_eq!((trace.share, trace.url.as_deref()), (0.5, Some(url)));
    let trace = read(FILE, &flags(Some("100%"), None)).unwrap().trace.unwrap();
    assert_eq!((trace.share, trace.url), (1.0, None));
    let trace = read(FILE, &flags(None, Some(url))).unwrap().trace.unwrap();
    assert_eq!((trace.share, trace.url.as_deref()), (1.0, Some(url)));
    let wrong = read(FILE, &flags(Some("0%"), None)).unwrap_err();
    assert!(
        wrong.contains("a share of 0% is out of range") && wrong.contains("--traceparent"),
        "{wrong}"
    );
}

#[test]
fn shares_and_addresses_that_are_none_are_refused_with_their_place() {
    for (table, expected) in [
        ("[trace]\nshare = \"0%\"", "a share of 0% is out of range"),
        ("[trace]\nshare = \"101%\"", "a share of 101% is out of range"),
        ("[trace]\nshare = 25", "a percentage such as 5%"),
        ("[trace]\nurl = \"https://t.example/\"", "`url` lacks `{trace_id}`"),
        (
            "[trace]\nurl = \"javascript:alert('{trace_id}')\"",
            "`url` is not an address that begins with http:// or https://",
        ),
        ("[trace]\nurl = \"file:///{trace_id}\"", "`url` is not an address"),
        (
            "[trace]\nurl = \"https://a:b@t.example/{trace_id}\"",
            "`url` may not hold user and password",
        ),
        ("[trace]\nshares = \"25%\"", "unknown key `shares`"),
        ("trace = 1", "trace"),
    ] {
        let message = refused(table);
        assert!(message.contains(expected) && message.contains('^'), "{table}: {message}");
    }
    assert!(
        !refused("[trace]\nurl = \"https://a:b@t.example/{trace_id}\"")
            .contains("got \"https://a:b@")
    );
}

#[test]
fn a_file_without_an_operation_that_can_carry_one_is_refused() {
    let file = FILE.replace("http://", "smtp://").replace("http = { path = \"/\" }", "smtp = {}");
    let message = read(&format!("{file}[trace]"), &flags(None, None)).unwrap_err();
    for expected in [
        "no operation of this file can carry a trace id",
        "operations of `http` and `http2` carry one",
        "[trace]",
    ] {
        assert!(message.contains(expected), "{message}");
    }
    let both = format!(
        "{FILE}[[operation]]\nname = \"mail\"\ntarget = \"smtp://127.0.0.1:25\"\nsmtp = {{}}\n[trace]"
    );
    let plan = plan(&both);
    let traced: Vec<bool> = plan.arms[0].operations.iter().map(|one| one.is_traced).collect();
    assert_eq!(traced, [true, false]);
    assert!(plan.describe().contains("a trace id on 100 % of home\n"), "{}", plan.describe());
}
