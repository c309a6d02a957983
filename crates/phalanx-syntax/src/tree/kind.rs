//! Kinds of nodes, and the table that declares them.

use super::field::{Field, Shape};
use super::store::Extra;
use super::{Full, Malformed};
use core::fmt::Debug;

/// The kinds of nodes of a language: an enum of one byte, made by [`kinds!`](crate::kinds).
pub trait Kind: Copy + Eq + Debug + Send + Sync + 'static {
    /// Every kind, in the order of the table: the one at index `n` has the byte `n`.
    const ALL: &'static [Self];
    /// The kind of a node that was reserved and has no content yet: the first of the table.
    const RESERVED: Self;
    /// The kind of error nodes, which cover source that could not be parsed: the second of the table.
    const ERROR: Self;

    /// Returns its index in the table.
    fn index(self) -> u8;
    /// Returns the fields of its nodes, and where they are stored.
    fn layout(self) -> &'static Layout;

    /// Returns the kind with this index.
    fn from_index(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).copied()
    }

    /// Returns its name in the table.
    fn name(self) -> &'static str {
        self.layout().name
    }
}

/// The fields of the nodes of a kind, and where they are stored.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The name of the kind.
    pub name: &'static str,
    /// The fields in the order of the table, which is source order.
    pub fields: &'static [FieldInfo],
    /// Where they are stored.
    pub form: Form,
    /// The number of words of the fields other than lists.
    pub words: usize,
    /// The number of fields that are lists, of nodes or of pairs.
    pub lists: usize,
}

/// One field in a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Its name in the table.
    pub name: &'static str,
    /// How its words are read.
    pub shape: Shape,
}

/// Where the fields of a kind are stored. It follows from the fields alone, so each kind has one encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing but two words at most: in the node itself.
    Inline,
    /// One list and nothing else: the node has the start of the list in `extra`, and its length.
    Range,
    /// The first word in the node; beside it the place in `extra` of the other words, followed by the lists, each with
    /// its length before it.
    Record,
}

impl Layout {
    /// Creates the layout of a kind with these fields.
    pub const fn new(name: &'static str, fields: &'static [FieldInfo]) -> Layout {
        let (mut words, mut lists, mut at) = (0, 0, 0);
        while at < fields.len() {
            words += fields[at].shape.words();
            lists += fields[at].shape.is_list() as usize;
            at += 1;
        }
        let form = match (words, lists) {
            (0..=2, 0) => Form::Inline,
            (0, 1) => Form::Range,
            _ => Form::Record,
        };
        Layout { name, fields, form, words, lists }
    }

    /// Returns `true` if a field can hold children.
    pub fn has_children(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.shape, Shape::Node | Shape::OptNode) || field.shape.is_list())
    }
}

/// The content of a node of one kind: a struct made by [`kinds!`](crate::kinds).
pub trait Payload<'t>: Copy {
    /// The kinds it belongs to.
    type Kind: Kind;
    /// Its own kind.
    const KIND: Self::Kind;
    /// What it has.
    const FIELDS: &'static [FieldInfo];
    /// What it has, and where that is kept.
    const LAYOUT: &'static Layout;

    /// Returns its two words, and appends the rest to `extra`.
    #[doc(hidden)]
    fn encode(self, extra: &mut Extra) -> Result<[u32; 2], Full>;
    /// Decodes two words and `extra`, in a tree of `nodes` nodes.
    #[doc(hidden)]
    fn decode(data: [u32; 2], extra: &'t [u32], nodes: usize) -> Result<Self, Malformed>;
}

/// Encodes the fields of one node as words. Used by the code that [`kinds!`](crate::kinds) generates.
#[doc(hidden)]
#[derive(Debug)]
pub struct Encoder {
    data: [u32; 2],
    at: usize,
}

