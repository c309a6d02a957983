//! A soa component is read out of its lanes again and again: what lies there must be `Copy`, whatever the struct is.
use phalanx::Component;
use phalanx::store::soa::{Leaf, SoaRow, Views};

#[derive(Clone, Copy)]
struct Sly;

impl<'a> Views<'a> for Sly {
    type Ref = ();
    type Mut = ();
    type Lanes = ();
    type LanesMut = ();
}

impl SoaRow for Sly {
    type Shape = Leaf<String>;
    type Columns = Vec<String>;
    const NAME: &'static str = "Sly";
    const FIELDS: &'static [&'static str] = &[];
    fn split(self) -> String {
        "freed as often as it is read".to_string()
    }
    fn join(_: String) -> Self {
        Sly
    }
    fn as_row(&self) {}
    fn as_row_mut(&mut self) {}
    fn split_row<'a>(_: ()) -> &'a String
    where
        Self: 'a,
    {
        unimplemented!()
    }
    fn row<'a>(_: &'a String)
    where
        Self: 'a,
    {
    }
    fn row_mut<'a>(_: &'a mut String)
    where
        Self: 'a,
    {
    }
    fn lanes<'a>(_: &'a [String])
    where
        Self: 'a,
    {
    }
    fn lanes_mut<'a>(_: &'a mut [String])
    where
        Self: 'a,
    {
    }
    fn split_lanes<'a>(_: ()) -> &'a [String]
    where
        Self: 'a,
    {
        &[]
    }
    fn join_columns(columns: Vec<String>) -> Vec<String> {
        columns
    }
    fn split_columns(columns: Vec<String>) -> Vec<String> {
        columns
    }
}

impl Component for Sly {
    type Layout = phalanx::layout::Soa;
}

fn main() {}
