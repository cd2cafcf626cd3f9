//! Video at its viewer: the frames received and played, and the stalls.

use lasthop_units::{Duration, Instant};

/// The video as played by the viewer.
#[derive(Clone, Debug, Default)]
pub struct Video {
    pub(super) segments: u64,
    pub(super) bits: u128,
    pub(super) switches: u64,
    pub(super) stalls: u64,
    pub(super) stalled: Duration,
    pub(super) startup: Option<Duration>,
    /// Playable video at `since`.
    pub(super) buffer: Duration,
    pub(super) since: Instant,
    pub(super) playing: bool,
    /// The last segment is here: an empty buffer is the end and no stall.
    pub(super) ending: bool,
    /// The viewer has left: nothing is played, and nothing is a stall.
    pub(super) left: bool,
    pub(super) segment: Duration,
}

impl Video {
    /// Segments that have arrived.
    pub const fn segments(&self) -> u64 {
        self.segments
    }
    /// Mean bitrate of those [bit/s].
    pub fn bitrate_bps(&self) -> Option<f64> {
        let played = self.segments as f64 * self.segment.as_secs_f64();
        (self.segments > 0).then(|| self.bits as f64 / played)
    }
    /// Times that the bitrate changed from one segment to the next.
    pub const fn switches(&self) -> u64 {
        self.switches
    }
    /// From the start to the first picture.
    pub const fn startup(&self) -> Option<Duration> {
        self.startup
    }
    /// The number of stalls and their total duration until `now`.
    pub fn stalls(&self, now: Instant) -> (u64, Duration) {
        let mut seen = self.clone();
        seen.play(now);
        (seen.stalls, seen.stalled + seen.standing(now))
    }
    /// For how long it has stood still, if it does.
    fn standing(&self, now: Instant) -> Duration {
        let stands = !self.playing && !self.ending && !self.left && self.startup.is_some();
        if stands { now.since(self.since) } else { Duration::ZERO }
    }

    /// The viewer leaves.
    pub(super) fn leave(&mut self, now: Instant) {
        self.play(now);
        self.stalled += self.standing(now);
        (self.left, self.playing) = (true, false);
    }

    /// Plays until `now`. During a stall, `since` is its start.
    pub(super) fn play(&mut self, now: Instant) {
        if !self.playing {
            return;
        }
        let elapsed = now.since(self.since);
        if elapsed < self.buffer {
            self.buffer -= elapsed;
            self.since = now;
            return;
        }
        self.since += self.buffer;
        self.buffer = Duration::ZERO;
        // Empty at the very moment that something comes is no stall yet.
        if elapsed.is_zero() {
            return;
        }
        self.playing = false;
        self.stalls += u64::from(!self.ending);
    }
}
