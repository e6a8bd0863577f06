//! A way to ask: what all of them promise, and the one judgement of what came back.

use std::time::Duration;

use crate::failure::Failure;
use crate::payload::Payload;
use crate::prepared;
use crate::request::DataRequest;

/// How a producer is asked.
pub trait Transport: Send + Sync + 'static {
    /// Asks, waits for the answer until the deadline, and judges it: nonce and checksum are right
    /// in what is returned.
    ///
    /// May be called by many tasks of one runtime at once. Dropping the future gives the question
    /// up. Errors: [`Failure`]
    fn fetch(
        &self,
        ask: &DataRequest,
        deadline: Duration,
    ) -> impl Future<Output = Result<Payload, Failure>> + Send;
}

/// Judges what came: the one function of all ways. It reads every byte of the payload.
///
/// Errors: [`Failure::Damaged`] where nonce, length or checksum are not those of an answer to this
pub fn verify(ask: &DataRequest, payload: &[u8], checksum: u64) -> Result<(), Failure> {
    let mismatch = match u32::try_from(checksum) {
        Ok(checksum) => prepared::mismatch(ask, payload, checksum),
        Err(_) => Some("a checksum of more than 32 bits"),
    };
    mismatch.map_or(Ok(()), |what| Err(Failure::Damaged(what.to_owned())))
}

/// What a way returns for what came.
pub(crate) fn verified(
    ask: &DataRequest,
    payload: Payload,
    checksum: u64,
) -> Result<Payload, Failure> {
    verify(ask, &payload, checksum)?;
    Ok(payload)
}
