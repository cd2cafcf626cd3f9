//! The clock of a kernel's timers: whole ticks ("jiffies") and the slots of its timer wheel.
//!
//! Linux 6.1: `usecs_to_jiffies` rounds up (kernel/time/time.c); a timer that is armed for `n`
//! jiffies while jiffy `j` lasts expires in jiffy `j + n`, and `calc_index` (kernel/time/timer.c)
//! files it under the next slot after that jiffy, "The timer wheel has to guarantee that a timer
//! does not fire early". Slots are 1 jiffy wide for delays below 63 jiffies, 8 wide below 504, 64
//! wide below 4032, and so on (`LVL_START`, `LVL_GRAN`). Before Linux 4.8 the wheel had no such
//! levels: a timer fired when jiffy `j + n` began (`internal_add_timer`).

use lasthop_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The resolution of a kernel's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KernelClock {
    /// Timers expire at the nanosecond for which they were set.
    #[serde(rename = "exact")]
    Exact,
    /// A jiffy of 1 ms (CONFIG_HZ=1000).
    #[serde(rename = "hz-1000")]
    Hz1000,
    /// A jiffy of 4 ms (CONFIG_HZ=250).
    #[serde(rename = "hz-250")]
    Hz250,
    /// A jiffy of 10 ms (CONFIG_HZ=100).
    #[serde(rename = "hz-100")]
    Hz100,
}

/// Where a kernel files its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wheel {
    /// Slots that are wider for timers that expire later; timers never fire early (Linux since
    /// 4.8).
    Levels,
    /// A slot per jiffy; timers fire up to a jiffy early (Linux before 4.8).
    Jiffies,
}

/// LVL_CLK_SHIFT: each level's slots are eight times as wide as those of the level below.
const LEVEL_SHIFT: u32 = 3;
/// LVL_SIZE - 1: delays below this many slots go to a level.
const LEVEL_SLOTS: u64 = 63;
/// The shift of the last level, LVL_DEPTH - 1 of them (HZ above 100).
const LAST_SHIFT: u32 = 8 * LEVEL_SHIFT;

/// A kernel's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Nanoseconds of a jiffy; 0: exact.
    tick: u64,
    wheel: Wheel,
    /// Nanoseconds for which the kernel has run at time 0.
    up: u64,
}

impl Timers {
    /// Timers on this clock, filed in this wheel.
    pub const fn new(clock: KernelClock, wheel: Wheel) -> Timers {
        let tick = match clock {
            KernelClock::Exact => 0,
            KernelClock::Hz1000 => 1_000_000,
            KernelClock::Hz250 => 4_000_000,
            KernelClock::Hz100 => 10_000_000,
        };
        Timers { tick, wheel, up: 0 }
    }

    /// The timers of a kernel that has run for this long at time 0. An exact clock has no ticks, so
    /// this changes nothing.
    pub const fn up_before(self, time: Duration) -> Timers {
        Timers { up: if self.tick == 0 { 0 } else { time.0 }, ..self }
    }

    /// The time since the kernel's start \[ns\].
    #[inline]
    const fn uptime(self, at: Instant) -> u64 {
        at.0.saturating_add(self.up)
    }

    /// When a timer fires that is armed now to expire after `wait`.
    #[inline]
    pub fn at(self, now: Instant, wait: Duration) -> Instant {
        if self.tick == 0 {
            return now.saturating_add(wait);
        }
        let jiffy = self.uptime(now) / self.tick;
        self.slot(jiffy, jiffy.saturating_add(self.jiffies(wait)))
    }

    /// When a timer fires that is armed now to expire in the jiffy that begins at `expires`.
    #[inline]
    pub fn at_jiffy(self, now: Instant, expires: Instant) -> Instant {
        if self.tick == 0 {
            return expires;
        }
        self.slot(self.uptime(now) / self.tick, self.uptime(expires) / self.tick)
    }

