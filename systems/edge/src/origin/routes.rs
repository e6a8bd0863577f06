//! All routes, replaced as a whole: a reader sees either the old table or the new one.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::payload::Payload;
use super::recipe::{EVERYWHERE, Recipe};
use super::timeline::{Moment, Timeline};

/// Routes by their names.
type Routes = BTreeMap<Arc<str>, Arc<Route>>;

/// A recipe with its payload, before it is in the table.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What was asked for.
    pub recipe: Recipe,
    /// What is served with status 200.
    pub payload: Payload,
}

/// What answers the requests that lead to it.
#[derive(Debug, Clone)]
pub struct Route {
    /// The path, or with a `*` the beginning of paths.
    pub name: Arc<str>,
    /// Number of the swap that brought it.
    pub generation: u64,
    /// What is served with status 200.
    pub payload: Payload,
    /// Headers of its answers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Of its draws, if not the system's.
    pub seed: Option<u64>,
    /// As its recipe is told.
    pub given: Value,
    /// Keys of its recipe that mean nothing.
    pub ignored: Vec<String>,
    timeline: Timeline,
    added_ns: u64,
}

impl Route {
    /// What holds at an instant of the clock that its adding was dated with.
    pub fn at(&self, now_ns: u64) -> Option<Moment<'_>> {
        self.timeline.at(now_ns.saturating_sub(self.added_ns))
    }
}

/// The routes of one generation.
#[derive(Debug, Default)]
pub struct RouteTable {
    /// Number of the swap that brought it.
    pub generation: u64,
    routes: Vec<Arc<Route>>,
    exact: HashMap<Arc<str>, usize>,
    /// Beginnings of paths, in the reverse order of their names, and so the longest first.
    beginnings: Vec<(Arc<str>, usize)>,
}

impl RouteTable {
    fn of(generation: u64, routes: Routes) -> Self {
        let routes: Vec<Arc<Route>> = routes.into_values().collect();
        let named = |(place, route): (usize, &Arc<Route>)| (Arc::clone(&route.name), place);
        let exact = routes.iter().enumerate().map(named).collect();
        let beginnings = (routes.iter().enumerate().rev())
            .filter(|(_, route)| route.name.ends_with('*'))
            .map(|(place, route)| (route.name.trim_end_matches('*').into(), place))
            .collect();
        Self { generation, routes, exact, beginnings }
    }

    /// All routes, by their names.
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// The index of the route that a path leads to.
    pub fn find(&self, path: &str) -> Option<usize> {
        if let Some(place) = self.exact.get(path) {
            return Some(*place);
        }
        let found = self.beginnings.iter().find(|(beginning, _)| path.starts_with(&**beginning));
        found.map(|(_, place)| *place)
    }

    /// Whether a route has exactly this name.
    pub fn has(&self, name: &str) -> bool {
        self.exact.contains_key(name)
    }

    /// Each route with its present outcome; the route for everything is always listed.
    pub fn present(&self, now_ns: u64) -> Vec<(&str, Option<Moment<'_>>)> {
        let mut present: Vec<_> =
            self.routes.iter().map(|route| (&*route.name, route.at(now_ns))).collect();
        if !self.has(EVERYWHERE) {
            let place = present.partition_point(|(name, _)| *name < EVERYWHERE);
            present.insert(place, (EVERYWHERE, None));
        }
        present
    }
}

/// The present table; it can be replaced.
#[derive(Debug, Default)]
pub struct SharedRoutes {
    current: RwLock<Arc<RouteTable>>,
    /// That of the present table, readable without the lock.
    generation: AtomicU64,
    /// Held while a new table is made, so that no change is lost.
    swap: Mutex<()>,
}

