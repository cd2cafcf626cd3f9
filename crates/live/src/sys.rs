//! Calls of Linux that the standard library does not have. All `unsafe` of the crate is here.
//!
//! What runs between `fork` and `exec` ([`Setup::apply`], [`Join::apply`]) allocates nothing:
//! another thread may have held the allocator's lock at the fork.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use lasthop_units::Duration;

/// The name of the device in a namespace.
pub const DEVICE: &str = "lasthop0";

/// The steps of making a namespace: where it has failed is reported by number.
pub const STEPS: [&str; 9] = [
    "follow the end of this process",
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

/// The clock that never goes back [ns].
pub fn monotonic() -> u64 {
    // SAFETY: the structure is ours.
    let t = unsafe {
        let mut t: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t);
        t
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Waits until one of `fds` can be read, for `most` at most.
pub fn wait(fds: &mut [libc::pollfd], most: Duration) {
    let t = libc::timespec {
        tv_sec: (most.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (most.0 % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the list is ours and as long as it says; a signal ends the wait early, which is well.
    unsafe { libc::ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, &raw const t, std::ptr::null()) };
}

/// What [`wait`] looks at.
pub fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Timers of this thread come as late as this at most, beyond the system's own lateness.
pub fn set_timer_slack(slack: Duration) {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack.0 as libc::c_ulong, 0, 0, 0) };
}

/// The timer slack of this thread.
pub fn timer_slack() -> Duration {
    // SAFETY: no memory is involved.
    Duration(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }.max(0) as u64)
}

/// This thread gets real-time priority, or the usual one again. Its children do not inherit it.
///
/// # Errors
/// The system does not allow it.
pub fn set_real_time(on: bool) -> io::Result<()> {
    let policy = if on { libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK } else { libc::SCHED_OTHER };
    // SAFETY: the structure is ours.
    unsafe {
        let mut parameters: libc::sched_param = zeroed();
        parameters.sched_priority = libc::c_int::from(on);
        checked(libc::sched_setscheduler(0, policy, &raw const parameters)).map(drop)
    }
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

/// Takes over a TUN device of this name: one that exists and is this user's, or a new one where the
/// user may make it.
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

/// What a new namespace is to have, prepared before the fork.
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
    /// these addresses, and the file `hosts` in the place of /etc/hosts. The device comes back over
    /// the other end of `socket`.
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

    /// `command` begins in such a namespace.
    pub fn apply(self, command: &mut Command) {
        // SAFETY: `run` allocates nothing and calls only what is safe after a fork.
        unsafe { command.pre_exec(move || self.run()) };
    }

    fn run(&self) -> io::Result<()> {
        self.steps().map_err(|(step, error)| {
            let note = [step];
            // SAFETY: one octet of ours goes to a socket that is open.
            unsafe { libc::write(self.socket, note.as_ptr().cast(), 1) };
            error
        })
    }

    fn steps(&self) -> Result<(), (u8, io::Error)> {
        let at = |step: u8| move |error: io::Error| (step, error);
        die_with_parent().map_err(at(0))?;
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
        // SAFETY: all structures are ours, and the calls get what netdevice(7) says.
        unsafe {
            let inet = OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0))?);
            let ask = |call: libc::c_ulong, request: &mut libc::ifreq| {
                checked(libc::ioctl(inet.as_raw_fd(), call as _, &raw mut *request)).map(drop)
            };
            let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            let mut lo = request(c"lo");
            lo.ifr_ifru.ifru_flags = up;
            ask(libc::SIOCSIFFLAGS, &mut lo)?;
            let device = || request(&self.tun);
            let mut mtu = device();
            mtu.ifr_ifru.ifru_mtu = self.mtu as libc::c_int;
            ask(libc::SIOCSIFMTU, &mut mtu)?;
            let mut address = device();
            address.ifr_ifru.ifru_addr = socket_address(self.v4);
            ask(libc::SIOCSIFADDR, &mut address)?;
            let mut mask = device();
            mask.ifr_ifru.ifru_netmask = socket_address(NETMASK);
            ask(libc::SIOCSIFNETMASK, &mut mask)?;
            let mut flags = device();
            flags.ifr_ifru.ifru_flags = up;
            ask(libc::SIOCSIFFLAGS, &mut flags)?;
            // A system without IPv6 has IPv4 all the same.
            if let Ok(inet6) = checked(libc::socket(libc::AF_INET6, libc::SOCK_DGRAM, 0)) {
                let inet6 = OwnedFd::from_raw_fd(inet6);
                let mut index = device();
                ask(libc::SIOCGIFINDEX, &mut index)?;
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

/// The process is killed when the thread that started it ends.
fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0) }).map(drop)
}

fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    // SAFETY: the text ends with 0, the descriptor is new, and the content is as long as it says.
    unsafe {
        let fd = OwnedFd::from_raw_fd(checked(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?);
        let written = libc::write(fd.as_raw_fd(), content.as_ptr().cast(), content.len());
        if written == content.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Mounts stay in this namespace, and `file` stands where /etc/hosts does.
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

/// Sends a descriptor with one octet, [`DONE`].
fn send_descriptor(socket: RawFd, fd: RawFd) -> io::Result<()> {
    let mut octet = [DONE];
    let mut control = Control([0; 64]);
    // SAFETY: all buffers are ours and live through the call; the room is larger than
    // CMSG_SPACE(4).
    unsafe {
        let mut part = libc::iovec { iov_base: octet.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
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
    // SAFETY: as in `send_descriptor`; a descriptor that comes is new and ours.
    unsafe {
        let mut part = libc::iovec { iov_base: octet.as_mut_ptr().cast(), iov_len: 1 };
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) <= 0 {
            return None;
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
    /// Its standard output goes to standard error.
    pub to_stderr: bool,
}

impl Join {
    /// `command` begins there.
    pub fn apply(self, command: &mut Command) {
        // SAFETY: `run` allocates nothing and calls only what is safe after a fork.
        unsafe { command.pre_exec(move || self.run()) };
    }

    fn run(&self) -> io::Result<()> {
        die_with_parent()?;
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
