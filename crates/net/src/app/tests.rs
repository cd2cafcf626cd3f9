//! Applications against sequences computed by hand, and against a perfect transport.

use super::*;
use lasthop_units::{Bitrate, Bytes};

fn app(config: AppConfig, service: Service) -> App {
    config.validate(service).unwrap();
    made(&config, service, 0)
}

fn made(config: &AppConfig, service: Service, entity: u64) -> App {
    let rate_controls = &RateControls::default();
    let place = AppContext { service, seed: 1, entity, flow: "f", observed: false, rate_controls };
    App::new(config, &place).unwrap()
}

fn ms(t: u64) -> Instant {
    Instant::from_millis(t)
}

/// Lets time pass; the moments [ms] of all datagrams until `end`.
fn datagrams(app: &mut App, end: Instant) -> Vec<f64> {
    let (mut out, mut seen) = (Vec::new(), Vec::new());
    app.start(Instant::ZERO, &mut out);
    seen.extend(out.drain(..).map(|_| 0.0));
    while let Some(at) = app.poll_at().filter(|at| *at <= end) {
        app.on_time(at, &mut out);
        seen.extend(out.drain(..).map(|_| at.0 as f64 / 1e6));
    }
    seen
}

#[test]
fn bulk_writes_whatever_room_there_is_and_never_more() {
    let (mut a, mut out) = (app(AppConfig::default(), Service::Stream), Vec::new());
    a.start(ms(0), &mut out);
    assert_eq!(out, []);
    a.on_established(ms(10), &mut out);
    assert_eq!(out, []);
    a.on_writable(ms(10), End::A, 5000, &mut out);
    a.on_writable(ms(20), End::A, 300, &mut out);
    assert_eq!(out, [Action::Write { end: End::A, bytes: 5000 }, Action::Write { end: End::A, bytes: 300 }]);
    assert_eq!((a.backlog(End::A), a.backlog(End::B), a.poll_at()), (None, Some(0), None));
    out.clear();
    a.stop(ms(30), &mut out);
    a.on_writable(ms(40), End::A, 300, &mut out);
    a.start(ms(50), &mut out);
    assert_eq!((out, a.is_running()), (vec![Action::Close { end: End::A }], false));
}

/// Room that is known is used by the end of a stream, too, which needs none.
#[test]
fn known_room_is_used_as_it_was_announced() {
    let file = AppConfig::File(FileConfig { size: Bytes(4000), ..FileConfig::default() });
    let (mut a, mut out) = (app(file, Service::Stream), Vec::new());
    a.start(ms(0), &mut out);
    a.on_established(ms(10), &mut out);
    a.on_still_writable(End::A, &mut out);
    assert_eq!(out, [], "there was no room");
    a.on_writable(ms(10), End::A, 9000, &mut out);
    let before = out.len();
    a.on_still_writable(End::A, &mut out);
    assert_eq!((out[0], out.len()), (Action::Write { end: End::A, bytes: 4000 }, before));
}

/// A pause holds back data for which there is room, and the end of the stream with it.
#[test]
fn a_paused_file_continues_at_its_position() {
    let (mut a, mut out) = (
        app(AppConfig::File(FileConfig { size: Bytes(4000), ..FileConfig::default() }), Service::Stream),
        Vec::new(),
    );
    a.start(ms(0), &mut out);
    a.on_established(ms(10), &mut out);
    a.on_writable(ms(10), End::A, 1000, &mut out);
    a.pause();
    a.on_writable(ms(20), End::A, 9000, &mut out);
    let write = |bytes| Action::Write { end: End::A, bytes };
    assert_eq!((&out[..], a.backlog(End::A)), (&[write(1000)][..], Some(3000)));
    a.resume(ms(30), &mut out);
    assert_eq!(out, [write(1000), write(3000), Action::Close { end: End::A }]);
    // Before the connection is established, too.
    let (mut a, mut out) = (app(AppConfig::default(), Service::Stream), Vec::new());
    a.start(ms(0), &mut out);
    a.pause();
    a.on_established(ms(10), &mut out);
    a.on_writable(ms(10), End::A, 1000, &mut out);
    assert_eq!(out, []);
    a.resume(ms(20), &mut out);
    assert_eq!(out, [write(1000)]);
}

