//! Layer 2 of LTE above MAC: PDCP (TS 36.323) and RLC (TS 36.322), both ends of a bearer, and a
//! bearer over a channel of grants without a cell ([`LtePipe`]).

pub mod pdcp;
mod pipe;
pub mod rlc;

pub use pipe::{GrantConfig, LtePipe, LtePipeConfig};
