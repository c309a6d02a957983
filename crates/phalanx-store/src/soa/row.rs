//! [`SoaRow`]: the trait of row types, and the views that a row type comes with.

use super::shape::{CloneLanes, Shape};

/// The structs of references and slices that represent borrowed rows of `Self`.
///
/// `derive(Soa)` implements it. `Bound` is always the default, by which `for<'a> Views<'a>` means every `'a` that `Self`
/// outlives. So row types may borrow.
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
/// The trait is safe, and so is the code that the derive prints. A type names its [`Shape`], a tree made of the crate's own
/// parts, and converts the struct to that tree and back. All code that handles memory belongs to the shape. A wrong
/// implementation gets wrong rows, but never invalid ones.
///
/// Rows are dropped field by field, so a row type cannot have a `Drop` of its own; its fields can.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row type",
    label = "a `Soa` cannot be made of this",
    note = "add `#[derive(Soa)]` to the struct (feature `derive`)"
)]
pub trait SoaRow: Sized + for<'a> Views<'a> {
    /// The lanes of the row.
    type Shape: Shape;
    /// A `Vec` per field, to move whole columns in: `VelocityColumns` for `Velocity`.
    type Columns;
    /// The struct's name.
    const NAME: &'static str;
    /// The names of the fields in order; the number for a tuple struct.
    const FIELDS: &'static [&'static str];

    /// Splits a row into the values of its lanes.
    fn split(self) -> <Self::Shape as Shape>::Values;
    /// Joins the values of the lanes to a row.
    fn join(values: <Self::Shape as Shape>::Values) -> Self;
    /// Borrows a row: a reference to each field.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    /// use phalanx_store::soa::SoaRow;
    ///
    /// #[derive(Soa)]
    /// struct Point {
    ///     x: i32,
    ///     y: i32,
    /// }
    ///
    /// fn length(point: PointRef<'_>) -> i32 {
    ///     point.x.abs() + point.y.abs()
    /// }
    ///
    /// let points = Soa::from([Point { x: 1, y: -2 }]);
    /// assert_eq!(length(points.row(0)), 3);
    /// assert_eq!(length(Point { x: 3, y: 4 }.as_row()), 7);
    /// # }
    /// ```
    #[doc(alias("as_ref", "as_soa_ref"))]
    fn as_row(&self) -> Ref<'_, Self>;
    /// Borrows a row mutably: a mutable reference to each field.
    #[doc(alias = "as_mut")]
    fn as_row_mut(&mut self) -> Mut<'_, Self>;
    /// Returns a row made of clones of the fields of a borrowed row.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use phalanx_store::Soa;
    /// use phalanx_store::soa::SoaRow;
    ///
    /// #[derive(Soa, Clone, Debug, PartialEq)]
    /// struct Name {
    ///     text: String,
    ///     rank: u32,
    /// }
    ///
    /// let names = Soa::from(["a", "b"].map(|text| Name { text: text.into(), rank: 1 }));
    /// let owned: Vec<Name> = names.iter().rev().map(Name::from_row).collect();
    /// assert_eq!(owned[0].text, "b");
    /// # }
    /// ```
    #[doc(alias("to_owned", "soa_clone", "soa_to_owned"))]
    fn from_row(row: Ref<'_, Self>) -> Self
    where
        Self::Shape: CloneLanes,
    {
        Self::join(Self::Shape::clone_row(Self::split_row(row)))
    }
    /// Converts references of the shape to the named struct.
    fn row<'a>(row: <Self::Shape as Shape>::Ref<'a>) -> Ref<'a, Self>
    where
        Self: 'a;
    /// Converts mutable references of the shape to the named struct.
    fn row_mut<'a>(row: <Self::Shape as Shape>::Mut<'a>) -> Mut<'a, Self>
    where
        Self: 'a;
    /// Converts slices of the shape to the named struct.
    fn lanes<'a>(lanes: <Self::Shape as Shape>::Lanes<'a>) -> Lanes<'a, Self>
    where
        Self: 'a;
    /// Converts mutable slices of the shape to the named struct.
    fn lanes_mut<'a>(lanes: <Self::Shape as Shape>::LanesMut<'a>) -> LanesMut<'a, Self>
    where
        Self: 'a;
    /// Converts the named struct of references to that of the shape.
    fn split_row<'a>(row: Ref<'a, Self>) -> <Self::Shape as Shape>::Ref<'a>
    where
        Self: 'a;
    /// Converts the named struct of slices to that of the shape.
    fn split_lanes<'a>(lanes: Lanes<'a, Self>) -> <Self::Shape as Shape>::Lanes<'a>
    where
        Self: 'a;
    /// Converts named columns to those of the shape.
    fn split_columns(columns: Self::Columns) -> <Self::Shape as Shape>::Columns;
    /// Converts columns of the shape to named ones.
    fn join_columns(columns: <Self::Shape as Shape>::Columns) -> Self::Columns;
}