/// 1 Mbit/s in packets of 1000 octets: one each 8 ms from the start, and from the end of the pause.
#[test]
fn a_source_of_packets_makes_none_while_it_is_paused() {
    let config = CbrConfig { rate: Bitrate(1_000_000), size: Bytes(1000) };
    let (mut a, mut out) = (app(AppConfig::Cbr(config), Service::Datagrams), Vec::new());
    a.start(ms(0), &mut out);
    a.on_time(ms(8), &mut out);
    a.pause();
    assert_eq!((out.len(), a.poll_at()), (2, None));
    a.on_time(ms(30), &mut out);
    a.resume(ms(33), &mut out);
    a.on_time(ms(41), &mut out);
    assert_eq!((out.len(), a.poll_at()), (4, Some(ms(49))));
    // A pause before the start holds until it is over.
    let config = CbrConfig { rate: Bitrate(1_000_000), size: Bytes(1000) };
    let (mut a, mut out) = (app(AppConfig::Cbr(config), Service::Datagrams), Vec::new());
    a.pause();
    a.start(ms(5), &mut out);
    assert_eq!((out.len(), a.poll_at()), (0, None));
    a.resume(ms(9), &mut out);
    assert_eq!((out.len(), a.poll_at()), (1, Some(ms(17))));
}

#[test]
fn what_the_buffer_refuses_is_written_later_and_closes_the_stream_then() {
    let (mut a, mut out) = (
        app(AppConfig::File(FileConfig { size: Bytes(4000), ..FileConfig::default() }), Service::Stream),
        Vec::new(),
    );
    a.start(ms(5), &mut out);
    a.on_established(ms(10), &mut out);
    a.on_writable(ms(10), End::A, 9000, &mut out);
    assert_eq!(out, [Action::Write { end: End::A, bytes: 4000 }, Action::Close { end: End::A }]);
    // The buffer took 2500 of the 4000, and the stream was not closed.
    a.on_refused(End::A, 1500);
    assert_eq!((a.backlog(End::A), a.stats().written[0]), (Some(1500), 2500));
    out.clear();
    a.on_writable(ms(20), End::A, 1000, &mut out);
    a.on_writable(ms(30), End::A, 1000, &mut out);
    let write = |bytes| Action::Write { end: End::A, bytes };
    assert_eq!(out, [write(1000), write(500), Action::Close { end: End::A }]);
    assert_eq!(a.stats().written[0], 4000);
}

#[test]
fn a_file_is_written_closed_and_timed() {
    let (mut a, mut out) = (
        app(AppConfig::File(FileConfig { size: Bytes(4000), ..FileConfig::default() }), Service::Stream),
        Vec::new(),
    );
    a.start(ms(5), &mut out);
    a.on_established(ms(10), &mut out);
    a.on_writable(ms(10), End::A, 3000, &mut out);
    a.on_writable(ms(20), End::A, 3000, &mut out);
    let write = |bytes| Action::Write { end: End::A, bytes };
    assert_eq!(out, [write(3000), write(1000), Action::Close { end: End::A }]);
    out.clear();
    a.on_delivered(ms(30), End::B, 3999, &mut out);
    assert_eq!(a.completion_time(), None);
    a.on_delivered(ms(45), End::B, 1, &mut out);
    a.on_closed(ms(45), End::B, &mut out);
    assert_eq!(a.completion_time(), Some(Duration::from_millis(40)));
    assert_eq!(out, [Action::Close { end: End::B }]);
}

