//! How a scenario writes an application, and the table of all kinds.

use std::str::FromStr;

use lasthop_engine::Stream;
use lasthop_units::{Bitrate, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::registry::{Entry, Parameter, UnknownName, find};
use crate::udp::MAX_DATAGRAM;

/// What an application runs over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A byte stream.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
}

/// What a flow's application does. Data flows from the flow's `from` to its `to`; in
/// `request-response`, `web-page` and `dash` the answers flow back, and those are the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppConfig {
    /// Sends for ever, as fast as the transport takes it (TCP only).
    Bulk(BulkConfig),
    /// Sends a file and closes (TCP only).
    File(FileConfig),
    /// Requests from `from`, responses from `to`, one at a time on one connection (TCP only).
    RequestResponse(RequestResponseConfig),
    /// Packets at a rate while on, silence while off.
    OnOff(OnOffConfig),
    /// Packets at a constant rate.
    Cbr(CbrConfig),
    /// One direction of a call: a packet of speech every 20 ms, of no use when it is late (UDP
    /// only).
    Voip(VoipConfig),
    /// The state of a game, at every tick, of no use when it is late (UDP only).
    Game(GameConfig),
    /// Somebody at `from` reads web pages of `to`: a main object, then what it names (TCP only).
    WebPage(WebPageConfig),
    /// Files as 3GPP's traffic models send them, on one connection (TCP only).
    Ftp(FtpConfig),
    /// A player at `from` shows adaptive video of `to` (TCP only).
    Dash(DashConfig),
}

/// Parameters of `web-page`. The sizes and numbers of objects are drawn as the HTTP model of TR
/// 25.892 has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebPageConfig {
    /// Size of a request.
    pub request: Bytes,
    /// Mean time between a page and the next one (exponential).
    pub reading: Duration,
    /// Mean time between the main object and the requests for what it names (exponential).
    pub parsing: Duration,
    /// The embedded objects are asked for at once, as over HTTP/2; else one after another.
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

/// Which of 3GPP's FTP models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FtpModel {
    /// Model 1: Poisson arrivals of files of 2 MB (each a user of its own in TR 36.814; here on one
    /// connection).
    #[serde(rename = "1")]
    Arrivals,
    /// Model 2: a file of 0.5 MB, an exponential reading time, the next file.
    #[default]
    #[serde(rename = "2")]
    Reading,
    /// Model 3: Poisson arrivals of files of 0.5 MB at one UE.
    #[serde(rename = "3")]
    ArrivalsPerUe,
}

/// Parameters of `ftp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FtpConfig {
    /// "1", "2" or "3": TR 36.814 annex A.2.1.3.1, model 3 of TR 36.872.
    pub model: FtpModel,
    /// Size of a file. Without it: 2 MB in model 1, else 0.5 MB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Mean time between two arrivals, or of reading, at least 100 us.
    pub interval: Duration,
    /// Number of files; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl Default for FtpConfig {
    fn default() -> Self {
        FtpConfig { model: FtpModel::Reading, size: None, interval: Duration::from_secs(5), count: None }
    }
}

impl FtpConfig {
    /// Size of a file.
    pub fn file_size(&self) -> Bytes {
        let usual = if self.model == FtpModel::Arrivals { 2_000_000 } else { 500_000 };
        self.size.unwrap_or(Bytes(usual))
    }
}

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
    /// Video that must be there before it begins, and after a stall.
    pub startup: Duration,
    /// The rule for bitrates.
    pub adaptation: Adaptation,
    /// With `throughput`: the share of the measured throughput that is used, above 0 and at most 1.
    pub safety: f64,
    /// With `buffer`: up to this much video the lowest bitrate is taken.
    pub reservoir: Duration,
    /// With `buffer`: this much above the reservoir the highest is taken.
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

impl DashConfig {
    fn validate(&self) -> Result<(), (&'static str, String)> {
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
}

/// Parameters of `voip`: G.711 in packets of 20 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VoipConfig {
    /// RTP payload and header of a packet: 160 B of G.711 and 12 B.
    pub size: Bytes,
    /// Playout: a packet that is older than this is late. ITU-T G.114 wants 150 ms from mouth to
    /// ear, 20 of which are in the packet.
    pub deadline: Duration,
}

