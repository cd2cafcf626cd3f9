//! `media`: one direction of a video call whose rate follows the network.
//!
//! The sender at A has an encoder, a queue of RTP packets that are sent singly, a record of them
//! and a rate control; the receiver at B reports to it (RFC 8888). The contents of a report are
//! kept here until its packet arrives, because packets in the simulation have no octets.

use std::collections::{BTreeMap, VecDeque};

use lasthop_engine::observe::{Observer, Variable, variables};
use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Bitrate, Bytes, Duration, Ecn, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppContext, AppKind, Behaviour, Fault, Over, Wrong, above_zero, at_least, parameter};
use super::source::Source;
use super::stats::{MediaCounts, MediaSample};
use super::streams::{Service, Streams};
use super::{Action, Arrival, End, Message};
use crate::media::{
    BoxedRateControl, Encoder, EncoderConfig, Feedback, History, MediaControl, RTP_HEADER, RateContext,
    RateControlName, RateControls, RateMutant, RateSetup, Receiver, Report,
};
use crate::registry::Entry;
use crate::udp::MAX_DATAGRAM;

/// The time between two packets of audio.
const AUDIO_PERIOD: Duration = Duration::from_millis(20);
/// Packets that have waited for this long at the sender are of no use any more.
const STALE: Duration = Duration::from_secs(2);
/// Where a control's window is full, a packet leaves all the same after this time: reports may
/// have been lost.
const PROBE: Duration = Duration::from_millis(200);
/// Maximum number of reports in transmission, and of incomplete frames.
const MOST: usize = 16_384;
/// The highest rate of an encoder.
const FASTEST: Bitrate = Bitrate(1_000_000_000);
/// The smallest value of `size` [B].
const SMALLEST: u64 = 64;

/// Parameters of `media`. Rates of the video count RTP packets with their headers of 12 octets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MediaConfig {
    /// The rate control: built in, or one of your own.
    pub control: RateControlName,
    /// Parameters of a rate control of your own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub control_parameters: BTreeMap<String, f64>,
    /// A deliberate error in a built-in rate control, for tests of test cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutant: Option<RateMutant>,
    /// Lowest rate of the encoder.
    pub min_rate: Bitrate,
    /// Highest rate of the encoder, up to 1 Gbit/s.
    pub max_rate: Bitrate,
    /// Rate with which the control begins.
    pub start_rate: Bitrate,
    /// Frames per second at most, up to 240. Below the rate at which this is reached, frames have
    /// the size of those at `min_rate`.
    pub frame_rate: f64,
    /// Frames per second at `min_rate`.
    pub min_frame_rate: f64,
    /// Largest random error of the encoder's rate in each second, as a share of the rate, uniform
    /// in both directions; up to 0.5.
    pub noise: f64,
    /// Time after which the encoder follows a new target, up to 10 s.
    pub reaction: Duration,
    /// Largest RTP packet: its header and its payload, 64 B at least.
    pub size: Bytes,
    /// Rate of constant audio beside the video, payload only: a packet every 20 ms, which no
    /// control adapts and no report includes. 0: none.
    pub audio: Bitrate,
    /// Time between two reports of the receiver, 1 ms to 10 s.
    pub feedback: Duration,
    /// Codepoint of the packets of video: "not-ect", "ect0" or "ect1".
    pub ecn: Ecn,
    /// Time from the start to the end of the call, pauses included. Unset: the call does not end by
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
}

impl Default for MediaConfig {
    fn default() -> Self {
        MediaConfig {
            control: RateControlName::default(),
            control_parameters: BTreeMap::new(),
            mutant: None,
            min_rate: Bitrate(150_000),
            max_rate: Bitrate(1_500_000),
            start_rate: Bitrate(150_000),
            frame_rate: 30.0,
            min_frame_rate: 10.0,
            noise: 0.05,
            reaction: Duration::from_millis(100),
            size: Bytes(1200),
            audio: Bitrate(0),
            feedback: Duration::from_millis(50),
            ecn: Ecn::NotEct,
            length: None,
        }
    }
}

