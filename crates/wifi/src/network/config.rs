//! Configuration of wireless LANs: common parameters, access points, stations.

use lasthop_net::aqm::CodelConfig;
use lasthop_radio::{FadingProfile, Mobility, PathLoss};
use lasthop_units::{ApId, Bitrate, Bytes, Db, Dbm, Duration, Hertz, IndexVec, Metres, StationId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::mac::elements::Network;
use crate::mac::{Access, AggregationConfig, Category};
use crate::phy::{Compat, Format, Guard, Mode, NoSuchMode, Width};
use crate::rate::RateConfig;

/// The whole configuration of a [`Wlan`](super::Wlan).
#[derive(Clone, Debug, Default)]
pub struct WlanConfig {
    /// Parameters of all radio links.
    pub radio: AirConfig,
    /// Access points.
    pub aps: IndexVec<ApId, ApConfig>,
    /// Stations.
    pub stations: IndexVec<StationId, StationConfig>,
}

/// Parameters of all wireless LANs of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AirConfig {
    /// Path loss model.
    pub path_loss: PathLoss,
    /// Standard deviation of shadowing, 0 dB to 30 dB, drawn once for each pair of devices. Unset:
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<Db>,
    /// Fast fading of every link. Across the band it is averaged to an effective SNR.
    pub fading: FadingProfile,
    /// Path loss of moving stations is computed again after this time.
    pub refresh: Duration,
    /// Least power at which the preamble of a PPDU is detected, at 20 MHz; 3 dB higher for each
    /// doubling of the width (clause 21.3.18.5.3).
    pub preamble_detection: Dbm,
    /// Least power at which signals of any kind keep the medium busy, at 20 MHz.
    pub energy_detection: Dbm,
    /// Least SINR at which a receiver locks on to a preamble.
    pub preamble_sinr: Db,
    /// A receiver that is locked on to a preamble changes to another one that is this much stronger
    /// and begins within the first 16 us. Unset: it never changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Db>,
    /// The reading of the standard by which PPDU durations are computed.
    pub compat: Compat,
}

impl Default for AirConfig {
    fn default() -> Self {
        AirConfig {
            path_loss: PathLoss::Friis,
            shadowing: None,
            fading: FadingProfile::None,
            refresh: Duration::from_millis(10),
            preamble_detection: Dbm(-82.0),
            energy_detection: Dbm(-62.0),
            preamble_sinr: Db(4.0),
            capture: Some(Db(5.0)),
            compat: Compat::Standard,
        }
    }
}

/// An amendment of IEEE 802.11: which rates, and how stations contend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Standard {
    /// DSSS and CCK in 2.4 GHz, DCF.
    #[serde(rename = "802.11b")]
    B,
    /// OFDM in 5 GHz, DCF.
    #[serde(rename = "802.11a")]
    A,
    /// HT with EDCA.
    #[serde(rename = "802.11n")]
    N,
    /// VHT with EDCA.
    #[default]
    #[serde(rename = "802.11ac")]
    Ac,
}

impl Standard {
    /// Format of its data PPDUs.
    pub const fn format(self) -> Format {
        match self {
            Standard::B => Format::Dsss,
            Standard::A => Format::Ofdm,
            Standard::N => Format::Ht,
            Standard::Ac => Format::Vht,
        }
    }
    /// True for standards with EDCA and QoS data, false with DCF.
    pub const fn qos(self) -> bool {
        matches!(self, Standard::N | Standard::Ac)
    }
    /// aCWmin.
    pub const fn cw_min(self) -> u32 {
        if matches!(self, Standard::B) { 31 } else { 15 }
    }
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Standard::B => "802.11b",
            Standard::A => "802.11a",
            Standard::N => "802.11n",
            Standard::Ac => "802.11ac",
        }
    }
}

