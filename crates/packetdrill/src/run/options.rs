//! Socket options.

use lasthop_tcp::Config;

use crate::settings::Settings;

/// What setsockopt() and fcntl() have set on a descriptor.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketOptions {
    pub nonblocking: bool,
    pub nodelay: bool,
    pub cork: bool,
    /// TCP_MAXSEG.
    pub max_segment: Option<u64>,
    /// SO_SNDBUF and SO_RCVBUF as the kernel keeps them: twice what was asked.
    pub send_buffer: Option<u64>,
    pub receive_buffer: Option<u64>,
    /// SO_LINGER with a time of 0.
    pub linger_zero: bool,
    pub linger: Option<(i64, i64)>,
    /// TCP_USER_TIMEOUT \[ms\].
    pub user_timeout: u64,
    /// TCP_NOTSENT_LOWAT.
    pub notsent_lowat: u64,
    /// Anything else: the number last set.
    pub others: Vec<(String, i64)>,
}

impl SocketOptions {
    /// What they mean to a new connection.
    pub fn configure(&self, config: &mut Config, settings: &Settings) {
        config.nagle = !self.nodelay;
        let _ = settings;
        if let Some(b) = self.receive_buffer {
            config.receive_buffer = (b / 2).clamp(256, 1 << 30);
        }
    }

    pub fn other(&self, name: &str) -> Option<i64> {
        self.others.iter().find(|o| o.0 == name).map(|o| o.1)
    }
    pub fn set_other(&mut self, name: &str, value: i64) {
        self.others.retain(|o| o.0 != name);
        self.others.push((name.to_owned(), value));
    }
}
