//! Cell profiles: the values in which other simulators' cells differ from the standard and from
//! Lasthop's.

use crate::mac::adaptation::{McsRule, Subbands};
use crate::mac::bsr::Trailing;
use crate::mac::downlink::{AmcConfig, BlerTargetConfig, DownlinkConfig, MimoModel, PiroConfig};
use crate::mac::random_access::RandomAccessConfig;
use crate::mac::scheduler::{NoParameters, SchedulerConfig};
use crate::mac::sidelink::SidelinkCellConfig;
use crate::mac::uplink::{RacTimer, RequestConfig, Shares, UplinkConfig};
use crate::network::config::{CellConfig, CellProfile, TimingConfig};
use lasthop_bearer::OrInfinity;
use lasthop_units::{Dbm, Duration, Ratio};

/// The source of a value of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Key under `[cell.x]`.
    pub key: &'static str,
    /// Where the value was found.
    pub source: &'static str,
}

/// Differences of ns-3's cells. Both releases have the same cell.
const NS3: &[Source] = &[
    of("downlink.exact_shares", "RrFfMacScheduler: floor(groups / UEs) each"),
    of("downlink.whole_groups", "25 blocks are 12 groups of 2; one block is lost"),
    of("downlink.mcs_rule", "the worst CQI over the groups of an allocation"),
    of("downlink.amc.reference_blocks", "LteAmc: a block on one group"),
    of("downlink.amc.strictly_below", "LteAmc: efficiency < that of the MCS"),
    of("downlink.mimo.model", "LteUePhy, TxMode1Gain to TxMode7Gain: constants on the SINR of one antenna"),
    of("downlink.cqi.period", "LteUePhy: a report a TTI"),
    of("downlink.cqi.delay", "one TTI of report and two from MAC to the channel"),
    of("downlink.cqi.subbands", "A30 reports have a CQI for each group"),
    of("downlink.cqi.differential", "sub-bands have whole CQIs"),
    of("downlink.outer_loop.enabled", "there is none"),
    of("uplink.scheduler", "every scheduler of LENA does the same in the uplink"),
    of("uplink.shares", "RrFfMacScheduler: floor(blocks / UEs) each"),
    of("uplink.min_blocks", "RrFfMacScheduler: at least three, so that no block is too small"),
    of("uplink.pucch_blocks", "control channels are ideal"),
    of("uplink.amc", "LteAmc: the uplink's SINR through Piro's formula"),
    of("uplink.power_control.p0", "LteUePowerControl, PoNominalPusch -80"),
    of("uplink.power_control.alpha", "LteUePowerControl, Alpha 1.0"),
    of("uplink.power_aware", "one MCS from the SRS, however many blocks"),
    of("uplink.srs_period", "every SRS of the reference scenarios is fresh"),
    of("uplink.outer_loop.enabled", "there is none"),
    of("uplink.sr.period", "no SR: reports arrive by an ideal channel"),
    of("uplink.bsr.periodic_timer", "LteUeMac, BsrPeriodicity"),
    of("uplink.bsr.any_value", "1 ms is none of TS 36.331's values"),
    of("uplink.random_access.preamble_trans_max", "LteEnbMac, PreambleTransMax"),
    of("uplink.random_access.response_window", "LteEnbMac, RaResponseWindowSize"),
    of("uplink.random_access.retry_delay", "an attempt costs 3 + 3 + 1 ms"),
    of("uplink.random_access.collision", "LteEnbMac: the same preamble twice is no preamble"),
    of("uplink.random_access.contention_resolution", "there is no Msg4"),
];

/// Differences of SimuLTE's cells.
const SIMULTE: &[Source] = &[
    of("timing.grant", "grant at t + 9, data at t + 11 (Nardini and others)"),
    of("downlink.scheduler", "LteMacEnb, schedulingDisciplineDl MAXCI"),
    of("downlink.window", "LtePf: pfAlpha 0.95 is the weight of the newest TTI, so a = 1 / 0.95"),
    of("downlink.amc.target", "targetBler 0.001 of its feedback computation"),
    of("downlink.mimo.model", "no channel matrix: its transmission modes are rules on CQIs"),
    of("downlink.cqi.period", "LteDlFeedbackGenerator, fbPeriod"),
    of("downlink.cqi.delay", "LteDlFeedbackGenerator, fbDelay"),
    of("downlink.cqi.subbands", "feedbackType ALLBANDS"),
    of("downlink.cqi.differential", "sub-bands have whole CQIs"),
    of("downlink.outer_loop.enabled", "there is none"),
    of("downlink.control_errors", "control messages are never lost"),
    of("uplink.scheduler", "LteMacEnb, schedulingDisciplineUl MAXCI"),
    of("uplink.window", "as in the downlink"),
    of("uplink.amc.target", "as in the downlink"),
    of(
        "uplink.request",
        "RAC at t, report at t + 5 (Nardini and others); 10 TTIs are raResponseWindow of the paper's scenario; \
         LteMacUe evaluates the timer only where it has no grant, and takes one TTI more to clear the last RAC",
    ),
    of("uplink.request_blocks", "the grant of a RAC is one block"),
    of("uplink.pucch_blocks", "control channels are ideal"),
    of("uplink.control_errors", "control messages are never lost"),
    of("uplink.stealing", "a switch there as here"),
    of("uplink.outer_loop.enabled", "there is none"),
    of("uplink.power_control.enabled", "UEs send with their full power"),
    of("uplink.power_aware", "one CQI, however many blocks"),
    of("uplink.bsr.trailing", "a report of what remains, after a RAC"),
    of("uplink.bsr.retx_timer", "retxBsrTimer 40"),
    of("uplink.bsr.any_value", "40 ms is none of TS 36.331's values"),
    of("sidelink.half_duplex", "a UE transmits and receives in one TTI"),
    of("sidelink.max_mcs", "the MCS of the uplink, up to 64QAM"),
];

