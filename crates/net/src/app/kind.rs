//! The description of a kind of application, and its behaviour.

pub(super) use lasthop_engine::custom::Fault;
use lasthop_engine::observe::Observer;
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

pub(super) use super::AppContext;
use super::quality::Quality;
use super::streams::{Service, Streams};
use super::video::Video;
use super::{Action, Arrival, End, MediaSample};
use crate::media::MediaControl;
use crate::registry::Entry;
pub(super) use crate::registry::{Wrong, parameter};
use crate::udp::MAX_DATAGRAM;

/// The transport of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// A byte stream only.
    Streams,
    /// Datagrams only.
    Datagrams,
    /// Either.
    Both,
}

/// The configuration of a kind of application.
pub(super) trait AppKind {
    /// Its row of [`APPS`](super::APPS).
    const ENTRY: Entry;
    /// The transport.
    const OVER: Over = Over::Streams;
    /// The end that sends the bulk of the data.
    const DATA_END: End = End::A;
    /// Its user waits for data that was requested, and requests the next after that.
    const ANSWERS: bool = false;
    /// The running application.
    type Run: Behaviour;

    /// Its parameters may change while it runs.
    const CHANGES: bool = false;

    /// The first mistake that types alone do not catch.
    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        Ok(())
    }
    /// The application, before its start.
    ///
    /// # Errors
    /// A caller's own rate control cannot be created.
    fn run(&self, place: &AppContext<'_>) -> Result<Self::Run, Fault>;
    /// These are the parameters of what runs from now on.
    fn change(&self, run: &mut Self::Run, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let _fixed = (run, now, s, out);
    }
    /// What differs in `next` cannot change while it runs.
    fn fixed(&self, next: &Self) -> bool {
        let _any = next;
        !Self::CHANGES
    }
    /// Whether its quality is rated by packet delay; `None`: it is not.
    fn judged(&self) -> Option<Quality> {
        None
    }
    /// Data as fast as the transport takes it.
    fn is_bulk(&self) -> bool {
        false
    }
    /// Rate and size of its packets while it sends, of a source that is not answered.
    fn peak(&self) -> Option<(Bitrate, Bytes)> {
        None
    }
    /// The mean rate that it offers, independent of the network.
    fn mean_rate(&self) -> Option<Bitrate> {
        None
    }
    /// The bytes that it sends in total, if known before the run.
    fn total(&self) -> Option<Bytes> {
        None
    }
    /// The rate control of media.
    fn rate_control(&self) -> Option<MediaControl<'_>> {
        None
    }
}

/// A running application, over the streams that all applications have.
pub(super) trait Behaviour {
    /// It begins.
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>);
    /// It ends: what it has written stays.
    fn stop(&mut self, _now: Instant) {}
    /// No data is accepted for some time. A source with a clock of its own produces none.
    fn pause(&mut self) {}
    /// It continues.
    fn resume(&mut self, _now: Instant, _s: &mut Streams, _out: &mut Vec<Action>) {}
    /// When it is to be called next.
    fn poll_at(&self) -> Option<Instant> {
        None
    }
    /// The time that `poll_at` returned has come. Early calls have no effect.
    fn on_time(&mut self, _now: Instant, _s: &mut Streams, _out: &mut Vec<Action>) {}
    /// Bytes have arrived in order at `end`, and are counted.
    fn on_delivered(&mut self, _now: Instant, _end: End, _s: &mut Streams, _out: &mut Vec<Action>) {}
    /// A datagram has arrived at `end`, and is counted if it is no copy (`first`).
    fn on_datagram(
        &mut self,
        _now: Instant,
        _end: End,
        _arrival: &Arrival,
        _first: bool,
        _s: &mut Streams,
        _out: &mut Vec<Action>,
    ) {
    }
    /// The state of the viewer, if it is video.
    fn video(&self) -> Option<&Video> {
        None
    }
    /// The media sample since the last call, if it is media.
    fn media(&mut self) -> Option<MediaSample> {
        None
    }
    /// Octets that its encoder has made, if it is media.
    fn encoded(&self) -> Option<u64> {
        None
    }
    /// The error in a caller's own rate control since the last call.
    fn fault(&mut self) -> Option<Fault> {
        None
    }
    /// Shows the variables of media.
    fn observe(&self, o: &mut Observer<'_>) {
        let _none = o;
    }
}

#[deny(clippy::missing_trait_methods)]
impl<T: Behaviour> Behaviour for Box<T> {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        (**self).start(now, s, out);
    }
    fn stop(&mut self, now: Instant) {
        (**self).stop(now);
    }
    fn pause(&mut self) {
        (**self).pause();
    }
    fn resume(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        (**self).resume(now, s, out);
    }
    fn poll_at(&self) -> Option<Instant> {
        (**self).poll_at()
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        (**self).on_time(now, s, out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
        (**self).on_delivered(now, end, s, out);
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
        (**self).on_datagram(now, end, arrival, first, s, out);
    }
    fn video(&self) -> Option<&Video> {
        (**self).video()
    }
    fn media(&mut self) -> Option<MediaSample> {
        (**self).media()
    }
    fn encoded(&self) -> Option<u64> {
        (**self).encoded()
    }
    fn fault(&mut self) -> Option<Fault> {
        (**self).fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        (**self).observe(o);
    }
}

/// Shortest period of recurring events: with shorter ones a run would hardly advance.
pub(super) const PERIOD: Duration = Duration::from_micros(100);

/// Checks packets of `size` at a rate.
pub(super) fn packets(rate: Bitrate, size: Bytes, over: Service) -> Result<(), Wrong> {
    above_zero("rate", rate.0)?;
    datagrams(size, over)
}

/// Checks the size of packets.
pub(super) fn datagrams(size: Bytes, over: Service) -> Result<(), Wrong> {
    above_zero("size", size.0)?;
    if over == Service::Datagrams && size.0 > u64::from(MAX_DATAGRAM) {
        return Err(("size", format!("{size} is out of range: a datagram holds up to {MAX_DATAGRAM} B")));
    }
    if size.0 > u64::from(u32::MAX) {
        return Err(("size", format!("{size} is out of range: up to {} B at a time", u32::MAX)));
    }
    Ok(())
}

pub(super) fn at_least(key: &'static str, value: Duration, least: Duration) -> Result<(), Wrong> {
    if value >= least { Ok(()) } else { Err((key, format!("{value} is too short: at least {least}"))) }
}

pub(super) fn above_zero(key: &'static str, value: u64) -> Result<(), Wrong> {
    if value > 0 { Ok(()) } else { Err((key, "must be above zero".to_owned())) }
}
