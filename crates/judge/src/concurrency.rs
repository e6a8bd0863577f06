//! How many operations the connections of a load carry at a time.

use record::summary::Load;

/// Operations on all connections together.
pub fn limit(load: &Load) -> u32 {
    load.connections.saturating_mul(load.streams.unwrap_or(1))
}

/// The connections as text, with their streams where each has several.
pub fn in_words(load: &Load) -> String {
    match load.streams {
        None => format!("{} connections", load.connections),
        Some(streams) => format!("{} connections of {streams} streams", load.connections),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    #[test]
    fn streams_are_counted_and_told_where_there_are_several() {
        let mut load = example::summary().arms.remove(0).trials.remove(0).load;
        load.connections = 5;
        assert_eq!((limit(&load), in_words(&load).as_str()), (5, "5 connections"));
        load.streams = Some(10);
        assert_eq!((limit(&load), in_words(&load).as_str()), (50, "5 connections of 10 streams"));
    }
}
