//! [`Span`]: rows that an iterator over a driver visits without asking the driver for more.

use core::ops::Range;

/// Rows to come: consecutive ones, and after them those of a word of bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    next: usize,
    end: usize,
    /// The rows after `end`: the bit `n` is for row `base + n`.
    bits: u64,
    base: usize,
}

impl Span {
    pub(super) const EMPTY: Span = Span::of_rows(0..0);

    /// Returns consecutive rows.
    pub(super) const fn of_rows(rows: Range<usize>) -> Span {
        Span { next: rows.start, end: rows.end, bits: 0, base: 0 }
    }

    /// Returns the rows of a word of bits.
    pub(super) const fn of_bits(base: usize, bits: u64) -> Span {
        Span { next: 0, end: 0, bits, base }
    }

    /// Returns `true` if no row is to come.
    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        self.next == self.end && self.bits == 0
    }

    /// Takes the first row.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<usize> {
        if self.next == self.end {
            if self.bits == 0 {
                return None;
            }
            self.take_ones();
        }
        let row = self.next;
        self.next += 1;
        Some(row)
    }

    /// Takes the last row.
    pub(super) fn pop_back(&mut self) -> Option<usize> {
        if let Some(last) = self.bits.checked_ilog2() {
            self.bits ^= 1 << last;
            return Some(self.base + last as usize);
        }
        self.end = (self.end > self.next).then(|| self.end - 1)?;
        Some(self.end)
    }

    /// Takes the next consecutive rows, all of them.
    #[inline(always)]
    pub(super) fn pop_rows(&mut self) -> Option<Range<usize>> {
        if self.next == self.end {
            if self.bits == 0 {
                return None;
            }
            self.take_ones();
        }
        let rows = self.next..self.end;
        self.next = self.end;
        Some(rows)
    }

    /// Takes the next consecutive rows, at most `count` of them.
    pub(super) fn pop_first(&mut self, count: usize) -> Range<usize> {
        if self.next == self.end && self.bits != 0 {
            self.take_ones();
        }
        let rows = self.next..self.end.min(self.next.saturating_add(count));
        self.next = rows.end;
        rows
    }

    /// Makes the first ones of the bits, of which there are some, the consecutive rows.
    #[inline(always)]
    fn take_ones(&mut self) {
        let first = self.bits.trailing_zeros();
        // The sum has a zero where the ones end, or overflows if they reach the end.
        let rest = self.bits & self.bits.wrapping_add(1 << first);
        self.next = self.base + first as usize;
        self.end = self.next + (self.bits ^ rest).count_ones() as usize;
        self.bits = rest;
    }
}
