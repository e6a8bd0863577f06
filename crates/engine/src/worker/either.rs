//! Waiting for the first of two futures.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Which of two futures resolved first.
pub(crate) enum First<L, R> {
    Left(L),
    Right(R),
}

/// Waits for the first of two futures; the left one wins a tie.
pub(crate) async fn either<L, R>(
    left: impl Future<Output = L>,
    right: impl Future<Output = R>,
) -> First<L, R> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|context| {
        if let Poll::Ready(value) = left.as_mut().poll(context) {
            return Poll::Ready(First::Left(value));
        }
        right.as_mut().poll(context).map(First::Right)
    })
    .await
}
