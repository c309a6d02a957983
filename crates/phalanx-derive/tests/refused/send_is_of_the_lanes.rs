//! A row type that can be sent does not make its lanes so: here the one hides the other.
use phalanx_store::Soa;
use phalanx_store::soa::{Leaf, SoaRow, Views};
use std::rc::Rc;

struct Innocent;

impl<'a> Views<'a> for Innocent {
    type Ref = &'a Rc<u8>;
    type Mut = &'a mut Rc<u8>;
    type Lanes = &'a [Rc<u8>];
    type LanesMut = &'a mut [Rc<u8>];
}

impl SoaRow for Innocent {
    type Shape = Leaf<Rc<u8>>;
    type Columns = Vec<Rc<u8>>;
    const NAME: &'static str = "Innocent";
    const FIELDS: &'static [&'static str] = &[""];

    fn split(self) -> Rc<u8> {
        Rc::new(0)
    }
    fn join(_: Rc<u8>) -> Self {
        Innocent
    }
    fn as_row(&self) -> &Rc<u8> {
        unimplemented!()
    }
    fn as_row_mut(&mut self) -> &mut Rc<u8> {
        unimplemented!()
    }
    fn split_row<'a>(row: &'a Rc<u8>) -> &'a Rc<u8>
    where
        Self: 'a,
    {
        row
    }
    fn row<'a>(row: &'a Rc<u8>) -> &'a Rc<u8>
    where
        Self: 'a,
    {
        row
    }
    fn row_mut<'a>(row: &'a mut Rc<u8>) -> &'a mut Rc<u8>
    where
        Self: 'a,
    {
        row
    }
    fn lanes<'a>(lanes: &'a [Rc<u8>]) -> &'a [Rc<u8>]
    where
        Self: 'a,
    {
        lanes
    }
    fn lanes_mut<'a>(lanes: &'a mut [Rc<u8>]) -> &'a mut [Rc<u8>]
    where
        Self: 'a,
    {
        lanes
    }
    fn split_lanes<'a>(lanes: &'a [Rc<u8>]) -> &'a [Rc<u8>]
    where
        Self: 'a,
    {
        lanes
    }
    fn join_columns(columns: Vec<Rc<u8>>) -> Vec<Rc<u8>> {
        columns
    }
    fn split_columns(columns: Vec<Rc<u8>>) -> Vec<Rc<u8>> {
        columns
    }
}

fn main() {
    let rows: Soa<Innocent> = Soa::new();
    std::thread::spawn(move || drop(rows));
}