    /// `wait` in whole jiffies, rounded up (usecs_to_jiffies).
    #[inline]
    pub fn up(self, wait: Duration) -> Duration {
        if self.tick == 0 { wait } else { Duration(self.jiffies(wait).saturating_mul(self.tick)) }
    }

    /// `time` in whole jiffies, rounded down, as a division of a number of jiffies leaves it.
    #[inline]
    pub fn down(self, time: Duration) -> Duration {
        if self.tick == 0 { time } else { Duration(time.0 - time.0 % self.tick) }
    }

    /// The exact clock, not one of a kernel.
    pub const fn is_exact(self) -> bool {
        self.tick == 0
    }

    /// Jiffies per second, HZ; an exact clock counts milliseconds where a kernel counts jiffies.
    pub const fn hz(self) -> u64 {
        match 1_000_000_000_u64.checked_div(self.tick) {
            Some(hz) => hz,
            None => 1000,
        }
    }

    /// The number of the jiffy of `now` (tcp_jiffies32).
    pub const fn count(self, now: Instant) -> u64 {
        self.uptime(now) / (1_000_000_000 / self.hz())
    }

    /// The beginning of the jiffy of `now`, no earlier than time 0.
    #[inline]
    pub fn jiffy(self, now: Instant) -> Instant {
        if self.tick == 0 { now } else { Instant(now.0.saturating_sub(self.uptime(now) % self.tick)) }
    }

    /// Times are kept in microseconds before they are rounded up to jiffies.
    #[inline]
    fn jiffies(self, wait: Duration) -> u64 {
        (wait.0 / 1000 * 1000).div_ceil(self.tick)
    }

    /// The beginning of the slot that a timer is filed under (calc_wheel_index). Not built into its
    /// callers: most of them run on an exact clock.
    #[inline(never)]
    fn slot(self, jiffy: u64, expires: u64) -> Instant {
        if self.wheel == Wheel::Jiffies {
            return self.begins(expires.max(jiffy + 1));
        }
        let delta = expires.saturating_sub(jiffy);
        let mut shift = 0;
        while shift < LAST_SHIFT && delta >= LEVEL_SLOTS << shift {
            shift += LEVEL_SHIFT;
        }
        let slot = (expires.max(jiffy) >> shift) + 1;
        self.begins(slot << shift)
    }

