//! Runs a script in a world of one host, whose sockets are simulated endpoints.

mod calls;
mod connection;
mod info;
mod matching;
mod options;
mod world;

use lasthop_units::{Duration, Instant};

use crate::code::{Value, Variables};
use crate::problem::{Problem, SourcePosition};
use crate::script::{Event, Kind, Packet, Script, Time};
use crate::settings::{Refused, Request, Settings};
use calls::Step;
use world::World;

/// The reason for which a script did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// A packet or result was not as stated.
    #[error("{}:{}: {message}", place.line, place.column)]
    At {
        /// The event.
        place: SourcePosition,
        /// Expected and actual.
        message: String,
    },
    /// The script cannot be run.
    #[error(transparent)]
    Problem(#[from] Problem),
}

/// The events of a run, line by line.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// Lines.
    pub lines: Vec<String>,
    wanted: bool,
}

impl Transcript {
    /// Creates a transcript, which is kept only if `wanted`.
    pub const fn new(wanted: bool) -> Transcript {
        Transcript { lines: vec![], wanted }
    }
    fn note(&mut self, line: impl FnOnce() -> String) {
        if self.wanted {
            self.lines.push(line());
        }
    }
}

/// Time after its window for which an expected packet is still awaited, so that a late one can be
/// reported.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs a script.
pub fn run(script: &Script, request: &Request, transcript: &mut Transcript) -> Result<(), Failed> {
    let mut settings = Settings::new(request);
    let of_script = script.options.iter().map(|o| (o.place, &o.name, &o.value));
    let of_request = request.options.iter().map(|(n, v)| (SourcePosition { line: 1, column: 1 }, n, v));
    for (place, name, value) in of_script.chain(of_request) {
        settings.option(name, value).map_err(|refused| match refused {
            Refused::NotApplicable(reason) => Problem::NotApplicable { place, reason },
            Refused::Mistake(message) => Problem::Mistake { place, message },
        })?;
    }
    let mut player = Player {
        world: World::new(settings),
        variables: script.symbols.iter().map(|(n, v)| (n.clone(), Value::Int(*v))).collect(),
        last: None,
        blocked: None,
        transcript,
    };
    for event in &script.events {
        player.play(event)?;
    }
    player.wait_for_blocked(Instant::MAX)
}

/// A call that has not returned.
struct Blocked<'a> {
    event: &'a Event,
    call: &'a crate::script::Call,
    /// Its state so far.
    progress: u64,
    /// The time at which it must return.
    window: Window,
}

/// The time at which an event is expected.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    to: Instant,
    /// The tolerance of this time.
    tolerance: Duration,
    any: bool,
}

impl Window {
    fn check(&self, at: Instant, what: &str) -> Result<(), String> {
        let early = at.saturating_add(self.tolerance) < self.from;
        let late = at > self.to.saturating_add(self.tolerance);
        if self.any || !(early || late) {
            return Ok(());
        }
        let expected = if self.from == self.to {
            seconds(self.from)
        } else {
            format!("{} to {}", seconds(self.from), seconds(self.to))
        };
        Err(format!(
            "timing: {what} is expected at {expected} s, and was at {} s; tolerance {:.6} s",
            seconds(at),
            self.tolerance.as_secs_f64()
        ))
    }
}

/// Seconds since the start, to the microsecond.
fn seconds(t: Instant) -> String {
    format!("{:.6}", t.as_secs_f64())
}

struct Player<'a, 't> {
    world: World,
    variables: Variables,
    /// Time of the previous event, and whether it was an injected packet.
    last: Option<(Instant, bool)>,
    blocked: Option<Blocked<'a>>,
    transcript: &'t mut Transcript,
}