/// Request issued at 0, whole at B at 20 ms, response whole at A at 70 ms: 70 ms. Thinking 100 ms:
/// the next at 170 ms.
#[test]
fn requests_and_responses_take_turns() {
    let config = RequestResponseConfig {
        request: Bytes(100),
        response: Bytes(1000),
        think: Duration::from_millis(100),
        count: Some(2),
        ..Default::default()
    };
    let (mut a, mut out) = (app(AppConfig::RequestResponse(config), Service::Stream), Vec::new());
    a.start(ms(0), &mut out);
    a.on_established(ms(0), &mut out);
    a.on_writable(ms(0), End::A, 10_000, &mut out);
    a.on_writable(ms(0), End::B, 600, &mut out);
    assert_eq!(out, [Action::Write { end: End::A, bytes: 100 }]);
    out.clear();
    a.on_delivered(ms(10), End::B, 60, &mut out);
    assert_eq!(out, []);
    a.on_delivered(ms(20), End::B, 40, &mut out);
    a.on_writable(ms(30), End::B, 600, &mut out);
    assert_eq!(out, [Action::Write { end: End::B, bytes: 600 }, Action::Write { end: End::B, bytes: 400 }]);
    out.clear();
    a.on_delivered(ms(60), End::A, 600, &mut out);
    a.on_delivered(ms(70), End::A, 400, &mut out);
    assert_eq!((out.len(), a.poll_at()), (0, Some(ms(170))));
    a.on_time(ms(170), &mut out);
    a.on_delivered(ms(180), End::B, 100, &mut out);
    a.on_writable(ms(185), End::B, 600, &mut out);
    a.on_writable(ms(190), End::B, 600, &mut out);
    a.on_delivered(ms(200), End::A, 1000, &mut out);
    assert_eq!(out.last(), Some(&Action::Close { end: End::A }));
    let took: Vec<u64> = a.stats().completions.list().iter().map(|(_, d)| d.as_millis()).collect();
    assert_eq!((took, a.stats().requests_completed(), a.poll_at()), (vec![70, 30], 2, None));
    assert_eq!(a.completion_time(), Some(Duration::from_millis(200)));
}

/// 1000 B at 3 Mbit/s: every 8/3 ms; after a million packets the clock is off by less than a
/// nanosecond.
#[test]
fn a_constant_rate_does_not_drift() {
    let cbr = |rate| AppConfig::Cbr(CbrConfig { rate: Bitrate(rate), size: Bytes(1000) });
    let mut a = app(cbr(1_000_000), Service::Datagrams);
    assert_eq!(datagrams(&mut a, ms(24)), [0.0, 8.0, 16.0, 24.0]);
    let (mut a, mut out) = (app(cbr(3_000_000), Service::Datagrams), Vec::new());
    a.start(Instant::ZERO, &mut out);
    for _ in 0..3_000 {
        a.on_time(a.poll_at().unwrap(), &mut out);
    }
    // Packet 3001 (counted from 0) comes at 3001 x 8/3 ms = 8002.666666... ms.
    assert_eq!(a.poll_at(), Some(Instant(8_002_666_667)));
    assert_eq!((out.len(), a.stats().datagrams_sent), (3_001, 3_001));
}

#[test]
fn over_tcp_a_source_that_finds_no_room_waits_with_all_its_bytes() {
    let config = AppConfig::Cbr(CbrConfig { rate: Bitrate(1_000_000), size: Bytes(1000) });
    let (mut a, mut out) = (app(config, Service::Stream), Vec::new());
    a.start(ms(0), &mut out);
    assert_eq!(a.poll_at(), None);
    a.on_established(ms(100), &mut out);
    a.on_writable(ms(100), End::A, 1500, &mut out);
    (1..=3).for_each(|n| a.on_time(ms(100 + 8 * n), &mut out));
    let write = |bytes| Action::Write { end: End::A, bytes };
    assert_eq!((out.as_slice(), a.backlog(End::A)), ([write(1000), write(500)].as_slice(), Some(2500)));
    a.on_writable(ms(130), End::A, 9000, &mut out);
    assert_eq!(out.last(), Some(&write(2500)));
}

/// On 10 ms, off 30 ms, a packet each 4 ms of on-time: at 0, 4, 8; 2 ms of the gap are used when
/// the period ends at 10; the next comes 2 ms into the period that starts at 40.
#[test]
fn on_off_carries_the_rest_of_a_gap_over_the_silence() {
    let config = OnOffConfig {
        rate: Bitrate(2_000_000),
        on: Duration::from_millis(10),
        off: Duration::from_millis(30),
        on_distribution: Distribution::Constant,
        off_distribution: Distribution::Constant,
        ..OnOffConfig::default()
    };
    let mut a = app(AppConfig::OnOff(config.clone()), Service::Datagrams);
    assert_eq!(datagrams(&mut a, ms(90)), [0.0, 4.0, 8.0, 42.0, 46.0, 80.0, 84.0, 88.0]);
    // Without silence it is a constant rate.
    let mut a = app(AppConfig::OnOff(OnOffConfig { off: Duration::ZERO, ..config }), Service::Datagrams);
    assert_eq!(datagrams(&mut a, ms(24)), [0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0]);
}

