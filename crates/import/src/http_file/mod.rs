//! Files `.http` and `.rest` of editors (the REST Client of Visual Studio Code, the HTTP client of JetBrains).
//!
//! Each request is an operation. If a request uses what an earlier one answered, all of them are a journey, in order.
//! Scripts are not performed; what they set from an answer is captured where that is a path into its JSON.
//!
//! Source: README of the REST Client (Huachao/vscode-restclient); "HTTP request syntax" of JetBrains

mod block;
mod multipart;
mod variables;

use crate::draft::{Body, Capture, Draft, DraftJourney, DraftOperation, DraftStep, Part};
use crate::format::{Options, Unreadable};
use crate::masks::{Masks, UNKNOWN};
use crate::request;
use block::{Block, Content, Piece};
use multipart::PartContent;
use variables::Variables;

/// Whether a text seems to be such a file.
pub fn seems(name: &str, text: &str) -> bool {
    name.ends_with(".http")
        || name.ends_with(".rest")
        || (text.lines().any(|line| line.starts_with("###")) && block::blocks(text).any(is_request))
}

/// Whether a block is more than a paragraph under a heading.
fn is_request(block: Block<'_>) -> bool {
    !block.method.is_empty() || block.address.starts_with("http")
}

/// Reads every request.
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let mut draft = Draft::default();
    let blocks: Vec<Block<'_>> = block::blocks(text).collect();
    let mut variables = Variables::of_file(text);
    for block in &blocks {
        variables.set.extend(block.sets.iter().map(|set| set.name.to_owned()));
    }
    let mut operations = Vec::new();
    for block in &blocks {
        operations.extend(add(block, &mut variables, wanted, &mut draft));
    }
    if draft.operations.iter().any(|one| !one.captures.is_empty()) {
        let steps = operations.into_iter().map(|place| DraftStep::Do(vec![place])).collect();
        draft.add_journey(DraftJourney {
            name: "visit".to_owned(),
            steps,
            ..DraftJourney::default()
        });
    }
    Ok(draft)
}

/// Adds the operation of a block; its place.
fn add(
    block: &Block<'_>,
    variables: &mut Variables,
    wanted: &Options,
    draft: &mut Draft,
) -> Option<usize> {
    let mut masks = Masks::default();
    let mut used = Vec::new();
    let mut masked = |text: &str, draft: &mut Draft| {
        let text = variables.filled(text);
        masks.mask(&text, |name| variables.placeholder(name, block.line, &mut used, draft))
    };
    let address = masked(&block.address, draft);
    let mut operation = match request::to(&address, &mut draft.credentials) {
        Ok(operation) => operation,
        Err(what) => {
            draft.note(block.line, masks.unmask(&what));
            return None;
        }
    };
    if !wanted.wants(&operation.origin) {
        return None;
    }
    for (name, value) in &block.headers {
        let value = masked(value, draft);
        request::add_header(&mut operation, name, &value, &mut draft.credentials);
    }
    add_content(block, &mut operation, &mut masked, draft);
    operation.method = block.method.to_owned();
    operation.is_http2 = block.is_http2;
    if let Some(host) = masks.lift(&mut operation) {
        draft.note(block.line, format!("the host {host}: {UNKNOWN} stands in its place"));
    }
    if let Some(name) = block.name {
        operation.name = name.to_owned();
    }
    for (earlier, name, capture) in used {
        let captures = &mut draft.operations[earlier].captures;
        if captures.iter().all(|(known, _)| *known != name) {
            captures.push((name, capture));
        }
    }
    let place = draft.add(operation);
    for line in &block.left_out {
        draft.note(*line, "a line of a script is left out");
    }
    variables.answered(block, place);
    Some(place)
}

