//! A receive buffer that grows with the octets that the application reads: dynamic right-sizing
//! (Fisk and Feng 2001) as in Linux 6.1.
//!
//! tcp_rcv_space_adjust, tcp_rcv_rtt_measure, tcp_rcv_rtt_measure_ts, tcp_grow_window,
//! tcp_init_buffer_space and __tcp_select_window (net/ipv4/tcp_input.c, tcp_output.c). Simplified:
//! sizes are octets of window, that is half of the kernel's octets of memory
//! (net.ipv4.tcp_adv_win_scale 1), and waiting data occupies its octets of window, independent of
//! the memory of its segments; data out of order occupies none; there is always enough memory.
//! Linux 6.6 replaced the fixed half by the measured share of data in the memory of segments
//! (commit dfa2f0483360).

use lasthop_units::{Duration, Instant};

/// TCP_INIT_CWND: the assumed flight of a sender in its first round trip \[segments\].
const FIRST_FLIGHT: u64 = 10;
/// Smaller segments are no reason to open the window (tcp_event_data_recv) \[octets\].
const SMALL: u32 = 128;

/// SKB_TRUESIZE(MAX_TCP_HEADER): octets of memory that a segment takes beside its data, 320 of
/// headers, 256 of sk_buff and 320 of skb_shared_info (x86-64).
const OVERHEAD: u64 = 320 + 256 + 320;

/// The memory that tcp_rcv_space_adjust counts for a segment \[octets\]: in steps of 128 what makes
/// half of it hold the data.
const fn memory_of(segment: u64) -> u64 {
    let least = segment + OVERHEAD;
    least + (2 * segment).saturating_sub(least).next_multiple_of(128)
}

/// The size, and the measurements that determine it.
#[derive(Clone, Debug)]
pub struct RightSizing {
    /// Largest size. Where it equals the present size, as after SO_RCVBUF (SOCK_RCVBUF_LOCK), only
    /// the offered window grows.
    limit: u64,
    /// Half of sk_rcvbuf.
    space: u64,
    /// window_clamp.
    clamp: u64,
    /// rcv_ssthresh: the part of the size that is offered so far.
    offered: u64,
    segment: u64,
    /// The octets that the application read in the round trip with the most so far.
    per_trip: u64,
    trip_from: u64,
    trip_at: Instant,
    rtt: Option<Duration>,
    /// Where the current window of data ends, and the time at which it began.
    window: Option<(u64, Instant)>,
    last_echo: u32,
    largest: u32,
}

/// The most that is offered of `size` octets: tcp_init_buffer_space reserves one segment.
pub const fn reserved(size: u64, segment: u64) -> u64 {
    match size.checked_sub(segment) {
        Some(rest) if size > 2 * segment => {
            if rest > 2 * segment {
                rest
            } else {
                2 * segment
            }
        }
        _ => size,
    }
}

impl RightSizing {
    /// Established at `now`: from `start` to `limit` octets, with segments of `segment` octets;
    /// `first` was offered so far.
    pub fn new(now: Instant, start: u64, limit: u64, segment: u32, first: u64) -> RightSizing {
        let segment = u64::from(segment.max(1));
        let clamp = reserved(start, segment);
        let offered = first.min(clamp);
        RightSizing {
            limit: limit.max(start),
            space: start,
            clamp,
            offered,
            segment,
            per_trip: offered.min(FIRST_FLIGHT * segment).max(1),
            trip_from: 1,
            trip_at: now,
            rtt: None,
            window: None,
            last_echo: 0,
            largest: 0,
        }
    }

    /// In-order data of `len` octets up to `nxt`: samples the round trip and opens the window; true
    /// if the window was opened. `echo`: the age of the timestamp that the segment echoes, and the
    /// timestamp itself; `window`: the advertised window; `unread`: octets that wait for the
    /// application.
    pub fn on_data(
        &mut self,
        now: Instant,
        len: u32,
        nxt: u64,
        window: u64,
        unread: u64,
        echo: Option<(u32, Duration)>,
    ) -> bool {
        if self.window.is_none_or(|(edge, _)| nxt >= edge) {
            if let Some((_, since)) = self.window {
                // A window's worth takes a round trip at least: the smallest such time counts.
                let sample = now.since(since);
                self.rtt = Some(self.rtt.map_or(sample, |r| r.min(sample)));
            }
            self.window = Some((nxt + window, now));
        }
        if let Some((value, age)) = echo.filter(|e| e.0 != self.last_echo) {
            self.last_echo = value;
            if len >= self.largest {
                let age = age.max(Duration::from_millis(1));
                self.rtt = Some(self.rtt.map_or(age, |r| r - r / 8 + age / 8));
            }
        }
        self.largest = self.largest.max(len);
        let room = self.clamp.min(self.space.saturating_sub(unread)).saturating_sub(self.offered);
        if len < SMALL || room == 0 {
            return false;
        }
        self.offered += room.min(2 * self.segment.max(u64::from(len)));
        true
    }

    /// The application has read up to `read_to`. Once in a round trip the size is set such that
    /// twice the octets read in it fit, or more if this number grows. True if the size has changed.
    pub fn on_read(&mut self, now: Instant, read_to: u64) -> bool {
        if self.rtt.is_none_or(|rtt| now.since(self.trip_at) < rtt) {
            return false;
        }
        let size = self.space;
        let copied = read_to.saturating_sub(self.trip_from);
        if copied > self.per_trip {
            let wanted = u128::from(2 * copied + 16 * self.segment);
            let grown = wanted * u128::from(copied - self.per_trip) / u128::from(self.per_trip);
            let segments = (wanted + 2 * grown) / u128::from(self.segment);
            let room = segments * u128::from(memory_of(self.segment)) / 2;
            let window = room.min(u128::from(self.limit)) as u64;
            if window > self.space {
                self.space = window;
                self.clamp = window;
            }
            self.per_trip = copied;
        }
        self.trip_from = read_to;
        self.trip_at = now;
        self.space != size
    }

