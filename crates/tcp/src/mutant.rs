//! Deliberate mistakes, for tests of tests: a switch of a built-in control that makes it break one
//! rule of its document. `lasthop judge --mutants` checks with them whether a case can fail.
//!
//! A switch is a word of the key `mutant`. Most are BBR version 3's, one for each rule that a case
//! of the draft's appendix tests; the changed code is where the rule is.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::CcName;
use crate::word::bare_word;

/// Which controls have a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Every built-in control.
    All,
    /// The controls whose window has an ssthresh.
    Windows,
    /// Those that answer to the share of marks.
    Marks,
    /// One.
    One(CcName),
}

/// The table of switches.
macro_rules! switches {
    ($($(#[doc = $doc:literal])+ $Name:ident: $of:expr;)*) => {
        /// A deliberate error in a built-in control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Mutant {
            $($(#[doc = $doc])+ $Name,)*
        }

        impl Mutant {
            /// Every switch.
            pub const ALL: &[Mutant] = &[$(Mutant::$Name),*];

            const fn of(self) -> Of {
                match self {
                    $(Mutant::$Name => $of,)*
                }
            }
        }
    };
}

switches! {
    /// A loss or a mark does not reduce the window.
    ForgottenCut: Of::All;
    /// A loss does not reduce the window.
    IgnoresLosses: Of::All;
    /// A mark does not reduce the window.
    IgnoresMarks: Of::All;
    /// An undone reduction stays.
    NoUndo: Of::All;
    /// A mark halves the window.
    HalvesPerMark: Of::Marks;
    /// The slow-start threshold after a loss, a mark or a timeout is zero.
    SsthreshZero: Of::Windows;
    /// Prague: data is sent with ECT(0).
    SendsEct0: Of::One(CcName::Prague);
    /// Prague: a short round trip is not taken for one of 25 ms.
    NoVirtualRtt: Of::One(CcName::Prague);
    /// BBR v3: the pace is a tenth below its gain.
    PacingATenthOff: Of::One(CcName::Bbr3);
    /// BBR v3: one round without growth means a full pipe.
    FullAfterOneRound: Of::One(CcName::Bbr3);
    /// BBR v3: losses of an application-limited sample do not end STARTUP.
    StartupLossNotWhenAppLimited: Of::One(CcName::Bbr3);
    /// BBR v3: DRAIN ends with the ACK that begins it.
    DrainOneAck: Of::One(CcName::Bbr3);
    /// BBR v3: DRAIN has no limit in rounds.
    DrainWithoutLimit: Of::One(CcName::Bbr3);
    /// BBR v3: a plateau does not end PROBE_UP.
    UpWithoutPlateau: Of::One(CcName::Bbr3);
    /// BBR v3: losses of an application-limited sample do not end PROBE_UP.
    UpLossNotWhenAppLimited: Of::One(CcName::Bbr3);
    /// BBR v3: application-limited rounds count towards a plateau.
    AppLimitedRoundsCount: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_DOWN ends without the headroom that `inflight_longterm` requires.
    NoHeadroom: Of::One(CcName::Bbr3);
    /// BBR v3: no probe begins before PROBE_CRUISE.
    NoProbeFromDown: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT lasts 20 ms.
    ShortProbeRtt: Of::One(CcName::Bbr3);
    /// BBR v3: a restart from idleness is not noticed.
    NoIdleRestart: Of::One(CcName::Bbr3);
    /// BBR v3: bunched ACKs are not measured.
    NoExtraAcked: Of::One(CcName::Bbr3);
    /// BBR v3: the window has no room for bunched ACKs.
    WindowWithoutExtra: Of::One(CcName::Bbr3);
    /// BBR v3: the least window is one segment.
    FloorOfOne: Of::One(CcName::Bbr3);
    /// BBR v3: the step of `inflight_longterm` in PROBE_UP does not double.
    ConstantUpStep: Of::One(CcName::Bbr3);
    /// BBR v3: the largest bandwidth is kept for ten cycles.
    TenCycles: Of::One(CcName::Bbr3);
    /// BBR v3: losses set no short-term bounds.
    NoShortTerm: Of::One(CcName::Bbr3);
    /// BBR v3: a spurious timeout is not undone.
    NoUndoAfterTimeout: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT in STARTUP returns to PROBE_BW.
    ProbeRttToCruise: Of::One(CcName::Bbr3);
    /// BBR v3: too much in flight does not lower `inflight_longterm`.
    BoundNotLowered: Of::One(CcName::Bbr3);
    /// BBR v3: application-limited samples replace the largest bandwidth.
    AppLimitedSamplesCount: Of::One(CcName::Bbr3);
    /// BBR v3: a plateau sets full_bw_reached and not full_bw_now.
    FullBwNowNotSet: Of::One(CcName::Bbr3);
    /// BBR v3: losses end STARTUP without full_bw_reached.
    StartupLossWithoutFullBw: Of::One(CcName::Bbr3);
    /// BBR v3: losses that end STARTUP set no `inflight_longterm`.
    StartupLossWithoutBound: Of::One(CcName::Bbr3);
    /// BBR v3: a single loss ends STARTUP.
    AnyLossEndsStartup: Of::One(CcName::Bbr3);
    /// BBR v3: DRAIN paces at 0.35, as version 1.
    DrainGainOfV1: Of::One(CcName::Bbr3);
    /// BBR v3: DRAIN ends at 0.8 of the inflight of its rule.
    DrainLate: Of::One(CcName::Bbr3);
    /// BBR v3: DRAIN ends by its rounds alone, and paces at 0.1.
    DrainByRoundsAlone: Of::One(CcName::Bbr3);
    /// BBR v3: DRAIN is followed by PROBE_REFILL.
    DrainToRefill: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_UP has four times its gains, and its losses set no bound.
    UpAtFourTimes: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_DOWN paces at 0.75, as version 1.
    DownGainOfV1: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_DOWN ends at 0.9 of the inflight of its rule.
    DownLate: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_DOWN is followed by PROBE_UP where PROBE_CRUISE is due.
    DownToUp: Of::One(CcName::Bbr3);
    /// BBR v3: a probe begins after half of bw_probe_wait.
    ProbesEarly: Of::One(CcName::Bbr3);
    /// BBR v3: a probe begins after half as many rounds again.
    ProbesRoundsLate: Of::One(CcName::Bbr3);
    /// BBR v3: bw_probe_wait is 1 to 2 s.
    ShortProbeWait: Of::One(CcName::Bbr3);
    /// BBR v3: the first PROBE_REFILL is followed by PROBE_DOWN.
    FirstRefillToDown: Of::One(CcName::Bbr3);
    /// BBR v3: losses in PROBE_UP lead to PROBE_REFILL.
    UpLossToRefill: Of::One(CcName::Bbr3);
    /// BBR v3: too much in flight is not kept in prev_probe_too_high.
    TooHighNotKept: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_UP does not raise `inflight_longterm`.
    BoundNotRaised: Of::One(CcName::Bbr3);
    /// BBR v3: the step of `inflight_longterm` in PROBE_UP grows by one instead of doubling.
    LinearUpStep: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT comes after 4 s.
    ProbeRttEarly: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT comes after 6 s.
    ProbeRttLate: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT never comes.
    NoProbeRtt: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT lowers the pace and not the window.
    ProbeRttByPace: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT lasts 400 ms.
    LongProbeRtt: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT is followed by PROBE_REFILL.
    ProbeRttToRefill: Of::One(CcName::Bbr3);
    /// BBR v3: PROBE_RTT returns to STARTUP by way of PROBE_DOWN.
    ProbeRttByWayOfDown: Of::One(CcName::Bbr3);
    /// BBR v3: the pipe counts as full after PROBE_RTT.
    ProbeRttMeansFull: Of::One(CcName::Bbr3);
    /// BBR v3: the window's gain is 1.5.
    SmallWindowGain: Of::One(CcName::Bbr3);
    /// BBR v3: the measured octets of bunched ACKs are doubled.
    ExtraAckedDoubled: Of::One(CcName::Bbr3);
    /// BBR v3: losses reduce the short-term bounds to 0.3, independent of the octets delivered in
    /// the round.
    ShortTermTooLow: Of::One(CcName::Bbr3);
    /// BBR v3: the values saved at a loss are zero.
    SavesZero: Of::One(CcName::Bbr3);
    /// BBR v3: the state before the loss is not saved.
    StateNotSaved: Of::One(CcName::Bbr3);
    /// BBR v3: an undo sets the short-term bounds to half of the model.
    UndoToHalf: Of::One(CcName::Bbr3);
}

/// The controls that have no ssthresh of a window: they set the window otherwise.
const WITHOUT: &[CcName] = &[
    CcName::Abc,
    CcName::Bbr,
    CcName::Bbr3,
    CcName::Guided,
    CcName::None,
    CcName::RadioAware,
    CcName::Vegas,
];

impl Mutant {
    /// Whether a control has this switch.
    pub fn fits(self, cc: CcName) -> bool {
        match self.of() {
            Of::All => !matches!(cc, CcName::Custom(_)),
            Of::Windows => !matches!(cc, CcName::Custom(_)) && !WITHOUT.contains(&cc),
            Of::Marks => matches!(cc, CcName::Dctcp | CcName::Prague),
            Of::One(one) => one == cc,
        }
    }

    /// The switches that a control has.
    pub fn of_control(cc: CcName) -> impl Iterator<Item = Mutant> {
        Mutant::ALL.iter().copied().filter(move |m| m.fits(cc))
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bare_word(self))
    }
}
