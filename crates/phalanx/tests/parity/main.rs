//! What the test suites of other libraries ask for, said in the words of this one. Most cases run over several layouts.
//!
//! Each case is about something that users of hecs, bevy_ecs, shipyard, sparsey, EnTT, slotmap, thunderdome, soa_derive or soa-rs
//! rely on. Where Phalanx differs on purpose, the case asserts the difference, and `docs/coming-from.md` lists it.

/// Repeats tests for components of several layouts.
///
/// `A`, `B` and `C` are components with a number, `Mark` is one without data.
macro_rules! over_layouts {
    ($($(#[$option:meta])* fn $name:ident($world:ident) $body:block)*) => {
        over_layouts! { @ [$($(#[$option])* fn $name($world) $body)*]
            table [] [] [] []
            pool [layout = "pool"] [layout = "pool"] [layout = "pool"] [layout = "pool"]
            linear [layout = "linear"] [layout = "linear"] [layout = "linear"] [layout = "linear"]
            tracked [track = "row"] [track = "row"] [track = "row"] [track = "row"]
            mixed [] [layout = "pool"] [layout = "linear"] [layout = "pool"]
        }
    };
    (@ $tests:tt $($layout:ident [$($a:tt)*] [$($b:tt)*] [$($c:tt)*] [$($mark:tt)*])*) => {
        $(over_layouts! { @@ $tests $layout [$($a)*] [$($b)*] [$($c)*] [$($mark)*] })*
    };
    (@@ [$($(#[$option:meta])* fn $name:ident($world:ident) $body:block)*]
        $layout:ident [$($a:tt)*] [$($b:tt)*] [$($c:tt)*] [$($mark:tt)*]) => {
        mod $layout {
            #[allow(unused_imports)]
            use super::*;

            #[derive(Component, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
            #[component(clone, $($a)*)]
            pub(super) struct A(pub(super) u32);
            #[derive(Component, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
            #[component(clone, $($b)*)]
            pub(super) struct B(pub(super) u32);
            #[derive(Component, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
            #[component(clone, $($c)*)]
            #[allow(dead_code)]
            pub(super) struct C(pub(super) u32);
            #[derive(Component, Clone, Debug, PartialEq, Default)]
            #[component(clone, $($mark)*)]
            #[allow(dead_code)]
            pub(super) struct Mark;

            $(
                #[test]
                #[allow(unused_mut)]
                $(#[$option])*
                fn $name() {
                    let mut $world = World::new();
                    $body
                    assert_eq!($world.validate(), Ok(()));
                }
            )*
        }
    };
}

mod bevy;
mod containers;
mod entt;
mod hecs;
mod shipyard;
