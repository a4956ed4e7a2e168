//! Named features of a round: the numbers that distinguish causes.
//!
//! A feature is a quantity with a unit and a few knots. Between two knots its weight is
//! interpolated, beyond the outer ones it stays constant. So a small change of a measure is a small
//! change of a score. An unknown feature adds nothing.

use gigatcp_flows::{Kind, Side};
use gigatcp_units::Duration;

use crate::episode::RecoveryEpisode;
use crate::measures::{Measures, ratio};
use crate::round::{Round, State};
use Feature as F;

/// Declares features: variant, name, meaning with unit, and knots.
macro_rules! features {
    ($($variant:ident $name:literal $meaning:literal [$($knot:literal),+])*) => {
        /// A feature of a round.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = $meaning] $variant,)*
        }

        impl Feature {
            /// Every feature, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Its meaning, with its unit.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// Values at which its weights are defined; between them they are interpolated.
            #[must_use]
            pub const fn knots(self) -> &'static [f64] {
                match self { $(Self::$variant => &[$($knot),+],)* }
            }
        }
    };
}

features! {
    // The receive window.
    WindowWait "window_wait" "Share of the round with a full receive window." [0.0, 0.02, 0.1, 0.3, 0.6, 0.9]
    WindowFill "window_fill" "Flight over the smallest window of the round." [0.3, 0.6, 0.8, 0.9, 0.97, 1.0]
    WindowLow "window_low" "Smallest window of the round over the largest before." [0.0, 0.1, 0.3, 0.6, 0.85, 1.0]
    WindowStill "window_still" "Minimum RTTs in which the right window edge did not advance." [0.0, 0.5, 1.0, 2.0, 5.0, 20.0]
    WindowOfPath "window_of_path" "Smallest window over capacity times minimum RTT." [0.1, 0.3, 0.7, 1.0, 1.5, 3.0]
    WindowMean "window_mean" "Mean window of the round over the largest before." [0.0, 0.1, 0.3, 0.6, 0.85, 1.0]
    // The path.
    Queue "queue" "Added RTT, in minimum RTTs." [0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 3.0]
    QueueOfMax "queue_of_max" "Added RTT over the largest added RTT." [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    QueueSteps "queue_steps" "Added RTT over the smallest that counts as a queue." [0.0, 0.3, 0.7, 1.0, 2.0, 5.0]
    StandingQueue "standing_queue" "Smallest added RTT of the round, in minimum RTTs." [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]
    QueueMax "queue_max" "Largest added RTT of the connection, in minimum RTTs." [0.0, 0.02, 0.06, 0.15, 0.4, 1.0, 4.0]
    QueueMaxTime "queue_max_time" "The same as a decimal logarithm of milliseconds." [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    LineUse "line_use" "Delivery rate around the round over the bottleneck rate." [0.1, 0.4, 0.7, 0.85, 0.95, 1.02, 1.1]
    TrainUse "train_use" "Delivery rate around the round over that of trains of close packets." [0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.05]
    RateOfPeak "rate_of_peak" "Delivery rate around the round over its ninth decile." [0.1, 0.4, 0.7, 0.85, 0.95, 1.05]
    PeakOfLine "peak_of_line" "Ninth decile of the delivery rates over the bottleneck rate." [0.2, 0.5, 0.8, 0.95, 1.05]
    MeanOfCapacity "mean_of_capacity" "Mean delivery rate over the known capacity." [0.05, 0.2, 0.5, 0.8, 0.95]
    DataDelay "data_delay" "Mean delay of data before the capture point, in minimum RTTs." [0.0, 0.05, 0.2, 0.5, 1.0, 3.0]
    DataLate "data_late" "Smallest delay of data before the capture point in the round, in minimum RTTs." [0.0, 0.02, 0.06, 0.2, 0.5, 1.0, 3.0]
    DataLateTime "data_late_time" "The same as a decimal logarithm of milliseconds." [-1.0, 0.3, 1.0, 2.0, 3.0]
    ForthShare "forth_share" "Share of the queue that the data has met up to here." [0.0, 0.3, 0.6, 0.9]
    BackShare "back_share" "Share of the queue that the ACKs have met up to here." [0.0, 0.3, 0.6, 0.9]
    PairDataDelay "pair_data_delay" "Mean delay of data between two captures above its minimum, in minimum RTTs." [0.0, 0.02, 0.06, 0.15, 0.4, 1.0, 3.0]
    PairAckLoss "pair_ack_loss" "The same of ACKs." [-6.0, -3.0, -2.0, -1.0, -0.3, 0.0]
    TurnDelay "turn_delay" "Added turnaround to the sender and back, in minimum RTTs." [0.0, 0.01, 0.03, 0.1, 0.3, 1.0]
    Ethernet "ethernet" "Whether segments come at exactly the rate of an Ethernet." [0.0, 1.0]
    // The sender.
    Busy "busy" "Share of the round in which segments follow each other closely." [0.0, 0.2, 0.5, 0.7, 0.85, 0.95, 1.0]
    Clocked "clocked" "Share of the bytes that left as the answer to an ACK." [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    Dry "dry" "Share of the time around in which there was nothing to send." [0.0, 0.05, 0.15, 0.3, 0.5, 0.8]
    Woken "woken" "Pauses that an ACK ended, above what chance does." [-0.2, 0.0, 0.2, 0.5, 0.8]
    FlightSpread "flight_spread" "Variation of the flight over nine rounds." [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8]
    FlightGrowth "flight_growth" "Growth of the flight, doublings for each RTT." [-0.5, -0.1, -0.02, 0.0, 0.02, 0.1, 0.5, 1.0]
    FlightOfMax "flight_of_max" "Flight over the largest of the connection." [0.05, 0.2, 0.5, 0.8, 0.95, 1.0]
    FlightSegments "flight_segments" "Binary logarithm of the flight in segments." [0.0, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0]
    Avoidance "avoidance" "Growth of the flight in segments for each RTT." [0.0, 0.1, 0.4, 0.8, 1.2, 2.5]
    Small "small" "Share of the packets that are no full segment." [0.0, 0.05, 0.2, 0.5, 1.0]
    Bunched "bunched" "Share of the packets that left at once with the one before, without an ACK." [0.0, 0.05, 0.15, 0.25, 0.5]
    FreeStarts "free_starts" "Of the pauses, those that no ACK ended." [0.0, 0.25, 0.5, 0.75, 1.0]
    Starts "starts" "Pauses for each round." [0.0, 0.1, 0.3, 1.0, 3.0]
    SamePace "same_pace" "Share of the rounds that keep the median pace." [0.0, 0.3, 0.6, 0.8, 0.95]
    PaceOfLine "pace_of_line" "Median pace over the bottleneck rate." [0.2, 0.5, 0.8, 0.9, 0.97, 1.03]
    PaceOfRate "pace_of_rate" "Median pace over the delivery rate around the round." [0.9, 1.0, 1.1, 1.5, 3.0]
    BurstVariation "burst_variation" "Variation of the rate from burst to burst." [0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 2.0]
    BurstOfLine "burst_of_line" "Mean rate from burst to burst over the bottleneck rate." [0.2, 0.5, 0.8, 0.95, 1.05, 1.5]
    GapVariation "gap_variation" "Variation of the time per byte between packets." [0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    FlightLow "flight_low" "Smallest flight after an ACK over the largest." [0.0, 0.3, 0.6, 0.8, 0.9, 1.0]
    FlightMean "flight_mean" "Mean flight over the largest." [0.1, 0.4, 0.7, 0.85, 0.95, 1.0]
    // ACKs.
    AckStretch "ack_stretch" "Binary logarithm of the segments for each ACK." [0.0, 1.0, 2.0, 3.0, 4.0, 5.5]
    AckGaps "ack_gaps" "Variation of the time between ACKs." [0.1, 0.3, 0.6, 1.0, 2.0, 4.0]
    AckEven "ack_even" "Variation of the gaps between ACKs over that of what they acknowledge." [0.0, 0.3, 0.5, 0.8, 1.2, 3.0]
    AckBursts "ack_bursts" "Share of the ACKs at once behind another." [0.0, 0.1, 0.3, 0.6, 0.9]
    AckMax "ack_max" "Binary logarithm of the segments that one ACK acknowledged at most." [0.0, 1.0, 2.0, 4.0, 6.0]
    NothingAcked "nothing_acked" "Whether no data was ever acknowledged." [0.0, 1.0]
    // The loss event before this round.
    AnyLoss "any_loss" "Whether a loss event came before." [0.0, 1.0]
    SinceLoss "since_loss" "Binary logarithm of the RTTs since it began." [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    LossQueue "loss_queue" "Added RTT before the loss, in minimum RTTs." [0.0, 0.02, 0.06, 0.12, 0.25, 0.5, 1.0, 3.0]
    LossFill "loss_fill" "Flight at the loss over what bottleneck and queue hold." [0.2, 0.5, 0.8, 0.92, 1.05, 1.3, 2.0]
    LossTight "loss_tight" "Whether the gap took no time behind the bottleneck." [0.0, 1.0]
    LossLoose "loss_loose" "Whether the gap took some time." [0.0, 1.0]
    LossEndsBurst "loss_ends_burst" "Whether the end of a burst was lost." [0.0, 1.0]
    LossShare "loss_share" "Binary logarithm of the retransmissions over the flight." [-10.0, -7.0, -5.0, -3.0, -2.0, -1.0, 0.0]
    LossRow "loss_row" "Binary logarithm of the longest run lost, in segments." [0.0, 1.0, 2.0, 3.0, 5.0, 7.0]
    LossSpurious "loss_spurious" "Share of the retransmissions that were not needed." [0.0, 0.1, 0.5, 1.0]
    LossFrozen "loss_frozen" "Minimum RTTs in which the window edge had not advanced." [0.0, 0.5, 1.0, 2.0, 5.0]
    LossOpen "loss_open" "Whether it was not repaired before the capture ended." [0.0, 1.0]
    LossLength "loss_length" "Binary logarithm of the RTTs that recovery took." [0.0, 1.0, 2.0, 3.0, 5.0, 8.0]
    LossTimeouts "loss_timeouts" "Retransmission timeouts in it." [0.0, 1.0, 2.0, 3.0, 5.0]
    // All loss events.
    Evenness "evenness" "Lower over upper quartile of the flights at losses." [0.2, 0.4, 0.6, 0.75, 0.85, 0.95, 1.0]
    RateVariation "rate_variation" "Variation of the rate from loss to loss." [0.0, 0.05, 0.1, 0.15, 0.2, 0.4, 0.8]
    AmountVariation "amount_variation" "Variation of the amount from loss to loss." [0.0, 0.1, 0.2, 0.4, 0.8, 1.2]
    IntervalVariation "interval_variation" "Variation of the time from loss to loss." [0.0, 0.1, 0.2, 0.4, 0.8, 1.2]
    Rows "rows" "Share of the loss events with several segments." [0.0, 0.2, 0.45, 0.7, 1.0]
    QueuedLosses "queued_losses" "Share of the loss events with a queue near its maximum." [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    TightShare "tight_share" "Share of the gaps that took no time." [0.0, 0.1, 0.2, 0.5, 0.9]
    LooseShare "loose_share" "Share of the gaps that took some time." [0.0, 0.1, 0.5, 0.8, 1.0]
    FillMedian "fill_median" "Median flight at losses over what bottleneck and queue hold." [0.2, 0.5, 0.8, 0.92, 1.05, 1.3, 2.0]
    QueueEven "queue_even" "Lower over upper quartile of the queues before losses." [0.0, 0.2, 0.4, 0.6, 0.8, 0.95]
    FillLow "fill_low" "Lower quartile of the flights at losses over what bottleneck and queue hold." [0.2, 0.5, 0.8, 0.92, 1.05, 1.3, 2.0]
    QueueLow "queue_low" "Lower quartile of the queues before losses, of the longest." [0.0, 0.2, 0.4, 0.55, 0.7, 0.9]
    Crowding "crowding" "Log likelihood ratio of losses in longer queues than around." [-6.0, -2.0, 0.0, 2.6, 4.5, 10.0]
    BurstPassed "burst_passed" "Share of the loss burst at the end of slow start that arrived." [0.1, 0.3, 0.42, 0.46, 0.5, 0.54, 0.7]
    LaterLosses "later_losses" "Binary logarithm of the loss events after the first." [0.0, 1.0, 2.0, 3.0, 5.0, 7.0]
    LossRate "loss_rate" "Decimal logarithm of the share of retransmissions." [-6.0, -5.0, -4.0, -3.0, -2.0, -1.0]
    TimeoutsPerLoss "timeouts_per_loss" "Retransmission timeouts for each loss event." [0.0, 0.2, 0.5, 1.0, 3.0]
    SpuriousShare "spurious_share" "Share of all retransmissions that were not needed." [0.0, 0.1, 0.3, 0.6, 1.0]
    SharedQueue "shared_queue" "Queue before losses that the flow alone would not fill, in minimum RTTs." [0.0, 0.1, 0.25, 0.5, 1.0]
    MeterRate "meter_rate" "Rate of the best token bucket over the bottleneck rate." [0.1, 0.5, 0.8, 0.87, 0.95, 1.05]
    MeterOver "meter_over" "Share of what passed although that bucket was as empty." [0.0, 0.05, 0.15, 0.3, 0.6]
    MeterSpread "meter_spread" "Variation of its level at losses." [0.0, 0.1, 0.2, 0.4, 0.8]
    MeterDelay "meter_delay" "Queue before losses over what a queue of its depth adds." [0.0, 0.15, 0.33, 0.6, 1.0]
    // Requests and responses.
    Exchanges "exchanges" "Binary logarithm of the requests that were answered." [0.0, 1.0, 2.0, 4.0, 7.0]
    ClientThink "client_think" "Share of the time in which the client thinks." [0.0, 0.1, 0.3, 0.5, 0.8]
    ServerThink "server_think" "Share of the time in which the server thinks." [0.0, 0.1, 0.3, 0.5, 0.8]
    ExchangeTrips "exchange_trips" "Share of the time that RTTs of exchanges take." [0.0, 0.1, 0.3, 0.5, 0.8]
    ExchangeTransfer "exchange_transfer" "Share of the time in which requests and responses are transferred." [0.0, 0.1, 0.3, 0.5, 0.8]
    IdleClient "idle_client" "Share of the idle time in which the client had not asked." [0.0, 0.2, 0.5, 0.8, 1.0]
    IdleServer "idle_server" "Share of the idle time in which the server had been asked." [0.0, 0.2, 0.5, 0.8, 1.0]
    IdleFree "idle_free" "Share of the idle time that ended with data and no request." [0.0, 0.2, 0.5, 0.8, 1.0]
    IdleAgain "idle_again" "Share of the idle time that ended with a retransmission of what was acknowledged." [0.0, 0.2, 0.5, 0.8, 1.0]
    Mixed "mixed" "Share of the turns that began before the other side's data had arrived." [0.0, 0.1, 0.5, 1.0]
    // The round and the connection.
    TimeoutShare "timeout_share" "Share of the round in which a retransmission timer ran." [0.0, 0.1, 0.5, 0.9]
    IdleShare "idle_share" "Share of the round with nothing in flight." [0.0, 0.1, 0.3, 0.6, 0.9]
    IdleTime "idle_time" "Decimal logarithm of that time in minimum RTTs." [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    HiddenLoss "hidden_loss" "Whether an idle time seems to be one of losses before the capture point." [0.0, 1.0]
    Missing "missing" "Binary logarithm of the packets that did not pass here, by IPv4 identification." [0.0, 1.0, 2.0, 3.0, 5.0, 8.0]
    SuperSegments "super_segments" "Whether packets of several segments were captured." [0.0, 1.0]
}

/// Number of features.
pub const FEATURES: usize = Feature::ALL.len();

/// The features of one round; unknown ones are NaN.
#[derive(Clone, Copy, Debug)]
pub struct Features(pub [f32; FEATURES]);

impl Features {
    const UNKNOWN: Self = Self([f32::NAN; FEATURES]);

    fn set(&mut self, feature: Feature, value: f64) {
        debug_assert!(
            !value.is_infinite(),
            "a feature is finite or unknown: {feature:?} {value}"
        );
        self.0[feature as usize] = value as f32;
    }

    fn set_if(&mut self, feature: Feature, value: Option<f64>) {
        if let Some(value) = value {
            self.set(feature, value);
        }
    }

    /// A feature; `None` if it is unknown.
    #[must_use]
    pub fn value(&self, feature: Feature) -> Option<f64> {
        let value = f64::from(self.0[feature as usize]);
        (!value.is_nan()).then_some(value)
    }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn trips(time: Duration, m: &Measures<'_>) -> f64 {
    time.as_secs_f64() / m.base.as_secs_f64().max(1e-6)
}

/// Binary logarithm of a value, at least that of `min`.
fn log2(value: f64, min: f64) -> f64 {
    libm::log2(value.max(min))
}

fn log10(value: f64, min: f64) -> f64 {
    libm::log10(value.max(min))
}

/// Features of every round.
pub(crate) fn of_rounds(m: &Measures<'_>) -> alloc::vec::Vec<Features> {
    let mut common = Features::UNKNOWN;
    connection(m, &mut common);
    pair(m, &mut common);
    pattern(m, &mut common);
    exchange(m, &mut common);
    let round = |index| {
        let mut features = common;
        window(m, index, &mut features);
        path(m, index, &mut features);
        sender(m, index, &mut features);
        acks(m, index, &mut features);
        times(m, index, &mut features);
        loss(m, index, &mut features);
        features
    };
    (0..m.rounds.len()).map(round).collect()
}

fn connection(m: &Measures<'_>, f: &mut Features) {
    f.set(F::NothingAcked, flag(!m.has_acks()));
    f.set(F::QueueMax, trips(m.queue_max, m));
    let ms = m.queue_max.as_secs_f64() * 1e3;
    f.set(F::QueueMaxTime, log10(ms, 0.01));
    f.set_if(F::PeakOfLine, m.sending.peak_of_line);
    f.set(F::SamePace, m.sending.same_pace);
    let pace = m.sending.pace.zip(m.line);
    f.set_if(F::PaceOfLine, pace.map(|(pace, line)| ratio(pace, line)));
    let mean = ratio(m.mean_rate(), m.capacity.bytes_per_second);
    f.set(F::MeanOfCapacity, mean);
    f.set(F::SuperSegments, flag(m.data().has_super_segments()));
    f.set_if(F::Woken, m.sender_view.pauses.woken_above_chance());
}

/// Features of the whole connection from two captures.
fn pair(m: &Measures<'_>, f: &mut Features) {
    let Some(pair) = m.pair else { return };
    let share = |(seen, lost): (u64, u64)| log10(ratio(lost as f64, seen as f64), 1e-6);
    f.set(Feature::PairAckLoss, share(pair.between.acknowledgments()));
}

fn pattern(m: &Measures<'_>, f: &mut Features) {
    if m.losses.is_empty() {
        f.set(F::AnyLoss, 0.0);
        return;
    }
    let p = &m.pattern;
    f.set_if(F::Evenness, p.evenness);
    f.set_if(F::RateVariation, p.rate_variation);
    f.set_if(F::AmountVariation, p.amount_variation);
    f.set_if(F::IntervalVariation, p.interval_variation);
    f.set(F::QueuedLosses, p.queued);
    f.set_if(F::TightShare, p.tight);
    f.set_if(F::LooseShare, p.loose);
    f.set_if(F::FillMedian, p.fill);
    f.set_if(F::QueueEven, p.queue_even);
    f.set_if(F::FillLow, p.fill_low);
    f.set_if(F::QueueLow, p.queue_low);
    f.set_if(F::Crowding, p.crowding);
    f.set_if(F::BurstPassed, p.burst_passed);
    f.set(F::LaterLosses, log2(p.later as f64 + 1.0, 1.0));
    if p.later > 0 {
        f.set(F::Rows, p.rows);
    }
    f.set(F::LossRate, log10(p.loss_rate, 1e-6));
    f.set(F::TimeoutsPerLoss, p.timeouts);
    f.set(F::SpuriousShare, p.spurious);
    f.set(F::SharedQueue, p.shared_queue.unwrap_or(0.0));
    if let Some(meter) = m.meter {
        f.set(F::MeterRate, meter.rate);
        f.set(F::MeterOver, meter.over);
        f.set(F::MeterSpread, meter.spread);
        f.set(F::MeterDelay, meter.delay);
    }
}

fn exchange(m: &Measures<'_>, f: &mut Features) {
    let exchange = m.exchange;
    let [client, server] = Side::BOTH.map(|side| exchange.turns(side));
    let count = exchange.exchanges();
    f.set(F::Exchanges, log2(f64::from(count), 1.0));
    let elapsed = exchange.elapsed().as_secs_f64();
    if count < 2 || elapsed <= 0.0 {
        return;
    }
    let share = |time: Duration| (time.as_secs_f64() / elapsed).min(1.0);
    f.set(F::ClientThink, share(client.think));
    f.set(F::ServerThink, share(server.think));
    f.set(F::ExchangeTrips, share(client.trips + server.trips));
    f.set(
        F::ExchangeTransfer,
        share(client.transfer + server.transfer),
    );
    let (mixed, _) = exchange.mixed();
    let turns = f64::from(client.count + server.count);
    f.set(F::Mixed, ratio(f64::from(mixed), turns));
}

fn window(m: &Measures<'_>, index: usize, f: &mut Features) {
    let round = &m.rounds[index];
    // If a round advertises no window, the last window applies.
    let before = m.rounds[..=index].iter().rev();
    let Some((least, _)) = before.take(16).find_map(|round| round.window) else {
        return;
    };
    let most = m.window_max[index] as f64;
    f.set(F::WindowLow, ratio(least as f64, most));
    let mean = round.window_mean();
    f.set_if(F::WindowMean, mean.map(|mean| ratio(mean as f64, most)));
    let length = round.length().as_secs_f64();
    // The remaining features require windows in bytes.
    if !m.knows_windows() {
        return;
    }
    let wait = round.spent_in(State::Window).as_secs_f64();
    f.set(F::WindowWait, ratio(wait, length));
    f.set(F::WindowStill, trips(round.still, m));
    let near = round.flight as f64 + 1.0;
    f.set(F::WindowFill, (near / (least as f64 + 1.0)).min(1.5));
    let holds = m.capacity.bytes_per_second * m.base.as_secs_f64();
    f.set(F::WindowOfPath, ratio(least as f64, holds).min(100.0));
}

fn path(m: &Measures<'_>, index: usize, f: &mut Features) {
    if let Some(queue) = m.queue(index).filter(|_| m.sees_queues()) {
        f.set(F::Queue, trips(queue, m));
        let of_max = ratio(queue.as_secs_f64(), m.queue_max.as_secs_f64());
        f.set(F::QueueOfMax, of_max);
        let steps = ratio(queue.as_secs_f64(), m.queue_step.as_secs_f64());
        f.set(F::QueueSteps, steps);
    }
    let standing = m.standing_queue(index).filter(|_| m.sees_queues());
    f.set_if(F::StandingQueue, standing.map(|queue| trips(queue, m)));
    let near = m.near_rate(index);
    f.set_if(F::LineUse, m.line.map(|line| ratio(near, line)));
    if m.train > 0.0 {
        f.set(F::TrainUse, ratio(near, m.train));
    }
    f.set(F::RateOfPeak, ratio(near, m.peak));
    f.set_if(F::DataDelay, m.data_delay(index).map(|late| trips(late, m)));
    if let Some(late) = m.data_late(index) {
        f.set(F::DataLate, trips(late, m));
        f.set(F::DataLateTime, log10(late.as_secs_f64() * 1e3, 0.1));
    }
    if let Some((forward, reverse)) = m.shares(index) {
        f.set(F::ForthShare, forward);
        f.set(F::BackShare, reverse);
    }
    if let Some((data, _)) = m.pair_delays(index) {
        f.set(F::PairDataDelay, trips(data, m));
    }
    f.set_if(F::TurnDelay, m.turn_delay(index).map(|late| trips(late, m)));
    let ethernet = m
        .ethernet
        .as_ref()
        .and_then(|ethernet| ethernet.full(index));
    f.set(F::Ethernet, flag(ethernet.is_some()));
}

fn sender(m: &Measures<'_>, index: usize, f: &mut Features) {
    let round = &m.rounds[index];
    if round.segments == 0 {
        return;
    }
    let segments = round.segments as f64;
    f.set(F::Busy, m.busy(index));
    f.set_if(F::Clocked, m.clocked(index));
    f.set(F::Dry, m.dry_share(index));
    f.set_if(F::FlightSpread, m.flight_spread(index));
    f.set_if(F::FlightGrowth, m.flight_growth(index));
    let of_max = ratio(round.flight as f64, m.sending.flight_max as f64);
    f.set(F::FlightOfMax, of_max);
    let in_segments = round.flight as f64 / m.mss() as f64;
    f.set(F::FlightSegments, log2(in_segments, 1.0));
    f.set_if(F::Avoidance, m.avoidance_growth(index));
    f.set(F::Small, round.small as f64 / segments);
    f.set(F::Bunched, round.bunched as f64 / segments);
    let starts = (round.free_starts + round.clocked_starts) as f64;
    f.set(F::Starts, starts / round.count as f64);
    if starts > 0.0 {
        f.set(F::FreeStarts, round.free_starts as f64 / starts);
    }
    f.set_if(F::BurstVariation, round.burst_rate.variation());
    let bursts = round.burst_rate.mean().zip(m.line);
    f.set_if(F::BurstOfLine, bursts.map(|(mean, line)| ratio(mean, line)));
    f.set_if(F::GapVariation, round.send_gaps.variation());
    let flight = round.flight as f64;
    f.set_if(
        F::FlightLow,
        round.flight_low.map(|low| ratio(low as f64, flight)),
    );
    f.set_if(
        F::FlightMean,
        round.flight_mean().map(|mean| ratio(mean, flight)),
    );
    let pace = m.sending.pace.map(|pace| ratio(pace, m.near_rate(index)));
    f.set_if(F::PaceOfRate, pace);
}

fn acks(m: &Measures<'_>, index: usize, f: &mut Features) {
    let round = &m.rounds[index];
    if round.acks == 0 {
        return;
    }
    let each = round.acked as f64 / m.mss() as f64 / round.acks as f64;
    f.set(F::AckStretch, log2(each, 1.0));
    f.set_if(F::AckGaps, round.ack_gaps.variation());
    let sizes = round.ack_sizes.variation().filter(|sizes| *sizes >= 0.3);
    let even = round.ack_gaps.variation().zip(sizes);
    f.set_if(F::AckEven, even.map(|(gaps, sizes)| gaps / sizes));
    f.set(
        F::AckBursts,
        ratio(round.ack_bursts as f64, round.acks as f64),
    );
    let most = round.acked_per_ack_max as f64 / m.mss() as f64;
    f.set(F::AckMax, log2(most, 1.0));
}

fn times(m: &Measures<'_>, index: usize, f: &mut Features) {
    let round = &m.rounds[index];
    let length = round.length().as_secs_f64();
    let share = |state| ratio(round.spent_in(state).as_secs_f64(), length);
    idle_turns(m, round, f);
    if m.sender_view.idents.is_counted() {
        f.set(F::Missing, log2(round.missing as f64 + 1.0, 1.0));
    }
    f.set(F::TimeoutShare, share(State::Timeout));
    f.set(F::IdleShare, share(State::Idle));
    let idle = round.spent_in(State::Idle);
    if !idle.is_zero() {
        f.set(F::IdleTime, log10(trips(idle, m), 0.01));
        f.set(F::HiddenLoss, flag(hides_loss(m, index)));
    }
}

/// Features of the turns while nothing was in flight.
fn idle_turns(m: &Measures<'_>, round: &Round, f: &mut Features) {
    let [own, peer, free, again] = [
        round.idle_own,
        round.idle_peer,
        round.idle_free,
        round.idle_again,
    ]
    .map(|time| time.as_secs_f64());
    let all = own + peer + free + again;
    if all <= 0.0 {
        return;
    }
    let (client, server) = match m.side {
        Side::Client => (own, peer),
        Side::Server => (peer, own),
    };
    f.set(F::IdleClient, client / all);
    f.set(F::IdleServer, server / all);
    f.set(F::IdleFree, free / all);
    f.set(F::IdleAgain, again / all);
}

/// Whether a loss occurred in a silence that no data of the receiver ended. Either acknowledged
/// data was retransmitted after it, so the ACK did not arrive. Or packets are missing by their
/// identifications. If identifications do not count packets: whether the sender begins with one
/// full segment after the silence, though it had more in flight before, as after a timeout (RFC
/// 5681 section 3.1).
pub(crate) fn hides_loss(m: &Measures<'_>, index: usize) -> bool {
    let round = &m.rounds[index];
    let silence = round.spent_in(State::Idle).saturating_sub(round.idle_peer);
    let is_long = silence >= Duration::from_millis(190).max(m.base);
    if is_long && round.idle_again * 2 >= silence {
        return true;
    }
    if is_long && ends_with_loss(m, round) {
        return true;
    }
    if m.sender_view.idents.is_counted() {
        return is_long && round.hidden > 0;
    }
    let Some(next) = m.rounds.get(index + 1) else {
        return false;
    };
    let earlier = m.rounds[..index].iter().rev().take(4);
    let before = earlier.map(|round| round.flight).max().unwrap_or(0);
    is_long
        && round.count == 1
        && round.sent >= m.mss()
        && round.segments <= 4
        && round.sent <= 3 * m.mss()
        && next.segments <= 4
        && before >= 3 * m.mss()
}

/// Whether recovery from a loss of several segments began within an RTT after a round.
fn ends_with_loss(m: &Measures<'_>, round: &Round) -> bool {
    let list = &m.sender_view.episodes.list;
    let next = list.partition_point(|episode| episode.at < round.end);
    let until = round.end + m.base;
    let is_seen = |episode: &RecoveryEpisode| episode.at <= until && episode.row >= 4 * m.mss();
    list.get(next).is_some_and(is_seen)
}

fn loss(m: &Measures<'_>, index: usize, f: &mut Features) {
    let Some(episode) = m.after[index] else {
        f.set(F::AnyLoss, 0.0);
        return;
    };
    f.set(F::AnyLoss, 1.0);
    let began = m.sender_view.episodes.list[episode].at;
    let since = m.rounds[index].end.saturating_since(began);
    f.set(F::SinceLoss, log2(trips(since, m), 1.0));
    let l = &m.losses[episode];
    f.set_if(F::LossQueue, l.queue_of_base);
    f.set_if(F::LossFill, l.fill);
    f.set_if(F::LossTight, l.is_tight.map(flag));
    f.set_if(F::LossLoose, l.is_loose.map(flag));
    f.set(F::LossEndsBurst, flag(l.ends_burst));
    f.set(F::LossShare, log2(l.share, 0.001));
    f.set(F::LossRow, log2(l.row, 1.0));
    f.set(F::LossSpurious, l.spurious);
    f.set(F::LossFrozen, if l.at_edge { l.frozen } else { 0.0 });
    f.set(F::LossOpen, flag(l.never_repaired));
    f.set(F::LossLength, log2(l.length, 1.0));
    f.set(F::LossTimeouts, l.timeouts);
}

/// Duplicate captures in the data direction, which no round counts.
pub(crate) fn captured_twice(m: &Measures<'_>) -> u64 {
    m.data().count_of(Kind::CapturedTwice)
}

/// Declares groups of features, which causes name.
macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident: $($feature:ident)+;)+) => {
        $($(#[$doc])* pub(crate) const $group: &[Feature] = &[$(Feature::$feature),+];)+
    };
}

groups! {
    /// Features of the receive window.
    WINDOW:
        WindowWait WindowFill WindowLow WindowStill WindowOfPath
        WindowMean;
    /// Features of queues and of the path's capacity.
    PATH:
        Queue QueueOfMax QueueSteps StandingQueue QueueMax QueueMaxTime LineUse TrainUse
        RateOfPeak PeakOfLine MeanOfCapacity Ethernet;
    /// Features of the location of a queue.
    ONE_WAY:
        DataDelay DataLate DataLateTime ForthShare BackShare TurnDelay PairDataDelay
        PairAckLoss;
    /// Features of the sending behavior.
    SENDER:
        Busy Clocked Dry Woken FlightSpread FlightGrowth FlightOfMax FlightSegments
        Avoidance Small Bunched FreeStarts Starts SamePace PaceOfLine PaceOfRate
        BurstVariation BurstOfLine GapVariation FlightLow FlightMean SuperSegments;
    /// Features of the ACKs.
    ACKS:
        AckStretch AckGaps AckEven AckBursts AckMax;
    /// Features of requests and responses.
    EXCHANGE:
        Exchanges ClientThink ServerThink ExchangeTrips ExchangeTransfer Mixed
        IdleClient IdleServer IdleFree;
    /// Features of the previous loss event.
    LOSS:
        AnyLoss SinceLoss LossQueue LossFill LossTight LossLoose LossEndsBurst LossShare
        LossRow LossSpurious LossFrozen LossOpen LossLength LossTimeouts PairAckLoss;
    /// Features of all loss events together.
    PATTERN:
        Evenness RateVariation AmountVariation IntervalVariation Rows QueuedLosses
        TightShare LooseShare FillMedian QueueEven FillLow QueueLow Crowding BurstPassed
        LaterLosses LossRate TimeoutsPerLoss SpuriousShare SharedQueue MeterRate
        MeterOver MeterSpread MeterDelay;
    /// Features of the time of a round.
    TIMES:
        TimeoutShare IdleShare IdleTime IdleAgain NothingAcked HiddenLoss
        Missing;
}