    /// When a jiffy begins.
    #[inline]
    fn begins(self, jiffy: u64) -> Instant {
        Instant(jiffy.saturating_mul(self.tick).saturating_sub(self.up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }
    const HZ1000: Timers = Timers::new(KernelClock::Hz1000, Wheel::Levels);
    const HZ250: Timers = Timers::new(KernelClock::Hz250, Wheel::Levels);

    #[test]
    fn waits_are_rounded_up_to_jiffies_and_never_end_early() {
        // usecs_to_jiffies: 1 us and 1000 us are one jiffy of 1 ms, 1001 us two; of 4 ms all three
        // are one.
        for (wait, ms1000, ms250) in [(0, 0, 0), (1, 1, 4), (1000, 1, 4), (1001, 2, 4), (4001, 5, 8)] {
            assert_eq!(HZ1000.up(us(wait)), Duration::from_millis(ms1000), "{wait}");
            assert_eq!(HZ250.up(us(wait)), Duration::from_millis(ms250), "{wait}");
        }
        // Two jiffies from 10.3 ms: expires in jiffy 12, filed under 13: 2.7 ms later. From the
        // edge 10.0 ms: 3 ms.
        assert_eq!(HZ1000.at(Instant::from_micros(10_300), us(2000)), Instant::from_millis(13));
        assert_eq!(HZ1000.at(Instant::from_millis(10), us(2000)), Instant::from_millis(13));
        // HZ 250: 2 ms are one jiffy; from 10.3 ms, in jiffy 2: expires in 3, filed under 4: 16 ms.
        assert_eq!(HZ250.at(Instant::from_micros(10_300), us(2000)), Instant::from_millis(16));
    }

    #[test]
    fn slots_are_8_and_64_jiffies_wide_for_long_waits() {
        let at = |ms: u64, wait: u64| {
            HZ1000.at(Instant::from_millis(ms), Duration::from_millis(wait)).0 / 1_000_000
        };
        // LVL_START(1) = 63: 62 jiffies from 100 are filed under 163, 63 under the next multiple of
        // 8 after 163.
        assert_eq!((at(100, 62), at(100, 63)), (163, 168));
        // 100 + 68 = 168 is a multiple of 8: the next one.
        assert_eq!(at(100, 68), 176);
        // LVL_START(2) = 504: 603 is filed under 608, 604 under the next multiple of 64.
        assert_eq!((at(100, 503), at(100, 504)), (608, 640));
        // LVL_START(3) = 4032: multiples of 512. 1 + 4031 = 4032 = 63 * 64: the next multiple of
        // 64; 1 + 4032: of 512.
        assert_eq!((at(1, 4031), at(1, 4032)), (4096, 4096));
        assert_eq!(at(100, 4100), 4608);
        // TCP_TIMEWAIT_LEN, 60 s: level 4 (LVL_START(4) = 32256), multiples of 4096: 15 * 4096.
        assert_eq!(at(0, 60_000), 61_440);
    }

    #[test]
    fn a_kernel_that_started_earlier_has_its_ticks_and_slots_elsewhere() {
        // Up for 10.4 ms at time 0, so jiffies begin at 0.6 ms + n. 2 jiffies from 10.3 ms, which
        // is jiffy 20 since the start: filed under 23, 23 - 10.4 = 12.6 ms. 68 jiffies: 20 + 68 =
        // 88 is a multiple of 8, the next is 96: 85.6 ms.
        let t = HZ1000.up_before(us(10_400));
        let now = Instant::from_micros(10_300);
        assert_eq!(t.at(now, us(2000)), Instant::from_micros(12_600));
        assert_eq!(t.at(now, us(68_000)), Instant::from_micros(85_600));
        assert_eq!((t.count(now), t.jiffy(now)), (20, Instant::from_micros(9_600)));
        assert_eq!(t.jiffy(Instant::from_micros(100)), Instant::ZERO);
        assert_eq!(t.up(us(1001)), us(2000), "lengths of time are what they were");
    }

    #[test]
    fn jiffies_are_counted_by_hz_and_milliseconds_by_an_exact_clock() {
        let exact = Timers::new(KernelClock::Exact, Wheel::Levels);
        let at = Instant::from_micros(1_007_900);
        for (timers, hz, count) in [(HZ1000, 1000, 1007), (HZ250, 250, 251), (exact, 1000, 1007)] {
            assert_eq!((timers.hz(), timers.count(at)), (hz, count));
        }
    }

    #[test]
    fn the_old_wheel_fires_when_the_jiffy_begins() {
        let old = Timers::new(KernelClock::Hz250, Wheel::Jiffies);
        // 40 ms are ten jiffies; from 10.3 ms, in jiffy 2: jiffy 12 begins at 48 ms, 37.7 ms later.
        assert_eq!(old.at(Instant::from_micros(10_300), us(40_000)), Instant::from_millis(48));
        assert_eq!(old.at(Instant::from_micros(10_300), us(0)), Instant::from_millis(12), "not in the past");
    }

    #[test]
    fn an_exact_clock_changes_nothing_and_no_wait_overflows() {
        let exact = Timers::new(KernelClock::Exact, Wheel::Levels);
        let (t, d) = (Instant(123_456_789), Duration(1_234_567));
        assert_eq!((exact.at(t, d), exact.up(d), exact.down(d)), (t + d, d, d));
        assert_eq!((exact.jiffy(t), exact.at_jiffy(t, t + d)), (t, t + d));
        for wheel in [Wheel::Levels, Wheel::Jiffies] {
            let timers = Timers::new(KernelClock::Hz100, wheel);
            assert!(timers.at(t, Duration(u64::MAX)) > t);
            assert!(timers.at_jiffy(t, Instant::MAX) > t);
        }
    }
}