impl AppKind for MediaConfig {
    const ENTRY: Entry = Entry {
        name: "media",
        summary: "video whose rate follows the network, with reports of its receiver (UDP)",
        source: "RFC 8867, RFC 8888",
        parameters: &[
            parameter("control", "none", "the rate control"),
            parameter("control_parameters", "none", "parameters of a rate control of your own"),
            parameter("mutant", "none", "a mistake on purpose, for tests of test cases"),
            parameter("min_rate", "150 kbit/s", "lowest rate of the encoder"),
            parameter("max_rate", "1.5 Mbit/s", "highest rate of the encoder"),
            parameter("start_rate", "150 kbit/s", "rate at the start"),
            parameter("frame_rate", "30", "frames per second at most"),
            parameter("min_frame_rate", "10", "frames per second at the lowest rate"),
            parameter("noise", "0.05", "error of the encoder's rate over 1 s, as a share"),
            parameter("reaction", "100 ms", "time until the encoder follows a target"),
            parameter("size", "1200 B", "largest RTP packet"),
            parameter("audio", "0 bit/s", "constant audio beside the video"),
            parameter("feedback", "50 ms", "time between two reports"),
            parameter("ecn", "not-ect", "codepoint of the packets of video"),
            parameter("length", "for ever", "time after which the call ends"),
        ],
    };
    const OVER: Over = Over::Datagrams;
    type Run = Box<Media>;

    fn validate(&self, _: Service) -> Result<(), Wrong> {
        self.validate_rates()?;
        let within = |key, value: f64, from: f64, to: f64| {
            let fine = (from..=to).contains(&value);
            fine.then_some(()).ok_or_else(|| (key, format!("{value} is out of range: {from} to {to}")))
        };
        within("frame_rate", self.frame_rate, 1.0, 240.0)?;
        within("min_frame_rate", self.min_frame_rate, 1.0, self.frame_rate)?;
        within("noise", self.noise, 0.0, 0.5)?;
        at_most("reaction", self.reaction, Duration::from_secs(10))?;
        if !(SMALLEST..=u64::from(MAX_DATAGRAM)).contains(&self.size.0) {
            let text = format!("{} is out of range: {SMALLEST} B to {MAX_DATAGRAM} B", self.size);
            return Err(("size", text));
        }
        if self.audio > Bitrate(10_000_000) {
            return Err(("audio", format!("{} is out of range: up to 10 Mbit/s", self.audio)));
        }
        at_least("feedback", self.feedback, Duration::from_millis(1))?;
        at_most("feedback", self.feedback, Duration::from_secs(10))?;
        if let Some(length) = self.length {
            above_zero("length", length.0)?;
        }
        if self.ecn == Ecn::Ce {
            let text = "senders do not mark: use \"not-ect\", \"ect0\" or \"ect1\"".to_owned();
            return Err(("ecn", text));
        }
        Ok(())
    }
    fn run(&self, place: &AppContext<'_>) -> Result<Box<Media>, Fault> {
        let seed = Draw::new(place.seed, Purpose::RateControl, place.entity).bits(0);
        let context = RateContext { flow: place.flow, seed, observed: place.observed };
        let control = place.rate_controls.build(&self.media_control(), self.setup(), context)?;
        Ok(Box::new(Media::new(self, control)))
    }
    fn change(&self, run: &mut Box<Media>, now: Instant, _: &mut Streams, _: &mut Vec<Action>) {
        run.limit(now, self.min_rate.as_f64(), self.max_rate.as_f64());
    }
    fn fixed(&self, next: &MediaConfig) -> bool {
        let rates = MediaConfig { min_rate: next.min_rate, max_rate: next.max_rate, ..self.clone() };
        rates != *next
    }
    fn mean_rate(&self) -> Option<Bitrate> {
        let constant = self.control == RateControlName::None;
        constant.then_some(Bitrate(self.max_rate.0 + self.audio.0))
    }
    fn rate_control(&self) -> Option<MediaControl<'_>> {
        Some(self.media_control())
    }
}

