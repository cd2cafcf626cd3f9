//! The table of all built-in algorithms.

use super::*;
use crate::config::{Config, VegasReading};

/// A parameter of an algorithm, for the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Key under `[flow.x.tcp]`, or a fixed constant's name.
    pub name: &'static str,
    /// Default, as written.
    pub default: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// One row of the registry.
pub struct Algorithm {
    /// The name in scenarios.
    pub name: &'static str,
    /// The enum value.
    pub id: CcName,
    /// One line for a list.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Parameters with provenance.
    pub parameters: &'static [Parameter],
    /// Where ns-3, INET and Linux differ from this and from each other.
    pub differs: &'static str,
    pub(super) new: fn(&Config) -> Cc,
}

impl CcName {
    /// The row of the registry; `None` for one of the caller's own.
    pub fn algorithm(self) -> Option<&'static Algorithm> {
        ALGORITHMS.iter().find(|a| a.id == self)
    }
}

/// Every algorithm, in the order of the documentation.
pub const ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        name: "reno",
        id: CcName::Reno,
        summary: "additive increase, multiplicative decrease",
        source: "RFC 5681; V. Jacobson, Congestion avoidance and control, SIGCOMM 1988",
        parameters: reno::PARAMETERS,
        differs: reno::DIFFERS,
        new: |c| Cc::Reno(Reno::new(c)),
    },
    Algorithm {
        name: "vegas",
        id: CcName::Vegas,
        summary: "holds a few segments in the network's queues, by the round-trip time",
        source: "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995; as ns-2 2.26/2.27 has it, or Linux 6.1 tcp_vegas.c",
        parameters: vegas::PARAMETERS,
        differs: vegas::DIFFERS,
        new: |c| match c.vegas.reading {
            VegasReading::Ns2 => Cc::Vegas(Box::new(Vegas::new(c))),
            VegasReading::Linux | VegasReading::Ns3 => Cc::VegasLinux(Box::new(VegasLinux::new(c))),
        },
    },
    Algorithm {
        name: "bbr",
        id: CcName::Bbr,
        summary: "models the path by its largest rate and smallest round trip, and paces",
        source: "N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, BBR, ACM Queue 14(5), 2016; Linux 6.1 tcp_bbr.c",
        parameters: bbr::v1::PARAMETERS,
        differs: bbr::v1::DIFFERS,
        new: |c| Cc::Bbr(Box::new(Bbr::new(c))),
    },
    Algorithm {
        name: "bbr3",
        id: CcName::Bbr3,
        summary: "BBR that also minds losses, and probes at intervals of seconds",
        source: "N. Cardwell, I. Swett, J. Beshay (editors), draft-ietf-ccwg-bbr, editors' copy of August 2026",
        parameters: bbr::v3::PARAMETERS,
        differs: bbr::v3::DIFFERS,
        new: |c| Cc::Bbr3(Box::new(Bbr3::new(c))),
    },
    Algorithm {
        name: "abc",
        id: CcName::Abc,
        summary: "one segment more for each packet that says accelerate, one less for each that says brake",
        source: "P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, ABC, NSDI 2020",
        parameters: abc::PARAMETERS,
        differs: abc::DIFFERS,
        new: |c| Cc::Abc(Box::new(Abc::new(c))),
    },
    Algorithm {
        name: "bic",
        id: CcName::Bic,
        summary: "binary search for the window of the last loss",
        source: "L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004; Linux 6.1 tcp_bic.c",
        parameters: bic::PARAMETERS,
        differs: bic::DIFFERS,
        new: |c| Cc::Bic(Bic::new(c)),
    },
    Algorithm {
        name: "cdg",
        id: CcName::Cdg,
        summary: "backs off by chance when the round trip grows",
        source: "D. Hayes, G. Armitage, Revisiting TCP congestion control using delay gradients, IFIP Networking 2011; Linux 6.1 tcp_cdg.c",
        parameters: cdg::PARAMETERS,
        differs: cdg::DIFFERS,
        new: |c| Cc::Cdg(Box::new(Cdg::new(c))),
    },
    Algorithm {
        name: "cubic",
        id: CcName::Cubic,
        summary: "a cubic function of the time since the last loss",
        source: "RFC 9438; S. Ha, I. Rhee, L. Xu, CUBIC, ACM SIGOPS OSR 42(5), 2008; Linux 6.1 tcp_cubic.c",
        parameters: cubic::PARAMETERS,
        differs: cubic::DIFFERS,
        new: |c| Cc::Cubic(Box::new(Cubic::new(c))),
    },
    Algorithm {
        name: "dctcp",
        id: CcName::Dctcp,
        summary: "cuts by the share of marked octets",
        source: "RFC 8257; M. Alizadeh and others, SIGCOMM 2010",
        parameters: dctcp::PARAMETERS,
        differs: dctcp::DIFFERS,
        new: |c| Cc::Dctcp(Dctcp::new(c)),
    },
    Algorithm {
        name: "guided",
        id: CcName::Guided,
        summary: "a base algorithm under the ceiling that the radio network's hints give",
        source: "draft-flinck-mobile-throughput-guidance-04",
        parameters: guided::PARAMETERS,
        differs: guided::DIFFERS,
        new: |c| Cc::Guided(Box::new(Guided::new(c))),
    },
    Algorithm {
        name: "highspeed",
        id: CcName::HighSpeed,
        summary: "grows faster and cuts less the larger the window",
        source: "RFC 3649; Linux 6.1 tcp_highspeed.c",
        parameters: highspeed::PARAMETERS,
        differs: highspeed::DIFFERS,
        new: |c| Cc::HighSpeed(HighSpeed::new(c)),
    },
    Algorithm {
        name: "htcp",
        id: CcName::Htcp,
        summary: "growth by the time since the last loss",
        source: "D. Leith, R. Shorten, H-TCP, PFLDnet 2004; Linux 6.1 tcp_htcp.c",
        parameters: htcp::PARAMETERS,
        differs: htcp::DIFFERS,
        new: |c| Cc::Htcp(Box::new(Htcp::new(c))),
    },
    Algorithm {
        name: "hybla",
        id: CcName::Hybla,
        summary: "grows on a long path as on a short one",
        source: "C. Caini, R. Firrincieli, TCP Hybla, Int. J. Satellite Communications 22, 2004; Linux 6.1 tcp_hybla.c",
        parameters: hybla::PARAMETERS,
        differs: hybla::DIFFERS,
        new: |c| Cc::Hybla(Hybla::new(c)),
    },
    Algorithm {
        name: "illinois",
        id: CcName::Illinois,
        summary: "growth and cut by the queueing delay",
        source: "S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008; Linux 6.1 tcp_illinois.c",
        parameters: illinois::PARAMETERS,
        differs: illinois::DIFFERS,
        new: |c| Cc::Illinois(Box::new(Illinois::new(c))),
    },
    Algorithm {
        name: "ledbat",
        id: CcName::Ledbat,
        summary: "a scavenger that holds a delay target",
        source: "RFC 6817",
        parameters: ledbat::PARAMETERS,
        differs: ledbat::DIFFERS,
        new: |c| Cc::Ledbat(Box::new(Ledbat::new(c))),
    },
    Algorithm {
        name: "lp",
        id: CcName::Lp,
        summary: "a scavenger that yields to rising delay",
        source: "A. Kuzmanovic, E. Knightly, TCP-LP, INFOCOM 2003; Linux 6.1 tcp_lp.c",
        parameters: lp::PARAMETERS,
        differs: lp::DIFFERS,
        new: |c| Cc::Lp(Box::new(Lp::new(c))),
    },
    Algorithm {
        name: "nv",
        id: CcName::Nv,
        summary: "holds rate times round trip and a pad, for data centres",
        source: "L. Brakmo, TCP-NV: congestion avoidance for data centers, Linux Plumbers 2010; Linux 6.1 tcp_nv.c",
        parameters: nv::PARAMETERS,
        differs: nv::DIFFERS,
        new: |c| Cc::Nv(Box::new(Nv::new(c))),
    },
    Algorithm {
        name: "none",
        id: CcName::None,
        summary: "no congestion control: the peer's window is the limit",
        source: "for a sender beside the only queue (TR 36.933: close coupling in the eNB)",
        parameters: unlimited::PARAMETERS,
        differs: unlimited::DIFFERS,
        new: |c| Cc::Unlimited(Unlimited::new(c)),
    },
    Algorithm {
        name: "prague",
        id: CcName::Prague,
        summary: "L4S: cuts by the share of marks, grows independently of short round trips",
        source: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331 section 4",
        parameters: prague::PARAMETERS,
        differs: prague::DIFFERS,
        new: |c| Cc::Prague(Box::new(Prague::new(c))),
    },
    Algorithm {
        name: "radio-aware",
        id: CcName::RadioAware,
        summary: "the window that the radio network's hints give, a base algorithm without them",
        source: "contribution to 3GPP RAN3 for TR 36.933 (Release 14), reconstructed; WO 2017/193274",
        parameters: radio_aware::PARAMETERS,
        differs: radio_aware::DIFFERS,
        new: |c| Cc::RadioAware(Box::new(RadioAware::new(c))),
    },
    Algorithm {
        name: "scalable",
        id: CcName::Scalable,
        summary: "a fixed number of ACKs per segment of growth",
        source: "T. Kelly, Scalable TCP, ACM SIGCOMM CCR 33(2), 2003; Linux 6.1 tcp_scalable.c",
        parameters: scalable::PARAMETERS,
        differs: scalable::DIFFERS,
        new: |c| Cc::Scalable(Scalable::new(c)),
    },
    Algorithm {
        name: "veno",
        id: CcName::Veno,
        summary: "Reno that tells random losses by Vegas' estimate",
        source: "C. P. Fu, S. C. Liew, TCP Veno, IEEE JSAC 21(2), 2003; Linux 6.1 tcp_veno.c",
        parameters: veno::PARAMETERS,
        differs: veno::DIFFERS,
        new: |c| Cc::Veno(Veno::new(c)),
    },
    Algorithm {
        name: "westwood",
        id: CcName::Westwood,
        summary: "cuts to the estimated rate times the smallest round trip",
        source: "S. Mascolo and others, TCP Westwood, MobiCom 2001; INET 2.x; Linux 6.1 tcp_westwood.c",
        parameters: westwood::PARAMETERS,
        differs: westwood::DIFFERS,
        new: |c| Cc::Westwood(Box::new(Westwood::new(c))),
    },
    Algorithm {
        name: "westwood-plus",
        id: CcName::WestwoodPlus,
        summary: "Westwood with one sample per round trip",
        source: "L. A. Grieco, S. Mascolo, ACM SIGCOMM CCR 34(2), 2004; Linux 6.1 tcp_westwood.c",
        parameters: westwood::PLUS_PARAMETERS,
        differs: westwood::DIFFERS,
        new: |c| Cc::Westwood(Box::new(Westwood::plus(c))),
    },
    Algorithm {
        name: "yeah",
        id: CcName::Yeah,
        summary: "Scalable's growth while few segments queue, Reno's beside others",
        source: "A. Baiocchi, A. Castellani, F. Vacirca, YeAH-TCP, PFLDnet 2007; Linux 6.1 tcp_yeah.c",
        parameters: yeah::PARAMETERS,
        differs: yeah::DIFFERS,
        new: |c| Cc::Yeah(Box::new(Yeah::new(c))),
    },
];
