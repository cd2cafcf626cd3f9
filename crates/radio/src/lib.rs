//! Radio models. Today: which transport blocks of a dedicated channel are lost.

mod block_error;

pub use block_error::{BlockErrors, ErrorPattern};
