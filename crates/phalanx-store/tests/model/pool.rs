//! The entity pool against words and a stack.

use super::op::{Kind, Op, Subject};
use phalanx_store::{Entity, EntityPool, SlotState};
use phalanx_testkit::Tally;
use std::collections::HashSet;

/// [`EntityPool`]. Reservations are a number of entries at the top of the stack and a number of new slots.
pub struct Pool {
    pool: EntityPool,
    /// The generation of each slot, and whether an entity of that generation is alive.
    words: Vec<(u32, bool)>,
    stack: Vec<u32>,
    recycled: usize,
    fresh: usize,
    /// Every entity that was alive or reserved.
    ever: HashSet<Entity>,
}

fn entity(index: usize, generation: u32) -> Entity {
    Entity::from_bits(u64::from(generation) << 32 | index as u64).expect("an index and a generation")
}

impl Pool {
    fn alive(&self) -> Vec<Entity> {
        let words = self.words.iter().enumerate();
        words.filter(|(_, (_, alive))| *alive).map(|(index, (generation, _))| entity(index, *generation)).collect()
    }

    /// Takes the next slot and makes it alive.
    fn next(&mut self) -> Entity {
        match self.stack.pop() {
            Some(index) => {
                let word = &mut self.words[index as usize];
                word.1 = true;
                entity(index as usize, word.0)
            }
            None => {
                self.words.push((0, true));
                entity(self.words.len() - 1, 0)
            }
        }
    }

    /// Makes what was reserved alive, and lists it.
    fn flush(&mut self) -> Vec<Entity> {
        let mut all = self.settle();
        for _ in 0..std::mem::take(&mut self.fresh) {
            self.words.push((0, true));
            all.push(entity(self.words.len() - 1, 0));
        }
        all
    }

    /// Makes alive what was reserved and needs no new slot.
    fn settle(&mut self) -> Vec<Entity> {
        (0..std::mem::take(&mut self.recycled)).map(|_| self.next()).collect()
    }

    fn end(&mut self, entity: Entity) {
        self.settle();
        self.words[entity.index() as usize] = (entity.generation() + 1, false);
        self.stack.push(entity.index());
    }

    fn made(&mut self, entity: Entity, expected: Entity) {
        assert_eq!(entity, expected);
        assert!(self.ever.insert(entity), "{entity:?} was made twice");
    }

    /// An entity that ever was, mostly an alive one.
    fn choose(&self, pick: u32) -> Option<Entity> {
        let mut choice = self.alive();
        if pick.is_multiple_of(4) || choice.is_empty() {
            choice = self.ever.iter().copied().collect();
            choice.sort();
        }
        (!choice.is_empty()).then(|| choice[pick as usize / 4 % choice.len()])
    }

    fn release(&mut self, entity: Entity) -> bool {
        let alive = self.alive().contains(&entity);
        assert_eq!(self.pool.contains(entity), alive);
        assert_eq!(self.pool.release(entity), alive, "{entity:?}");
        if alive {
            self.end(entity);
        }
        alive
    }
}

impl Subject for Pool {
    fn new(flavour: u64) -> Self {
        let pool = if flavour.is_multiple_of(2) {
            EntityPool::new()
        } else {
            EntityPool::with_capacity(flavour as usize % 50)
        };
        Pool { pool, words: Vec::new(), stack: Vec::new(), recycled: 0, fresh: 0, ever: HashSet::new() }
    }

