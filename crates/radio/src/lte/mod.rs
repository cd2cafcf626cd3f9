//! The LTE link layer's tables and models: TS 36.211, 36.212 and 36.213 (version 12.4.0 where a
//! clause is named).
//!
//! Order of use: a [`Bandwidth`] gives blocks and groups of blocks; fading and path loss give one
//! linear SINR per block; [`Cqi`], [`Mcs`] and [`tbs_bits`] turn a quality into a transport block;
//! [`ErrorModel`] turns the block and the SINRs into its error probability.

mod amc;
mod bler;
mod bler_curves;
mod carrier;
mod control;
mod cqi;
mod cqi_parts;
mod curve;
mod error_model;
mod mcs;
mod mutual_information;
mod olla;
mod power_control;
mod segmentation;
mod tbs;

pub use amc::{Amc, AmcMode, CqiRounding, piro_efficiency, piro_gamma, snr_db_needed};
pub use bler::{BlerCurve, CurveId, LOWER_RATES, SIZE_CLASSES};
pub use carrier::{
    Bandwidth, EarfcnError, NotABandwidth, SUBCARRIERS_PER_PRB, downlink_frequency, uplink_frequency,
};
pub use control::control_error;
pub use cqi::{Cqi, CqiTable};
pub use cqi_parts::{CqiOfParts, PartCqi};
pub use error_model::{ErrorModel, HarqCombining, SoftBuffer};
pub use mcs::{Mcs, McsTable, Modulation};
pub use mutual_information::{
    MI_PARTS_MAX, MiByModulation, mean_mi, mean_mi_all, mean_mi_of, mi_closed_form, sinr_db_of_mi,
};
pub use olla::{Olla, OllaConfig};
pub use power_control::{ClosedLoop, MIN_POWER, PowerControl, PowerControlConfig, TpcCommand};
pub use segmentation::{CRC_BITS, CodeBlocks, MAX_CODE_BLOCK, code_blocks, turbo_size};
pub use tbs::{I_TBS_MAX, PRB_MAX, largest_tbs_bits, tbs_bits, tbs_bits_on_layers};
