//! [`Effects`]: what happens outside of the world, delivered once.

use core::fmt;
use phalanx::World;
use std::collections::VecDeque;

/// The effects of one type that frames have, such as sounds. It is a resource of the world of a [`Rollback`](crate::Rollback).
///
/// The simulation [sends](Effects::send) effects. The program outside [drains](Effects::drain) what is new. A frame that is
/// simulated again and sends an equal effect delivers nothing. An effect that it does not repeat is retracted.
///
/// ```
/// use phalanx::World;
/// use phalanx_rollback::{Effect, Effects, Rollback};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Sound(&'static str);
///
/// fn simulate(world: &mut World, is_hit: &bool) {
///     if *is_hit {
///         world.resource_mut::<Effects<Sound>>().unwrap().send(Sound("hit"));
///     }
/// }
///
/// let mut game = Rollback::new(World::new(), 8)?.with_effects::<Sound>();
/// game.advance(&true, simulate)?;
/// assert_eq!(game.drain::<Sound>(), [Effect::Play { frame: 0, effect: Sound("hit") }]);
/// // The same again: it was heard.
/// game.load(0)?;
/// game.advance(&true, simulate)?;
/// assert_eq!(game.drain::<Sound>(), []);
/// // The input was another one.
/// game.load(0)?;
/// game.advance(&false, simulate)?;
/// assert_eq!(game.drain::<Sound>(), [Effect::Retract { frame: 0, effect: Sound("hit") }]);
/// # Ok::<(), phalanx_rollback::RollbackError>(())
/// ```
#[derive(Clone)]
pub struct Effects<E> {
    /// The effects of the frame that is simulated.
    sent: Vec<E>,
    /// The frames that may be simulated again, each with the effects that were delivered for it.
    delivered: VecDeque<(u64, Vec<E>)>,
    /// What was not drained yet.
    changes: Vec<Effect<E>>,
}

/// What a program outside of the world does about an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<E> {
    /// The effect happens, in a frame.
    Play {
        /// The frame whose simulation sent the effect.
        frame: u64,
        /// The effect.
        effect: E,
    },
    /// The effect was delivered before, and did not happen after all.
    Retract {
        /// The frame whose simulation had sent the effect.
        frame: u64,
        /// The effect.
        effect: E,
    },
}

impl<E: Clone + PartialEq + Send + Sync + 'static> Effects<E> {
    /// Creates effects of no frames.
    pub fn new() -> Effects<E> {
        Effects { sent: Vec::new(), delivered: VecDeque::new(), changes: Vec::new() }
    }

    /// Sends an effect of the frame that is simulated.
    pub fn send(&mut self, effect: E) {
        self.sent.push(effect);
    }

    /// Removes and returns what is new: effects to play, and effects to retract, in the order in which frames ended.
    pub fn drain(&mut self) -> Vec<Effect<E>> {
        core::mem::take(&mut self.changes)
    }

    /// Discards what an interrupted simulation has sent.
    fn begin(&mut self) {
        self.sent.clear();
    }

    /// Ends the simulation of a frame. Frames before `oldest` are not simulated again.
    fn end(&mut self, frame: u64, oldest: u64) {
        let mut sent = core::mem::take(&mut self.sent);
        let at = self.delivered.partition_point(|(number, _)| *number < frame);
        let mut before = Vec::new();
        if let Some((_, list)) = self.delivered.get_mut(at).filter(|(number, _)| *number == frame) {
            before = core::mem::take(list);
            *list = sent.clone();
        } else {
            self.delivered.insert(at, (frame, sent.clone()));
        }
        // Equal effects are matched one to one.
        for effect in before {
            match sent.iter().position(|other| *other == effect) {
                Some(found) => drop(sent.remove(found)),
                None => self.changes.push(Effect::Retract { frame, effect }),
            }
        }
        self.changes.extend(sent.into_iter().map(|effect| Effect::Play { frame, effect }));
        while self.delivered.front().is_some_and(|(number, _)| *number < oldest) {
            self.delivered.pop_front();
        }
    }
}

impl<E: Clone + PartialEq + Send + Sync + 'static> Default for Effects<E> {
    fn default() -> Self {
        Effects::new()
    }
}

impl<E> fmt::Debug for Effects<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Effects({} sent, {} new)", self.sent.len(), self.changes.len())
    }
}

/// Begins and ends the frames of the effects of one type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectType {
    pub(crate) name: &'static str,
    pub(crate) begin: fn(&mut World),
    pub(crate) end: fn(&mut World, u64, u64),
}

impl EffectType {
    pub(crate) fn new<E: Clone + PartialEq + Send + Sync + 'static>() -> EffectType {
        EffectType {
            name: core::any::type_name::<Effects<E>>(),
            begin: |world| {
                if let Ok(mut effects) = world.resource_mut::<Effects<E>>() {
                    effects.begin();
                }
            },
            end: |world, frame, oldest| {
                if let Ok(mut effects) = world.resource_mut::<Effects<E>>() {
                    effects.end(frame, oldest);
                }
            },
        }
    }
}
