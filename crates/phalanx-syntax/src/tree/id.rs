//! The numbers that nodes are made of: each thing has its own type, and none of them can be mistaken for "none".

use core::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Kept as its index plus one, so that the word 0 means none: `Option` of it takes 4 bytes too, and no
        /// "some" is ever read as "none".
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(NonZeroU32);

        const _: () = assert!(size_of::<Option<$name>>() == 4);

        impl $name {
            /// The maximum number of ids: every index below it has one.
            pub const LIMIT: u32 = u32::MAX;

            /// Returns the id of an index, or `None` for `u32::MAX`.
            #[inline]
            pub const fn new(index: u32) -> Option<$name> {
                match NonZeroU32::new(index.wrapping_add(1)) {
                    Some(word) => Some($name(word)),
                    None => None,
                }
            }

            /// Returns the index, counted from 0.
            #[inline]
            pub const fn index(self) -> usize {
                (self.0.get() - 1) as usize
            }

            /// Returns the word that represents it in a tree. It is never 0.
            #[inline]
            pub const fn word(self) -> u32 {
                self.0.get()
            }

            /// Returns the id that a word of a tree represents, or `None` for 0.
            #[inline]
            pub const fn from_word(word: u32) -> Option<$name> {
                match NonZeroU32::new(word) {
                    Some(word) => Some($name(word)),
                    None => None,
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index())
            }
        }
    )*};
}

ids! {
    /// A node of a tree.
    NodeId;
    /// A token.
    TokenId;
    /// A text in a table of [`Names`](crate::Names).
    Name;
}

impl NodeId {
    /// The first node of a tree: by convention its root.
    pub const ROOT: NodeId = NodeId(NonZeroU32::MIN);
}