/// Where a device is, and its radio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceRadioConfig {
    /// x, y and height; a height of 0 m to 100 km.
    pub position: [Metres; 3],
    /// How it moves.
    pub mobility: Mobility,
    /// Transmit power over the whole channel, -50 dBm to 60 dBm.
    pub power: Dbm,
    /// Noise figure of the receiver, 0 dB to 50 dB.
    pub noise_figure: Db,
}

impl Default for DeviceRadioConfig {
    fn default() -> Self {
        DeviceRadioConfig {
            position: [Metres(10.0), Metres(0.0), Metres(1.5)],
            mobility: Mobility::Static,
            power: Dbm(16.0),
            noise_figure: Db(7.0),
        }
    }
}

impl DeviceRadioConfig {
    /// An access point's: at the origin, 2.5 m high, 20 dBm.
    pub const fn access_point() -> DeviceRadioConfig {
        DeviceRadioConfig {
            position: [Metres(0.0), Metres(0.0), Metres(2.5)],
            mobility: Mobility::Static,
            power: Dbm(20.0),
            noise_figure: Db(7.0),
        }
    }
}

/// What a scenario says of an access point's radio: keys that it leaves out are an access point's,
/// not a station's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RadioPatch {
    position: Option<[Metres; 3]>,
    mobility: Option<Mobility>,
    power: Option<Dbm>,
    noise_figure: Option<Db>,
}

fn over_access_point<'de, D: Deserializer<'de>>(d: D) -> Result<DeviceRadioConfig, D::Error> {
    let (given, own) = (RadioPatch::deserialize(d)?, DeviceRadioConfig::access_point());
    Ok(DeviceRadioConfig {
        position: given.position.unwrap_or(own.position),
        mobility: given.mobility.unwrap_or(own.mobility),
        power: given.power.unwrap_or(own.power),
        noise_figure: given.noise_figure.unwrap_or(own.noise_figure),
    })
}

/// Beacons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BeaconConfig {
    /// Time between two beacons; 100 TU of 1.024 ms. Zero: no beacons.
    pub interval: Duration,
    /// Length of a beacon frame with header and FCS.
    pub size: Bytes,
}

impl Default for BeaconConfig {
    fn default() -> Self {
        BeaconConfig { interval: Duration::from_micros(102_400), size: Bytes(250) }
    }
}

/// State of a station at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Not associated: authentication, association and block ack agreements take frames on the air.
    /// Data waits.
    #[default]
    Attach,
    /// Associated, block ack agreements in place where A-MPDUs are sent.
    Associated,
}

/// How an access point queues packets, for each access category.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum BufferConfig {
    /// One queue for all stations, first in first out; the station whose packet is the oldest is
    /// next.
    Fifo {
        /// Most packets, of all stations together.
        #[serde(default = "thousand")]
        packets: u32,
    },
    /// A queue for each station, served in turn.
    PerStation {
        /// Most packets of one station.
        #[serde(default = "thousand")]
        packets: u32,
    },
    /// FQ-CoDel for each station, as Linux' mac80211 has it.
    FqCodel(StationFqCodel),
}

const fn thousand() -> u32 {
    1000
}

/// Flow queues with CoDel for each station, and the order in which stations are served.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StationFqCodel {
    /// Most packets of one station. (mac80211's 8192 are for all stations of a radio.)
    pub packets: u32,
    /// Flow queues of a station.
    pub flows: u32,
    /// Bytes that a flow may send in each round (quantum).
    pub quantum: Bytes,
    /// CoDel's target.
    pub target: Duration,
    /// CoDel's interval.
    pub interval: Duration,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
    /// Stations share the time on the air equally; false: they are served in turn.
    pub airtime_fairness: bool,
    /// The queue of the driver and its hardware below FQ-CoDel, which takes packets before their
    /// turn on the air. Unset: no such queue; A-MPDUs are made from FQ-CoDel when their turn has
    /// come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverQueue>,
}

