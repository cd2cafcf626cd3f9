//! Parameters of acknowledged mode: the protocol parameters of TS 25.322 clause 9.6 with the value
//! sets that RRC can signal (TS 25.331 clause 10.3.4). Values outside a set are accepted, although
//! a real network can use only values of the set.

use lasthop_units::{Bytes, Duration, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_bearer::{ConfigError, Warning, check, warn};

/// The SDU that is dropped when an SDU arrives and the transmission buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPolicy {
    /// The arriving SDU is dropped.
    #[default]
    DropTail,
    /// The oldest SDU of which nothing was sent is dropped.
    DropHead,
}

/// Which super-field reports missing PDUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatusFormat {
    /// BITMAP: up to 128 PDUs in 148 bits.
    #[default]
    Bitmap,
    /// LIST: runs of up to 16 missing PDUs in 16 bits each.
    List,
}

/// Action when a PDU has been sent `max_dat` times and is still missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnMaxDat {
    /// None: there is no limit and `max_dat` is not used ("no discard" with an unlimited MaxDAT).
    Unlimited,
    /// The RLC reset procedure (TS 25.322 clause 11.4): "No_discard after MaxDAT number of
    /// transmissions" (clause 9.7.3.4).
    #[default]
    Reset,
    /// The SDUs up to and including that PDU are discarded and the receiver's window is moved
    /// (clause 11.6). The receiver delivers those of them that it has in full. A PDU that reaches
    /// its limit while a discard is not confirmed is not sent again, and is discarded next.
    Discard,
}

