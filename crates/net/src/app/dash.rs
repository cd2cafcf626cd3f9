//! Adaptive video over HTTP (ISO/IEC 23009-1): a player that requests segment after segment, each
//! at the bitrate that its rule chooses, and plays them out.

use lasthop_units::{Bitrate, Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exchange::Exchange;
use super::kind::{AppContext, AppKind, Behaviour, Fault, Wrong, above_zero, at_least, parameter};
use super::streams::{Service, Streams};
use super::video::Video;
use super::{Action, End};
use crate::registry::Entry;

/// The rule by which a player chooses bitrates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Adaptation {
    /// The highest below `safety` times the harmonic mean of the last three downloads' throughput.
    #[default]
    Throughput,
    /// By the video that waits to be shown (BBA-0, SIGCOMM 2014).
    Buffer,
}

/// Parameters of `dash`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DashConfig {
    /// Bitrates that the server has, lowest first.
    pub ladder: Vec<Bitrate>,
    /// Length of a segment, 1 ms to 600 s.
    pub segment: Duration,
    /// Most video that the player keeps.
    pub max_buffer: Duration,
    /// Video that the player must have before it begins to play, and before it continues after a
    /// stall.
    pub startup: Duration,
    /// The rule for bitrates.
    pub adaptation: Adaptation,
    /// With `throughput`: the share of the measured throughput that is used, above 0 and at most 1.
    pub safety: f64,
    /// With `buffer`: amount of video up to which the lowest bitrate is taken.
    pub reservoir: Duration,
    /// With `buffer`: amount of video above the reservoir from which the highest bitrate is taken.
    pub cushion: Duration,
    /// Size of a request.
    pub request: Bytes,
    /// Number of segments; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Default for DashConfig {
    fn default() -> Self {
        let kbps = [400, 800, 1500, 3000, 6000, 9000, 12_000, 16_000];
        DashConfig {
            ladder: kbps.map(|k| Bitrate(k * 1000)).into(),
            segment: Duration::from_secs(2),
            max_buffer: Duration::from_secs(12),
            startup: Duration::from_secs(2),
            adaptation: Adaptation::Throughput,
            safety: 0.9,
            reservoir: Duration::from_secs(4),
            cushion: Duration::from_secs(6),
            request: Bytes(350),
            count: None,
        }
    }
}

impl AppKind for DashConfig {
    const ENTRY: Entry = Entry {
        name: "dash",
        summary: "a player of adaptive video: stalls, bitrates, switches (TCP)",
        source: "ISO/IEC 23009-1; T.-Y. Huang and others, SIGCOMM 2014 (buffer)",
        parameters: &[
            parameter("ladder", "0.4 to 16 Mbit/s", "bitrates that the server has"),
            parameter("segment", "2 s", "length of a segment"),
            parameter("max_buffer", "12 s", "most video that the player keeps"),
            parameter("startup", "2 s", "video that must be there before it begins"),
            parameter("adaptation", "throughput", "throughput or buffer"),
            parameter("safety", "0.9", "share of the measured throughput that is used"),
            parameter("reservoir", "4 s", "the lowest bitrate up to here"),
            parameter("cushion", "6 s", "the highest bitrate so much above"),
            parameter("request", "350 B", "size of a request"),
            parameter("count", "for ever", "number of segments"),
        ],
    };
    const DATA_END: End = End::B;
    const ANSWERS: bool = true;
    type Run = Box<Dash>;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        let wrong = |key, message: &str| Err((key, message.to_owned()));
        if self.ladder.is_empty() || self.ladder[0].0 == 0 {
            return wrong("ladder", "needs at least one bitrate above zero");
        }
        if !self.ladder.is_sorted_by(|a, b| a < b) {
            return wrong("ladder", "bitrates go from the lowest to the highest, each once");
        }
        at_least("segment", self.segment, Duration::from_millis(1))?;
        above_zero("request", self.request.0)?;
        above_zero("count", self.count.map_or(1, u64::from))?;
        if self.startup > self.max_buffer || self.segment > self.max_buffer {
            return wrong("max_buffer", "is not shorter than `segment` and `startup`");
        }
        if self.segment > Duration::from_secs(600) {
            return wrong("segment", "up to 600 s");
        }
        if !(self.safety > 0.0 && self.safety <= 1.0) {
            return wrong("safety", "a share above 0 and at most 1");
        }
        Ok(())
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Box<Dash>, Fault> {
        Ok(Box::new(Dash::new(self)))
    }
}

