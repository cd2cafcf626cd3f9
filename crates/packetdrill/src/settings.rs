//! Settings of the endpoint's host: the options in a script, and the supported shell commands.
//!
//! A command that only prepares the original tool's virtual device, or cleans up, has no effect
//! here. One that changes the kernel's TCP becomes a value of the endpoint's configuration. Any
//! other makes the script not applicable.

use crate::arithmetic;
use crate::script::Defines;
use lasthop_tcp::{
    AccEcnOption, AckOptions, BufferOptions, CcName, Config, EcnMode, EcnOptions, GrowthOptions, Host,
    HyStartKind, NegotiatedOptions, Offload, OptionError, Options, Profile, ReadingOptions, WindowOptions,
};
use lasthop_units::{Bytes, Duration};

/// The implementation whose choices a host makes where standards leave them open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// That of the profile.
    Linux,
    /// 4.4BSD ([`Host::BSD`]), with the profile `rfc` unless another is selected.
    Bsd,
}

/// The settings of a run that are not in the script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The stack profile; `None`: `linux-6`, and `rfc` with BSD's choices for scripts that set
    /// `net.inet.tcp`.
    pub profile: Option<Profile>,
    /// Congestion control instead of the profile's; a choice in the script takes precedence.
    pub cc: Option<CcName>,
    /// The implementation whose choices apply where standards leave them open; `None`: 4.4BSD's for
    /// scripts that set `net.inet.tcp`, else those of the profile's kernel.
    pub host: Option<HostKind>,
    /// Symbols for the `#ifdef` lines of scripts, and for names in arguments.
    pub defines: Defines,
    /// Options of the original tool, name and value; they take precedence over those in a script.
    pub options: Vec<(String, String)>,
}

impl Request {
    /// Creates a request from names, as in a command line.
    pub fn named(profile: Option<&str>, cc: Option<&str>) -> Result<Request, String> {
        let known = || Profile::ALL.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
        let profile = profile
            .map(|name| {
                let found = Profile::ALL.iter().find(|p| p.name() == name);
                found.copied().ok_or_else(|| format!("`{name}` is no profile; there are {}", known()))
            })
            .transpose()?;
        Ok(Request { profile, cc: cc.map(self::cc).transpose()?, ..Request::default() })
    }

    /// The request for a host by name, `linux` or `bsd`.
    ///
    /// # Errors
    ///
    /// The name is neither.
    pub fn host(mut self, name: &str) -> Result<Request, String> {
        self.host = Some(match name {
            "linux" => HostKind::Linux,
            "bsd" => HostKind::Bsd,
            _ => return Err(format!("--host {name}: linux or bsd is expected")),
        });
        Ok(self)
    }

    /// Adds a symbol to the request, given as `NAME` or `NAME=VALUE`.
    ///
    /// # Errors
    ///
    /// The name is invalid, or the value neither a whole number nor a name.
    pub fn define(mut self, definition: &str) -> Result<Request, String> {
        self.defines.add(definition)?;
        Ok(self)
    }

    /// Adds an option of the original tool, such as `tolerance_usecs`, to the request.
    ///
    /// # Errors
    ///
    /// The value is invalid for the option.
    pub fn option(mut self, name: &str, value: &str) -> Result<Request, String> {
        Settings::new(&self).option(name, value).map_err(|o| o.to_string())?;
        self.options.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }
}

/// Options that a host offers in its SYNs.
#[derive(Clone, Copy, Debug)]
struct Offers {
    timestamps: bool,
    sack: bool,
    dsack: bool,
    window_scaling: bool,
    /// Number of transmissions of a SYN with options.
    option_syns: u32,
}

/// Sizes of sockets' buffers \[octets\].
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    receive: Option<u64>,
    /// The second value of net.ipv4.tcp_rmem: SO_RCVBUF of a new socket.
    receive_start: Option<u64>,
    /// Default of SO_SNDBUF.
    pub send: u64,
    /// kern.ipc.maxsockbuf.
    max: u64,
    /// net.ipv4.tcp_notsent_lowat.
    pub notsent_lowat: u64,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug)]
pub struct Ecn {
    /// net.ipv4.tcp_ecn.
    pub mode: u64,
    /// net.ipv4.tcp_ecn_option.
    option: u64,
    /// net.ipv4.tcp_ecn_fallback.
    fallback: bool,
    /// Number of transmissions of a SYN that request it.
    syns: u32,
}

