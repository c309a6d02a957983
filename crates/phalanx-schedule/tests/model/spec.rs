//! What a random schedule consists of.

use phalanx_testkit::Rng;

/// What a system does. Numbers that it uses are its own [`SystemSpec::id`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    WriteA,
    /// Reads `A`, writes `P`.
    CopyAToP,
    /// Reads `P`, writes `L`.
    CopyPToL,
    /// Writes some `R` of rows with `Tag`, or without.
    WriteR(bool),
    /// Writes some `S` of rows with `Loose`, or without.
    WriteS(bool),
    /// Writes `C`, with `Loose` or without.
    WriteC(bool),
    ChangedR,
    AddedR,
    ChangedS,
    ChangedC,
    /// Writes those `R` that have changed, which it does not see next time.
    WriteChangedR,
    Spawn,
    SpawnLater,
    Despawn,
    Insert,
    Send,
    ReadPing,
    Relay,
    ReadPong,
    WriteSeed,
    ReadWorld,
    Set,
    Exclusive,
    Sync,
}

impl Kind {
    pub fn has_commands(self) -> bool {
        matches!(self, Kind::Spawn | Kind::SpawnLater | Kind::Despawn | Kind::Insert)
    }

    pub fn sends_pings(self) -> bool {
        matches!(self, Kind::Send | Kind::Spawn)
    }

    pub fn reads_pings(self) -> bool {
        matches!(self, Kind::ReadPing | Kind::Relay)
    }
}

/// What a system or a set asks before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// The seed is not divisible by a number.
    Seed(u32),
    /// The number of values of `A` is even.
    EvenA,
    ChangedR,
    HasPing,
    World,
}

#[derive(Clone, Debug)]
pub struct SystemSpec {
    pub id: u32,
    pub kind: Kind,
    pub conditions: Vec<Condition>,
    pub sets: Vec<usize>,
    pub reserve: Option<u32>,
    /// The systems that it runs after, and whether it sees their commands.
    pub after: Vec<(u32, bool)>,
    pub before: Vec<u32>,
}

#[derive(Clone, Debug)]
pub struct Spec {
    pub seed: u64,
    pub runs: u32,
    pub entities: u32,
    pub systems: Vec<SystemSpec>,
    /// The conditions of each set. Set 1 may be a part of set 0.
    pub sets: [Vec<Condition>; 2],
    pub is_nested: bool,
}

impl Spec {
    pub fn new(seed: u64) -> Spec {
        let mut rng = Rng::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
        let count = 1 + rng.below(24);
        let condition = |rng: &mut Rng| match rng.below(6) {
            0 | 1 => Condition::Seed(2 + rng.below(3) as u32),
            2 => Condition::EvenA,
            3 => Condition::ChangedR,
            4 => Condition::HasPing,
            _ => Condition::World,
        };
        let mut systems = Vec::new();
        // Explicit orders go from a lower to a higher place here, so that there is no cycle.
        let mut places: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut places);
        for id in 0..count as u32 {
            let kind = match rng.below(34) {
                0 | 1 => Kind::WriteA,
                2 | 3 => Kind::CopyAToP,
                4 => Kind::CopyPToL,
                5..8 => Kind::WriteR(rng.chance(1, 2)),
                8 | 9 => Kind::WriteS(rng.chance(1, 2)),
                10 | 11 => Kind::WriteC(rng.chance(1, 2)),
                12 | 13 => Kind::ChangedR,
                14 => Kind::AddedR,
                15 => Kind::ChangedS,
                16 => Kind::ChangedC,
                17 => Kind::WriteChangedR,
                18..21 => Kind::Spawn,
                21 => Kind::SpawnLater,
                22 => Kind::Despawn,
                23 | 24 => Kind::Insert,
                25 | 26 => Kind::Send,
                27 => Kind::ReadPing,
                28 => Kind::Relay,
                29 => Kind::ReadPong,
                30 => Kind::WriteSeed,
                31 => Kind::ReadWorld,
                32 => Kind::Set,
                _ => [Kind::Exclusive, Kind::Sync][rng.below(2)],
            };
            let mut spec = SystemSpec {
                id,
                kind,
                conditions: Vec::new(),
                sets: (0..2).filter(|_| rng.chance(1, 5)).collect(),
                reserve: rng.chance(1, 2).then(|| rng.below(6) as u32),
                after: Vec::new(),
                before: Vec::new(),
            };
            if kind != Kind::Sync {
                (0..rng.below(3).saturating_sub(1) + rng.below(2)).for_each(|_| {
                    let condition = condition(&mut rng);
                    spec.conditions.push(condition);
                });
                for other in 0..count as u32 {
                    if rng.chance(1, 12) && places[other as usize] < places[id as usize] {
                        spec.after.push((other, rng.chance(3, 4)));
                    } else if rng.chance(1, 20) && places[other as usize] > places[id as usize] {
                        spec.before.push(other);
                    }
                }
            } else {
                spec.sets.clear();
            }
            systems.push(spec);
        }
        // A sync point has no name.
        let syncs: Vec<u32> =
            systems.iter().filter(|system| system.kind == Kind::Sync).map(|system| system.id).collect();
        for system in &mut systems {
            system.after.retain(|(other, _)| !syncs.contains(other));
            system.before.retain(|other| !syncs.contains(other));
        }
        let mut sets = [Vec::new(), Vec::new()];
        for (set, conditions) in sets.iter_mut().enumerate() {
            if systems.iter().any(|system| system.sets.contains(&set)) && rng.chance(2, 3) {
                conditions.push(condition(&mut rng));
            }
        }
        let is_nested = rng.chance(1, 2) && systems.iter().any(|system| system.sets.contains(&1));
        Spec { seed, runs: 2 + rng.below(4) as u32, entities: rng.below(40) as u32, systems, sets, is_nested }
    }
}

/// A number that depends on others.
pub fn mix(a: u32, b: u32) -> u32 {
    (a ^ b.rotate_left(16)).wrapping_mul(0x9E37_79B1).rotate_left(7) ^ b
}
