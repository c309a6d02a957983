//! Observers of queries.
