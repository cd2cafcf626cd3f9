//! RLC of UMTS (TS 25.322 v13.0.0): acknowledged, unacknowledged and transparent mode.
//!
//! Differences from the standard:
//!
//! * The Estimated PDU Counter of early releases (clause 9.7.4, void since), the POLL super-field,
//!   the special value of HE (an SDU that ends with the PDU) and the UM alternative E-bit are not
//!   implemented; the decoder refuses their code points.
//! * RLIST is read but never written; WINDOW is obeyed but never sent.
//! * A STATUS PDU that names sequence numbers outside the window is ignored and counted; by the
//!   standard it causes a reset (clause 10). On a channel that keeps the order this does not occur.
//! * MaxDAT counts transmissions: a PDU is sent at most MaxDAT times, so that it fails with
//!   probability p^MaxDAT. By its wording, clause 9.6 a) allows MaxDAT - 1.
//! * After MaxRST resets without answer RRC is not modelled: the bearer is re-established at once.
//! * A discard is always of the oldest SDUs, in one order (one SN_MRW); while the end of a
//!   discarded SDU has not been signalled, no new PDU is sent until the receiver has confirmed.
//! * Timer_Status_Periodic and Timer_Poll_Periodic run only while there are PDUs to report, or
//!   reports to request.
//! * With windows above half of the modulus a 12-bit SN is ambiguous. Entities that exchange
//!   descriptors distinguish a repeated PDU from one a modulus later by the HFN that ciphering
//!   implies; entities that exchange octets cannot.
//! * In transparent mode an SDU is one PDU; segmentation over a TTI is not implemented.

pub mod am;
mod bitmap;
pub mod codec;
mod output;
pub mod pdu;
pub mod segment;
mod sufi;
pub mod tm;
pub mod um;

use lasthop_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use am::{AmConfig, AmEntity};
use lasthop_bearer::{ConfigError, RlcStats, Sdu, Warning, within};
pub use output::{Output, RlcEvent};
use pdu::Pdu;
use tm::TmEntity;
use um::{UmConfig, UmEntity};

/// Mode of an RLC entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RlcMode {
    /// Acknowledged: lost PDUs are sent again.
    #[default]
    Am,
    /// Unacknowledged: the SDUs of a lost PDU are lost.
    Um,
    /// Transparent: an SDU is a transport block.
    Tm,
}

/// RLC of a UMTS bearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RlcConfig {
    /// Mode of both entities: `am` (the default), `um` or `tm`.
    pub mode: RlcMode,
    /// Acknowledged mode, at both ends unless `am_ue` is given.
    pub am: AmConfig,
    /// Acknowledged mode at the UE: its parameters as sender of the uplink (polls, window, MaxDAT)
    /// and as receiver of the downlink (status reports). Default: as `am`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub am_ue: Option<AmConfig>,
    /// Unacknowledged mode, at both ends.
    pub um: UmConfig,
}

impl RlcConfig {
    /// Validates the parameters of the chosen mode.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        match self.mode {
            RlcMode::Am => {
                within("am", self.am.validate(), &mut warnings)?;
                let ue = self.am_ue.unwrap_or(self.am);
                if self.am_ue.is_some() {
                    within("am_ue", ue.validate(), &mut warnings)?;
                }
                for (sender, tx, receiver, rx) in [
                    ("am", self.am.tx_window, "am_ue", ue.rx_window),
                    ("am_ue", ue.tx_window, "am", self.am.rx_window),
                ] {
                    lasthop_bearer::check(
                        tx <= rx,
                        &format!("{sender}.tx_window"),
                        &format!(
                            "the receiver would discard PDUs beyond its window: \
                                  set {receiver}.rx_window to at least {tx}"
                        ),
                    )?;
                }
            }
            RlcMode::Um => within("um", self.um.validate(), &mut warnings)?,
            RlcMode::Tm => {}
        }
        Ok(warnings)
    }

    /// Octets of RLC header in a transport block.
    pub const fn header(&self) -> Bytes {
        match self.mode {
            RlcMode::Am => Bytes(2),
            RlcMode::Um => Bytes(1),
            RlcMode::Tm => Bytes(0),
        }
    }
}

/// An RLC entity of any mode.
#[derive(Clone, Debug)]
pub enum Rlc {
    /// Acknowledged mode.
    Am(Box<AmEntity>),
    /// Unacknowledged mode.
    Um(Box<UmEntity>),
    /// Transparent mode.
    Tm(TmEntity),
}

