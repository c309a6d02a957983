//! [`Prompt`]: a line that is typed.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The longest text in bytes: that of a query.
const LENGTH_LIMIT: usize = 4096;

/// What a typed line is for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    Query,
    /// A new value: entity, component and field.
    Edit {
        entity: String,
        component: String,
        field: String,
    },
    Insert {
        entity: String,
    },
    Rename {
        entity: String,
    },
    Action,
}

/// A line that is typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) purpose: Purpose,
    pub(crate) label: String,
    pub(crate) text: String,
    /// The position of the cursor, in bytes.
    pub(crate) cursor: usize,
    /// What the last word can be completed to, and the one that was taken last.
    offers: Vec<String>,
    offered: usize,
    /// The text before the word that is completed.
    stem: String,
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Goes,
    Taken,
    Dropped,
}

impl Prompt {
    pub(crate) fn new(purpose: Purpose, label: impl Into<String>, text: impl Into<String>) -> Prompt {
        let text = text.into();
        let cursor = text.len();
        Prompt { purpose, label: label.into(), text, cursor, offers: Vec::new(), offered: 0, stem: String::new() }
    }

    /// Handles a key. `names` are what can be completed.
    pub(crate) fn key(&mut self, key: KeyEvent, names: &[String]) -> Typed {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code != KeyCode::Tab {
            self.offers.clear();
        }
        match key.code {
            KeyCode::Enter => return Typed::Taken,
            KeyCode::Esc => return Typed::Dropped,
            KeyCode::Char('c') if is_control => return Typed::Dropped,
            KeyCode::Char('u') if is_control => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('a') if is_control => self.cursor = 0,
            KeyCode::Char('e') if is_control => self.cursor = self.text.len(),
            KeyCode::Char(_) if is_control => {}
            KeyCode::Char(c) => self.insert(c),
            KeyCode::Backspace => {
                if let Some(c) = self.text[..self.cursor].chars().next_back() {
                    self.cursor -= c.len_utf8();
                    self.text.remove(self.cursor);
                }
            }
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Left => self.cursor -= self.text[..self.cursor].chars().next_back().map_or(0, char::len_utf8),
            KeyCode::Right => self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            KeyCode::Tab => self.complete(names),
            _ => {}
        }
        Typed::Goes
    }

    /// Types a character. Those that are not text are ignored.
    pub(crate) fn insert(&mut self, c: char) {
        if !c.is_control() && self.text.len() + c.len_utf8() <= LENGTH_LIMIT {
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Completes the word before the cursor, or takes the next offer.
    fn complete(&mut self, names: &[String]) {
        if self.offers.is_empty() {
            let before = &self.text[..self.cursor];
            let start = before
                .rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '.'))
                .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
            let word = before[start..].to_lowercase();
            self.stem = before[..start].to_owned();
            self.offers = names.iter().filter(|name| name.to_lowercase().starts_with(&word)).cloned().collect();
            self.offered = 0;
        } else {
            self.offered = (self.offered + 1) % self.offers.len();
        }
        if let Some(offer) = self.offers.get(self.offered) {
            let rest = self.text.split_off(self.cursor);
            self.text = format!("{}{offer}", self.stem);
            self.cursor = self.text.len();
            self.text.push_str(&rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(prompt: &mut Prompt, code: KeyCode) -> Typed {
        let names = ["Health", "Health.hp", "Velocity"].map(str::to_owned);
        prompt.key(KeyEvent::new(code, KeyModifiers::NONE), &names)
    }

    #[test]
    fn a_line_is_typed_and_corrected() {
        let mut prompt = Prompt::new(Purpose::Query, "query", "aé");
        for code in
            [KeyCode::Left, KeyCode::Char('b'), KeyCode::Home, KeyCode::Delete, KeyCode::End, KeyCode::Backspace]
        {
            assert_eq!(press(&mut prompt, code), Typed::Goes);
        }
        assert_eq!((prompt.text.as_str(), prompt.cursor), ("b", 1));
        (0..10_000).for_each(|_| prompt.insert('x'));
        assert_eq!(prompt.text.len(), LENGTH_LIMIT);
        assert_eq!(press(&mut prompt, KeyCode::Enter), Typed::Taken);
        assert_eq!(press(&mut prompt, KeyCode::Esc), Typed::Dropped);
    }

    #[test]
    fn names_are_completed() {
        let mut prompt = Prompt::new(Purpose::Query, "query", "!Velocity, hea");
        press(&mut prompt, KeyCode::Tab);
        assert_eq!(prompt.text, "!Velocity, Health");
        press(&mut prompt, KeyCode::Tab);
        assert_eq!(prompt.text, "!Velocity, Health.hp");
        press(&mut prompt, KeyCode::Tab);
        assert_eq!(prompt.text, "!Velocity, Health");
        let mut none = Prompt::new(Purpose::Query, "query", "xyz");
        press(&mut none, KeyCode::Tab);
        assert_eq!(none.text, "xyz");
    }
}