/// Downloads that the throughput rule averages over.
const SAMPLES: usize = 3;

/// The player.
#[derive(Clone, Debug)]
pub(super) struct Dash {
    config: DashConfig,
    exchange: Exchange,
    next: Option<Instant>,
    asked_at: Instant,
    /// Index into the ladder of the segment in progress, or of the last one.
    level: usize,
    /// Throughput of the last downloads [bit/s].
    rates: [f64; SAMPLES],
    video: Video,
}

impl Dash {
    fn new(config: &DashConfig) -> Dash {
        Dash {
            config: config.clone(),
            exchange: Exchange::default(),
            next: None,
            asked_at: Instant::ZERO,
            level: 0,
            rates: [f64::INFINITY; SAMPLES],
            video: Video { segment: config.segment, ..Video::default() },
        }
    }

    /// Requests the next segment if that is due: bytes of the request.
    fn due(&mut self, now: Instant) -> Option<u64> {
        self.next.take_if(|at| *at <= now)?;
        self.video.play(now);
        let level = if self.video.segments == 0 { 0 } else { self.choose() };
        self.video.switches += u64::from(self.video.segments > 0 && level != self.level);
        self.level = level;
        self.asked_at = now;
        self.exchange.request(self.config.request.0, self.segment_bytes());
        Some(self.config.request.0)
    }

    /// `received` bytes have arrived at the player: how long the segment took, if one is complete,
    /// and whether it is the last.
    fn at_player(&mut self, now: Instant, received: u64, started: Instant) -> Option<(Duration, bool)> {
        if self.exchange.arrived(received) == 0 {
            return None;
        }
        let took = now.since(self.asked_at);
        let bits = self.segment_bytes() * 8;
        self.rates.rotate_left(1);
        self.rates[SAMPLES - 1] = bits as f64 / took.as_secs_f64().max(1e-9);
        let v = &mut self.video;
        v.play(now);
        v.segments += 1;
        v.bits += u128::from(bits);
        let last = self.config.count.is_some_and(|count| v.segments >= u64::from(count));
        if v.left {
            return Some((took, last));
        }
        v.buffer += self.config.segment;
        v.ending = last;
        if !v.playing && (v.buffer >= self.config.startup || last) {
            v.playing = true;
            match v.startup {
                None => v.startup = Some(now.since(started)),
                Some(_) => v.stalled += now.since(v.since),
            }
            v.since = now;
        }
        // The next one has room when the buffer has fallen to a segment less than it holds.
        let room = self.config.max_buffer.0.saturating_sub(self.config.segment.0);
        let wait = Duration(v.buffer.0.saturating_sub(room));
        self.next = (!last).then(|| now + wait);
        Some((took, last))
    }

    fn segment_bytes(&self) -> u64 {
        let bits = u128::from(self.config.ladder[self.level].0) * u128::from(self.config.segment.0);
        (bits / 8_000_000_000).max(1) as u64
    }

    fn choose(&self) -> usize {
        if self.config.adaptation == Adaptation::Buffer {
            return self.by_buffer();
        }
        // Fewer downloads than samples: those that there are.
        let seen = self.rates.iter().filter(|r| r.is_finite()).count() as f64;
        let harmonic = seen / self.rates.iter().map(|r| 1.0 / r).sum::<f64>();
        self.config.ladder.iter().rposition(|b| b.as_f64() <= harmonic * self.config.safety).unwrap_or(0)
    }

