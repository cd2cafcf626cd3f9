//! Calls of Linux that the standard library does not have. All `unsafe` of the crate is here.
//!
//! The code between `fork` and `exec` ([`Setup::apply`], [`Join::apply`]) allocates nothing:
//! another thread may have held the allocator's lock at the fork.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use lasthop_units::Duration;

/// The name of the device in a namespace.
pub const DEVICE: &str = "lasthop0";

/// The steps of making a namespace: where it has failed is reported by number.
pub const STEPS: [&str; 9] = [
    "make a process group",
    "make a user namespace",
    "map the user",
    "make a network namespace",
    "put names of nodes into /etc/hosts",
    "open /dev/net/tun",
    "make a TUN device",
    "set the addresses of the device",
    "hand the device over",
];

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The monotonic clock [ns].
pub fn monotonic() -> u64 {
    // SAFETY: the structure is ours.
    let t = unsafe {
        let mut t: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t);
        t
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Counters of the scheduler for this thread.
pub struct Scheduled(Option<File>);

impl Scheduled {
    /// Of the thread that calls this. Linux has it with `CONFIG_SCHED_INFO`, as distributions do.
    pub fn of_this_thread() -> Scheduled {
        Scheduled(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Time for which the thread could have run and did not [ns], and how often it began to run
    /// (Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`). `None`: not counted.
    pub fn read(&self) -> Option<[u64; 2]> {
        let mut text = [0_u8; 96];
        let len = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let mut numbers = std::str::from_utf8(&text[..len]).ok()?.split_ascii_whitespace().skip(1);
        Some([numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?])
    }
}

/// Waits until one of `fds` can be read, for `most` at most.
pub fn wait(fds: &mut [libc::pollfd], most: Duration) {
    let t = libc::timespec {
        tv_sec: (most.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (most.0 % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the list is ours and has the given length; a signal ends the wait early, which is
    // harmless.
    unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, &raw const t, std::ptr::null()) };
}

/// The entry of a descriptor that [`wait`] watches.
pub fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Sets the maximum lateness of this thread's timers, beyond the system's own lateness.
pub fn set_timer_slack(slack: Duration) {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack.0 as libc::c_ulong, 0, 0, 0) };
}

/// The timer slack of this thread.
pub fn timer_slack() -> Duration {
    // SAFETY: no memory is involved.
    Duration(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }.max(0) as u64)
}

/// How the system schedules this thread: policy and priority.
#[derive(Clone, Copy)]
pub struct Schedule(libc::c_int, libc::sched_param);

impl Schedule {
    /// Returns the current values.
    ///
    /// # Errors
    /// The system call fails.
    pub fn now() -> io::Result<Schedule> {
        // SAFETY: the structure is ours.
        unsafe {
            let mut parameters: libc::sched_param = zeroed();
            checked(libc::sched_getparam(0, &raw mut parameters))?;
            Ok(Schedule(checked(libc::sched_getscheduler(0))?, parameters))
        }
    }
    /// Real-time priority, the lowest. Children of the thread do not inherit it.
    pub fn real_time() -> Schedule {
        // SAFETY: all zeros are valid parameters.
        let mut parameters: libc::sched_param = unsafe { zeroed() };
        parameters.sched_priority = 1;
        Schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, parameters)
    }
    /// From now on.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn set(self) -> io::Result<()> {
        // SAFETY: the structure is ours.
        checked(unsafe { libc::sched_setscheduler(0, self.0, &raw const self.1) }).map(drop)
    }
}

/// The settings of a terminal.
pub struct Terminal(libc::termios);

impl Terminal {
    /// Those of standard input, if that is one.
    pub fn of_input() -> Option<Terminal> {
        // SAFETY: the structure is ours.
        unsafe {
            let mut settings: libc::termios = zeroed();
            (libc::tcgetattr(0, &raw mut settings) == 0).then_some(Terminal(settings))
        }
    }
    /// Restores the values, and makes the terminal this process's own again: a shell that was
    /// killed leaves it set for the shell.
    pub fn restore(&self) {
        // SAFETY: the structure is ours. A process in the background would be stopped by SIGTTOU
        // for either call; what the signal did before is set again.
        unsafe {
            let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(0, libc::getpgrp());
            libc::tcsetattr(0, libc::TCSADRAIN, &raw const self.0);
            libc::signal(libc::SIGTTOU, before);
        }
    }
}

