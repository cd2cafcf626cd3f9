//! When Linux acknowledges: the estimate of the ACK timeout, quick ACKs, interactive sessions, the
//! peer's segment size.
//!
//! Linux 6.1: tcp_measure_rcv_mss, tcp_incr_quickack, tcp_enter_quickack_mode, tcp_event_data_recv,
//! tcp_event_data_sent, tcp_event_ack_sent, __tcp_ack_snd_check, tcp_cleanup_rbuf
//! (net/ipv4/tcp_input.c, tcp.c), tcp_send_delayed_ack (tcp_output.c) and tcp_delack_timer_handler
//! (tcp_timer.c). Times are whole jiffies (`tcp_jiffies32`) where the clock has ticks. Not here:
//! compressed ACKs during reordering (each out-of-order segment is acknowledged), the option
//! TCP_QUICKACK, and the delay of a FIN's ACK.

use lasthop_units::{Duration, Instant};

use crate::host::AckRule;
use crate::jiffies::Timers;

/// TCP_DELACK_MAX, HZ/5.
const DELAY_MAX: Duration = Duration::from_millis(200);
/// The bound of a timeout of a session that is not interactive, HZ/2, before TCP_DELACK_MAX bounds
/// all.
const ESTIMATE_MAX: Duration = Duration::from_millis(500);
/// TCP_MSS_DEFAULT: the first guess of the peer's segments, and what is plausible with any flags.
const PLAUSIBLE: u32 = 536;
/// TCP_MIN_MSS: what is plausible when the segment is not pushed, and the least first guess.
const LEAST: u32 = 88;

/// The measurements of the heuristics on the peer.
#[derive(Clone, Debug)]
pub struct LinuxAcks {
    timers: Timers,
    /// `icsk_ack.timeout`: when an ACK that waits is due, before the wheel's slot; [`Instant::MAX`]
    /// when none waits.
    pub expires: Instant,
    /// TCP_ATO_MIN and TCP_DELACK_MIN, HZ/25.
    least: Duration,
    quick_max: u32,
    rule: AckRule,
    /// `ICSK_ACK_SCHED`: data arrived since the last ACK.
    pub scheduled: bool,
    /// `icsk_ack.ato`; zero before any data.
    timeout: Duration,
    /// `icsk_ack.quick`: how many ACKs may still leave at once.
    quick: u32,
    /// `icsk_ack.pingpong`.
    interactive: bool,
    last_data: Instant,
    /// `icsk_ack.rcv_mss`.
    peer_segment: u32,
    last_size: u32,
    /// Segments below the peer's size since the last ACK: 0, 1, or 2 for more.
    pushed: u8,
}

/// In-order data as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub now: Instant,
    /// Octets of data, or of each segment that was merged into it, and whether PSH and FIN came
    /// with it.
    pub len: u32,
    pub pushed: bool,
    pub last: bool,
    /// The segment size we announced, less fixed options, and the TCP header's octets.
    pub announced: u32,
    pub header: u32,
    /// Octets received since the last ACK, this segment included, and the window that ACK
    /// advertised.
    pub unacknowledged: u64,
    pub window: u64,
    /// Of data that the application has not read; `None`: it has read all.
    pub unread: Option<Unread>,
    /// The window has opened (tcp_grow_window): the sender is to be informed soon.
    pub opened: bool,
    /// The retransmission timeout, and the smoothed round trip of the data that this end has sent.
    pub rto: Duration,
    pub srtt: Option<Duration>,
}

/// Data waits for the application.
#[derive(Clone, Copy, Debug)]
pub struct Unread {
    /// The window that could be advertised now.
    pub window: u64,
    /// Less than half of the buffer is free.
    pub short: bool,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Now,
    By(Instant),
}

impl LinuxAcks {
    /// Delays begin at `least`; at most `quick_max` ACKs in a row leave at once.
    pub fn new(least: Duration, quick_max: u32, rule: AckRule, timers: Timers) -> LinuxAcks {
        LinuxAcks {
            timers,
            expires: Instant::MAX,
            least: timers.up(least),
            quick_max,
            rule,
            scheduled: false,
            timeout: Duration::ZERO,
            quick: 0,
            interactive: false,
            last_data: Instant::ZERO,
            peer_segment: PLAUSIBLE,
            last_size: 0,
            pushed: 0,
        }
    }

    /// The peer's segment size as far as it is known \[octets\] (tcp_info: `tcpi_rcv_mss`).
    pub const fn peer_segment(&self) -> u32 {
        self.peer_segment
    }

    /// The connection is established: the first guess of the peer's segments
    /// (tcp_initialize_rcv_mss) is at most what was `announced`, the `mss` towards the peer, half
    /// of the first `window` and 536 octets, and at least 88.
    pub fn initialize(&mut self, announced: u32, mss: u32, window: u64) {
        let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
        self.peer_segment = announced.min(mss).min(half).clamp(LEAST, PLAUSIBLE);
    }