/// Sets the body; `masked` fills variables in.
fn add_content(
    block: &Block<'_>,
    operation: &mut DraftOperation,
    masked: &mut impl FnMut(&str, &mut Draft) -> String,
    draft: &mut Draft,
) {
    match &block.content {
        Content::Empty => {}
        Content::File(file) => operation.body = Body::File((*file).to_owned()),
        Content::Text(text) => {
            let is_form = operation.headers.iter().any(|(name, value)| {
                name == "content-type" && value.as_str().contains("x-www-form-urlencoded")
            });
            // A form may be written on several lines.
            let text = if is_form { text.replace(['\r', '\n'], "") } else { text.clone() };
            let text = masked(&text, draft);
            request::set_body(operation, &text, &mut draft.credentials);
        }
        Content::Mixed(pieces) => match form(block.line, pieces, operation, masked, draft) {
            Some(parts) => {
                operation.headers.retain(|(name, _)| name != "content-type");
                operation.body = Body::Multipart(parts);
            }
            None => draft.note(block.line, "a body of text and files is left out"),
        },
    }
}

/// The parts of a form that has files.
fn form(
    line: usize,
    pieces: &[Piece],
    operation: &DraftOperation,
    masked: &mut impl FnMut(&str, &mut Draft) -> String,
    draft: &mut Draft,
) -> Option<Vec<(String, Part)>> {
    let kind = operation.headers.iter().find(|(name, _)| name == "content-type")?;
    let filled = pieces.iter().map(|piece| match piece {
        Piece::Line(line) => Piece::Line(masked(line, draft)),
        Piece::File(file) => Piece::File(file.clone()),
    });
    let filled: Vec<Piece> = filled.collect();
    let parts = multipart::parts(&filled, multipart::boundary(kind.1.as_str())?)?;
    let parts = parts.into_iter().map(|part| {
        let name = part.name;
        let content = match part.content {
            PartContent::Text(text) => {
                if part.kind.is_some() || part.file_name.is_some() {
                    draft.note(line, format!("{name}: type and file name of a text are left out"));
                }
                Part::Text(draft.credentials.text(name, &text))
            }
            PartContent::File(file) => {
                if part.file_name != file.rsplit('/').next() {
                    draft.note(line, format!("{name}: the part is sent with the name of its file"));
                }
                Part::File(file.to_owned(), part.kind.map(str::to_owned))
            }
        };
        (name.to_owned(), content)
    });
    Some(parts.collect())
}

