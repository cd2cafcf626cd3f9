//! Web pages: a main object, a time to parse it, the objects that it names, a time to read. The
//! sizes are those of the HTTP model of 3GPP2 C.R1002 and TR 25.892 annex A (also the NGMN
//! alliance's and IEEE 802.16m's).

use lasthop_engine::{Draw, Stream, math};
use lasthop_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exchange::Exchange;
use super::kind::{AppContext, AppKind, Behaviour, Fault, Wrong, above_zero, parameter};
use super::streams::{Service, Streams};
use super::{Action, End};
use crate::registry::Entry;

/// Parameters of `web-page`. The sizes and numbers of objects are drawn as the HTTP model of TR
/// 25.892 has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebPageConfig {
    /// Size of a request.
    pub request: Bytes,
    /// Mean time between a page and the next one (exponential).
    pub reading: Duration,
    /// Mean time between the main object and the requests for the objects that it embeds
    /// (exponential).
    pub parsing: Duration,
    /// The embedded objects are requested at once, as over HTTP/2; else one after another.
    pub pipelined: bool,
    /// Number of pages; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Default for WebPageConfig {
    fn default() -> Self {
        WebPageConfig {
            request: Bytes(350),
            reading: Duration::from_secs(30),
            parsing: Duration::from_millis(130),
            pipelined: true,
            count: None,
        }
    }
}

impl AppKind for WebPageConfig {
    const ENTRY: Entry = Entry {
        name: "web-page",
        summary: "pages of a main object and what it names, with times to parse and read (TCP)",
        source: "HTTP model of 3GPP TR 25.892 annex A, 3GPP2 C.R1002",
        parameters: &[
            parameter("request", "350 B", "size of a request"),
            parameter("reading", "30 s", "mean time between two pages"),
            parameter("parsing", "130 ms", "mean time between the main object and the next requests"),
            parameter("pipelined", "true", "objects are requested at once, else one after another"),
            parameter("count", "for ever", "number of pages"),
        ],
    };
    const DATA_END: End = End::B;
    const ANSWERS: bool = true;
    type Run = Box<Page>;

    fn validate(&self, _over: Service) -> Result<(), Wrong> {
        above_zero("request", self.request.0)?;
        above_zero("count", self.count.map_or(1, u64::from))
    }
    fn run(&self, _: &AppContext<'_>) -> Result<Box<Page>, Fault> {
        Ok(Box::new(Page::new(self)))
    }
}

/// A truncated lognormal size [bytes]: mu and sigma of the logarithm, least and most. Values
/// outside are drawn again.
struct Size {
    mu: f64,
    sigma: f64,
    least: f64,
    most: f64,
}

/// Mean 10710 B, standard deviation 25032 B, 100 B to 2 MB.
const MAIN: Size = Size { mu: 8.35, sigma: 1.37, least: 100.0, most: 2e6 };
/// Mean 7758 B, standard deviation 126168 B before truncation, 50 B to 2 MB.
const EMBEDDED: Size = Size { mu: 6.17, sigma: 2.36, least: 50.0, most: 2e6 };
/// Number of embedded objects: a Pareto of this shape and minimum, cut at this, less the minimum.
/// Mean 5.64, at most 53.
const OBJECTS: (f64, f64, f64) = (1.1, 2.0, 55.0);

/// The browser.
#[derive(Clone, Debug)]
pub(super) struct Page {
    config: WebPageConfig,
    step: Step,
    exchange: Exchange,
    pages: u64,
    asked_at: Instant,
    /// Embedded objects still to be requested.
    objects: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    /// When the next page is requested.
    Reading(Instant),
    Main,
    /// When the objects are requested.
    Parsing(Instant),
    Objects,
}

/// What the browser requests of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wish {
    /// Bytes of requests, and how many.
    write: u64,
    requests: u64,
    /// A page is complete: how long it took.
    page: Option<Duration>,
    /// It was the last one.
    last: bool,
}

impl Page {
    fn new(config: &WebPageConfig) -> Page {
        Page {
            config: config.clone(),
            step: Step::Idle,
            exchange: Exchange::default(),
            pages: 0,
            asked_at: Instant::ZERO,
            objects: Vec::new(),
        }
    }

    /// Requests the objects that are due.
    fn due(&mut self, now: Instant, draw: Draw) -> Wish {
        let request = self.config.request.0;
        match self.step {
            Step::Reading(at) if at <= now => {
                self.asked_at = at;
                let mut stream = draw.stream(2 * self.pages);
                self.exchange.request(request, MAIN.draw(&mut stream));
                let n = objects(&mut stream);
                self.objects.clear();
                self.objects.extend((0..n).map(|_| EMBEDDED.draw(&mut stream)));
                self.objects.reverse();
                self.step = Step::Main;
                Wish { write: request, requests: 1, ..Wish::default() }
            }
            Step::Parsing(at) if at <= now => {
                self.step = Step::Objects;
                let n = if self.config.pipelined { self.objects.len() } else { 1 };
                for _ in 0..n {
                    self.objects.pop().into_iter().for_each(|size| self.exchange.request(request, size));
                }
                Wish { write: n as u64 * request, requests: n as u64, ..Wish::default() }
            }
            _ => Wish::default(),
        }
    }