impl Rlc {
    /// Creates an entity whose PDUs have `payload` octets after the header.
    pub fn new(mode: RlcMode, am: AmConfig, um: UmConfig, payload: Bytes) -> Self {
        match mode {
            RlcMode::Am => Rlc::Am(Box::new(AmEntity::new(am, payload))),
            RlcMode::Um => Rlc::Um(Box::new(UmEntity::new(um, payload))),
            RlcMode::Tm => Rlc::Tm(TmEntity::new(payload)),
        }
    }
    /// Takes in an SDU from upper layers.
    pub fn push_sdu(&mut self, now: Instant, sdu: Sdu, out: &mut Output) {
        match self {
            Rlc::Am(e) => e.push_sdu(now, sdu, out),
            Rlc::Um(e) => e.push_sdu(sdu, out),
            Rlc::Tm(e) => e.push_sdu(sdu, out),
        }
    }
    /// True when a pull would give a PDU.
    #[inline]
    pub fn has_data(&self, now: Instant) -> bool {
        match self {
            Rlc::Am(e) => e.has_data(now),
            Rlc::Um(e) => e.has_data(),
            Rlc::Tm(e) => e.has_data(),
        }
    }
    /// Passes MAC at most `blocks` PDUs.
    pub fn pull(&mut self, now: Instant, blocks: usize, pdus: &mut Vec<Pdu>, out: &mut Output) {
        match self {
            Rlc::Am(e) => e.pull(now, blocks, pdus, out),
            Rlc::Um(e) => e.pull(blocks, pdus),
            Rlc::Tm(e) => e.pull(blocks, pdus),
        }
    }
    /// Receives a PDU from lower layers.
    #[inline]
    pub fn receive(&mut self, now: Instant, pdu: Pdu, out: &mut Output) {
        match (self, pdu) {
            (Rlc::Am(e), pdu) => e.receive(now, pdu, out),
            (Rlc::Um(e), Pdu::Um(pdu)) => e.receive(&pdu, out),
            (Rlc::Tm(e), Pdu::Tm(sdu)) => e.receive(sdu, out),
            (entity, pdu) => debug_assert!(false, "{pdu:?} at {entity:?}"),
        }
    }
    /// When a timer expires next.
    #[inline]
    pub fn poll_at(&self, now: Instant) -> Option<Instant> {
        match self {
            Rlc::Am(e) => e.poll_at(now),
            Rlc::Um(_) | Rlc::Tm(_) => None,
        }
    }
    /// Processes the timers that have expired.
    pub fn on_time(&mut self, now: Instant, out: &mut Output) {
        if let Rlc::Am(e) = self {
            e.on_time(now, out);
        }
    }
    /// Its counters.
    pub fn stats(&self) -> RlcStats {
        match self {
            Rlc::Am(e) => {
                let (s, (queue_sdus, queue_bytes)) = (e.stats(), e.waiting());
                RlcStats {
                    queue_sdus: queue_sdus as u64,
                    queue_bytes: queue_bytes.0,
                    sdus_in: s.sdus_in,
                    sdus_out: s.sdus_out,
                    sdus_discarded: s.sdus_discarded,
                    pdus_new: s.pdus_new,
                    pdus_retx: s.pdus_retx,
                    status_pdus: s.status_pdus,
                    polls: s.polls,
                    window_used: e.tx_window_used().into(),
                    resets: s.resets,
                    marked: 0,
                }
            }
            Rlc::Um(e) => {
                let (s, (queue_sdus, queue_bytes)) = (e.stats(), e.waiting());
                RlcStats {
                    queue_sdus: queue_sdus as u64,
                    queue_bytes: queue_bytes.0,
                    sdus_in: s.sdus_in,
                    sdus_out: s.sdus_out,
                    sdus_discarded: s.sdus_discarded,
                    pdus_new: s.pdus_new,
                    ..RlcStats::default()
                }
            }
            Rlc::Tm(e) => {
                let (s, (queue_sdus, queue_bytes)) = (e.stats(), e.waiting());
                RlcStats {
                    queue_sdus: queue_sdus as u64,
                    queue_bytes: queue_bytes.0,
                    sdus_in: s.sdus_in,
                    sdus_out: s.sdus_out,
                    sdus_discarded: s.sdus_discarded,
                    ..RlcStats::default()
                }
            }
        }
    }
}
