//! Which route a path belongs to, and the breaker of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::breaker::{Breaker, Outcome, Position, Rules, Verdict};

/// Routes that have a breaker of their own; all further ones share [`REST`].
const MOST: usize = 256;
/// The route of what has none of its own.
pub(super) const REST: &str = "*";

/// All routes.
#[derive(Debug)]
pub(super) struct Routes {
    /// None if nothing is ever refused.
    rules: Option<Rules>,
    /// The longest first; without any, a path's first segment is its route.
    prefixes: Vec<String>,
    breakers: Mutex<BTreeMap<String, Breaker>>,
}

/// The right to ask the upstream once. Dropped without [`Attempt::record`], it counts as unknown.
#[derive(Debug)]
pub(super) struct Attempt {
    routes: Arc<Routes>,
    route: String,
    is_probe: bool,
    outcome: Outcome,
}

impl Routes {
    pub fn new(rules: Option<Rules>, mut prefixes: Vec<String>) -> Self {
        prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
        Self { rules, prefixes, breakers: Mutex::default() }
    }

    /// Whether a request for this path may go to the upstream.
    ///
    /// Errors: not before so long from now
    pub fn ask(self: &Arc<Self>, path: &str, now: Instant) -> Result<Option<Attempt>, Duration> {
        let Some(rules) = &self.rules else { return Ok(None) };
        let route = self.of(path);
        let mut breakers = self.breakers();
        let is_known = breakers.contains_key(route);
        let route = if is_known || breakers.len() < MOST { route } else { REST };
        let breaker = breakers.entry(route.to_owned()).or_insert_with(|| Breaker::new(now));
        let is_probe = match breaker.ask(rules, now) {
            Verdict::Refuse(wait) => return Err(wait),
            verdict => verdict == Verdict::Probe,
        };
        let (routes, route) = (Arc::clone(self), route.to_owned());
        Ok(Some(Attempt { routes, route, is_probe, outcome: Outcome::Unknown }))
    }

    /// Each route with how it stands and the errors that it counts.
    pub fn look(&self, now: Instant) -> Vec<(String, Position, u64)> {
        let Some(rules) = &self.rules else { return Vec::new() };
        let mut breakers = self.breakers();
        let look = |(route, breaker): (&String, &mut Breaker)| {
            let (position, errors) = breaker.look(rules, now);
            (route.clone(), position, errors)
        };
        breakers.iter_mut().map(look).collect()
    }

    fn of<'a>(&'a self, path: &'a str) -> &'a str {
        if self.prefixes.is_empty() {
            let end = path.get(1..).and_then(|rest| rest.find('/'));
            return end.map_or(path, |end| &path[..=end]);
        }
        let is_below = |prefix: &&String| {
            let rest = path.strip_prefix(prefix.as_str());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/')
            })
        };
        self.prefixes.iter().find(is_below).map_or(REST, String::as_str)
    }

    fn breakers(&self) -> MutexGuard<'_, BTreeMap<String, Breaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// Records how it ended.
    pub fn record(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(rules) = &self.routes.rules else { return };
        if let Some(breaker) = self.routes.breakers().get_mut(&self.route) {
            breaker.record(rules, Instant::now(), self.is_probe, self.outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        errors: 1,
        window: Duration::from_secs(60),
        pause: Duration::from_secs(60),
        probes: 1,
    };

    fn routes(prefixes: &[&str]) -> Arc<Routes> {
        let prefixes = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
        Arc::new(Routes::new(Some(RULES), prefixes))
    }

    #[test]
    fn a_path_belongs_to_its_first_segment_or_to_the_longest_prefix() {
        let segments = routes(&[]);
        for (path, route) in
            [("/", "/"), ("/a", "/a"), ("/a/", "/a"), ("/a/b/c", "/a"), ("//b", "/"), ("*", "*")]
        {
            assert_eq!(segments.of(path), route, "{path}");
        }
        let prefixes = routes(&["/a", "/a/b", "/c/"]);
        for (path, route) in [
            ("/a", "/a"),
            ("/a/c", "/a"),
            ("/a/b", "/a/b"),
            ("/a/bc", "/a"),
            ("/a/b/c", "/a/b"),
            ("/ab", REST),
            ("/c/d", "/c/"),
            ("/c", REST),
        ] {
            assert_eq!(prefixes.of(path), route, "{path}");
        }
    }

    #[test]
    fn what_fails_on_one_route_leaves_the_others_alone() {
        let routes = routes(&[]);
        let now = Instant::now();
        routes.ask("/a/1", now).unwrap().unwrap().record(Outcome::Failed);
        assert!(routes.ask("/a/2", now).is_err());
        // Dropped without a word, it is no error.
        drop(routes.ask("/b", now).unwrap());
        assert!(routes.ask("/b", now).is_ok());
        let look = routes.look(now);
        assert_eq!(
            look,
            [("/a".to_owned(), Position::Open, 1), ("/b".to_owned(), Position::Closed, 0)]
        );
    }

    #[test]
    fn routes_beyond_the_most_share_one() {
        let routes = routes(&[]);
        let now = Instant::now();
        for number in 0..2 * MOST {
            routes.ask(&format!("/{number}"), now).unwrap();
        }
        assert_eq!(routes.look(now).len(), MOST + 1);
        routes.ask("/new", now).unwrap().unwrap().record(Outcome::Failed);
        assert!(routes.ask("/newer", now).is_err());
        assert!(routes.ask("/0", now).is_ok());
    }

    #[test]
    fn without_rules_everything_passes() {
        let routes = Arc::new(Routes::new(None, Vec::new()));
        assert!(routes.ask("/a", Instant::now()).unwrap().is_none());
        assert_eq!(routes.look(Instant::now()), []);
    }
}
