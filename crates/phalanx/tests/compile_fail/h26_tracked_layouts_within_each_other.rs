//! Marks of changes belong to values: a tracked layout is not tracked again, by rows or by columns.
use phalanx::Component;
use phalanx::layout::{Linear, Pool, Soa, Table, Tracked, Watched};

macro_rules! components {
    ($($name:ident: $layout:ty)*) => {$(
        struct $name(String);

        impl Component for $name {
            type Layout = $layout;
        }
    )*};
}
components! {
    ColumnOfRows: Watched<Tracked<Table>>
    ColumnOfColumns: Watched<Watched<Pool>>
    RowsOfColumns: Tracked<Watched<Linear>>
    RowsOfRows: Tracked<Tracked<Table>>
}

#[derive(phalanx::store::Soa, Clone, Copy)]
#[soa(crate = "phalanx::store")]
struct Spin {
    axis: u8,
}

impl Component for Spin {
    type Layout = Watched<Watched<Soa>>;
}

fn main() {}
