use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::runtime::{Builder, LocalOptions};
use tokio::task::spawn_local;

use super::{Clock, Real, Virtual};

#[test]
fn virtual_time_wakes_in_the_order_of_instants_and_then_of_waiting() {
    let clock = Virtual::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    let runtime = clock.runtime().unwrap();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for (name, at) in [('a', 30), ('b', 10), ('c', 30), ('d', 10), ('e', 20)] {
            let (clock, order) = (clock.clone(), Rc::clone(&order));
            tasks.push(spawn_local(async move {
                clock.sleep_until(at).await;
                order.borrow_mut().push((name, clock.now()));
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert_eq!(*order.borrow(), [('b', 10), ('d', 10), ('e', 20), ('a', 30), ('c', 30)]);
}

#[test]
fn the_root_task_is_woken_by_virtual_time_and_a_past_instant_does_not_wait() {
    let clock = Virtual::new();
    let runtime = clock.runtime().unwrap();
    let seen = runtime.block_on(async {
        clock.sleep_until(1_000_000_007).await;
        clock.sleep_until(5).await;
        clock.now()
    });
    assert_eq!(seen, 1_000_000_007);
}

#[test]
fn a_dropped_wait_is_forgotten() {
    let clock = Virtual::new();
    let runtime = clock.runtime().unwrap();
    runtime.block_on(async {
        for _ in 0..1_000 {
            let mut wait = pin!(clock.sleep_until(10));
            let mut context = Context::from_waker(Waker::noop());
            assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
        }
        clock.sleep_until(20).await;
        assert_eq!(clock.now(), 20, "nothing stopped at 10");
    });
}

#[test]
fn the_real_timer_fires_at_or_after_each_instant_in_order() {
    let runtime =
        Builder::new_current_thread().enable_io().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        let clock = Real::start().unwrap();
        let from = clock.now();
        let order = Rc::new(RefCell::new(Vec::new()));
        let mut tasks = Vec::new();
        for milliseconds in [9, 3, 6, 0] {
            let (clock, order) = (clock.clone(), Rc::clone(&order));
            tasks.push(spawn_local(async move {
                let at = from + milliseconds * 1_000_000;
                clock.sleep_until(at).await;
                assert!(clock.now() >= at);
                order.borrow_mut().push(milliseconds);
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.borrow(), [0, 3, 6, 9]);
        // An instant that is already past, and an instant set while a later one is armed.
        clock.sleep_until(from).await;
        let mut later = pin!(clock.sleep_until(clock.now() + 60_000_000_000));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(later.as_mut().poll(&mut context), Poll::Pending);
        clock.sleep_until(clock.now() + 1_000_000).await;
    });
}