impl Default for VoipConfig {
    fn default() -> Self {
        VoipConfig { size: Bytes(172), deadline: Duration::from_millis(130) }
    }
}

/// Parameters of `game`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GameConfig {
    /// Between two updates of the state, at least 100 us.
    pub tick: Duration,
    /// Size of an update.
    pub size: Bytes,
    /// An update that is older than this is late. First-person shooters suffer from 100 ms on (M.
    /// Claypool, K. Claypool, Latency and player actions in online games, CACM 49(11), 2006).
    pub deadline: Duration,
}

impl Default for GameConfig {
    fn default() -> Self {
        GameConfig { tick: Duration::from_millis(50), size: Bytes(200), deadline: Duration::from_millis(100) }
    }
}

/// Between two packets of a call.
pub(super) const SPEECH: Duration = Duration::from_millis(20);

/// Parameters of `bulk`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkConfig {}

/// Parameters of `file`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileConfig {
    /// Size of the file.
    pub size: Bytes,
}

/// Parameters of `request-response`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestResponseConfig {
    /// Size of a request.
    pub request: Bytes,
    /// Size of a response.
    pub response: Bytes,
    /// Mean time between a response and the next request.
    pub think: Duration,
    /// Distribution of that time.
    pub think_distribution: Distribution,
    /// Number of requests; without it they go on for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// Parameters of `on-off`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OnOffConfig {
    /// Rate while on, payload bytes counted.
    pub rate: Bitrate,
    /// Payload of a packet (over TCP: bytes written at a time).
    pub size: Bytes,
    /// Mean length of an on period, at least 1 us.
    pub on: Duration,
    /// Distribution of the on periods.
    pub on_distribution: Distribution,
    /// Mean length of an off period.
    pub off: Duration,
    /// Distribution of the off periods.
    pub off_distribution: Distribution,
    /// Shape of Pareto distributions, above 1.
    pub shape: f64,
}

/// Parameters of `cbr`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CbrConfig {
    /// Rate, payload bytes counted.
    pub rate: Bitrate,
    /// Payload of a packet (over TCP: bytes written at a time).
    pub size: Bytes,
}

/// How a time is distributed around its mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Always the mean.
    #[default]
    Constant,
    /// Exponential with that mean.
    Exponential,
    /// Pareto with that mean and the given shape.
    Pareto,
}

impl Default for FileConfig {
    fn default() -> Self {
        FileConfig { size: Bytes(1_000_000) }
    }
}
impl Default for RequestResponseConfig {
    fn default() -> Self {
        RequestResponseConfig {
            request: Bytes(300),
            response: Bytes(100_000),
            think: Duration::from_secs(1),
            think_distribution: Distribution::Constant,
            count: None,
        }
    }
}
impl Default for OnOffConfig {
    fn default() -> Self {
        OnOffConfig {
            rate: Bitrate(1_000_000),
            size: Bytes(1000),
            on: Duration::from_secs(1),
            on_distribution: Distribution::Exponential,
            off: Duration::from_secs(1),
            off_distribution: Distribution::Exponential,
            shape: 1.5,
        }
    }
}
impl Default for CbrConfig {
    fn default() -> Self {
        CbrConfig { rate: Bitrate(1_000_000), size: Bytes(1000) }
    }
}
impl Default for AppConfig {
    fn default() -> Self {
        AppConfig::Bulk(BulkConfig {})
    }
}

const fn parameter(name: &'static str, default: &'static str, summary: &'static str) -> Parameter {
    Parameter { name, default, summary }
}

