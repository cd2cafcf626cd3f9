//! System calls.

use lasthop_tcp::{State, WriteHint};
use lasthop_units::{Duration, Instant};

use super::options::SocketOptions;
use super::world::{Kind, Socket, World};
use crate::script::{Call, Expr};

/// The outcome of a call.
pub(super) enum Step {
    /// It blocks.
    Blocks,
    Done(Returned),
    /// The call is invalid, or another result than the returned value differs from the script.
    Wrong(String),
    NotApplicable(String),
}

/// The result of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Returned {
    pub value: i64,
    pub error: Option<&'static str>,
}

const fn ok(value: i64) -> Step {
    Step::Done(Returned { value, error: None })
}
const fn error(name: &'static str) -> Step {
    Step::Done(Returned { value: -1, error: Some(name) })
}

/// Compares the result of a call with the script.
pub(super) fn compare(call: &Call, returned: &Returned) -> Result<(), String> {
    let spelled = |v: Option<i64>, e: Option<&str>| {
        format!("{}{}", v.map_or("?".into(), |v| v.to_string()), e.map_or(String::new(), |e| format!(" {e}")))
    };
    let one = |e: &str| if e == "EWOULDBLOCK" { "EAGAIN".to_owned() } else { e.to_owned() };
    let same_error = call.error.as_deref().is_none_or(|e| returned.error.is_none_or(|r| r == one(e)));
    if call.result.is_none_or(|r| r == returned.value) && same_error {
        return Ok(());
    }
    let expected = spelled(call.result, call.error.as_deref());
    let actual = spelled(Some(returned.value), returned.error);
    Err(format!("{}(): expected to return {expected}, actual {actual}", call.name))
}

impl World {
    /// Runs a call, or continues one that waits; `progress` is the state of this call.
    pub fn call(&mut self, call: &Call, progress: &mut u64) -> Step {
        let step = self.dispatch(call, progress);
        self.transmit();
        step
    }

    fn dispatch(&mut self, call: &Call, progress: &mut u64) -> Step {
        let a = &call.args;
        match call.name.as_str() {
            "socket" => return self.socket(call),
            "poll" => return self.poll(a, progress),
            "close" | "bind" | "listen" | "accept" | "accept4" | "connect" | "read" | "recv" | "recvfrom"
            | "recvmsg" | "readv" | "write" | "writev" | "send" | "sendto" | "sendmsg" | "shutdown"
            | "setsockopt" | "getsockopt" | "fcntl" | "ioctl" => {}
            name => return Step::NotApplicable(format!("the system call {name}()")),
        }
        let Some(fd) = a.first().and_then(int) else {
            return Step::Wrong(format!("{}(): a descriptor is expected first", call.name));
        };
        if !self.sockets.contains_key(&fd) {
            return error("EBADF");
        }
        match call.name.as_str() {
            "bind" => ok(0),
            "listen" => {
                if let Some(s) = self.sockets.get_mut(&fd).filter(|s| s.kind == Kind::Fresh) {
                    s.kind = Kind::Listening;
                }
                ok(0)
            }
            "accept" | "accept4" => self.accept(call, fd),
            "connect" => self.connect(fd, progress),
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" => self.read(call, fd),
            "write" | "writev" | "send" | "sendto" | "sendmsg" => self.write(call, fd, progress),
            "close" => self.close(fd),
            "shutdown" => self.shutdown(fd, a.get(1)),
            "setsockopt" => self.setsockopt(a, fd),
            "getsockopt" => self.getsockopt(a, fd),
            "fcntl" => self.fcntl(a, fd),
            _ => self.ioctl(a, fd),
        }
    }

    fn socket(&mut self, call: &Call) -> Step {
        let named =
            |i: usize, wanted: &[&str]| call.args.get(i).is_some_and(|e| wanted.iter().any(|w| has(e, w)));
        if !named(1, &["SOCK_STREAM"]) {
            return Step::NotApplicable("sockets other than SOCK_STREAM".into());
        }
        if !matches!(call.args.get(2), Some(Expr::Int(0))) && !named(2, &["IPPROTO_TCP"]) {
            return Step::NotApplicable("protocols other than TCP".into());
        }
        // The script chooses descriptors: a real host takes the next free number.
        let fd = call.result.unwrap_or(3);
        let options = SocketOptions { nonblocking: named(1, &["SOCK_NONBLOCK"]), ..SocketOptions::default() };
        self.sockets.insert(fd, Socket { kind: Kind::Fresh, options });
        ok(fd)
    }

