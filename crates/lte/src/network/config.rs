//! Configuration of a radio network: cells, UEs and the bearers between them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_radio::layout::WrapAround;
use lasthop_radio::lte::Bandwidth;
use lasthop_radio::{Track, milliwatts};
use lasthop_units::{BearerId, CellId, Duration, IndexVec, Speed, Tti, UeId};

use crate::mac::downlink::{DownlinkCell, DownlinkConfig, MimoModel, PersistentConfig};
use crate::mac::harq::PROCESSES;
use crate::mac::scheduler::SchedulerConfig;
use crate::mac::scheduler::qci::Qos;
use crate::mac::sidelink::{LinkMode, SelectionConfig, SidelinkCellConfig, SidelinkConfig};
use crate::mac::uplink::{UplinkConfig, UplinkPersistentConfig};
use crate::phy::TTI;
use crate::phy::propagation::{CellRadioConfig, Propagation, RadioConfig, UeRadioConfig};
use crate::rrc::{CellParameters, HandoverConfig, MessageTimes, RrcConfig};
use lasthop_bearer::{ConfigError, Warning, check, within};
use lasthop_lte_l2::pdcp::LteBearerConfig;
use lasthop_net::QueueConfig;

/// The configuration of a [`RadioNetwork`](super::RadioNetwork).
#[derive(Clone, Debug, Default)]
pub struct NetworkConfig {
    /// The cells.
    pub cells: IndexVec<CellId, CellConfig>,
    /// The UEs.
    pub ues: IndexVec<UeId, UeConfig>,
    /// The data radio bearers; a bearer's id is its index here.
    pub bearers: Vec<DrbConfig>,
    /// Pairs of UEs with a sidelink; their bearers' ids follow those of `bearers`.
    pub pairs: Vec<PairConfig>,
    /// Groups of receivers for one transmitting UE; their bearers' ids, one for each receiver,
    /// follow those of `pairs`.
    pub groups: Vec<GroupConfig>,
    /// Radio parameters of all links.
    pub radio: RadioConfig,
    /// Handover between cells, with a gateway and a backhaul behind them. None: UEs stay in their
    /// cells, and packets enter at their eNB.
    pub handover: Option<HandoverConfig>,
    /// The ground is wrapped around.
    pub wrap: Option<WrapAround>,
}

impl NetworkConfig {
    /// Path loss, shadowing, antennas and movement of all links, with the draws of the run `seed`.
    pub fn propagation(&self, seed: u64) -> Propagation {
        let (cells, ues) = (self.cells.iter().map(|c| &c.radio), self.ues.iter().map(|u| &u.radio));
        let mut all = Propagation::new(&self.radio, TTI, cells, ues, seed).wrapped(self.wrap);
        for (ue, config) in self.ues.enumerate() {
            if let Some(track) = &config.track {
                all.follow(ue, track.clone());
            }
        }
        all
    }

    /// The cell among `cells` whose reference signals have the most power at `ue` at the start, at
    /// large scale; of equal ones the first. `cells` are in the order of their ids.
    pub fn strongest(
        &self,
        propagation: &mut Propagation,
        ue: UeId,
        cells: impl Iterator<Item = CellId>,
    ) -> Option<CellId> {
        let position = propagation.position(ue, Tti(0));
        let mut best = None;
        let mut cells = cells.peekable();
        for (cell, gain) in propagation.gains_at(ue, &position) {
            if cells.next_if_eq(&cell).is_none() {
                continue;
            }
            let rsrp_mw = self.cells[cell].reference_power_mw() * f64::from(gain);
            if best.is_none_or(|(most, _)| rsrp_mw > most) {
                best = Some((rsrp_mw, cell));
            }
        }
        best.map(|(_, cell)| cell)
    }
}

/// Profile of a cell: a set of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellProfile {
    /// The defaults of Lasthop: the standard where it has a rule, and a well-designed eNB where the
    /// standard leaves a choice.
    #[default]
    Lasthop,
    /// ns-3's LENA as of release 3.28.
    #[serde(rename = "ns3-3.28")]
    Ns3Release28,
    /// ns-3's LENA as of release 3.44.
    #[serde(rename = "ns3-3.44")]
    Ns3Release44,
    /// SimuLTE.
    Simulte,
}

