//! Prefetching.

pub(crate) use phalanx_store::raw::prefetch;
