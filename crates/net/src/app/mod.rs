//! Applications: one object per flow for both ends.
//!
//! Contract: `start(now, out)` and `stop(now, out)` from the scenario; over TCP `sim` opens the
//! connection at the start and calls `on_established` once, `on_writable` for each end whenever its
//! send buffer has room (first right after it is established), `on_delivered` for bytes that arrive
//! in order, `on_closed` when an end's peer has closed. Over UDP there is `on_datagram`. `poll_at`
//! gives the time of the next call of `on_time`. Actions are appended to `out`, in order.
//!
//! An application never writes more than the space that it was given; it stores the number of
//! remaining bytes.
//!
//! One file per application, with its configuration (`AppKind`) and its behaviour (`Behaviour`)
//! over the streams that all applications have; one list, `built_in_apps!`, names all of them. To
//! add one: write its file, and add its module and its entry of the list here.

/// Passes the list of all applications to the macro `$then`. An entry: the text in the schema of
/// scenarios, the variant of [`AppConfig`], the name in scenarios, and its configuration, which
/// implements `AppKind`.
macro_rules! built_in_apps {
    ($then:ident) => {
        $then! {
            /// Sends for ever, as fast as the transport takes it (TCP only).
            Bulk "bulk" bulk::BulkConfig;
            /// Sends a file and closes (TCP only).
            File "file" file::FileConfig;
            /// Requests from `from`, responses from `to`, one at a time on one connection (TCP
            /// only).
            RequestResponse "request-response" request_response::RequestResponseConfig;
            /// Packets at a rate while on, silence while off.
            OnOff "on-off" on_off::OnOffConfig;
            /// Packets at a constant rate.
            Cbr "cbr" cbr::CbrConfig;
            /// One direction of a call: a packet of speech every 20 ms, of no use when it is late
            /// (UDP only).
            Voip "voip" voip::VoipConfig;
            /// The state of a game, at every tick, of no use when it is late (UDP only).
            Game "game" game::GameConfig;
            /// A user at `from` reads web pages of `to`: a main object, then the objects that it
            /// embeds (TCP only).
            WebPage "web-page" page::WebPageConfig;
            /// Files as 3GPP's traffic models send them, on one connection (TCP only).
            Ftp "ftp" ftp::FtpConfig;
            /// A player at `from` shows adaptive video of `to` (TCP only).
            Dash "dash" dash::DashConfig;
            /// One direction of a video call whose rate follows the network (UDP only).
            Media "media" media::MediaConfig;
        }
    };
}

mod bulk;
mod cbr;
mod config;
mod copies;
mod dash;
mod distribution;
mod exchange;
mod file;
mod ftp;
mod game;
mod kind;
mod media;
mod on_off;
mod page;
mod quality;
mod request_response;
mod source;
mod stats;
mod streams;
mod video;
mod voip;

pub use bulk::BulkConfig;
pub use cbr::CbrConfig;
pub use config::{APPS, AppConfig};
pub use dash::{Adaptation, DashConfig};
pub use distribution::{Distribution, SizeDistribution};
pub use file::FileConfig;
pub use ftp::{FtpConfig, FtpModel};
pub use game::GameConfig;
pub use media::{MediaConfig, media_variables};
pub use on_off::OnOffConfig;
pub use page::WebPageConfig;
pub use quality::Quality;
pub use request_response::RequestResponseConfig;
pub use stats::{AppStats, Completions, MediaCounts, MediaSample, Times};
pub use streams::Service;
pub use video::Video;
pub use voip::VoipConfig;

use lasthop_engine::custom::Fault;
use lasthop_engine::observe::Observer;
use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Duration, Ecn, Instant};

use crate::media::{RateControlName, RateControls};
use config::Running;
use copies::Arrived;
use kind::Behaviour;
use streams::Streams;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The flow's `from`: it opens the connection.
    A = 0,
    /// The flow's `to`.
    B = 1,
}

impl End {
    /// The other end.
    #[inline]
    pub const fn other(self) -> End {
        match self {
            End::A => End::B,
            End::B => End::A,
        }
    }
}

/// Actions that an application requests of its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write `bytes` into the stream at `end`; there is room for them.
    Write {
        /// The end that writes.
        end: End,
        /// How many, above zero.
        bytes: u64,
    },
    /// Send one datagram from `end`.
    SendDatagram {
        /// The end that sends.
        end: End,
        /// The message in it.
        message: Message,
    },
    /// Nothing more will be written at `end`.
    Close {
        /// The end that closes its direction.
        end: End,
    },
}

