//! What one journey in progress remembers: captured values, and what its driver keeps for it.

use std::any::Any;
use std::cell::{Cell, RefCell};

/// Bytes of the longest captured value.
pub const VALUE_LIMIT: usize = 64 * 1024;
/// Bytes of all captured values of a journey.
pub const VALUES_LIMIT: usize = 256 * 1024;

/// A captured value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// One text.
    One(Box<str>),
    /// A list, of a capture with `all`.
    All(Vec<Box<str>>),
}

/// The memory of a journey, shared by its steps. One thread.
#[derive(Debug, Default)]
pub struct Memory {
    /// By place of the capture; only those that were read.
    values: RefCell<Vec<(usize, Captured)>>,
    /// What `{{each}}` stands for now: place of the capture and of the value.
    each: Cell<Option<(usize, usize)>>,
    /// What the driver keeps from one step to the next (cookies).
    session: RefCell<Option<Box<dyn Any>>>,
}

/// Values that would take a journey beyond its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemoryFull {
    /// One value is too long.
    #[error("a captured value of {0} bytes; the limit is {VALUE_LIMIT}")]
    Value(usize),
    /// All values together are.
    #[error("captured values of {0} bytes together; the limit is {VALUES_LIMIT}")]
    Values(usize),
}

impl Captured {
    /// Bytes of its text.
    pub fn len(&self) -> usize {
        match self {
            Self::One(text) => text.len(),
            Self::All(list) => list.iter().map(|text| text.len()).sum(),
        }
    }

    /// Whether there is no value in it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(list) if list.is_empty())
    }

    fn longest(&self) -> usize {
        match self {
            Self::One(text) => text.len(),
            Self::All(list) => list.iter().map(|text| text.len()).max().unwrap_or(0),
        }
    }
}

impl Memory {
    /// Remembers a value in the place of the one before.
    ///
    /// Errors: it is too long, or all values together are; the one before is forgotten
    pub fn keep(&self, place: usize, value: Captured) -> Result<(), MemoryFull> {
        let mut values = self.values.borrow_mut();
        values.retain(|(known, _)| *known != place);
        if value.longest() > VALUE_LIMIT {
            return Err(MemoryFull::Value(value.longest()));
        }
        let together = value.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>();
        if together > VALUES_LIMIT {
            return Err(MemoryFull::Values(together));
        }
        values.push((place, value));
        Ok(())
    }

    /// Forgets a value.
    pub fn forget(&self, place: usize) {
        self.values.borrow_mut().retain(|(known, _)| *known != place);
    }

    /// Calls `look` with the value of a capture, if it was read.
    pub fn look<T>(&self, place: usize, look: impl FnOnce(Option<&Captured>) -> T) -> T {
        let values = self.values.borrow();
        look(values.iter().find(|(known, _)| *known == place).map(|(_, value)| value))
    }

    /// Number of values of a capture: those of a list, or one.
    pub fn count(&self, place: usize) -> usize {
        self.look(place, |value| match value {
            None => 0,
            Some(Captured::One(_)) => 1,
            Some(Captured::All(list)) => list.len(),
        })
    }

    /// Lets `{{each}}` stand for this value of a capture.
    pub fn set_each(&self, each: Option<(usize, usize)>) {
        self.each.set(each);
    }

    /// Appends the text of a capture; nothing where it was not read.
    pub fn append(&self, place: usize, out: &mut Vec<u8>) {
        self.look(place, |value| {
            if let Some(Captured::One(text)) = value {
                out.extend_from_slice(text.as_bytes());
            }
        });
    }

    /// Appends what `{{each}}` stands for.
    pub fn append_each(&self, out: &mut Vec<u8>) {
        let Some((place, at)) = self.each.get() else { return };
        self.look(place, |value| {
            let text = match value {
                Some(Captured::One(text)) if at == 0 => Some(text),
                Some(Captured::All(list)) => list.get(at),
                _ => None,
            };
            out.extend_from_slice(text.map_or(b"".as_slice(), |text| text.as_bytes()));
        });
    }

    /// Calls `act` with what the driver keeps, made on first use.
    ///
    /// Panics: if it is of another type, or in use already
    pub fn session<S: Default + 'static, T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        let mut session = self.session.borrow_mut();
        let kept = session.get_or_insert_with(|| Box::new(S::default()));
        act(kept.downcast_mut().expect("one driver's session in one journey"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(memory: &Memory, place: usize) -> String {
        let mut out = Vec::new();
        memory.append(place, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_value_takes_the_place_of_the_one_before() {
        let memory = Memory::default();
        memory.keep(3, Captured::One("one".into())).expect("it fits");
        memory.keep(3, Captured::One("two".into())).expect("it fits");
        assert_eq!((text(&memory, 3), text(&memory, 4)), ("two".to_owned(), String::new()));
        memory.forget(3);
        assert_eq!(text(&memory, 3), "");
    }

    #[test]
    fn each_stands_for_one_value_of_a_list() {
        let memory = Memory::default();
        memory.keep(0, Captured::All(vec!["a".into(), "b".into()])).expect("it fits");
        let each = |at| {
            memory.set_each(Some((0, at)));
            let mut out = Vec::new();
            memory.append_each(&mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!([each(0), each(1), each(2)], ["a", "b", ""]);
        assert_eq!(memory.count(0), 2);
    }

    #[test]
    fn values_beyond_the_limits_are_refused_and_nothing_grows() {
        let memory = Memory::default();
        let long = |length: usize| Captured::One("x".repeat(length).into());
        assert_eq!(memory.keep(0, long(VALUE_LIMIT + 1)), Err(MemoryFull::Value(VALUE_LIMIT + 1)));
        for place in 0..4 {
            memory.keep(place, long(VALUE_LIMIT)).expect("it fits");
        }
        assert_eq!(memory.keep(4, long(1)), Err(MemoryFull::Values(VALUES_LIMIT + 1)));
        memory.keep(3, long(VALUE_LIMIT)).expect("it takes the place of one as long");
    }

    #[test]
    fn a_driver_finds_what_it_kept() {
        let memory = Memory::default();
        memory.session(|count: &mut u32| *count += 1);
        assert_eq!(memory.session(|count: &mut u32| *count), 1);
    }
}
