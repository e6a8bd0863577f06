use super::*;

fn call(index: u64) -> Call {
    Call {
        index,
        operation: 1,
        sequence: index / 2,
        row: 1,
        trial: 3,
        seed: 42,
        now: 777,
        ..Call::default()
    }
}

fn compiled(text: &str, rows: Option<&Rows>) -> Template {
    Template::compile(text, Span::new(0, text.len()), Scope::of_rows(rows)).unwrap()
}

fn text(template: &str, index: u64) -> String {
    let mut out = Vec::new();
    compiled(template, None).render(&call(index), None, &mut out);
    String::from_utf8(out).unwrap()
}

fn rows() -> Rows {
    Rows::parse("q.csv", b"id,query\n1,plain\n2,\"say \"\"hi\"\"\"\n").unwrap()
}

#[test]
fn plain_placeholders() {
    assert_eq!(text("user-{{sequence}}/{{ trial }}", 10), "user-5/3");
    assert_eq!(text("{{{{sequence}}", 1), "{{sequence}}");
    assert_eq!(compiled("no braces", None).literal(), Some("no braces"));
    assert_eq!(compiled("", None).literal(), Some(""));
    assert_eq!(compiled("a{{trial}}", None).literal(), None);
}

#[test]
fn a_nonce_verifies() {
    let nonce = nonce::verify(&text("{{nonce}}", 9), 42).unwrap();
    assert_eq!((nonce.trial, nonce.index, nonce.sent_at), (3, 9, 777));
}

#[test]
fn a_uuid_has_the_shape_of_version_four_and_differs_by_index() {
    let uuid = text("{{uuid}}", 5);
    assert_eq!(uuid.len(), 36);
    let dashes: Vec<usize> = uuid.match_indices('-').map(|(at, _)| at).collect();
    assert_eq!(dashes, [8, 13, 18, 23]);
    assert_eq!(&uuid[14..15], "4");
    assert!("89ab".contains(&uuid[19..20]), "{uuid}");
    assert_ne!(uuid, text("{{uuid}}", 6));
    assert_eq!(text("{{uuid}} {{uuid}}", 5), format!("{uuid} {uuid}"));
}

#[test]
fn a_token_is_sixteen_digits_that_differ_by_index_alone() {
    let token = text("{{token}}", 5);
    assert_eq!(token.len(), 16);
    assert!(token.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{token}");
    assert_eq!(text("/?nonce={{token}}", 5), format!("/?nonce={token}"));
    let tokens = (0..10_000).map(|index| text("{{token}}", index));
    assert_eq!(tokens.collect::<std::collections::BTreeSet<_>>().len(), 10_000);
}

#[test]
fn random_numbers_fill_their_range_and_no_more() {
    let mut seen = [0_u32; 10];
    for index in 0..10_000 {
        let value: i64 = text("{{random -3..6}}", index).parse().unwrap();
        seen[usize::try_from(value + 3).unwrap()] += 1;
    }
    // 1,000 each; 4 sigma is 120.
    assert!(seen.iter().all(|count| count.abs_diff(1000) < 120), "{seen:?}");
}

#[test]
fn two_random_numbers_of_one_text_are_independent() {
    let equal = (0..1000).filter(|index| {
        let text = text("{{random 0..9}} {{random 0..9}}", *index);
        let (a, b) = text.split_once(' ').unwrap();
        a == b
    });
    // 100 of 1,000 expected; 4 sigma is 38.
    assert!(equal.count().abs_diff(100) < 38);
}

#[test]
fn bytes_are_printable_and_exactly_so_many() {
    let kib = text("{{bytes 1KiB}}", 3);
    assert_eq!(kib.len(), 1024);
    assert!(kib.bytes().all(|byte| PRINTABLE.contains(&byte)));
    assert_ne!(kib, text("{{bytes 1KiB}}", 4));
    assert_eq!(text("{{bytes 0B}}{{bytes 13B}}", 3).len(), 13);
    // Computed apart from this code: another version must send the same bytes for a seed.
    assert_eq!(text("{{bytes 23B}}", 3), "Kuf9u2TNtGqo8l5HT5wwzTp");
}

#[test]
fn rows_give_their_fields() {
    let rows = rows();
    let mut out = Vec::new();
    compiled("{{row.id}}: {{row.query}}", Some(&rows)).render(&call(0), Some(&rows), &mut out);
    assert_eq!(out, b"2: say \"hi\"");
}

#[test]
fn rendering_grows_nothing_but_its_buffer() {
    let rows = rows();
    let all =
        "{{sequence}}{{nonce}}{{uuid}}{{token}}{{random 0..9}}{{bytes 20B}}{{row.id}}{{trial}}";
    let template = compiled(all, Some(&rows));
    let mut out = Vec::with_capacity(256);
    let before = out.as_ptr();
    for index in 0..100 {
        out.clear();
        template.render(&call(index), Some(&rows), &mut out);
    }
    assert_eq!(before, out.as_ptr());
}

#[test]
fn every_problem_has_its_place() {
    let text = "{{sequenze}} {{random 9..0}} {{bytes 10}} {{row.x}} {{nonce 3}} {{open";
    let problems =
        Template::compile(text, Span::new(100, 100 + text.len()), Scope::default()).unwrap_err();
    let found: Vec<(usize, &str)> =
        problems.iter().map(|problem| (problem.span.start, problem.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (100, "unknown placeholder `sequenze`"),
            (113, "expected a range such as 0..99, got \"9..0\""),
            (129, "expected a size such as 1KiB or 300kB, got \"10\""),
            (142, "`row.x` in an operation without rows"),
            (152, "`nonce` takes nothing, got \"3\""),
            (164, "`{{` is never closed"),
        ]
    );
    assert_eq!(problems[0].label, "did you mean `sequence`?");
}

#[test]
fn an_unknown_column_names_the_near_one() {
    let rows = rows();
    let problems = Template::compile("{{row.qery}}", Span::new(0, 12), Scope::of_rows(Some(&rows)))
        .unwrap_err();
    assert_eq!(problems[0].message, "unknown column of q.csv `qery`");
    assert_eq!(problems[0].label, "did you mean `query`?");
}