/// The payload of a datagram: its octets as a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Payload [bytes].
    pub size: u32,
    /// Of media: the frame that it is a part of.
    pub unit: u32,
    /// Its number among those of its sender, of media among the packets of video, of audio or the
    /// reports, from 0 on again after 2^32 of them.
    pub number: u32,
    /// The codepoint that its sender sets in the IP header.
    pub ecn: Ecn,
}

impl Message {
    /// The unit of a packet of audio.
    const AUDIO: u32 = u32::MAX;

    /// A number of octets without a meaning.
    pub const fn plain(size: u32) -> Message {
        Message { size, unit: 0, number: 0, ecn: Ecn::NotEct }
    }
}

/// A datagram at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The message in it.
    pub message: Message,
    /// The codepoint with which it arrives.
    pub ecn: Ecn,
    /// When it was sent.
    pub sent: Instant,
}

/// The setting of an application.
#[derive(Clone, Copy, Debug)]
pub struct AppContext<'a> {
    /// What carries its data.
    pub service: Service,
    /// The run's seed.
    pub seed: u64,
    /// The entity of its random draws.
    pub entity: u64,
    /// The flow's name.
    pub flow: &'a str,
    /// Its variables are recorded.
    pub observed: bool,
    /// The caller's own rate controls.
    pub rate_controls: &'a RateControls,
}

/// The application of one flow.
#[derive(Clone, Debug)]
pub struct App {
    running: Running,
    streams: Streams,
    /// What has arrived at the end that receives: audio, and all else.
    arrived: [Arrived; 2],
    name: &'static str,
    data_end: End,
    rate_control: Option<RateControlName>,
}

impl App {
    /// An application with draws of its own. `config` is valid for the service.
    ///
    /// # Errors
    /// A caller's own rate control cannot be created.
    pub fn new(config: &AppConfig, place: &AppContext<'_>) -> Result<App, Fault> {
        let draw = Draw::new(place.seed, Purpose::Traffic, place.entity);
        let stats = AppStats { quality: config.judged().map(Box::new), ..AppStats::default() };
        Ok(App {
            running: config.run(place)?,
            streams: Streams::new(place.service, draw, stats),
            arrived: Default::default(),
            name: config.name(),
            data_end: config.data_end(),
            rate_control: config.rate_control().map(|control| control.name),
        })
    }

    /// A source of packets that is never started: the real application is outside of the run.
    pub fn outside(service: Service) -> App {
        App {
            running: Running::Cbr(CbrConfig::default().packets()),
            streams: Streams::new(service, Draw::new(0, Purpose::Traffic, 0), AppStats::default()),
            arrived: Default::default(),
            name: "cbr",
            data_end: End::A,
            rate_control: None,
        }
    }

    /// The flow starts. Over TCP the application begins when the connection is established, and one
    /// that was stopped stays stopped: its stream is closed.
    pub fn start(&mut self, now: Instant, out: &mut Vec<Action>) {
        let s = &mut self.streams;
        if s.running || s.is_closed(End::A) {
            return;
        }
        s.running = true;
        s.stats.started.get_or_insert(now);
        if s.ready {
            self.begin(now, out);
        }
    }

