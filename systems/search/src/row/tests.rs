use super::*;

#[test]
fn a_bad_line_is_named_and_the_others_are_taken() {
    let mut body = String::new();
    for number in 1..=10_000 {
        let line = format!("{{\"id\":\"r{number}\",\"metadata\":{{\"role\":\"picker\"}}}}\n");
        body.push_str(if number == 4_711 { "{\"id\":\"r4711\",\n" } else { &line });
    }
    let bulk: RowReader = lines(body.as_bytes()).collect();
    assert_eq!((bulk.rows.len(), bulk.refused_count), (9_999, 1));
    assert_eq!(bulk.refused[0].line, Some(4_711));
    assert_eq!(bulk.refused[0].refusal.code, Code::InvalidRow);
    assert_eq!(bulk.rows[0].text, "picker");
}

fn error(row: &str) -> (String, String) {
    let error = Row::read(row.as_bytes()).unwrap_err();
    assert_eq!(error.code, Code::InvalidRow, "{row}");
    (error.at.unwrap_or_default(), error.message)
}

fn place(row: &str) -> String {
    error(row).0
}

#[test]
fn a_row_is_read_as_it_stands() {
    let row = r#"{"id":"ä 1","text":"Picker","metadata":{"years":7},"vector":[3,-4.5]}"#;
    let row = Row::read(row.as_bytes()).unwrap();
    assert_eq!((row.id.as_str(), row.text.as_str()), ("ä 1", "Picker"));
    assert_eq!(row.metadata["years"], 7);
    assert_eq!(row.vector, Some(vec![3.0, -4.5]));
    for id in ["a b\\\"'", "cafe\u{301}", "叉车", "🙂"] {
        let read = Row::read(&serde_json::to_vec(&serde_json::json!({ "id": id })).unwrap());
        assert_eq!(read.unwrap().id, id);
    }
    let bare = Row::read(br#"{"id":"a"}"#).unwrap();
    assert_eq!(bare, Row { id: "a".into(), ..Row::default() });
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (row, expected) in [
        (r#"{"id":""}"#, "/id"),
        (r#"{"id":7}"#, "/id"),
        (r#"{"id":"a\u0000b"}"#, "/id"),
        (r#"{"id":"a\nb"}"#, "/id"),
        (r#"{"id":"a\u200eb"}"#, "/id"),
        (r#"{"id":"a\u202eb"}"#, "/id"),
        (r#"{"id":"a","text":7}"#, "/text"),
        (r#"{"id":"a","metadata":[]}"#, "/metadata"),
        (r#"{"id":"a","metadata":"x"}"#, "/metadata"),
        (r#"{"id":"a","vector":[0.5,"x"]}"#, "/vector/1"),
        (r#"{"id":"a","vector":[0,1,1e39]}"#, "/vector/2"),
        (r#"{"id":"a","vector":[0,0]}"#, "/vector"),
        (r#"{"id":"a","vector":[]}"#, "/vector"),
        (r#"{"id":"a","colour":"red"}"#, "/colour"),
        (r#"{"text":"a"}"#, ""),
        (r#"{"id":"a","id":"b"}"#, ""),
        (r#"{"id":"\ud800"}"#, "/id"),
        (r#"{"id":"a"} x"#, ""),
        (r#"["a","text",{},[1]]"#, ""),
        ("null", ""),
        ("", ""),
    ] {
        assert_eq!(place(row), expected, "{row}: {}", error(row).1);
    }
    let (_, message) = error(r#"{"id":"a" "text"}"#);
    assert!(message.ends_with(" at column 11"), "{message}: a row has no lines of its own");
    assert_eq!(Row::read(b"{\"id\":\"\xff\"}").unwrap_err().code, Code::InvalidRow);
}

#[test]
fn what_is_too_long_or_too_deep_is_refused_and_no_more() {
    let id = |length| format!(r#"{{"id":"{}"}}"#, "ł".repeat(length));
    assert!(Row::read(id(LONGEST_ID).as_bytes()).is_ok());
    assert_eq!(place(&id(LONGEST_ID + 1)), "/id");
    let text = |length| format!(r#"{{"id":"a","text":"{}"}}"#, "x".repeat(length));
    assert!(Row::read(text(LONGEST_TEXT).as_bytes()).is_ok());
    assert_eq!(place(&text(LONGEST_TEXT + 1)), "/text");
    // {"a":"…"} is 8 bytes longer than its text.
    let metadata =
        |length| format!(r#"{{"id":"a","metadata":{{"a":"{}"}}}}"#, "x".repeat(length - 8));
    assert!(Row::read(metadata(LONGEST_METADATA).as_bytes()).is_ok());
    assert_eq!(place(&metadata(LONGEST_METADATA + 1)), "/metadata");
    let deep = |lists: usize| {
        let (open, close) = ("[".repeat(lists), "]".repeat(lists));
        format!(r#"{{"id":"a","metadata":{{"a/b":{open}{close}}}}}"#)
    };
    assert!(Row::read(deep(DEEPEST_METADATA - 1).as_bytes()).is_ok());
    assert_eq!(place(&deep(DEEPEST_METADATA)), "/metadata/a~1b/0/0/0/0");
    assert_eq!(Row::read(deep(100_000).as_bytes()).unwrap_err().code, Code::InvalidRow);
}

#[test]
fn names_of_all_levels_count_and_one_too_many_is_refused() {
    let wide = |names: usize| {
        let inner: Vec<String> = (2..names).map(|n| format!(r#""n{n:03}":0"#)).collect();
        format!(r#"{{"id":"a","metadata":{{"in":[{{"it":{{{}}}}}]}}}}"#, inner.join(","))
    };
    assert!(Row::read(wide(MOST_FIELDS).as_bytes()).is_ok());
    assert_eq!(place(&wide(MOST_FIELDS + 1)), "/metadata/in/0/it/n256");
}

#[test]
fn a_text_is_made_of_the_metadata() {
    let text = |metadata: Value| text_of(metadata.as_object().unwrap());
    let metadata = serde_json::json!({
        "years": 7, "city": "Łódź", "skills": ["RF scanner", "lashing"], "is_driver": true, "is_cook": false,
        "note": null, "rate": 23.5, "at": { "z": "dock", "b": 4 }, "empty": "",
    });
    assert_eq!(
        text(metadata),
        "b 4, dock, Łódź, is_driver, rate 23.5, RF scanner, lashing, years 7"
    );
    assert_eq!(text(serde_json::json!({})), "");
    let long = text(serde_json::json!({ "a": "x", "b": "ł".repeat(LONGEST_TEXT) }));
    assert_eq!(long.len(), LONGEST_TEXT - 1, "cut between characters");
}

#[test]
fn empty_lines_count_and_are_no_rows() {
    let body = b"\n{\"id\":\"a\"}\r\n  \n{}\n{\"id\":\"b\"}";
    let read: Vec<_> = lines(body).map(|row| row.map_err(|refused| refused.line)).collect();
    assert_eq!(read.len(), 3);
    assert_eq!(read[0].as_ref().unwrap().id, "a");
    assert_eq!(read[1], Err(Some(4)));
    assert_eq!(read[2].as_ref().unwrap().id, "b");
    assert_eq!(lines(b"").count() + lines(b"\n\r\n").count(), 0);
}

#[test]
fn a_list_names_places_from_its_own_on() {
    let rows = serde_json::json!([{ "id": "a" }, 7, { "id": "b", "vector": [1, "x"] }]);
    let bulk: RowReader = list("/rows", rows.as_array().unwrap().clone()).collect();
    let places: Vec<_> = bulk.refused.iter().map(|refused| refused.refusal.at.as_deref()).collect();
    assert_eq!(places, [Some("/rows/1"), Some("/rows/2/vector/1")]);
    let json = serde_json::to_value(&bulk.refused[1]).unwrap();
    assert_eq!((&json["at"], &json["code"]), (&"/rows/2/vector/1".into(), &"INVALID_ROW".into()));
    assert_eq!(bulk.rows.len(), 1);
}

#[test]
fn many_refused_are_counted_and_the_first_told() {
    let bulk: RowReader = lines("{}\n".repeat(250).as_bytes()).collect();
    assert_eq!((bulk.refused.len(), bulk.refused_count), (REFUSED_TOLD, 250));
    assert_eq!(bulk.refused[99].line, Some(100));
}