impl MediaConfig {
    fn validate_rates(&self) -> Result<(), Wrong> {
        above_zero("min_rate", self.min_rate.0)?;
        if self.max_rate > FASTEST {
            return Err(("max_rate", format!("{} is out of range: up to {FASTEST}", self.max_rate)));
        }
        let order = [
            ("max_rate", self.max_rate, "min_rate", self.min_rate),
            ("start_rate", self.start_rate, "min_rate", self.min_rate),
            ("max_rate", self.max_rate, "start_rate", self.start_rate),
        ];
        for (key, value, low, least) in order {
            if value < least {
                return Err((key, format!("`{key}`, {value}, is below `{low}`, {least}")));
            }
        }
        Ok(())
    }
    const fn media_control(&self) -> MediaControl<'_> {
        MediaControl { name: self.control, parameters: &self.control_parameters, mutant: self.mutant }
    }
    fn setup(&self) -> RateSetup {
        RateSetup {
            min: self.min_rate.as_f64(),
            max: self.max_rate.as_f64(),
            start: self.start_rate.as_f64(),
            frame_rate: self.frame_rate,
            feedback: self.feedback,
            packet: self.size.0 as u32,
            l4s: self.ecn == Ecn::Ect1,
        }
    }
}

fn at_most(key: &'static str, value: Duration, most: Duration) -> Result<(), Wrong> {
    if value <= most { Ok(()) } else { Err((key, format!("{value} is too long: up to {most}"))) }
}

/// The number with these low bits that is nearest to `near` (as RFC 3550 appendix A.1 extends
/// sequence numbers).
fn extended(low: u32, near: u64) -> u64 {
    near.saturating_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

/// The variables that the table `cc` has for a media flow with this rate control, with default
/// parameters.
pub fn media_variables(name: RateControlName, own: &RateControls) -> Vec<Variable> {
    let config = MediaConfig { control: name, ..MediaConfig::default() };
    let context = RateContext { observed: true, ..RateContext::default() };
    let made = own.build(&config.media_control(), config.setup(), context);
    made.map_or_else(|_| Vec::new(), |control| variables(|o| Media::new(&config, control).observe(o)))
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    size: u32,
    frame: u32,
    made: Instant,
}

/// A frame in transmission.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    made: Instant,
    missing: u32,
}

/// Video, both ends.
#[derive(Clone, Debug)]
pub(super) struct Media {
    config: MediaConfig,
    control: Box<dyn BoxedRateControl>,
    encoder: Encoder,
    audio: Source,
    /// Packets of audio so far.
    audio_packets: u32,
    queue: VecDeque<Queued>,
    queued: u64,
    /// When the call ends by itself, and whether it has.
    until: Option<Instant>,
    ended: bool,
    /// No packet of video leaves before.
    pace: Instant,
    last_sent: Instant,
    history: History,
    receiver: Receiver,
    /// Reports in transmission, and the number of the first.
    reports: VecDeque<Option<Report>>,
    first_report: u64,
    /// Frames that are not complete, and the number of the first.
    frames: VecDeque<Arriving>,
    first_frame: u32,
    counts: MediaCounts,
    /// Octets of all frames, and for how long they were made.
    encoded: u64,
}

impl Media {
    fn new(config: &MediaConfig, control: Box<dyn BoxedRateControl>) -> Media {
        let setup = config.setup();
        let encoder = EncoderConfig {
            min: setup.min,
            max: setup.max,
            min_frame_rate: config.min_frame_rate,
            frame_rate: config.frame_rate,
            noise: config.noise,
            reaction: config.reaction,
        };
        Media {
            encoder: Encoder::new(encoder, control.target(0)),
            control,
            audio: Source::ticks(AUDIO_PERIOD),
            audio_packets: 0,
            queue: VecDeque::new(),
            queued: 0,
            until: None,
            ended: false,
            pace: Instant::ZERO,
            last_sent: Instant::ZERO,
            history: History::default(),
            receiver: Receiver::new(config.feedback, config.size.0 as u32),
            reports: VecDeque::new(),
            first_report: 0,
            frames: VecDeque::new(),
            first_frame: 0,
            counts: MediaCounts::default(),
            encoded: 0,
            config: config.clone(),
        }
    }