/// The route of the host.
#[derive(Clone, Copy, Debug)]
struct Route {
    initial_window: Option<u32>,
    mss: Option<u64>,
    mtu: u64,
    ipv6: bool,
}

/// Options of the tool for the comparison of packets.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Largest deviation of the time of an event [us].
    pub tolerance: i64,
    /// The same as a share of the time since the previous event \[%\].
    pub tolerance_percent: f64,
    /// Length of a tick of the timestamps in the script \[us\]; 0: values are not compared.
    pub timestamp_tick: i64,
    /// True if segments are not merged to match a longer one.
    pub strict_segments: bool,
    /// Longer packets arrive as merged segments of this size (`--mss`) \[octets\].
    merged_segment: Option<u32>,
}

/// The settings of the host and of the tool.
#[derive(Clone, Debug)]
pub struct Settings {
    request: Request,
    /// True if the choices are those of 4.4BSD.
    pub bsd: bool,
    cc: Option<CcName>,
    offers: Offers,
    /// Sizes of sockets' buffers.
    pub buffers: Buffers,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    route: Route,
    /// Options for the comparison of packets.
    pub tool: Tool,
    idle_restart: bool,
    early_retrans: u64,
    hystart: Option<bool>,
    ack_delay: Option<u64>,
    paced: bool,
    /// net.inet.tcp.drop_synfin.
    pub drop_syn_fin: bool,
    /// net.inet.tcp.keepinit: the longest time of a connection's set-up; `None`: until all SYNs
    /// have been sent.
    pub set_up_limit: Option<Duration>,
    /// net.ipv4.tcp_min_tso_segs.
    min_tso_segs: u32,
    /// net.ipv4.tcp_tso_win_divisor.
    tso_win_divisor: u32,
}

/// The reason for which an option has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A simulated endpoint lacks the feature.
    #[error("not applicable: {0}")]
    NotApplicable(String),
    /// The option or its value is wrong.
    #[error("{0}")]
    Mistake(String),
}

/// Options of the original tool that concern its addresses, devices, code and output.
const TOOL_OPTIONS: &[&str] = &[
    "bind_port",
    "code_command",
    "code_format",
    "code_sockopt",
    "connect_port",
    "connect_addr",
    "debug",
    "gateway_ip",
    "init_scripts",
    "is_anyip",
    "local_ip",
    "local_linklocal_ip",
    "netmask_ip",
    "psp_udp_port",
    "remote_ip",
    "send_omit_free",
    "so_filename",
    "so_flags",
    "speed",
    "tcp_ts_ecr_scaled",
    "use_expect",
    "verbose",
    "wire_client",
    "wire_client_dev",
    "wire_client_netdev",
    "wire_server",
    "wire_server_at",
    "wire_server_dev",
    "wire_server_ip",
    "wire_server_netdev",
    "wire_server_port",
];

/// The result of a command.
pub type Understood = Result<(), String>;

impl Settings {
    /// The default settings of a host.
    pub fn new(request: &Request) -> Settings {
        Settings {
            request: request.clone(),
            bsd: request.host == Some(HostKind::Bsd),
            cc: request.cc,
            offers: Offers {
                timestamps: true,
                sack: true,
                dsack: true,
                window_scaling: true,
                option_syns: u32::MAX,
            },
            buffers: Buffers {
                receive: None,
                receive_start: None,
                send: SEND_BUFFER,
                max: 2_097_152,
                notsent_lowat: u64::from(u32::MAX),
            },
            ecn: Ecn { mode: 2, option: 2, fallback: true, syns: 1 },
            route: Route { initial_window: None, mss: None, mtu: 1500, ipv6: false },
            tool: Tool {
                tolerance: 4000,
                tolerance_percent: 12.5,
                timestamp_tick: 0,
                strict_segments: false,
                merged_segment: None,
            },
            idle_restart: true,
            early_retrans: 3,
            hystart: None,
            ack_delay: None,
            paced: false,
            drop_syn_fin: false,
            set_up_limit: None,
            min_tso_segs: 2,
            tso_win_divisor: 3,
        }
    }