    /// In-order data: updates the estimates. Called for every such segment, also if its ACK is due
    /// for another reason.
    pub fn learn(&mut self, a: &Arrival) {
        self.measure(a);
        self.scheduled = true;
        let now = self.timers.jiffy(a.now);
        if self.timeout.is_zero() {
            self.add_quick(self.quick_max, a.window);
            self.timeout = self.least;
        } else {
            let gap = now.since(self.last_data);
            let half = |d: Duration| self.timers.down(d / 2);
            if gap <= half(self.least) {
                self.timeout = half(self.timeout) + half(self.least);
            } else if gap < self.timeout {
                self.timeout = (half(self.timeout) + gap).min(a.rto);
            } else if gap > a.rto {
                // "Too long gap. Apparently sender failed to restart window, so that we will send
                // ACKs quickly."
                self.add_quick(self.quick_max, a.window);
            }
        }
        self.last_data = now;
        self.quick |= u32::from(a.opened);
        if a.unread.is_some_and(|u| u.short) && self.is_enough(a) {
            // __tcp_ack_snd_check tests the window before the budget.
            self.end_quick();
        }
    }

    /// More than one of the peer's segments waits for an ACK.
    fn is_enough(&self, a: &Arrival) -> bool {
        a.unacknowledged > u64::from(self.peer_segment)
    }

    /// When its ACK leaves at the latest: [`When::By`] is the jiffy in which the timer expires.
    pub fn when(&self, a: &Arrival) -> When {
        let moves = a.unread.is_none_or(|u| u.window >= a.window);
        if self.is_enough(a) && moves
            || self.is_quick()
            || a.unread.is_none() && self.is_wanted_by_read(a.unacknowledged)
        {
            return When::Now;
        }
        let delay = self.delay(a.srtt);
        let now = self.timers.jiffy(a.now);
        if self.expires != Instant::MAX && self.expires <= now.saturating_add(self.timers.down(delay / 4)) {
            return When::Now;
        }
        When::By(self.expires.min(now.saturating_add(delay)))
    }

    /// The application has read all data: true if the ACK of `unacknowledged` octets leaves now.
    pub fn is_wanted_by_read(&self, unacknowledged: u64) -> bool {
        let ended = self.pushed == 2 || self.pushed == 1 && !self.interactive;
        unacknowledged > 0 && (ended || unacknowledged > u64::from(self.peer_segment))
    }

    /// Loss, reordering or a mark: up to `most` ACKs leave at once.
    pub fn hurry(&mut self, most: u32, window: u64) {
        self.add_quick(most.min(self.quick_max), window);
        self.interactive = false;
        self.timeout = self.least;
    }

    /// Less than half of the buffer is free (__tcp_select_window).
    pub fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Data leaves: an answer within the timeout makes the session an interactive one.
    pub fn data_sent(&mut self, now: Instant) {
        self.interactive |= self.timers.jiffy(now).since(self.last_data) < self.timeout;
    }