    fn accept(&mut self, call: &Call, listener: i64) -> Step {
        let waiting =
            |c: &super::connection::Connection| c.listener == Some(listener) && c.established && !c.accepted;
        let Some(i) = self.connections.iter().position(waiting) else {
            let nonblocking = self.sockets.get(&listener).is_some_and(|s| s.options.nonblocking);
            return if nonblocking { error("EAGAIN") } else { Step::Blocks };
        };
        self.connections[i].accepted = true;
        let fd = call.result.filter(|&r| r >= 0).unwrap_or(4);
        let mut options = self.sockets.get(&listener).map(|s| s.options.clone()).unwrap_or_default();
        options.nonblocking = call.args.get(3).is_some_and(|e| has(e, "SOCK_NONBLOCK"));
        self.sockets.insert(fd, Socket { kind: Kind::Connected(i), options });
        ok(fd)
    }

    fn connect(&mut self, fd: i64, progress: &mut u64) -> Step {
        let Some(socket) = self.sockets.get(&fd) else { return error("EBADF") };
        let (kind, options) = (socket.kind, socket.options.clone());
        match kind {
            Kind::Listening => error("EISCONN"),
            Kind::Fresh => {
                let i = match self.add_with(None, &options) {
                    Ok(i) => i,
                    Err(e) => return Step::Wrong(e),
                };
                let now = self.now;
                self.connections[i].endpoint.connect(now);
                if let Some(s) = self.sockets.get_mut(&fd) {
                    s.kind = Kind::Connected(i);
                }
                *progress = 1;
                if options.nonblocking { error("EINPROGRESS") } else { Step::Blocks }
            }
            Kind::Connected(i) => {
                let c = &mut self.connections[i];
                if let Some(e) = c.error.take() {
                    return error(e);
                }
                match (c.established, *progress) {
                    (true, 0) => error("EISCONN"),
                    (true, _) => ok(0),
                    (false, 0) => error("EALREADY"),
                    (false, _) => Step::Blocks,
                }
            }
        }
    }

    fn read(&mut self, call: &Call, fd: i64) -> Step {
        let Some((i, options)) = self.connected(fd) else { return error("ENOTCONN") };
        let Some(wanted) = length(call) else {
            return Step::Wrong(format!("{}(): a length is expected", call.name));
        };
        let flags = if matches!(call.name.as_str(), "recv" | "recvfrom") {
            call.args.get(3)
        } else {
            call.args.get(2)
        };
        let flag = |name: &str| call.name != "read" && flags.is_some_and(|e| has(e, name));
        if flag("MSG_ERRQUEUE") {
            return Step::NotApplicable("the error queue (timestamping, zero copy)".into());
        }
        let now = self.now;
        let c = &mut self.connections[i];
        let readable = c.endpoint.readable();
        let enough = if flag("MSG_WAITALL") { wanted } else { 1 };
        if readable >= enough || (readable > 0 && (c.peer_closed || c.state() == State::Closed)) {
            let n = readable.min(wanted);
            if !flag("MSG_PEEK") {
                c.endpoint.read(now, n);
            }
            return ok(n as i64);
        }
        if let Some(e) = c.error.take() {
            return error(e);
        }
        if wanted == 0 || c.peer_closed || c.read_shut || c.state() == State::Closed {
            return ok(0);
        }
        if options.nonblocking || flag("MSG_DONTWAIT") { error("EAGAIN") } else { Step::Blocks }
    }

