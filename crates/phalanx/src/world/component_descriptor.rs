//! [`ComponentDescriptor`]: a component that is known only at run time.
//!
//! # Invariants
//!
//! A component of run time is described once, when it is registered. Its values are moved as bytes and dropped by its
//! destructor, like those of any other component.

use super::World;
use crate::alloc::unwrap_alloc;
use crate::change_detection::Track;
use crate::component::{Cloning, ComponentId, ComponentInfo};
use crate::few::Few;
use crate::layout::{Kind, write_bytes, write_nothing};
use core::alloc::Layout;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A component that has no type in the program: [`World::register_component_with_descriptor`].
#[derive(Clone, Debug)]
pub struct ComponentDescriptor {
    /// The name, for messages. Each name is stored once, until the process exits.
    pub name: Cow<'static, str>,
    /// The layout of a value. Its size is rounded up to its alignment.
    pub layout: Layout,
    /// The storage of the values.
    pub kind: Kind,
    /// The destructor of a value, if it needs one.
    pub drop: Option<unsafe fn(*mut u8)>,
    /// Writes a clone of the first value to the second address, if values can be cloned.
    pub clone: Option<unsafe fn(*const u8, *mut u8)>,
}

/// Returns the one copy of a name.
fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = String::from(name).leak();
    names.insert(name);
    name
}

impl ComponentDescriptor {
    /// Returns the information that a world has of the component.
    pub(crate) fn into_info(self) -> ComponentInfo {
        let layout = self.layout.pad_to_align();
        let zero_sized = layout.size() == 0;
        ComponentInfo {
            name: intern(&self.name),
            type_id: None,
            lanes: if zero_sized { Few::List(Box::default()) } else { Few::One(layout) },
            drop: self.drop,
            clone: self.clone.map(Cloning::Value),
            write: if zero_sized { write_nothing } else { write_bytes },
            visit: None,
            kind: self.kind,
            has_address: true,
            bytes: crate::plain::ByteInfo::new(crate::plain::Bytes::Unknown, ""),
            track: Track::None,
            requires: &[],
            relation: None,
            is_hidden: false,
            #[cfg(feature = "reflect")]
            reflected: None,
            rank: 0,
            usage: Default::default(),
        }
    }
}

impl World {
    /// Registers a component that has no type in the program, and returns its id. One that is known already, with the same
    /// name, layout and destructor, keeps its id.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use core::ptr::NonNull;
    /// use phalanx::layout::Kind;
    /// use phalanx::{ComponentDescriptor, World};
    ///
    /// let mut world = World::new();
    /// let layout = Layout::new::<u64>();
    /// let descriptor = ComponentDescriptor { name: "score".into(), layout, kind: Kind::Table, drop: None, clone: None };
    /// // SAFETY: numbers can be sent and shared, and need no destructor.
    /// let score = unsafe { world.register_component_with_descriptor(descriptor) };
    /// let e = world.spawn_empty();
    /// let mut value = 5_u64;
    /// // SAFETY: the value is one of the component.
    /// unsafe { world.entity_mut(e)?.insert_by_id(score, NonNull::from(&mut value).cast()) };
    /// let found = world.entity(e)?.get_by_id(score).unwrap();
    /// // SAFETY: the address is valid while the world is not changed.
    /// assert_eq!(unsafe { found.cast::<u64>().read() }, 5);
    /// # Ok::<(), phalanx::NoSuchEntity>(())
    /// ```
    ///
    /// # Safety
    ///
    /// - Values of the component may be sent to and shared with other threads. They may be moved as bytes of the layout, and
    ///   live as long as any world.
    /// - The destructor, given an aligned pointer to a value, drops it. The clone function reads the first value and writes
    ///   another to the second address.
    /// - In all worlds of the process, components of run time with the same name, layout and destructor have values of the
    ///   same type.
    ///
    /// # Panics
    ///
    /// If a value takes 4 GiB or more, or is aligned to more than 2 GiB.
    #[track_caller]
    pub unsafe fn register_component_with_descriptor(&mut self, descriptor: ComponentDescriptor) -> ComponentId {
        let layout = descriptor.layout.pad_to_align();
        assert!(
            layout.size() <= u32::MAX as usize && layout.align() <= 1 << 31,
            "a value of {} takes {} bytes, aligned to {}: more than a component can have",
            descriptor.name,
            layout.size(),
            layout.align(),
        );
        let info = descriptor.into_info();
        self.storage.components.find_run_time(&info).unwrap_or_else(|| unwrap_alloc(self.storage.components.add(info)))
    }
}