/// A queue below FQ-CoDel, first in first out for each station, and Linux' airtime queue limits
/// (AQL) for the packets that may enter it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DriverQueue {
    /// Most packets in the queue, of all stations of an access category.
    pub packets: u32,
    /// Take only as many packets of a station as its airtime limits allow.
    pub aql: bool,
    /// Estimated time on the air that a station may always have in this queue.
    pub aql_low: Duration,
    /// As `aql_low`, while all stations together have less than `aql_threshold`.
    pub aql_high: Duration,
    /// Estimated time of all stations together from which on each station may have no more than
    /// `aql_low`.
    pub aql_threshold: Duration,
    /// The station whose packet is sent next.
    #[serde(skip_serializing_if = "DriverOrder::is_turns")]
    pub order: DriverOrder,
}

/// In which order a driver's queue serves stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DriverOrder {
    /// Stations take turns.
    #[default]
    Turns,
    /// One queue of all stations, first in first out. The lifetime of a packet begins when it
    /// enters this queue (ns-3's WifiMacQueue below a queue disc).
    Oldest,
}

impl DriverOrder {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    const fn is_turns(&self) -> bool {
        matches!(self, DriverOrder::Turns)
    }
}

impl Default for DriverQueue {
    fn default() -> Self {
        // Linux 6.1, include/net/cfg80211.h: IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L 5000, _H 12000,
        // IEEE80211_AQL_THRESHOLD 24000 [us].
        DriverQueue {
            packets: 1000,
            aql: true,
            aql_low: Duration::from_millis(5),
            aql_high: Duration::from_millis(12),
            aql_threshold: Duration::from_millis(24),
            order: DriverOrder::Turns,
        }
    }
}

impl Default for StationFqCodel {
    fn default() -> Self {
        // Linux 6.1: net/fq.h and ieee80211_txq_setup_flows (limit 8192, 4096 flows, quantum 300),
        // sta_info_alloc (target 20 ms, interval 100 ms, ECN).
        StationFqCodel {
            packets: 8192,
            flows: 4096,
            quantum: Bytes(300),
            target: Duration::from_millis(20),
            interval: CodelConfig::default().interval,
            ecn: true,
            airtime_fairness: true,
            driver: None,
        }
    }
}

impl BufferConfig {
    /// True if the queues of an access point mark ECN-capable packets.
    pub const fn marks(&self) -> bool {
        matches!(self, BufferConfig::FqCodel(c) if c.ecn)
    }
    /// Packets that fit for one station; None: the limit is that of all stations together.
    pub const fn packets_of_a_station(&self) -> Option<u32> {
        match self {
            BufferConfig::Fifo { .. } => None,
            BufferConfig::PerStation { packets } => Some(*packets),
            BufferConfig::FqCodel(q) => Some(q.packets),
        }
    }

    /// Packets of the limit, of one station or of all.
    pub const fn packets(&self) -> u32 {
        match self {
            BufferConfig::Fifo { packets } | BufferConfig::PerStation { packets } => *packets,
            BufferConfig::FqCodel(q) => q.packets,
        }
    }

    /// Packets that the driver's queue takes, of all stations; 0 without such a queue.
    pub fn driver_packets(&self) -> u64 {
        self.driver().map_or(0, |d| d.packets.into())
    }

    /// The driver's queue, if there is one.
    pub(super) const fn driver(&self) -> Option<DriverQueue> {
        match self {
            BufferConfig::FqCodel(q) => q.driver,
            _ => None,
        }
    }

    /// These limits for queues that were created with `made`; all other properties of the queues
    /// stay those of `made`.
    pub(super) const fn within(&self, made: &BufferConfig) -> BufferConfig {
        match (self, made) {
            (BufferConfig::FqCodel(new), BufferConfig::FqCodel(old)) => {
                BufferConfig::FqCodel(StationFqCodel {
                    packets: new.packets,
                    airtime_fairness: new.airtime_fairness,
                    ..*old
                })
            }
            (BufferConfig::Fifo { .. }, BufferConfig::Fifo { .. })
            | (BufferConfig::PerStation { .. }, BufferConfig::PerStation { .. }) => *self,
            _ => *made,
        }
    }
}