impl<'a> Player<'a, '_> {
    fn play(&mut self, event: &'a Event) -> Result<(), Failed> {
        let inbound = matches!(&event.kind, Kind::Packet(p) if p.inbound);
        let window = self.window(event.time, inbound);
        let fail = |message| Failed::At { place: event.place, message };
        match &event.kind {
            Kind::Packet(p) if p.inbound => {
                self.advance_to(window.from, event.place)?;
                self.transcript.note(|| format!("{}  < {}", seconds(window.from), matching::spell(p)));
                self.world.inject(p).map_err(fail)?;
            }
            Kind::Packet(p) => self.expect(p, window, event.place)?,
            Kind::Command(text) => {
                self.advance_to(window.from, event.place)?;
                self.world
                    .settings
                    .command(text)
                    .map_err(|reason| Problem::NotApplicable { place: event.place, reason })?;
            }
            Kind::Code(code) => {
                self.advance_to(window.from, event.place)?;
                self.look();
                let mut printed = vec![];
                let outcome = code.run(&mut self.variables, &mut printed);
                let now = seconds(self.world.now);
                printed.into_iter().for_each(|p| self.transcript.note(|| format!("{now}  print {p}")));
                outcome.map_err(|f| Failed::At {
                    place: f.place,
                    message: format!("at {now} s: {}", f.message),
                })?;
            }
            Kind::Call(call) => {
                // One call at a time: the one before must have returned.
                let patience = window.from.saturating_add(PATIENCE);
                self.wait_for_blocked(patience)?;
                self.advance_to(window.from, event.place)?;
                self.transcript.note(|| format!("{}  {}()", seconds(window.from), call.name));
                self.call(event, call, window)?;
            }
        }
        self.try_blocked()?;
        self.last = Some((window.from, inbound));
        Ok(())
    }

    /// The time at which an event is due. Relative times count from now, or from the scheduled time
    /// of the previous packet if both are injected.
    fn window(&self, time: Time, inbound: bool) -> Window {
        let base = match self.last {
            Some((at, true)) if inbound => at,
            _ => self.world.now,
        };
        let after = |us: i64| base.saturating_add(Duration::from_micros(us.max(0) as u64));
        let at = |us: i64| Instant::from_micros(us.max(0) as u64);
        let (from, to) = match time {
            Time::None | Time::Any => (self.world.now, self.world.now),
            Time::Absolute(t) => (at(t), at(t)),
            Time::Relative(t) => (after(t), after(t)),
            Time::AbsoluteRange(a, b) => (at(a), at(b)),
            Time::RelativeRange(a, b) => (after(a), after(b)),
        };
        let since = from.since(self.last.map_or(Instant::ZERO, |l| l.0));
        let tolerance = self.world.settings.tolerance_of(since);
        Window { from, to, tolerance, any: time == Time::Any }
    }

    /// Advances the time to `to`.
    fn advance_to(&mut self, to: Instant, place: SourcePosition) -> Result<(), Failed> {
        if to < self.world.now {
            let (to, now) = (seconds(to), seconds(self.world.now));
            let message = format!("timing: this is due at {to} s, but it is {now} s already");
            return Err(Failed::At { place, message });
        }
        while let Some(at) = self.world.next_timer().filter(|at| *at <= to) {
            self.world.advance(at);
            self.try_blocked()?;
        }
        self.world.advance(to);
        self.try_blocked()
    }

    fn expect(&mut self, packet: &Packet, window: Window, place: SourcePosition) -> Result<(), Failed> {
        let limit = if window.any {
            Instant::MAX
        } else {
            window.to.saturating_add(window.tolerance).saturating_add(PATIENCE)
        };
        let mut gathered = matching::Gathered::default();
        loop {
            while let Some(sent) = self.world.take_sent() {
                self.transcript.note(|| format!("{}  > {}", seconds(sent.at), matching::spell(&sent.packet)));
                gathered.add(sent);
                if gathered.is_enough(packet, self.world.settings.tool.strict_segments) {
                    let compared = gathered.compare(packet, &mut self.world, window);
                    return compared.map_err(|message| Failed::At { place, message });
                }
            }
            let Some(at) = self.world.next_timer().filter(|at| *at <= limit) else {
                let message = gathered.missing(packet, window, self.world.now);
                return Err(Failed::At { place, message });
            };
            self.world.advance(at);
            self.try_blocked()?;
        }
    }

    /// Sets the variables of the code: tcp_info of the connection under test, and the constants.
    fn look(&mut self) {
        for (name, value) in info::CONSTANTS {
            self.variables.insert((*name).to_owned(), Value::Int(*value));
        }
        if let Some(connection) = self.world.under_test() {
            for (name, value) in info::fields(connection, self.world.now) {
                self.variables.insert(format!("tcpi_{name}"), Value::Int(value));
            }
        } else if let Some(state) = self.world.state_without_connection() {
            self.variables.insert("tcpi_state".to_owned(), Value::Int(info::state(state)));
        }
    }

    fn call(
        &mut self,
        event: &'a Event,
        call: &'a crate::script::Call,
        window: Window,
    ) -> Result<(), Failed> {
        let blocked =
            Blocked { event, call, progress: 0, window: self.return_window(event.time, call, window) };
        self.blocked = Some(blocked);
        self.try_blocked()?;
        if self.blocked.is_some() && call.end.is_none() {
            let message = format!(
                "{}() would block here; write until when, as in `+0...0.2 {}(...)`",
                call.name, call.name
            );
            return Err(Failed::At { place: event.place, message });
        }
        Ok(())
    }

    fn return_window(&self, time: Time, call: &crate::script::Call, window: Window) -> Window {
        let Some(end) = call.end else { return window };
        let end = Duration::from_micros(end.max(0) as u64);
        let at = match time {
            Time::Relative(_) | Time::RelativeRange(..) | Time::Any => {
                self.last_base(window, time).saturating_add(end)
            }
            _ => Instant(end.0),
        };
        let tolerance = self.world.settings.tolerance_of(at.since(window.from));
        Window { from: at, to: at, tolerance: tolerance.max(window.tolerance), any: false }
    }

    /// The time from which the relative time of an event was counted.
    fn last_base(&self, window: Window, time: Time) -> Instant {
        match time {
            Time::Relative(t) => Instant(window.from.0.saturating_sub(t.max(0) as u64 * 1000)),
            _ => window.from,
        }
    }

    /// Continues a call that blocks, if possible.
    fn try_blocked(&mut self) -> Result<(), Failed> {
        let Some(mut blocked) = self.blocked.take() else { return Ok(()) };
        let fail = |message| Failed::At { place: blocked.event.place, message };
        match self.world.call(blocked.call, &mut blocked.progress) {
            Step::Blocks => self.blocked = Some(blocked),
            Step::NotApplicable(reason) => {
                return Err(Problem::NotApplicable { place: blocked.event.place, reason }.into());
            }
            Step::Wrong(message) => return Err(fail(message)),
            Step::Done(returned) => {
                calls::compare(blocked.call, &returned).map_err(fail)?;
                let what = format!("the return of {}()", blocked.call.name);
                if blocked.call.end.is_some() {
                    blocked.window.check(self.world.now, &what).map_err(fail)?;
                }
            }
        }
        Ok(())
    }

    fn wait_for_blocked(&mut self, limit: Instant) -> Result<(), Failed> {
        while let Some(blocked) = &self.blocked {
            let (place, name) = (blocked.event.place, blocked.call.name.clone());
            let limit =
                limit.max(blocked.window.to.saturating_add(PATIENCE)).min(Instant::from_secs(1 << 20));
            let Some(at) = self.world.next_timer().filter(|at| *at <= limit) else {
                return Err(Failed::At { place, message: format!("{name}() does not return") });
            };
            self.world.advance(at);
            self.try_blocked()?;
        }
        Ok(())
    }
}
