//! Targets of vegeta: blocks of a request line, header lines and `@body-file`, or one JSON object a line.
//!
//! Each target is an operation. A body file is not read here: the experiment names it. A file outside the folder of the
//! source is left out, so that a list from elsewhere does not send files of this machine.
//!
//! Source: vegeta's README, sections `http format` and `json format`; `lib/targets.go`

use plan::request_list::{VegetaBody, VegetaTarget, vegeta_json_targets, vegeta_targets};

use crate::draft::{Body, Draft};
use crate::format::{Options, Unreadable};
use crate::request;

/// Longer lists are replayed better as they are.
const MOST_TARGETS: usize = 1_000;
/// Lines that are looked at to tell the format.
const LINES_SEEN: usize = 200;

/// Whether a text seems to be a list of targets.
pub fn seems(name: &str, text: &str) -> bool {
    if name.ends_with(".http") || name.ends_with(".rest") || name.ends_with(".hurl") {
        return false;
    }
    let mut lines = text.lines().map(str::trim).take(LINES_SEEN);
    let first = lines.clone().find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.unwrap_or_default();
    if first.starts_with('{') {
        return vegeta_json_targets(first).first().is_some_and(Result::is_ok);
    }
    let is_target = first.split_once(' ').is_some_and(|(method, address)| {
        method.bytes().all(|byte| byte.is_ascii_uppercase())
            && (address.starts_with("http://") || address.starts_with("https://"))
            && !address.contains(' ')
    });
    // Other files of requests separate them, or have answers.
    is_target && !lines.any(|line| line.starts_with("###") || line.starts_with("HTTP"))
}

/// Reads every target; lines that are none have notes.
///
/// Errors: a list that is too long
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let mut draft = Draft::default();
    let is_json = text.trim_start().starts_with('{');
    let targets = if is_json { vegeta_json_targets(text) } else { vegeta_targets(text) };
    for target in targets {
        match target {
            Ok(target) => add(&target, wanted, &mut draft),
            Err((line, what)) => {
                let what = draft.credentials.hidden(&what);
                draft.note(usize::try_from(line).ok(), what.as_str());
            }
        }
        if draft.operations.len() > MOST_TARGETS {
            let what = format!("the list has more than {MOST_TARGETS} targets");
            let hint = "name the file in an operation: targets = { file = \"targets.txt\" }";
            return Err(Unreadable { line: None, what, hint: Some(hint.to_owned()) });
        }
    }
    if draft.operations.len() > 1 {
        draft.operations[0].comments.push(
            "vegeta sends its targets in turn; these are drawn at random, each as often as the others."
                .to_owned(),
        );
    }
    Ok(draft)
}

fn add(target: &VegetaTarget, wanted: &Options, draft: &mut Draft) {
    let line = usize::try_from(target.line).ok();
    let mut operation = match request::to(&target.address, &mut draft.credentials) {
        Ok(operation) => operation,
        Err(what) => {
            let what = draft.credentials.hidden(&what);
            return draft.note(line, what.as_str());
        }
    };
    if !wanted.wants(&operation.origin) {
        return;
    }
    operation.method.clone_from(&target.method);
    for (name, value) in &target.headers {
        request::add_header(&mut operation, name, value, &mut draft.credentials);
    }
    match &target.body {
        VegetaBody::Empty => {}
        VegetaBody::File(path, _) if request::is_within(path) => {
            operation.body = Body::File(path.clone())
        }
        VegetaBody::File(path, line) => {
            let what = format!(
                "the body {path:?} is a file outside the folder of the list: it is left out"
            );
            draft.note(usize::try_from(*line).ok(), what);
        }
        VegetaBody::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => request::set_body(&mut operation, text, &mut draft.credentials),
            Err(_) => draft.note(line, "a body that is no UTF-8 is left out: write it as a file"),
        },
    }
    draft.add(operation);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write;

    fn written(text: &str) -> (Vec<(Option<usize>, String)>, String) {
        assert!(seems("targets.txt", text), "{text}");
        let draft = read(text, &Options::default()).unwrap();
        let written = write(&draft, "test");
        (draft.notes.into_iter().map(|note| (note.line, note.what)).collect(), written)
    }

    #[test]
    fn blocks_become_operations_without_their_secrets() {
        let (notes, written) = written(
            "# two\nGET http://h/a?q=1\nGET http://h/b\nAuthorization: Bearer s3cret-1\nX-One: 1\n\n\
             POST http://h/orders\nContent-Type: application/json\n@orders/one.json\n\nDELETE http://h/x\n",
        );
        assert_eq!(notes, []);
        for line in [
            "http   = { path = \"/a\", query = { q = \"1\" } }",
            "http   = { path = \"/b\", header = { x-one = \"1\" }, auth = { bearer = \"{{env.TOKEN}}\" } }",
            "http   = { path = \"/orders\", header = { content-type = \"application/json\" }, body_file = \"orders/one.json\" }",
            "http   = { method = \"DELETE\", path = \"/x\" }",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
        assert!(!written.contains("s3cret"), "{written}");
    }

    #[test]
    fn lines_of_json_have_their_bodies() {
        let (notes, written) = written(
            "{\"method\":\"POST\",\"url\":\"http://h/login\",\"body\":\"eyJwYXNzd29yZCI6InMzY3JldCIsIm4iOjF9\",\
             \"header\":{\"Content-Type\":[\"application/json\"]}}\n{\"method\":1}\n\
             {\"method\":\"PUT\",\"url\":\"http://h/b\",\"body\":\"//8=\"}\n",
        );
        let lines: Vec<Option<usize>> = notes.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [Some(2), Some(3)], "{notes:?}");
        let login = "json = { n = 1, password = \"{{env.PASSWORD}}\" }";
        assert!(written.contains(login) && !written.contains("s3cret"), "{written}");
    }

    #[test]
    fn a_list_sends_no_file_from_outside_its_folder() {
        for path in ["/etc/passwd", "../secrets.txt", "a/../../b"] {
            let (notes, written) = written(&format!("POST http://h/\n@{path}\n"));
            assert_eq!(notes[0].0, Some(2), "{notes:?}");
            assert!(notes[0].1.contains("outside the folder"), "{notes:?}");
            assert!(!written.contains("body_file"), "{written}");
        }
    }

    #[test]
    fn bad_lines_are_named_and_the_rest_is_taken() {
        let (notes, written) =
            written("GET http://h/a\nnonsense\n\nGET ftp://h/\n\nGET http://h/b\n");
        let lines: Vec<Option<usize>> = notes.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [Some(2), Some(4)], "{notes:?}");
        assert!(written.contains("\"/a\"") && written.contains("\"/b\""), "{written}");
        let long = "GET http://h/\n".repeat(MOST_TARGETS + 1);
        assert!(read(&long, &Options::default()).unwrap_err().hint.is_some());
    }
}
