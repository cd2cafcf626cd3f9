//! Applications: one object per flow that sees both ends.
//!
//! Contract: `start(now, out)` and `stop(now, out)` from the scenario; over TCP `sim` opens the
//! connection at the start and tells `on_established` once, `on_writable` for each end whenever its
//! send buffer has room (first right after it is established), `on_delivered` for bytes that arrive
//! in order, `on_closed` when an end's peer has closed. Over UDP there is `on_datagram`. Time
//! passes by `poll_at` and `on_time`. What the application wants done is appended to
//! `out`, in order.
//!
//! An application never writes more than the room it was told of; what it has to write beyond that
//! waits inside as a number.

mod config;
mod dash;
mod exchange;
mod ftp;
mod page;
mod quality;
mod source;
mod stats;

pub use config::{
    APPS, Adaptation, AppConfig, BulkConfig, CbrConfig, DashConfig, Distribution, FileConfig, FtpConfig,
    FtpModel, GameConfig, OnOffConfig, RequestResponseConfig, Transport, VoipConfig, WebPageConfig,
};
pub use dash::Video;
pub use quality::Quality;
pub use stats::{AppStats, Completions};

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{Duration, Instant};

use dash::Dash;
use ftp::Ftp;
use page::{Page, Wish};
use source::Source;

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

/// What an application wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write `bytes` into the stream at `end`; there is room for them.
    Write {
        /// Where.
        end: End,
        /// How many, above zero.
        bytes: u64,
    },
    /// Send one datagram from `end`.
    SendDatagram {
        /// Where.
        end: End,
        /// Payload [bytes].
        size: u32,
    },
    /// Nothing more will be written at `end`.
    Close {
        /// Where.
        end: End,
    },
}

/// The application of one flow.
#[derive(Clone, Debug)]
pub struct App {
    kind: Kind,
    transport: Transport,
    draw: Draw,
    name: &'static str,
    running: bool,
    established: bool,
    sides: [Side; 2],
    stats: AppStats,
}

/// One end's stream.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Still to be written; `u64::MAX` is without end.
    wanted: u64,
    /// Room in the send buffer as far as known.
    room: u64,
    /// Close when all is written.
    closing: bool,
    closed: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Bulk,
    File { size: u64 },
    RequestResponse { config: RequestResponseConfig, issued: Instant, next: Option<Instant> },
    Source { source: Source, size: u64 },
    Page(Box<Page>),
    Ftp(Box<Ftp>),
    Dash(Box<Dash>),
}

const ENDLESS: u64 = u64::MAX;

impl App {
    /// An application with draws of its own (`seed`, `entity`). `config` is valid for `transport`.
    pub fn new(config: &AppConfig, transport: Transport, seed: u64, entity: u64) -> App {
        let draw = Draw::new(seed, Purpose::Traffic, entity);
        let kind = match config {
            AppConfig::Bulk(_) => Kind::Bulk,
            AppConfig::File(c) => Kind::File { size: c.size.0 },
            AppConfig::RequestResponse(c) => {
                Kind::RequestResponse { config: c.clone(), issued: Instant::ZERO, next: None }
            }
            AppConfig::OnOff(c) => Kind::Source { source: Source::on_off(c.clone()), size: c.size.0 },
            AppConfig::Cbr(c) => Kind::Source { source: Source::cbr(c.rate, c.size), size: c.size.0 },
            AppConfig::Voip(c) => Kind::Source { source: Source::ticks(config::SPEECH), size: c.size.0 },
            AppConfig::Game(c) => Kind::Source { source: Source::ticks(c.tick), size: c.size.0 },
            AppConfig::WebPage(c) => Kind::Page(Box::new(Page::new(c))),
            AppConfig::Ftp(c) => Kind::Ftp(Box::new(Ftp::new(c))),
            AppConfig::Dash(c) => Kind::Dash(Box::new(Dash::new(c))),
        };
        let quality = match config {
            AppConfig::Voip(c) => Some(Box::new(Quality::new(c.deadline))),
            AppConfig::Game(c) => Some(Box::new(Quality::new(c.deadline))),
            _ => None,
        };
        App {
            kind,
            transport,
            draw,
            name: config.name(),
            running: false,
            established: false,
            sides: Default::default(),
            stats: AppStats { quality, ..AppStats::default() },
        }
    }

