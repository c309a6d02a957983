//! [`Label`]: a name for one or more systems, which orders refer to.

use core::any::TypeId;
use core::fmt;
use phalanx::system::{IntoSystem, ShortName};

/// A set of systems that share orders and conditions.
///
/// ```
/// use phalanx_schedule::SystemSet;
///
/// #[derive(Debug)]
/// enum Phase {
///     Physics,
///     Drawing,
/// }
/// impl SystemSet for Phase {}
/// # let _ = [Phase::Physics, Phase::Drawing];
/// ```
///
/// Two sets are the same if their types and their debug output are. Text is a set too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of systems",
    note = "implement `SystemSet` for the type: `impl SystemSet for {Self} {{}}`"
)]
#[doc(alias = "SystemLabel")]
pub trait SystemSet: fmt::Debug + 'static {}

impl SystemSet for &'static str {}

/// The name of a function or a set, which `before` and `after` refer to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    pub(crate) key: Key,
}

/// What a label stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// All systems that are made of a function.
    Function(TypeId, &'static str),
    /// All systems of a set.
    Set(TypeId, String),
    /// The system with a name, or a set that is named by text.
    Text(String),
    /// The system that was added after as many others.
    Item(usize),
}

impl Label {
    /// Returns the label of a set.
    pub(crate) fn of_set<S: SystemSet>(set: &S) -> Label {
        let any: &dyn core::any::Any = set;
        let key = match any.downcast_ref::<&'static str>() {
            Some(text) => Key::Text((*text).into()),
            None => Key::Set(TypeId::of::<S>(), format!("{set:?}")),
        };
        Label { key }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Key::Function(_, name) => ShortName(name).fmt(f),
            Key::Set(_, name) | Key::Text(name) => f.write_str(name),
            Key::Item(number) => write!(f, "system {number}"),
        }
    }
}

/// A function that is a system, a [`SystemSet`], the name of a system, or a tuple of these: what `before` and `after` take.
///
/// ```
/// use phalanx::World;
/// use phalanx_schedule::{IntoSystemConfig, Schedule};
///
/// fn read_input() {}
/// fn walk() {}
/// fn draw() {}
///
/// let frame = Schedule::builder("frame")
///     .add(draw.after((read_input, walk)))
///     .add((walk, read_input))
///     .build(&mut World::new())?;
/// assert!(frame.systems().eq(["walk", "read_input", "draw"]));
/// # Ok::<(), phalanx_schedule::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no systems",
    note = "an order refers to a function that is a system, to a `SystemSet`, to the name of a system as text, or to a tuple of at most 12 of these"
)]
pub trait IntoLabels<Marker> {
    /// Returns the labels.
    fn labels(&self) -> Vec<Label>;
}

/// Tells sets from functions.
#[doc(hidden)]
#[derive(Debug)]
pub struct SetMarker;

impl<S: SystemSet> IntoLabels<SetMarker> for S {
    fn labels(&self) -> Vec<Label> {
        vec![Label::of_set(self)]
    }
}

/// Tells text that is not static from sets.
#[doc(hidden)]
#[derive(Debug)]
pub struct TextMarker;

impl IntoLabels<TextMarker> for String {
    fn labels(&self) -> Vec<Label> {
        vec![Label { key: Key::Text(self.clone()) }]
    }
}

/// Tells functions from sets.
#[doc(hidden)]
#[derive(Debug)]
pub struct SystemMarker;

impl<M, F: IntoSystem<M> + 'static> IntoLabels<(SystemMarker, M)> for F {
    fn labels(&self) -> Vec<Label> {
        vec![Label { key: Key::Function(TypeId::of::<F>(), core::any::type_name::<F>()) }]
    }
}

/// Tells a tuple from what it holds.
#[doc(hidden)]
#[derive(Debug)]
pub struct TupleMarker;

macro_rules! tuple {
    ($($name:ident $marker:ident)*) => {
        impl<$($marker, $name: IntoLabels<$marker>),*> IntoLabels<(TupleMarker, $($marker),*)> for ($($name,)*) {
            #[allow(non_snake_case)]
            fn labels(&self) -> Vec<Label> {
                let ($($name,)*) = self;
                let mut labels = Vec::new();
                $(labels.extend($name.labels());)*
                labels
            }
        }
    };
}
tuple!(A MA);
tuple!(A MA B MB);
tuple!(A MA B MB C MC);
tuple!(A MA B MB C MC D MD);
tuple!(A MA B MB C MC D MD E ME);
tuple!(A MA B MB C MC D MD E ME F MF);
tuple!(A MA B MB C MC D MD E ME F MF G MG);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI J MJ);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI J MJ K MK);
tuple!(A MA B MB C MC D MD E ME F MF G MG H MH I MI J MJ K MK L ML);
