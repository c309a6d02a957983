//! Reports: text, HTML, plots, and sentences made from the figures.

pub(crate) mod chart;
pub(crate) mod figures;
pub(crate) mod findings;
pub(crate) mod grid;
pub(crate) mod page;
pub(crate) mod plots;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod sheet;
pub(crate) mod svg;
pub(crate) mod text;