    /// What runs begins; paused, it has made at most a first packet, which waits.
    fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.streams.paused && self.streams.over == Service::Datagrams {
            return;
        }
        self.running.start(now, &mut self.streams, out);
        if self.streams.paused {
            self.running.pause();
        }
    }

    /// The application offers no data for now; data to be written waits, and its streams stay open.
    /// A source of packets produces none meanwhile.
    pub fn pause(&mut self) {
        if !self.streams.paused {
            self.streams.paused = true;
            self.running.pause();
        }
    }

    /// It offers data again: waiting data is written, and a source of packets restarts.
    pub fn resume(&mut self, now: Instant, out: &mut Vec<Action>) {
        let s = &mut self.streams;
        if !s.paused {
            return;
        }
        s.paused = false;
        if s.running && s.ready {
            self.running.resume(now, s, out);
        }
        for end in [End::A, End::B] {
            self.streams.pump(end, out);
        }
    }

    /// Sets new parameters, of the same kind of application.
    pub fn change(&mut self, config: &AppConfig, now: Instant, out: &mut Vec<Action>) {
        config.change(&mut self.running, now, &mut self.streams, out);
    }

    /// The flow stops: data not written yet is dropped, and A's stream is closed. A UDP flow may
    /// start again.
    pub fn stop(&mut self, now: Instant, out: &mut Vec<Action>) {
        let s = &mut self.streams;
        if !s.running {
            return;
        }
        s.running = false;
        s.drop_unwritten();
        self.running.stop(now);
        if s.over == Service::Stream {
            s.close(End::A, out);
        }
    }

    /// The connection is established, at both ends.
    pub fn on_established(&mut self, now: Instant, out: &mut Vec<Action>) {
        if !self.streams.ready {
            self.streams.ready = true;
            if self.streams.running {
                self.begin(now, out);
            }
        }
    }

    /// When `on_time` is due.
    #[inline]
    pub fn poll_at(&self) -> Option<Instant> {
        self.running.poll_at()
    }

    /// Acts at the time that was given. Early calls have no effect.
    pub fn on_time(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.running.on_time(now, &mut self.streams, out);
    }

    /// A datagram of `size` bytes was sent here too: the application of another receiver of the
    /// group has written it.
    pub fn copied(&mut self, size: u32) {
        let stats = &mut self.streams.stats;
        stats.datagrams_sent += 1;
        stats.written[0] += u64::from(size);
    }

    /// The send buffer at `end` has room for `free` bytes.
    #[inline]
    pub fn on_writable(&mut self, _now: Instant, end: End, free: u64, out: &mut Vec<Action>) {
        self.streams.set_room(end, free, out);
    }

    /// As [`on_writable`](Self::on_writable), with the room of its last call, of which nothing was
    /// used since.
    #[inline]
    pub fn on_still_writable(&mut self, end: End, out: &mut Vec<Action>) {
        self.streams.use_room(end, out);
    }

    /// The send buffer did not take the last `bytes` of the write at `end`: a buffer that counts
    /// packets, too, may have less space than it announced. They are written when there is space
    /// again, and the close of the stream waits for them.
    pub fn on_refused(&mut self, end: End, bytes: u64) {
        self.streams.take_back(end, bytes);
    }

    /// `bytes` arrived in order at `end`.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, end: End, bytes: u64, out: &mut Vec<Action>) {
        self.streams.stats.delivered[end as usize] += bytes;
        self.running.on_delivered(now, end, &mut self.streams, out);
    }

    /// A datagram has arrived at `end`. Of copies at the receiver of the data the first one counts.
    pub fn on_datagram(&mut self, now: Instant, end: End, arrival: &Arrival, out: &mut Vec<Action>) {
        let (message, stats) = (&arrival.message, &mut self.streams.stats);
        let to_receiver = end != self.data_end;
        let arrived = &mut self.arrived[usize::from(message.unit == Message::AUDIO)];
        let first = !to_receiver || arrived.take(message.number);
        if first {
            if let Some(quality) = stats.quality.as_mut().filter(|_| to_receiver) {
                quality.arrived(now, arrival.sent);
            }
            stats.datagrams_delivered += u64::from(to_receiver);
            stats.delivered[end as usize] += u64::from(message.size);
        } else {
            stats.copies += 1;
        }
        self.running.on_datagram(now, end, arrival, first, &mut self.streams, out);
    }

    /// The peer of `end` has closed its stream: this end closes too.
    pub fn on_closed(&mut self, _now: Instant, end: End, out: &mut Vec<Action>) {
        self.streams.close_when_written(end);
        self.streams.pump(end, out);
    }

    /// The end that sends the bulk of the data.
    pub const fn data_end(&self) -> End {
        self.data_end
    }
    /// Its statistics so far.
    pub const fn stats(&self) -> &AppStats {
        &self.streams.stats
    }
    /// The kind's name in [`APPS`].
    pub const fn name(&self) -> &'static str {
        self.name
    }
    /// The state of playback, if the application is video.
    pub fn video(&self) -> Option<&Video> {
        self.running.video()
    }
    /// The media sample since the last call, if it is media.
    pub fn media(&mut self) -> Option<MediaSample> {
        self.running.media()
    }
    /// The rate control, if it is media.
    pub const fn rate_control(&self) -> Option<&RateControlName> {
        self.rate_control.as_ref()
    }
    /// The error in its caller's own rate control since the last call.
    #[inline]
    pub fn fault(&mut self) -> Option<Fault> {
        match self.rate_control {
            Some(RateControlName::Custom(_)) => self.running.fault(),
            _ => None,
        }
    }
    /// Octets that its encoder has made, if it is media.
    pub fn encoded(&self) -> Option<u64> {
        self.running.encoded()
    }
    /// Shows the variables of its sender and of its rate control, if it is media.
    pub fn observe(&self, o: &mut Observer<'_>) {
        self.running.observe(o);
    }
    /// True between start and stop.
    pub const fn is_running(&self) -> bool {
        self.streams.running
    }
    /// Bytes it would write at `end` if there were room; `None`: without end.
    pub fn backlog(&self, end: End) -> Option<u64> {
        self.streams.backlog(end)
    }
    /// Time from the start to the last byte's arrival, for a finite application that is complete.
    pub fn completion_time(&self) -> Option<Duration> {
        let stats = self.stats();
        Some(stats.completion?.since(stats.started?))
    }
}

#[cfg(test)]
mod tests;