    fn write(&mut self, call: &Call, fd: i64, progress: &mut u64) -> Step {
        let flags = match call.name.as_str() {
            "send" | "sendto" => call.args.get(3),
            "sendmsg" => call.args.get(2),
            _ => None,
        };
        let flag = |name: &str| flags.is_some_and(|e| has(e, name));
        for (name, what) in
            [("MSG_ZEROCOPY", "zero copy"), ("MSG_FASTOPEN", "TCP Fast Open"), ("MSG_OOB", "urgent data")]
        {
            if flag(name) {
                return Step::NotApplicable(what.into());
            }
        }
        let Some((i, options)) = self.connected(fd) else { return error("EPIPE") };
        let Some(wanted) = length(call) else {
            return Step::Wrong(format!("{}(): a length is expected", call.name));
        };
        let now = self.now;
        let c = &mut self.connections[i];
        if let Some(e) = c.error.take() {
            return error(e);
        }
        if c.write_shut || c.state() == State::Closed {
            return error("EPIPE");
        }
        // A writer that waits for memory continues when a third of it is free.
        let woken = *progress == 0 || self.is_writeable(i);
        let c = &mut self.connections[i];
        if c.established && woken {
            *progress += self.push(i, now, wanted - *progress, &options, flag("MSG_MORE"), flag("MSG_EOR"));
        }
        if *progress >= wanted {
            return ok(*progress as i64);
        }
        match (options.nonblocking || flag("MSG_DONTWAIT"), *progress) {
            (false, _) => Step::Blocks,
            (true, 0) => error("EAGAIN"),
            (true, n) => ok(n as i64),
        }
    }

    /// Writes octets to the endpoint as far as the send buffer has room.
    fn push(
        &mut self,
        i: usize,
        now: Instant,
        n: u64,
        options: &SocketOptions,
        more: bool,
        record: bool,
    ) -> u64 {
        let _ = options;
        self.connections[i].endpoint.write_with(now, n, WriteHint { more, record_end: record })
    }

    fn close(&mut self, fd: i64) -> Step {
        let Some(socket) = self.sockets.remove(&fd) else { return error("EBADF") };
        if let Kind::Connected(i) = socket.kind {
            let now = self.now;
            let c = &mut self.connections[i];
            // RFC 9293 section 3.6.1 and RFC 2525 section 2.17: data that was not read is lost, and
            // a reset reports it.
            if c.endpoint.readable() > 0 || socket.options.linger_zero {
                c.endpoint.abort(now);
            } else {
                c.endpoint.close(now);
            }
            c.endpoint.stop_reading();
            (c.read_shut, c.write_shut) = (true, true);
        }
        ok(0)
    }

    fn shutdown(&mut self, fd: i64, how: Option<&Expr>) -> Step {
        let Some((i, _)) = self.connected(fd) else { return error("ENOTCONN") };
        let how = how.map_or(Expr::Any, Clone::clone);
        let (read, write) = match &how {
            Expr::Name(n) => (n != "SHUT_WR", n != "SHUT_RD"),
            Expr::Int(n) => (*n != 1, *n != 0),
            _ => return error("EINVAL"),
        };
        let now = self.now;
        let c = &mut self.connections[i];
        c.read_shut |= read;
        if read {
            c.endpoint.stop_reading();
        }
        if write && !c.write_shut {
            c.write_shut = true;
            c.endpoint.close(now);
        }
        ok(0)
    }

