//! Where the fields of a snapshot lie: counts, numbers, lengths and kinds, but not the bytes of values.

use crate::forge::Forged;

/// A number in the contents of a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) section: usize,
    pub(crate) at: usize,
    /// 1, 4 or 8 bytes.
    pub(crate) width: usize,
}

/// What the section `comp` says of a component.
struct Known {
    kind: u8,
    codec: Vec<u8>,
    lanes: Vec<usize>,
}

struct Walk<'a> {
    section: usize,
    bytes: &'a [u8],
    at: usize,
    fields: &'a mut Vec<Field>,
}

impl Walk<'_> {
    fn field(&mut self, width: usize) -> usize {
        let mut word = [0; 8];
        word[..width].copy_from_slice(&self.bytes[self.at..self.at + width]);
        self.fields.push(Field { section: self.section, at: self.at, width });
        self.at += width;
        u64::from_le_bytes(word) as usize
    }

    fn name(&mut self) -> Vec<u8> {
        let len = self.field(1);
        self.at += len;
        self.bytes[self.at - len..self.at].to_vec()
    }

    fn list(&mut self) -> Vec<usize> {
        (0..self.field(4)).map(|_| self.field(4)).collect()
    }

    fn component(&mut self) -> Known {
        self.name();
        let (kind, codec) = (self.field(1) as u8, self.name());
        self.field(4);
        self.field(8);
        let lanes = (0..self.field(4)).map(|_| (self.field(4), self.field(4)).0).collect();
        Known { kind, codec, lanes }
    }

    fn column(&mut self, of: &Known, values: usize) {
        match &*of.codec {
            b"tag" => {}
            b"plain" => self.at += of.lanes.iter().sum::<usize>() * values,
            _ => {
                let mut left = values;
                while left > 0 {
                    left -= self.field(4);
                    let len = self.field(4);
                    self.at += len;
                }
            }
        }
    }

    fn side(&mut self, of: &Known) {
        let values = if of.kind == 1 {
            self.field(1);
            self.list().into_iter().filter(|key| *key != u32::MAX as usize).count()
        } else {
            let words: Vec<usize> = (0..self.field(4)).map(|_| self.field(8)).collect();
            words.into_iter().map(|word| word.count_ones() as usize).sum()
        };
        self.column(of, values);
    }
}

/// Returns all fields of a valid snapshot.
pub(crate) fn fields(forged: &Forged) -> Vec<Field> {
    let (mut fields, mut known) = (Vec::new(), Vec::new());
    for (section, contents) in forged.sections.iter().enumerate() {
        let mut walk = Walk { section, bytes: &contents.bytes, at: 0, fields: &mut fields };
        match &contents.kind {
            b"comp" => known = (0..walk.field(4)).map(|_| walk.component()).collect(),
            b"slot" => drop((walk.list(), walk.list())),
            b"tabl" => {
                walk.field(1);
                let (components, rows) = (walk.list(), walk.list().len());
                components.iter().for_each(|at| walk.column(&known[*at], rows));
            }
            b"rows" => (0..walk.field(4) * 4).for_each(|_| drop(walk.field(4))),
            b"side" => {
                let at = walk.field(4);
                walk.side(&known[at]);
            }
            b"grup" => (0..walk.field(4) * 4).for_each(|_| drop(walk.list())),
            b"rsrc" => {
                walk.name();
                walk.name();
                walk.field(4);
                walk.at = contents.bytes.len();
            }
            b"tick" => {
                for _ in 0..walk.field(4) {
                    walk.field(4);
                    walk.field(1);
                    (0..walk.field(4)).for_each(|_| drop(walk.field(1)));
                }
            }
            _ => {}
        }
        assert_eq!(walk.at, contents.bytes.len(), "{}", contents.kind.escape_ascii());
    }
    fields
}

/// Returns a field's number.
pub(crate) fn number(forged: &Forged, field: Field) -> u64 {
    let mut word = [0; 8];
    word[..field.width].copy_from_slice(&forged.sections[field.section].bytes[field.at..field.at + field.width]);
    u64::from_le_bytes(word)
}

/// Gives a field another number.
pub(crate) fn set(forged: &mut Forged, field: Field, number: u64) {
    let bytes = &mut forged.sections[field.section].bytes[field.at..field.at + field.width];
    bytes.copy_from_slice(&number.to_le_bytes()[..field.width]);
}