    /// Applies a command-line option of the original tool. Those about its addresses and devices
    /// have no effect.
    ///
    /// # Errors
    ///
    /// The value is invalid for the option, the tool does not have the option, or an endpoint lacks
    /// its feature.
    pub fn option(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        let number = |least: i64, most: i64| {
            let found = value.parse::<i64>().ok().filter(|n| (least..=most).contains(n));
            found.ok_or_else(|| {
                Refused::Mistake(format!(
                    "--{name}={value}: a whole number from {least} to {most} is expected"
                ))
            })
        };
        match name {
            "tolerance_usecs" => self.tool.tolerance = number(0, 1 << 40)?,
            "tolerance_percent" => {
                let share = value.parse().ok().filter(|p: &f64| p.is_finite() && *p >= 0.0);
                self.tool.tolerance_percent = share.ok_or_else(|| {
                    Refused::Mistake(format!("--{name}={value}: a number from 0 is expected, in per cent"))
                })?;
            }
            "tcp_ts_tick_usecs" => self.tool.timestamp_tick = number(0, 1 << 40)?,
            "mtu" => self.route.mtu = number(68, 65_535)? as u64,
            "ip_version" if ["ipv4", "ipv4-mapped-ipv6", "ipv6"].contains(&value) => {
                self.route.ipv6 = value == "ipv6";
            }
            "ip_version" => {
                let message = format!("--{name}={value}: ipv4, ipv6 or ipv4-mapped-ipv6 is expected");
                return Err(Refused::Mistake(message));
            }
            "strict_segments" => self.tool.strict_segments = true,
            "mss" => self.tool.merged_segment = Some(number(1, 65_535)? as u32),
            "define" => return Err(Refused::Mistake("symbols are defined with -D NAME".into())),
            "non_fatal" | "dry_run" => return Err(Refused::NotApplicable(format!("the option --{name}"))),
            "udp_encapsulation" => return Err(Refused::NotApplicable("encapsulated packets".into())),
            _ if TOOL_OPTIONS.contains(&name) => {}
            _ => {
                let message = format!("--{name} is no option of packetdrill that a script may have");
                return Err(Refused::Mistake(message));
            }
        }
        Ok(())
    }