    /// The flow starts. Over TCP the application begins when the connection is established, and one
    /// that was stopped stays stopped: its stream is closed.
    pub fn start(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.running || self.sides[End::A as usize].closed {
            return;
        }
        self.running = true;
        self.stats.started.get_or_insert(now);
        if self.established || self.transport == Transport::Udp {
            self.begin(now, out);
        }
    }

    /// The flow stops: what is not written yet is forgotten, and A's stream is closed. A UDP flow
    /// may start again.
    pub fn stop(&mut self, _now: Instant, out: &mut Vec<Action>) {
        if !self.running {
            return;
        }
        self.running = false;
        self.sides.iter_mut().for_each(|side| side.wanted = 0);
        match &mut self.kind {
            Kind::RequestResponse { next, .. } => *next = None,
            Kind::Source { source, .. } => source.stop(),
            Kind::Page(page) => page.stop(),
            Kind::Ftp(ftp) => ftp.stop(),
            Kind::Dash(dash) => dash.stop(),
            Kind::Bulk | Kind::File { .. } => {}
        }
        if self.transport == Transport::Tcp {
            self.close(End::A, out);
        }
    }

    /// The connection stands, at both ends.
    pub fn on_established(&mut self, now: Instant, out: &mut Vec<Action>) {
        if !self.established {
            self.established = true;
            if self.running {
                self.begin(now, out);
            }
        }
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        match &mut self.kind {
            Kind::Bulk => self.want(End::A, ENDLESS, out),
            Kind::File { size } => {
                let size = *size;
                self.sides[End::A as usize].closing = true;
                self.want(End::A, size, out);
            }
            Kind::RequestResponse { next, .. } => {
                *next = Some(now);
                self.on_time(now, out);
            }
            Kind::Source { source, .. } => {
                source.start(now, self.draw);
                self.on_time(now, out);
            }
            Kind::Page(page) => {
                page.start(now);
                self.on_time(now, out);
            }
            Kind::Ftp(ftp) => {
                ftp.start(now, self.draw);
                self.on_time(now, out);
            }
            Kind::Dash(dash) => {
                dash.start(now);
                self.on_time(now, out);
            }
        }
    }

    /// When it wants to be woken.
    pub fn poll_at(&self) -> Option<Instant> {
        match &self.kind {
            Kind::Bulk | Kind::File { .. } => None,
            Kind::RequestResponse { next, .. } => *next,
            Kind::Source { source, .. } => source.poll_at(),
            Kind::Page(page) => page.poll_at(),
            Kind::Ftp(ftp) => ftp.poll_at(),
            Kind::Dash(dash) => dash.poll_at(),
        }
    }

    /// Its moment has come. Early calls are harmless.
    pub fn on_time(&mut self, now: Instant, out: &mut Vec<Action>) {
        match &mut self.kind {
            Kind::Bulk | Kind::File { .. } => {}
            Kind::RequestResponse { config, issued, next } => {
                if let Some(at) = next.take_if(|at| *at <= now) {
                    *issued = at;
                    self.stats.requests_issued += 1;
                    let request = config.request.0;
                    self.want(End::A, request, out);
                }
            }
            Kind::Source { source, size } => {
                let (packets, size) = (source.due(now, self.draw), *size);
                self.send(packets, size, out);
            }
            Kind::Page(page) => {
                let wish = page.on_time(now, self.draw);
                self.grant(now, wish, out);
            }
            Kind::Ftp(ftp) => {
                let (files, size) = (ftp.due(now, self.draw), ftp.size());
                self.stats.requests_issued += files;
                self.want(End::A, files * size, out);
            }
            Kind::Dash(dash) => {
                if let Some(request) = dash.on_time(now) {
                    self.stats.requests_issued += 1;
                    self.want(End::A, request, out);
                }
            }
        }
    }

