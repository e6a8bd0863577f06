//! Files of Hurl: requests in their order, with what their answers must be and what of them later ones use.
//!
//! The file is one journey. It is read by lines, and not with Hurl's own crate, which needs a library of C for XML.
//!
//! Source: hurl.dev, "Hurl File", "Grammar"

mod answer;
mod entry;

use std::collections::BTreeMap;

use crate::draft::{Auth, Body, Capture, Draft, DraftJourney, DraftStep, Part, value_name};
use crate::format::{Options, Unreadable};
use crate::masks::{Masks, UNKNOWN};
use crate::text::Text;
use crate::{credentials, request};
use entry::{Content, Entry, Line, Section};

/// Redirects that Hurl follows unless it is told otherwise.
const FOLLOWED: u32 = 50;

/// Whether a text seems to be of Hurl.
pub fn seems(name: &str, text: &str) -> bool {
    let is_status = |line: &str| {
        let rest = line.strip_prefix("HTTP").and_then(|rest| rest.split_once(' '));
        rest.is_some_and(|(_, status)| {
            status.trim() == "*" || status.trim().parse::<u16>().is_ok_and(|code| code < 600)
        })
    };
    name.ends_with(".hurl")
        || (text.lines().any(is_status)
            && text.lines().any(|line| entry::request_line(line).is_some()))
}

/// Reads every entry.
///
/// Errors: a body that does not end
pub fn read(text: &str, wanted: &Options) -> Result<Draft, Unreadable> {
    let mut reader =
        Reader { draft: Draft::default(), captured: BTreeMap::new(), given: BTreeMap::new() };
    let mut steps = Vec::new();
    for entry in entry::entries(text)? {
        let place = reader.add(&entry, wanted);
        steps.extend(place.map(|place| DraftStep::Do(vec![place])));
    }
    let mut draft = reader.draft;
    if steps.len() > 1 {
        draft.add_journey(DraftJourney {
            name: "visit".to_owned(),
            steps,
            ..DraftJourney::default()
        });
    }
    Ok(draft)
}

struct Reader {
    draft: Draft,
    /// Variables that an answer has set: the operation's place and the value's name.
    captured: BTreeMap<String, (usize, String)>,
    /// Variables that the file itself sets.
    given: BTreeMap<String, String>,
}

impl Reader {
    /// Adds the operation of an entry; its place.
    fn add(&mut self, entry: &Entry<'_>, wanted: &Options) -> Option<usize> {
        let mut follow = 0;
        let options = entry.section("Options").map_or(&[][..], |section| &section.lines);
        for line in options {
            self.option(*line, &mut follow);
        }
        let mut masks = Masks::default();
        let address = self.masked(entry.address, entry.line, &mut masks);
        let mut operation = match request::to(&address, &mut self.draft.credentials) {
            Ok(operation) => operation,
            Err(what) => {
                self.draft.note(entry.line, masks.unmask(&what));
                return None;
            }
        };
        if !wanted.wants(&operation.origin) {
            return None;
        }
        for line in &entry.headers {
            if let Some((name, value)) = self.pair(*line, &mut masks) {
                request::add_header(&mut operation, &name, &value, &mut self.draft.credentials);
            }
        }
        for section in &entry.sections {
            self.section(section, &mut operation, &mut masks);
        }
        self.content(entry, &mut operation, &mut masks);
        operation.method = entry.method.to_owned();
        operation.follow = follow;
        let captures = answer::read(entry, &mut operation, &mut self.draft);
        if let Some(host) = masks.lift(&mut operation) {
            self.draft.note(entry.line, format!("the host {host}: {UNKNOWN} stands in its place"));
        }
        operation.captures =
            captures.iter().map(|(name, one)| (value_name(name), one.clone())).collect();
        let place = self.draft.add(operation);
        for (name, _) in captures {
            self.captured.insert(name.clone(), (place, value_name(&name)));
        }
        Some(place)
    }

    /// The text with a mask for each variable.
    fn masked(&mut self, text: &str, line: usize, masks: &mut Masks) -> String {
        let Self { draft, captured, given } = self;
        masks.mask(text, |name| {
            if let Some((place, value)) = captured.get(name) {
                return Some(format!("{{{{{}.{value}}}}}", draft.operations[*place].name));
            }
            if let Some(value) = given.get(name) {
                return Some(Text::literal(value).as_str().to_owned());
            }
            match name.split_once(' ').unwrap_or((name, "")) {
                ("newUuid", _) => Some("{{uuid}}".to_owned()),
                ("getEnv", name) => Some(credentials::environment(name)),
                ("newDate", _) => {
                    draft.note(line, "{{newDate}} has no placeholder");
                    None
                }
                _ => Some(format!("{{{{env.{}}}}}", credentials::variable(name))),
            }
        })
    }

