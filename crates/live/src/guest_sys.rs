//! Sockets in network namespaces, and the values that a kernel provides of them: calls that the
//! standard library does not have.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use lasthop_sim::KernelSample;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sockets that this thread creates from now on are in this network namespace.
pub fn enter(namespace: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open; no memory is involved.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

fn address(of: SocketAddr) -> io::Result<libc::sockaddr_in> {
    let SocketAddr::V4(of) = of else { return Err(io::ErrorKind::Unsupported.into()) };
    // SAFETY: all zeros is a valid address.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = of.port().to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(of.ip().octets());
    Ok(address)
}

/// A TCP socket at this address that never blocks.
pub fn socket(at: SocketAddr) -> io::Result<OwnedFd> {
    let at = address(at)?;
    // SAFETY: the descriptor is new, the address is ours and has the given length.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let socket = OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, kind, 0))?);
        let len = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        checked(libc::bind(socket.as_raw_fd(), (&raw const at).cast(), len))?;
        Ok(socket)
    }
}

/// Takes connections.
pub fn listen(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::listen(socket.as_raw_fd(), 1) }).map(drop)
}

/// Begins to connect.
pub fn connect(socket: &OwnedFd, to: SocketAddr) -> io::Result<()> {
    let to = address(to)?;
    let len = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the address is ours and has the given length.
    match checked(unsafe { libc::connect(socket.as_raw_fd(), (&raw const to).cast(), len) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Sets an option that is a number.
pub fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: i32) -> io::Result<()> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the value is ours and has the given length.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), len) })
        .map(drop)
}

/// Sets an option of TCP that is a text.
pub fn set_text(socket: &OwnedFd, option: libc::c_int, value: &str) -> io::Result<()> {
    let len = value.len() as libc::socklen_t;
    // SAFETY: the text is ours and has the given length.
    checked(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, value.as_ptr().cast(), len)
    })
    .map(drop)
}

/// Sets the initial congestion window of connections to `to` through `device`, by a route with
/// RTAX_INITCWND in the network namespace of this thread.
pub fn set_initial_window(to: Ipv4Addr, device: &str, segments: u32) -> io::Result<()> {
    let device = CString::new(device)?;
    // SAFETY: the text ends with 0, the descriptor is new.
    let (index, link) = unsafe {
        let index = libc::if_nametoindex(device.as_ptr());
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let link = checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?;
        (index, OwnedFd::from_raw_fd(link))
    };
    let request = route_request(to, index, segments);
    let mut answer = [0_u8; 256];
    // SAFETY: both buffers are local and have the given lengths.
    let len = unsafe {
        let (fd, len) = (link.as_raw_fd(), request.len());
        if libc::send(fd, request.as_ptr().cast(), len, 0) != len as isize {
            return Err(io::Error::last_os_error());
        }
        libc::recv(fd, answer.as_mut_ptr().cast(), answer.len(), 0)
    };
    // struct nlmsgerr behind the header: 0, or the negative number of the error.
    match answer[NLMSG_HEADER..][..4].try_into().map(i32::from_ne_bytes) {
        Ok(0) if len >= (NLMSG_HEADER + 4) as isize => Ok(()),
        Ok(error) if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// `struct nlmsghdr` of linux/netlink.h \[octets\].
const NLMSG_HEADER: usize = 16;

/// Of linux/rtnetlink.h: the initial congestion window \[segments\].
const RTAX_INITCWND: u16 = 11;

/// RTM_NEWROUTE for one address (rtnetlink(7)): `struct nlmsghdr`, `struct rtmsg`, and attributes
/// with their lengths and types.
fn route_request(to: Ipv4Addr, device: u32, segments: u32) -> Vec<u8> {
    let attribute = |kind: u16, value: &[u8]| {
        let len = (4 + value.len()) as u16;
        [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
    };
    let metrics = attribute(RTAX_INITCWND, &segments.to_ne_bytes());
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let route: [u8; 12] = [
        libc::AF_INET as u8,
        32,
        0,
        0,
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    let body = [
        &route[..],
        &attribute(libc::RTA_DST, &to.octets()),
        &attribute(libc::RTA_OIF, &device.to_ne_bytes()),
        &attribute(libc::RTA_METRICS, &metrics),
    ]
    .concat();
    let len = (NLMSG_HEADER + body.len()) as u32;
    let header =
        [&len.to_ne_bytes()[..], &libc::RTM_NEWROUTE.to_ne_bytes(), &(flags as u16).to_ne_bytes(), &[0; 8]]
            .concat();
    [header, body].concat()
}

/// Creates a list of sockets to watch.
pub fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is new.
    unsafe { Ok(OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?)) }
}

/// Watches a socket from now on, under this number: for every new event.
pub fn watch(epoll: &OwnedFd, socket: &impl AsRawFd, token: u64) -> io::Result<()> {
    let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
    let mut event = libc::epoll_event { events, u64: token };
    let (list, fd) = (epoll.as_raw_fd(), socket.as_raw_fd());
    // SAFETY: the event is ours.
    checked(unsafe { libc::epoll_ctl(list, libc::EPOLL_CTL_ADD, fd, &raw mut event) }).map(drop)
}

/// The numbers of sockets that are ready. For each, true if no further event may follow, because
/// the peer writes no more or the connection has failed.
pub fn ready(epoll: &OwnedFd, out: &mut Vec<(u64, bool)>) {
    const MOST: usize = 64;
    const LAST: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
    // SAFETY: the list is ours and has the given length.
    unsafe {
        let mut events: [libc::epoll_event; MOST] = zeroed();
        let found = libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), MOST as libc::c_int, 0);
        let found = events.iter().take(found.max(0) as usize);
        out.extend(found.map(|event| (event.u64, event.events & LAST != 0)));
    }
}