    fn apply(&mut self, op: Op, _: &Tally) {
        match op.kind {
            Kind::Insert => {
                self.flush();
                let (found, expected) = (self.pool.alloc(), self.next());
                self.made(found, expected);
            }
            Kind::TryInsert => {
                self.flush();
                let (found, expected) = (self.pool.try_alloc().expect("memory enough"), self.next());
                self.made(found, expected);
            }
            Kind::Extend | Kind::FromIter => {
                self.flush();
                let count = op.count(20);
                let made: Vec<Entity> = match op.kind {
                    Kind::Extend => self.pool.alloc_many(count).collect(),
                    _ => self.pool.try_alloc_many(count).expect("memory enough").collect(),
                };
                assert_eq!(made.len(), count);
                for found in made {
                    let expected = self.next();
                    self.made(found, expected);
                }
                assert!(self.pool.try_alloc_many(usize::MAX).is_err());
            }
            Kind::InsertWithKey | Kind::Entry | Kind::Disjoint => {
                let expected = match self.stack.len().checked_sub(self.recycled + 1) {
                    Some(at) => {
                        self.recycled += 1;
                        entity(self.stack[at] as usize, self.words[self.stack[at] as usize].0)
                    }
                    None => {
                        self.fresh += 1;
                        entity(self.words.len() + self.fresh - 1, 0)
                    }
                };
                let found = match op.kind {
                    Kind::Entry => self.pool.try_reserve_entity().expect("indices enough"),
                    _ => self.pool.reserve_entity(),
                };
                self.made(found, expected);
                assert!(!self.pool.contains(found), "reserved is not alive");
                assert!(!self.pool.release(found), "and cannot be released");
            }
            Kind::CompactSome | Kind::Compact | Kind::DrainAll => {
                let expected = self.flush();
                let flushed = match op.kind {
                    Kind::Compact => self.pool.try_flush().expect("memory enough"),
                    _ => self.pool.flush(),
                };
                assert_eq!((flushed.len(), flushed.clone().count()), (expected.len(), expected.len()));
                assert!(flushed.eq(expected));
                assert_eq!(self.pool.flush().next(), None);
            }
            Kind::Remove | Kind::SwapRemove | Kind::ShiftRemove | Kind::MarkRemoved => {
                let Some(entity) = self.choose(op.pick) else { return };
                self.release(entity);
                assert!(!self.pool.release(entity), "released twice");
            }
            Kind::Retain => {
                let mut chosen: Vec<Entity> =
                    (0..op.count(10) as u32).filter_map(|i| self.choose(op.pick.rotate_left(i))).collect();
                chosen.extend(chosen.first().copied());
                let mut expected = 0;
                for entity in &chosen {
                    if self.alive().contains(entity) {
                        self.end(*entity);
                        expected += 1;
                    }
                }
                assert_eq!(self.pool.release_many(chosen), expected);
            }
            Kind::Clear => {
                self.flush();
                self.pool.clear();
                self.stack.clear();
                for (index, word) in self.words.iter_mut().enumerate().rev() {
                    *word = (word.0 + u32::from(word.1), false);
                    self.stack.push(index as u32);
                }
            }
            Kind::Clone => {
                let copy = self.pool.clone();
                assert_eq!(copy.reserved_count(), self.pool.reserved_count());
                if op.pick.is_multiple_of(2) {
                    self.pool = copy;
                } else {
                    let mut copy = copy;
                    let mut same = self.pool.clone();
                    assert!(copy.alloc_many(9).eq(same.alloc_many(9)), "the same future");
                }
            }
            Kind::Reserve => {
                let more = op.count(100);
                self.pool.reserve(more);
                assert!(self.pool.capacity() + self.stack.len() >= self.words.len() + more);
                assert!(self.pool.try_reserve(usize::MAX).is_err());
            }
            Kind::Shrink => {
                self.pool.shrink_to_fit();
                assert_eq!(self.pool.capacity(), self.words.len());
                assert_eq!(self.pool.memory().total(), 8 * self.words.len());
            }
            Kind::Debug => {
                let list: Vec<String> = self.alive().iter().map(|entity| format!("{entity:?}")).collect();
                assert_eq!(format!("{:?}", self.pool), format!("{{{}}}", list.join(", ")));
            }
            _ => {}
        }
    }

    fn check(&mut self, step: u32) {
        let (pool, alive) = (&self.pool, self.alive());
        assert_eq!(pool.validate(), Ok(()));
        assert_eq!((pool.len(), pool.is_empty(), pool.slot_count()), (alive.len(), alive.is_empty(), self.words.len()));
        assert_eq!(pool.reserved_count(), self.recycled + self.fresh);
        if step.is_multiple_of(2) {
            assert!(pool.iter().eq(alive.iter().copied()));
        } else {
            assert!(pool.iter().rev().eq(alive.iter().rev().copied()));
        }
        for entity in &self.ever {
            assert_eq!(pool.contains(*entity), alive.binary_search(entity).is_ok(), "{entity:?}");
        }
        assert_eq!(pool.next_free(), self.stack.last().copied());
        for (index, (generation, alive)) in (0..).zip(self.words.iter().copied()) {
            assert_eq!(pool.get(index), alive.then(|| entity(index as usize, generation)));
            let state = pool.slot_state(index).expect("a slot");
            if alive {
                assert_eq!(state, SlotState::Alive { generation });
            } else {
                let at = self.stack.iter().position(|i| *i == index).expect("a dead slot is free");
                let next = at.checked_sub(1).map(|below| self.stack[below]);
                assert_eq!(state, SlotState::Free { generation, next });
            }
        }
        assert_eq!((pool.slot_state(self.words.len() as u32), pool.get(self.words.len() as u32)), (None, None));
    }

    fn counted(&self) -> usize {
        0
    }
}
