//! [`Relations`] as a parameter of systems.
#![allow(unsafe_code)]

use super::{Relation, Relations};
use crate::system::{ParamSetup, RunContext, SystemParam};
use crate::world::World;

// SAFETY: it reads links, and which entities are alive. Both change only while the world is borrowed exclusively.
unsafe impl<R: Relation> SystemParam for Relations<'_, R> {
    type State = ();
    type Item<'w, 's> = Relations<'w, R>;

    fn init(_: &mut World, setup: &mut ParamSetup<'_>) {
        setup.access.add_relation::<R>();
    }

    #[inline(always)]
    unsafe fn get<'w>(_: &mut (), world: &'w World, _: &RunContext<'w>) -> Relations<'w, R> {
        Relations::new(&world.storage)
    }
}