    /// The size, the most that may be offered of it, and the present offer \[octets of window\].
    #[inline]
    pub const fn bounds(&self) -> (u64, u64, u64) {
        (self.space, self.clamp, self.offered)
    }

    /// The window to offer while `unread` octets wait for the application.
    pub fn window(&self, unread: u64) -> u64 {
        self.space.saturating_sub(unread).min(self.offered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 65_536;
    const MSS: u32 = 1448;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }
    /// As Linux over Ethernet: the SYN offers the largest multiple of 1460 in 65535, 64240.
    fn sizing(limit: u64) -> RightSizing {
        RightSizing::new(at(0), START, limit, MSS, 64_240)
    }

    #[test]
    fn it_begins_as_linux_begins() {
        // 131072 / 2 - 1448 = 64088, below the 64240 of the SYN.
        let s = sizing(3 << 20);
        assert_eq!((s.clamp, s.window(0), s.per_trip), (64_088, 64_088, 14_480));
        // Two segments and no more fit in little: 4 * 1448 less one; 2 * 1448 without.
        assert_eq!(RightSizing::new(at(0), 5792, 5792, MSS, 5792).window(0), 4344);
        assert_eq!(RightSizing::new(at(0), 2896, 2896, MSS, 2896).window(0), 2896);
    }

    #[test]
    fn twice_the_octets_read_in_a_round_trip_fit_and_more_while_they_grow() {
        let mut s = sizing(3 << 20);
        s.on_data(at(10), MSS, 1449, 64_088, 0, Some((1, Duration::from_millis(100))));
        s.on_read(at(99), 28_961);
        assert_eq!(s.space, START, "not before a round trip is over");
        // 20 segments: 2 * 20 + 16 = 56; they are twice the ten before: 56 * (20 - 10) / 10 = 56,
        // counted twice: 168 segments. Each counts for 1448 + 320 + 256 + 320 = 2344 octets of
        // memory, in steps of 128 up to twice its data: 2984; half is window: 250656.
        s.on_read(at(100), 28_961);
        assert_eq!((s.clamp, s.per_trip), (250_656, 28_960));
        // The same again: nothing. Less: nothing shrinks.
        s.on_read(at(200), 57_921);
        s.on_read(at(300), 60_000);
        assert_eq!((s.clamp, s.per_trip), (250_656, 28_960));
        // The limit.
        s.on_read(at(400), 5_000_000);
        assert_eq!(s.clamp, 3 << 20);
    }

    #[test]
    fn the_offer_follows_by_two_segments_each() {
        let mut s = sizing(3 << 20);
        s.clamp = 67_000;
        s.space = 67_000;
        let mut grew = |len, unread| (s.on_data(at(1), len, 1, 64_088, unread, None), s.window(unread));
        assert_eq!(grew(127, 0), (false, 64_088), "small segments count for nothing");
        assert_eq!(grew(MSS, 0), (true, 66_984));
        assert_eq!(grew(MSS, 0), (true, 67_000));
        assert_eq!(grew(MSS, 0), (false, 67_000));
        assert_eq!(grew(MSS, 10_000), (false, 57_000), "what waits to be read takes its room");
    }

    #[test]
    fn a_buffer_that_is_set_stays_but_is_offered_by_and_by() {
        let mut s = RightSizing::new(at(0), 100_000, 100_000, MSS, 64_240);
        let grew: Vec<_> =
            (0..14).map(|_| (s.on_data(at(1), MSS, 1, 64_240, 0, None), s.window(0))).collect();
        // 64240 + 2896 n up to 100000 - 1448: twelve steps are 34752, the last one is the rest.
        assert_eq!((grew[0], grew[10]), ((true, 67_136), (true, 96_096)));
        assert_eq!(grew[11..], [(true, 98_552), (false, 98_552), (false, 98_552)]);
        s.rtt = Some(Duration::from_millis(1));
        s.on_read(at(100), 50_000);
        assert_eq!(s.bounds(), (100_000, 98_552, 98_552));
    }

    #[test]
    fn the_round_trip_is_that_of_timestamps_smoothed_or_the_least_time_of_a_window() {
        let mut s = sizing(3 << 20);
        let echo = |n, ms| Some((n, Duration::from_millis(ms)));
        s.on_data(at(1000), MSS, 1449, 10_000, 0, echo(1, 80));
        assert_eq!(s.rtt, Some(Duration::from_millis(80)));
        // The same echo again has no effect, nor has a smaller segment; 80 * 7/8 + 160 / 8 = 90.
        s.on_data(at(1001), MSS, 2897, 10_000, 0, echo(1, 81));
        s.on_data(at(1002), 100, 2997, 10_000, 0, echo(2, 500));
        s.on_data(at(1003), MSS, 4445, 10_000, 0, echo(3, 160));
        assert_eq!(s.rtt, Some(Duration::from_millis(90)));
        // 1449 + 10000 reached after 50 ms: less than 90.
        s.on_data(at(1050), MSS, 11_449, 10_000, 0, None);
        assert_eq!(s.rtt, Some(Duration::from_millis(50)));
    }
}