/// Every kind of application: name, what it does, where it comes from, parameters.
pub const APPS: &[Entry] = &[
    Entry {
        name: "bulk",
        summary: "sends for ever, as fast as the transport takes it (TCP)",
        source: "ns-2 FTP, ns-3 BulkSend with MaxBytes 0",
        parameters: &[],
    },
    Entry {
        name: "file",
        summary: "sends a file and closes (TCP)",
        source: "ns-3 BulkSend with MaxBytes",
        parameters: &[parameter("size", "1 MB", "size of the file")],
    },
    Entry {
        name: "request-response",
        summary: "requests and responses, one at a time on one connection (TCP)",
        source: "as HTTP/1.1 without pipelining, RFC 9112",
        parameters: &[
            parameter("request", "300 B", "size of a request"),
            parameter("response", "100 kB", "size of a response"),
            parameter("think", "1 s", "mean time between a response and the next request"),
            parameter("think_distribution", "constant", "constant or exponential"),
            parameter("count", "for ever", "number of requests"),
        ],
    },
    Entry {
        name: "on-off",
        summary: "packets at a rate while on, silence while off",
        source: "ns-2 Exponential and Pareto traffic, ns-3 OnOffApplication",
        parameters: &[
            parameter("rate", "1 Mbit/s", "rate while on"),
            parameter("size", "1000 B", "payload of a packet"),
            parameter("on", "1 s", "mean length of an on period"),
            parameter("on_distribution", "exponential", "constant, exponential or pareto"),
            parameter("off", "1 s", "mean length of an off period"),
            parameter("off_distribution", "exponential", "constant, exponential or pareto"),
            parameter("shape", "1.5", "shape of Pareto distributions, above 1"),
        ],
    },
    Entry {
        name: "cbr",
        summary: "packets at a constant rate",
        source: "ns-2 CBR",
        parameters: &[
            parameter("rate", "1 Mbit/s", "rate"),
            parameter("size", "1000 B", "payload of a packet"),
        ],
    },
    Entry {
        name: "voip",
        summary: "one direction of a call, judged by the E-model (UDP)",
        source: "ITU-T G.711, G.107, G.113, G.114",
        parameters: &[
            parameter("size", "172 B", "payload of a packet of 20 ms"),
            parameter("deadline", "130 ms", "a packet that is older is late"),
        ],
    },
    Entry {
        name: "game",
        summary: "the state of a game at every tick, judged by what is late or lost (UDP)",
        source: "M. Claypool, K. Claypool, CACM 49(11), 2006",
        parameters: &[
            parameter("tick", "50 ms", "between two updates"),
            parameter("size", "200 B", "payload of an update"),
            parameter("deadline", "100 ms", "an update that is older is late"),
        ],
    },
    Entry {
        name: "web-page",
        summary: "pages of a main object and what it names, with times to parse and read (TCP)",
        source: "HTTP model of 3GPP TR 25.892 annex A, 3GPP2 C.R1002",
        parameters: &[
            parameter("request", "350 B", "size of a request"),
            parameter("reading", "30 s", "mean time between two pages"),
            parameter("parsing", "130 ms", "mean time between the main object and the next requests"),
            parameter("pipelined", "true", "objects are asked for at once, else one after another"),
            parameter("count", "for ever", "number of pages"),
        ],
    },
    Entry {
        name: "ftp",
        summary: "files as 3GPP's FTP models 1, 2 and 3 send them (TCP)",
        source: "3GPP TR 36.814 annex A.2.1.3.1, TR 36.872 annex A",
        parameters: &[
            parameter("model", "2", "1, 3: Poisson arrivals; 2: a file, a reading time, the next"),
            parameter("size", "2 MB in model 1, else 0.5 MB", "size of a file"),
            parameter("interval", "5 s", "mean time between arrivals, or of reading"),
            parameter("count", "for ever", "number of files"),
        ],
    },
    Entry {
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
    },
];

/// The kind `name` of [`APPS`] with its default parameters.
impl FromStr for AppConfig {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match find("application", APPS, name)?.name {
            "file" => AppConfig::File(FileConfig::default()),
            "request-response" => AppConfig::RequestResponse(RequestResponseConfig::default()),
            "on-off" => AppConfig::OnOff(OnOffConfig::default()),
            "cbr" => AppConfig::Cbr(CbrConfig::default()),
            "voip" => AppConfig::Voip(VoipConfig::default()),
            "game" => AppConfig::Game(GameConfig::default()),
            "web-page" => AppConfig::WebPage(WebPageConfig::default()),
            "ftp" => AppConfig::Ftp(FtpConfig::default()),
            "dash" => AppConfig::Dash(DashConfig::default()),
            _ => AppConfig::default(),
        })
    }
}

