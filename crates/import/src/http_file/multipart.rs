//! A form of several parts, as it is written between its boundaries.

use super::block::Piece;

/// A part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FormPart<'a> {
    pub(super) name: &'a str,
    /// The name of its file, if that is said.
    pub(super) file_name: Option<&'a str>,
    /// Its type, if that is said.
    pub(super) kind: Option<&'a str>,
    pub(super) content: PartContent<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PartContent<'a> {
    Text(String),
    File(&'a str),
}

/// The boundary that the field `content-type` of a form says.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, rest) = content_type.split_once(';')?;
    kind.trim().eq_ignore_ascii_case("multipart/form-data").then_some(())?;
    let boundary = rest.split(';').find_map(|one| one.trim().strip_prefix("boundary="))?;
    Some(boundary.trim_matches('"')).filter(|boundary| !boundary.is_empty())
}

/// The parts between boundaries; `None` if there is none, or one has no name, or texts beside its file.
pub(super) fn parts<'a>(pieces: &'a [Piece], boundary: &str) -> Option<Vec<FormPart<'a>>> {
    let (begin, end) = (format!("--{boundary}"), format!("--{boundary}--"));
    let is =
        |piece: &Piece, wanted: &str| matches!(piece, Piece::Line(line) if line.trim() == wanted);
    let end = pieces.iter().position(|piece| is(piece, &end))?;
    // What stands before the first boundary and behind the last is no part.
    let between = pieces[..end].split(|piece| is(piece, &begin)).skip(1);
    let parts: Vec<_> = between.map(part).collect::<Option<_>>()?;
    (!parts.is_empty()).then_some(parts)
}

fn is_blank(piece: &Piece) -> bool {
    matches!(piece, Piece::Line(line) if line.trim().is_empty())
}

fn part(pieces: &[Piece]) -> Option<FormPart<'_>> {
    let head = pieces.iter().position(is_blank)?;
    let (mut name, mut file_name, mut kind) = (None, None, None);
    for piece in &pieces[..head] {
        let Piece::Line(line) = piece else { return None };
        let (field, value) = line.split_once(':')?;
        if field.eq_ignore_ascii_case("content-disposition") {
            let word = |key| {
                let word = value.split(';').find_map(|one| one.trim().strip_prefix(key));
                word.map(|word| word.trim_matches('"'))
            };
            (name, file_name) = (word("name="), word("filename="));
        } else if field.eq_ignore_ascii_case("content-type") {
            kind = Some(value.trim());
        }
    }
    Some(FormPart { name: name?, file_name, kind, content: content(&pieces[head + 1..])? })
}

fn content(pieces: &[Piece]) -> Option<PartContent<'_>> {
    let lines = pieces.iter().map(|piece| match piece {
        Piece::Line(line) => Some(line.as_str()),
        Piece::File(_) => None,
    });
    if let Some(lines) = lines.collect::<Option<Vec<&str>>>() {
        return Some(PartContent::Text(lines.join("\n")));
    }
    let mut rest = pieces.iter().filter(|piece| !is_blank(piece));
    match (rest.next(), rest.next()) {
        (Some(Piece::File(file)), None) => Some(PartContent::File(file)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Content-Disposition: form-data; name=\"a\"; filename=\"x\"";
    const TYPE: &str = "Content-Type: t/x";

    /// Lines of a body, of which those with `<` are files.
    fn pieces(text: &[&str]) -> Vec<Piece> {
        let piece = |line: &&str| match line.strip_prefix("< ") {
            Some(file) => Piece::File(file.to_owned()),
            None => Piece::Line((*line).to_owned()),
        };
        text.iter().map(piece).collect()
    }

    #[test]
    fn a_boundary_is_that_of_a_form() {
        assert_eq!(boundary("multipart/form-data; boundary=a-b"), Some("a-b"));
        assert_eq!(boundary("Multipart/Form-Data;charset=x; boundary=\"a b\""), Some("a b"));
        assert_eq!(boundary("multipart/mixed; boundary=a"), None);
        assert_eq!(boundary("multipart/form-data"), None);
    }

    #[test]
    fn parts_are_texts_and_files() {
        let body = [
            "before", "--b", HEAD, "", "one", "two", "--b", HEAD, TYPE, "", "< ./x", "--b--",
            "behind",
        ];
        let one = FormPart {
            name: "a",
            file_name: Some("x"),
            kind: None,
            content: PartContent::Text("one\ntwo".to_owned()),
        };
        let two = FormPart {
            name: "a",
            file_name: Some("x"),
            kind: Some("t/x"),
            content: PartContent::File("./x"),
        };
        assert_eq!(parts(&pieces(&body), "b"), Some(vec![one, two]));
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for wrong in [
            &["--b", TYPE, "", "a", "--b--"][..],
            &["--b", HEAD, "", "< x", "a", "--b--"],
            &["--b", HEAD, "a", "--b--"],
            &["--b", HEAD, "", "a"],
            &["--other", HEAD, "", "a", "--other--"],
            &["--b--"],
        ] {
            assert_eq!(parts(&pieces(wrong), "b"), None, "{wrong:?}");
        }
    }
}