    /// Runs shell commands, one a line or separated by `;`.
    pub fn command(&mut self, text: &str) -> Understood {
        let text = arithmetic::expand(&text.replace("\\\n", " "))?;
        for line in text.split(['\n', ';']) {
            let line = line.split(" #").next().unwrap_or_default().trim();
            if !line.is_empty() && !line.starts_with('#') {
                self.line(line)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Understood {
        let words = words(line);
        let Some(first) = words.first().map(String::as_str) else { return Ok(()) };
        let name = first.rsplit('/').next().unwrap_or(first);
        match name {
            "defaults.sh" => self.defaults(),
            "sysctl" | "set_sysctls.py" => {
                let pairs = words[1..].iter().filter(|w| !w.starts_with('-'));
                for (key, value) in pairs.filter_map(|w| w.split_once('=')) {
                    self.sysctl(key, value)?;
                }
            }
            "echo" => self.echo(&words)?,
            "tc" => self.qdisc(&words)?,
            // Linux segments packets itself if the device does not: sent packets do not depend on
            // offload.
            "ethtool" => {}
            "ip" => self.route(&words)?,
            "sleep" | "true" | "sockstat" | "rm" | "nstat" | "ss" | "cat" | "grep" | "test" | "sync" => {}
            _ if name.starts_with("sysctl_restore") => {}
            _ => return Err(format!("the shell command `{name}`")),
        }
        Ok(())
    }

    /// Sets the values of `defaults.sh`, which both public collections share.
    fn defaults(&mut self) {
        self.cc = Some(CcName::Cubic);
        self.buffers.receive = Some(15 << 20);
        self.buffers.receive_start = Some(540_000);
        self.buffers.send = 256 << 10;
        self.idle_restart = false;
        self.early_retrans = 4;
        self.ecn.mode = 0;
    }

    fn sysctl(&mut self, key: &str, value: &str) -> Understood {
        let key = key.trim_start_matches("/proc/sys/").replace('/', ".");
        let numbers: Vec<u64> = value.split_whitespace().filter_map(|v| v.parse().ok()).collect();
        let last = numbers.last().copied();
        let wrong = || format!("the value `{value}` of {key}");
        let number = last.ok_or_else(wrong);
        if let Some(name) = key.strip_prefix("net.inet.tcp.") {
            return self.bsd_sysctl(name, value);
        }
        if key == "kern.ipc.maxsockbuf" {
            self.buffers.max = number?;
            return Ok(());
        }
        if key.starts_with("kern.") || key.starts_with("net.inet.") {
            self.bsd = self.request.host != Some(HostKind::Linux);
            return Ok(());
        }
        let Some(name) = key.strip_prefix("net.ipv4.tcp_") else {
            return if key.starts_with("net.core.")
                || key.starts_with("net.mptcp")
                || key.starts_with("net.ip")
            {
                Ok(())
            } else {
                Err(format!("the setting {key}"))
            };
        };
        match name {
            "congestion_control" => self.cc = Some(cc(value)?),
            "rmem" => {
                self.buffers.receive = Some(number?);
                self.buffers.receive_start = numbers.get(1).copied();
            }
            "wmem" => self.buffers.send = numbers.get(1).copied().ok_or_else(wrong)?,
            "timestamps" => self.offers.timestamps = number? != 0,
            "sack" => self.offers.sack = number? != 0,
            "dsack" => self.offers.dsack = number? != 0,
            "window_scaling" => self.offers.window_scaling = number? != 0,
            "slow_start_after_idle" => self.idle_restart = number? != 0,
            "early_retrans" => self.early_retrans = number?,
            "min_tso_segs" => self.min_tso_segs = small(number?),
            "tso_win_divisor" => self.tso_win_divisor = small(number?),
            "notsent_lowat" => self.buffers.notsent_lowat = number?,
            "ecn" => self.ecn.mode = number?,
            "ecn_option" => self.ecn.option = number?,
            "ecn_fallback" => self.ecn.fallback = number? != 0,
            // Bits beyond 1 and 2, the client's and the server's, concern data on a SYN without a
            // cookie.
            "fastopen" if hexadecimal(value).is_some_and(|v| v > 3) => {
                return Err("TCP Fast Open".into());
            }
            _ => return not_modelled(name, last),
        }
        Ok(())
    }

    fn bsd_sysctl(&mut self, name: &str, value: &str) -> Understood {
        self.bsd = self.request.host != Some(HostKind::Linux);
        let number: Option<u64> = value.parse().ok();
        match (name, number) {
            ("sack.enable", Some(n)) => self.offers.sack = n != 0,
            ("rfc1323", Some(n)) => (self.offers.timestamps, self.offers.window_scaling) = (n != 0, n != 0),
            ("recvspace", Some(n)) => self.buffers.receive = Some(n),
            ("sendspace", Some(n)) => self.buffers.send = n,
            ("delacktime", Some(n)) => self.ack_delay = Some(n),
            ("cc.algorithm", _) => self.cc = Some(cc(value)?),
            ("ecn.enable", Some(n)) => self.ecn.mode = n,
            ("ecn.maxretries", Some(n)) => self.ecn.syns = small(n) + 1,
            // TCP_REXMT drops the options at the third retransmission.
            ("rexmit_drop_options", Some(n)) => self.offers.option_syns = if n == 0 { u32::MAX } else { 3 },
            ("initcwnd_segments", Some(n)) => self.route.initial_window = Some(small(n)),
            ("drop_synfin", Some(n)) => self.drop_syn_fin = n != 0,
            ("keepinit", Some(n)) => self.set_up_limit = Some(Duration::from_millis(n.min(1 << 32))),
            ("insecure_syn" | "insecure_rst" | "insecure_ack", Some(n)) if n != 0 => {
                return Err("a stack without RFC 5961 (net.inet.tcp.insecure_*)".into());
            }
            ("blackhole", Some(n)) if n != 0 => return Err("a black hole for closed ports".into()),
            _ => {}
        }
        Ok(())
    }

    /// Runs `echo VALUE > FILE`.
    fn echo(&mut self, words: &[String]) -> Understood {
        let Some(at) = words.iter().position(|w| w == ">") else { return Ok(()) };
        let (value, file) = (words[1..at].join(" "), words.get(at + 1).map_or("", String::as_str));
        if let Some(sysctl) = file.strip_prefix("/proc/sys/") {
            return self.sysctl(sysctl, &value);
        }
        let Some(parameter) = file.strip_prefix("/sys/module/tcp_cubic/parameters/") else { return Ok(()) };
        match (parameter, value.as_str()) {
            ("hystart", "0") | ("hystart_detect", "0") => self.hystart = Some(false),
            ("hystart", _) | ("hystart_detect", "3") => self.hystart = Some(true),
            _ => return Err(format!("tcp_cubic's {parameter} = {value}")),
        }
        Ok(())
    }

    fn qdisc(&mut self, words: &[String]) -> Understood {
        let has = |w: &str| words.iter().any(|x| x == w);
        if has("delete") || has("del") {
            return Ok(());
        }
        if has("limit") && words.last().is_some_and(|w| w == "0") {
            return Err("a local queue that refuses packets (tc ... limit 0)".into());
        }
        self.paced = has("fq");
        if has("netem") || has("tbf") { Err("a shaping qdisc".into()) } else { Ok(()) }
    }

    fn route(&mut self, words: &[String]) -> Understood {
        let after = |key: &str| words.iter().position(|w| w == key).and_then(|i| words.get(i + 1));
        if !words.iter().any(|w| w == "route") {
            return Ok(());
        }
        if words.iter().any(|w| w == "mtu") {
            return Err("a path MTU that changes".into());
        }
        if let Some(n) = after("initcwnd").and_then(|v| v.parse().ok()) {
            self.route.initial_window = Some(n);
        }
        if let Some(n) = after("advmss").and_then(|v| v.parse().ok()) {
            self.route.mss = Some(n);
        }
        match ["rto_min", "quickack", "features", "congctl", "initrwnd", "fastopen_no_cookie"]
            .iter()
            .find(|k| after(k).is_some())
        {
            Some(key) => Err(format!("the route attribute {key}")),
            None => Ok(()),
        }
    }

    /// The MTU less 40 octets of headers, 60 with IPv6.
    fn largest_segment(&self) -> u64 {
        self.route.mtu - if self.route.ipv6 { 60 } else { 40 }
    }

    /// The default of SO_RCVBUF; for a connected 4.4BSD socket a whole number of segments of `mss`
    /// octets.
    pub fn default_receive_buffer(&self, mss: Option<u64>) -> u64 {
        let buffer = if self.bsd { self.buffers.receive } else { self.buffers.receive_start };
        let buffer = buffer.unwrap_or(if self.bsd { BSD_RECEIVE_BUFFER } else { 131_072 });
        match mss {
            Some(mss) if self.bsd => buffer.next_multiple_of(mss.max(1)),
            _ => buffer,
        }
    }

    /// The endpoint's configuration; `mss` overrides the announced MSS (TCP_MAXSEG).
    pub fn config(&self, mss: Option<u64>) -> Result<Config, OptionError> {
        let mss = mss.or(self.route.mss).unwrap_or(self.largest_segment());
        let mut config = self.options(mss).resolve()?;
        config.window.mss = mss.clamp(1, 65_495) as u16;
        config.host.merged_segment = self.tool.merged_segment;
        config.host.loss_probes = self.early_retrans >= 3;
        config.host.ecn_fallback = self.ecn.fallback;
        if self.bsd {
            config.host = Host {
                scale_for: Some(self.buffers.max),
                ecn_syns: self.ecn.syns,
                option_syns: self.offers.option_syns,
                ..Host::BSD
            };
            // TCP_MAXRXTSHIFT and TCPTV_REXMTMAX.
            config.timers.syn_retries = Some(12);
            config.timers.max_rto = Duration::from_secs(64);
        }
        if self.profile() == Profile::Linux6 {
            config.host.offload = Some(Offload {
                segments_min: self.min_tso_segs,
                window_divisor: self.tso_win_divisor,
                ..Offload::LINUX
            });
        }
        Ok(config)
    }

    fn profile(&self) -> Profile {
        self.request.profile.unwrap_or(if self.bsd { Profile::Rfc } else { Profile::Linux6 })
    }

    /// The options of an endpoint that announces `mss`.
    fn options(&self, mss: u64) -> Options {
        let ack_delay = self.ack_delay.or(self.bsd.then_some(BSD_ACK_DELAY));
        Options {
            profile: self.profile(),
            cc: self.cc,
            negotiated: self.offers.negotiated(),
            acks: AckOptions {
                dsack: Some(self.offers.dsack),
                ack_delay: ack_delay.map(Duration::from_millis),
                ..AckOptions::default()
            },
            buffers: self.receive_buffer(),
            growth: GrowthOptions {
                idle_restart: Some(self.idle_restart),
                manual_read: Some(true),
                pacing: Some(self.paced),
                ..GrowthOptions::default()
            },
            readings: ReadingOptions {
                hystart: self.hystart.map(|on| if on { HyStartKind::Linux } else { HyStartKind::None }),
                ..ReadingOptions::default()
            },
            window: WindowOptions {
                // FreeBSD's net.inet.tcp.initcwnd_segments (RFC 6928).
                initial_window: self.route.initial_window.or(self.bsd.then_some(10)),
                mss: Some(Bytes(mss.max(64))),
                ..WindowOptions::default()
            },
            ecn: EcnOptions {
                // Some congestion controls enable ECN whatever the host's setting.
                ecn: self.cc.is_none_or(|cc| cc.needs().ecn.is_none()).then_some(self.ecn.mode(self.bsd)),
                accecn_option: Some(self.ecn.option()),
                ..EcnOptions::default()
            },
            ..Options::default()
        }
    }

    /// The receive buffer, and the start of its tuning.
    fn receive_buffer(&self) -> BufferOptions {
        let buffer = if self.bsd {
            Some(self.buffers.receive.unwrap_or(BSD_RECEIVE_BUFFER).next_multiple_of(self.largest_segment()))
        } else {
            // The window is half of the kernel's octets of memory (net.ipv4.tcp_adv_win_scale 1).
            self.buffers.receive.map(|b| b / 2)
        };
        let start = self.buffers.receive_start.filter(|_| !self.bsd).map(|b| (b / 2).max(256));
        let start = start.zip(buffer).map(|(start, most)| start.min(most.max(256)));
        BufferOptions {
            receive_buffer: buffer.map(|b| Bytes(b.clamp(256, 1 << 30))),
            receive_tuning: start.map(|_| self.profile() == Profile::Linux6),
            receive_buffer_start: start.map(Bytes),
            ..BufferOptions::default()
        }
    }
}

impl Offers {
    const fn negotiated(&self) -> NegotiatedOptions {
        NegotiatedOptions {
            timestamps: Some(self.timestamps),
            sack: Some(self.sack),
            window_scaling: Some(self.window_scaling),
        }
    }
}

impl Ecn {
    /// The mode for a value of net.ipv4.tcp_ecn, or of FreeBSD's net.inet.tcp.ecn.enable.
    const fn mode(&self, bsd: bool) -> EcnMode {
        match self.mode {
            0 => EcnMode::Off,
            1 => EcnMode::On,
            3 => EcnMode::Accurate,
            // The value 4 of FreeBSD's setting has another meaning.
            4 if !bsd => EcnMode::AccurateIn,
            4 | 5 => EcnMode::AccuratePassive,
            _ => EcnMode::Passive,
        }
    }
    /// The option for a value of net.ipv4.tcp_ecn_option.
    const fn option(&self) -> AccEcnOption {
        match self.option {
            0 => AccEcnOption::Off,
            1 => AccEcnOption::Minimum,
            _ => AccEcnOption::Full,
        }
    }
}

/// Checks settings of the kernel's TCP for which this endpoint has only one value.
fn not_modelled(name: &str, value: Option<u64>) -> Understood {
    match (name, value) {
        ("recovery", Some(n)) if n & 1 == 0 => Err("recovery without RACK (net.ipv4.tcp_recovery=0)".into()),
        ("frto", Some(0)) => Err("recovery without F-RTO (net.ipv4.tcp_frto=0)".into()),
        ("reordering", Some(n)) if n != 3 => Err("net.ipv4.tcp_reordering other than 3".into()),
        ("thin_linear_timeouts", Some(n)) if n != 0 => Err("thin streams".into()),
        ("mtu_probing", Some(n)) if n != 0 => Err("path MTU discovery by probing".into()),
        ("syncookies", Some(2)) => Err("SYN cookies".into()),
        _ => Ok(()),
    }
}

/// The send buffer after tcp_sndbuf_expand from the default of net.ipv4.tcp_wmem, for ten segments
/// of 1460 octets \[octets\].
const SEND_BUFFER: u64 = 87_040;

/// FreeBSD's net.inet.tcp.recvspace \[octets\].
const BSD_RECEIVE_BUFFER: u64 = 65_536;
/// FreeBSD's net.inet.tcp.delacktime, TCPTV_DELACK = hz/25 \[ms\].
const BSD_ACK_DELAY: u64 = 40;

fn hexadecimal(value: &str) -> Option<u64> {
    value.strip_prefix("0x").map_or_else(|| value.parse().ok(), |h| u64::from_str_radix(h, 16).ok())
}

fn small(n: u64) -> u32 {
    n.min(65_535) as u32
}

fn cc(name: &str) -> Result<CcName, String> {
    name.parse().map_err(|_| {
        format!("the congestion control `{name}`, which is not among those of `lasthop describe cc`")
    })
}

/// Splits a shell line into words; text in quotes is one word.
fn words(line: &str) -> Vec<String> {
    let mut found = vec![];
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    found.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

impl Settings {
    /// Tolerance of the time of an event that is `since` after the previous one.
    pub fn tolerance_of(&self, since: Duration) -> Duration {
        let share = since.mul_f64((self.tool.tolerance_percent / 100.0).min(10.0));
        share.max(Duration::from_micros(self.tool.tolerance as u64))
    }
}
