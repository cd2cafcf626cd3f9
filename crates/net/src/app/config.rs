//! The notation of applications in a scenario, and the table of all kinds: both are derived from
//! the list.

use std::str::FromStr;

use lasthop_engine::observe::Observer;
use lasthop_units::{Bitrate, Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{AppKind, Behaviour, Fault, Over};
use super::quality::Quality;
use super::streams::{Service, Streams};
use super::*;
use crate::media::MediaControl;
use crate::registry::{Entry, UnknownName, find};

macro_rules! apps {
    ($($(#[$doc:meta])* $Name:ident $word:literal $module:ident::$Config:ident;)*) => {
        /// The application of a flow. Data flows from the flow's `from` to its `to`; in
        /// `request-response`, `web-page` and `dash` the answers go from `to` to `from`, and these
        /// are the data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum AppConfig {
            $($(#[$doc])* $Name($module::$Config),)*
        }

        /// Every kind of application: name, summary, source, parameters.
        pub const APPS: &[Entry] = &[$(<$module::$Config as AppKind>::ENTRY),*];

        /// The kind `name` of [`APPS`] with its default parameters.
        impl FromStr for AppConfig {
            type Err = UnknownName;
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Ok(match find("application", APPS, name)?.name {
                    $($word => AppConfig::$Name(Default::default()),)*
                    _ => AppConfig::default(),
                })
            }
        }

        /// A running application.
        #[derive(Clone, Debug)]
        pub(super) enum Running {
            $($Name(<$module::$Config as AppKind>::Run),)*
        }

        impl AppConfig {
            /// The name in [`APPS`].
            pub const fn name(&self) -> &'static str {
                match self {
                    $(AppConfig::$Name(_) => $word,)*
                }
            }
            /// The first mistake that the types do not exclude: the key, the mistake and the
            /// remedy.
            pub fn validate(&self, service: Service) -> Result<(), (&'static str, String)> {
                match self {
                    $(AppConfig::$Name(c) => validate(c, $word, service),)*
                }
            }
            /// The end that sends the bulk of the data.
            pub const fn data_end(&self) -> End {
                match self {
                    $(AppConfig::$Name(_) => <$module::$Config as AppKind>::DATA_END,)*
                }
            }
            /// It has data as fast as the transport takes it.
            pub fn is_bulk(&self) -> bool {
                match self {
                    $(AppConfig::$Name(c) => c.is_bulk(),)*
                }
            }
            /// Rate and size of its packets while it sends, of a source that is not answered.
            pub fn peak(&self) -> Option<(Bitrate, Bytes)> {
                match self {
                    $(AppConfig::$Name(c) => c.peak(),)*
                }
            }
            /// The mean rate that it offers, independent of the network.
            pub fn mean_rate(&self) -> Option<Bitrate> {
                match self {
                    $(AppConfig::$Name(c) => c.mean_rate(),)*
                }
            }
            /// The bytes that it sends in total, if known before the run.
            pub fn total(&self) -> Option<Bytes> {
                match self {
                    $(AppConfig::$Name(c) => c.total(),)*
                }
            }
            /// The rate control of media.
            pub fn rate_control(&self) -> Option<MediaControl<'_>> {
                match self {
                    $(AppConfig::$Name(c) => c.rate_control(),)*
                }
            }
            /// Its user waits for data that was requested, and requests the next after that.
            pub const fn waits_for_answers(&self) -> bool {
                match self {
                    $(AppConfig::$Name(_) => <$module::$Config as AppKind>::ANSWERS,)*
                }
            }
            /// It may become `next` while it runs: the kind stays, and of some kinds only rates
            /// change.
            pub fn may_become(&self, next: &AppConfig) -> bool {
                match (self, next) {
                    $((AppConfig::$Name(c), AppConfig::$Name(n)) => !c.fixed(n),)*
                    _ => false,
                }
            }
            /// `running` is of the same kind: it has these parameters from now on.
            pub(super) fn change(
                &self,
                running: &mut Running,
                now: Instant,
                s: &mut Streams,
                out: &mut Vec<Action>,
            ) {
                match (self, running) {
                    $((AppConfig::$Name(c), Running::$Name(a)) => c.change(a, now, s, out),)*
                    _ => debug_assert!(false, "checked before: the kind stays"),
                }
            }
            pub(super) fn judged(&self) -> Option<Quality> {
                match self {
                    $(AppConfig::$Name(c) => c.judged(),)*
                }
            }
            pub(super) fn run(&self, place: &AppContext<'_>) -> Result<Running, Fault> {
                Ok(match self {
                    $(AppConfig::$Name(c) => Running::$Name(c.run(place)?),)*
                })
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Behaviour for Running {
            fn start(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
                match self {
                    $(Running::$Name(a) => a.start(now, s, out),)*
                }
            }
            fn stop(&mut self, now: Instant) {
                match self {
                    $(Running::$Name(a) => a.stop(now),)*
                }
            }
            fn pause(&mut self) {
                match self {
                    $(Running::$Name(a) => a.pause(),)*
                }
            }
            fn resume(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
                match self {
                    $(Running::$Name(a) => a.resume(now, s, out),)*
                }
            }
            #[inline]
            fn poll_at(&self) -> Option<Instant> {
                match self {
                    $(Running::$Name(a) => a.poll_at(),)*
                }
            }
            fn on_time(&mut self, now: Instant, s: &mut Streams, out: &mut Vec<Action>) {
                match self {
                    $(Running::$Name(a) => a.on_time(now, s, out),)*
                }
            }
            #[inline]
            fn on_delivered(&mut self, now: Instant, end: End, s: &mut Streams, out: &mut Vec<Action>) {
                match self {
                    $(Running::$Name(a) => a.on_delivered(now, end, s, out),)*
                }
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
                match self {
                    $(Running::$Name(a) => a.on_datagram(now, end, arrival, first, s, out),)*
                }
            }
            fn video(&self) -> Option<&Video> {
                match self {
                    $(Running::$Name(a) => a.video(),)*
                }
            }
            fn media(&mut self) -> Option<MediaSample> {
                match self {
                    $(Running::$Name(a) => a.media(),)*
                }
            }
            fn encoded(&self) -> Option<u64> {
                match self {
                    $(Running::$Name(a) => a.encoded(),)*
                }
            }
            fn fault(&mut self) -> Option<Fault> {
                match self {
                    $(Running::$Name(a) => a.fault(),)*
                }
            }
            fn observe(&self, o: &mut Observer<'_>) {
                match self {
                    $(Running::$Name(a) => a.observe(o),)*
                }
            }
        }
    };
}
built_in_apps!(apps);

impl Default for AppConfig {
    fn default() -> Self {
        AppConfig::Bulk(BulkConfig::default())
    }
}

fn validate<K: AppKind>(config: &K, name: &str, service: Service) -> Result<(), (&'static str, String)> {
    let why = match (K::OVER, service) {
        (Over::Streams, Service::Datagrams) => {
            "needs a byte stream: use transport \"tcp\", or the app \"cbr\" or \"on-off\" over UDP"
        }
        (Over::Datagrams, Service::Stream) => "is made of datagrams: use transport \"udp\"",
        _ => return config.validate(service),
    };
    Err(("kind", format!("{name} {why}")))
}

#[cfg(test)]
mod tests {
    use super::super::cbr::CbrConfig;
    use super::super::file::FileConfig;
    use super::super::on_off::OnOffConfig;
    use super::*;

    #[test]
    fn every_name_of_the_table_is_read_back_as_itself_and_valid() {
        for entry in APPS {
            let config: AppConfig = entry.name.parse().unwrap();
            assert_eq!(config.name(), entry.name);
            let datagrams = matches!(config, AppConfig::Voip(_) | AppConfig::Game(_) | AppConfig::Media(_));
            let service = if datagrams { Service::Datagrams } else { Service::Stream };
            assert_eq!(config.validate(service), Ok(()));
        }
        let known = APPS.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        assert!("http".parse::<AppConfig>().unwrap_err().to_string().contains(&format!("known: {known}")));
    }

    #[test]
    fn mistakes_name_their_key() {
        let key = |c: AppConfig, t| c.validate(t).unwrap_err().0;
        assert_eq!(key(AppConfig::default(), Service::Datagrams), "kind");
        assert_eq!(
            key(AppConfig::File(FileConfig { size: Bytes(0), ..FileConfig::default() }), Service::Stream),
            "size"
        );
        let cbr = |rate, size| AppConfig::Cbr(CbrConfig { rate: Bitrate(rate), size: Bytes(size) });
        assert_eq!(key(cbr(0, 1), Service::Datagrams), "rate");
        assert_eq!(key(cbr(1, 65_508), Service::Datagrams), "size");
        assert_eq!(cbr(1, 65_508).validate(Service::Stream), Ok(()));
        let on_off = OnOffConfig { shape: 1.0, ..OnOffConfig::default() };
        assert_eq!(key(AppConfig::OnOff(on_off), Service::Datagrams), "shape");
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
}
