//! The trait of row types, and the views a row type comes with.

use super::shape::Shape;

/// The structs of references and slices that stand for rows of `Self` while they are borrowed for `'a`.
///
/// Printed by `derive(Soa)`. `Bound` is never given: its default lets `for<'a> Views<'a>` mean every `'a` that `Self`
/// outlives, so row types may borrow.
pub trait Views<'a, Bound = &'a Self> {
    /// One row: a reference per field.
    type Ref: Copy;
    /// One row: a mutable reference per field.
    type Mut;
    /// A run of rows: a slice per field.
    type Lanes: Copy;
    /// A run of rows: a mutable slice per field.
    type LanesMut;
}

/// One row of `T`, borrowed: `VelocityRef<'a>` for `Velocity`.
pub type Ref<'a, T> = <T as Views<'a>>::Ref;
/// One row of `T`, mutably borrowed: `VelocityMut<'a>` for `Velocity`.
pub type Mut<'a, T> = <T as Views<'a>>::Mut;
/// A slice per field of `T`: `VelocityLanes<'a>` for `Velocity`.
pub type Lanes<'a, T> = <T as Views<'a>>::Lanes;
/// A mutable slice per field of `T`: `VelocityLanesMut<'a>` for `Velocity`.
pub type LanesMut<'a, T> = <T as Views<'a>>::LanesMut;

/// A struct whose values a [`Soa`](super::Soa) keeps field by field. Implemented by `derive(Soa)`.
///
/// The trait is safe, and so is what the derive prints: a type names its [`Shape`], a tree made of the crate's own
/// parts, and says how the struct is taken apart into that tree and put together from it. Everything that handles
/// memory is on the shape. An implementation that answers nonsense gets nonsense rows, and never an invalid one.
///
/// Rows are dropped field by field, so a row type cannot have a `Drop` of its own; its fields can.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row type",
    label = "a `Soa` cannot be made of this",
    note = "add `#[derive(Soa)]` to the struct (feature `derive`)"
)]
pub trait SoaRow: Sized + for<'a> Views<'a> {
    /// The lanes.
    type Shape: Shape;
    /// A `Vec` per field, to move whole columns in: `VelocityColumns` for `Velocity`.
    type Columns;
    /// The struct's name.
    const NAME: &'static str;
    /// The names of the fields in order; the number for a tuple struct.
    const FIELDS: &'static [&'static str];

    /// Takes a row apart.
    fn split(self) -> <Self::Shape as Shape>::Values;
    /// Puts a row together.
    fn join(values: <Self::Shape as Shape>::Values) -> Self;
    /// Names the parts of a borrowed row.
    fn row<'a>(row: <Self::Shape as Shape>::Ref<'a>) -> Ref<'a, Self>
    where
        Self: 'a;
    /// Names the parts of a mutably borrowed row.
    fn row_mut<'a>(row: <Self::Shape as Shape>::Mut<'a>) -> Mut<'a, Self>
    where
        Self: 'a;
    /// Names the slices.
    fn lanes<'a>(lanes: <Self::Shape as Shape>::Lanes<'a>) -> Lanes<'a, Self>
    where
        Self: 'a;
    /// Names the mutable slices.
    fn lanes_mut<'a>(lanes: <Self::Shape as Shape>::LanesMut<'a>) -> LanesMut<'a, Self>
    where
        Self: 'a;
    /// Takes named slices apart.
    fn split_lanes<'a>(lanes: Lanes<'a, Self>) -> <Self::Shape as Shape>::Lanes<'a>
    where
        Self: 'a;
    /// Takes named columns apart.
    fn split_columns(columns: Self::Columns) -> <Self::Shape as Shape>::Columns;
    /// Names columns that were taken apart.
    fn join_columns(columns: <Self::Shape as Shape>::Columns) -> Self::Columns;
}