    /// `received` bytes of answers have arrived at the browser.
    fn at_browser(&mut self, now: Instant, received: u64, draw: Draw) -> Wish {
        if self.exchange.arrived(received) == 0 || !self.exchange.is_idle() {
            return Wish::default();
        }
        let mut times = draw.stream(2 * self.pages + 1);
        let [parsing, reading] = [self.config.parsing, self.config.reading]
            .map(|mean| Duration::from_secs_f64(times.exponential(mean.as_secs_f64())));
        match self.step {
            Step::Main if !self.objects.is_empty() => {
                self.step = Step::Parsing(now + parsing);
                Wish::default()
            }
            Step::Objects if !self.objects.is_empty() => {
                let request = self.config.request.0;
                self.objects.pop().into_iter().for_each(|size| self.exchange.request(request, size));
                Wish { write: request, requests: 1, ..Wish::default() }
            }
            Step::Main | Step::Objects => {
                self.pages += 1;
                let last = self.config.count.is_some_and(|count| self.pages >= u64::from(count));
                self.step = if last { Step::Idle } else { Step::Reading(now + reading) };
                Wish { page: Some(now.since(self.asked_at)), last, ..Wish::default() }
            }
            Step::Idle | Step::Reading(_) | Step::Parsing(_) => Wish::default(),
        }
    }
}

impl Size {
    fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let size = math::exp(self.mu + self.sigma * stream.normal());
            if (self.least..=self.most).contains(&size) {
                return size as u64;
            }
        }
    }
}

fn objects(stream: &mut Stream) -> u64 {
    let (shape, least, most) = OBJECTS;
    (stream.pareto(shape, least).min(most) - least).round() as u64
}

/// What a browser requests.
fn grant(now: Instant, wish: Wish, page: &mut Page, s: &mut Streams, out: &mut Vec<Action>) {
    if let Some(took) = wish.page {
        s.stats.completions.add(now, took);
    }
    if wish.last {
        s.complete(now, out);
    } else if wish.write > 0 {
        s.request(wish.requests, wish.write, out);
    } else if wish.page.is_some() {
        page.on_time(now, s, out);
    }
}

impl Behaviour for Page {
    fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        self.step = Step::Reading(now);
        self.on_time(now, s, out);
    }
    fn stop(&mut self, _now: Instant) {
        self.step = Step::Idle;
    }
    fn poll_at(&self) -> Option<Instant> {
        match self.step {
            Step::Reading(at) | Step::Parsing(at) => Some(at),
            Step::Idle | Step::Main | Step::Objects => None,
        }
    }
    fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
        let wish = self.due(now, s.draw);
        grant(now, wish, self, s, out);
    }
    fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
        let [at_a, at_b] = s.stats.delivered;
        if end == End::B {
            let (bytes, count) = self.exchange.read(at_b);
            s.answer(bytes, count, out);
        } else {
            let wish = self.at_browser(now, at_a, s.draw);
            grant(now, wish, self, s, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::Purpose;

    /// The mean of a lognormal cut to [a, b], of which the rest is drawn again: e^(mu + s^2/2)
    /// (F(b - s) - F(a - s)) / (F(b) - F(a)) with F the normal distribution of (ln x - mu) / s.
    /// Main: 10815 * (0.99910 - 0.00002) / (1 - 0.00314) = 10839 B; embedded: 7744 * (0.87959 -
    /// 0.00046) / (0.99979 - 0.16933) = 8198 B. 200 000 draws: standard errors of about 0.5 and 1.3
    /// %.
    #[test]
    fn sizes_have_the_means_of_the_truncated_lognormals() {
        let mut stream = Draw::new(1, Purpose::Test, 0).stream(0);
        let mut mean = |s: &Size| (0..200_000).map(|_| s.draw(&mut stream) as f64).sum::<f64>() / 200_000.0;
        let (main, embedded) = (mean(&MAIN), mean(&EMBEDDED));
        assert!((main / 10_839.0 - 1.0).abs() < 0.02, "{main}");
        assert!((embedded / 8_198.0 - 1.0).abs() < 0.05, "{embedded}");
    }

    /// Cut at 55: 2^1.1 (55^-0.1 - 2^-0.1) / -0.1 = 5.64 more than the minimum in the mean (TR
    /// 25.892: 5.64), rounded to whole objects; 55^-1.1 2^1.1 = 2.6 % of the pages have 53.
    #[test]
    fn pages_have_5_64_objects_in_the_mean_and_53_at_most() {
        let mut stream = Draw::new(1, Purpose::Test, 1).stream(0);
        let n: Vec<u64> = (0..200_000).map(|_| objects(&mut stream)).collect();
        let mean = n.iter().sum::<u64>() as f64 / n.len() as f64;
        assert!((mean - 5.64).abs() < 0.1, "{mean}");
        let most = n.iter().filter(|n| **n == 53).count() as f64 / n.len() as f64;
        assert_eq!(n.iter().max(), Some(&53));
        assert!((most - 0.026).abs() < 0.002, "{most}");
    }
}