    /// The frame of `now`, in packets.
    fn encode(&mut self, now: Instant, s: &Streams) {
        let Some(frame) = self.encoder.frame(now, s.draw) else { return };
        let largest = self.config.size.0;
        let number = self.first_frame.wrapping_add(self.frames.len() as u32);
        // A packet has at least one octet behind its header.
        let mut left = frame.octets.max(u64::from(RTP_HEADER) + 1);
        let mut packets = 0;
        while left > 0 {
            let size = left.min(largest);
            left -= size;
            let size = (size as u32).max(RTP_HEADER + 1);
            self.queue.push_back(Queued { size, frame: number, made: frame.at });
            self.queued += u64::from(size);
            self.counts.encoded += u64::from(size);
            self.encoded += u64::from(size);
            packets += 1;
        }
        self.frames.push_back(Arriving { made: frame.at, missing: packets });
        if self.frames.len() > MOST {
            self.frames.pop_front();
            self.first_frame = self.first_frame.wrapping_add(1);
        }
        self.encoder.order(now, self.control.target(self.queued));
    }

    /// The encoder's lowest and highest rate are these from now on.
    fn limit(&mut self, now: Instant, min: f64, max: f64) {
        self.control.on_limits(min, max);
        self.encoder.limit(min, max);
        self.encoder.order(now, self.control.target(self.queued));
    }

    /// The window of the control lets a packet of this size leave now.
    fn may_leave(&self, size: u32) -> bool {
        let in_flight = self.history.in_flight();
        self.control.window().is_none_or(|window| in_flight == 0 || in_flight + u64::from(size) <= window)
    }

    /// When the first packet that waits leaves, if no report comes before.
    fn leaves_at(&self) -> Option<Instant> {
        let first = self.queue.front()?;
        let probe = if self.may_leave(first.size) { Instant::ZERO } else { self.last_sent + PROBE };
        Some(self.pace.max(probe))
    }

    /// What may leave does.
    fn transmit(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        while let Some(&Queued { size, frame, made }) = self.queue.front() {
            let stale = now.since(made) > STALE;
            if !stale && self.leaves_at().is_none_or(|at| at > now) {
                break;
            }
            self.queue.pop_front();
            self.queued -= u64::from(size);
            if stale {
                self.counts.discarded += 1;
                continue;
            }
            let sent = self.history.send(now, size);
            self.control.on_sent(&sent);
            let gap = f64::from(size) * 8.0 / self.control.pacing(self.queued).max(1.0);
            self.pace = self.pace.max(now).saturating_add(Duration::from_secs_f64(gap.min(10.0)));
            self.last_sent = now;
            self.send(
                Message { size, unit: frame, number: sent.number as u32, ecn: self.config.ecn },
                s,
                out,
            );
        }
    }

    fn send(&mut self, message: Message, s: &mut Streams, out: &mut Vec<Action>) {
        self.counts.sent += u64::from(message.size);
        s.stats.datagrams_sent += 1;
        s.stats.written[End::A as usize] += u64::from(message.size);
        out.push(Action::SendDatagram { end: End::A, message });
    }

    fn send_audio(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        for _ in 0..self.audio.due(now, s.draw) {
            let size = RTP_HEADER + self.config.audio.bytes_in(AUDIO_PERIOD).0 as u32;
            let number = self.audio_packets;
            self.send(Message { size, unit: Message::AUDIO, number, ecn: Ecn::NotEct }, s, out);
            self.audio_packets = number.wrapping_add(1);
        }
    }

    /// The receiver sends its report, if it is due.
    fn send_report(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(report) = self.receiver.report(now) else { return };
        let number = (self.first_report + self.reports.len() as u64) as u32;
        let message = Message { size: report.size(), unit: 0, number, ecn: Ecn::NotEct };
        self.reports.push_back(Some(report));
        while self.reports.len() > MOST || self.reports.front().is_some_and(Option::is_none) {
            self.reports.pop_front();
            self.first_report += 1;
        }
        out.push(Action::SendDatagram { end: End::B, message });
    }

    /// The sender gets a report.
    fn take_report(&mut self, now: Instant, number: u32) -> bool {
        let place = number.wrapping_sub(self.first_report as u32) as usize;
        let report = self.reports.get_mut(place).and_then(Option::take);
        let Some(report) = report else { return false };
        let feedback = Feedback { queued: self.queued, ..self.history.report(now, &report) };
        self.control.on_feedback(&feedback);
        self.counts.lost += feedback.packets.iter().filter(|p| p.arrival.is_none()).count() as u64;
        self.encoder.order(now, self.control.target(self.queued));
        true
    }