/// One RLC entity in acknowledged mode. Times and counts of zero switch a mechanism off; a timer
/// that runs takes at least 1 ms.
///
/// More than 25 fields: they are the keys of one table of the scenario, and RRC configures them
/// with one information element (TS 25.331, "RLC info").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AmConfig {
    /// Transmission window in PDUs, 1 to 4095 (Configured_Tx_Window_Size, TS 25.322 clause 9.6 f).
    /// TS 25.331 allows 1, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 1536, 2047, 2560, 3072, 3584,
    /// 4095. A rate R needs a window of R times the time from a PDU to its acknowledgement.
    pub tx_window: u32,
    /// Receiving window in PDUs, 1 to 4095 (Configured_Rx_Window_Size, clause 9.6 g); at least the
    /// peer's `tx_window`.
    pub rx_window: u32,
    /// SDUs reach the upper layer in the order they were sent (clause 11.3.3, "In-Sequence
    /// Delivery"). Off: each SDU when it is complete.
    pub in_sequence: bool,

    /// Poll with the last PDU of the transmission buffer ("Last PDU in buffer", clause 9.7.1).
    pub poll_last_pdu: bool,
    /// Poll with the last PDU of the retransmission buffer ("Last PDU in Retransmission buffer",
    /// clause 9.7.1).
    pub poll_last_retransmission: bool,
    /// Poll with every n-th PDU, retransmissions included (Poll_PDU, clause 9.6 b). 0: off. TS
    /// 25.331 allows 1, 2, 4 .. 128.
    pub poll_pdu: u32,
    /// Poll with the end of every n-th SDU (Poll_SDU, clause 9.6 c). 0: off. TS 25.331 allows 1, 4,
    /// 16, 64.
    pub poll_sdu: u32,
    /// Poll when this share of the transmission window is in use (Poll_Window, clause 9.6 d). 0 %:
    /// off. TS 25.331 allows 50, 60, 70, 80, 85, 90, 95, 99 %. Without this poll a sender whose
    /// buffer is never empty polls with the last PDU of the window alone (`poll_last_pdu`), and
    /// waits for the report.
    pub poll_window: Ratio,
    /// While that share is in use, poll with every n-th PDU; 1 is the standard's "each PDU". At
    /// least 1.
    pub poll_window_repeat: u32,
    /// A poll that is not answered within this time is repeated (Timer_Poll, clause 9.5 a). 0 s:
    /// off. TS 25.331 allows 10 ms to 550 ms by 10, 600 ms to 1 s by 50.
    pub timer_poll: Duration,
    /// Least time between two polls (Timer_Poll_Prohibit, clause 9.5 b). 0 s: off. TS 25.331 allows
    /// the values of Timer_Poll.
    pub timer_poll_prohibit: Duration,
    /// Poll regularly while data is outstanding (Timer_Poll_Periodic, clause 9.5 e). 0 s: off. TS
    /// 25.331 allows 100, 200, 300, 400, 500, 750 ms, 1, 2 s.
    pub timer_poll_periodic: Duration,

    /// The receiver reports when it finds a PDU missing ("Missing PDU Indicator", clause 11.3.3).
    pub missing_pdu_indicator: bool,
    /// Least time between two status reports (Timer_Status_Prohibit, clause 9.5 f); a report that
    /// falls due meanwhile is sent at expiry. 0 s: off. TS 25.331 allows the values of Timer_Poll.
    /// A value below the RLC round trip makes the sender send PDUs twice for one loss.
    pub timer_status_prohibit: Duration,
    /// The receiver reports regularly while PDUs arrive or are missing (Timer_Status_Periodic,
    /// clause 9.5 g). 0 s: off. TS 25.331 allows the values of Timer_Poll_Periodic.
    pub timer_status_periodic: Duration,
    /// Super-field for missing PDUs: `bitmap` or `list` (clause 9.2.2.11).
    pub status_format: StatusFormat,
    /// A status report that fits takes the place of padding (clause 9.2.1.6).
    pub piggyback: bool,
    /// The sender ignores reports of a missing PDU that it (re)sent less than this time ago: the
    /// receiver made such a report before the PDU can have arrived. 0 s: off, as in the standard,
    /// which relies on `timer_status_prohibit`.
    pub nack_guard: Duration,

    /// How often a PDU may be sent, at least 1; a transmission for a poll counts. TS 25.331 allows
    /// for MaxDAT 1 to 10, 15, 20, 25, 30, 35, 40. TS 25.322 v13.0.0 clause 9.6 a allows MaxDAT - 1
    /// transmissions: a MaxDAT of 4 is `max_dat = 3`.
    pub max_dat: u32,
    /// Action after `max_dat` transmissions: `reset`, `discard` or `unlimited` (clause 9.7.3).
    pub on_max_dat: OnMaxDat,
    /// Time after which RESET is sent again (Timer_RST, clause 9.5 h), at least 1 ms. TS 25.331
    /// allows 50 ms to 550 ms by 50, 600 ms to 1 s by 100.
    pub timer_rst: Duration,
    /// How often RESET is sent before the error is unrecoverable, at least 1. MaxRST of clause 9.6
    /// e is one more, and TS 25.331 allows 1, 4, 6, 8, 12, 16, 24, 32 for it.
    pub max_rst: u32,
    /// Time after which a discard order is sent again (Timer_MRW, clause 9.5 i), at least 1 ms. TS
    /// 25.331 allows 50 ms to 900 ms.
    pub timer_mrw: Duration,
    /// How often a discard order is sent before RESET (MaxMRW, clause 9.6 h), at least 1. TS 25.331
    /// allows 1, 4, 6, 8, 12, 16, 24, 32.
    pub max_mrw: u32,
    /// Age at which an SDU is discarded (Timer_Discard, clauses 9.5 d and 9.7.3.1). 0 s: off. TS
    /// 25.331 allows 100 ms to 7.5 s.
    pub timer_discard: Duration,

    /// Most SDUs in the buffer of which nothing has been sent. 0: no limit.
    pub buffer_sdus: u32,
    /// Most bytes in the buffer that have never been sent. 0 B: no limit.
    pub buffer_bytes: Bytes,
    /// The SDU that is dropped when the buffer is full: `drop-tail` or `drop-head`.
    pub buffer_policy: BufferPolicy,
}

impl Default for AmConfig {
    /// The interactive 384/64 kbit/s bearer of TS 34.108 with the poll and status triggers of a TCP
    /// bearer.
    fn default() -> Self {
        AmConfig {
            tx_window: 1024,
            rx_window: 1024,
            in_sequence: true,
            poll_last_pdu: true,
            poll_last_retransmission: true,
            poll_pdu: 0,
            poll_sdu: 0,
            poll_window: Ratio(0.5),
            poll_window_repeat: 1,
            timer_poll: Duration::from_millis(200),
            timer_poll_prohibit: Duration::ZERO,
            timer_poll_periodic: Duration::ZERO,
            missing_pdu_indicator: true,
            timer_status_prohibit: Duration::from_millis(80),
            timer_status_periodic: Duration::ZERO,
            status_format: StatusFormat::Bitmap,
            piggyback: false,
            nack_guard: Duration::ZERO,
            max_dat: 40,
            on_max_dat: OnMaxDat::Reset,
            timer_rst: Duration::from_millis(300),
            max_rst: 8,
            timer_mrw: Duration::from_millis(300),
            max_mrw: 8,
            timer_discard: Duration::ZERO,
            buffer_sdus: 0,
            buffer_bytes: Bytes(64_000),
            buffer_policy: BufferPolicy::DropTail,
        }
    }
}