impl SharedRoutes {
    /// The present table.
    pub fn table(&self) -> Arc<RouteTable> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of the present table; it changes with the table.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds recipes at an instant, each in the place of the one that had its route; all at once.
    ///
    /// Errors: there would be more routes, or more bytes of payloads, than there may be
    pub fn add(&self, loaded: Vec<Loaded>, now_ns: u64, bounds: Bounds) -> Result<(), String> {
        self.swap(true, loaded, now_ns, bounds)
    }

    /// The same after all others were forgotten.
    ///
    /// Errors: as [`SharedRoutes::add`]
    pub fn restart(&self, loaded: Vec<Loaded>, now_ns: u64, bounds: Bounds) -> Result<(), String> {
        self.swap(false, loaded, now_ns, bounds)
    }

    fn swap(
        &self,
        keep: bool,
        loaded: Vec<Loaded>,
        now_ns: u64,
        bounds: Bounds,
    ) -> Result<(), String> {
        let _held = self.swap.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.table();
        let generation = old.generation + 1;
        let kept = old.routes.iter().filter(|_| keep);
        let mut routes: Routes =
            kept.map(|route| (Arc::clone(&route.name), Arc::clone(route))).collect();
        for one in loaded {
            let route = place(one, generation, now_ns, &routes);
            routes.insert(Arc::clone(&route.name), Arc::new(route));
        }
        bounds.check(&routes)?;
        let new = Arc::new(RouteTable::of(generation, routes));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        self.generation.store(generation, Ordering::Release);
        Ok(())
    }
}

/// How much the table may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Routes.
    pub routes: usize,
    /// Bytes of all payloads.
    pub payloads: u64,
}

impl Bounds {
    fn check(&self, routes: &Routes) -> Result<(), String> {
        let bytes: u64 = routes.values().map(|route| route.payload.bytes.len() as u64).sum();
        match (routes.len(), bytes) {
            (count, _) if count > self.routes => {
                Err(format!("there may be {} routes, not {count}", self.routes))
            }
            (_, bytes) if bytes > self.payloads => {
                Err(format!("all payloads may have {} bytes, not {bytes}", self.payloads))
            }
            _ => Ok(()),
        }
    }
}

