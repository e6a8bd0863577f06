//! Documents and filters that often match: few fields, few values, and difficult ones among them.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use serde_json::{Map, Value, json};

/// The fields of the view with indexes.
pub const INDEXED: [&str; 6] = ["a", "b", "place.floor", "place.x\\.y", "rare", "tags"];

const FIELDS: [&str; 9] =
    ["a", "b", "rare", "tags", "place", "place.floor", "place.x\\.y", "place.kind", "nobody.has"];

const TYPES: [&str; 10] =
    ["string", "bool", "boolean", "int", "integer", "float", "number", "array", "object", "null"];

const EXPRESSIONS: [&str; 9] = ["a", "^a", "b$", "^$", "a.b", "a*b", "^.é*$", "", "^ab*a"];

/// A seeded source of random numbers.
pub struct Source(pub Xoshiro256PlusPlus);

impl Source {
    /// A number from zero up to, but not including, `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub fn document(&mut self) -> Map<String, Value> {
        let mut document = Map::new();
        for (name, often) in [("a", 3), ("b", 4), ("tags", 2), ("rare", 5), ("place", 3)] {
            if self.below(often) == 0 && often < 5 {
                continue;
            }
            let value = match name {
                "tags" => self.array(),
                "rare" => json!(self.below(500)),
                "place" => self.geo_point(),
                _ => self.scalar(),
            };
            document.insert(name.to_owned(), value);
        }
        document
    }

    fn geo_point(&mut self) -> Value {
        let all = ["floor", "x.y", "kind"];
        let mut geo_point = Map::new();
        for name in all {
            if self.below(4) > 0 {
                geo_point.insert(name.to_owned(), self.scalar());
            }
        }
        if self.below(10) == 0 { self.scalar() } else { Value::Object(geo_point) }
    }

    fn array(&mut self) -> Value {
        (0..self.below(4)).map(|_| self.scalar()).collect()
    }

    fn scalar(&mut self) -> Value {
        match self.below(10) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2..6 => self.number(),
            _ => self.text(),
        }
    }

    fn number(&mut self) -> Value {
        let small = self.below(9) as i64 - 3;
        let edge = self.one(&[1_u64 << 53, (1 << 53) + 1, (1 << 60) + 1, u64::MAX]);
        match self.below(8) {
            0..3 => json!(small),
            3 => json!(small as f64),
            4 => json!(small as f64 + 0.5),
            5 => json!(self.one(&[0.1, -0.2, 1e-3, -0.0])),
            6 => json!(edge),
            _ => self.one(&[json!(edge as f64), json!(i64::MIN), json!(i64::MIN as f64)]),
        }
    }

    fn text(&mut self) -> Value {
        let letters = ["a", "b", "é"];
        let tail: String = (0..self.below(4)).map(|_| self.one(&letters)).collect();
        // Texts that share a longer prefix than an index compares, and one that is cut within a
        // character.
        let start = ["", "", "", "", &"a".repeat(47), &"b".repeat(60)][self.below(6)].to_owned();
        json!(start + &tail)
    }

    pub fn filter(&mut self) -> Value {
        let depth = self.below(6);
        self.filter_within(depth)
    }

    fn filter_within(&mut self, depth: usize) -> Value {
        let mut filter = Map::new();
        for _ in 0..[1, 1, 1, 2, 2, 3, 0][self.below(7)] {
            let (key, value) = match depth {
                0 => self.condition(),
                _ => self.template(depth - 1),
            };
            filter.insert(key, value);
        }
        Value::Object(filter)
    }

    fn template(&mut self, depth: usize) -> (String, Value) {
        match self.below(6) {
            0 => ("$and".into(), self.parts(depth)),
            1 | 2 => ("$or".into(), self.parts(depth)),
            3 => (self.one(&["not", "$not"]).into(), self.filter_within(depth)),
            _ => self.condition(),
        }
    }

    fn parts(&mut self, depth: usize) -> Value {
        (0..=self.below(3)).map(|_| self.filter_within(depth)).collect()
    }

    fn condition(&mut self) -> (String, Value) {
        let field = self.one(&FIELDS);
        let (word, operand) = self.operator();
        match self.below(4) {
            0 if word == "eq" => (field.into(), operand),
            0 | 1 => (format!("{field}.{word}"), operand),
            2 => (field.into(), json!({"$not": {format!("${word}"): operand}})),
            _ => {
                let (other, second) = self.operator();
                (field.into(), json!({format!("${word}"): operand, format!("${other}"): second}))
            }
        }
    }

    fn operator(&mut self) -> (&'static str, Value) {
        let any = match self.below(8) {
            0 => self.array(),
            1 => self.geo_point(),
            2 => json!(self.below(500)),
            _ => self.scalar(),
        };
        let side = self.one(&["lt", "lte", "gt", "gte"]);
        match self.below(16) {
            0..3 => ("eq", any),
            3 => ("ne", any),
            4..7 => (side, self.number()),
            7 => (side, json!(self.below(500))),
            8 => (side, self.text()),
            9 => ("startswith", self.text()),
            10 => ("endswith", self.text()),
            11 => ("contains", self.scalar()),
            12 => ("regex", json!(self.one(&EXPRESSIONS))),
            13 => ("in", (0..self.below(6)).map(|_| self.scalar()).collect()),
            14 => ("exists", json!(self.below(2) == 0)),
            _ => ("type", json!(self.one(&TYPES))),
        }
    }
}