#[allow(missing_docs, clippy::missing_errors_doc)]
impl Encoder {
    #[inline(always)]
    pub fn begin(layout: &'static Layout, listed: usize, extra: &mut Extra) -> Result<Encoder, Full> {
        let need = match layout.form {
            Form::Inline => return Ok(Encoder { data: [0; 2], at: 0 }),
            Form::Range => listed,
            Form::Record => layout.words.saturating_sub(1) + layout.lists + listed,
        };
        let start = extra.make_room(need)?;
        Ok(match layout.form {
            Form::Range => Encoder { data: [start, listed as u32], at: 0 },
            _ => Encoder { data: [0, start], at: 0 },
        })
    }

    #[inline(always)]
    pub fn word<'t, F: Field<'t>>(&mut self, layout: &'static Layout, field: F, extra: &mut Extra) {
        let words = field.words();
        for &word in &words[..F::SHAPE.words()] {
            match layout.form {
                Form::Inline => self.data[self.at] = word,
                _ if self.at == 0 => self.data[0] = word,
                _ => extra.put(word),
            }
            self.at += 1;
        }
    }

    #[inline(always)]
    pub fn list<'t, F: Field<'t>>(&mut self, layout: &'static Layout, field: F, extra: &mut Extra) {
        if F::SHAPE.is_list() {
            if let Form::Record = layout.form {
                extra.put(field.list().len() as u32);
            }
            extra.put_all(field.list());
        }
    }

    #[inline(always)]
    pub fn finish(self) -> [u32; 2] {
        self.data
    }
}

/// Reads the words of one node, field by field: the one decoder under views, children, dumps and checks.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Decoder<'t> {
    form: Form,
    data: [u32; 2],
    /// How many words of the fields have been read.
    at: usize,
    /// The words after the first, in a record.
    rest: &'t [u32],
    /// What follows them: the lists that have not been read.
    lists: &'t [u32],
}

#[allow(missing_docs, clippy::missing_errors_doc)]
impl<'t> Decoder<'t> {
    #[inline]
    pub fn new(layout: &Layout, data: [u32; 2], extra: &'t [u32]) -> Result<Decoder<'t>, Malformed> {
        let (rest, lists): (&[u32], &[u32]) = match layout.form {
            Form::Inline => (&[], &[]),
            Form::Range => {
                let start = data[0] as usize;
                let list = start.checked_add(data[1] as usize).and_then(|end| extra.get(start..end));
                (&[], list.ok_or(Malformed::OutsideExtra)?)
            }
            Form::Record => extra
                .get(data[1] as usize..)
                .and_then(|tail| tail.split_at_checked(layout.words.saturating_sub(1)))
                .ok_or(Malformed::OutsideExtra)?,
        };
        Ok(Decoder { form: layout.form, data, at: 0, rest, lists })
    }

    /// Returns the words of the next field, which must not be a list or pairs.
    #[inline]
    pub fn words(&mut self, shape: Shape) -> [u32; 2] {
        let mut words = [0; 2];
        for word in &mut words[..shape.words()] {
            *word = match (self.form, self.at) {
                (Form::Inline, at) => self.data.get(at).copied().unwrap_or(0),
                (_, 0) => self.data[0],
                (_, at) => self.rest.get(at - 1).copied().unwrap_or(0),
            };
            self.at += 1;
        }
        words
    }

    /// Returns the words of the next list.
    #[inline]
    pub fn list(&mut self) -> Result<&'t [u32], Malformed> {
        let (list, after) = match self.form {
            Form::Record => {
                let (&len, tail) = self.lists.split_first().ok_or(Malformed::OutsideExtra)?;
                tail.split_at_checked(len as usize).ok_or(Malformed::OutsideExtra)?
            }
            _ => (self.lists, Default::default()),
        };
        self.lists = after;
        Ok(list)
    }

    /// Returns the next field, of a known type.
    #[inline(always)]
    pub fn field<F: Field<'t>>(&mut self, nodes: usize) -> Result<F, Malformed> {
        let (words, list) = match F::SHAPE.is_list() {
            true => ([0; 2], self.list()?),
            false => (self.words(F::SHAPE), Default::default()),
        };
        F::read(words, list, nodes).ok_or(Malformed::Word)
    }
}

