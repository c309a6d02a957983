//! Snapshots taken apart and put together again, with checksums that fit.

use phalanx::snapshot::checksum;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    pub(crate) kind: [u8; 4],
    pub(crate) flags: u32,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(crate) struct Forged {
    pub(crate) head: [u8; 16],
    pub(crate) sections: Vec<Section>,
}

fn number(bytes: &mut &[u8]) -> u32 {
    let (word, rest) = bytes.split_first_chunk::<4>().unwrap();
    *bytes = rest;
    u32::from_le_bytes(*word)
}

impl Forged {
    pub(crate) fn of(mut file: &[u8]) -> Forged {
        let (head, rest) = file.split_first_chunk::<16>().unwrap();
        file = rest;
        let mut sections = Vec::new();
        while !file.is_empty() {
            let kind = number(&mut file).to_le_bytes();
            let flags = number(&mut file);
            let mut bytes = Vec::new();
            loop {
                let len = number(&mut file) as usize;
                if len == 0 {
                    file = &file[16..];
                    break;
                }
                bytes.extend_from_slice(&file[..len]);
                file = &file[len + 8..];
            }
            sections.push(Section { kind, flags, bytes });
        }
        Forged { head: *head, sections }
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        self.cut(1 << 16)
    }

    /// The same in frames of another length.
    pub(crate) fn cut(&self, frame: usize) -> Vec<u8> {
        let mut file = self.head.to_vec();
        let mut chain = checksum(0, &self.head);
        for section in &self.sections {
            let mut head = section.kind.to_vec();
            head.extend(section.flags.to_le_bytes());
            chain = checksum(chain, &head);
            file.extend(head);
            for frame in section.bytes.chunks(frame) {
                chain = checksum(chain, frame);
                file.extend((frame.len() as u32).to_le_bytes());
                file.extend(frame);
                file.extend(chain.to_le_bytes());
            }
            let len = (section.bytes.len() as u64).to_le_bytes();
            chain = checksum(chain, &len);
            file.extend([0; 4]);
            file.extend(len);
            file.extend(chain.to_le_bytes());
        }
        file
    }

    /// The `nth` section of a kind.
    pub(crate) fn section(&mut self, kind: &[u8; 4], nth: usize) -> &mut Section {
        self.sections.iter_mut().filter(|section| section.kind == *kind).nth(nth).unwrap()
    }

    pub(crate) fn put(&mut self, kind: &[u8; 4], nth: usize, at: usize, n: u32) -> &mut Forged {
        self.section(kind, nth).bytes[at..at + 4].copy_from_slice(&n.to_le_bytes());
        self
    }
}
