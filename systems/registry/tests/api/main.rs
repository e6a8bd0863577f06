//! The registry over HTTP, from a client's view: every operation, every refusal, and no changes by
//! refused requests.

mod operations;
mod refusals;
mod tenants;
mod test_registry;
