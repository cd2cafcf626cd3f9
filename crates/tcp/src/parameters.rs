//! The one table of TCP's parameters.
//!
//! A row defines the key under `[flow.<name>.tcp]` with its text in the schema, the code that
//! reads, checks and prints it ([`options`](crate::options)), the field of the configuration from
//! which an endpoint takes the value ([`config`](crate::config)), and the value and its source in
//! the profile `rfc` ([`profile`](crate::profile)). Other profiles state the values in which they
//! differ.

/// Hands the table to the macro `$then`. First the parameters that belong to no group, then the
/// groups, each with the type of what a scenario writes and the type of the values in force. Keys
/// of a group `of controls` are read only by the controls that list them as parameters.
///
/// A row: its text; the key and the type that a scenario writes; what may be written and how a
/// value prints; the field of the group's configuration that holds it, with its type and the value
/// of `rfc`; the source of that value. What may be written:
///
/// - `any`: each value of the type.
/// - `word`: each word of an enum.
/// - `count(a..=b)`: a number from `a` to `b`.
/// - `octets(a..=b)`: a size from `a` to `b`.
/// - `only(|value| condition, "problem")`: a value of which the condition holds.
/// - `by(|config, value| ..., |config| ...)`: puts a value where it belongs, or says what is wrong
///   with it; prints it.
///
/// `or "text"` prints `None`. `at host.field` stands in place of a field of the group: the value is
/// one of several by which [`Host`](crate::Host) describes a kernel.
///
/// [`config`](crate::config), [`profile`](crate::profile) and [`options`](crate::options) read the
/// table, each what it needs, and the first stands below the last; so it is a macro in the order of
/// the text, not an item that modules import.
macro_rules! parameters {
    ($then:ident) => {
        $then! {
            {
                /// The stack profile that all other values default to: `rfc`, `ns2`, `linux-6`,
                /// `linux-2.6.26`, `ns3-3.28`, `ns3-3.44` or `inet`;
                /// `lasthop describe profile NAME` prints one.
                profile: Profile;
                /// Congestion control algorithm: `reno` (RFC 5681), `cubic` (RFC 9438), `bbr`,
                /// `vegas`, ...; `lasthop describe cc` prints them all. Or the name under which you
                /// have registered your own control.
                cc: Option<CcName> => cc: CcName = CcName::Reno, "RFC 5681";
                /// Parameters of a congestion control of your own, by name.
                #[serde(skip_serializing_if = "BTreeMap::is_empty")]
                #[schemars(extend("x-default-of-keys" = "the algorithm's"))]
                cc_parameters: BTreeMap<String, f64>;
                /// Loss recovery: `tahoe`, `reno`, `newreno` (RFC 6582), `sack` (RFC 6675) or
                /// `rack` (RFC 8985 with RFC 9937, as Linux; it is also the default with
                /// `cc = "bbr"`, because it estimates the delivery rate).
                recovery: Option<RecoveryFlavour>
                    => recovery: RecoveryFlavour = RecoveryFlavour::Sack, "RFC 6675";
            }
            /// Segments, and the window that a connection begins with.
            window: WindowOptions, WindowConfig {
                /// Maximum segment size: octets of data and TCP options in one segment (RFC 6691),
                /// 64 B to 65495 B.
                mss: Bytes, octets(64..=65_495)
                    => mss: u16 = 1460, "Ethernet's 1500 B less 40 B of headers";
                /// Initial congestion window in segments, 1 to 1000. Unset in `rfc`: min(10 MSS,
                /// max(2 MSS, 14600 B)) (RFC 6928).
                initial_window: u32, count(1..=1000) or "min(10 MSS, max(2 MSS, 14600 B))"
                    => initial_window: Option<u32> = None, "RFC 6928 section 2";
                /// Initial slow-start threshold in segments, at least 2.
                initial_ssthresh: f64, by(
                    |c, n| {
                        if n.is_nan() || n < 2.0 {
                            return Err(format!("{n} is below 2 segments"));
                        }
                        c.window.initial_ssthresh = InitialSsthresh::Segments(n);
                        Ok(())
                    },
                    |c| c.initial_ssthresh().to_string()
                )
                    => initial_ssthresh: InitialSsthresh = InitialSsthresh::Segments(f64::INFINITY),
                    "RFC 5681 section 3.1: arbitrarily high";
                /// Ceiling of the congestion window in segments, at least 1.
                max_window: u32, count(1..=1 << 24) or "unlimited"
                    => max_window: Option<u32> = None, "not limited";
                /// Whether the window counts whole segments only (ns-2) instead of octets (RFC
                /// 5681).
                whole_segments: bool, any
                    => whole_segments: bool = false, "RFC 5681 counts octets";
            }
            /// Buffers of the receiver and of the sender.
            buffers: BufferOptions, BufferConfig {
                /// Receive buffer: the largest window the receiver offers, 256 B to 1 GiB. Above 64
                /// KiB it needs window scaling.
                receive_buffer: Bytes, by(
                    |c, b| {
                        c.buffers.receive_tuning = false;
                        c.buffers.receive_buffer = within(b.0, 256..=1 << 30, " B")?;
                        Ok(())
                    },
                    |c| format!("{} B", c.buffers.receive_buffer)
                )
                    => receive_buffer: u64 = 6 * 1024 * 1024,
                    "Linux' default maximum of tcp_rmem, 6 MiB: no RFC value";
                /// The receive buffer grows with the octets that the application reads per round
                /// trip (dynamic right-sizing, Linux' `tcp_moderate_rcvbuf`), from
                /// `receive_buffer_start` up to `receive_buffer`. Where a scenario sets
                /// `receive_buffer` without this key, the size is fixed, as with SO_RCVBUF. Both
                /// sizes are octets of window: half of Linux' `tcp_rmem`.
                receive_tuning: bool, any
                    => receive_tuning: bool = false, "no RFC specifies it";
                /// With `receive_tuning`: initial size of the receive buffer, 256 B up to
                /// `receive_buffer`.
                receive_buffer_start: Bytes, by(
                    |c, b| {
                        c.buffers.receive_buffer_start = within(b.0, 256..=c.buffers.receive_buffer, " B")?;
                        Ok(())
                    },
                    |c| format!("{} B", c.buffers.receive_buffer_start)
                )
                    => receive_buffer_start: u64 = 65_536,
                    "with `receive_tuning`: half of Linux' default of tcp_rmem, 131072 (net.ipv4.tcp_adv_win_scale 1)";
                /// Send buffer: how much the application may write ahead of the ACKs, at least 1 B.
                /// Unset: unlimited, or as `send_tuning` sets it. A size that the scenario sets is
                /// fixed, as with SO_SNDBUF.
                send_buffer: Bytes, by(
                    |c, b| {
                        c.buffers.send_tuning = false;
                        c.buffers.send_buffer = Some(within(b.0, 1..=1 << 50, " B")?);
                        Ok(())
                    },
                    |c| or(c.buffers.send_buffer, "unlimited, or `send_tuning`")
                )
                    => send_buffer: Option<u64> = None, "no RFC value";
                /// Without `send_buffer`: the send buffer counts memory, as Linux does (each octet
                /// written and not acknowledged, and 1280 octets for each packet that holds some),
                /// starts from `send_buffer_start`, and grows up to `send_buffer_max` when it
                /// prevents the sender from filling the congestion window. After the application
                /// has filled the buffer, it writes again when a third is free.
                send_tuning: bool, any
                    => send_tuning: bool = false, "no RFC specifies it";
                /// With `send_tuning`: initial size of the send buffer, 4096 B up to
                /// `send_buffer_max` (the default of Linux' `tcp_wmem`); at least the memory of
                /// twice ten segments once the connection is established.
                send_buffer_start: Bytes, octets(4096..=1 << 40)
                    => send_buffer_start: u64 = 16_384, "with `send_tuning`: Linux' tcp_wmem";
                /// With `send_tuning`: largest size of the send buffer, at least 4096 B (the
                /// maximum of Linux' `tcp_wmem`).
                send_buffer_max: Bytes, octets(4096..=1 << 40)
                    => send_buffer_max: u64 = 4 * 1024 * 1024, "with `send_tuning`: Linux' tcp_wmem";
                /// Cut written data into packets of two and more segments. They leave together, the
                /// last with PSH, and wait for more space in the congestion window: Linux' TCP
                /// since 4.17, over any device (`generic segmentation offload`). With
                /// `recovery = "rack"` only; with others segments leave one by one.
                gso: bool, by(
                    |c, on| {
                        c.host.offload = on.then_some(Offload::LINUX);
                        Ok(())
                    },
                    |c| c.host.offload.is_some().to_string()
                ),
                    "no RFC specifies it";
            }
            /// Options that the handshake offers.
            negotiated: NegotiatedOptions, NegotiatedConfig {
                /// Offer timestamps (RFC 7323): 12 octets in each segment, RTT samples from
                /// retransmitted data too, PAWS.
                timestamps: bool, any
                    => timestamps: bool = true, "RFC 7323";
                /// Offer window scaling (RFC 7323 section 2).
                window_scaling: bool, any
                    => window_scaling: bool = true, "RFC 7323";
                /// Offer selective acknowledgements (RFC 2018).
                sack: bool, any
                    => sack: bool = true, "RFC 2018";
            }
            /// How lost segments are found and sent again.
            loss: LossOptions, LossConfig {
                /// SACK information at a retransmission timeout: `keep` (RFC 6675 section 5.1) or
                /// `clear` (RFC 2018 section 8).
                sack_on_timeout: SackOnTimeout, word
                    => sack_on_timeout: SackOnTimeout = SackOnTimeout::Keep, "RFC 6675 section 5.1";
                /// Duplicate ACKs that mean a loss, 1 to 255 (RFC 5681 section 3.2: 3).
                dup_threshold: u32, count(1..=255)
                    => dup_threshold: u32 = 3, "RFC 5681 section 3.2";
                /// Send new data on the first two duplicate ACKs (RFC 3042).
                limited_transmit: bool, any
                    => limited_transmit: bool = true, "RFC 3042";
                /// Forbid a second fast retransmit within one window of data (RFC 6582 section 3.2;
                /// ns-2 `bugFix_`).
                bugfix: bool, any
                    => bugfix: bool = true, "RFC 6582 section 3.2 step 2";
                /// Restart the retransmission timer at a fast retransmit (ns-2 does, RFC 6298 does
                /// not say so).
                timer_on_fast_retransmit: bool, any
                    => timer_on_fast_retransmit: bool = false,
                    "RFC 6298 section 5 restarts it at ACKs of new data only";
                /// Which partial ACKs restart the timer in NewReno's recovery (RFC 3782 section 4):
                /// `first-only` or `every`.
                timer_on_partial_ack: TimerOnPartialAck, word
                    => timer_on_partial_ack: TimerOnPartialAck = TimerOnPartialAck::FirstOnly,
                    "RFC 6582 section 3.2 step 3";
                /// A retransmission timeout ends NewReno's fast recovery (RFC 6582). `false`: the
                /// oldest segment is sent again, one hole per round trip is repaired with a window
                /// of one segment, and slow start follows the full ACK (the D2D study's reading).
                rto_leaves_recovery: bool, any
                    => rto_leaves_recovery: bool = true, "RFC 6582 section 3.2 step 4";
                /// The window at the end of Reno's and NewReno's recovery: `deflate` (RFC 6582) or
                /// `keep` (ns-2: ssthresh, and the ACK grows it).
                recovery_exit: RecoveryExit, word
                    => recovery_exit: RecoveryExit = RecoveryExit::Deflate,
                    "RFC 6582 section 3.2 step 3, option 1";
                /// How `recovery = "rack"` finds losses: `rack` (by time, RFC 8985) or `fack` (by
                /// count, Linux up to 4.15).
                loss_detection: LossDetection, word
                    => loss_detection: LossDetection = LossDetection::Rack,
                    "RFC 8985, with `recovery = rack`";
                /// Tail loss probes with `recovery = "rack"` (RFC 8985 section 7).
                loss_probe: bool, any at host.loss_probes,
                    "RFC 8985 section 7, with `recovery = rack`";
                /// How `recovery = "rack"` brings the window down: `prr` (RFC 9937) or
                /// `rate-halving` (Linux up to 3.1).
                window_reduction: WindowReduction, word
                    => window_reduction: WindowReduction = WindowReduction::Prr,
                    "RFC 9937, with `recovery = rack`";
            }
            /// When small segments and ACKs leave.
            acks: AckOptions, AckConfig {
                /// Nagle's algorithm: hold back small segments while data is outstanding (RFC 9293
                /// section 3.7.4).
                nagle: bool, any
                    => nagle: bool = true, "RFC 9293 section 3.7.4";
                /// Full-sized segments per ACK, 1 (no delayed ACK) to 64; RFC 5681 section 4.2 has
                /// one for at least every second segment.
                ack_every: u32, count(1..=64)
                    => ack_every: u32 = 2, "RFC 5681 section 4.2";
                /// What makes an ACK due before its delay is over: `octets` (of `ack_every` full
                /// segments), `segments` (`ack_every` of any size), or Linux' heuristics (`linux`).
                /// With these `ack_every` is not used, `quick_acks` limits each budget of quick
                /// ACKs, and `ack_delay` is the initial estimate of the ACK timeout.
                ack_rule: AckRule, word at host.acks,
                    "RFC 5681 section 4.2: full-sized segments";
                /// Segments acknowledged one by one at the start of a connection, 0 to 1000 (Linux:
                /// 16).
                quick_acks: u32, count(0..=1000)
                    => quick_acks: u32 = 0, "RFC 9293 section 3.8.6.3 specifies none";
                /// A misbehaving receiver: the number of ACKs into which it divides an ACK of new
                /// octets, 1 (as every receiver does) to 64. Each covers its part of the octets
                /// (ACK division; S. Savage and others, TCP Congestion Control with a Misbehaving
                /// Receiver, CCR 29(5), 1999). ACKs on data, with SACK blocks, of a FIN or of fewer
                /// octets than parts stay whole.
                split_acks: u32, count(1..=64)
                    => split_acks: u32 = 1, "no RFC allows more: RFC 5681 section 4.2 has one ACK for a segment or two";
                /// A misbehaving receiver: how many full-sized segments beyond the highest octet
                /// that has arrived its ACKs acknowledge, 0 (as every receiver does) to 65535
                /// (optimistic ACKs; Savage and others as above). The lead grows by a segment with
                /// each segment that arrives after the first, so that a sender with data and a
                /// window of two segments has sent what is acknowledged; a sender drops an ACK of
                /// octets that it has not sent (RFC 9293 section 3.10.7.4). Lost data is not
                /// recovered: when a later segment arrives, the receiver skips the missing octets,
                /// which its application never gets. The receiver reports no gap. When an old
                /// segment arrives, the sender has not accepted the last ACK, so the receiver
                /// begins again without lead. Only for applications that do not wait for an answer:
                /// `bulk`, `file`, `cbr`, `on-off`.
                ack_ahead: u32, count(0..=65_535)
                    => ack_ahead: u32 = 0, "RFC 9293 section 3.1: the ACK number is the next octet that is expected";
                /// Report duplicate segments to the sender (RFC 2883).
                dsack: bool, any
                    => dsack: bool = false, "RFC 2883 is optional";
                /// Longest time an ACK is delayed, up to 500 ms (RFC 9293 section 3.8.6.3).
                ack_delay: Duration, only(
                    |d| d <= Duration::from_millis(500),
                    "{d} is above the 500 ms of RFC 9293 section 3.8.6.3"
                )
                    => ack_delay: Duration = Duration::from_millis(200),
                    "RFC 9293 section 3.8.6.3 allows 500 ms; 200 ms is usual";
            }
            /// Round-trip times, timers and their limits.
            timers: TimerOptions, TimerConfig {
                /// Arithmetic of the RTT estimate: `rfc6298`, `linux`, `per-sample` (ns-3), `inet`
                /// or `ns2-ticks`.
                rtt_estimator: RttEstimator, word
                    => rtt_estimator: RttEstimator = RttEstimator::Rfc6298, "RFC 6298 section 2";
                /// RTT samples: from `every-ack` of new data or from `one-segment` at a time.
                rtt_sampling: RttSampling, word
                    => rtt_sampling: RttSampling = RttSampling::EveryAck, "RFC 7323 section 4";
                /// Clock granularity G of RFC 6298, or the tick of `ns2-ticks`; at least 1 us.
                clock_granularity: Duration, only(
                    |d| d >= Duration::from_micros(1),
                    "a clock has a granularity of at least 1 us"
                )
                    => clock_granularity: Duration = Duration::from_millis(1),
                    "no RFC value; below 100 ms is advised";
                /// The clock of the timers: `exact`, or the ticks of a Linux kernel, `hz-1000`,
                /// `hz-250` or `hz-100`. With ticks a wait is rounded up to whole ticks and ends at
                /// the next slot of the kernel's timer wheel: up to a tick late for waits below 63
                /// ticks, up to 8 ticks below 504, up to 64 below 4032. The timers are those of
                /// RTO, loss probes, RACK's reordering window, delayed ACKs, window probes and
                /// TIME-WAIT; pacing is exact.
                kernel_clock: KernelClock, word
                    => kernel_clock: KernelClock = KernelClock::Exact, "no RFC specifies ticks";
                /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s; ns-2: 6 s).
                initial_rto: Duration, any
                    => initial_rto: Duration = Duration::from_secs(1), "RFC 6298 (2.1)";
                /// Floor of the retransmission timeout (RFC 6298: 1 s; Linux: 200 ms).
                min_rto: Duration, any
                    => min_rto: Duration = Duration::from_secs(1), "RFC 6298 (2.4)";
                /// Ceiling of the retransmission timeout, at least 1 ms (RFC 6298: at least 60 s).
                max_rto: Duration, any
                    => max_rto: Duration = Duration::from_secs(60), "RFC 6298 (2.5): at least 60 s";
                /// Largest factor of the exponential back-off, a power of two (ns-2: 64).
                max_backoff: u32, only(|n| n.is_power_of_two(), "{n} is not a power of two")
                    => max_backoff: u32 = u32::MAX, "RFC 6298 bounds the RTO, not the factor";
                /// Apply the floor of the RTO `before` or `after` the back-off.
                backoff_floor: BackoffFloor, word
                    => backoff_floor: BackoffFloor = BackoffFloor::Before, "RFC 6298 (2.4) then (5.5)";
                /// Timeouts in a row after which the connection is aborted (RFC 9293 section
                /// 3.8.3).
                max_retries: u32, any or "never"
                    => max_retries: Option<u32> = Some(15),
                    "RFC 9293 section 3.8.3: R2 at least 100 s; 15 is usual";
                /// Timeouts of the SYN in a row after which the connection is aborted.
                syn_retries: u32, any or "never"
                    => syn_retries: Option<u32> = Some(6),
                    "RFC 9293 section 3.8.3: R2 of a SYN at least 3 minutes (1+2+4+...+60 s is less by seconds only beyond 6)";
                /// Filler on the SYN of the end that opens, 0 B to 65495 B; the peer acknowledges
                /// the SYN alone, so the data is sent in the first window. The default is `0 B`,
                /// but one segment in `ns2` with `cc = "vegas"`: ns-2's Vegas agent ignores `syn_`
                /// and opens with a whole data packet, whose round trip becomes its baseRTT.
                syn_filler: Bytes, octets(0..=65_495)
                    => syn_filler: u32 = 0, "a SYN carries no data";
                /// How long TIME-WAIT lasts: two maximum segment lifetimes (RFC 9293 section
                /// 3.4.2).
                time_wait: Duration, any
                    => time_wait: Duration = Duration::from_secs(240),
                    "RFC 9293 section 3.4.2: 2 MSL of 2 minutes";
            }
            /// How the window grows, and how data is spaced out and read.
            growth: GrowthOptions, GrowthConfig {
                /// What makes the window grow: `bytes` acknowledged (RFC 5681, 3465) or `acks`
                /// (ns-2).
                growth: Growth, word
                    => growth: Growth = Growth::Bytes, "RFC 5681 section 3.1";
                /// Limit L of appropriate byte counting in segments, 1 to 64 (RFC 5681: 1; RFC
                /// 3465: up to 2).
                abc_limit: u32, count(1..=64) or "unlimited"
                    => abc_limit: Option<u32> = Some(1), "RFC 5681 equation 2; RFC 3465 allows 2";
                /// FlightSize when ssthresh is computed: `flight` (RFC 5681), `window` (ns-2, INET)
                /// or `cwnd` (Linux).
                ssthresh_basis: SsthreshBasis, word
                    => ssthresh_basis: SsthreshBasis = SsthreshBasis::Flight, "RFC 5681 equation 4";
                /// Grow the window only while the window limits the sender.
                window_validation: bool, any
                    => window_validation: bool = true,
                    "RFC 7661 in spirit: no growth while not limited by cwnd";
                /// Fall back to the initial window after an idle time of one RTO (RFC 5681 section
                /// 4.1).
                idle_restart: bool, any
                    => idle_restart: bool = true, "RFC 5681 section 4.1";
                /// Pace data: the rate is the window per round trip, multiplied by 2 early in slow
                /// start and by 1.2 afterwards (as Linux with the fq scheduler). BBR paces without
                /// this key; with `l4s = true`, `prague` and `radio-aware` it is on unless it is
                /// set to `false`.
                pacing: bool, any
                    => pacing: bool = false, "no RFC specifies it";
                /// Ceiling of the pacing rate, like Linux' SO_MAX_PACING_RATE. With a ceiling the
                /// sender paces. The octets of data count; without the profile `linux-6` those of
                /// the TCP header count too. With `linux-6` the ceiling also bounds the size of
                /// packets of segmentation offload. Unset: no ceiling.
                max_pacing_rate: Bitrate, any or "not paced"
                    => max_pacing_rate: Option<Bitrate> = None, "no RFC value";
                /// The application reads only by explicit calls, so that the window can close;
                /// otherwise it reads data at once.
                manual_read: bool, any
                    => manual_read: bool = false, "the application reads at once";
                /// The application reads when all segments of an instant have arrived, like a
                /// program that the operating system has to wake; otherwise it reads after each
                /// segment. With `ack_rule = "linux"` one ACK then covers a burst. `manual_read`
                /// overrides it.
                burst_read: bool, any
                    => burst_read: bool = false, "the application reads at once";
            }
            /// Parameters of Vegas.
            vegas: VegasOptions, VegasConfig of controls {
                /// Vegas: grow below this many extra segments in the network (ns-2 v_alpha: 1).
                vegas_alpha: f64, only(|n| n.is_finite() && n >= 0.0, "{n} is not a number of segments")
                    => alpha: f64 = 1.0, "as ns-2";
                /// Vegas: shrink above this many extra segments in the network (ns-2 v_beta: 3).
                vegas_beta: f64, only(|n| n.is_finite() && n >= 0.0, "{n} is not a number of segments")
                    => beta: f64 = 3.0, "as ns-2";
                /// Vegas: leave slow start above this many extra segments in the network (ns-2
                /// v_gamma: 1).
                vegas_gamma: f64, only(|n| n.is_finite() && n >= 0.0, "{n} is not a number of segments")
                    => gamma: f64 = 1.0, "as ns-2";
                /// Vegas' retransmission timer: `coarse` (the ordinary RTO) or `fine` (the
                /// fine-grained timeout, no minimum).
                vegas_rto: VegasRto, word
                    => rto: VegasRto = VegasRto::Coarse, "as ns-2";
                /// What Vegas' baseRTT starts from: the absolute `clock` at the first ACK (ns-2) or
                /// the first `sample`.
                vegas_base_start: VegasBaseStart, word
                    => base_start: VegasBaseStart = VegasBaseStart::Sample, "the consistent reading";
                /// Whether the deciding ACK's RTT sample is counted `after-decision` (ns-2) or
                /// `before-decision`.
                vegas_sample_order: VegasSampleOrder, word
                    => sample_order: VegasSampleOrder = VegasSampleOrder::AfterDecision, "as ns-2";
                /// The implementation of Vegas: `ns2` or `linux` (once per round by the smallest
                /// round trip; ns-3's too).
                vegas_reading: VegasReading, word
                    => reading: VegasReading = VegasReading::Ns2, "as ns-2";
            }
            /// Parameters of CUBIC.
            cubic: CubicOptions, CubicConfig of controls {
                /// The implementation of CUBIC: `rfc9438` or `linux` (whole segments, computed at
                /// most every 1/32 s).
                cubic_reading: CubicReading, word
                    => reading: CubicReading = CubicReading::Rfc9438, "RFC 9438";
                /// CUBIC: factor of the window after a loss, 0.1 to 0.99 (RFC 9438: 0.7; Linux
                /// before 2.6.26: 0.8).
                cubic_beta: f64, only(|n| (0.1..=0.99).contains(&n), "{n} is outside 0.1 to 0.99")
                    => beta: f64 = 0.7, "RFC 9438 section 4.6";
                /// CUBIC: C in segments/s^3, above 0 and at most 10 (RFC 9438: 0.4).
                cubic_c: f64, only(|n| n > 0.0 && n <= 10.0, "{n} is not above 0 and at most 10 segments/s^3")
                    => c: f64 = 0.4, "RFC 9438 section 5.1";
                /// CUBIC: a loss below the last maximum lowers it further (RFC 9438 section 4.7).
                cubic_fast_convergence: bool, any
                    => fast_convergence: bool = true, "RFC 9438 section 4.7";
                /// CUBIC: never slower than Reno (RFC 9438 section 4.3).
                cubic_friendliness: bool, any
                    => friendliness: bool = true, "RFC 9438 section 4.3";
            }
            /// Explicit congestion notification.
            ecn: EcnOptions, EcnConfig {
                /// With Reno and CUBIC a congestion mark reduces the window less than a loss does
                /// (RFC 8511).
                abe: bool, any
                    => abe: bool = false, "RFC 8511 is experimental";
                /// With `abe`: factor of the window after a mark, 0.5 to 1 (RFC 8511: 0.8 for Reno,
                /// 0.85 for CUBIC).
                abe_beta: f64, by(
                    |c, beta| {
                        if !(0.5..=1.0).contains(&beta) {
                            return Err(format!("{beta} is outside 0.5 to 1"));
                        }
                        c.ecn.abe_beta = AbeBeta { reno: beta, cubic: beta };
                        Ok(())
                    },
                    |c| format!("{} (reno), {} (cubic)", c.ecn.abe_beta.reno, c.ecn.abe_beta.cubic)
                )
                    => abe_beta: AbeBeta = AbeBeta { reno: 0.8, cubic: 0.85 }, "RFC 8511 section 3.1";
                /// Explicit congestion notification (RFC 3168), Linux' `tcp_ecn`: `off` (0), `on`
                /// (1: request and accept), `passive` (2: accept only), `accurate` (3: request
                /// AccECN, RFC 9768), `accurate-in` (4: accept AccECN, request RFC 3168) or
                /// `accurate-passive` (5: accept AccECN, request nothing). `cc = "dctcp"` requests
                /// it by itself.
                ecn: EcnMode, word
                    => mode: EcnMode = EcnMode::Off, "RFC 3168 leaves it open";
                /// When the AccECN option is sent, Linux' `tcp_ecn_option`: `off` (0), `minimum`
                /// (1: when counters change, and three times a round trip) or `full` (2: in every
                /// segment; data segments keep 12 octets for it).
                accecn_option: AccEcnOption, word
                    => accecn_option: AccEcnOption = AccEcnOption::Full,
                    "RFC 9768 section 3.2.3 recommends it";
                /// Send data as ECT(1), for the low-latency queue of `dualpi2` (RFC 9331), instead
                /// of ECT(0). It needs a congestion control that responds to the share of marks:
                /// `dctcp`, or `prague`, which requests it by itself.
                l4s: bool, any
                    => l4s: bool = false, "RFC 9331 is experimental";
            }
            /// Mistakes on purpose.
            mistakes: MistakeOptions, MistakeConfig {
                /// For tests of test suites only: a built-in control breaks a rule of its document
                /// (`forgotten-cut`, `no-undo`, ...). `lasthop judge --mutants` sets it;
                /// `lasthop run` refuses it.
                mutant: Mutant, word or "none"
                    => mutant: Option<Mutant> = None, "a control obeys its document";
            }
            /// Parameters of several algorithms.
            readings: ReadingOptions, ReadingConfig {
                /// What ends CUBIC's slow start before a loss: `none`, `linux` (HyStart), `ns3`
                /// (HyStart as ns-3 has it) or `rfc9406` (HyStart++).
                hystart: HyStartKind, word
                    => hystart: HyStartKind = HyStartKind::None, "RFC 9438 section 4.10 allows RFC 9406";
                /// The reading of algorithms without a standard: `paper`, or `linux` with Linux'
                /// arithmetic (Hybla starts with rho segments, LP takes delays from timestamps,
                /// Veno and YeAH measure the base round trip anew after idle times).
                cc_reading: CcReading, word
                    => cc_reading: CcReading = CcReading::Paper, "the papers: no RFC";
            }
            /// Parameters of Westwood.
            westwood: WestwoodOptions, WestwoodConfig of controls {
                /// The implementation of Westwood: `paper` or `linux` (one sample per round trip,
                /// the window set when recovery ends).
                westwood_reading: WestwoodReading, word
                    => reading: WestwoodReading = WestwoodReading::Paper, "the papers: no RFC";
                /// How Westwood counts two ACKs at the same instant: a sample of `zero`, `skip` it,
                /// or `merge` it with the next.
                zero_interval: ZeroInterval, word
                    => zero_interval: ZeroInterval = ZeroInterval::Zero, "D2D study section 1.4";
            }
            /// Parameters of the controls that use capacity hints.
            hint: HintOptions, HintConfig of controls {
                /// `radio-aware`: the algorithm that controls the window while there are no
                /// reliable hints: any built-in one except `radio-aware`.
                hint_base: CcName, word
                    => base: CcName = CcName::Reno, "the contribution's \"normal\" TCP; no RFC";
                /// `radio-aware`: the round trip from which the window is computed, `min` (of the
                /// last 10 s), `srtt` (smoothed) or `predicted` (smoothed, less the time that the
                /// reported queue takes at the reported rate).
                hint_rtt: HintRtt, word
                    => rtt: HintRtt = HintRtt::Min,
                    "no RFC: a round trip with queueing would count the queue twice";
                /// `radio-aware`: the window has the queue term gain * (threshold - queue).
                hint_queue_term: bool, any
                    => queue_term: bool = true, "no RFC: TR 36.933's contribution";
                /// `radio-aware`: the layer-2 queue aimed at, up to 1 GiB.
                hint_queue_threshold: Bytes, octets(0..=1 << 30)
                    => queue_threshold: u64 = 30_000, "no RFC: half a buffer of 60 kB";
                /// `radio-aware`: gain of the queue term, above 0 and at most 10.
                hint_gain: f64, only(|n| n > 0.0 && n <= 10.0, "{n} is not above 0 and at most 10")
                    => gain: f64 = 1.0, "no RFC: TR 36.933's contribution, reconstructed";
                /// `radio-aware`: age of the newest reading from which the base algorithm controls
                /// the window, above 0 s. Unset: a smoothed round trip, at least 2.5 periods of the
                /// hints.
                hint_timeout: Duration, only(|d| !d.is_zero(), "no reading is younger than 0 s")
                    or "a smoothed round trip, at least 2.5 periods"
                    => timeout: Option<Duration> = None, "no RFC value";
            }
            /// Parameters of Hybla.
            hybla: HyblaOptions, HyblaConfig of controls {
                /// Hybla: the round trip whose growth is imitated, above 0 s (Linux 25 ms, ns-3 50
                /// ms).
                hybla_rtt0: Duration, only(|d| !d.is_zero(), "a round trip of 0 s has no growth to imitate")
                    => rtt0: Duration = Duration::from_millis(25), "Caini and Firrincieli 2004";
            }
        }
    };
}
