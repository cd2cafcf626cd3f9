//! Rows of each scenario profile: keys, values, and the behaviour that is left out.

use lasthop_tcp::CcName;

/// The tables of a scenario to which a row applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each `[flow.<name>]` that runs over TCP.
    Flow,
    /// The flows among them that run this congestion control on the peer's stack: no other
    /// `tcp.profile` and no other `tcp.cc` is written.
    Control(CcName),
    /// `[radio]`, if there are cells.
    Radio,
    /// `[handover]`, if the scenario has that table.
    Handover,
    /// Each `[cell.<name>]`.
    Cell,
    /// Each `[ue.<name>]`.
    Ue,
    /// The `rlc` table of each UE, of each dedicated bearer, and of each `[bearer.<name>]` of kind
    /// `lte-rlc`.
    Rlc,
    /// The `pdcp` table of the same bearers.
    Pdcp,
    /// `[wlan]`, if there are access points.
    Wlan,
    /// Each `[ap.<name>]`.
    Ap,
    /// Each `[station.<name>]`.
    Station,
}

impl Scope {
    /// The table, as in the documentation.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Flow | Self::Control(_) => "flow.NAME",
            Self::Radio => "radio",
            Self::Handover => "handover",
            Self::Cell => "cell.NAME",
            Self::Ue => "ue.NAME",
            Self::Rlc => "ue.NAME.rlc",
            Self::Pdcp => "ue.NAME.pdcp",
            Self::Wlan => "wlan",
            Self::Ap => "ap.NAME",
            Self::Station => "station.NAME",
        }
    }
}

/// One value of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The tables with the key.
    pub place: Scope,
    /// The key below the table.
    pub key: &'static str,
    /// The value, as TOML.
    pub value: &'static str,
    /// The corresponding parameter of the peer.
    pub source: &'static str,
}

const fn row(place: Scope, key: &'static str, value: &'static str, source: &'static str) -> Row {
    Row { place, key, value, source }
}

/// A simulator whose behaviour a scenario may imitate.
#[derive(Debug)]
pub struct Peer {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Its values.
    pub rows: &'static [Row],
    /// The behaviour that its rows do not imitate.
    pub limits: &'static [&'static str],
}

/// Every peer, in the order of the documentation.
pub const PEERS: &[Peer] = &[Peer {
    name: "ns3-3.44",
    summary: "ns-3 with LENA and its Wi-Fi module, release 3.44",
    rows: NS3_44,
    limits: NS3_LIMITS,
}];

use Scope::{Ap, Cell, Flow, Handover, Pdcp, Rlc, Station, Ue, Wlan};

const CUBIC: Scope = Scope::Control(CcName::Cubic);

