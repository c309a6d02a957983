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

/// A function that is a system, a [`SystemSet`], or the name of a system: what `before` and `after` take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no systems",
    note = "an order refers to a function that is a system, to a `SystemSet`, or to the name of a system as text",
    note = "an order refers to one of these: write `.after(a).after(b)` for several"
)]
pub trait IntoLabel<Marker> {
    /// Returns the label.
    fn label(&self) -> Label;
}

/// Tells sets from functions.
#[doc(hidden)]
#[derive(Debug)]
pub struct SetMarker;

impl<S: SystemSet> IntoLabel<SetMarker> for S {
    fn label(&self) -> Label {
        Label::of_set(self)
    }
}

/// Tells text that is not static from sets.
#[doc(hidden)]
#[derive(Debug)]
pub struct TextMarker;

impl IntoLabel<TextMarker> for String {
    fn label(&self) -> Label {
        Label { key: Key::Text(self.clone()) }
    }
}

/// Tells functions from sets.
#[doc(hidden)]
#[derive(Debug)]
pub struct SystemMarker;

impl<M, F: IntoSystem<M> + 'static> IntoLabel<(SystemMarker, M)> for F {
    fn label(&self) -> Label {
        Label { key: Key::Function(TypeId::of::<F>(), core::any::type_name::<F>()) }
    }
}
