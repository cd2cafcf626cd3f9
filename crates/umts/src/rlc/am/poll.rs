//! The polling function (TS 25.322 clause 9.7.1): the choice of PDUs with the P bit.

use lasthop_units::Instant;

use super::{AmConfig, or_never};

/// When to request a status report from the receiver.
#[derive(Clone, Debug)]
pub(super) struct Poller {
    /// A poll was triggered and could not be sent yet (no PDU, or prohibited).
    wanted: bool,
    /// VT(PDU): PDUs since the last poll by Poll_PDU (clause 9.4).
    vt_pdu: u32,
    /// VT(SDU): SDUs since the last poll by Poll_SDU (clause 9.4).
    vt_sdu: u32,
    /// PDUs since the last poll by Poll_Window.
    since_window_poll: u32,
    above_window: bool,
    /// A window size, and its [`least_above`]; (0, 0) before the first.
    least_above: (u32, u64),
    /// Expiry of Timer_Poll.
    timer_poll: Option<Instant>,
    /// VT(S) when the last poll was sent.
    vt_s_at_poll: u64,
    /// Expiry of Timer_Poll_Prohibit.
    prohibited_until: Instant,
    /// Expiry of Timer_Poll_Periodic.
    periodic: Option<Instant>,
}

/// The inputs of the polling function when a PDU is about to be sent.
pub(super) struct Occasion {
    /// No PDU is left in the transmission buffer after this new one, or the window allows none.
    pub last_new: bool,
    /// No PDU is left in the retransmission buffer after this retransmission.
    pub last_retransmission: bool,
    /// SDUs that end in this PDU, if it is new; 0 without Poll_SDU.
    pub sdus_ended: u32,
    /// PDUs of the window in use: VT(S) - VT(A) after this PDU.
    pub in_use: u64,
    /// VT(WS).
    pub window: u32,
    /// VT(S) after this PDU.
    pub vt_s: u64,
}

impl Poller {
    pub fn new() -> Self {
        Poller {
            wanted: false,
            vt_pdu: 0,
            vt_sdu: 0,
            since_window_poll: 0,
            above_window: false,
            least_above: (0, 0),
            timer_poll: None,
            vt_s_at_poll: 0,
            prohibited_until: Instant::ZERO,
            periodic: None,
        }
    }

    /// Decides the P bit of a PDU that is being sent now.
    #[inline(always)] // one caller
    pub fn decide(&mut self, now: Instant, cfg: &AmConfig, o: &Occasion) -> bool {
        let mut poll = (cfg.poll_last_pdu && o.last_new)
            || (cfg.poll_last_retransmission && o.last_retransmission)
            || self.wanted;
        self.vt_pdu += 1;
        if cfg.poll_pdu > 0 && self.vt_pdu >= cfg.poll_pdu {
            self.vt_pdu = 0;
            poll = true;
        }
        self.vt_sdu += o.sdus_ended;
        if cfg.poll_sdu > 0 && self.vt_sdu >= cfg.poll_sdu {
            self.vt_sdu = 0;
            poll = true;
        }
        poll |= self.window_poll(cfg, o);
        if poll && now < self.prohibited_until {
            // If Timer_Poll_Prohibit is active ... delay triggering the polling function until it
            // expires.
            self.wanted = true;
            return false;
        }
        if poll {
            self.sent(now, cfg, o.vt_s);
        } else if self.periodic.is_none() && !cfg.timer_poll_periodic.is_zero() {
            self.periodic = Some(now + cfg.timer_poll_periodic);
        }
        poll
    }

    /// Clause 9.6 d: poll when J = (VT(S) - VT(A)) / VT(WS) >= Poll_Window, here repeated every
    /// `poll_window_repeat` PDUs and with the last PDU that the window allows.
    fn window_poll(&mut self, cfg: &AmConfig, o: &Occasion) -> bool {
        let above = self.is_above(cfg, o.in_use, o.window);
        self.since_window_poll += 1;
        let again = self.since_window_poll >= cfg.poll_window_repeat || o.in_use >= o.window.into();
        let due = above && (!self.above_window || again);
        self.above_window = above;
        if due {
            self.since_window_poll = 0;
        }
        due
    }

