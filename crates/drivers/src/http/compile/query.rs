//! The `query` table: names and values, percent-encoded.

use plan::document::Reader;
use plan::template::Scope;

use super::pieces::Pieces;
use crate::http::encoding::percent_encoded;
use crate::http::request::Piece;
use crate::table::values;

/// Reads `query`; a list gives its name several times.
pub fn read(reader: &mut Reader<'_>, scope: Scope<'_>) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    let Some(table) = reader.table("query") else {
        return pieces.0;
    };
    for (name, template) in values(reader, table, scope) {
        if !pieces.0.is_empty() {
            pieces.text("&");
        }
        percent_encoded(name.as_bytes(), pieces.literal());
        pieces.text("=");
        match template.literal() {
            Some(literal) => percent_encoded(literal.as_bytes(), pieces.literal()),
            None => pieces.piece(Piece::Query(template)),
        }
    }
    pieces.0
}
