//! What is claimed of quantiles, on simulated systems whose quantiles are known.

mod answers;
mod coverage;
mod criteria;
mod power;
mod systems;