impl CellProfile {
    /// All profiles.
    pub const ALL: [CellProfile; 4] =
        [CellProfile::Lasthop, CellProfile::Ns3Release28, CellProfile::Ns3Release44, CellProfile::Simulte];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            CellProfile::Lasthop => "lasthop",
            CellProfile::Ns3Release28 => "ns3-3.28",
            CellProfile::Ns3Release44 => "ns3-3.44",
            CellProfile::Simulte => "simulte",
        }
    }
}

/// A cell: a sector of an eNB on one pair of carriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellConfig {
    /// The cell's eNB: a node to which links lead. Unset: an eNB of its own, with the cell's name.
    /// Cells of one eNB are its sectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enb: Option<String>,
    /// Profile of the cell: the values of `timing`, `downlink` and `uplink` that are not set.
    pub profile: CellProfile,
    /// Resource blocks of the carrier, each direction: 6, 15, 25, 50, 75 or 100 (TS 36.101 table
    /// 5.6-1).
    pub resource_blocks: u32,
    /// The cell is switched off: it neither transmits nor receives. The value may change during a
    /// run, for a cell that fails or returns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub down: bool,
    /// Times of the procedures, in TTIs.
    pub timing: TimingConfig,
    /// Position and transmitter.
    pub radio: CellRadioConfig,
    /// Scheduling, link adaptation and HARQ of the downlink.
    pub downlink: DownlinkConfig,
    /// Requests and grants of the uplink.
    pub uplink: UplinkConfig,
    /// Sidelinks.
    pub sidelink: SidelinkCellConfig,
    /// Connections.
    pub rrc: RrcConfig,
}

impl CellConfig {
    /// Parameters of the cell for RRC's procedures.
    pub fn rrc_parameters(&self) -> CellParameters {
        let TimingConfig { decode, grant, .. } = self.timing;
        CellParameters { rrc: self.rrc, messages: MessageTimes { decode, grant } }
    }

    /// Most layers of a downlink transmission.
    pub fn most_layers(&self) -> usize {
        match self.downlink.mimo.model {
            _ if !self.downlink.mimo.two_code_words() => 1,
            MimoModel::Gains => 2,
            MimoModel::Physical => self.transmit_antennas(),
        }
    }

    /// Antennas that transmit the downlink.
    pub fn transmit_antennas(&self) -> usize {
        let usual = if self.downlink.mimo.is_physical() { 2 } else { 1 };
        self.radio.transmit_antennas.unwrap_or(usual) as usize
    }
}

impl Default for CellConfig {
    fn default() -> Self {
        CellConfig {
            enb: None,
            down: false,
            profile: CellProfile::Lasthop,
            resource_blocks: 100,
            timing: TimingConfig::default(),
            radio: CellRadioConfig::default(),
            downlink: DownlinkConfig::default(),
            uplink: UplinkConfig::default(),
            sidelink: SidelinkCellConfig::default(),
            rrc: RrcConfig::default(),
        }
    }
}

/// Times of the procedures in a cell, in TTIs of 1 ms. The defaults are those of FDD (TS 36.213
/// clauses 7.3, 8, 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimingConfig {
    /// From the TTI of a transport block to the start of the TTI in which the receiver has decoded
    /// the block: one TTI for the transmission, the others for processing (TR 36.912 annex B.2 has
    /// 1 + 3 for HARQ).
    pub decode: u64,
    /// From a downlink transport block to its HARQ feedback, and from the feedback to the earliest
    /// retransmission.
    pub feedback: u64,
    /// From an uplink grant to its transmission, and from the transmission to its PHICH.
    pub grant: u64,
    /// As `decode`, for blocks of the uplink. Unset: `decode`. A model whose UEs fill a block when
    /// they receive the grant has a smaller `grant` and a larger value here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_decode: Option<u64>,
    /// The time by which the eNB processes an uplink transport block before the TTI that
    /// `uplink_decode` gives, below 1 ms. ns-3: one symbol of 14, because the last one carries the
    /// sounding reference signal.
    #[serde(skip_serializing_if = "is_zero")]
    pub uplink_lead: Duration,
    /// The time after the start of its TTI at which a UE whose RLC has `shortcuts.event_reports`
    /// fills an uplink transport block and starts timers, below 1 ms. ns-3: three symbols of 14,
    /// after which the grant is decoded.
    #[serde(skip_serializing_if = "is_zero")]
    pub uplink_fill: Duration,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
