//! Socket options.

use lasthop_tcp::{Config, Endpoint};
use lasthop_units::Duration;

use crate::settings::Settings;

/// Values set on a descriptor by setsockopt() and fcntl().
#[derive(Clone, Debug, Default)]
pub(super) struct SocketOptions {
    pub nonblocking: bool,
    pub nodelay: bool,
    pub cork: bool,
    /// TCP_MAXSEG.
    pub max_segment: Option<u64>,
    /// SO_SNDBUF and SO_RCVBUF as the kernel stores them: twice the requested value.
    pub send_buffer: Option<u64>,
    pub receive_buffer: Option<u64>,
    /// SO_LINGER with a time of 0.
    pub linger_zero: bool,
    pub linger: Option<(i64, i64)>,
    /// TCP_NOOPT.
    pub no_options: bool,
    /// TCP_KEEPINIT.
    pub set_up_limit: Option<Duration>,
    /// TCP_USER_TIMEOUT \[ms\].
    pub user_timeout: u64,
    /// TCP_NOTSENT_LOWAT.
    pub notsent_lowat: u64,
    /// Any other option: the number last set.
    pub others: Vec<(String, i64)>,
}

impl SocketOptions {
    /// Applies the options to the configuration of a new connection.
    pub fn configure(&self, config: &mut Config) {
        config.acks.nagle = !self.nodelay;
        if self.no_options {
            (config.negotiated.timestamps, config.negotiated.sack, config.negotiated.window_scaling) =
                (false, false, false);
            config.host.announces_mss = false;
        }
        if let Some(b) = self.receive_buffer {
            config.buffers.receive_buffer = (b / 2).clamp(256, 1 << 30);
            config.buffers.receive_tuning = false;
        }
    }

    /// Sets limits of an endpoint that may change at any time.
    pub fn apply_limits(&self, endpoint: &mut Endpoint, settings: &Settings) {
        endpoint.set_send_buffer(self.send_buffer.unwrap_or(settings.buffers.send));
        let lowat = if self.notsent_lowat > 0 { self.notsent_lowat } else { settings.buffers.notsent_lowat };
        endpoint.set_notsent_limit(lowat);
        endpoint.set_user_timeout((self.user_timeout > 0).then(|| Duration::from_millis(self.user_timeout)));
    }

    pub fn other(&self, name: &str) -> Option<i64> {
        self.others.iter().find(|o| o.0 == name).map(|o| o.1)
    }
    pub fn set_other(&mut self, name: &str, value: i64) {
        self.others.retain(|o| o.0 != name);
        self.others.push((name.to_owned(), value));
    }
}
