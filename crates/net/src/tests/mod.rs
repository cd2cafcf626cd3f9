//! Tests of whole links against naive models.

mod pipe;
mod trace_link;