    fn setsockopt(&mut self, a: &[Expr], fd: i64) -> Step {
        let Some(Expr::Name(name)) = a.get(2) else {
            return Step::NotApplicable("socket options by number".into());
        };
        let value = a.get(3).and_then(int).unwrap_or(0);
        for (option, what) in [
            ("SO_ZEROCOPY", "zero copy"),
            ("TCP_FASTOPEN", "TCP Fast Open"),
            ("TCP_FASTOPEN_CONNECT", "TCP Fast Open"),
            ("TCP_FASTOPEN_KEY", "TCP Fast Open"),
            ("TCP_MD5SIG", "TCP MD5 signatures"),
            ("TCP_REPAIR", "TCP_REPAIR"),
            ("SO_TIMESTAMPING", "timestamping"),
            ("TCP_REMOTE_UDP_ENCAPS_PORT", "encapsulated packets"),
            ("TCP_INQ", "TCP_INQ control messages"),
            ("SO_KEEPALIVE", "keep-alive"),
            ("TCP_KEEPIDLE", "keep-alive"),
            ("TCP_DEFER_ACCEPT", "TCP_DEFER_ACCEPT"),
        ] {
            if name == option && value != 0 {
                return Step::NotApplicable(what.into());
            }
        }
        let connection = self.connected(fd).map(|c| c.0);
        let Some(socket) = self.sockets.get_mut(&fd) else { return error("EBADF") };
        let options = &mut socket.options;
        match name.as_str() {
            "TCP_NODELAY" => {
                options.nodelay = value != 0;
                // Setting TCP_NODELAY again sends data that a cork holds back.
                if let (Some(i), true) = (connection, options.nodelay) {
                    self.connections[i].endpoint.set_nagle(self.now, false);
                }
            }
            "TCP_CORK" => options.cork = value != 0,
            "TCP_MAXSEG" => {
                options.max_segment = u64::try_from(value).ok().filter(|v| (88..=32_767).contains(v))
            }
            // sock_setsockopt: doubled, with a lower bound.
            "SO_SNDBUF" | "SO_SNDBUFFORCE" => {
                options.send_buffer = Some((2 * value.clamp(0, 1 << 30)).max(4608) as u64)
            }
            "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
                options.receive_buffer = Some((2 * value.clamp(0, 1 << 30)).max(2304) as u64)
            }
            "TCP_NOOPT" => options.no_options = value != 0,
            "TCP_KEEPINIT" => options.set_up_limit = u64::try_from(value).ok().map(Duration::from_secs),
            "TCP_USER_TIMEOUT" => options.user_timeout = value.max(0) as u64,
            "TCP_NOTSENT_LOWAT" => options.notsent_lowat = value.max(0) as u64,
            "SO_LINGER" => {
                let field = |key: &str| a.get(3).and_then(|e| member(e, key)).and_then(int);
                let (on, time) = (field("onoff").or(field("l_onoff")), field("linger").or(field("l_linger")));
                let pair = (on.unwrap_or(value), time.unwrap_or(0));
                options.linger = Some(pair);
                options.linger_zero = pair.0 != 0 && pair.1 == 0;
            }
            _ => options.set_other(name, value),
        }
        let options = options.clone();
        if let Some(i) = connection {
            self.apply(i, &options);
        }
        ok(0)
    }

    /// Applies options that change an existing connection.
    fn apply(&mut self, i: usize, options: &SocketOptions) {
        let now = self.now;
        let endpoint = &mut self.connections[i].endpoint;
        if endpoint.config().acks.nagle == options.nodelay {
            endpoint.set_nagle(now, !options.nodelay);
        }
        if endpoint.is_corked() != options.cork {
            endpoint.set_cork(now, options.cork);
        }
        options.apply_limits(endpoint, &self.settings);
    }

    fn getsockopt(&mut self, a: &[Expr], fd: i64) -> Step {
        let Some(Expr::Name(name)) = a.get(2) else {
            return Step::NotApplicable("socket options by number".into());
        };
        let connection = self.connected(fd).map(|c| c.0);
        let Some(options) = self.sockets.get(&fd).map(|s| s.options.clone()) else { return error("EBADF") };
        let actual = match name.as_str() {
            "SO_ERROR" => {
                let e = connection.and_then(|i| self.connections[i].error.take());
                let wanted = a.get(3).and_then(first).map_or(String::new(), |e| match e {
                    Expr::Name(n) => n.clone(),
                    Expr::Int(0) => "0".into(),
                    other => format!("{other:?}"),
                });
                let actual = e.unwrap_or("0");
                return if wanted == actual {
                    ok(0)
                } else {
                    Step::Wrong(format!("SO_ERROR: expected {wanted}, actual {actual}"))
                };
            }
            "TCP_MAXSEG" => match connection {
                Some(i) => {
                    let e = &self.connections[i].endpoint;
                    // 4.4BSD's t_maxseg counts the timestamps' octets, Linux' mss_cache does not.
                    let options = if self.settings.bsd && e.options_in_use().timestamps { 12 } else { 0 };
                    i64::from(e.mss()) + options
                }
                None => options.max_segment.unwrap_or(536) as i64,
            },
            "TCP_NODELAY" => i64::from(options.nodelay),
            "TCP_CORK" => i64::from(options.cork),
            "SO_SNDBUF" => options.send_buffer.unwrap_or(self.settings.buffers.send) as i64,
            "SO_RCVBUF" => {
                // The segment size is known once a SYN has arrived.
                let known = |i: &usize| {
                    let c = &self.connections[*i];
                    c.established || c.state() == State::SynReceived
                };
                let mss = connection.filter(known).map(|i| u64::from(self.connections[i].endpoint.mss()));
                let default = self.settings.default_receive_buffer(mss);
                options.receive_buffer.unwrap_or(default) as i64
            }
            "TCP_USER_TIMEOUT" => options.user_timeout as i64,
            "TCP_NOTSENT_LOWAT" => options.notsent_lowat as i64,
            _ => match options.other(name) {
                Some(n) => n,
                None => return Step::NotApplicable(format!("getsockopt({name})")),
            },
        };
        match a.get(3).and_then(int) {
            Some(expected) if expected != actual => {
                Step::Wrong(format!("{name}: expected {expected}, actual {actual}"))
            }
            _ => ok(0),
        }
    }

    fn fcntl(&mut self, a: &[Expr], fd: i64) -> Step {
        let Some(socket) = self.sockets.get_mut(&fd) else { return error("EBADF") };
        match a.get(1) {
            Some(Expr::Name(n)) if n == "F_GETFL" => {
                ok(2 + if socket.options.nonblocking { 0x800 } else { 0 })
            }
            Some(Expr::Name(n)) if n == "F_SETFL" => {
                socket.options.nonblocking = a.get(2).is_some_and(|e| has(e, "O_NONBLOCK"));
                ok(0)
            }
            _ => Step::NotApplicable("fcntl() other than F_GETFL and F_SETFL".into()),
        }
    }

    fn ioctl(&mut self, a: &[Expr], fd: i64) -> Step {
        let Some((i, _)) = self.connected(fd) else { return error("EINVAL") };
        let e = &self.connections[i].endpoint;
        let info = e.info();
        let actual = match a.get(1) {
            Some(Expr::Name(n)) if n == "SIOCINQ" || n == "FIONREAD" => e.readable(),
            Some(Expr::Name(n)) if n == "SIOCOUTQ" || n == "TIOCOUTQ" => e.unacknowledged(),
            Some(Expr::Name(n)) if n == "SIOCOUTQNSD" => info.notsent_bytes,
            _ => return Step::NotApplicable("ioctl() other than SIOCINQ, SIOCOUTQ and SIOCOUTQNSD".into()),
        };
        match a.get(2).and_then(int) {
            Some(expected) if expected != actual as i64 => {
                Step::Wrong(format!("ioctl(): expected {expected}, actual {actual}"))
            }
            _ => ok(0),
        }
    }

    fn poll(&mut self, a: &[Expr], progress: &mut u64) -> Step {
        let Some(Expr::List(all)) = a.first() else {
            return Step::Wrong("poll(): a list of descriptors is expected".into());
        };
        let timeout = a.get(2).and_then(int).unwrap_or(0);
        if *progress == 0 {
            *progress = self.now.0 + 1;
        }
        let mut ready = 0;
        let mut wrong = None;
        for one in all {
            let Some(fd) = member(one, "fd").and_then(int) else { continue };
            let wanted = member(one, "events").map_or(Expr::Any, Clone::clone);
            let found: Vec<&str> = self
                .ready(fd)
                .into_iter()
                .filter(|e| matches!(*e, "POLLERR" | "POLLHUP") || has(&wanted, e))
                .collect();
            ready += i64::from(!found.is_empty());
            let expected = member(one, "revents").map(names).unwrap_or_default();
            let same = expected.len() == found.len() && found.iter().all(|f| expected.contains(f));
            if !same {
                wrong = Some(format!("revents of {fd}: expected {expected:?}, actual {found:?}"));
            }
        }
        let since = self.now.0 + 1 - *progress;
        let over = timeout >= 0 && since >= timeout.unsigned_abs().saturating_mul(1_000_000);
        if ready == 0 && !over {
            if timeout >= 0 {
                let left = Duration(timeout.unsigned_abs().saturating_mul(1_000_000) - since);
                self.wake = Some(self.now.saturating_add(left));
            }
            return Step::Blocks;
        }
        wrong.map_or_else(|| ok(ready), Step::Wrong)
    }

    /// The result of poll() for a descriptor.
    fn ready(&self, fd: i64) -> Vec<&'static str> {
        let Some(socket) = self.sockets.get(&fd) else { return vec!["POLLNVAL"] };
        let mut found = vec![];
        match socket.kind {
            Kind::Listening => {
                if self.connections.iter().any(|c| c.listener == Some(fd) && c.established && !c.accepted) {
                    found.push("POLLIN");
                }
            }
            Kind::Fresh => found.extend(["POLLOUT", "POLLHUP"]),
            Kind::Connected(i) => {
                let c = &self.connections[i];
                if c.endpoint.readable() > 0 || c.peer_closed || c.read_shut {
                    found.push("POLLIN");
                }
                if c.peer_closed || c.read_shut {
                    found.push("POLLRDHUP");
                }
                if c.established && self.has_room(i, &socket.options) {
                    found.push("POLLOUT");
                }
                if c.error.is_some() {
                    found.push("POLLERR");
                }
                if c.state() == State::Closed || (c.write_shut && (c.peer_closed || c.read_shut)) {
                    found.push("POLLHUP");
                }
            }
        }
        found
    }

    /// True if a blocked writer would continue.
    fn has_room(&self, i: usize, options: &SocketOptions) -> bool {
        let lowat = if options.notsent_lowat > 0 {
            options.notsent_lowat
        } else {
            self.settings.buffers.notsent_lowat
        };
        let e = &self.connections[i].endpoint;
        2 * e.notsent() < lowat && self.is_writeable(i)
    }

    /// sk_stream_is_writeable: a third of the send buffer is free.
    fn is_writeable(&self, i: usize) -> bool {
        let e = &self.connections[i].endpoint;
        e.config().buffers.send_buffer.is_none_or(|size| 3 * e.unacknowledged() <= 2 * size)
    }

    fn connected(&self, fd: i64) -> Option<(usize, SocketOptions)> {
        let socket = self.sockets.get(&fd)?;
        match socket.kind {
            Kind::Connected(i) => Some((i, socket.options.clone())),
            _ => None,
        }
    }
}