const fn of(key: &'static str, source: &'static str) -> Source {
    Source { key, source }
}

impl CellProfile {
    /// A description in one line.
    pub const fn summary(self) -> &'static str {
        match self {
            CellProfile::Lasthop => {
                "the standard where it has a rule, otherwise a well-designed eNB: the defaults of all keys"
            }
            CellProfile::Ns3Release28 => "ns-3's LENA, release 3.28",
            CellProfile::Ns3Release44 => {
                "ns-3's LENA, release 3.44: as far as these keys reach, the same cell as in 3.28"
            }
            CellProfile::Simulte => "SimuLTE",
        }
    }

    /// The source of each value in which the profile differs from Lasthop's.
    pub const fn sources(self) -> &'static [Source] {
        match self {
            CellProfile::Lasthop => &[],
            CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => NS3,
            CellProfile::Simulte => SIMULTE,
        }
    }

    /// A cell with all values of the profile.
    pub fn cell(self) -> CellConfig {
        CellConfig {
            profile: self,
            timing: self.timing(),
            downlink: self.downlink(),
            uplink: self.uplink(),
            sidelink: self.sidelink(),
            ..CellConfig::default()
        }
    }

    /// The sidelinks of such a cell.
    pub fn sidelink(self) -> SidelinkCellConfig {
        match self {
            CellProfile::Simulte => {
                SidelinkCellConfig { half_duplex: false, max_mcs: 28, ..SidelinkCellConfig::default() }
            }
            _ => SidelinkCellConfig::default(),
        }
    }

    /// The uplink of such a cell.
    pub fn uplink(self) -> UplinkConfig {
        let mut c = UplinkConfig::default();
        match self {
            CellProfile::Lasthop => {}
            CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => {
                c.scheduler = SchedulerConfig::RoundRobin(NoParameters {});
                c.shares = Shares::Fixed;
                (c.min_blocks, c.request_blocks, c.pucch_blocks) = (3, 3, 0);
                c.amc = AmcConfig::Piro(PiroConfig::default());
                c.srs_period = Duration::from_millis(1);
                (c.power_control.p0, c.power_control.alpha) = (Dbm(-80.0), 1.0);
                c.power_aware = false;
                c.outer_loop.enabled = false;
                c.sr.period = Duration::from_millis(1);
                c.bsr.periodic_timer = OrInfinity::Value(Duration::from_millis(1));
                c.bsr.any_value = true;
                c.random_access = RandomAccessConfig::ns3();
            }
            CellProfile::Simulte => {
                c.scheduler = SchedulerConfig::Tdmt(NoParameters {});
                c.window = SIMULTE_WINDOW;
                c.amc = simulte_amc();
                c.request = RequestConfig::Rac { answer: 3, timer: 10, counts: RacTimer::Paused };
                (c.request_blocks, c.pucch_blocks) = (1, 0);
                c.stealing = false;
                c.power_aware = false;
                c.control_errors = false;
                c.power_control.enabled = false;
                c.outer_loop.enabled = false;
                c.bsr.trailing = Trailing::Always;
                c.bsr.retx_timer = Duration::from_millis(40);
                c.bsr.any_value = true;
            }
        }
        c
    }

    /// The timing of such a cell.
    pub fn timing(self) -> TimingConfig {
        match self {
            CellProfile::Simulte => TimingConfig { grant: 2, ..TimingConfig::default() },
            CellProfile::Lasthop | CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => {
                TimingConfig::default()
            }
        }
    }

    /// The downlink of such a cell.
    pub fn downlink(self) -> DownlinkConfig {
        let mut c = DownlinkConfig::default();
        match self {
            CellProfile::Lasthop => {}
            CellProfile::Ns3Release28 | CellProfile::Ns3Release44 => {
                c.exact_shares = true;
                c.whole_groups = true;
                c.mcs_rule = McsRule::Lowest;
                c.amc = AmcConfig::BlerTarget(BlerTargetConfig {
                    reference_blocks: 2,
                    strictly_below: true,
                    ..BlerTargetConfig::default()
                });
                c.mimo.model = MimoModel::Gains;
                (c.cqi.period, c.cqi.delay) = (1, 3);
                (c.cqi.subbands, c.cqi.differential) = (Subbands::Group, false);
                c.outer_loop.enabled = false;
            }
            CellProfile::Simulte => {
                c.scheduler = SchedulerConfig::Tdmt(NoParameters {});
                c.window = SIMULTE_WINDOW;
                c.amc = simulte_amc();
                c.mimo.model = MimoModel::Gains;
                (c.cqi.period, c.cqi.delay) = (6, 1);
                (c.cqi.subbands, c.cqi.differential) = (Subbands::Group, false);
                c.outer_loop.enabled = false;
                c.control_errors = false;
            }
        }
        c
    }
}

/// pfAlpha 0.95 is the weight of the newest TTI.
const SIMULTE_WINDOW: f64 = 1.0 / 0.95;

fn simulte_amc() -> AmcConfig {
    AmcConfig::BlerTarget(BlerTargetConfig { target: Ratio(0.001), ..BlerTargetConfig::default() })
}