    /// BBA-0 (T.-Y. Huang and others, A buffer-based approach to rate adaptation, SIGCOMM 2014,
    /// algorithm 1): the lowest rate up to the reservoir, the highest from the end of the
    /// cushion on, a line between; a rate is left when the line has passed the next one.
    fn by_buffer(&self) -> usize {
        let ladder = &self.config.ladder;
        let top = ladder.len() - 1;
        let rate = |i: usize| ladder.get(i).map_or(0.0, |b| b.as_f64());
        let s = |d: Duration| d.as_secs_f64();
        let share = (s(self.video.buffer) - s(self.config.reservoir)) / s(self.config.cushion).max(1e-9);
        if share <= 0.0 {
            return 0;
        }
        if share >= 1.0 {
            return top;
        }
        let line = rate(0) + (rate(top) - rate(0)) * share;
        if line >= rate((self.level + 1).min(top)) {
            ladder.iter().rposition(|b| b.as_f64() < line).unwrap_or(0)
        } else if line <= rate(self.level.saturating_sub(1)) {
            ladder.iter().position(|b| b.as_f64() > line).unwrap_or(top)
        } else {
            self.level
        }
    }
}

impl Behaviour for Dash {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.video.since = now;
        self.next = Some(now);
        self.on_time(now, s, out);
    }
    fn stop(&mut self, now: Instant) {
        self.next = None;
        self.video.leave(now);
    }
    fn poll_at(&self) -> Option<Instant> {
        self.next
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        if let Some(request) = self.due(now) {
            s.request(1, request, out);
        }
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
        let [at_a, at_b] = s.stats.delivered;
        if end == End::B {
            let (bytes, count) = self.exchange.read(at_b);
            s.answer(bytes, count, out);
        } else if let Some((took, last)) = self.at_player(now, at_a, s.stats.started.unwrap_or_default()) {
            s.stats.completions.add(now, took);
            if last {
                s.complete(now, out);
            } else {
                self.on_time(now, s, out);
            }
        }
    }
    fn video(&self) -> Option<&Video> {
        Some(&self.video)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Bitrate, Bytes};

    fn ms(t: u64) -> Instant {
        Instant::from_millis(t)
    }
    /// Segments of 2 s at 1, 2 and 4 Mbit/s: 250, 500 and 1000 kB.
    fn player(change: impl FnOnce(&mut DashConfig)) -> Dash {
        let mut config = DashConfig {
            ladder: [1, 2, 4].map(|m| Bitrate(m * 1_000_000)).into(),
            segment: Duration::from_secs(2),
            max_buffer: Duration::from_secs(8),
            startup: Duration::from_secs(2),
            request: Bytes(300),
            ..DashConfig::default()
        };
        change(&mut config);
        let mut p = Dash::new(&config);
        (p.video.since, p.next) = (ms(0), Some(ms(0)));
        p
    }
    /// Requests at its time, and gets the response `took` later.
    fn get(p: &mut Dash, received: &mut u64, took: u64) -> Instant {
        let at = p.poll_at().unwrap();
        p.due(at).unwrap();
        *received += p.segment_bytes();
        let now = at + Duration::from_millis(took);
        p.at_player(now, *received, ms(0)).unwrap();
        now
    }

    /// 250 kB in 0.5 s are 4 Mbit/s, of which 0.9 carry 2 Mbit/s. Then 500 kB in 0.5 s: the
    /// harmonic mean of 4 and 8 is 5.33, of which 0.9 are 4.8: 4 Mbit/s. Two switches.
    #[test]
    fn the_throughput_rule_takes_the_harmonic_mean_of_the_last_downloads() {
        let (mut p, mut received) = (player(|_| {}), 0);
        get(&mut p, &mut received, 500);
        assert_eq!((p.video.startup(), p.level), (Some(Duration::from_millis(500)), 0));
        get(&mut p, &mut received, 500);
        assert_eq!(p.level, 1);
        get(&mut p, &mut received, 500);
        assert_eq!((p.level, p.video.switches(), p.video.segments()), (2, 2, 3));
        // 2 s of each of 1, 2, 4 Mbit/s.
        assert_eq!(p.video.bitrate_bps(), Some(7e6 / 3.0));
    }

    /// The first segment has arrived at 0.5 s, and plays to 2.5 s; the second one takes until 4 s:
    /// a stall of 1.5 s. Then nothing arrives: it plays to 6 s and stalls again, for 1 s until 7 s.
    #[test]
    fn an_empty_buffer_is_a_stall_until_enough_is_here() {
        let (mut p, mut received) = (player(|_| {}), 0);
        get(&mut p, &mut received, 500);
        assert_eq!(get(&mut p, &mut received, 3500), ms(4000));
        assert_eq!(p.video.stalls(ms(4000)), (1, Duration::from_millis(1500)));
        assert_eq!(p.video.stalls(ms(5999)), (1, Duration::from_millis(1500)));
        assert_eq!(p.video.stalls(ms(7000)), (2, Duration::from_millis(2500)));
    }

    /// Each takes 0.1 s; the buffer holds 8 s: the fifth would make it 8 s + and waits until 6 s
    /// are left. At 0.4 s four are here, of which 0.3 s were played: 7.7 s, so the next one is
    /// requested 1.7 s later.
    #[test]
    fn a_full_buffer_waits() {
        let (mut p, mut received) = (player(|_| {}), 0);
        for _ in 0..4 {
            get(&mut p, &mut received, 100);
        }
        assert_eq!(p.poll_at(), Some(ms(400 + 1700)));
    }

    /// The first segment plays from 0.5 s to 2.5 s. A viewer who leaves at 2 s has seen no stall,
    /// one who leaves at 3 s one of 0.5 s, whatever arrives after that and however long the run is.
    #[test]
    fn nothing_stalls_after_the_viewer_has_left() {
        for (leaves, stalls, stalled) in [(2000, 0, 0), (3000, 1, 500)] {
            let (mut p, mut received) = (player(|_| {}), 0);
            get(&mut p, &mut received, 500);
            let at = p.poll_at().unwrap();
            p.due(at).unwrap();
            p.stop(ms(leaves));
            let expected = (stalls, Duration::from_millis(stalled));
            assert_eq!(p.video.stalls(ms(60_000)), expected);
            received += p.segment_bytes();
            p.at_player(ms(4000), received, ms(0)).unwrap();
            assert_eq!((p.video.segments(), p.poll_at()), (2, None));
            assert_eq!(p.video.stalls(ms(60_000)), expected);
        }
    }

    #[test]
    fn the_end_is_no_stall() {
        let (mut p, mut received) = (player(|c| c.count = Some(2)), 0);
        get(&mut p, &mut received, 100);
        get(&mut p, &mut received, 100);
        assert_eq!((p.poll_at(), p.video.stalls(ms(60_000))), (None, (0, Duration::ZERO)));
    }

    /// Reservoir 2 s, cushion 4 s, ladder 1, 2, 4: at 3 s of video the line is 1 + 3 / 4 = 1.75,
    /// below the next rate: it stays at 1; at 4 s it is 2.5: 2 Mbit/s; from 6 s on 4. At 2.5 s
    /// it is 1.375, below 2: the least rate above the line is 2.
    #[test]
    fn the_buffer_rule_follows_its_line_with_hysteresis() {
        let mut p = player(|c| {
            c.adaptation = Adaptation::Buffer;
            (c.reservoir, c.cushion) = (Duration::from_secs(2), Duration::from_secs(4));
        });
        for (ms, level) in [(1000, 0), (3000, 0), (4000, 1), (3100, 1), (6000, 2), (2500, 1), (2000, 0)] {
            p.video.buffer = Duration::from_millis(ms);
            p.level = p.choose();
            assert_eq!(p.level, level, "{ms}");
        }
    }
}