/// Octets of `struct tcp_info` up to tcpi_snd_wnd (include/uapi/linux/tcp.h of Linux 6.1).
const INFO: usize = 232;

fn info(socket: &impl AsRawFd) -> Option<[u8; INFO]> {
    let mut octets = [0; INFO];
    let mut len = INFO as libc::socklen_t;
    // SAFETY: the buffer is ours and has the given length.
    let done = checked(unsafe {
        let to = octets.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut len)
    });
    done.ok().map(|_| octets)
}

fn u32_at(octets: &[u8; INFO], at: usize) -> u32 {
    u32::from_ne_bytes(octets[at..at + 4].try_into().unwrap_or_default())
}

fn u64_at(octets: &[u8; INFO], at: usize) -> u64 {
    u64::from_ne_bytes(octets[at..at + 8].try_into().unwrap_or_default())
}

/// `tcpi_bytes_received`.
pub fn bytes_received(socket: &impl AsRawFd) -> u64 {
    info(socket).map_or(0, |octets| u64_at(&octets, 128))
}

/// `tcp_info` of a socket; octets are counted without the SYN. `opener`: it has connected, and not
/// accepted; only then does tcpi_bytes_acked count the SYN.
pub fn sample(socket: &impl AsRawFd, opener: bool) -> Option<KernelSample> {
    let o = &info(socket)?;
    Some(KernelSample {
        ca_state: o[1],
        backoff: o[2],
        rto_us: u32_at(o, 8),
        unacked: u32_at(o, 24),
        sacked: u32_at(o, 28),
        lost: u32_at(o, 32),
        retrans: u32_at(o, 36),
        rtt_us: u32_at(o, 68),
        rttvar_us: u32_at(o, 72),
        ssthresh: u32_at(o, 76),
        cwnd: u32_at(o, 80),
        total_retrans: u32_at(o, 100),
        pacing_rate: u64_at(o, 104),
        bytes_acked: u64_at(o, 120).saturating_sub(u64::from(opener)),
        notsent: u32_at(o, 144),
        min_rtt_us: u32_at(o, 148),
        bytes_sent: u64_at(o, 200).saturating_sub(u64_at(o, 208)),
        bytes_arrived: 0,
        rwnd: u32_at(o, 228),
    })
}