/// Shortest duration of a timer: the shortest ones of TS 25.331 are 10 ms, and a period of some
/// nanoseconds would cause an event at nearly every instant of a run.
const SHORTEST_TIMER: Duration = Duration::from_millis(1);

impl AmConfig {
    /// True when SDUs can be discarded with explicit signalling.
    pub(crate) fn discards(&self) -> bool {
        self.on_max_dat == OnMaxDat::Discard || !self.timer_discard.is_zero()
    }

    /// Refuses invalid values; warns of combinations that can deadlock by the rules of the
    /// standard.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        for (key, window) in [("tx_window", self.tx_window), ("rx_window", self.rx_window)] {
            check((1..=4095).contains(&window), key, "a window holds 1 to 4095 PDUs, such as 1024")?;
        }
        check(
            self.max_dat > 0,
            "max_dat",
            "must be at least 1 (for no limit of transmissions: on_max_dat = \"unlimited\")",
        )?;
        check(
            self.max_rst > 0,
            "max_rst",
            "must be at least 1: RESET is sent once or more, such as 8 times",
        )?;
        check(
            self.max_mrw > 0,
            "max_mrw",
            "must be at least 1: a discard order is sent once or more, such as 8 times",
        )?;
        for (key, t) in [("timer_rst", self.timer_rst), ("timer_mrw", self.timer_mrw)] {
            check(t >= SHORTEST_TIMER, key, "must be at least 1 ms, such as \"300 ms\"")?;
        }
        for (key, t) in [
            ("timer_poll", self.timer_poll),
            ("timer_poll_prohibit", self.timer_poll_prohibit),
            ("timer_poll_periodic", self.timer_poll_periodic),
            ("timer_status_prohibit", self.timer_status_prohibit),
            ("timer_status_periodic", self.timer_status_periodic),
            ("timer_discard", self.timer_discard),
        ] {
            check(t.is_zero() || t >= SHORTEST_TIMER, key, "must be 0 s (off) or at least 1 ms")?;
        }
        check(self.poll_window_repeat > 0, "poll_window_repeat", "must be at least 1: poll with each PDU")?;
        check(
            !self.discards() || self.tx_window.max(self.rx_window) <= 2048,
            "tx_window",
            "discarding SDUs moves windows, which is unambiguous only up to half of the modulus: use 2047 or less",
        )?;
        let mut warnings = Vec::new();
        self.warn_of_standstill(&mut warnings);
        warn(
            self.tx_window > 2048 && self.nack_guard.is_zero() && self.timer_status_prohibit.is_zero(),
            "tx_window",
            "above 2048 a PDU sent twice can be mistaken for one a modulus later by a real receiver; ours discards \
             it. Set timer_status_prohibit to the RLC round trip or nack_guard",
            &mut warnings,
        );
        Ok(warnings)
    }

    /// Warns of a possible deadlock: after the loss of any single PDU, poll or report one side must
    /// still act.
    fn warn_of_standstill(&self, warnings: &mut Vec<Warning>) {
        let periodic = !self.timer_poll_periodic.is_zero();
        let answered = !self.timer_poll.is_zero();
        let every_pdu = self.poll_pdu == 1;
        if periodic || (answered && every_pdu) {
            return;
        }
        warn(
            !answered,
            "timer_poll",
            "a lost poll or status report is never noticed: set timer_poll or timer_poll_periodic",
            warnings,
        );
        warn(
            !self.poll_last_pdu,
            "poll_last_pdu",
            "the loss of the last PDU of a burst is never noticed: set poll_last_pdu or timer_poll_periodic",
            warnings,
        );
        warn(
            !self.poll_last_retransmission,
            "poll_last_retransmission",
            "the loss of a retransmission may never be noticed: set poll_last_retransmission or timer_poll_periodic",
            warnings,
        );
        let by_count = (1..=self.tx_window).contains(&self.poll_pdu);
        warn(
            self.poll_window.0 <= 0.0 && !by_count && !self.poll_last_pdu,
            "poll_window",
            "a sender that never runs empty never polls, and its window stalls: set poll_window, poll_last_pdu, \
             poll_pdu (at most tx_window) or timer_poll_periodic",
            warnings,
        );
    }
}
