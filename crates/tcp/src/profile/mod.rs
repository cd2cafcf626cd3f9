//! Stack profiles: named sets of values in which real stacks and simulators differ.
//!
//! One file per stack holds its values and their sources; [`SETTINGS`](crate::options::SETTINGS)
//! lists the keys and documents `rfc`, which every other profile starts from. `lasthop describe
//! profile NAME` prints both, the reference all of them side by side.

mod inet;
mod linux_2_6_26;
mod linux_6;
mod ns2;
mod ns3;
mod rfc;

use crate::config::Config;
pub use crate::name::Profile;

/// One stack.
struct Stack {
    profile: Profile,
    name: &'static str,
    summary: &'static str,
    /// The profile whose values it starts from.
    base: Option<Profile>,
    /// With `sack = false`, `recovery = "sack"` is NewReno's, as it is towards a peer without SACK.
    /// `false`: the two contradict each other.
    recovers_without_sack: bool,
    config: &'static Config,
    sources: &'static [(&'static str, &'static str)],
}

/// Every stack, in the order of the documentation.
const STACKS: &[Stack] = &[
    Stack {
        profile: Profile::Rfc,
        name: "rfc",
        summary: "the standards: RFC 9293, 5681, 6298, 6582, 6675, 6928 and 7323",
        base: None,
        recovers_without_sack: true,
        config: &rfc::CONFIG,
        sources: &[],
    },
    Stack {
        profile: Profile::Ns2,
        name: "ns2",
        summary: "the one-way agents of ns-2 2.26/2.27 with a 10 ms tick, counting packets",
        base: Some(Profile::Rfc),
        recovers_without_sack: false,
        config: &ns2::CONFIG,
        sources: ns2::SOURCES,
    },
    Stack {
        profile: Profile::Linux6,
        name: "linux-6",
        summary: "Linux 6.1 as it comes: CUBIC with HyStart, RACK-TLP, PRR, F-RTO, undo, minimum RTO 200 ms",
        base: Some(Profile::Rfc),
        recovers_without_sack: false,
        config: &linux_6::CONFIG,
        sources: linux_6::SOURCES,
    },
    Stack {
        profile: Profile::Linux2626,
        name: "linux-2.6.26",
        summary: "Linux 2.6.26 (2008): CUBIC without HyStart, FACK, rate halving, F-RTO, initial RTO 3 s",
        base: Some(Profile::Linux6),
        recovers_without_sack: false,
        config: &linux_2_6_26::CONFIG,
        sources: linux_2_6_26::SOURCES,
    },
    Stack {
        profile: Profile::Ns3328,
        name: "ns3-3.28",
        summary: "ns-3 3.28 (2018): NewReno per ACK with SACK, 536 octets, initial window 1",
        base: Some(Profile::Rfc),
        recovers_without_sack: false,
        config: &ns3::CONFIG_3_28,
        sources: ns3::SOURCES_3_28,
    },
    Stack {
        profile: Profile::Ns3344,
        name: "ns3-3.44",
        summary: "ns-3 3.44 (2025): CUBIC with HyStart and SACK, 536 octets, initial window 10",
        base: Some(Profile::Rfc),
        recovers_without_sack: false,
        config: &ns3::CONFIG_3_44,
        sources: ns3::SOURCES_3_44,
    },
    Stack {
        profile: Profile::Inet,
        name: "inet",
        summary: "INET 2.x/3.x (about 2015): Reno without options, 536 octets, flight computed as min(cwnd, rwnd)",
        base: Some(Profile::Rfc),
        recovers_without_sack: false,
        config: &inet::CONFIG,
        sources: inet::SOURCES,
    },
];

impl Profile {
    /// Every profile, in the order of the documentation.
    pub const ALL: &[Profile] = &[
        Profile::Rfc,
        Profile::Ns2,
        Profile::Linux6,
        Profile::Linux2626,
        Profile::Ns3328,
        Profile::Ns3344,
        Profile::Inet,
    ];

    fn stack(self) -> &'static Stack {
        STACKS.iter().find(|s| s.profile == self).unwrap_or(&STACKS[0])
    }

    /// The name written in a scenario.
    pub fn name(self) -> &'static str {
        self.stack().name
    }

    /// One line for a list.
    pub fn summary(self) -> &'static str {
        self.stack().summary
    }

    /// The profile's values.
    pub fn config(self) -> Config {
        *self.stack().config
    }

    /// The profile whose values it starts from; `rfc` starts from none.
    pub fn base(self) -> Option<Profile> {
        self.stack().base
    }

    /// `recovery = "sack"` may stand beside `sack = false`.
    pub(crate) fn recovers_without_sack(self) -> bool {
        self.stack().recovers_without_sack
    }

    /// The sources of the values that differ from the base's: (key, source).
    pub fn sources(self) -> &'static [(&'static str, &'static str)] {
        self.stack().sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SETTINGS;

    #[test]
    fn each_profile_is_named_as_a_scenario_writes_it_and_carries_its_name() {
        assert_eq!(STACKS.len(), Profile::ALL.len());
        for (&p, stack) in Profile::ALL.iter().zip(STACKS) {
            assert_eq!((stack.profile, p.config().profile), (p, p));
            assert_eq!(crate::word::bare_word(&p), p.name());
        }
    }

    #[test]
    fn whatever_differs_from_the_base_has_a_source_and_every_source_a_key() {
        for &p in Profile::ALL {
            for (key, source) in p.sources() {
                assert!(SETTINGS.iter().any(|s| s.key == *key), "{}: no key {key}", p.name());
                assert!(!source.is_empty());
            }
            let Some(base) = p.base() else { continue };
            for s in SETTINGS {
                let (own, theirs) = ((s.value)(&p.config()), (s.value)(&base.config()));
                assert!(
                    own == theirs || p.sources().iter().any(|x| x.0 == s.key),
                    "{}: `{}` is {own}, {} has {theirs}; without a source",
                    p.name(),
                    s.key,
                    base.name()
                );
            }
        }
    }

    #[test]
    fn the_values_the_studies_rest_on() {
        // D2D study section 1.4: RTO clamped to 1 s .. 240 s, first RTO 3 s, 12 retries, IW 1, MSS
        // 536, ssthresh 65535 B.
        let c = Profile::Inet.config();
        assert_eq!((c.window.mss, c.window.initial_window, c.timers.max_retries), (536, Some(1), Some(12)));
        assert_eq!(
            (
                c.timers.initial_rto.as_secs_f64(),
                c.timers.min_rto.as_secs_f64(),
                c.timers.max_rto.as_secs_f64()
            ),
            (3.0, 1.0, 240.0)
        );
        assert!((c.initial_ssthresh() * 536.0 - 65_535.0).abs() < 1e-6);
        // 2.6.26: IW of RFC 3390 for 1448 octets, beta 717/1024, no HyStart.
        let c = Profile::Linux2626.config();
        assert_eq!(
            (c.window.initial_window, c.cubic.beta * 1024.0, c.readings.hystart),
            (Some(3), 717.0, crate::HyStartKind::None)
        );
        // LTE against 802.11ac section 5.1: MSS 536, 128 KiB, IW 1, delayed ACK 2 / 200 ms, SYN 3
        // s.
        let c = Profile::Ns3328.config();
        assert_eq!(
            (c.window.mss, c.buffers.receive_buffer, c.window.initial_window, c.acks.ack_every),
            (536, 131_072, Some(1), 2)
        );
        assert_eq!((c.acks.ack_delay.as_secs_f64(), c.timers.initial_rto.as_secs_f64()), (0.2, 3.0));
    }
}
