//! Medium access: contention, frames, and both sides of a block ack agreement.

mod access;
pub mod elements;
mod frame;
pub mod octets;
mod originator;
mod reorder;

pub use access::{Access, Category, Contender, Counting};
pub use frame::{
    ACK, ASSOCIATION_REQUEST, ASSOCIATION_RESPONSE, AggregationConfig, BLOCK_ACK, BLOCK_ACK_REQUEST, CTS,
    DELIMITER, FCS, LLC, RTS, header, join, mpdu,
};
pub use originator::{Agreement, Chain, Mpdu, Originator, Pool, Retries};
pub use reorder::{Reorder, WINDOW};
