//! The registry over HTTP, as a client sees it: every operation, every refusal, and nothing changed
//! by what was refused.

mod operations;
mod refusals;
mod tenants;
mod test_registry;