impl AppConfig {
    /// The name in [`APPS`].
    pub const fn name(&self) -> &'static str {
        match self {
            AppConfig::Bulk(_) => "bulk",
            AppConfig::File(_) => "file",
            AppConfig::RequestResponse(_) => "request-response",
            AppConfig::OnOff(_) => "on-off",
            AppConfig::Cbr(_) => "cbr",
            AppConfig::Voip(_) => "voip",
            AppConfig::Game(_) => "game",
            AppConfig::WebPage(_) => "web-page",
            AppConfig::Ftp(_) => "ftp",
            AppConfig::Dash(_) => "dash",
        }
    }

    /// The first mistake that types alone do not catch: the key, what is wrong and the remedy.
    pub fn validate(&self, transport: Transport) -> Result<(), (&'static str, String)> {
        let stream_only = !matches!(
            self,
            AppConfig::OnOff(_) | AppConfig::Cbr(_) | AppConfig::Voip(_) | AppConfig::Game(_)
        );
        if stream_only && transport == Transport::Udp {
            let why = "needs a byte stream: use transport \"tcp\", or the app \"cbr\" or \"on-off\" over UDP";
            return Err(("kind", format!("{} {why}", self.name())));
        }
        if matches!(self, AppConfig::Voip(_) | AppConfig::Game(_)) && transport == Transport::Tcp {
            let why = "is made of datagrams: use transport \"udp\"";
            return Err(("kind", format!("{} {why}", self.name())));
        }
        match self {
            AppConfig::Voip(c) => packets(SPEECH_RATE, c.size, transport),
            AppConfig::Game(c) => {
                at_least("tick", c.tick, PERIOD)?;
                packets(SPEECH_RATE, c.size, transport)
            }
            AppConfig::Bulk(_) => Ok(()),
            AppConfig::File(c) => above_zero("size", c.size.0),
            AppConfig::RequestResponse(c) => {
                above_zero("request", c.request.0)?;
                above_zero("response", c.response.0)?;
                if c.think_distribution == Distribution::Pareto {
                    return Err(("think_distribution", "is constant or exponential".to_owned()));
                }
                above_zero("count", c.count.map_or(1, u64::from))
            }
            AppConfig::OnOff(c) => {
                packets(c.rate, c.size, transport)?;
                at_least("on", c.on, Duration::from_micros(1))?;
                if c.shape.is_finite() && c.shape > 1.0 {
                    return Ok(());
                }
                Err((
                    "shape",
                    format!("{} is out of range: a Pareto with a mean has a shape above 1", c.shape),
                ))
            }
            AppConfig::Cbr(c) => packets(c.rate, c.size, transport),
            AppConfig::WebPage(c) => {
                above_zero("request", c.request.0)?;
                above_zero("count", c.count.map_or(1, u64::from))
            }
            AppConfig::Ftp(c) => {
                above_zero("size", c.file_size().0)?;
                at_least("interval", c.interval, PERIOD)?;
                above_zero("count", c.count.map_or(1, u64::from))
            }
            AppConfig::Dash(c) => c.validate(),
        }
    }
}

/// Any rate above zero: what is checked is the size.
const SPEECH_RATE: Bitrate = Bitrate(1);

fn packets(rate: Bitrate, size: Bytes, transport: Transport) -> Result<(), (&'static str, String)> {
    above_zero("rate", rate.0)?;
    above_zero("size", size.0)?;
    if transport == Transport::Udp && size.0 > u64::from(MAX_DATAGRAM) {
        return Err(("size", format!("{size} is out of range: a datagram holds up to {MAX_DATAGRAM} B")));
    }
    if size.0 > u64::from(u32::MAX) {
        return Err(("size", format!("{size} is out of range: up to {} B at a time", u32::MAX)));
    }
    Ok(())
}

/// Shortest period of recurring events: with shorter ones a run would hardly advance.
const PERIOD: Duration = Duration::from_micros(100);

fn at_least(key: &'static str, value: Duration, least: Duration) -> Result<(), (&'static str, String)> {
    if value >= least { Ok(()) } else { Err((key, format!("{value} is too short: at least {least}"))) }
}

fn above_zero(key: &'static str, value: u64) -> Result<(), (&'static str, String)> {
    if value > 0 { Ok(()) } else { Err((key, "must be above zero".to_owned())) }
}

