//! Recordings of a real kernel's `tcp_info`, and samples of ours taken in the same way.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use lasthop_tcp::{BufferOptions, CaState, CcName, Endpoint, Options, Profile, WindowOptions};
use lasthop_units::Bytes;

/// One sample of `tcp_info`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Since the connection was established \[s\].
    pub time: f64,
    /// Congestion window \[segments\].
    pub cwnd: f64,
    pub ssthresh: f64,
    /// In recovery from a loss, or after a timeout.
    pub lossy: bool,
    pub retransmissions: f64,
    /// Octets acknowledged.
    pub acked: f64,
}

impl Sample {
    pub fn of(end: &Endpoint, time: f64) -> Sample {
        let i = end.info();
        Sample {
            time,
            cwnd: i.snd_cwnd.floor(),
            ssthresh: i.snd_ssthresh,
            lossy: matches!(i.ca_state, CaState::Recovery | CaState::Loss),
            retransmissions: i.total_retrans as f64,
            acked: i.bytes_acked as f64,
        }
    }
}

/// The set-up of the recorded kernel: MTU 1500, tcp_wmem 4096 262144 8388608 (octets of memory),
/// tcp_rmem 4096 1048576 8388608, of which the window is half (tcp_adv_win_scale 1). The default of
/// tcp_rmem matters beyond the window's size: while the offered window grows towards it, each
/// segment is acknowledged at once (tcp_grow_window), which keeps HyStart's train of ACKs together.
pub fn as_recorded(cc: CcName) -> Options {
    Options {
        profile: Profile::Linux6,
        cc: Some(cc),
        window: WindowOptions { mss: Some(Bytes(1460)), ..WindowOptions::default() },
        buffers: BufferOptions {
            send_buffer_start: Some(Bytes(262_144)),
            send_buffer_max: Some(Bytes(8_388_608)),
            receive_tuning: Some(true),
            receive_buffer_start: Some(Bytes(1_048_576 / 2)),
            receive_buffer: Some(Bytes(8_388_608 / 2)),
            ..BufferOptions::default()
        },
        ..Options::default()
    }
}

/// The samples of the recording `file`; panics when it cannot be read. Columns: time, cwnd,
/// ssthresh (-1: infinite), smoothed round trip, segments in flight, retransmissions, state of
/// congestion avoidance, octets acknowledged.
pub fn recording(file: &Path) -> Vec<Sample> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let row = |line: &str| {
        let v: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
        let ssthresh = if v[2] < 0.0 { f64::INFINITY } else { v[2] };
        Sample { time: v[0], cwnd: v[1], ssthresh, lossy: v[6] >= 3.0, retransmissions: v[5], acked: v[7] }
    };
    let samples: Vec<Sample> = text.lines().skip(1).map(row).collect();
    assert!(!samples.is_empty(), "{}: no samples", file.display());
    samples
}

/// Our samples with the recordings' names of columns.
pub fn write_curve(file: &Path, samples: &[Sample]) {
    let mut text = String::from("time_s,snd_cwnd,total_retrans,bytes_acked\n");
    for s in samples {
        writeln!(text, "{:.4},{},{},{}", s.time, s.cwnd, s.retransmissions, s.acked).unwrap();
    }
    std::fs::write(file, text).unwrap();
}

/// The folder of recordings `name`, if LASTHOP_SHARED is set to the location of the data. Without
/// it a test passes and reports this past the harness, which hides the output of a passing test.
/// Panics if the variable is set and the folder does not exist.
pub fn folder(name: &str) -> Option<PathBuf> {
    let Some(shared) = std::env::var_os("LASTHOP_SHARED") else {
        let _closed = writeln!(std::io::stderr(), "LASTHOP_SHARED is not set: {name} is not compared");
        return None;
    };
    let folder = Path::new(&shared).join("data").join(name);
    assert!(folder.is_dir(), "LASTHOP_SHARED: no folder {}", folder.display());
    Some(folder)
}

/// Where curves are to be written: LASTHOP_CURVES.
pub fn curves() -> Option<PathBuf> {
    std::env::var_os("LASTHOP_CURVES").map(PathBuf::from)
}
