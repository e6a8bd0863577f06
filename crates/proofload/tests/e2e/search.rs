//! The search service from its clients' view: acknowledged rows are found after any kill, parts restart, and an
//! independent judge checks recall.

pub mod asking;
mod fronts;
mod judged;
mod kills;
mod model;

use std::process::Command;

use serde_json::{Value, json};

use crate::fences::blocks;
use crate::lab::server::bundled;
use crate::lab::{Lab, Ran};
use asking::{address, ask, json_of, search};

const PAGE: &str = include_str!("../../../../systems/search/README.md");

/// The Python code on the page, with this server's address instead of the page's.
fn python(ready: &Value) -> String {
    let program = blocks(PAGE, "python").next().expect("a program in Python");
    assert!(program.contains("127.0.0.1:8080"), "{program}");
    program.replace("127.0.0.1:8080", &address(ready, "http"))
}

#[test]
fn the_program_on_the_page_ingests_and_finds_its_rows() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("search", &[]);
    let ran = Command::new("python3").args(["-c", &python(&ready)]).output().expect("python3");
    let ran = Ran::from(ran);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "found it\n"), "{}", ran.stderr);
}

#[test]
fn what_is_told_at_the_start_is_what_holds() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("search", &["workers=300", "dimension=64", "sample=10%"]);
    let effective = &ready["effective"];
    assert_eq!((&effective["rows"], &effective["sample_every"]), (&json!(300), &json!(10)));
    assert_eq!(
        (&effective["front"], &effective["embedder"]["dimension"]),
        (&json!("direct"), &json!(64))
    );
    let http = address(&ready, "http");
    let (status, told) = search(&http, json!({ "query": "forklift", "k": 1_000 }));
    assert_eq!((status, &told["index_size"]), (200, &json!(300)));
    assert_eq!(told["results"].as_array().map(Vec::len), Some(300));
    let (status, _, body) = ask(&http, "GET", "/metrics", "");
    let text = String::from_utf8(body).expect("text");
    assert_eq!(status, 200);
    assert!(text.contains("search_index_rows 300"), "{text}");
}

#[test]
fn a_body_beyond_the_bound_is_refused_before_it_is_read() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("search", &["max_body=1KiB"]);
    let http = address(&ready, "http");
    let (status, _, body) = ask(&http, "POST", "/v1/workers", &" ".repeat(2_000));
    let told = json_of(&body);
    assert_eq!((status, &told["error"]["code"]), (413, &json!("TOO_LARGE")), "{told}");
}

#[test]
fn a_filter_on_what_no_row_has_is_refused_with_its_place() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("search", &["workers=200"]);
    let http = address(&ready, "http");
    let (status, told) = search(&http, json!({ "query": "picker", "filter": { "colour": "red" } }));
    let error = &told["error"];
    assert_eq!(
        (status, &error["code"], &error["at"]),
        (400, &json!("INVALID_FILTER"), &json!("/filter/colour"))
    );
    let (status, told) =
        search(&http, json!({ "query": "picker", "k": 200, "filter": { "years.gte": 20 } }));
    let years = told["results"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|hit| hit["metadata"]["years"].as_i64());
    let years: Vec<_> = years.collect();
    assert!(
        status == 200 && !years.is_empty() && years.iter().all(|years| *years >= Some(20)),
        "{years:?}"
    );
}

#[test]
fn bad_settings_are_told_at_once() {
    let lab = Lab::new();
    let ran = lab.proofload(&[
        "serve",
        "search",
        "--set",
        "workers=many",
        "--set",
        "embedder=nowhere",
        "--set",
        "ef=0",
        "--set",
        "x=1",
    ]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for key in ["workers:", "embedder:", "ef:", "x:"] {
        assert!(ran.stderr.contains(key), "{key} in {}", ran.stderr);
    }
    let nobody = format!("index=http://{}", crate::lab::server::NOBODY);
    let ran = lab.proofload(&["serve", "search", "--set", &nobody]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("reach the index"), "{}", ran.stderr);
}