/// The IPv4 addresses of a device, and whether it is up; `None`: there is no such device.
pub fn addresses(device: &str) -> Option<(Vec<Ipv4Addr>, bool)> {
    let (mut found, mut up, mut known) = (Vec::new(), false, false);
    let mut list = std::ptr::null_mut();
    // SAFETY: getifaddrs(3) creates the list, whose texts end with 0 and whose addresses have the
    // length of their families, and freeifaddrs(3) frees it.
    unsafe {
        checked(libc::getifaddrs(&raw mut list)).ok()?;
        let mut next = list;
        while let Some(entry) = next.as_ref() {
            if CStr::from_ptr(entry.ifa_name).to_bytes() == device.as_bytes() {
                known = true;
                up |= entry.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
                let address = entry.ifa_addr;
                if !address.is_null() && libc::c_int::from((*address).sa_family) == libc::AF_INET {
                    let inet = std::ptr::read_unaligned(address.cast::<libc::sockaddr_in>());
                    found.push(Ipv4Addr::from(inet.sin_addr.s_addr.to_ne_bytes()));
                }
            }
            next = entry.ifa_next;
        }
        libc::freeifaddrs(list);
    }
    known.then_some((found, up))
}

/// The effective user.
pub fn user() -> (u32, u32) {
    // SAFETY: no memory is involved.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Processor time of this thread so far.
pub fn thread_time() -> Duration {
    // SAFETY: the structure is ours.
    let t = unsafe {
        let mut t: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t);
        t
    };
    Duration(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Sends a signal to a process group, or to a process.
pub fn signal(process: u32, group: bool, number: libc::c_int) {
    let id = process as libc::pid_t;
    // SAFETY: no memory is involved.
    unsafe { libc::kill(if group { -id } else { id }, number) };
}

/// Takes over the TUN device of this name, which is this user's.
///
/// # Errors
/// There is no /dev/net/tun, or the device cannot be taken.
pub fn open_tun(name: &str) -> io::Result<File> {
    let name = CString::new(name)?;
    if name.as_bytes().is_empty() || name.as_bytes().len() >= libc::IFNAMSIZ {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device has 1 to 15 characters"));
    }
    tun(&name, c"/dev/net/tun").map(File::from).map_err(|(_, e)| e)
}

/// The same, with the number of the step that failed.
fn tun(name: &CStr, path: &CStr) -> Result<OwnedFd, (u8, io::Error)> {
    // SAFETY: the texts end with 0, the structure is ours, and the descriptor is new.
    unsafe {
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let fd = checked(libc::open(path.as_ptr(), flags)).map_err(|e| (5, e))?;
        let fd = OwnedFd::from_raw_fd(fd);
        let mut request = request(name);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        checked(libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request)).map_err(|e| (6, e))?;
        Ok(fd)
    }
}

/// A request about the device `name`, which is short enough.
fn request(name: &CStr) -> libc::ifreq {
    // SAFETY: all zeros is a valid request.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.to_bytes()).take(libc::IFNAMSIZ - 1) {
        *to = *from as libc::c_char;
    }
    request
}

/// Packets that a TUN device of a guest holds: a whole window leaves at one instant of its clock.
const QUEUE: libc::c_int = 32_000;

/// This thread enters a new network namespace with a TUN device of these addresses; the namespace
/// and the device.
///
/// # Errors
/// The system does not allow it.
pub fn new_network(addresses: (Ipv4Addr, Ipv6Addr), mtu: u32) -> io::Result<(OwnedFd, File)> {
    let (ours, _theirs) = UnixStream::pair()?;
    let setup = Setup::new(&ours, addresses, mtu, None);
    // SAFETY: no memory is involved but a text that ends with 0 and a request of ours.
    unsafe {
        checked(libc::unshare(libc::CLONE_NEWNET))?;
        let tun = tun(&setup.tun, c"/dev/net/tun").map_err(|(_, error)| error)?;
        let inet = OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0))?);
        let mut queue = request(&setup.tun);
        queue.ifr_ifru.ifru_metric = QUEUE;
        checked(libc::ioctl(inet.as_raw_fd(), libc::SIOCSIFTXQLEN as _, &raw mut queue))?;
        setup.configure()?;
        let path = c"/proc/thread-self/ns/net";
        let namespace = checked(libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(namespace), File::from(tun)))
    }
}

/// True if this user may make user namespaces.
pub fn allows_user_namespaces() -> bool {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(":");
    // SAFETY: the child of a fork has one thread; the call involves no memory.
    unsafe { command.pre_exec(|| checked(libc::unshare(libc::CLONE_NEWUSER)).map(drop)) };
    command.status().is_ok_and(|status| status.success())
}

/// The contents of a new namespace, prepared before the fork.
pub struct Setup {
    socket: RawFd,
    v4: Ipv4Addr,
    v6: Ipv6Addr,
    mtu: u32,
    user_map: Vec<u8>,
    group_map: Vec<u8>,
    hosts: Option<CString>,
    tun: CString,
    is_root: bool,
}