/// Exponential 1 s on, 1 s off at 1 Mbit/s over 20 000 s: half the rate. About 10 000 cycles: the
/// share's standard error is near 0.5 %, so 62.5 packets/s within 5 of them.
#[test]
fn exponential_on_off_has_its_mean_rate() {
    for distribution in [Distribution::Exponential, Distribution::Pareto] {
        let config = OnOffConfig {
            on_distribution: distribution,
            off_distribution: distribution,
            shape: 3.0,
            ..OnOffConfig::default()
        };
        let mut a = app(AppConfig::OnOff(config), Service::Datagrams);
        let rate = datagrams(&mut a, Instant::from_secs(20_000)).len() as f64 / 20_000.0;
        assert!((rate - 62.5).abs() < 62.5 * 0.025, "{distribution:?}: {rate}");
    }
}

/// A packet each millisecond of on-time. A source that was interrupted `n` times in an on period
/// continues with the length of period `n` of one that was not, to a packet: there the gap that the
/// silence has cut continues.
#[test]
fn an_interrupted_on_period_is_not_drawn_again() {
    let config = OnOffConfig { size: Bytes(125), off: Duration::from_secs(5), ..OnOffConfig::default() };
    let whole = AppConfig::OnOff(OnOffConfig { off_distribution: Distribution::Constant, ..config });
    let moments = datagrams(&mut app(whole.clone(), Service::Datagrams), Instant::from_secs(300));
    let periods: Vec<usize> = moments.chunk_by(|a, b| b - a < 1000.0).map(<[f64]>::len).collect();
    for n in 0..10 {
        let (mut a, mut out) = (app(whole.clone(), Service::Datagrams), Vec::new());
        for i in 0..n {
            a.start(Instant::from_secs(i), &mut out);
            a.pause();
            a.resume(Instant::from_secs(i), &mut out);
            a.stop(Instant::from_secs(i), &mut out);
        }
        out.clear();
        a.start(Instant::from_secs(100), &mut out);
        while let Some(at) = a.poll_at().filter(|at| *at < Instant::from_secs(100 + 5)) {
            a.on_time(at, &mut out);
        }
        // Each round above has interrupted two.
        let expected = periods[2 * n as usize];
        assert!(out.len().abs_diff(expected) <= 1, "{n}: {} packets, not {expected}", out.len());
    }
}

#[test]
fn a_udp_source_stops_and_starts_again() {
    let config = AppConfig::Cbr(CbrConfig { rate: Bitrate(1_000_000), size: Bytes(1000) });
    let (mut a, mut out) = (app(config, Service::Datagrams), Vec::new());
    a.start(ms(0), &mut out);
    a.stop(ms(1), &mut out);
    assert_eq!((a.poll_at(), out.len()), (None, 1));
    a.start(ms(50), &mut out);
    assert_eq!((a.poll_at(), out.len()), (Some(ms(58)), 2));
    let arrival = Arrival { message: Message::plain(1000), ecn: Ecn::NotEct, sent: ms(50) };
    a.on_datagram(ms(60), End::B, &arrival, &mut out);
    assert_eq!((a.stats().datagrams_delivered, a.stats().delivered[1]), (1, 1000));
}

/// A call over a path that loses every tenth packet and delivers every other packet twice: a tenth
/// cannot be used. Of 50 ms each, R = 93.2 - 0.024 * 150 - 95 * 10 / 35.1 = 62.534. The bytes are
/// those of 90 packets of 172 B, and so are they with each of 90 updates of a game.
#[test]
fn copies_of_a_datagram_count_once() {
    for (kind, size) in [("voip", 172), ("game", 200)] {
        let (mut a, mut out) = (app(kind.parse().unwrap(), Service::Datagrams), Vec::new());
        a.start(ms(0), &mut out);
        let mut sent = 0;
        while sent < 100 {
            let at = a.poll_at().unwrap();
            for action in std::mem::take(&mut out) {
                let Action::SendDatagram { message, .. } = action else { panic!("{action:?}") };
                let arrival = Arrival { message, ecn: Ecn::NotEct, sent: at };
                let copies = if sent % 10 == 9 { 0 } else { 2 };
                (0..copies).for_each(|_| a.on_datagram(at + ms(50).since(ms(0)), End::B, &arrival, &mut out));
                sent += 1;
            }
            a.on_time(at, &mut out);
        }
        let stats = a.stats();
        let q = stats.quality.as_ref().unwrap();
        assert_eq!((q.received(), stats.datagrams_delivered, stats.copies), (90, 90, 90), "{kind}");
        assert_eq!(stats.delivered, [0, 90 * size]);
        assert!((q.unusable(100).unwrap() - 0.1).abs() < 1e-12);
        assert!(q.rating(100).is_none_or(|r| (r - 62.534).abs() < 1e-3));
    }
}