    /// `name: value`, its variables masked.
    fn pair(&mut self, line: Line<'_>, masks: &mut Masks) -> Option<(String, String)> {
        let (name, value) = line.text.split_once(':')?;
        // A sign that would begin a comment has a backslash.
        let value = self.masked(&value.trim().replace("\\#", "#"), line.number, masks);
        Some((self.masked(name.trim(), line.number, masks), value))
    }

    fn section(
        &mut self,
        section: &Section<'_>,
        operation: &mut crate::draft::DraftOperation,
        masks: &mut Masks,
    ) {
        let lines = section.lines.iter().copied();
        let pairs: Vec<_> = lines.filter_map(|line| self.pair(line, masks)).collect();
        let credentials = &mut self.draft.credentials;
        let mut texts = || -> Vec<(String, Text)> {
            let text =
                |(name, value): &(String, String)| (name.clone(), credentials.text(name, value));
            pairs.iter().map(text).collect()
        };
        match section.name {
            "Query" | "QueryStringParams" => operation.query.extend(texts()),
            "Form" | "FormParams" => operation.body = Body::Form(texts()),
            "Multipart" | "MultipartFormData" => {
                let part = |(name, value): &(String, String)| {
                    (
                        name.clone(),
                        part(value).unwrap_or_else(|| Part::Text(credentials.text(name, value))),
                    )
                };
                operation.body = Body::Multipart(pairs.iter().map(part).collect());
            }
            "BasicAuth" => {
                operation.auth = pairs.first().map(|(user, password)| {
                    Auth::Basic(Text::literal(user), credentials.hide("password", password))
                });
            }
            "Cookies" => {
                let cookies = pairs.iter().map(|(name, value)| {
                    format!("{name}={}", credentials.text(name, value).as_str())
                });
                let cookies: Vec<String> = cookies.collect();
                operation.headers.push(("cookie".to_owned(), Text::template(cookies.join("; "))));
            }
            _ => {}
        }
    }

    fn content(
        &mut self,
        entry: &Entry<'_>,
        operation: &mut crate::draft::DraftOperation,
        masks: &mut Masks,
    ) {
        match &entry.content {
            Content::Empty => {}
            Content::File(file) => operation.body = Body::File((*file).to_owned()),
            Content::Text(text, kind) => {
                let is_typed = operation.headers.iter().any(|(name, _)| name == "content-type");
                if let Some(kind) = kind.filter(|_| !is_typed) {
                    operation.headers.push(("content-type".to_owned(), Text::literal(kind)));
                }
                let text = self.masked(text, entry.line, masks);
                request::set_body(operation, &text, &mut self.draft.credentials);
            }
            Content::Unknown(line) => self.draft.note(*line, "a body in base64 or hex is left out"),
        }
    }

    fn option(&mut self, line: Line<'_>, follow: &mut u32) {
        let (name, value) = line.text.split_once(':').unwrap_or((line.text, ""));
        match (name.trim(), value.trim()) {
            ("location", "true") => *follow = FOLLOWED,
            ("max-redirs", most) => *follow = most.parse().unwrap_or(FOLLOWED),
            ("variable", pair) => {
                // A credential comes from the environment, as all variables without a value do.
                let pair = pair.split_once('=');
                if let Some((name, value)) = pair.filter(|(name, _)| !credentials::is_secret(name))
                {
                    let value = value.trim().trim_matches('"');
                    self.given.insert(name.trim().to_owned(), value.to_owned());
                }
            }
            ("insecure", "true") => {
                if self.draft.target.iter().all(|(key, _)| *key != "insecure") {
                    self.draft.target.push(("insecure", "true".to_owned()));
                }
            }
            ("verbose" | "very-verbose" | "output", _) => {}
            (name, _) => self.draft.note(line.number, format!("the option {name} is left out")),
        }
    }
}

/// The file of `file,name; type`.
fn part(value: &str) -> Option<Part> {
    let file = value.strip_prefix("file,")?;
    let (file, kind) = file.split_once(';').unwrap_or((file, ""));
    let kind = Some(kind.trim()).filter(|kind| !kind.is_empty());
    Some(Part::File(file.trim().to_owned(), kind.map(str::to_owned)))
}