fn place(loaded: Loaded, generation: u64, now_ns: u64, routes: &Routes) -> Route {
    let Loaded { recipe, payload } = loaded;
    let held = routes.get(&*recipe.route).and_then(|old| old.at(now_ns));
    Route {
        name: recipe.route.into(),
        generation,
        payload,
        headers: recipe.headers,
        seed: recipe.seed,
        given: recipe.given,
        ignored: recipe.ignored,
        timeline: recipe.timeline.after(held),
        added_ns: now_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::super::draws::Draws;
    use super::super::recipe::{self, Source};
    use super::*;
    use serde_json::json;

    const SECOND: u64 = 1_000_000_000;
    const WIDE: Bounds = Bounds { routes: 100, payloads: 1 << 20 };

    fn loaded(recipes: Value) -> Vec<Loaded> {
        let all = recipe::read(recipes.to_string().as_bytes(), 1 << 20).unwrap();
        all.into_iter()
            .map(|recipe| {
                let Source::Pieces(pieces) = &recipe.source else { panic!("no origin here") };
                let payload = Payload::of(pieces, recipe.is_gzip(), &mut Draws::of(1, &[]));
                Loaded { recipe, payload }
            })
            .collect()
    }

    fn routes(recipes: Value) -> SharedRoutes {
        let routes = SharedRoutes::default();
        routes.add(loaded(recipes), 0, WIDE).unwrap();
        routes
    }

    fn route(name: &str, status: u16) -> Value {
        let stage = json!({"at": 0, "status": status, "latency": 0});
        json!({"body": "x", "route": name, "stages": [stage]})
    }

    fn found<'a>(table: &'a RouteTable, path: &str) -> Option<&'a str> {
        table.find(path).map(|place| &*table.routes()[place].name)
    }

    #[test]
    fn a_path_leads_to_its_own_route_or_the_nearest_beginning() {
        let names = ["/*", "/news*", "/news/x", "/news/*", "/sport**", "/n"];
        let routes = routes(names.map(|name| route(name, 200)).as_slice().into());
        let table = routes.table();
        for (path, name) in [
            ("/news/x", "/news/x"),
            ("/news/x/y", "/news/*"),
            ("/newspaper", "/news*"),
            ("/news", "/news*"),
            ("/n", "/n"),
            ("/ne", "/*"),
            ("/sport/1", "/sport**"),
            ("/sport**", "/sport**"),
            ("/", "/*"),
        ] {
            assert_eq!(found(&table, path), Some(name), "{path}");
        }
        assert_eq!(found(&table, "*"), None);
    }

    #[test]
    fn all_of_an_addition_come_at_once_and_the_others_stay() {
        let routes = routes(json!([route("/a", 200), route("/b", 200)]));
        assert_eq!(routes.generation(), 1);
        let old = routes.table();
        routes.add(loaded(json!([route("/b", 500), route("/c", 404)])), 5, WIDE).unwrap();
        let generations: Vec<(String, u64)> = (routes.table().routes().iter())
            .map(|route| (route.name.to_string(), route.generation))
            .collect();
        let expect = [("/a", 1), ("/b", 2), ("/c", 2)];
        assert_eq!(generations, expect.map(|(name, generation)| (name.to_owned(), generation)));
        assert_eq!((routes.generation(), old.generation, old.routes().len()), (2, 1, 2));
    }

    #[test]
    fn stages_of_a_recipe_that_was_replaced_never_come() {
        let stages = json!([
            {"at": 0, "status": 200, "latency": 0}, {"at": "2s", "status": 504, "latency": 0},
        ]);
        let routes = routes(json!({"body": "old", "stages": stages}));
        let later = json!({"at": "5s", "status": 404, "latency": 0});
        routes.add(loaded(json!({"body": "new", "stages": [later]})), SECOND, WIDE).unwrap();
        let table = routes.table();
        let route = &table.routes()[0];
        assert_eq!(route.payload.bytes, "new");
        let status = |at| route.at(at * SECOND).unwrap().outcomes[0].status;
        assert_eq!([1, 2, 5, 6, 9].map(status), [200, 200, 200, 404, 404]);
    }

    #[test]
    fn what_is_too_much_changes_nothing() {
        let routes = routes(route("/a", 200));
        let narrow = Bounds { routes: 2, payloads: 3 };
        let many = json!([route("/b", 200), route("/c", 200)]);
        let refused = routes.add(loaded(many), 0, narrow).unwrap_err();
        assert_eq!(refused, "there may be 2 routes, not 3");
        let large = json!({"random_content": "3b", "route": "/b"});
        let refused = routes.add(loaded(large), 0, narrow).unwrap_err();
        assert_eq!(refused, "all payloads may have 3 bytes, not 4");
        assert_eq!((routes.generation(), routes.table().routes().len()), (1, 1));
    }

    #[test]
    fn a_restart_forgets_what_was_added_and_what_held() {
        let routes = routes(json!([route("/*", 500), route("/a", 200)]));
        let later = json!({"at": "5s", "status": 200, "latency": 0});
        routes.restart(loaded(json!({"body": "x", "stages": [later]})), SECOND, WIDE).unwrap();
        let table = routes.table();
        assert_eq!((table.routes().len(), table.generation), (1, 2));
        assert!(table.routes()[0].at(SECOND).is_none());
    }

    #[test]
    fn the_route_for_everything_is_told_even_where_it_has_no_recipe() {
        let table = routes(route("/a", 200)).table();
        let present: Vec<(&str, Option<String>)> =
            table.present(0).into_iter().map(|(name, m)| (name, m.map(|m| m.describe()))).collect();
        assert_eq!(present, [("/*", None), ("/a", Some("200 0".to_owned()))]);
    }
}
