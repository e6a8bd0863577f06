//! The tables of a page as text, without layout: terminal, Markdown and HTML lay out the same tables.
//!
//! In reading order: [`comparison`] compares levels, and [`dose`] those that are amounts, in their order;
//! [`percentiles`] of all arms; [`capacity`] is a search; [`scaling`] is closed loads of different sizes; [`run`] has
//! tables of the whole run, [`outcome`] the failures in it; [`accounting`] has the outcomes of all operations by arm,
//! and [`observed`] the observers' results; [`parts`] and [`phases`] show where the time went, [`work`] its processor
//! time; [`trial`] has tables of one trial, [`agents`] the machines that performed it; [`journeys`] those of its journeys, [`traces`] single operations; `times` those of response and service
//! time, [`replay`] the burstiness of a replay.

pub mod accounting;
pub mod agents;
mod arms;
pub mod capacity;
pub mod comparison;
pub mod dose;
pub mod journeys;
pub mod observed;
pub mod outcome;
pub mod parts;
pub mod percentiles;
pub mod phases;
pub mod replay;
pub mod run;
pub mod scaling;
pub mod streams;
pub mod times;
pub mod traces;
pub mod trial;
pub mod work;

use std::ops::Range;

use plan::printable::printable;
use serde::Serialize;

/// A table with a title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Stable name, for links and tests.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// A text that explains the table.
    pub note: Option<String>,
    /// From left to right.
    pub columns: Vec<Column>,
    /// Each with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
    /// By row: the address that its last cell leads to; empty where none leads anywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Option<String>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whether its cells are figures, which are aligned to the right.
    pub figures: bool,
}

impl Table {
    /// An empty table. Columns of figures start with `#`.
    pub fn new(id: &'static str, title: impl Into<String>, columns: &[&'static str]) -> Self {
        let column = |title: &&'static str| Column {
            title: title.strip_prefix('#').unwrap_or(title).to_owned(),
            figures: title.starts_with('#'),
        };
        Self {
            id,
            title: title.into(),
            note: None,
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
            links: Vec::new(),
        }
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.columns.len(), "cells of table {}", self.id);
        self.rows.push(cells.map(|cell| printable(&cell).into_owned()).into());
    }

    /// The table without these columns.
    fn without(mut self, columns: Range<usize>) -> Self {
        self.columns.drain(columns.clone());
        self.rows.iter_mut().for_each(|row| drop(row.drain(columns.clone())));
        self
    }

    /// The table, unless it has no rows.
    pub(super) fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}
