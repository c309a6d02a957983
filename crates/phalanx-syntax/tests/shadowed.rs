//! `kinds!` compiles where the user has names of the standard library for something else.

/// Names that hide those of the standard library.
#[allow(dead_code, non_camel_case_types, non_snake_case, unreachable_pub)]
mod names {
    macro_rules! types {
        ($($name:ident)*) => { $(pub struct $name {})* };
    }
    types! { bool str u8 u32 u64 usize Option Result Vec Extra Layout Malformed NodeId }

    macro_rules! traits {
        ($($name:ident)*) => { $(pub trait $name {})* };
    }
    traits! { Clone Copy Debug Default Eq Field From Hash Into Iterator Kind Ord PartialEq PartialOrd Payload Sized }

    macro_rules! functions {
        ($($name:ident)*) => { $(pub fn $name() {})* };
    }
    functions! { Some None Ok Err drop size_of }

    /// Methods that are found before those that borrow.
    pub trait Methods: ::core::marker::Sized {
        fn field(self) {}
        fn finish(self) {}
        fn get_kind(self) {}
        fn len(self) {}
        fn list(self) {}
        fn ok_or(self) {}
        fn payload(self) {}
        fn word(self) {}
    }
    impl<T> Methods for T {}
}

macro_rules! hide {
    ($d:tt $($name:ident)*) => { $(
        #[allow(unused_macros)]
        macro_rules! $name { ($d($d _t:tt)*) => { compile_error!("`kinds!` calls a macro of the user") } }
    )* };
}

#[allow(dead_code, unreachable_pub, unused_imports)]
mod hidden {
    use super::names::*;

    hide! { $ assert concat debug_assert matches panic stringify unreachable vec }

    mod core {}
    mod phalanx_syntax {}
    mod std {}

    ::phalanx_syntax::kinds! {
        /// A sum.
        pub enum Sum in sum as SumView {
            /// Not yet read.
            Pending {},
            /// Not to be read.
            Wrong {},
            /// A number.
            Number { value: ::core::primitive::u64 },
            /// A sum.
            Total<'t> { terms: ::phalanx_syntax::List<'t>, last: ::core::option::Option<::phalanx_syntax::NodeId> },
        }
    }
}

#[test]
fn kinds_do_what_they_say_where_names_are_hidden() {
    use hidden::{Sum, SumView, sum};
    use phalanx_syntax::{Pile, Span, Tree};
    let mut tree = Tree::<Sum>::new();
    let one = tree.alloc(Span::new(0, 1), sum::Number { value: 1 }).unwrap();
    let terms: Pile = [one].into_iter().collect();
    let total = tree.alloc(Span::new(0, 2), sum::Total { terms: terms.list(), last: None }).unwrap();
    assert!(matches!(SumView::of(&tree, total), Ok(SumView::Total(total)) if total.terms.len() == 1));
    assert!(matches!(SumView::of(&tree, one), Ok(SumView::Number(number)) if number.value == 1));
}