impl Capture {
    /// Of an answer's JSON, at these words between dots.
    fn at(path: &str) -> Self {
        match path {
            "" | "*" => Self::Body,
            path if path.starts_with('$') => Self::Json(path.to_owned()),
            path => Self::Json(format!("$.{path}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write;

    fn written(text: &str) -> (Draft, String) {
        let draft = read(text, &Options::default()).unwrap();
        let written = write(&draft, "test");
        (draft, written)
    }

    #[test]
    fn requests_stand_between_lines_of_hashes() {
        let text = "@host = http://h:1\n\nGET {{host}}/a\n    ?b=c\n    &d=e f\nAccept: x\n\n### Second one\n\
            # @name second\n// a comment\nPUT {{host}}/b HTTP/2\nContent-Type: application/json\n\n{\n \"n\": 1 }\n\n\
            ###\nhttp://h:1/c\n\n###\nPOST http://h:1/d\n\n< ./file.bin\n\n### none\n";
        let (draft, written) = written(text);
        assert_eq!(draft.notes, []);
        for line in [
            "http   = { path = \"/a\", query = { b = \"c\", d = \"e f\" }, header = { accept = \"x\" } }",
            "name   = \"second\"\nhttp2  = { method = \"PUT\", path = \"/b\", json = { n = 1 } }",
            "http   = { path = \"/c\" }",
            "http   = { path = \"/d\", body_file = \"./file.bin\" }",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
        assert!(!written.contains("[[journey]]"), "{written}");
    }

    #[test]
    fn a_form_may_have_files_and_a_path_its_host_beside_it() {
        let text = "POST /a HTTP/1.1\nHost: h:443\nContent-Type: multipart/form-data; boundary=b\n\n--b\n\
            Content-Disposition: form-data; name=\"password\"\n\ns3cret-1\n--b\n\
            Content-Disposition: form-data; name=\"f\"; filename=\"x.png\"\nContent-Type: image/png\n\n< ./x.png\n--b--\n\
            \n###\nPOST http://h/b\n\na\n< ./x.png\n\n###\nPOST http://h/c\nContent-Type: multipart/form-data; boundary=b\n\n--c\n\
            Content-Disposition: form-data; name=\"f\"\n\n< ./x.png\n--c--\n\n###\n@b = x\nPOST http://h/d\n\
            Content-Type: multipart/form-data; boundary={{b}}\n\n--{{b}}\nContent-Disposition: form-data; name=\"g\"\n\
            Content-Type: text/csv\n\n1;2\n--{{b}}\nContent-Disposition: form-data; name=\"h\"\n\n< ./a/y.png\n--{{b}}--\n";
        let (draft, written) = written(text);
        let notes: Vec<&str> = draft.notes.iter().map(|note| note.what.as_str()).collect();
        assert_eq!(
            notes,
            [
                "a body of text and files is left out",
                "a body of text and files is left out",
                "g: type and file name of a text are left out",
                "h: the part is sent with the name of its file",
            ]
        );
        for line in [
            "https://h",
            "multipart = { password = \"{{env.PASSWORD}}\", f = { file = \"./x.png\", type = \"image/png\" } }",
            "multipart = { g = \"1;2\", h = { file = \"./a/y.png\" } }",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
        // Only the form that is left out keeps its type.
        assert_eq!(written.matches("content-type").count(), 1, "{written}");
        assert!(!written.contains("s3cret"), "{written}");
    }

    #[test]
    fn a_page_of_text_is_no_such_file() {
        assert!(!seems("README.md", "# Title\n\n### Heading\n\nSome words.\n"));
        assert!(seems("requests.txt", "### One\nGET /a\n"));
    }

    #[test]
    fn what_an_answer_said_is_captured() {
        let text = "# @name login\nPOST http://h/login\n\n###\n@t = {{login.response.body.$.data.token}}\n\
            GET http://h/a\nAuthorization: Bearer {{t}}\nX-Next: {{login.response.headers.X-Next}}\n\n\
            > {% client.global.set(\"id\", response.body.user.id); %}\n\n###\nGET http://h/{{id}}?{{$guid}}\n";
        let (draft, written) = written(text);
        assert_eq!(draft.notes, []);
        for line in [
            "capture = { data_token = \"$.data.token\", x_next = { header = \"X-Next\" } }",
            "header = { x-next = \"{{login.x_next}}\" }, auth = { bearer = \"{{login.data_token}}\" }",
            "capture = { id = \"$.user.id\" }",
            "path = \"/{{a.id}}\"",
            "steps  = [\n  \"login\",\n  \"a\",\n  \"root\",\n]",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
    }

    #[test]
    fn other_variables_come_from_the_environment() {
        let text = "GET http://{{host}}/{{$randomInt 5 10}}?p={{$processEnv PIN}}&q={{who}}&t={{$timestamp}}\n";
        let (draft, written) = written(text);
        let what: Vec<&str> = draft.notes.iter().map(|note| note.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "{{$timestamp}} has no placeholder",
                "the host {{env.API_HOST}}: http://127.0.0.1:8080 stands in its place",
            ]
        );
        let line = "path = \"/{{random 5..9}}\", query = { p = \"{{env.PIN}}\", q = \"{{env.WHO}}\", t = \"{{{{$timestamp}}\" }";
        assert!(written.contains(line), "{written}");
    }

    #[test]
    fn a_variable_may_be_a_host_a_port_or_a_part_of_json() {
        let text = "@password = s3cret-1\nPOST http://{{host}}:{{port}}/a\nContent-Type: application/json\n\n\
            {\"id\": {{id}}, \"password\": \"s3cret-2\", \"other\": \"{{password}}\"}\n\n###\nPOST http://h/b\n\
            Content-Type: application/x-www-form-urlencoded\n\na=b\n&c=d\n";
        let (draft, written) = written(text);
        assert_eq!(draft.notes.len(), 1, "{:?}", draft.notes);
        for line in ["path = \"/a\"", "\"id\": {{env.ID}}", "form = { a = \"b\", c = \"d\" }"] {
            assert!(written.contains(line), "{line}\n{written}");
        }
        assert!(!written.contains("s3cret") && !written.contains("zqvariable"), "{written}");
    }
}
