//! Proportional rate reduction: RFC 6937 section 3.1's figures, RFC 9937.

use gigatcp_tcp::events::Phase;
use gigatcp_tcp::profile::{EcnMode, InitialWindow, PrrRule};

use crate::script::{Script, with};

/// The situation of the figures: twenty segments in flight; the first two
/// acknowledgments release one new segment each, so that half of the flight is
/// 11; from the third on there is plenty to send.
struct Figure {
    t: Script,
    acknowledged: u64,
}

impl Figure {
    fn new(prr: Option<PrrRule>) -> Self {
        let config = with(|p| {
            p.recovery.sack = true;
            p.recovery.prr = prr;
            p.options.window_scaling = true;
            p.recovery.rescue_retransmission = false;
            p.congestion.initial_window = InitialWindow::Segments(22);
        });
        let mut t = Script::established(&config);
        t.inject(". 1:1(0) ack 1");
        t.write(20_000);
        assert_eq!(t.leaving().len(), 20);
        Self { t, acknowledged: 0 }
    }

    /// The acknowledgment that segment `n` causes while `first` is the first
    /// that arrived; gives what leaves, new (`N`) or again (`R`).
    fn acknowledge(&mut self, first: u64, n: u64) -> String {
        let (from, to) = (1 + first * 1000, 1001 + n * 1000);
        self.t.inject(&format!(". 1:1(0) ack 1 <sack {from}:{to}>"));
        self.acknowledged += 1;
        match self.acknowledged {
            1 | 2 => self.t.write(1000),
            3 => {
                let sent = self.sent();
                self.t.write(60_000);
                return sent + &self.sent();
            }
            _ => {}
        }
        self.sent()
    }

    fn sent(&mut self) -> String {
        let una = self.t.tcp.info().snd_una;
        let sent = self.t.leaving().into_iter().map(|segment| {
            let offset = segment.seq.distance_from(crate::script::ISS) as u64;
            if offset < una + 20_000 { 'R' } else { 'N' }
        });
        sent.collect()
    }
}

/// What leaves for each of the acknowledgments 1 to 19 of a single loss.
fn single_loss(prr: Option<PrrRule>) -> Vec<String> {
    let mut figure = Figure::new(prr);
    (1..20).map(|n| figure.acknowledge(1, n)).collect()
}

/// The same for 15 to 19 where 0 to 14 are lost.
fn fifteen_losses(prr: Option<PrrRule>) -> Vec<String> {
    let mut figure = Figure::new(prr);
    (15..20).map(|n| figure.acknowledge(15, n)).collect()
}

fn row(text: &str) -> Vec<String> {
    let words = text.split_whitespace();
    words.map(|word| word.replace('.', "")).collect()
}

#[test]
fn a_single_loss_with_rfc_6675_as_the_figure_draws_it() {
    let figure = "N N R . . . . . . . . N N N N N N N N";
    assert_eq!(single_loss(None), row(figure));
}

#[test]
fn a_single_loss_with_prr_as_the_figure_draws_it() {
    let figure = "N N R . N . N . N . N . N . N . . N N";
    for rule in [PrrRule::Conservative, PrrRule::SlowStart] {
        assert_eq!(single_loss(Some(rule)), row(figure), "{rule:?}");
    }
}

#[test]
fn a_single_loss_with_rfc_9937_sends_as_much_in_all() {
    let sent = single_loss(Some(PrrRule::SafeAck));
    assert_eq!(sent.concat().len(), 11);
    assert!(sent.iter().all(|sent| sent.len() <= 1), "{sent:?}");
}

#[test]
fn fifteen_losses_with_rfc_6675_as_the_figure_draws_it() {
    assert_eq!(fifteen_losses(None), row("N N RRRRRRR R R"));
}

#[test]
fn fifteen_losses_with_prr_and_each_bound_as_the_figure_draws_it() {
    let conservative = fifteen_losses(Some(PrrRule::Conservative));
    assert_eq!(conservative, row("N N R R R"));
    let slow_start = fifteen_losses(Some(PrrRule::SlowStart));
    assert_eq!(slow_start, row("N N RR RR RR"));
}

#[test]
fn an_acknowledgment_that_advances_without_new_loss_releases_one_more() {
    // RFC 9937, SafeACK.
    for (rule, released) in [(PrrRule::SafeAck, 2), (PrrRule::Conservative, 1)] {
        let mut figure = Figure::new(Some(rule));
        for n in 15..20 {
            figure.acknowledge(15, n);
        }
        figure.t.inject(". 1:1(0) ack 1001 <sack 15001:20001>");
        assert_eq!(figure.t.leaving().len(), released, "{rule:?}");
    }
}

#[test]
fn without_sack_the_reduction_is_spread_over_the_duplicates_and_ends_without_a_burst() {
    for window in 8..=100_u64 {
        let mut config = with(|p| p.recovery.prr = Some(PrrRule::SafeAck));
        config.transport_mut().profile.options.window_scaling = true;
        config.transport_mut().profile.congestion.initial_window =
            InitialWindow::Segments(window as u32);
        let mut t = Script::established(&config);
        t.inject(". 1:1(0) ack 1");
        t.write(window as usize * 10_000);
        assert_eq!(t.leaving().len() as u64, window);
        let (mut sent, mut most) = (0, 0);
        for _ in 1..window {
            t.inject(". 1:1(0) ack 1");
            let now = t.leaving().len();
            most = most.max(now);
            sent += now as u64;
        }
        assert!(most <= 2, "W = {window}: {most} at once");
        assert!(sent <= 1 + window / 2, "W = {window}: {sent} in all");
        assert!(sent >= window / 2 - 1, "W = {window}: {sent} in all");
        t.inject(&format!(". 1:1(0) ack {}", 1 + window * 1000));
        assert_eq!(t.tcp.info().phase, Phase::Open);
        let burst = t.leaving().len();
        assert!(burst <= 2, "W = {window}: {burst} at the end");
    }
}

#[test]
fn after_a_timeout_slow_start_sends_and_not_prr() {
    let mut figure = Figure::new(Some(PrrRule::SafeAck));
    for n in 15..18 {
        figure.acknowledge(15, n);
    }
    figure.t.wait_ms(200);
    figure.t.expect(". 1:1001(1000) ack 1");
    figure.t.inject(". 1:1(0) ack 1001 <sack 15001:18001>");
    assert_eq!(figure.t.leaving().len(), 2);
}

#[test]
fn a_notification_that_finds_nothing_in_flight_leaves_no_reduction_behind() {
    // The acknowledgment that ends one reduction begins the next: with nothing
    // in flight none would come to release anything more.
    let config = with(|p| {
        p.recovery.prr = Some(PrrRule::SafeAck);
        p.ecn.mode = EcnMode::Classic;
        p.acknowledgments.delayed_ack = false;
    });
    let mut t = Script::connect(&config);
    t.leaving();
    t.inject("SE. 0:0(0) ack 1 <mss 1000>");
    t.leaving();
    for _ in 0..3 {
        t.write(1);
        assert_eq!(t.leaving().len(), 1);
    }
    t.inject("E. 1:1(0) ack 2");
    assert_eq!(t.tcp.info().phase, Phase::Cwr);
    t.write(3);
    assert_eq!(t.leaving().len(), 1);
    t.inject("E. 1:1(0) ack 7");
    assert_eq!(t.tcp.info().phase, Phase::Cwr);
    let cwnd = t.cwnd();
    t.write(10_000);
    assert_eq!(t.leaving().len() as f64, cwnd);
}