const fn is_zero(d: &Duration) -> bool {
    d.is_zero()
}

impl Default for TimingConfig {
    fn default() -> Self {
        TimingConfig {
            decode: 4,
            feedback: 4,
            grant: 4,
            uplink_decode: None,
            uplink_lead: Duration::ZERO,
            uplink_fill: Duration::ZERO,
        }
    }
}

impl TimingConfig {
    /// From the TTI of an uplink transport block to that in which the eNB has decoded it.
    #[inline]
    pub fn decode_of_uplink(&self) -> u64 {
        self.uplink_decode.unwrap_or(self.decode)
    }

    /// True if, with these times of the cells, neither end uses the result of a reception in the
    /// next TTI, and the event of a block that is not decoded is in a TTI with its feedback: such
    /// an event has no effect then. It would find another block in the process if a UE changed to
    /// a cell of other times.
    pub(super) fn lets_results_wait<'a>(mut cells: impl Iterator<Item = &'a TimingConfig>) -> bool {
        let Some(timing) = cells.next() else { return false };
        let equal = cells.all(|other| other == timing);
        equal && timing.decode == timing.feedback && timing.decode.min(timing.decode_of_uplink()) > 1
    }
}

impl CellConfig {
    /// The schedulers of both directions, downlink first.
    pub const fn schedulers(&self) -> [&SchedulerConfig; 2] {
        [&self.downlink.scheduler, &self.uplink.scheduler]
    }
    /// Power of a resource block at the antenna, all blocks in use [mW].
    pub fn reference_power_mw(&self) -> f64 {
        milliwatts(self.radio.power) / f64::from(self.resource_blocks)
    }

    /// Power of a resource element at the antenna, all blocks in use [mW].
    pub(super) fn element_power_mw(&self) -> f64 {
        milliwatts(self.radio.power) / f64::from(12 * self.resource_blocks)
    }

    /// Refuses invalid values.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(
            [6, 15, 25, 50, 75, 100].contains(&self.resource_blocks),
            "resource_blocks",
            "a carrier has 6, 15, 25, 50, 75 or 100 resource blocks (1.4, 3, 5, 10, 15, 20 MHz)",
        )?;
        for (key, ttis) in [
            ("timing.decode", self.timing.decode),
            ("timing.uplink_decode", self.timing.decode_of_uplink()),
            ("timing.feedback", self.timing.feedback),
            ("timing.grant", self.timing.grant),
        ] {
            check((1..=16).contains(&ttis), key, "1 to 16 TTIs")?;
        }
        check(self.timing.uplink_lead < TTI, "timing.uplink_lead", "below 1 ms")?;
        check(self.timing.uplink_fill < TTI, "timing.uplink_fill", "below 1 ms")?;
        check(
            self.timing.decode <= self.timing.feedback,
            "timing.decode",
            "feedback follows the decoding of the block: it cannot come first (`timing.feedback`)",
        )?;
        check(
            self.timing.decode_of_uplink() + self.timing.grant <= PROCESSES as u64,
            "timing.grant",
            "the uplink repeats a block 8 TTIs after it was sent: `timing.decode` and this one come first",
        )?;
        let transmit = self.transmit_antennas();
        check(
            (transmit > 1) == self.downlink.mimo.is_physical(),
            "radio.transmit_antennas",
            "transmission mode 1 (`downlink.mimo.mode`) and the model of gains send from one antenna, modes 2 to 4 from 2 or 4",
        )?;
        let mut warnings = Vec::new();
        within("radio", self.radio.validate().map(|()| Vec::new()), &mut warnings)?;
        within("downlink", self.downlink.validate(), &mut warnings)?;
        if let Some(reuse) = &self.downlink.reuse {
            let bandwidth = Bandwidth::from_prbs(self.resource_blocks as usize).unwrap_or_default();
            let cell = DownlinkCell::new(&self.downlink, bandwidth, self.downlink.adaptation(bandwidth));
            check(
                reuse.on(&cell.band, cell.usable).is_some(),
                "downlink.reuse",
                "centre and edge each need a whole resource block group of what the cell may use (TS 36.213 table 7.1.6.1-1)",
            )?;
        }
        within("uplink", self.uplink.validate(self.resource_blocks), &mut warnings)?;
        within("sidelink", self.sidelink.validate().map(|()| Vec::new()), &mut warnings)?;
        within("rrc", self.rrc.validate(), &mut warnings)?;
        Ok(warnings)
    }
}