impl Setup {
    /// A network namespace, in a user namespace where the system allows one, with a TUN device of
    /// these addresses, and the file `hosts` instead of /etc/hosts. The descriptor of the device is
    /// returned over the other end of `socket`.
    pub fn new(
        socket: &UnixStream,
        (v4, v6): (Ipv4Addr, Ipv6Addr),
        mtu: u32,
        hosts: Option<CString>,
    ) -> Setup {
        let (uid, gid) = user();
        Setup {
            socket: socket.as_raw_fd(),
            v4,
            v6,
            mtu,
            user_map: format!("0 {uid} 1").into_bytes(),
            group_map: format!("0 {gid} 1").into_bytes(),
            hosts,
            tun: CString::new(DEVICE).unwrap_or_default(),
            is_root: uid == 0,
        }
    }

    /// Lets `command` start in such a namespace.
    pub fn apply(self, command: &mut Command) {
        // SAFETY: `run` allocates nothing and calls only functions that are safe after a fork.
        unsafe { command.pre_exec(move || self.run()) };
    }

    fn run(&self) -> io::Result<()> {
        self.steps().map_err(|(step, error)| {
            let note = [step];
            // SAFETY: one octet of ours is written to a socket that is open.
            unsafe { libc::write(self.socket, note.as_ptr().cast(), 1) };
            error
        })
    }

    fn steps(&self) -> Result<(), (u8, io::Error)> {
        let at = |step: u8| move |error: io::Error| (step, error);
        // Ctrl-C at a terminal is not for the process that keeps the namespace.
        // SAFETY: no memory is involved.
        checked(unsafe { libc::setpgid(0, 0) }).map_err(at(0))?;
        // SAFETY: the process has one thread: it is the child of a fork.
        let own = checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) });
        match own {
            Ok(_) => self.map_user().map_err(at(2))?,
            // Some containers refuse it and have root.
            Err(_) if self.is_root => {}
            Err(error) => return Err((1, error)),
        }
        // SAFETY: as above.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) }).map_err(at(3))?;
        if let Some(hosts) = &self.hosts {
            mount_hosts(hosts).map_err(at(4))?;
        }
        let tun = tun(&self.tun, c"/dev/net/tun")?;
        self.configure().map_err(at(7))?;
        send_descriptor(self.socket, tun.as_raw_fd()).map_err(at(8))
    }

    /// user_namespaces(7): without privileges a process maps only its own user, and groups after it
    /// has given up setgroups.
    fn map_user(&self) -> io::Result<()> {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", &self.user_map)?;
        write_file(c"/proc/self/gid_map", &self.group_map)
    }

    /// Addresses and MTU; the device and the loopback device go up.
    fn configure(&self) -> io::Result<()> {
        let datagrams = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: all structures are ours, and the calls get the arguments of netdevice(7).
        unsafe {
            let inet = OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, datagrams, 0))?);
            let control = |call: libc::c_ulong, request: &mut libc::ifreq| {
                checked(libc::ioctl(inet.as_raw_fd(), call as _, &raw mut *request)).map(drop)
            };
            let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            let mut lo = request(c"lo");
            lo.ifr_ifru.ifru_flags = up;
            control(libc::SIOCSIFFLAGS, &mut lo)?;
            let device = || request(&self.tun);
            let mut mtu = device();
            mtu.ifr_ifru.ifru_mtu = self.mtu as libc::c_int;
            control(libc::SIOCSIFMTU, &mut mtu)?;
            let mut address = device();
            address.ifr_ifru.ifru_addr = socket_address(self.v4);
            control(libc::SIOCSIFADDR, &mut address)?;
            let mut mask = device();
            mask.ifr_ifru.ifru_netmask = socket_address(NETMASK);
            control(libc::SIOCSIFNETMASK, &mut mask)?;
            let mut flags = device();
            flags.ifr_ifru.ifru_flags = up;
            control(libc::SIOCSIFFLAGS, &mut flags)?;
            // A system without IPv6 has IPv4 all the same.
            if let Ok(inet6) = checked(libc::socket(libc::AF_INET6, datagrams, 0)) {
                let inet6 = OwnedFd::from_raw_fd(inet6);
                let mut index = device();
                control(libc::SIOCGIFINDEX, &mut index)?;
                let mut add = In6Request {
                    address: libc::in6_addr { s6_addr: self.v6.octets() },
                    prefix: PREFIX,
                    index: index.ifr_ifru.ifru_ifindex,
                };
                libc::ioctl(inet6.as_raw_fd(), libc::SIOCSIFADDR as _, &raw mut add);
            }
        }
        Ok(())
    }
}

/// All nodes are in 10.0.0.0/8, and in one prefix of IPv6.
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 0, 0, 0);
const PREFIX: u32 = 64;