/// The captures of an answer, by variable.
type Captures = Vec<(String, Capture)>;

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
    fn requests_and_what_their_answers_must_be() {
        let text = "# comment\nGET http://h/login # not a comment?\nAccept: text/html\n[Options]\nlocation: true\nHTTP 200\n\
            [Captures]\ncsrf: regex \"csrf=(\\\\w+)\"\nnext: header \"Location\" regex \"id=([0-9]+)\"\nsid: cookie \"sid\"\n\
            [Asserts]\nbody contains \"Log in\"\nduration < 1000\n\n\
            POST http://h/login\n[Form]\nuser: ada\npassword: s3cret-1\ntoken: {{csrf}}\nHTTP/1.1 302\n\n\
            PUT http://h/{{next}}?q={{newUuid}}\n{\n  \"a\": { \"b\": [1, \"}\"] },\n  \"pin\": \"{{pin}}\"\n}\nHTTP *\n[Asserts]\n\
            status == 201\njsonpath \"$.ok\" == true\njsonpath \"$.n\" == 5\njsonpath \"$.name\" == \"x\"\n";
        let (draft, written) = written(text);
        let notes: Vec<_> = draft.notes.iter().map(|note| note.what.as_str()).collect();
        assert_eq!(notes, ["the assertion duration < 1000 is left out"], "{written}");
        for line in [
            "follow = 50 }\nexpect = { status = 200, contains = \"Log in\" }",
            "capture = { csrf = { matches = 'csrf=(\\w+)' }, next = { header = \"Location\", matches = \"id=([0-9]+)\" }, sid = { cookie = \"sid\" } }",
            "form = { user = \"ada\", password = \"{{env.PASSWORD}}\", token = \"{{login.csrf}}\" } }\nexpect = { status = 302 }",
            "http   = { method = \"PUT\", path = \"/{{login.next}}\", query = { q = \"{{uuid}}\" }, json = { a = { b = [1, \"}\"] }, pin = \"{{env.PIN}}\" } }",
            "expect = { status = 201, json = { \"$.ok\" = true, \"$.n\" = 5, \"$.name\" = \"x\" } }",
            "steps  = [\n  \"login\",\n  \"login_2\",\n  \"root\",\n]",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
        assert!(!written.contains("s3cret"), "{written}");
    }

    #[test]
    fn comments_may_end_a_line() {
        let text = "POST http://h/a # one\nAccept: a#b \\#c # two\n[Query]\nq: \"#\" # three\n# four\n{ \"a\": \"# }\" } # five\n\
            HTTP 200 # six\n[Asserts]\nbody contains \"a # b\" # seven\nbody matches /c # d/ # and more\n\nPOST http://h/b\n`x` # eight\n\n\
            POST http://h/c\nfile,c.bin; # nine\nHTTP 999\n";
        let (draft, written) = written(text);
        let notes: Vec<_> = draft.notes.iter().map(|note| note.what.as_str()).collect();
        assert_eq!(notes, ["the status 999 that is expected is left out"], "{written}");
        for line in [
            "query = { q = '\"#\"' }, header = { accept = \"a#b #c\" }, json = { a = \"# }\" }",
            "expect = { status = 200, contains = \"a # b\", matches = \"c # d\" }",
            "path = \"/b\", body = \"x\"",
            "body_file = \"c.bin\"",
        ] {
            assert!(written.contains(line), "{line}\n{written}");
        }
    }

    #[test]
    fn bodies_and_their_types() {
        for (body, expected) in [
            ("```json\n{ \"a\": 1 }\n```", "json = { a = 1 }"),
            ("```\na\nb\n```", "body = \"a\\nb\\n\""),
            ("`a b`", "body = \"a b\""),
            ("\"a b\"", "body = '\"a b\"'"),
            ("file,a.bin;", "body_file = \"a.bin\""),
            ("[1,\n 2]", "json = [1, 2]"),
            ("<a>\n</a>", "body = \"<a>\\n</a>\""),
            (
                "[Multipart]\na: b\nf: file,x.png; image/png",
                "multipart = { a = \"b\", f = { file = \"x.png\", type = \"image/png\" } }",
            ),
            (
                "[BasicAuth]\n{{user}}: {{password}}",
                "auth = { basic = { user = \"{{env.API_USER}}\", password = \"{{env.PASSWORD}}\" } }",
            ),
            ("[Multipart]\npassword: s3cret-3", "multipart = { password = \"{{env.PASSWORD}}\" }"),
            (
                "[BasicAuth]\nada: s3cret-2",
                "auth = { basic = { user = \"ada\", password = \"{{env.PASSWORD}}\" } }",
            ),
        ] {
            let (draft, written) = written(&format!("POST http://h/\n{body}\nHTTP 200\n"));
            assert_eq!(draft.notes, [], "{body}");
            assert!(written.contains(expected), "{body}\n{written}");
        }
        assert_eq!(
            read("POST http://h/\n```\na\n", &Options::default()).unwrap_err().line,
            Some(2)
        );
    }
}
