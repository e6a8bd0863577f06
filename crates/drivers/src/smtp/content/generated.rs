//! Content made to a size, exact to the byte.
//!
//! The body is filler, the same for every message, and last a line with the nonce, so that no two bodies are alike.
//! The digest of nearly all of the filler is computed when the experiment is read: for each message what is left of
//! the body is hashed, some hundred bytes however long it is.

use plan::template::Template;
use sha2::{Digest, Sha256};

use super::filler::{Filler, LINE};
use super::header::{Header, fill_in};
use super::{LEAD, MessageContext, Rendered, TooSmall};

/// Filler up to this size is copied, so that the whole content is sent in one write; more is sent from where it lies.
const INLINE: usize = 64 * 1024;

/// Lines that the precomputed digest leaves out, because headers differ in length.
const SPARE: usize = 2;

/// Content of one size.
#[derive(Debug)]
pub struct Generated {
    size: u64,
    header: Header,
    nonce: Template,
    eight_bit: bool,
    /// At least as many lines as any body has.
    pub filler: Filler,
    /// Lines that `hashed` has seen.
    known: usize,
    hashed: Sha256,
}

impl Generated {
    /// Messages of this size; the header ends with its empty line. `example` shows how long the header is about.
    ///
    /// Errors: the header of the example and the line with the nonce are longer
    pub fn new(
        size: u64,
        header: Header,
        nonce: Template,
        eight_bit: bool,
        example: &MessageContext<'_>,
    ) -> Result<Self, TooSmall> {
        let lines = usize::try_from(size).unwrap_or(usize::MAX) / LINE + 1;
        let mut generated = Self {
            size,
            header,
            nonce,
            eight_bit,
            filler: Filler::new(0, eight_bit),
            known: 0,
            hashed: Sha256::new(),
        };
        let mut out = Rendered::default();
        generated.header.render(example.call, example.rows, &mut out.bytes);
        let filling = generated.filling_length(example, out.bytes.len(), &mut out)?;
        generated.filler = Filler::new(lines, eight_bit);
        generated.known = (filling / LINE).saturating_sub(SPARE);
        generated.hashed.update(generated.filler.lines(generated.known, false));
        Ok(generated)
    }

    /// Renders the content of this call.
    ///
    /// Errors: its header and the line with the nonce are longer than the message is to be
    pub fn render(&self, context: &MessageContext<'_>, out: &mut Rendered) -> Result<(), TooSmall> {
        let digest_at = self.header.render(context.call, context.rows, &mut out.bytes);
        let head = out.bytes.len() - LEAD;
        let filling = self.filling_length(context, head, out)?;
        let (lines, rest) = (filling / LINE, filling % LINE);
        let filler = self.filler.lines(lines, context.dots);
        if filler.len() <= INLINE {
            out.bytes.extend_from_slice(filler);
        } else {
            (out.split, out.shared) = (out.bytes.len(), filler.len());
        }
        let tail_from = out.bytes.len();
        pad(rest, &mut out.bytes);
        out.bytes.extend_from_slice(&out.scratch[0]);
        let digest = self.digest(lines, &out.bytes[tail_from..]);
        fill_in(&digest, &mut out.bytes[digest_at..]);
        out.size = self.size;
        out.eight_bit = self.eight_bit || !out.bytes[LEAD..LEAD + head].is_ascii();
        Ok(())
    }

    /// Renders the line with the nonce into the first scratch, and gives how many bytes are left before it.
    fn filling_length(
        &self,
        context: &MessageContext<'_>,
        head: usize,
        out: &mut Rendered,
    ) -> Result<usize, TooSmall> {
        let line = &mut out.scratch[0];
        line.clear();
        self.nonce.render(context.call, context.rows, line);
        line.extend_from_slice(b"\r\n");
        let needed = (head + line.len()) as u64;
        let filling = self.size.checked_sub(needed).ok_or(TooSmall { size: self.size, needed })?;
        Ok(usize::try_from(filling).unwrap_or(usize::MAX))
    }

    /// Digest of a body of so many lines of filler and this tail.
    fn digest(&self, lines: usize, tail: &[u8]) -> [u8; 32] {
        let (known, mut hashed) = match lines.checked_sub(self.known) {
            Some(_) => (self.known, self.hashed.clone()),
            None => (0, Sha256::new()),
        };
        hashed.update(&self.filler.lines(lines, false)[known * LINE..]);
        hashed.update(tail);
        hashed.finalize().into()
    }
}

/// Fewer bytes than a line of filler has: a short line, or one letter before what follows.
fn pad(length: usize, out: &mut Vec<u8>) {
    match length {
        0 => {}
        1 => out.push(b'-'),
        _ => {
            out.resize(out.len() + length - 2, b'-');
            out.extend_from_slice(b"\r\n");
        }
    }
}
