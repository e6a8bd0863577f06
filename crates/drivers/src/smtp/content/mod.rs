//! The content of a message: header and body, generated to a size or given.
//!
//! `header`: the fields that we write. `filler`: the constant part of generated bodies. `generated` and `given`: the
//! two kinds of content. Each is rendered into memory that a connection keeps, in a form that is sent as it lies.
//!
//! Every body carries its SHA-256 in `X-Proofload-Digest` and every message its nonce in `X-Proofload-Nonce`, so that
//! a receiver can tell whether it arrived whole, once, and when.

pub mod filler;
pub mod generated;
pub mod given;
pub mod header;

#[cfg(test)]
mod tests;

use engine::driver::Call;
use plan::rows::Rows;

use generated::Generated;
use given::Given;

/// Bytes before a content where a `BDAT` command finds room.
pub const LEAD: usize = 32;

/// What a content is rendered for.
#[derive(Debug, Clone, Copy)]
pub struct MessageContext<'a> {
    /// The operation about to be performed.
    pub call: &'a Call,
    /// Its data.
    pub rows: Option<&'a Rows>,
    /// Whether dots are doubled, which `BDAT` does without.
    pub dots: bool,
}

/// The content of an operation's messages.
#[derive(Debug)]
pub enum Content {
    /// Of an exact size.
    Generated(Box<Generated>),
    /// As the experiment says; several are taken in turn.
    Given(Vec<Given>),
}

/// A content as it will be sent, and memory for the next.
#[derive(Debug, Default)]
pub struct Rendered {
    /// `LEAD` bytes of room, then the content but for its shared part.
    pub bytes: Vec<u8>,
    /// Where in `bytes` the shared part goes; its end where there is none.
    pub split: usize,
    /// Length of the shared part, which is sent from where it lies.
    pub shared: usize,
    /// Bytes of the message, dots not doubled.
    pub size: u64,
    /// Whether any of them has its eighth bit set.
    pub eight_bit: bool,
    /// Memory for texts on their way.
    scratch: [Vec<u8>; 2],
}

/// A header that leaves no room for the body of a message of this size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {size} bytes, whose header and line with the nonce need {needed}")]
pub struct TooSmall {
    /// Bytes asked for.
    pub size: u64,
    /// Bytes needed.
    pub needed: u64,
}

impl Content {
    /// Renders the content of this call, all but its shared part.
    ///
    /// Errors: a generated message cannot be of the size asked for
    /// Cost:   O(n) for what is given and short, O(header) for what is generated; allocates only when memory must grow
    pub fn render(&self, context: &MessageContext<'_>, out: &mut Rendered) -> Result<(), TooSmall> {
        out.bytes.clear();
        out.bytes.resize(LEAD, 0);
        (out.shared, out.split) = (0, 0);
        match self {
            Self::Generated(generated) => generated.render(context, out)?,
            Self::Given(given) => {
                let turn = context.call.sequence % given.len() as u64;
                given[usize::try_from(turn).unwrap_or(0)].render(context, out);
            }
        }
        if context.dots {
            out.bytes.extend_from_slice(b".\r\n");
        }
        if out.shared == 0 {
            out.split = out.bytes.len();
        }
        Ok(())
    }

    /// The part that all messages share, as long as `Rendered::shared` says.
    pub fn shared(&self, dots: bool) -> &[u8] {
        match self {
            Self::Generated(generated) => generated.filler.bytes(dots),
            Self::Given(_) => &[],
        }
    }
}