/// `struct in6_ifreq` of linux/ipv6.h.
#[repr(C)]
struct In6Request {
    address: libc::in6_addr,
    prefix: u32,
    index: libc::c_int,
}

fn socket_address(ip: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: both are plain data, and the first fits in the second (netdevice(7)).
    unsafe {
        let mut address: libc::sockaddr_in = zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_addr.s_addr = u32::from_ne_bytes(ip.octets());
        let mut out: libc::sockaddr = zeroed();
        std::ptr::copy_nonoverlapping(
            (&raw const address).cast::<u8>(),
            (&raw mut out).cast::<u8>(),
            size_of::<libc::sockaddr>(),
        );
        out
    }
}

/// The process is killed when the thread that started it ends. `parent`: the process of that.
fn die_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    unsafe {
        checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0))?;
        // It may have ended before.
        if libc::getppid() == parent as libc::pid_t {
            return Ok(());
        }
    }
    Err(io::Error::from_raw_os_error(libc::ESRCH))
}

fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    // SAFETY: the text ends with 0, the descriptor is new, and the content has the given length.
    unsafe {
        let fd = OwnedFd::from_raw_fd(checked(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?);
        let written = libc::write(fd.as_raw_fd(), content.as_ptr().cast(), content.len());
        if written == content.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Mounts stay in this namespace, and `file` replaces /etc/hosts.
fn mount_hosts(file: &CStr) -> io::Result<()> {
    let none = std::ptr::null();
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the texts end with 0, and mount(2) takes null where it needs nothing.
    unsafe {
        checked(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
        checked(libc::mount(file.as_ptr(), c"/etc/hosts".as_ptr(), none, libc::MS_BIND, none.cast()))?;
    }
    Ok(())
}

/// Room for a control message with one descriptor, aligned as one.
#[repr(align(8))]
struct Control([u8; 64]);

/// A message with this part of data and this room for control messages. It refers to both, which
/// must exist while it is in use.
fn one_octet(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zeros is a valid message.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    message
}

/// Sends a descriptor with one octet, [`DONE`].
fn send_descriptor(socket: RawFd, fd: RawFd) -> io::Result<()> {
    let mut octet = [DONE];
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: octet.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: all buffers are ours and valid during the call; the room is larger than
    // CMSG_SPACE(4).
    unsafe {
        let mut message = one_octet(&mut part, &mut control);
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast::<RawFd>(), fd);
        if libc::sendmsg(socket, &raw const message, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Comes with a descriptor; the number of a step comes without one.
const DONE: u8 = 0xff;

/// Takes the descriptor that [`Setup`] sends, or the number of the step that failed. `None`: it was
/// not even begun.
pub fn receive_descriptor(socket: &UnixStream) -> Option<Result<OwnedFd, u8>> {
    let mut octet = [0_u8];
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: octet.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: as in `send_descriptor`; a descriptor that comes is new and ours.
    unsafe {
        let mut message = one_octet(&mut part, &mut control);
        while libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) <= 0 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Some(Err(octet[0]));
        }
        let fd = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast::<RawFd>());
        Some(Ok(OwnedFd::from_raw_fd(fd)))
    }
}

/// Where a program runs, prepared before the fork.
pub struct Join {
    /// User, network and mount namespace.
    pub namespaces: [RawFd; 3],
    /// Its folder: the mount namespace would set it to the root.
    pub folder: CString,
    /// It leads a group of processes of its own, else it shares the caller's and its terminal.
    pub group: bool,
    /// It writes its standard output to standard error.
    pub to_stderr: bool,
    /// The timer slack that it gets, since a process has that of the thread which starts it.
    pub slack: Duration,
    /// The process that starts it.
    pub parent: u32,
}

impl Join {
    /// `command` begins there.
    pub fn apply(self, command: &mut Command) {
        // SAFETY: `run` allocates nothing and calls only functions that are safe after a fork.
        unsafe { command.pre_exec(move || self.run()) };
    }

    fn run(&self) -> io::Result<()> {
        die_with_parent(self.parent)?;
        set_timer_slack(self.slack);
        // SAFETY: the descriptors are open, the text ends with 0, no other memory is involved.
        unsafe {
            if self.group {
                checked(libc::setpgid(0, 0))?;
            }
            if self.to_stderr {
                checked(libc::dup2(2, 1))?;
            }
            let kinds = [libc::CLONE_NEWUSER, libc::CLONE_NEWNET, libc::CLONE_NEWNS];
            for (fd, kind) in self.namespaces.into_iter().zip(kinds) {
                // A process may not enter the user namespace again that it is in (none could be
                // made).
                let entered = checked(libc::setns(fd, kind));
                if kind != libc::CLONE_NEWUSER {
                    entered?;
                }
            }
            libc::chdir(self.folder.as_ptr());
        }
        Ok(())
    }
}
