//! `&World` as a parameter of systems.
#![allow(unsafe_code)]

use super::{ParamSetup, RunContext, SystemParam};
use crate::world::World;

// SAFETY: it declares that everything may be read.
unsafe impl SystemParam for &World {
    type State = ();
    type Item<'w, 's> = &'w World;

    fn init(_: &mut World, setup: &mut ParamSetup<'_>) {
        setup.access.add_world("&World");
    }

    #[inline(always)]
    unsafe fn get<'w>(_: &mut (), world: &'w World, _: &RunContext<'w>) -> &'w World {
        world
    }
}