    /// J >= Poll_Window (clause 9.6 d).
    #[inline(always)]
    fn is_above(&mut self, cfg: &AmConfig, in_use: u64, window: u32) -> bool {
        if self.least_above.0 != window {
            self.least_above = (window, least_above(cfg, window));
        }
        in_use >= self.least_above.1
    }

    fn sent(&mut self, now: Instant, cfg: &AmConfig, vt_s: u64) {
        self.wanted = false;
        self.prohibited_until = now + cfg.timer_poll_prohibit;
        self.vt_s_at_poll = vt_s;
        if !cfg.timer_poll.is_zero() {
            self.timer_poll = Some(now + cfg.timer_poll);
        }
        if !cfg.timer_poll_periodic.is_zero() && self.periodic.is_none() {
            self.periodic = Some(now + cfg.timer_poll_periodic);
        }
    }

    /// True if a poll waits for a PDU and may be sent.
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        self.wanted && now >= self.prohibited_until
    }

    /// Clause 9.5 a: a report that acknowledges all PDUs up to the poll, or reports the polling PDU
    /// missing, stops Timer_Poll.
    pub fn on_status(
        &mut self,
        cfg: &AmConfig,
        vt_a: u64,
        vt_s: u64,
        window: u32,
        is_missing: impl Fn(u64) -> bool,
    ) {
        self.above_window &= self.is_above(cfg, vt_s - vt_a, window);
        if vt_a >= self.vt_s_at_poll || is_missing(self.vt_s_at_poll - 1) {
            self.timer_poll = None;
        }
        if vt_a == vt_s {
            self.timer_poll = None;
            self.periodic = None;
            self.wanted = false;
        }
    }

    /// Processes expired timers, which trigger a poll.
    pub fn on_time(&mut self, now: Instant, cfg: &AmConfig, outstanding: bool) {
        if self.timer_poll.is_some_and(|t| t <= now) {
            self.timer_poll = None;
            self.wanted = outstanding;
        }
        if self.periodic.is_some_and(|t| t <= now) {
            self.periodic = outstanding.then(|| now + cfg.timer_poll_periodic);
            self.wanted |= outstanding;
        }
    }

    /// The next moment at which the state of this object changes; [`Instant::MAX`] for never.
    #[inline]
    pub fn poll_at(&self, now: Instant, outstanding: bool) -> Instant {
        let blocked = self.wanted && outstanding && now < self.prohibited_until;
        let prohibit = if blocked { self.prohibited_until } else { Instant::MAX };
        or_never(self.timer_poll).min(or_never(self.periodic)).min(prohibit)
    }
}

/// The least number of PDUs in use at which J >= Poll_Window (clause 9.6 d), for a window of at
/// least one PDU.
#[cold]
fn least_above(cfg: &AmConfig, window: u32) -> u64 {
    if cfg.poll_window.0 > 0.0 { (cfg.poll_window.0 * f64::from(window)).ceil() as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Ratio;

    /// J = (VT(S) - VT(A)) / VT(WS), compared as it is defined.
    #[test]
    fn the_number_in_use_is_above_as_the_share_is() {
        for share in [0.0, 0.001, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0] {
            let cfg = AmConfig { poll_window: Ratio(share), ..AmConfig::default() };
            let mut poller = Poller::new();
            for window in [1, 2, 3, 10, 127, 128, 2047, 4095] {
                for in_use in 0..=u64::from(window) {
                    let defined = share > 0.0 && in_use as f64 >= share * f64::from(window);
                    assert_eq!(poller.is_above(&cfg, in_use, window), defined, "{in_use} of {window}");
                }
            }
        }
    }
}
