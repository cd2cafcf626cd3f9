//! PDCP of LTE: TS 36.323 Release 15 (v15.1.0), data bearers over RLC AM and UM.
//!
//! An [`LteBearer`] holds both ends; [`PdcpTx`] and [`PdcpRx`] are the entities. A PDCP PDU passes
//! through RLC as a descriptor whose serial number contains COUNT and kind; the receiver uses only
//! what a header carries, the SN.
//!
//! Clause numbers were compared with TS 36.323 v19.0.0 (`docs/citations.toml`).
//!
//! # Simplifications
//! Ciphering takes no time, but both sides keep COUNT, and a PDU deciphered with a wrong HFN is
//! dropped with that cause. Header compression is modelled by its effect on sizes and losses. The
//! reordering function of split bearers (t-Reordering of PDCP), LWA and signalling bearers are left
//! out. Both ends change their lower layers at the same moment (`handover`). Packets are released
//! from PDCP when RLC confirms them.

mod bearer;
mod compression;
pub mod config;
mod copies;
mod forwarding;
mod handover;
mod octets;
mod open_sdus;
mod pdu;
mod rx;
mod setup;
mod sever;
mod tx;

pub use bearer::LteBearer;
pub use config::{
    Compression, CompressionKind, Counted, HandoverKind, Limits, PdcpConfig, RetransmissionQueue,
};
pub use forwarding::ForwardedSdu;
pub use pdu::{PdcpDecodeError, PdcpPdu, StatusReport, data_header};
pub use rx::{PdcpRx, PdcpRxOutput};
pub use setup::{LteBearerConfig, LteBearerOutput};
pub use tx::{PdcpTx, PdcpTxOutput};
