//! What the workers share, and what each has for itself so that it never waits for another.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, SERVER,
};
use serving::limits::Limits;
use serving::metrics::{Gauge, Registry};
use timer::Timer;

use super::draws::Draws;
use super::fetch::Loader;
use super::routes::{Bounds, Loaded, Route, RouteTable, SharedRoutes};
use super::tally::{NOWHERE, Tally};
use crate::tls::Tls;

/// The header that says which swap brought the recipe of an answer.
pub const GENERATION: HeaderName = HeaderName::from_static("x-origin-generation");
/// Types of what is answered.
pub const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// See [`HTML`].
pub const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

const PRIVATE: HeaderValue = HeaderValue::from_static("max-age=0, private, must-revalidate");
/// What the original is served by, and says.
const COWBOY: HeaderValue = HeaderValue::from_static("Cowboy");

/// What the workers of one origin share.
#[derive(Debug)]
pub struct Shared {
    /// All routes.
    pub routes: SharedRoutes,
    /// One a worker.
    pub tallies: Vec<Tally>,
    /// What a restart begins with.
    pub beginning: Vec<Loaded>,
    /// How much the table may hold.
    pub bounds: Bounds,
    /// What payloads are made with, and by its seed all draws.
    pub loader: Loader,
    /// Of connections and times.
    pub limits: Limits,
    /// What clients speak over, if it is TLS.
    pub tls: Option<Tls>,
    /// What `/metrics` tells beside times.
    pub registry: Registry,
    /// Connections of all workers.
    pub open: Gauge,
}

/// The state of one worker.
pub struct WorkerState {
    /// What all have.
    pub shared: Arc<Shared>,
    /// Its number.
    pub worker: usize,
    /// Its timer.
    pub timer: Timer,
    /// Under which requests without a route are counted.
    pub nowhere: Arc<str>,
    view: RefCell<Rc<View>>,
}

/// A table as one worker sees it.
pub struct View {
    /// The table itself.
    pub table: Arc<RouteTable>,
    /// Its routes, in the same order.
    pub outlets: Vec<Rc<Outlet>>,
}

/// A route as one worker serves it. What would be counted in one place for all workers at each
/// answer, such as who holds the payload, has a counter for each of them.
pub struct Outlet {
    /// The route itself.
    pub route: Arc<Route>,
    /// Its payload, without a copy of it.
    pub payload: Bytes,
    /// Headers of an answer with the payload.
    pub full: HeaderMap,
    /// Headers of any other, whose body is text, and not in the payload's coding.
    pub bare: HeaderMap,
    /// Its draws.
    pub draws: RefCell<Draws>,
}

impl WorkerState {
    /// The state of a worker with this number.
    ///
    /// Errors: the kernel gives no timer
    pub fn new(shared: Arc<Shared>, worker: usize) -> std::io::Result<Self> {
        let view = RefCell::new(Rc::new(View { table: Arc::default(), outlets: Vec::new() }));
        let nowhere = NOWHERE.into();
        Ok(Self { shared, worker, timer: Timer::start()?, nowhere, view })
    }

    /// This worker's tally.
    pub fn tally(&self) -> &Tally {
        &self.shared.tallies[self.worker]
    }

    /// The present table.
    pub fn view(&self) -> Rc<View> {
        let mut view = self.view.borrow_mut();
        if view.table.generation != self.shared.routes.generation() {
            *view = Rc::new(self.renewed(&view));
        }
        Rc::clone(&view)
    }

    /// Outlets of routes that stayed are kept, and with them where their draws are.
    fn renewed(&self, old: &View) -> View {
        let table = self.shared.routes.table();
        let kept: HashMap<&str, &Rc<Outlet>> =
            old.outlets.iter().map(|outlet| (&*outlet.route.name, outlet)).collect();
        let outlet = |route: &Arc<Route>| match kept.get(&*route.name) {
            Some(outlet) if Arc::ptr_eq(&outlet.route, route) => Rc::clone(outlet),
            _ => Rc::new(self.outlet(route)),
        };
        let outlets = table.routes().iter().map(outlet).collect();
        View { table, outlets }
    }

    fn outlet(&self, route: &Arc<Route>) -> Outlet {
        let seed = route.seed.unwrap_or(self.shared.loader.seed);
        let draws = Draws::of(seed, &["answers", &route.name, &self.worker.to_string()]);
        let full = headers(route, if route.payload.is_json { JSON } else { HTML });
        let mut bare = headers(route, HTML);
        bare.remove(CONTENT_ENCODING);
        Outlet {
            route: Arc::clone(route),
            payload: Bytes::from_owner(route.payload.bytes.clone()),
            full,
            bare,
            draws: RefCell::new(draws),
        }
    }
}

/// Headers of every answer, before those of a recipe.
pub fn ordinary(generation: u64, content_type: HeaderValue) -> HeaderMap {
    HeaderMap::from_iter([
        (CACHE_CONTROL, PRIVATE),
        (SERVER, COWBOY),
        (CONTENT_TYPE, content_type),
        (GENERATION, generation.into()),
    ])
}

fn headers(route: &Route, content_type: HeaderValue) -> HeaderMap {
    let mut headers = ordinary(route.generation, content_type);
    for (name, value) in &route.headers {
        // Made anew, so that workers do not count together who holds it.
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("it was one");
        headers.insert(name, value);
    }
    headers
}