    fn send(&mut self, packets: u64, size: u64, out: &mut Vec<Action>) {
        match self.transport {
            Transport::Tcp => self.want(End::A, packets * size, out),
            Transport::Udp => {
                for _ in 0..packets {
                    out.push(Action::SendDatagram { end: End::A, size: size as u32 });
                }
                self.stats.datagrams_sent += packets;
                self.stats.written[0] += packets * size;
            }
        }
    }

    /// A datagram of `size` bytes was sent here too: the application of another receiver of the
    /// group has written it.
    pub fn copied(&mut self, size: u32) {
        self.stats.datagrams_sent += 1;
        self.stats.written[0] += u64::from(size);
    }

    /// The send buffer at `end` has room for `free` bytes.
    pub fn on_writable(&mut self, _now: Instant, end: End, free: u64, out: &mut Vec<Action>) {
        self.sides[end as usize].room = free;
        self.pump(end, out);
    }

    /// The send buffer did not take the last `bytes` of the write at `end`: a buffer that counts
    /// packets, too, may have less space than it announced. They are written when there is space
    /// again, and the close of the stream waits for them.
    pub fn on_refused(&mut self, end: End, bytes: u64) {
        let side = &mut self.sides[end as usize];
        side.room = 0;
        if side.wanted != ENDLESS {
            side.wanted += bytes;
        }
        side.closing |= side.closed;
        side.closed = false;
        self.stats.written[end as usize] -= bytes;
    }

    /// `bytes` arrived in order at `end`.
    pub fn on_delivered(&mut self, now: Instant, end: End, bytes: u64, out: &mut Vec<Action>) {
        self.stats.delivered[end as usize] += bytes;
        let [at_a, at_b] = self.stats.delivered;
        match &mut self.kind {
            Kind::File { size } => {
                if end == End::B && at_b >= *size && self.stats.completion.is_none() {
                    self.stats.completion = Some(now);
                }
            }
            Kind::RequestResponse { config, issued, next } => {
                let (request, response) = (config.request.0, config.response.0);
                let (answered, done) = (self.stats.requests_answered, self.stats.requests_completed());
                if end == End::B && at_b >= (answered + 1) * request {
                    self.stats.requests_answered += 1;
                    self.want(End::B, response, out);
                } else if end == End::A && at_a >= (done + 1) * response && done < answered {
                    self.stats.completions.add(now, now.since(*issued));
                    if config.count.is_some_and(|count| done + 1 >= u64::from(count)) {
                        self.stats.completion = Some(now);
                        self.close(End::A, out);
                    } else if self.running {
                        let mut stream = self.draw.stream(done);
                        *next = Some(now + config.think_distribution.draw(config.think, 0.0, &mut stream));
                        self.on_time(now, out);
                    }
                }
            }
            Kind::Page(page) => {
                if end == End::B {
                    let (bytes, count) = page.at_server(at_b);
                    self.answer(bytes, count, out);
                } else {
                    let wish = page.at_browser(now, at_a, self.draw);
                    self.grant(now, wish, out);
                }
            }
            Kind::Ftp(ftp) if end == End::B => {
                while let Some(took) = ftp.complete(now, at_b, self.draw) {
                    self.stats.completions.add(now, took);
                }
                if ftp.is_done() && self.stats.completion.is_none() {
                    self.stats.completion = Some(now);
                    self.close(End::A, out);
                }
            }
            Kind::Dash(dash) => {
                if end == End::B {
                    let (bytes, count) = dash.at_server(at_b);
                    self.answer(bytes, count, out);
                } else if let Some((took, last)) =
                    dash.at_player(now, at_a, self.stats.started.unwrap_or_default())
                {
                    self.stats.completions.add(now, took);
                    if last {
                        self.stats.completion = Some(now);
                        self.close(End::A, out);
                    } else {
                        self.on_time(now, out);
                    }
                }
            }
            Kind::Bulk | Kind::Source { .. } | Kind::Ftp(_) => {}
        }
    }