/// Number of octets of a call.
fn length(call: &Call) -> Option<u64> {
    let n = match call.name.as_str() {
        "sendmsg" | "recvmsg" => vector(member(call.args.get(1)?, "msg_iov")?)?,
        "writev" | "readv" => vector(call.args.get(1)?)?,
        _ => int(call.args.get(2)?)?,
    };
    u64::try_from(n).ok().filter(|n| *n < 1 << 40)
}

/// Number of octets of `[{..., 40}, {..., 60}]`.
fn vector(e: &Expr) -> Option<i64> {
    let Expr::List(all) = e else { return None };
    all.iter().try_fold(0i64, |sum, one| match one {
        Expr::Record(fields) => sum.checked_add(fields.last().and_then(|f| int(&f.1))?),
        _ => None,
    })
}

/// Reads a number, or the only one of a list.
fn int(e: &Expr) -> Option<i64> {
    match e {
        Expr::Int(n) => Some(*n),
        Expr::List(l) => l.first().and_then(int),
        _ => None,
    }
}

fn first(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::List(l) => l.first(),
        other => Some(other),
    }
}

/// True if `e` is the constant `name` or contains it.
fn has(e: &Expr, name: &str) -> bool {
    names(e).contains(&name)
}

fn names(e: &Expr) -> Vec<&str> {
    match e {
        Expr::Name(n) => vec![n],
        Expr::Or(all) => all.iter().flat_map(names).collect(),
        _ => vec![],
    }
}

/// A field of a record, which may be in a list.
fn member<'a>(e: &'a Expr, key: &str) -> Option<&'a Expr> {
    match e {
        Expr::Record(fields) => fields.iter().find(|f| f.0.as_deref() == Some(key)).map(|f| &f.1),
        Expr::List(l) => l.first().and_then(|e| member(e, key)),
        _ => None,
    }
}