/// A UE.
#[derive(Clone, Debug, PartialEq)]
pub struct UeConfig {
    /// The serving cell at the start.
    pub serving: CellId,
    /// Position and radio of the UE.
    pub radio: UeRadioConfig,
    /// The recorded track of the UE, instead of `radio.mobility`.
    pub track: Option<Arc<Track>>,
    /// Below RLC there is always data to send, by direction: padding where the bearers have none.
    /// Measures the capacity of a cell.
    pub full_buffer: [bool; 2],
    /// Semi-persistent scheduling in the downlink.
    pub persistent: Option<PersistentConfig>,
    /// Semi-persistent scheduling in the uplink.
    pub persistent_uplink: Option<UplinkPersistentConfig>,
}

impl UeConfig {
    /// Speed for fading: the mean of the movement, unless `radio.speed` is set.
    pub fn fading_speed(&self) -> Speed {
        let track = self.track.as_ref().map(|t| Speed(t.mean_speed()));
        self.radio.speed.or(track).unwrap_or_else(|| self.radio.fading_speed())
    }

    /// A UE with the defaults of all other values.
    pub fn served_by(serving: CellId) -> UeConfig {
        UeConfig {
            serving,
            radio: UeRadioConfig::default(),
            track: None,
            full_buffer: [false; 2],
            persistent: None,
            persistent_uplink: None,
        }
    }
}

/// A data radio bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct DrbConfig {
    /// The bearer's UE.
    pub ue: UeId,
    /// PDCP and RLC at both ends.
    pub layers: LteBearerConfig,
    /// Quality of service.
    pub qos: Qos,
    /// The queue of the network's packets until MAC requests them; None: in RLC.
    pub ip_buffer: Option<QueueConfig>,
}

/// A UE that transmits to several others of its cell at once: multicast over the sidelink.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupConfig {
    /// The transmitter.
    pub from: UeId,
    /// The receivers, at least one, each once.
    pub to: Vec<UeId>,
    /// PDCP and RLC of the sender and of each receiver, unacknowledged mode.
    pub layers: LteBearerConfig,
    /// The link; all of its `transmissions` are made, since receivers send no feedback.
    pub link: SidelinkConfig,
    /// The CQI from which the MCS follows, 1 to 15; None: that of the worst link of the group.
    pub cqi: Option<u8>,
}

/// Two UEs of one cell with a sidelink between them.
#[derive(Clone, Debug, PartialEq)]
pub struct PairConfig {
    /// The two UEs.
    pub ues: [UeId; 2],
    /// PDCP and RLC at both ends of the sidelink.
    pub layers: LteBearerConfig,
    /// The link.
    pub link: SidelinkConfig,
    /// The mode at the start: from the first to the second, and back.
    pub mode: [LinkMode; 2],
    /// Mode selection during the run; None: by the scenario.
    pub selection: Option<SelectionConfig>,
    /// PDCP keeps packets that a mode switch would lose, and delivers in order.
    pub lossless: bool,
    /// The bearer of each UE to the eNB, which carries its packets in infrastructure mode.
    pub infrastructure: [BearerId; 2],
}
