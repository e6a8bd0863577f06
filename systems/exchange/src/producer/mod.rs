//! One process that answers over all three ways at once.

use serving::error::{BadOptions, ServeError};
use serving::options::Options;
use serving::ready::Ready;
use serving::stop::Stop;

/// Serves until SIGTERM or SIGINT; `announce` is given the ready line's contents.
///
/// `listening` has `http` (an address), `unix` and `channel` (paths).
/// Errors: bad settings (exit code 2); no listener or folder to be had (4)
pub fn serve(options: &Options, announce: impl FnOnce(&Ready)) -> Result<(), ServeError> {
    serve_until(options, Stop::pair().1, announce)
}

/// The same until this is pulled.
///
/// Errors: as [`serve`]
pub fn serve_until(
    options: &Options,
    _stop: Stop,
    _announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    check(options).map_err(ServeError::Options)?;
    let why = "the producer is not there yet".to_owned();
    Err(ServeError::Stopped { doing: "serve", why, hint: "" })
}

/// Whether these options would do, without serving anything.
///
/// Errors: every problem at once
pub fn check(_options: &Options) -> Result<(), BadOptions> {
    Ok(())
}
