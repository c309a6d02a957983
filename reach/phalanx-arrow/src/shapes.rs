//! What the parts of a shape are to Arrow.

use phalanx::reflect::{Kind, Scalar, Shape};

/// Numbers without padding: one of them, or an array.
#[derive(Clone, Copy)]
pub(crate) struct Fixed {
    pub(crate) shape: &'static Shape,
    pub(crate) scalar: Scalar,
    /// The bytes of all of them.
    pub(crate) bytes: usize,
}

/// Returns what a shape has, if that is numbers which Arrow stores as Rust does.
pub(crate) fn fixed(shape: &'static Shape) -> Option<Fixed> {
    match shape.inner().kind {
        Kind::Scalar(Scalar::Bool | Scalar::Entity) => None,
        Kind::Scalar(scalar) => {
            (shape.inner().size == shape.size).then_some(Fixed { shape, scalar, bytes: shape.size })
        }
        Kind::Array(element, len) if len > 0 && i32::try_from(len).is_ok() => {
            let element = fixed(element)?;
            let bytes = element.bytes * len;
            (bytes == shape.size).then_some(Fixed { shape, scalar: element.scalar, bytes })
        }
        _ => None,
    }
}

/// Returns `true` if values of the shape have data. Structs without fields and arrays without elements have none.
pub(crate) fn has_data(shape: &'static Shape) -> bool {
    match shape.kind {
        Kind::Struct(fields) => fields.iter().any(|field| has_data(field.shape)),
        Kind::Array(element, len) => len > 0 && has_data(element),
        _ => true,
    }
}

/// Looks through newtypes: returns the shape within all of them, and where its value is in that of the outer shape.
pub(crate) fn inner(mut shape: &'static Shape) -> (usize, &'static Shape) {
    let mut offset = 0;
    while let Kind::Struct([field]) = shape.kind {
        offset += field.offset;
        shape = field.shape;
    }
    (offset, shape)
}