    /// B answers `count` requests with `bytes` in all.
    fn answer(&mut self, bytes: u64, count: u64, out: &mut Vec<Action>) {
        self.stats.requests_answered += count;
        if bytes > 0 {
            self.want(End::B, bytes, out);
        }
    }

    /// What a browser wants.
    fn grant(&mut self, now: Instant, wish: Wish, out: &mut Vec<Action>) {
        if let Some(took) = wish.page {
            self.stats.completions.add(now, took);
        }
        if wish.last {
            self.stats.completion = Some(now);
            self.close(End::A, out);
        } else if wish.write > 0 {
            self.stats.requests_issued += wish.requests;
            self.want(End::A, wish.write, out);
        } else if wish.page.is_some() {
            self.on_time(now, out);
        }
    }

    /// A datagram of `size` bytes of payload, sent at `sent`, arrived at `end`.
    pub fn on_datagram(&mut self, now: Instant, end: End, size: u32, sent: Instant, _out: &mut Vec<Action>) {
        if let Some(quality) = &mut self.stats.quality {
            quality.arrived(now, sent);
        }
        self.stats.datagrams_delivered += 1;
        self.stats.delivered[end as usize] += u64::from(size);
    }

    /// The peer of `end` has closed its stream: this end closes too.
    pub fn on_closed(&mut self, _now: Instant, end: End, out: &mut Vec<Action>) {
        self.sides[end as usize].closing = true;
        self.pump(end, out);
    }

    /// The end that sends the bulk of the data.
    pub fn data_end(&self) -> End {
        match self.kind {
            Kind::RequestResponse { .. } | Kind::Page(_) | Kind::Dash(_) => End::B,
            _ => End::A,
        }
    }
    /// What it has done so far.
    pub fn stats(&self) -> &AppStats {
        &self.stats
    }
    /// The kind's name in [`APPS`].
    pub const fn name(&self) -> &'static str {
        self.name
    }
    /// What the viewer has of it, if it is video.
    pub fn video(&self) -> Option<&Video> {
        match &self.kind {
            Kind::Dash(dash) => Some(dash.video()),
            _ => None,
        }
    }
    /// True between start and stop.
    pub fn is_running(&self) -> bool {
        self.running
    }
    /// Bytes it would write at `end` if there were room; `None`: without end.
    pub fn backlog(&self, end: End) -> Option<u64> {
        let wanted = self.sides[end as usize].wanted;
        (wanted != ENDLESS).then_some(wanted)
    }
    /// Time from the start to the last byte's arrival, for a finite application that is complete.
    pub fn completion_time(&self) -> Option<Duration> {
        Some(self.stats.completion?.since(self.stats.started?))
    }

    fn want(&mut self, end: End, bytes: u64, out: &mut Vec<Action>) {
        let side = &mut self.sides[end as usize];
        side.wanted = side.wanted.saturating_add(bytes);
        self.pump(end, out);
    }

    fn pump(&mut self, end: End, out: &mut Vec<Action>) {
        let side = &mut self.sides[end as usize];
        if side.closed {
            return;
        }
        let bytes = side.wanted.min(side.room);
        if bytes > 0 {
            side.room -= bytes;
            if side.wanted != ENDLESS {
                side.wanted -= bytes;
            }
            self.stats.written[end as usize] += bytes;
            out.push(Action::Write { end, bytes });
        }
        if side.closing && side.wanted == 0 {
            self.close(end, out);
        }
    }

    fn close(&mut self, end: End, out: &mut Vec<Action>) {
        let side = &mut self.sides[end as usize];
        if !side.closed {
            side.closed = true;
            out.push(Action::Close { end });
        }
    }
}

#[cfg(test)]
mod tests;
