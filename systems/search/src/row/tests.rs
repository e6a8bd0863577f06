use super::*;

#[test]
fn a_bad_line_is_named_and_the_others_are_taken() {
    let mut body = String::new();
    for number in 1..=10_000 {
        let line = format!("{{\"id\":\"r{number}\",\"metadata\":{{\"role\":\"picker\"}}}}\n");
        body.push_str(if number == 4_711 { "{\"id\":\"r4711\",\n" } else { &line });
    }
    let bulk: Bulk = lines(body.as_bytes()).collect();
    assert_eq!((bulk.rows.len(), bulk.refused_count), (9_999, 1));
    assert_eq!(bulk.refused[0].line, Some(4_711));
    assert_eq!(bulk.refused[0].fault.code, Code::InvalidRow);
    assert_eq!(bulk.rows[0].text, "picker");
}