impl Distribution {
    /// A time with this `mean`.
    pub(super) fn draw(self, mean: Duration, shape: f64, stream: &mut Stream) -> Duration {
        let seconds = mean.as_secs_f64();
        match self {
            Distribution::Constant => mean,
            Distribution::Exponential => Duration::from_secs_f64(stream.exponential(seconds)),
            // The mean of a Pareto is min * shape / (shape - 1).
            Distribution::Pareto => {
                Duration::from_secs_f64(stream.pareto(shape, seconds * (shape - 1.0) / shape))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_engine::{Draw, Purpose};

    #[test]
    fn every_name_of_the_table_is_read_back_as_itself_and_valid() {
        for entry in APPS {
            let config: AppConfig = entry.name.parse().unwrap();
            assert_eq!(config.name(), entry.name);
            let datagrams = matches!(config, AppConfig::Voip(_) | AppConfig::Game(_));
            let transport = if datagrams { Transport::Udp } else { Transport::Tcp };
            assert_eq!(config.validate(transport), Ok(()));
        }
        assert!("http".parse::<AppConfig>().unwrap_err().to_string().contains("known: bulk, file"));
    }

    #[test]
    fn mistakes_name_their_key() {
        let key = |c: AppConfig, t| c.validate(t).unwrap_err().0;
        assert_eq!(key(AppConfig::default(), Transport::Udp), "kind");
        assert_eq!(key(AppConfig::File(FileConfig { size: Bytes(0) }), Transport::Tcp), "size");
        let cbr = |rate, size| AppConfig::Cbr(CbrConfig { rate: Bitrate(rate), size: Bytes(size) });
        assert_eq!(key(cbr(0, 1), Transport::Udp), "rate");
        assert_eq!(key(cbr(1, 65_508), Transport::Udp), "size");
        assert_eq!(cbr(1, 65_508).validate(Transport::Tcp), Ok(()));
        let on_off = OnOffConfig { shape: 1.0, ..OnOffConfig::default() };
        assert_eq!(key(AppConfig::OnOff(on_off), Transport::Udp), "shape");
    }

    #[test]
    fn configurations_are_read_with_defaults_and_refuse_unknown_keys() {
        let read = |text| serde_json::from_str::<AppConfig>(text).map_err(|e| e.to_string());
        let cbr = CbrConfig { rate: Bitrate(2_000_000), ..CbrConfig::default() };
        assert_eq!(read(r#"{"cbr": {"rate": "2 Mbit/s"}}"#), Ok(AppConfig::Cbr(cbr)));
        assert_eq!(read(r#"{"bulk": {}}"#), Ok(AppConfig::default()));
        assert!(read(r#"{"cbr": {"rte": "2 Mbit/s"}}"#).unwrap_err().contains("unknown field `rte`"));
        for entry in APPS {
            let config: AppConfig = entry.name.parse().unwrap();
            let text = serde_json::to_value(&config).unwrap();
            assert!(text.as_object().unwrap().contains_key(entry.name));
            assert_eq!(serde_json::from_value::<AppConfig>(text).unwrap(), config);
        }
    }

    /// The registry, the schema and the types name the same keys.
    #[test]
    fn the_table_lists_every_key_of_the_schema() {
        let schema = serde_json::to_value(schemars::schema_for!(AppConfig)).unwrap();
        for (variant, entry) in schema["oneOf"].as_array().unwrap().iter().zip(APPS) {
            let target = &variant["properties"][entry.name]["$ref"];
            let definition = schema.pointer(target.as_str().unwrap().trim_start_matches('#')).unwrap();
            let none = serde_json::Map::new();
            let keys = definition["properties"].as_object().unwrap_or(&none).keys();
            let listed = entry.parameters.iter().map(|p| p.name);
            assert!(keys.map(String::as_str).eq(listed), "{}", entry.name);
        }
    }

    /// n = 10^5, mean 2 s: exponential has standard error 2 / sqrt(n) = 6.3 ms; a Pareto of shape 3
    /// has a standard deviation of mean / sqrt(shape (shape - 2)) = 1.15 s, so 3.7 ms.
    #[test]
    fn times_have_their_mean() {
        let draw = Draw::new(1, Purpose::Test, 0);
        let mean = |d: Distribution| {
            let time = |n| d.draw(Duration::from_secs(2), 3.0, &mut draw.stream(n)).as_secs_f64();
            (0..100_000).map(time).sum::<f64>() / 1e5
        };
        assert_eq!(mean(Distribution::Constant), 2.0);
        assert!((mean(Distribution::Exponential) - 2.0).abs() < 5.0 * 0.0063);
        assert!((mean(Distribution::Pareto) - 2.0).abs() < 5.0 * 0.0037);
    }
}
