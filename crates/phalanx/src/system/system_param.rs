//! [`SystemParam`]: what a system can ask for.
#![allow(unsafe_code)]

use super::system_access::SetStart;
use super::{RunContext, SystemAccess};
use crate::world::World;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// A parameter of a system.
///
/// | parameter | gives |
/// |---|---|
/// | [`Query<D, F>`](crate::Query) | the entities that match |
/// | [`Res<R>`](super::Res), [`ResMut<R>`](super::ResMut) | a resource; `Option` of both if it may be missing |
/// | [`Commands`](super::Commands) | records structural changes, which are applied later |
/// | [`EventReader<E>`](crate::event::EventReader), [`EventWriter<E>`](crate::event::EventWriter) | reads and sends events |
/// | [`Relations<R>`](crate::relation::Relations) | the links of a relation |
/// | [`Local<T>`](super::Local) | a value that belongs to the system |
/// | `&World` | everything, for reading |
/// | [`ParamSet<(A, B)>`](super::ParamSet) | parameters that conflict, used one at a time |
/// | a tuple of these | all of them |
/// | a struct with `#[derive(SystemParam)]` | a field for each |
///
/// A system with the parameter `&mut World` has no other parameter.
///
/// # Safety
///
/// - `init` adds everything to the access that `get` and the item touch.
/// - The item touches nothing else, and nothing in a way that the access does not name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a parameter of a system",
    label = "not a parameter of a system",
    note = "parameters are `Query`, `Res`, `ResMut`, `Commands`, `Local`, `EventReader`, `EventWriter`, `Relations`, `&World`, tuples of these, and structs with `#[derive(SystemParam)]`",
    note = "`&mut World` is a parameter only if it is the only one"
)]
pub unsafe trait SystemParam: Sized {
    /// What the system keeps between runs.
    type State: Send + 'static;
    /// The parameter, as the system gets it in a run.
    type Item<'w, 's>: SystemParam<State = Self::State>;

    /// Creates the state for a world, and declares what the parameter touches.
    fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> Self::State;

    /// Updates the state to another world, or to a world that went back in time.
    fn update(_: &mut Self::State, _: &mut World) {}

    /// Returns the parameter for a run.
    ///
    /// # Safety
    ///
    /// - The state was created for this world or updated to it, after it last went back in time.
    /// - For `'w` nothing else touches what the access of the parameter writes, or writes what it touches.
    unsafe fn get<'w, 's>(state: &'s mut Self::State, world: &'w World, context: &RunContext<'w>)
    -> Self::Item<'w, 's>;

    /// Applies what the parameter has recorded in a run, such as commands.
    fn apply(_: &mut Self::State, _: &mut World, _: &mut super::Outcome) {}

    /// Drops what the parameter has recorded in a run that failed. Entities that its commands would have spawned are despawned.
    fn discard(_: &mut Self::State, _: &mut World) {}
}

/// What parameters are created with: the access of the system, and its name.
#[derive(Debug)]
pub struct ParamSetup<'a> {
    /// The access, to which parameters add what they touch.
    pub access: &'a mut SystemAccess,
    /// The path of the system, if it is part of a schedule. It does not end with `@` and a number.
    pub(super) path: Option<&'a str>,
    /// The number of readers of events so far.
    pub(super) readers: usize,
}

impl ParamSetup<'_> {
    /// Creates the state of the next member of a [set](super::ParamSet).
    pub(super) fn init_set_member<P: SystemParam>(&mut self, set: SetStart, world: &mut World) -> P::State {
        self.access.begin_set_member(set);
        P::init(world, self)
    }

    /// Returns a name for the next reader of events, if the system is part of a schedule.
    pub(crate) fn reader_path(&mut self) -> Option<Arc<str>> {
        let number = self.readers;
        self.readers += 1;
        self.path.map(|path| if number == 0 { path.into() } else { format!("{path}@{number}").into() })
    }
}

macro_rules! tuple {
    ($($name:ident $number:tt)*) => {
        // SAFETY: each member declares what it touches.
        unsafe impl<$($name: SystemParam),*> SystemParam for ($($name,)*) {
            type State = ($($name::State,)*);
            type Item<'w, 's> = ($($name::Item<'w, 's>,)*);

            #[allow(unused_variables, clippy::unused_unit)]
            fn init(world: &mut World, setup: &mut ParamSetup<'_>) -> Self::State {
                ($($name::init(world, setup),)*)
            }

            #[allow(unused_variables)]
            fn update(state: &mut Self::State, world: &mut World) {
                $($name::update(&mut state.$number, world);)*
            }

            #[inline(always)]
            #[allow(unused_variables, clippy::unused_unit)]
            unsafe fn get<'w, 's>(
                state: &'s mut Self::State,
                world: &'w World,
                context: &RunContext<'w>,
            ) -> Self::Item<'w, 's> {
                // SAFETY: the contract is that of all members, whose accesses do not conflict with each other.
                ($(unsafe { $name::get(&mut state.$number, world, context) },)*)
            }

            #[inline(always)]
            #[allow(unused_variables)]
            fn apply(state: &mut Self::State, world: &mut World, outcome: &mut super::Outcome) {
                $($name::apply(&mut state.$number, world, outcome);)*
            }

            #[allow(unused_variables)]
            fn discard(state: &mut Self::State, world: &mut World) {
                // A value that panics when it is dropped must not keep those of other parameters.
                #[allow(unused_mut)]
                let mut panic = None;
                $(if let Err(payload) = catch_unwind(AssertUnwindSafe(|| $name::discard(&mut state.$number, world))) {
                    match panic {
                        None => panic = Some(payload),
                        // Its destructor may panic.
                        Some(_) => core::mem::forget(payload),
                    }
                })*
                panic.into_iter().for_each(|payload| resume_unwind(payload));
            }
        }
    };
}
tuple!();
tuple!(A 0);
tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 D 3);
tuple!(A 0 B 1 C 2 D 3 E 4);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);
