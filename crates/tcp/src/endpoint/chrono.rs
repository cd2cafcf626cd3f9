//! Where a sender's time goes (Linux' tcp_chrono): busy, and within that waiting for the peer's
//! window or for room in the send buffer.

use lasthop_units::{Duration, Instant};

use super::Endpoint;

/// What the sender is doing; a later one hides an earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Activity {
    #[default]
    Idle,
    Busy,
    WindowLimited,
    BufferLimited,
}

/// The account.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chrono {
    now: Activity,
    since: Instant,
    spent: [Duration; 4],
    /// The application wanted to write more than it could.
    pub wants_room: bool,
}

impl Chrono {
    fn switch(&mut self, now: Instant, to: Activity) {
        self.spent[self.now as usize] += now.since(self.since);
        (self.now, self.since) = (to, now);
    }

    pub fn start(&mut self, now: Instant, what: Activity) {
        if what > self.now {
            self.switch(now, what);
        }
    }

    /// `what` is over; nothing at all is queued when `empty`.
    pub fn stop(&mut self, now: Instant, what: Activity, empty: bool) {
        if empty {
            self.switch(now, Activity::Idle);
        } else if what == self.now {
            self.switch(now, Activity::Busy);
        }
    }

    fn total(&self, what: Activity, now: Instant) -> Duration {
        let running = if self.now == what { now.since(self.since) } else { Duration::ZERO };
        self.spent[what as usize] + running
    }
}

impl Endpoint {
    /// How long data was queued or in flight (tcpi_busy_time), how much of that the peer's window
    /// was too small (tcpi_rwnd_limited), and how much the send buffer (tcpi_sndbuf_limited).
    /// Counted with segmentation offload only.
    pub fn limited_times(&self, now: Instant) -> (Duration, Duration, Duration) {
        let t = |what| self.chrono.total(what, now);
        let (window, buffer) = (t(Activity::WindowLimited), t(Activity::BufferLimited));
        (t(Activity::Busy) + window + buffer, window, buffer)
    }
}
