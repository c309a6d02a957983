//! [`Rollback`]: a world and its last frames.

use crate::effects::{Effect, EffectType, Effects};
use crate::error::RollbackError;
use core::fmt;
use phalanx::World;
use phalanx::timeline::{Checkpoint, FrameSums, Timeline};

/// A world and its last frames. See the [crate](crate).
///
/// Frame 0 is the world as it was given. The simulation of frame `n` leads to frame `n + 1`.
pub struct Rollback {
    world: World,
    timeline: Timeline,
    /// The number of the first frame that the timeline captured.
    first: u64,
    effects: Vec<EffectType>,
}

impl Rollback {
    /// Creates a rollback of a world, which can go back by at most `window` frames.
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::Timeline`] if the world cannot be captured: a component can be neither cloned nor copied, or
    /// allocation fails.
    pub fn new(mut world: World, window: usize) -> Result<Rollback, RollbackError> {
        let mut timeline = Timeline::with_sums(window);
        timeline.capture(&mut world)?;
        Ok(Rollback { world, timeline, first: 0, effects: Vec::new() })
    }

    /// Delivers effects of a type. The world gets the resource [`Effects<E>`](Effects).
    pub fn with_effects<E: Clone + PartialEq + Send + Sync + 'static>(mut self) -> Rollback {
        self.world.insert_resource(Effects::<E>::new());
        self.effects.push(EffectType::new::<E>());
        self
    }

    /// Keeps a resource: frames have it from now on, and a [`load`](Rollback::load) restores it.
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::Timeline`] if the present frame cannot be captured again.
    pub fn keep<R: Clone + Send + Sync + 'static>(mut self) -> Result<Rollback, RollbackError> {
        self.world.resources_mut().keep::<R>();
        // The earlier frames do not have it.
        let frame = self.frame();
        self.at_frame(frame)
    }

    /// Sets the number of the present frame. Earlier frames are dropped.
    ///
    /// A game that continues from a snapshot has the frame numbers of the game that saved it.
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::Timeline`] if the present frame cannot be captured again.
    pub fn at_frame(mut self, frame: u64) -> Result<Rollback, RollbackError> {
        self.timeline.detach(&mut self.world);
        self.timeline.capture(&mut self.world)?;
        self.first = frame;
        Ok(self)
    }

    /// Returns the world, in the present frame.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the world, for changes that are not part of the simulation.
    ///
    /// They become part of the frame that is simulated next. A [`load`](Rollback::load) discards them.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Returns the world.
    pub fn into_world(self) -> World {
        self.world
    }

    /// Returns the present frame: the number of simulated frames that were not undone.
    pub fn frame(&self) -> u64 {
        self.first + self.timeline.frame().unwrap_or(0)
    }

    /// Returns the oldest frame that can be [loaded](Rollback::load).
    pub fn oldest(&self) -> u64 {
        self.frame() - self.timeline.len() as u64
    }

    /// Simulates a frame and captures the result.
    ///
    /// If `simulate` panics, the frame is not captured. [`load`](Rollback::load) of the present frame undoes what it has done.
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::Timeline`] if the frame cannot be captured. The world is simulated then.
    pub fn advance<I: ?Sized>(
        &mut self,
        inputs: &I,
        simulate: impl FnOnce(&mut World, &I),
    ) -> Result<(), RollbackError> {
        let frame = self.frame();
        self.effects.iter().for_each(|effect| (effect.begin)(&mut self.world));
        simulate(&mut self.world, inputs);
        self.timeline.capture(&mut self.world)?;
        let oldest = self.oldest();
        self.effects.iter().for_each(|effect| (effect.end)(&mut self.world, frame, oldest));
        Ok(())
    }

    /// Goes back to a frame. Later frames are dropped, and are simulated again by [`advance`](Rollback::advance).
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::NoSuchFrame`] if the frame is not kept, or [`RollbackError::Timeline`] if allocation fails or a
    /// kept resource is taken out by a scope. The world is unchanged then.
    pub fn load(&mut self, frame: u64) -> Result<(), RollbackError> {
        let back = self.frames_back(frame)?;
        self.timeline.rewind(&mut self.world, back)?;
        Ok(())
    }

    /// Returns the sums of the present frame.
    pub fn sums(&self) -> &FrameSums {
        match self.timeline.sums(0) {
            Some(sums) => sums,
            None => unreachable!("a frame was captured, with sums"),
        }
    }

    /// Returns the sums of a frame, or `None` if it is not kept.
    pub fn sums_of(&self, frame: u64) -> Option<&FrameSums> {
        self.timeline.sums(self.frames_back(frame).ok()?)
    }

    /// Returns a frame as a checkpoint, which is kept until it is dropped. See [`Timeline::pin`].
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::NoSuchFrame`] if the frame is not kept, or [`RollbackError::Timeline`] if allocation fails.
    pub fn pin(&self, frame: u64) -> Result<Checkpoint, RollbackError> {
        Ok(self.timeline.pin(&self.world, self.frames_back(frame)?)?)
    }

    /// Returns a world in the state of a frame, to look at it without going back. See [`Timeline::at`].
    ///
    /// # Errors
    ///
    /// Returns [`RollbackError::NoSuchFrame`] if the frame is not kept, or [`RollbackError::Timeline`] if allocation fails.
    pub fn at(&self, frame: u64) -> Result<World, RollbackError> {
        Ok(self.timeline.at(&self.world, self.frames_back(frame)?)?)
    }

    /// Returns the way from the frame before the present one to the present one, as bytes. See [`Timeline::step`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Timeline::step`].
    pub fn step(&self) -> Result<Option<Vec<u8>>, phalanx::timeline::DeltaError> {
        self.timeline.step(&self.world, 0)
    }

    /// Removes and returns the [effects](Effects) of a type to play and to retract since the last call.
    pub fn drain<E: Clone + PartialEq + Send + Sync + 'static>(&mut self) -> Vec<Effect<E>> {
        self.world.resource_mut::<Effects<E>>().map_or(Vec::new(), |mut effects| effects.drain())
    }

    /// Returns the type names of the resources that a [`load`](Rollback::load) does not restore, in alphabetical order.
    pub fn unrestored(&self) -> Vec<&'static str> {
        let is_effect = |name: &&'static str| self.effects.iter().any(|effect| effect.name == *name);
        self.timeline.uncovered_resources(&self.world).filter(|name| !is_effect(name)).collect()
    }

    fn frames_back(&self, frame: u64) -> Result<usize, RollbackError> {
        let none = RollbackError::NoSuchFrame { frame, oldest: self.oldest(), present: self.frame() };
        frame.checked_sub(self.first).and_then(|frame| self.timeline.frames_back(frame)).ok_or(none)
    }
}

impl fmt::Debug for Rollback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rollback(frames {} to {})", self.oldest(), self.frame())
    }
}