impl Default for BufferConfig {
    fn default() -> Self {
        BufferConfig::FqCodel(StationFqCodel::default())
    }
}

/// Other EDCA parameters than the standard's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EdcaConfig {
    /// Background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<Access>,
    /// Best effort; with DCF the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_effort: Option<Access>,
    /// Video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<Access>,
    /// Voice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<Access>,
}

impl EdcaConfig {
    pub(super) const fn given(&self, category: Category) -> Option<Access> {
        match category {
            Category::Background => self.background,
            Category::BestEffort => self.best_effort,
            Category::Video => self.video,
            Category::Voice => self.voice,
        }
    }
}

/// An access point and its basic service set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApConfig {
    /// Node of the access point, to which links lead. Unset: the node has the name of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The amendment of IEEE 802.11 that its stations use.
    pub standard: Standard,
    /// Channel number: 1 to 14 in 2.4 GHz, 36 to 177 in 5 GHz. Devices on the same number share a
    /// medium; those on different numbers do not receive each other.
    pub channel: u16,
    /// Width of the channel.
    pub width: Width,
    /// Guard interval of data.
    pub guard_interval: Guard,
    /// Spatial streams, 1 to 4; MCS without a given number of streams use as many.
    pub streams: u8,
    /// How the rates of data are chosen, both ways, for stations whose table does not say it.
    pub rate: RateConfig,
    /// Rate of answers (ACK, CTS, block ack) and of RTS. Unset: the highest of 6, 12 and 24 Mbit/s
    /// that is not above the rate with the modulation and code of the data (clause 10.7.6.5.2;
    /// DSSS: of 1 and 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_rate: Option<Bitrate>,
    /// RTS and CTS precede frames (PSDUs) longer than this. Unset: no frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Bytes>,
    /// Transmissions of a frame up to the RTS threshold, and of an RTS, before it is discarded
    /// (dot11ShortRetryLimit).
    pub short_retry: u32,
    /// Transmissions of a frame beyond the RTS threshold (dot11LongRetryLimit).
    pub long_retry: u32,
    /// A packet that has been in the MAC for longer is discarded. Unset: none is. The standard's
    /// 500 TU are 512 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Duration>,
    /// A-MPDU and A-MSDU.
    pub aggregation: AggregationConfig,
    /// How long a receiver waits for a frame that others have overtaken.
    pub reorder_timeout: Duration,
    /// Parameters of contention that differ from the standard's.
    pub edca: EdcaConfig,
    /// How the access point queues packets.
    pub buffer: BufferConfig,
    /// Beacons.
    pub beacon: BeaconConfig,
    /// State of the stations at the start.
    pub start: InitialState,
    /// Where it is, and its radio.
    #[serde(deserialize_with = "over_access_point")]
    pub radio: DeviceRadioConfig,
}

impl Default for ApConfig {
    fn default() -> Self {
        ApConfig {
            node: None,
            standard: Standard::Ac,
            channel: 36,
            width: Width::W20,
            guard_interval: Guard::Long,
            streams: 1,
            rate: RateConfig::default(),
            control_rate: None,
            rts_threshold: None,
            short_retry: 7,
            long_retry: 4,
            lifetime: Some(Duration::from_micros(512_000)),
            aggregation: AggregationConfig::default(),
            reorder_timeout: Duration::from_millis(100),
            edca: EdcaConfig::default(),
            buffer: BufferConfig::default(),
            beacon: BeaconConfig::default(),
            start: InitialState::Attach,
            radio: DeviceRadioConfig::access_point(),
        }
    }
}

/// A station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StationConfig {
    /// Its access point.
    pub ap: ApId,
    /// How the rates of its link are chosen, both ways. None: as for its access point.
    pub rate: Option<RateConfig>,
    /// Packets that each of its queues holds.
    pub packets: u32,
    /// Where it is, and its radio.
    pub radio: DeviceRadioConfig,
}

