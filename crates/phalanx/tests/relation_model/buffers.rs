//! Buffers of commands, executed by the model one by one.

use super::kit::{CHILD_OF, Fire, Id, Mass, RELATIONS};
use super::model::{Model, Node, Refusal};
use super::names::pick_name;
use super::program::{Engine, Order, Pick};
use phalanx::relation::Position;
use phalanx::store::Entity;
use phalanx::{CommandBuffer, Key, Role};

/// A recorded command.
#[derive(Clone, Copy, Debug)]
enum Command {
    Link(usize, Entity, Entity, Position),
    Unlink(usize, Entity),
    Despawn(Entity),
    /// Of an entity that was reserved for it, with a number.
    Spawn(Entity, u32),
    Insert(Entity, u32),
    AddRow(Entity, u32),
    SetName(Entity, &'static str),
    RemoveName(Entity),
    /// A closure, which ends a segment.
    Closure,
}

impl Model {
    /// Executes a command.
    fn execute(&mut self, command: Command) -> Result<(), Refusal> {
        match command {
            Command::Link(relation, source, target, position) => self.link(relation, source, target, position)?,
            Command::Unlink(relation, source) => drop(self.unlink(relation, source)?),
            Command::Despawn(entity) => self.despawn(entity)?,
            Command::Spawn(entity, n) => {
                self.require(entity)?;
                self.nodes.get_mut(&entity).unwrap().id = Some(n);
            }
            Command::Insert(entity, n) => {
                self.require(entity)?;
                let node = self.nodes.get_mut(&entity).unwrap();
                (node.fire, node.mass) = (Some(n % 6), Some(n));
            }
            Command::AddRow(entity, role) => {
                self.require(entity)?;
                self.nodes.get_mut(&entity).unwrap().rows.push(role);
            }
            Command::SetName(entity, name) => self.set_name(entity, Some(name))?,
            Command::RemoveName(entity) => self.set_name(entity, None)?,
            Command::Closure => {}
        }
        Ok(())
    }
}

impl Engine {
    /// Applies a buffer with several commands.
    pub(crate) fn buffer(&mut self, at: usize, pick: Pick<'_>) -> Order {
        let (mut buffer, mut commands, mut spawned) = (CommandBuffer::new(), Vec::new(), Vec::new());
        let is_strict = pick(2) == 0;
        // A few entities, so that commands of a segment are about the same ones.
        let mut few: Vec<Entity> = (0..2 + pick(6)).map(|_| self.someone(at, pick)).collect();
        for _ in 0..1 + pick(9) {
            let (relation, entity, n) = (pick(RELATIONS.len()), few[pick(few.len())], self.fresh_id());
            let command = match pick(23) {
                0..7 => {
                    let target = few[pick(few.len())];
                    let beside = few[pick(few.len())];
                    let position = match pick(8) {
                        0..4 => Position::Last,
                        4 => Position::First,
                        5 => Position::Before(beside),
                        6 => Position::After(beside),
                        _ => self.position(at, relation, target, pick),
                    };
                    (RELATIONS[relation].record_link)(&mut buffer, entity, target, position);
                    Command::Link(relation, entity, target, position)
                }
                7 | 8 => {
                    (RELATIONS[relation].record_unlink)(&mut buffer, entity);
                    Command::Unlink(relation, entity)
                }
                9 | 10 => {
                    buffer.despawn(entity);
                    Command::Despawn(entity)
                }
                11 | 12 => {
                    let new = buffer.spawn_with(&self.worlds[at], Id(n));
                    few.push(new);
                    spawned.push(new);
                    commands.push(Command::Spawn(new, n));
                    (RELATIONS[CHILD_OF].record_link)(&mut buffer, new, entity, Position::Last);
                    Command::Link(CHILD_OF, new, entity, Position::Last)
                }
                13 => {
                    buffer.insert(entity, (Fire(n % 6), Mass(n)));
                    Command::Insert(entity, n)
                }
                14 => {
                    buffer.add_row(Key::main(entity).with_role(Role(n)), (Fire(n), Id(0)));
                    Command::AddRow(entity, n)
                }
                15..20 => {
                    let name = pick_name(pick);
                    buffer.set_name(entity, name).unwrap();
                    Command::SetName(entity, name)
                }
                20 | 21 => {
                    buffer.remove_name(entity);
                    Command::RemoveName(entity)
                }
                _ => {
                    buffer.queue(|_| {});
                    Command::Closure
                }
            };
            commands.push(command);
        }
        let sum = self.checksum(at);
        spawned.iter().for_each(|new| self.born(at, *new, Node::default()));
        if is_strict {
            let mut start = self.models[at].clone();
            let mut first = None;
            for (position, &command) in commands.iter().enumerate() {
                if let Err(refusal) = self.models[at].execute(command) {
                    first = Some((position, refusal));
                    self.models[at] = start;
                    break;
                }
                if let Command::Closure = command {
                    start = self.models[at].clone();
                }
            }
            let result = buffer.try_apply(&mut self.worlds[at]);
            let result = result.map_err(|error| (error.position, Refusal::of_change(error.error)));
            assert_eq!(result.err(), first, "{commands:?}");
            let is_one = !commands.iter().any(|command| matches!(command, Command::Closure));
            if first.is_some() && spawned.is_empty() && is_one {
                assert_eq!(self.checksum(at), sum, "a buffer that failed has changed the world");
            }
        } else {
            let mut skipped = Vec::new();
            for (position, &command) in commands.iter().enumerate() {
                match (command, self.models[at].execute(command)) {
                    (Command::Despawn(_), Err(Refusal::NoSuchEntity(_))) | (_, Ok(())) => {}
                    (_, Err(refusal)) => skipped.push((position, refusal)),
                }
            }
            let report = buffer.apply(&mut self.worlds[at]);
            let seen = report.skipped().iter().map(|error| (error.position, Refusal::of_change(error.error)));
            assert_eq!(seen.collect::<Vec<_>>(), skipped, "{commands:?}");
        }
        Order::Exact
    }
}