    /// The receiver gets a packet of video.
    fn take_packet(&mut self, now: Instant, arrival: &Arrival, s: &mut Streams) {
        let Message { number, unit, .. } = arrival.message;
        if !self.receiver.arrived(now, extended(number, self.receiver.end()), arrival.ecn) {
            return;
        }
        self.counts.delays.add(now.since(arrival.sent));
        let Some(frame) = self.frames.get_mut(unit.wrapping_sub(self.first_frame) as usize) else { return };
        frame.missing = frame.missing.saturating_sub(1);
        if frame.missing == 0 {
            let took = now.since(frame.made);
            self.counts.frames.add(took);
            s.stats.completions.add(now, took);
        }
        while self.frames.front().is_some_and(|f| f.missing == 0) {
            self.frames.pop_front();
            self.first_frame = self.first_frame.wrapping_add(1);
        }
    }
}

impl Media {
    /// Encoder and audio begin.
    fn begin(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.encoder.start(now);
        if self.config.audio.0 > 0 {
            self.audio.start(now, s.draw);
        }
        self.on_time(now, s, out);
    }
}

impl Behaviour for Media {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.until = self.config.length.map(|length| now.saturating_add(length));
        self.ended = false;
        self.begin(now, s, out);
    }
    fn stop(&mut self, _now: Instant) {
        self.pause();
    }
    fn pause(&mut self) {
        self.encoder.stop();
        self.audio.stop();
        self.queue.clear();
        self.queued = 0;
    }
    fn resume(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        if !self.ended {
            self.begin(now, s, out);
        }
    }
    fn poll_at(&self) -> Option<Instant> {
        let end = self.until.filter(|_| !self.ended);
        let times =
            [self.encoder.poll_at(), self.audio.poll_at(), self.receiver.poll_at(), self.leaves_at(), end];
        times.into_iter().flatten().min()
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        if !self.ended && self.until.is_some_and(|at| at <= now) {
            self.ended = true;
            self.pause();
        }
        self.send_report(now, out);
        self.send_audio(now, s, out);
        self.encode(now, s);
        self.transmit(now, s, out);
    }
    fn on_datagram(
        &mut self,
        now: Instant,
        end: End,
        arrival: &Arrival,
        first: bool,
        s: &mut Streams,
        out: &mut Vec<Action>,
    ) {
        if end == End::A {
            if self.take_report(now, arrival.message.number) {
                self.transmit(now, s, out);
            }
            return;
        }
        if first {
            self.counts.received += u64::from(arrival.message.size);
        }
        if arrival.message.unit != Message::AUDIO {
            // A mark of a copy is reported too.
            self.take_packet(now, arrival, s);
            self.send_report(now, out);
        }
    }
    fn media(&mut self) -> Option<MediaSample> {
        Some(MediaSample {
            control: self.config.control,
            target: self.control.target(self.queued),
            rtt: self.history.rtt(),
            queued: self.queued,
            in_flight: self.history.in_flight(),
            counts: std::mem::take(&mut self.counts),
        })
    }
    fn encoded(&self) -> Option<u64> {
        Some(self.encoded)
    }
    fn fault(&mut self) -> Option<Fault> {
        self.control.fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        let target = self.control.target(self.queued);
        o.number(
            "media.target_rate",
            "bit/s",
            "target rate that the rate control sets for the encoder",
            target,
        );
        let pacing = self.control.pacing(self.queued);
        o.number("media.pacing_rate", "bit/s", "rate at which packets leave the sender", pacing);
        let rtt = self.history.rtt().map(Duration::as_secs_f64);
        o.maybe("media.rtt", "s", "latest round trip that the sender has measured", rtt);
        let in_flight = self.history.in_flight();
        o.count("media.in_flight", "B", "sent behind the highest packet reported as received", in_flight);
        o.count("media.queue", "B", "octets that wait at the sender", self.queued);
        o.count("media.lost", "packets", "declared lost and not received since", self.history.lost());
        self.control.observe(o);
    }
}