const NS3_44: &[Row] = &[
    row(Flow, "tcp.profile", "'ns3-3.44'", "the stack: `lasthop describe profile ns3-3.44`"),
    row(
        CUBIC,
        "tcp.abc_limit",
        "64",
        "TcpCubic::IncreaseWindow adds every segment that an ACK covers in slow start",
    ),
    row(
        CUBIC,
        "tcp.ssthresh_basis",
        "'cwnd'",
        "TcpCubic::GetSsThresh: of the congestion window, not of the flight",
    ),
    row(CUBIC, "tcp.hystart", "'ns3'", "TcpCubic::HystartUpdate, HyStartDelayMax 1 s"),
    row(Cell, "profile", "'ns3-3.44'", "the cell: `lasthop describe profile ns3-3.44`"),
    row(
        Cell,
        "timing.decode",
        "3",
        "two TTIs from the scheduler to the channel (m_macChTtiDelay), one on the air",
    ),
    row(
        Cell,
        "timing.grant",
        "2",
        "the eNB's m_macChTtiDelay; the UE fills its block when it reads the grant",
    ),
    row(Cell, "timing.uplink_decode", "5", "UL_PUSCH_TTIS_DELAY after the grant, one on the air"),
    row(Cell, "timing.uplink_lead", "'71.429 us'", "UL_DATA_DURATION: the last symbol carries the SRS"),
    row(
        Cell,
        "timing.uplink_fill",
        "'214.286 us'",
        "DL_CTRL_DELAY_FROM_SUBFRAME_START: the UE reads its grant behind three control symbols",
    ),
    row(Cell, "downlink.cqi.interference", "'data'", "LteHelper::UsePdschForCqiGeneration true"),
    row(
        Cell,
        "downlink.beyond_need",
        "true",
        "the schedulers give groups by their metric, regardless of what a UE has to receive",
    ),
    row(Cell, "radio.power", "'30 dBm'", "LteEnbPhy::TxPower"),
    row(Cell, "radio.noise_figure", "'5 dB'", "LteEnbPhy::NoiseFigure"),
    row(Ue, "radio.power", "'10 dBm'", "LteUePhy::TxPower"),
    row(Ue, "radio.noise_figure", "'9 dB'", "LteUePhy::NoiseFigure"),
    row(Rlc, "compat", "'ns3'", "LteRlcAm, LteRlcUm"),
    row(
        Rlc,
        "shortcuts.event_reports",
        "true",
        "LteRlcAm::DoReportBufferStatus, UpdateDlRlcBufferInfo of the schedulers",
    ),
    row(Rlc, "am.t_poll_retransmit", "'20 ms'", "LteRlcAm::PollRetransmitTimer"),
    row(Rlc, "am.t_reordering", "'10 ms'", "LteRlcAm::ReorderingTimer"),
    row(Rlc, "am.t_status_prohibit", "'10 ms'", "LteRlcAm::StatusProhibitTimer"),
    row(Rlc, "am.poll_pdu", "1", "LteRlcAm, m_pollPdu"),
    row(Rlc, "am.poll_byte", "'50 B'", "LteRlcAm, m_pollByte"),
    row(Rlc, "um.t_reordering", "'100 ms'", "LteRlcUm::ReorderingTimer"),
    row(Rlc, "buffer.bytes", "'10 KiB'", "LteRlcAm::MaxTxBufferSize, LteRlcUm::MaxTxBufferSize"),
    row(Pdcp, "discard_timer", "'infinity'", "LtePdcp has no discard timer"),
    row(Handover, "processing", "'0 s'", "LteUeRrc executes a command when it arrives"),
    row(Handover, "interruption", "'0 s'", "LteUePhy synchronises at once"),
    row(Handover, "s1.delay", "'0 s'", "PointToPointEpcHelper::S1uLinkDelay"),
    row(Handover, "x2.delay", "'0 s'", "PointToPointEpcHelper::X2LinkDelay"),
    row(Wlan, "compat", "'ns3'", "VhtPhy: no SIG-B field in the duration of a SU PPDU"),
    row(Ap, "lifetime", "'500 ms'", "WifiMacQueue::MaxDelay"),
    row(
        Ap,
        "buffer",
        "{ kind = 'fq-codel', packets = 10240, flows = 1024, quantum = '2296 B', target = '5 ms', \
         interval = '100 ms', ecn = true, airtime_fairness = false, \
         driver = { packets = 500, aql = false, aql_low = '5 ms', aql_high = '12 ms', \
         aql_threshold = '24 ms', order = 'oldest' } }",
        "FqCoDelQueueDisc (TrafficControlHelper::Default) above WifiMacQueue::MaxSize",
    ),
    row(Station, "packets", "500", "WifiMacQueue::MaxSize"),
];

/// Simulators for which there are profiles of the stack and of cells, and no rows of RLC, handover
/// or Wi-Fi: name, `tcp.profile`, `cell.profile`.
pub const PARTS: &[(&str, &str, &str)] =
    &[("ns3-3.28", "ns3-3.28", "ns3-3.28"), ("simulte", "inet", "simulte"), ("inet", "inet", "simulte")];

const NS3_LIMITS: &[&str] = &[
    "no run of release 3.44 was compared: the rows that are met are those of 3.37, whose CUBIC differs",
    "keys that are not listed keep their defaults: path loss, fading, links, applications, mobility among them",
    "`rlc.mode`: set it as LteEnbRrc::EpsBearerToRlcMapping (UM for bearers of the EPC by default)",
    "FqCoDel of the access point is one for each station, and none is above a station's own queue",
    "HARQ processes of grants without data, which ns-3's eNB keeps for 11 TTIs",
    "signalling bearers of connected UEs",
];
