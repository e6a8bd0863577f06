//! Pieces of a head in the making, literal ones joined.

use crate::http::request::Piece;

/// Pieces in order.
#[derive(Default)]
pub struct Pieces(pub Vec<Piece>);

impl Pieces {
    /// Adds literal text.
    pub fn text(&mut self, text: &str) {
        self.literal().extend_from_slice(text.as_bytes());
    }

    /// Adds a piece.
    pub fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Literal(more) => self.literal().extend_from_slice(&more),
            piece => self.0.push(piece),
        }
    }

    /// Adds a field with its line end.
    pub fn field(&mut self, name: &str, value: Piece) {
        self.text(name);
        self.text(": ");
        self.piece(value);
        self.text("\r\n");
    }

    /// The literal piece at the end.
    pub fn literal(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0.last(), Some(Piece::Literal(_))) {
            self.0.push(Piece::Literal(Vec::new()));
        }
        match self.0.last_mut() {
            Some(Piece::Literal(bytes)) => bytes,
            _ => unreachable!("a literal piece was just put there"),
        }
    }
}
