//! The basic types of Lasthop: time, sizes, rates, powers, sequence numbers and ids.
//!
//! This crate uses no other crate of Lasthop. Every quantity has its own type, so that nanoseconds
//! are not mixed with milliseconds, or dB with linear ratios, by accident. In scenario files a
//! quantity is a string with its unit (`"10 ms"`, `"20 MHz"`); a bare number is refused with the
//! remedy.

mod ecn;
mod ids;
mod octets;
mod quantity;
mod rate;
mod seq;
mod time;

pub use ecn::Ecn;
pub use ids::{
    AccessId, ApId, AppId, BearerId, CellId, FlowId, Id, IndexVec, NodeId, PacketId, SocketId, StationId,
    UeId,
};
pub use octets::{Hole, Octets};
pub use quantity::{Bytes, Db, Dbm, Hertz, Metres, Ratio, Speed, UnitError};
pub use rate::Bitrate;
pub use seq::{Count, Seq, SeqRange, Sn, StreamOffset};
pub use time::{Duration, Instant, Tti};
