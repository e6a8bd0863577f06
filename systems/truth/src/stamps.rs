//! The arrivals as this side saw them: one row each, up to a bound, in memory allocated at the
//! start.

use crate::model::Planned;

/// Arrivals and what became of them. Beyond the bound they are counted, not kept.
#[derive(Debug)]
pub struct Stamps {
    bound: usize,
    received: u64,
    arrivals: Vec<Arrival>,
    lateness_ns: Vec<u64>,
    tokens: Option<TokenStamps>,
}

/// What is kept of the tokens that were sent; each list up to the bound of the arrivals.
#[derive(Debug, Default)]
pub struct TokenStamps {
    bound: usize,
    gaps_ns: Vec<u64>,
    last_token_ns: Vec<u64>,
    sent: u64,
    streams_cut: u64,
}

/// One request as this side saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When the last byte of its head was read.
    pub arrived_ns: u64,
    /// Time of work planned for it.
    pub service_ns: u64,
    /// From its arrival to the planned instant of its answer.
    pub response_ns: u64,
}

impl Stamps {
    /// Room for `bound` arrivals. The kernel gives the pages as they are used.
    pub fn new(bound: usize) -> Self {
        let arrivals = Vec::with_capacity(bound);
        let lateness_ns = Vec::with_capacity(bound);
        Self { bound, received: 0, arrivals, lateness_ns, tokens: None }
    }

    /// The same with room for as many gaps and ends of answers.
    pub fn with_tokens(bound: usize) -> Self {
        let tokens = TokenStamps {
            bound,
            gaps_ns: Vec::with_capacity(bound),
            last_token_ns: Vec::with_capacity(bound),
            ..TokenStamps::default()
        };
        Self { tokens: Some(tokens), ..Self::new(bound) }
    }

    /// Keeps one arrival and its plan.
    pub fn arrived(&mut self, arrived_ns: u64, planned: Planned) {
        self.received += 1;
        if self.arrivals.len() < self.bound {
            let response_ns = planned.due_ns.saturating_sub(arrived_ns);
            let service_ns = planned.service_ns;
            self.arrivals.push(Arrival { arrived_ns, service_ns, response_ns });
        }
    }

    /// Keeps how long after its planned instant an answer was written.
    pub fn answered(&mut self, lateness_ns: u64) {
        if self.lateness_ns.len() < self.bound {
            self.lateness_ns.push(lateness_ns);
        }
    }

    /// Drops all stamps and keeps the memory.
    pub fn clear(&mut self) {
        self.received = 0;
        self.arrivals.clear();
        self.lateness_ns.clear();
        if let Some(tokens) = &mut self.tokens {
            tokens.clear();
        }
    }

    /// All requests, kept or not.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The arrivals kept, in the order in which they were read.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// How late answers were written, in the order of writing.
    pub fn lateness_ns(&self) -> &[u64] {
        &self.lateness_ns
    }

    /// What is kept of tokens, in the mode that sends them.
    pub fn tokens(&self) -> Option<&TokenStamps> {
        self.tokens.as_ref()
    }

    /// The same, to add to.
    pub fn tokens_mut(&mut self) -> Option<&mut TokenStamps> {
        self.tokens.as_mut()
    }
}

impl TokenStamps {
    /// Counts tokens that were written.
    pub fn sent(&mut self, tokens: u64) {
        self.sent += tokens;
    }

    /// Keeps the planned time between two tokens whose instants have come.
    pub fn gap(&mut self, gap_ns: u64) {
        if self.gaps_ns.len() < self.bound {
            self.gaps_ns.push(gap_ns);
        }
    }

    /// Keeps the time from an arrival to the planned instant of its last token.
    pub fn finished(&mut self, last_token_ns: u64) {
        if self.last_token_ns.len() < self.bound {
            self.last_token_ns.push(last_token_ns);
        }
    }

    /// Counts a stream that was cut.
    pub fn cut(&mut self) {
        self.streams_cut += 1;
    }

    /// Times between tokens, in the order of the later token.
    pub fn gaps_ns(&self) -> &[u64] {
        &self.gaps_ns
    }

    /// Times from arrivals to last tokens, of answers that were written whole.
    pub fn last_token_ns(&self) -> &[u64] {
        &self.last_token_ns
    }

    /// Tokens written.
    pub fn tokens(&self) -> u64 {
        self.sent
    }

    /// Streams cut.
    pub fn streams_cut(&self) -> u64 {
        self.streams_cut
    }

    fn clear(&mut self) {
        self.gaps_ns.clear();
        self.last_token_ns.clear();
        (self.sent, self.streams_cut) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_arrivals_are_counted_only() {
        let mut stamps = Stamps::new(2);
        for arrived_ns in 10..15 {
            stamps.arrived(arrived_ns, Planned { service_ns: 1, due_ns: arrived_ns + 3 });
            stamps.answered(7);
        }
        assert_eq!(stamps.received(), 5);
        assert_eq!(stamps.lateness_ns(), [7, 7]);
        let last = Arrival { arrived_ns: 11, service_ns: 1, response_ns: 3 };
        assert_eq!(stamps.arrivals()[1], last);
        stamps.clear();
        assert_eq!((stamps.received(), stamps.arrivals().len()), (0, 0));
    }

    #[test]
    fn gaps_and_ends_are_bounded_too_and_tokens_are_counted() {
        assert!(Stamps::new(2).tokens().is_none());
        let mut stamps = Stamps::with_tokens(2);
        let tokens = stamps.tokens_mut().unwrap();
        for value in 0..5 {
            tokens.gap(value);
            tokens.finished(value);
            tokens.sent(2);
            tokens.cut();
        }
        assert_eq!((tokens.gaps_ns(), tokens.last_token_ns()), (&[0, 1][..], &[0, 1][..]));
        assert_eq!((tokens.tokens(), tokens.streams_cut()), (10, 5));
        stamps.clear();
        let tokens = stamps.tokens().unwrap();
        assert_eq!((tokens.tokens(), tokens.streams_cut(), tokens.gaps_ns()), (0, 0, &[][..]));
    }
}