/// Declares the kinds of nodes of a language, and with them everything a tree can do.
///
/// Each line is a kind, its documentation, and the fields of its nodes, in source order. The types of fields
/// are [`NodeId`](crate::NodeId), `Option<NodeId>`, [`List`](crate::List), [`Pairs`](crate::Pairs),
/// [`TokenId`](crate::TokenId), [`Name`](crate::Name), `Option<Name>`, `u32`, `char`, `u64` and `f64`. A kind with a list or
/// pairs has the lifetime `'t`. The first kind is that of reserved nodes, the second that of errors; neither has fields.
///
/// The table makes an enum of the kinds, a struct for each kind in a module of its own, and an enum of views that has
/// them all, so that a `match` on it is exhaustive. Allocation, decoding, children, walks, dumps, comparison, checks and
/// merging follow from it.
///
/// ```
/// use phalanx_syntax::{List, NodeId, Pile, Span, Tree, kinds};
///
/// kinds! {
///     /// The kinds of a language of sums.
///     pub enum SumKind in sum as SumView {
///         /// A node without content yet.
///         Hole {},
///         /// What could not be read.
///         Bad {},
///         /// A number.
///         Number { value: u64 },
///         /// `a + b + …`
///         Sum<'t> { terms: List<'t> },
///         /// `-a`
///         Minus { operand: NodeId },
///     }
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut tree = Tree::new();
///     let one = tree.alloc(Span::new(0, 1), sum::Number { value: 1 })?;
///     let two = tree.alloc(Span::new(5, 6), sum::Number { value: 2 })?;
///     let minus = tree.alloc(Span::new(4, 6), sum::Minus { operand: two })?;
///     let terms: Pile = [one, minus].into_iter().collect();
///     let total = tree.alloc(Span::new(0, 6), sum::Sum { terms: terms.list() })?;
///
///     match SumView::of(&tree, total)? {
///         SumView::Sum(sum) => assert_eq!(sum.terms.len(), 2),
///         other => panic!("{other:?}"),
/// }
///     assert_eq!(tree.children(total).collect::<Vec<_>>(), [one, minus]);
///     assert_eq!(tree.count_kind(SumKind::Number), 2);
///     Ok(())
/// }
/// ```
#[macro_export]
macro_rules! kinds {
    (
        $(#[$meta:meta])*
        $vis:vis enum $enum:ident in $module:ident as $view:ident {
            $(#[$rdoc:meta])* $reserved:ident {},
            $(#[$edoc:meta])* $error:ident {},
            $(
                $(#[$doc:meta])*
                $kind:ident $(<$life:lifetime>)? { $($(#[$fdoc:meta])* $field:ident: $type:ty),* $(,)? }
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::hash::Hash)]
        #[derive(::core::cmp::PartialEq, ::core::cmp::Eq, ::core::cmp::PartialOrd, ::core::cmp::Ord)]
        #[repr(u8)]
        $vis enum $enum {
            $(#[$rdoc])* $reserved,
            $(#[$edoc])* $error,
            $($(#[$doc])* $kind,)*
        }

        const _: () = ::core::assert!(::core::mem::size_of::<$enum>() == 1);

        impl $crate::Kind for $enum {
            const ALL: &'static [Self] = &[$enum::$reserved, $enum::$error, $($enum::$kind),*];
            const RESERVED: Self = $enum::$reserved;
            const ERROR: Self = $enum::$error;

            #[inline]
            fn index(self) -> ::core::primitive::u8 {
                self as ::core::primitive::u8
            }

            #[inline]
            fn layout(self) -> &'static $crate::Layout {
                static LAYOUTS: &[$crate::Layout] = &[
                    $crate::Layout::new(::core::stringify!($reserved), &[]),
                    $crate::Layout::new(::core::stringify!($error), &[]),
                    $(*<$module::$kind as $crate::Payload>::LAYOUT,)*
                ];
                &LAYOUTS[self as ::core::primitive::usize]
            }
        }

        #[doc = ::core::concat!("What the nodes of each kind of [`", ::core::stringify!($enum), "`] have.")]
        $vis mod $module {
            #[allow(unused_imports)]
            use super::*;

            $crate::kinds!(@payload $enum $(#[$edoc])* $error {});
            $($crate::kinds!(@payload $enum $(#[$doc])* $kind $(<$life>)? { $($(#[$fdoc])* $field: $type),* });)*
        }

        #[doc = ::core::concat!("A node of any kind of [`", ::core::stringify!($enum), "`], decoded.")]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::cmp::PartialEq)]
        $vis enum $view<'t> {
            $(#[$edoc])* $error($module::$error),
            $($(#[$doc])* $kind($module::$kind $(<$life>)?),)*
            #[doc(hidden)]
            __Lifetime(::core::convert::Infallible, ::core::marker::PhantomData<&'t ()>),
        }

        impl<'t> $view<'t> {
            /// Decodes a node.
            ///
            /// # Errors
            ///
            /// If it was reserved and never set, is not in the tree, or its words mean nothing.
            #[allow(dead_code)]
            $vis fn of(
                tree: &'t $crate::Tree<$enum>,
                id: $crate::NodeId,
            ) -> ::core::result::Result<$view<'t>, $crate::Malformed> {
                ::core::result::Result::Ok(match tree.get_kind(id).ok_or($crate::Malformed::NoSuchNode)? {
                    $enum::$reserved => return ::core::result::Result::Err($crate::Malformed::Reserved),
                    $enum::$error => $view::$error(tree.payload(id)?),
                    $($enum::$kind => $view::$kind(tree.payload(id)?),)*
                })
            }
        }
    };

    (@payload $enum:ident $(#[$doc:meta])* $kind:ident $(<$life:lifetime>)? {
        $($(#[$fdoc:meta])* $field:ident: $type:ty),*
    }) => {
        $(#[$doc])*
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::cmp::PartialEq)]
        #[allow(missing_docs)]
        pub struct $kind $(<$life>)? { $($(#[$fdoc])* pub $field: $type,)* }

        impl<'t> $crate::Payload<'t> for $crate::kinds!(@type $kind $(<$life>)?) {
            type Kind = $enum;
            const KIND: $enum = $enum::$kind;
            const FIELDS: &'static [$crate::FieldInfo] =
                &[$($crate::FieldInfo {
                    name: ::core::stringify!($field),
                    shape: <$type as $crate::Field>::SHAPE,
                },)*];
            const LAYOUT: &'static $crate::Layout = &$crate::Layout::new(::core::stringify!($kind), Self::FIELDS);

            #[inline(always)]
            #[allow(unused_mut, unused_variables)]
            fn encode(
                self,
                extra: &mut $crate::Extra,
            ) -> ::core::result::Result<[::core::primitive::u32; 2], $crate::Full> {
                let listed = 0 $(+ $crate::Field::list(self.$field).len())*;
                let mut encoder = $crate::Encoder::begin(Self::LAYOUT, listed, extra)?;
                $($crate::Encoder::word(&mut encoder, Self::LAYOUT, self.$field, extra);)*
                $($crate::Encoder::list(&mut encoder, Self::LAYOUT, self.$field, extra);)*
                ::core::result::Result::Ok($crate::Encoder::finish(encoder))
            }

            #[inline]
            #[allow(unused_mut, unused_variables)]
            fn decode(
                data: [::core::primitive::u32; 2],
                extra: &'t [::core::primitive::u32],
                nodes: ::core::primitive::usize,
            ) -> ::core::result::Result<Self, $crate::Malformed> {
                let mut decoder = $crate::Decoder::new(Self::LAYOUT, data, extra)?;
                ::core::result::Result::Ok($kind { $($field: $crate::Decoder::field(&mut decoder, nodes)?,)* })
            }
        }
    };
    (@type $kind:ident) => { $kind };
    (@type $kind:ident <$life:lifetime>) => { $kind<'t> };
}