impl ApConfig {
    /// The category that carries management frames: voice; with DCF best effort.
    pub(super) fn management_category(&self) -> Category {
        if self.standard.qos() { Category::Voice } else { Category::BestEffort }
    }

    /// Centre of the channel (table E-1 and clauses 15.4.4.3, 17.3.8.4.2).
    pub fn frequency(&self) -> Hertz {
        let n = f64::from(self.channel);
        Hertz(match self.channel {
            14 => 2484e6,
            1..=13 => 2407e6 + 5e6 * n,
            _ => 5000e6 + 5e6 * n,
        })
    }

    /// The fixed rate `mcs` of this access point: of 802.11a and b the rate with this number.
    ///
    /// # Errors
    /// `mcs` does not exist.
    pub fn mode(&self, mcs: u8, streams: Option<u8>) -> Result<Mode, NoSuchMode> {
        let streams = streams.unwrap_or(self.streams);
        let of = |table: &[u32]| {
            table.get(usize::from(mcs)).copied().ok_or_else(|| {
                NoSuchMode(format!("{} has rates 0 to {}, not {mcs}", self.standard.name(), table.len() - 1))
            })
        };
        match self.standard {
            Standard::B => Mode::dsss(of(&[10, 20, 55, 110])?),
            Standard::A => Mode::ofdm(of(&[6, 9, 12, 18, 24, 36, 48, 54])?),
            Standard::N if mcs < 8 => {
                Mode::ht(8 * (streams.max(1) - 1) + mcs, self.width, self.guard_interval)
            }
            Standard::N => Mode::ht(mcs, self.width, self.guard_interval),
            Standard::Ac => Mode::vht(mcs, streams, self.width, self.guard_interval),
        }
    }

    /// All rates with at most this number of streams, slowest first.
    pub fn modes(&self) -> Vec<Mode> {
        let top = if self.standard == Standard::N { 7 } else { 9 };
        let streams = if self.standard.qos() { self.streams } else { 1 };
        let all = (1..=streams).flat_map(|s| (0..=top).map(move |mcs| (mcs, s)));
        let mut modes: Vec<Mode> = all.filter_map(|(mcs, s)| self.mode(mcs, Some(s)).ok()).collect();
        modes.sort_by_key(|m| (m.rate(), m.streams()));
        modes
    }

    /// The rate of management frames and beacons: the lowest.
    pub(crate) fn lowest(&self) -> Mode {
        self.legacy(if self.standard == Standard::B { 1 } else { 6 })
    }
    /// The rate of DSSS or of OFDM with `mbps`, which exists.
    pub(super) fn legacy(&self, mbps: u32) -> Mode {
        let mode = if self.standard == Standard::B { Mode::dsss(10 * mbps) } else { Mode::ofdm(mbps) };
        mode.unwrap_or_else(|e| unreachable!("a rate of the standard: {e}"))
    }

    /// The network as its management frames describe it.
    pub(super) fn announced(&self) -> Network {
        Network {
            format: self.standard.format(),
            channel: self.channel,
            width: self.width,
            short_guard: self.guard_interval == Guard::Short,
            streams: self.streams,
            edca: self.standard.qos().then(|| Category::ALL.map(|category| self.access(category))),
            aggregation: self.aggregation,
        }
    }

    /// Contention parameters of a category.
    pub(crate) fn access(&self, category: Category) -> Access {
        let cw_min = self.standard.cw_min();
        let default = if self.standard.qos() { Access::edca(category, cw_min) } else { Access::dcf(cw_min) };
        self.edca.given(category).unwrap_or(default)
    }
}

/// The rate of responses that is configured, if it exists.
pub(super) fn control_mode(standard: Standard, rate: Bitrate) -> Option<Mode> {
    match standard {
        Standard::B => Mode::dsss(u32::try_from(rate.0 / 100_000).ok()?).ok(),
        _ => Mode::ofdm(u32::try_from(rate.0 / 1_000_000).ok()?).ok(),
    }
    .filter(|m| m.rate() == rate)
}