/// Copies of packets of video and of audio, which are numbered separately, are received once; a
/// report is none of the data.
#[test]
fn copies_of_media_count_once() {
    let config = MediaConfig { audio: Bitrate(64_000), ..MediaConfig::default() };
    let (mut a, mut out) = (app(AppConfig::Media(config), Service::Datagrams), Vec::new());
    a.start(ms(0), &mut out);
    let (mut sent, mut reports) = (0, 0);
    while let Some(at) = a.poll_at().filter(|at| *at < ms(1000)) {
        for action in std::mem::take(&mut out) {
            let Action::SendDatagram { end, message } = action else { panic!("{action:?}") };
            let arrival = Arrival { message, ecn: Ecn::NotEct, sent: at };
            let bytes = if end == End::A { &mut sent } else { &mut reports };
            *bytes += u64::from(message.size);
            (0..2).for_each(|_| a.on_datagram(at, end.other(), &arrival, &mut out));
        }
        a.on_time(at, &mut out);
    }
    assert!(sent > 10_000 && reports > 0);
    assert_eq!(a.stats().delivered, [2 * reports, sent]);
    assert_eq!(a.media().unwrap().counts.received, sent);
}

/// A file arrives whole after its user was stopped: the user reads it and wants no other.
#[test]
fn a_stopped_user_of_files_asks_for_no_more() {
    let config = AppConfig::Ftp(FtpConfig { size: Some(Bytes(1000)), ..FtpConfig::default() });
    let (mut a, mut out) = (app(config, Service::Stream), Vec::new());
    a.start(ms(0), &mut out);
    a.on_established(ms(0), &mut out);
    a.on_writable(ms(0), End::A, 9000, &mut out);
    a.stop(ms(10), &mut out);
    assert_eq!(out, [Action::Write { end: End::A, bytes: 1000 }, Action::Close { end: End::A }]);
    a.on_delivered(ms(20), End::B, 1000, &mut out);
    assert_eq!((a.stats().requests_completed(), a.poll_at(), out.len()), (1, None, 2));
}

/// Lets an application run over a byte stream that takes what it gives and delivers it after
/// `delay`, until `end`; the pause between two deliveries cuts them into pieces of `piece` bytes.
fn over_a_stream(app: &mut App, delay: Duration, piece: u64, end: Instant) {
    let (mut out, mut way) = (Vec::new(), std::collections::VecDeque::new());
    let mut now = Instant::ZERO;
    app.start(now, &mut out);
    app.on_established(now, &mut out);
    [End::A, End::B].into_iter().for_each(|e| app.on_writable(now, e, u64::MAX / 2, &mut out));
    loop {
        for action in out.drain(..) {
            if let Action::Write { end, bytes } = action {
                let mut left = bytes;
                while left > 0 {
                    let part = left.min(piece);
                    way.push_back((now + delay, end.other(), part));
                    left -= part;
                }
            }
        }
        let arrival = way.iter().map(|w: &(Instant, End, u64)| w.0).min();
        let Some(next) = [arrival, app.poll_at()].into_iter().flatten().min().filter(|at| *at <= end) else {
            return;
        };
        now = next;
        match way.iter().position(|w| w.0 == now) {
            Some(i) => {
                let (_, at, bytes) = way.remove(i).unwrap();
                app.on_delivered(now, at, bytes, &mut out);
            }
            None => app.on_time(now, &mut out),
        }
    }
}

