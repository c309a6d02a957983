//! Tokens: their kinds, and the columns they are kept in.

use crate::tree::{Full, Span, TokenId};
use phalanx_store::Soa;

macro_rules! tokens {
    ($($(#[$doc:meta])* $name:ident $text:literal $($word:literal)?;)*) => {
        /// The kinds of tokens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum TokenKind {
            $($(#[$doc])* #[doc = $text] $name,)*
        }

        const _: () = assert!(size_of::<TokenKind>() == 1);

        impl TokenKind {
            /// The number of kinds.
            pub const COUNT: usize = [$(TokenKind::$name),*].len();

            /// Returns its name in messages.
            pub const fn describe(self) -> &'static str {
                match self { $(TokenKind::$name => $text,)* }
            }
        }

        /// The words with a kind of their own.
        const WORDS: &[(&str, TokenKind)] = &[$($(($word, TokenKind::$name),)?)*];
    };
}

tokens! {
    Eof "the end of the file";
    Unknown "a character that means nothing";
    Ident "a name";
    Upper "a capitalised name";
    Int "an integer";
    Float "a number";
    Duration "a duration";
    Size "a size";
    String "a string";
    Char "a character";
    TemplateWhole "a template";
    TemplateHead "a template";
    TemplateMiddle "the middle of a template";
    TemplateTail "the end of a template";
    TemplateFormat "a format";
    LParen "`(`";
    RParen "`)`";
    LBracket "`[`";
    RBracket "`]`";
    LBrace "`{`";
    RBrace "`}`";
    Comma "`,`";
    Colon "`:`";
    ColonColon "`::`";
    Semicolon "`;`";
    Dot "`.`";
    DotDot "`..`";
    DotDotEq "`..=`";
    Ellipsis "`...`";
    At "`@`";
    Dollar "`$`";
    Hash "`#`";
    HashBang "`#!`";
    Eq "`=`";
    EqEq "`==`";
    FatArrow "`=>`";
    Arrow "`->`";
    Question "`?`";
    QuestionQuestion "`??`";
    Bang "`!`";
    BangEq "`!=`";
    Tilde "`~`";
    Plus "`+`";
    Minus "`-`";
    Star "`*`";
    Slash "`/`";
    Percent "`%`";
    And "`&`";
    AndAnd "`&&`";
    Or "`|`";
    OrOr "`||`";
    Caret "`^`";
    Less "`<`";
    LessEq "`<=`";
    Shl "`<<`";
    Greater "`>`";
    Underscore "`_`";

    As "`as`" "as";
    Break "`break`" "break";
    Continue "`continue`" "continue";
    Def "`def`" "def";
    Div "`div`" "div";
    Do "`do`" "do";
    Else "`else`" "else";
    Extend "`extend`" "extend";
    Extension "`extension`" "extension";
    Extern "`extern`" "extern";
    False "`false`" "false";
    For "`for`" "for";
    If "`if`" "if";
    Impl "`impl`" "impl";
    In "`in`" "in";
    Let "`let`" "let";
    Loop "`loop`" "loop";
    Match "`match`" "match";
    Pub "`pub`" "pub";
    SelfValue "`self`" "self";
    SelfType "`Self`" "Self";
    Suspend "`suspend`" "suspend";
    Tests "`tests`" "tests";
    Then "`then`" "then";
    Trait "`trait`" "trait";
    True "`true`" "true";
    Type "`type`" "type";
    Unsafe "`unsafe`" "unsafe";
    Use "`use`" "use";
    Uses "`uses`" "uses";
    Void "`void`" "void";
    Where "`where`" "where";
    With "`with`" "with";
    Yield "`yield`" "yield";

    Run "`run`" "run";
    Try "`try`" "try";
    Recurse "`recurse`" "recurse";
    Parallel "`parallel`" "parallel";
    Spawn "`spawn`" "spawn";
    Timeout "`timeout`" "timeout";
    Cache "`cache`" "cache";
    Catch "`catch`" "catch";
    Nursery "`nursery`" "nursery";
    Channel "`channel`" "channel";
    ChannelIn "`channel_in`" "channel_in";
    ChannelOut "`channel_out`" "channel_out";
    ChannelAll "`channel_all`" "channel_all";
    Handler "`handler`" "handler";
    Capset "`capset`" "capset";
    By "`by`" "by";
    Max "`max`" "max";
    From "`from`" "from";
    Without "`without`" "without";
    Mut "`mut`" "mut";
    Dyn "`dyn`" "dyn";
    PreCheck "`pre_check`" "pre_check";
    PostCheck "`post_check`" "post_check";
}

impl TokenKind {
    /// Returns `true` if it is a name where names are expected. Contextual keywords are.
    #[inline]
    pub fn is_name(self) -> bool {
        matches!(self, TokenKind::Ident | TokenKind::Upper) || self >= TokenKind::Run
    }

    /// Returns `true` if it is a name after a dot or before a colon. There every keyword is.
    #[inline]
    pub fn is_member(self) -> bool {
        matches!(self, TokenKind::Ident | TokenKind::Upper) || self >= TokenKind::As
    }
}

/// Told apart by the first, second and last byte and the length; the numbers were searched for.
const fn slot(word: &[u8]) -> usize {
    let sum = word[0] as usize * 106 + word[1] as usize * 209 + word[word.len() - 1] as usize * 76 + word.len() * 191;
    sum & 255
}

static TABLE: [(&[u8], TokenKind); 256] = {
    let mut table: [(&[u8], TokenKind); 256] = [(b"", TokenKind::Ident); 256];
    let mut at = 0;
    while at < WORDS.len() {
        let (word, kind) = WORDS[at];
        let slot = slot(word.as_bytes());
        assert!(table[slot].0.is_empty(), "two words share a slot");
        table[slot] = (word.as_bytes(), kind);
        at += 1;
    }
    table
};

/// The longest word with a kind of its own.
const LONGEST: usize = 11;

/// The kind of a name, which may be a keyword.
#[inline]
pub(super) fn kind_of_word(word: &[u8]) -> TokenKind {
    if (2..=LONGEST).contains(&word.len()) {
        let (known, kind) = TABLE[slot(word)];
        if known == word {
            return kind;
        }
    }
    match word[0] {
        b'A'..=b'Z' => TokenKind::Upper,
        b'_' if word.len() == 1 => TokenKind::Underscore,
        _ => TokenKind::Ident,
    }
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Soa)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// The tokens of a source, 9 bytes each, and its comments. The last token is [`TokenKind::Eof`].
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    pub(super) columns: Soa<Token>,
    pub(super) comments: Vec<Span>,
}

impl Tokens {
    /// Returns the number of tokens, including the end of the file.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Returns `true` if there are no tokens, which is only so before lexing.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Returns the kinds of all tokens.
    pub fn kinds(&self) -> &[TokenKind] {
        self.columns.lanes().kind
    }

    /// Returns the span of a token.
    ///
    /// # Panics
    ///
    /// If there is no such token.
    pub fn span(&self, token: TokenId) -> Span {
        let lanes = self.columns.lanes();
        Span::new(lanes.start[token.index()], lanes.end[token.index()])
    }

    /// Returns an iterator over all tokens and their spans.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TokenKind, Span)> + '_ {
        self.columns.iter().map(|token| (*token.kind, Span::new(*token.start, *token.end)))
    }

    /// Returns the spans of the comments, each from its slashes to the end of its line.
    pub fn comments(&self) -> &[Span] {
        &self.comments
    }

    /// Returns the bytes of tokens and comments, without spare capacity.
    pub fn bytes(&self) -> usize {
        self.len() * 9 + size_of_val(self.comments())
    }

    #[inline]
    pub(super) fn push(&mut self, kind: TokenKind, start: usize, end: usize) -> Result<(), Full> {
        if self.columns.len() == self.columns.capacity() {
            self.columns.try_reserve(1).map_err(|_| Full::Memory)?;
        }
        self.columns.push(Token { kind, start: start as u32, end: end as u32 });
        Ok(())
    }
}
