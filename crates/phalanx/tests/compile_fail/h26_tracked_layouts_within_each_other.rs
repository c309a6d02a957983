//! Marks of changes belong to values: a tracked layout is not tracked again, by rows or by columns.
use phalanx::Component;
use phalanx::layout::{Linear, Pool, Soa, Table, RowTracked, ColumnTracked};

macro_rules! components {
    ($($name:ident: $layout:ty)*) => {$(
        struct $name(String);

        impl Component for $name {
            type Layout = $layout;
        }
    )*};
}
components! {
    ColumnOfRows: ColumnTracked<RowTracked<Table>>
    ColumnOfColumns: ColumnTracked<ColumnTracked<Pool>>
    RowsOfColumns: RowTracked<ColumnTracked<Linear>>
    RowsOfRows: RowTracked<RowTracked<Table>>
}

#[derive(phalanx::store::Soa, Clone, Copy)]
#[soa(crate = "phalanx::store")]
struct Spin {
    axis: u8,
}

impl Component for Spin {
    type Layout = ColumnTracked<ColumnTracked<Soa>>;
}

fn main() {}