    /// An ACK leaves, alone or on data.
    pub fn sent(&mut self) {
        self.pushed = 0;
        self.expires = Instant::MAX;
        // An ACK without anything new is no quick ACK (Linux 6.1.57, commit 059217c18be6).
        if !std::mem::take(&mut self.scheduled) && self.rule == AckRule::Linux {
            return;
        }
        if self.quick == 1 {
            self.timeout = self.least;
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// The delay has passed with no data to carry the ACK.
    pub fn missed(&mut self, rto: Duration) {
        self.expires = Instant::MAX;
        if self.interactive {
            self.interactive = false;
            self.timeout = self.least;
        } else {
            self.timeout = self.timeout.saturating_mul(2).min(rto);
        }
    }

    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.interactive
    }

    fn add_quick(&mut self, most: u32, window: u64) {
        let budget = match window / u64::from(2 * self.peer_segment) {
            0 => 2,
            n => n,
        };
        self.quick = self.quick.max(budget.min(u64::from(most)) as u32);
    }

    /// The peer's segment size is the largest seen, or a smaller plausible one seen twice in a row.
    fn measure(&mut self, a: &Arrival) {
        let last = std::mem::take(&mut self.last_size);
        if a.len >= self.peer_segment {
            self.peer_segment = a.len.min(a.announced.max(1));
            // A full segment with PSH ends a write, too (Linux 6.1.57, commit 4720852ed9af).
            if a.pushed && self.rule == AckRule::Linux {
                self.pushed = self.pushed.max(1);
            }
            return;
        }
        let size = a.len + a.header - 20;
        if size >= PLAUSIBLE || size >= LEAST && !(a.pushed || a.last) {
            self.last_size = a.len;
            if a.len == last {
                self.peer_segment = a.len;
                return;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
    }

    fn delay(&self, srtt: Option<Duration>) -> Duration {
        let mut delay = self.timeout;
        if delay > self.least {
            let most = if self.interactive || self.pushed > 0 { DELAY_MAX } else { ESTIMATE_MAX };
            delay = delay.min(srtt.map_or(most, |r| self.timers.up(r).max(self.least).min(most)));
        }
        delay.min(DELAY_MAX.max(self.least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jiffies::{KernelClock, Wheel};

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn acks(quick: u32) -> LinuxAcks {
        LinuxAcks::new(MS(40), quick, AckRule::Linux, Timers::new(KernelClock::Exact, Wheel::Levels))
    }
    /// A full segment of 1000 at `ms`, alone since the last ACK and read at once.
    fn full(ms: u64) -> Arrival {
        Arrival {
            now: Instant::from_millis(ms),
            len: 1000,
            pushed: false,
            last: false,
            announced: 1448,
            header: 32,
            unacknowledged: 1000,
            window: 64_000,
            unread: None,
            opened: false,
            rto: MS(300),
            srtt: None,
        }
    }

    #[test]
    fn the_timeout_follows_the_gaps_between_segments() {
        // tcp_event_data_recv: 40; gap 10 <= 20: 20 + 20; gap 30 < 40: 20 + 30; gap 45 < 50: 25 +
        // 45; gap 69 < 70: 35 + 69; gap 200 >= 104 and <= the RTO: as it was; then bursts: 52 + 20,
        // 36 + 20, 28 + 20, ...: towards 40.
        let mut p = acks(0);
        let mut at = 1000;
        p.learn(&full(at));
        let mut seen = vec![p.timeout];
        for gap in [10, 30, 45, 69, 200, 1, 1, 1] {
            at += gap;
            p.learn(&full(at));
            seen.push(p.timeout);
        }
        assert_eq!(seen, [40, 40, 50, 70, 104, 104, 72, 56, 48].map(MS));
    }

    #[test]
    fn the_delay_is_the_timeout_within_40_and_200_ms_and_a_round_trip() {
        let mut p = acks(0);
        let mut at = 1000;
        p.learn(&full(at));
        // No data within the timeout twice: 80, 160 (tcp_delack_timer_handler), 300: the RTO; of
        // these at most 200 wait.
        for (timeout, delay) in [(80, 80), (160, 160), (300, 200)] {
            p.missed(MS(300));
            assert_eq!((p.timeout, p.delay(None)), (MS(timeout), MS(delay)));
        }
        assert_eq!(p.delay(Some(MS(110))), MS(110), "a smoothed round trip bounds it");
        assert_eq!(p.delay(Some(MS(3))), MS(40), "but not below TCP_DELACK_MIN");
        // A second segment when a quarter of the delay or less is left: at once.
        at += 1000;
        let one = Arrival { srtt: Some(MS(100)), ..full(at) };
        let left = |ms| {
            let expires = one.now.saturating_add(MS(ms));
            LinuxAcks { expires, ..p.clone() }.when(&one)
        };
        assert_eq!((left(26), left(25)), (When::By(one.now.saturating_add(MS(26))), When::Now));
    }

    #[test]
    fn the_first_acks_and_those_after_trouble_leave_at_once() {
        // min(16, 64000 / (2 * 1000)) = 16 ACKs; then the 17th waits.
        let mut p = acks(16);
        for i in 0..17 {
            let a = full(1000 + i);
            p.learn(&a);
            assert_eq!(p.when(&a) == When::Now, i < 16, "{i}");
            p.sent();
        }
        p.hurry(2, 64_000);
        assert_eq!(p.quick, 2);
        // A window of 3 segments: 3000 / 2000 = 1; of less than two: 2 all the same.
        let (mut narrow, mut closed) = (acks(16), acks(16));
        narrow.learn(&Arrival { window: 3000, ..full(1) });
        closed.learn(&Arrival { window: 1000, ..full(1) });
        assert_eq!((narrow.quick, closed.quick), (1, 2));
        // A gap above the RTO of 300 ms: all sixteen again.
        p.learn(&full(1400));
        assert_eq!(p.quick, 16);
    }

    #[test]
    fn a_window_that_opens_adds_one_quick_ack_and_a_short_one_none() {
        // tcp_event_data_recv sets the budget, tcp_grow_window then its lowest bit: 16 | 1 = 17,
        // and after each ACK 16 | 1 again. So sixteen lone ACKs follow the last opening.
        let mut p = acks(16);
        for i in 0..3 {
            let a = Arrival { opened: true, ..full(1000 + i) };
            p.learn(&a);
            assert_eq!((p.quick, p.when(&a)), (17, When::Now));
            p.sent();
        }
        assert_eq!(p.quick, 16);
        // __tcp_ack_snd_check calls __tcp_select_window only where more than a segment waits and is
        // not read.
        let short = Arrival { unread: Some(Unread { window: 30_000, short: true }), ..full(1004) };
        p.learn(&short);
        assert_eq!((p.quick, p.when(&short)), (16, When::Now));
        let two = Arrival { unacknowledged: 2000, ..short };
        p.learn(&two);
        assert_eq!((p.quick, p.when(&two)), (0, When::By(Instant::from_millis(1044))));
    }

    #[test]
    fn an_answer_within_the_timeout_makes_the_session_interactive_until_a_pure_ack() {
        let mut p = acks(16);
        let a = full(1000);
        p.learn(&a);
        p.data_sent(Instant::from_millis(1039));
        // Interactive: no quick ACK, although fifteen are left.
        assert_eq!(p.when(&a), When::By(Instant::from_millis(1040)));
        p.missed(MS(300));
        assert_eq!((p.when(&a), p.timeout), (When::Now, MS(40)));
        let mut late = acks(0);
        late.learn(&a);
        late.data_sent(Instant::from_millis(1040));
        assert!(!late.interactive, "40 ms later is no answer");
    }

    #[test]
    fn more_than_one_of_the_peers_segments_is_acknowledged_at_once_if_the_window_moves() {
        let mut p = acks(0);
        p.learn(&full(1000));
        p.learn(&full(1001));
        let two = Arrival { unacknowledged: 2000, ..full(1001) };
        assert_eq!(p.when(&two), When::Now);
        // Unread data that narrows the window: the ACK leaves with the read.
        let stuck = Arrival { unread: Some(Unread { window: 62_000, short: true }), ..two };
        assert_ne!(p.when(&stuck), When::Now);
        assert!(p.is_wanted_by_read(2000));
    }

    #[test]
    fn a_full_segment_with_psh_is_acknowledged_at_once_since_6_1_57() {
        // Commit 4720852ed9af: ICSK_ACK_PUSHED for a segment of one MSS with PSH; tcp_cleanup_rbuf
        // then acknowledges it when all is read and the session is not interactive.
        let pushed = Arrival { pushed: true, ..full(1000) };
        let when = |rule: AckRule, a: &Arrival| {
            let mut p = LinuxAcks::new(MS(40), 0, rule, Timers::new(KernelClock::Exact, Wheel::Levels));
            p.learn(a);
            p.when(a)
        };
        let later = When::By(Instant::from_millis(1040));
        assert_eq!(when(AckRule::Linux, &pushed), When::Now);
        assert_eq!(when(AckRule::LinuxBefore6157, &pushed), later);
        assert_eq!(when(AckRule::Linux, &full(1000)), later, "no PSH");
        assert_eq!(
            when(
                AckRule::Linux,
                &Arrival { unread: Some(Unread { window: 64_000, short: false }), ..pushed }
            ),
            later,
            "not read"
        );
        let mut interactive = acks(0);
        interactive.learn(&full(990));
        interactive.data_sent(Instant::from_millis(991));
        interactive.sent();
        interactive.learn(&pushed);
        assert_ne!(interactive.when(&pushed), When::Now, "ping-pong mode");
    }

    #[test]
    fn an_ack_without_new_data_is_no_quick_ack_since_6_1_57() {
        // Commit 059217c18be6: tcp_dec_quickack_mode tests inet_csk_ack_scheduled.
        for (rule, left) in [(AckRule::Linux, 15), (AckRule::LinuxBefore6157, 13)] {
            let mut p = LinuxAcks::new(MS(40), 16, rule, Timers::new(KernelClock::Exact, Wheel::Levels));
            p.learn(&full(1000));
            (0..3).for_each(|_| p.sent());
            assert_eq!(p.quick, left, "one ACK of data, two segments of our own data");
        }
    }

    #[test]
    fn the_peers_segment_size_is_the_largest_or_a_smaller_one_seen_twice() {
        let mut p = acks(0);
        p.learn(&full(1));
        assert_eq!(p.peer_segment, 1000);
        // 700 octets once: the end of a write; twice: smaller segments. 100 octets count only
        // without PSH.
        for (len, pushed, size, ends) in [
            (700, true, 1000, 1),
            (700, true, 700, 1),
            (70, true, 700, 2),
            (70, true, 700, 2),
            (100, false, 700, 2),
        ] {
            p.learn(&Arrival { len, pushed, ..full(2) });
            assert_eq!((p.peer_segment, p.pushed), (size, ends), "{len}");
        }
        p.learn(&Arrival { len: 100, ..full(3) });
        assert_eq!(p.peer_segment, 100);
        p.learn(&Arrival { len: 9000, ..full(4) });
        assert_eq!(p.peer_segment, 1448, "not more than was announced");
    }
}
