//! A target that notes which paths came over which connection.

use std::sync::{Arc, Mutex};

use crate::lab::answering::answering;

/// Paths by connection, in the order in which they came.
pub type Visits = Arc<Mutex<Vec<Vec<String>>>>;

/// Answers 404 to paths with `lost`.
pub fn target() -> (String, Visits) {
    let visits = Visits::default();
    let seen = Arc::clone(&visits);
    let address = answering(move || {
        let (seen, mut place) = (Arc::clone(&seen), None);
        move |head: &str| {
            let path = head.split(' ').nth(1).expect("a path").to_owned();
            let status = if path.contains("lost") { "404 Not Found" } else { "200 OK" };
            let mut visits = seen.lock().expect("nobody panics with it");
            // A connection without a request, such as that of a check that somebody listens, has no place.
            let place = *place.get_or_insert_with(|| {
                visits.push(Vec::new());
                visits.len() - 1
            });
            visits[place].push(path);
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")
        }
    });
    (address, visits)
}