/// Every trip takes 10 ms. A page without embedded objects takes 20 ms, else 40 ms and the time to
/// parse.
#[test]
fn pages_take_two_round_trips_and_the_time_to_parse() {
    let config = WebPageConfig { parsing: Duration::ZERO, count: Some(50), ..WebPageConfig::default() };
    let mut a = app(AppConfig::WebPage(config), Service::Stream);
    over_a_stream(&mut a, Duration::from_millis(10), 1000, Instant::from_secs(100_000));
    let s = a.stats();
    assert_eq!((s.requests_completed(), s.completion.is_some()), (50, true));
    let took: std::collections::BTreeSet<u64> =
        s.completions.list().iter().map(|(_, d)| d.as_millis()).collect();
    assert_eq!(took.into_iter().collect::<Vec<_>>(), [20, 40]);
    // All requests have been answered and has arrived.
    assert_eq!((s.requests_answered, s.delivered[0]), (s.requests_issued, s.written[1]));
    assert!((2.0..9.0).contains(&(s.requests_issued as f64 / 50.0 - 1.0)), "{}", s.requests_issued);
    // One object after another: 20 ms each.
    let config = WebPageConfig {
        parsing: Duration::ZERO,
        pipelined: false,
        count: Some(50),
        ..WebPageConfig::default()
    };
    let mut a = app(AppConfig::WebPage(config), Service::Stream);
    over_a_stream(&mut a, Duration::from_millis(10), 1000, Instant::from_secs(100_000));
    let total: f64 = a.stats().completions.mean_s().unwrap() * 50.0;
    assert!((total - 0.02 * a.stats().requests_issued as f64).abs() < 1e-6);
}

/// Model 2: file, 10 ms, then a reading time of 5 s in the mean. Model 3: 0.5 MB each 5 s in the
/// mean whether or not the last one has arrived. In 50 000 s about 10 000 files of either, standard
/// error 1 %.
#[test]
fn files_come_by_reading_or_by_poisson_arrivals() {
    for (model, size) in
        [(FtpModel::Arrivals, 2_000_000), (FtpModel::Reading, 500_000), (FtpModel::ArrivalsPerUe, 500_000)]
    {
        let mut a = app(AppConfig::Ftp(FtpConfig { model, ..FtpConfig::default() }), Service::Stream);
        over_a_stream(&mut a, Duration::from_millis(10), u64::MAX, Instant::from_secs(50_000));
        let s = a.stats();
        let n = s.requests_completed();
        assert!((n as f64 / 10_000.0 - 1.0).abs() < 0.05, "{model:?}: {n}");
        assert_eq!((s.delivered[1] / size, s.completions.max()), (n, Some(Duration::from_millis(10))));
        assert_eq!(a.data_end(), End::A);
    }
}

/// 20 ms a segment of any size: after the first one the highest bitrate, no stall, and the buffer
/// full at 12 s.
#[test]
fn a_player_on_a_fast_path_shows_the_highest_bitrate() {
    let config = DashConfig { count: Some(100), ..DashConfig::default() };
    let mut a = app(AppConfig::Dash(config), Service::Stream);
    over_a_stream(&mut a, Duration::from_millis(10), u64::MAX, Instant::from_secs(1000));
    let (s, video) = (a.stats(), a.video().unwrap());
    assert_eq!((s.requests_completed(), video.segments(), video.switches()), (100, 100, 1));
    assert_eq!(video.bitrate_bps(), Some((400_000.0 + 99.0 * 16_000_000.0) / 100.0));
    assert_eq!(
        (video.stalls(Instant::from_secs(1000)).0, video.startup()),
        (0, Some(Duration::from_millis(20)))
    );
    // 100 segments of 2 s, all but the last six of which were requested during playback.
    let done = s.completion.unwrap().as_secs_f64();
    assert!((188.0..189.0).contains(&done), "{done}");
}

