//! A form of several parts, as it is written between its boundaries.

use super::block::Piece;

/// A part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FormPart<'a> {
    pub(super) name: &'a str,
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

/// The parts between boundaries; `None` if one has no name, or texts beside its file.
pub(super) fn parts<'a>(pieces: &[Piece<'a>], boundary: &str) -> Option<Vec<FormPart<'a>>> {
    let (begin, end) = (format!("--{boundary}"), format!("--{boundary}--"));
    let is_boundary = |piece: &Piece<'_>| matches!(piece, Piece::Line(line) if line.trim() == begin || line.trim() == end);
    // What stands before the first boundary is no part, and neither is what stands behind the last.
    let between = pieces.split(is_boundary).skip(1);
    let parts = between.filter(|pieces| pieces.iter().any(|piece| !is_blank(piece)));
    parts.map(part).collect()
}

fn is_blank(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Line(line) if line.trim().is_empty())
}

fn part<'a>(pieces: &[Piece<'a>]) -> Option<FormPart<'a>> {
    let head = pieces.iter().position(is_blank)?;
    let (mut name, mut kind) = (None, None);
    for piece in &pieces[..head] {
        let Piece::Line(line) = piece else { return None };
        let (field, value) = line.split_once(':')?;
        if field.eq_ignore_ascii_case("content-disposition") {
            name = value.split(';').find_map(|one| one.trim().strip_prefix("name="));
        } else if field.eq_ignore_ascii_case("content-type") {
            kind = Some(value.trim());
        }
    }
    Some(FormPart { name: name?.trim_matches('"'), kind, content: content(&pieces[head + 1..])? })
}

fn content<'a>(pieces: &[Piece<'a>]) -> Option<PartContent<'a>> {
    let lines = pieces.iter().map(|piece| match piece {
        Piece::Line(line) => Some(*line),
        Piece::File(_) => None,
    });
    if let Some(lines) = lines.collect::<Option<Vec<&str>>>() {
        return Some(PartContent::Text(lines.join("\n").trim_end().to_owned()));
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

    #[test]
    fn a_boundary_is_that_of_a_form() {
        assert_eq!(boundary("multipart/form-data; boundary=a-b"), Some("a-b"));
        assert_eq!(boundary("Multipart/Form-Data;charset=x; boundary=\"a b\""), Some("a b"));
        assert_eq!(boundary("multipart/mixed; boundary=a"), None);
        assert_eq!(boundary("multipart/form-data"), None);
    }

    #[test]
    fn parts_are_texts_and_files() {
        let head = |name| {
            Piece::Line(if name {
                "Content-Disposition: form-data; name=\"a\"; filename=\"x\""
            } else {
                "Content-Type: t/x"
            })
        };
        let line = Piece::Line;
        let pieces = [
            line("--b"),
            head(true),
            line(""),
            line("one"),
            line("two"),
            line("--b"),
            head(true),
            head(false),
            line(""),
            Piece::File("./x"),
            line("--b--"),
            line(""),
        ];
        let text =
            FormPart { name: "a", kind: None, content: PartContent::Text("one\ntwo".to_owned()) };
        let file = FormPart { name: "a", kind: Some("t/x"), content: PartContent::File("./x") };
        assert_eq!(parts(&pieces, "b"), Some(vec![text, file]));
        for wrong in [
            vec![line("--b"), head(false), line(""), line("a"), line("--b--")],
            vec![line("--b"), head(true), line(""), Piece::File("x"), line("a"), line("--b--")],
            vec![line("--b"), head(true), line("a")],
        ] {
            assert_eq!(parts(&wrong, "b"), None, "{wrong:?}");
        }
    }
}
