//! The timers of a connection: one table of moments, indexed by name.

use lasthop_units::{Duration, Instant};

use crate::jiffies;

/// What a moment is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The retransmission timeout (RFC 6298); before the handshake's end the SYN's.
    Retransmission,
    /// RACK's reordering timer (RFC 8985 section 6.2 step 5).
    Reordering,
    /// The tail loss probe (RFC 8985 section 7).
    LossProbe,
    /// The probe of a closed window, or the override of silly-window avoidance (RFC 9293 section
    /// 3.8.6).
    Persist,
    /// The end of TIME-WAIT.
    TimeWait,
    /// A delayed ACK leaves (RFC 9293 section 3.8.6.3).
    DelayedAck,
    /// With `burst_read`: the application reads the data that has arrived at this instant.
    Read,
    /// The next departure of a paced sender. Only a time in the future has a meaning: no data is
    /// sent before it.
    Pacing,
}

const TIMERS: usize = Timer::Pacing as usize + 1;

/// When each timer expires, by the clock of the kernel that runs them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    at: [Instant; TIMERS],
    /// None of them expires before this: the earliest time that was set since they were last
    /// compared.
    bound: Instant,
    clock: jiffies::Timers,
}

impl Timers {
    /// None runs.
    pub const fn new(clock: jiffies::Timers) -> Timers {
        Timers { at: [Instant::MAX; TIMERS], bound: Instant::MAX, clock }
    }

    /// The kernel's clock.
    #[inline]
    pub const fn clock(&self) -> jiffies::Timers {
        self.clock
    }

    /// When it expires; [`Instant::MAX`] while it does not run.
    #[inline]
    pub const fn at(&self, timer: Timer) -> Instant {
        self.at[timer as usize]
    }

    #[inline]
    pub fn runs(&self, timer: Timer) -> bool {
        self.at(timer) != Instant::MAX
    }

    /// Starts the timer, to expire after `wait`, rounded as the clock requires.
    #[inline]
    pub fn start(&mut self, timer: Timer, now: Instant, wait: Duration) {
        self.set(timer, self.clock.at(now, wait));
    }

    /// Starts the timer, to expire at exactly this time.
    #[inline]
    pub fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = at;
        self.bound = self.bound.min(at);
    }

    /// A time before which none expires. Timers that are restarted later and later, as at each ACK,
    /// do not move it.
    #[inline]
    pub const fn bound(&self) -> Instant {
        self.bound
    }

    /// Compares them: the bound is then the first to expire, [`Timer::Pacing`] included.
    pub fn tighten_bound(&mut self) {
        self.bound = self.first().min(self.at(Timer::Pacing));
    }

    #[inline]
    pub const fn stop(&mut self, timer: Timer) {
        self.at[timer as usize] = Instant::MAX;
    }

    #[inline]
    pub fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.at(timer) <= now
    }

    /// Stops the timer if it is due, and returns whether it was.
    #[inline]
    pub fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.is_due(timer, now);
        if due {
            self.stop(timer);
        }
        due
    }

    /// True if it runs and is not due yet.
    #[inline]
    pub fn holds(&self, timer: Timer, now: Instant) -> bool {
        self.runs(timer) && now < self.at(timer)
    }

    /// The first to expire, [`Timer::Pacing`] left out.
    #[inline]
    pub fn first(&self) -> Instant {
        let mut first = Instant::MAX;
        for at in &self.at[..Timer::Pacing as usize] {
            first = first.min(*at);
        }
        first
    }

    /// The reordering timer or the loss probe's runs. The kernel has one timer (icsk_pending):
    /// while one of these runs, the retransmission timer does not.
    #[inline]
    pub fn run_for_loss(&self) -> bool {
        self.runs(Timer::Reordering) || self.runs(Timer::LossProbe)
    }

    /// The oldest segment waits for its timeout, and nothing before that.
    #[inline]
    pub fn stop_for_loss(&mut self) {
        self.stop(Timer::Reordering);
        self.stop(Timer::LossProbe);
    }

    /// All but the pacing stop.
    pub fn stop_all(&mut self) {
        let pacing = self.at(Timer::Pacing);
        self.at = [Instant::MAX; TIMERS];
        self.set(Timer::Pacing, pacing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jiffies::{KernelClock, Wheel};
    use proptest::prelude::*;

    const ALL: [Timer; TIMERS] = [
        Timer::Retransmission,
        Timer::Reordering,
        Timer::LossProbe,
        Timer::Persist,
        Timer::TimeWait,
        Timer::DelayedAck,
        Timer::Read,
        Timer::Pacing,
    ];

    proptest! {
        #[test]
        fn no_timer_expires_before_the_bound_and_one_at_it_once_they_are_compared(
            steps in proptest::collection::vec((0usize..TIMERS, proptest::option::of(0u64..50)), 1..60)
        ) {
            let mut timers = Timers::new(jiffies::Timers::new(KernelClock::Exact, Wheel::Levels));
            for (i, (timer, at)) in steps.into_iter().enumerate() {
                match at {
                    Some(at) => timers.set(ALL[timer], Instant(at)),
                    None => timers.stop(ALL[timer]),
                }
                let first = ALL.map(|timer| timers.at(timer)).into_iter().min().unwrap();
                prop_assert!(timers.bound() <= first);
                if i % 5 == 4 {
                    timers.tighten_bound();
                    prop_assert_eq!(timers.bound(), first);
                }
            }
        }
    }
}