/// Packets of 1250 octets at 1 Mbit/s are 10 ms apart, at 2 Mbit/s 5 ms. At 13 ms 7 ms are missing
/// until the third, which the new rate makes in 3.5 ms.
#[test]
fn a_source_completes_the_packet_that_it_has_begun() {
    let cbr = |mbps: u64| CbrConfig { rate: Bitrate(mbps * 1_000_000), size: Bytes(1250) };
    let mut a = app(AppConfig::Cbr(cbr(1)), Service::Datagrams);
    assert_eq!(datagrams(&mut a, ms(12)), [0.0, 10.0]);
    let (mut out, mut seen) = (Vec::new(), Vec::new());
    a.change(&AppConfig::Cbr(cbr(2)), ms(13), &mut out);
    while let Some(at) = a.poll_at().filter(|at| *at <= ms(30)) {
        a.on_time(at, &mut out);
        seen.extend(out.drain(..).map(|_| at.0 as f64 / 1e6));
    }
    assert_eq!(seen, [16.5, 21.5, 26.5]);
    // In the long run both rates give their share: 100 packets each second, then 200.
    let on_off = |mbps: u64| {
        let constant = Distribution::Constant;
        let times =
            OnOffConfig { on_distribution: constant, off_distribution: constant, ..OnOffConfig::default() };
        OnOffConfig { rate: Bitrate(mbps * 1_000_000), size: Bytes(1250), ..times }
    };
    let mut a = app(AppConfig::OnOff(on_off(1)), Service::Datagrams);
    assert_eq!(datagrams(&mut a, ms(9_500)).len(), 500);
    a.change(&AppConfig::OnOff(on_off(2)), ms(9_500), &mut out);
    let mut later = 0;
    while let Some(at) = a.poll_at().filter(|at| *at < ms(20_000)) {
        a.on_time(at, &mut out);
        later += out.drain(..).count();
    }
    assert_eq!(later, 1000);
}

/// 8 Mbit/s in writes of 1000 octets: one each millisecond. While there is no room one waits, and
/// those that come then are not made up for. Without a rate there is no clock.
#[test]
fn bulk_at_a_rate_piles_nothing_up() {
    let at = |rate: Option<u64>| {
        AppConfig::Bulk(BulkConfig { rate: rate.map(|r| Bitrate(r * 1_000_000)), size: Bytes(1000) })
    };
    let (mut a, mut out) = (app(at(Some(8)), Service::Stream), Vec::new());
    let written = |out: &mut Vec<Action>| -> u64 {
        out.drain(..).map(|action| if let Action::Write { bytes, .. } = action { bytes } else { 0 }).sum()
    };
    let run = |a: &mut App, out: &mut Vec<Action>, end: Instant| {
        while let Some(at) = a.poll_at().filter(|at| *at < end) {
            a.on_time(at, out);
        }
    };
    a.start(ms(0), &mut out);
    a.on_established(ms(0), &mut out);
    run(&mut a, &mut out, ms(100));
    assert_eq!((written(&mut out), a.backlog(End::A)), (0, Some(1000)));
    a.on_writable(ms(100), End::A, 1_000_000, &mut out);
    run(&mut a, &mut out, ms(200));
    assert_eq!(written(&mut out), 1000 + 100 * 1000);
    a.change(&at(Some(16)), ms(200), &mut out);
    run(&mut a, &mut out, ms(300));
    assert_eq!(written(&mut out), 200 * 1000);
    a.change(&at(None), ms(300), &mut out);
    assert_eq!((written(&mut out), a.poll_at(), a.backlog(End::A)), (699_000, None, None));
    // And back: the endless write is dropped. Paused meanwhile, it begins with the resume.
    a.pause();
    a.change(&at(Some(8)), ms(400), &mut out);
    assert_eq!((a.poll_at(), a.backlog(End::A)), (None, Some(0)));
    a.on_writable(ms(400), End::A, 1_000_000, &mut out);
    a.resume(ms(500), &mut out);
    run(&mut a, &mut out, ms(600));
    assert_eq!(written(&mut out), 100 * 1000);
}

/// The mean of 10^4 sizes: of an exponential law with a standard error of 1 %, of a Pareto law of
/// shape 3 with 1 / sqrt(3) of that. Each flow has a size of its own.
#[test]
fn sizes_of_files_have_their_mean() {
    let laws = [(SizeDistribution::Exponential, 0.01), (SizeDistribution::Pareto, 0.0058)];
    for (size_distribution, error) in laws {
        let usual = FileConfig::default();
        let config = FileConfig { size: Bytes(100_000), size_distribution, shape: 3.0, ..usual };
        let config = AppConfig::File(config);
        let sizes = (0..10_000).map(|entity| {
            let (mut a, mut out) = (made(&config, Service::Stream, entity), Vec::new());
            a.start(ms(0), &mut out);
            a.on_established(ms(0), &mut out);
            a.backlog(End::A).unwrap()
        });
        let mean = sizes.sum::<u64>() as f64 / 1e4;
        assert!((mean / 1e5 - 1.0).abs() < 5.0 * error, "{size_distribution:?}: {mean}");
    }
}
