//! Links of random simulations that are more than a rate, a FIFO and a delay.

use gigatcp_path::queue::{Entry, Parameter, REGISTRY, Settings, Value, find};
use gigatcp_path::{
    Aggregate, GilbertElliott, HopConfig, Jitter, JitterLaw, LossModel, QueueConfig, RateSource,
    Schedule, Shaper, Slot, Trace,
};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use super::draw::Draw;

/// Gives a hop a discipline, a varying rate, a varying delay, loss bursts, each sometimes.
pub fn change(draw: &mut Draw, hop: &mut HopConfig) {
    let ms = Duration::from_millis;
    if draw.chance(40) {
        hop.queue = queue(draw, hop.rate.unwrap_or(Rate::from_bps(100_000_000)));
    }
    hop.quick_start = draw.chance(50);
    if let Some(rate) = hop.rate.filter(|_| draw.chance(15)) {
        let step = |draw: &mut Draw, at| (at, times(rate, draw.magnitude(100, 10_000)));
        let (first, second) = (draw.span(ms(1), ms(500)), draw.span(ms(1), ms(5_000)));
        let steps = vec![step(draw, first), step(draw, first + second)];
        let every = draw
            .chance(50)
            .then(|| first + second + draw.span(ms(1), ms(5_000)));
        hop.rate_source = Some(RateSource::Schedule(Schedule { steps, every }));
    } else if hop.rate.is_some() && draw.chance(10) {
        hop.rate_source = Some(RateSource::Trace(trace(draw)));
    }
    if draw.chance(10) {
        hop.shaper = Some(Shaper {
            rate: Rate::from_bps(draw.magnitude(1_000_000, 2_000_000_000)),
            burst: Bytes::new(draw.magnitude(2_000, 8_000_000)),
        });
    }
    if draw.chance(10) {
        hop.aggregate = Some(Aggregate {
            packets: draw.magnitude(1, 256) as u32,
            overhead: draw.span(Duration::from_nanos(1), ms(2)),
        });
    }
    if draw.chance(10) {
        let steps = vec![(
            draw.span(ms(1), ms(2_000)),
            draw.span(Duration::from_nanos(1), ms(200)),
        )];
        hop.delay_schedule = Some(Schedule { steps, every: None });
    }
    if draw.chance(15) {
        hop.jitter = Some(Jitter {
            spread: draw.span(Duration::from_nanos(1), ms(20)),
            law: draw.pick(&[JitterLaw::Uniform, JitterLaw::Normal]),
            hold: draw.pick(&[Duration::ZERO, ms(10)]),
            overtaking: draw.chance(40),
        });
    }
    if draw.chance(10) {
        let loss = Probability::try_new(draw.magnitude(1, 300) as f64 / 1e4);
        // A burst counts packets: a single retransmission must outlast it before its sender aborts,
        // after at most 16 attempts.
        let burst = (draw.magnitude(1, 30) as f64).min(2.5);
        let chain = loss.and_then(|loss| GilbertElliott::of_bursts(loss, burst));
        hop.loss.extend(chain.map(LossModel::GilbertElliott));
    }
    let overtakes = hop.reorder.is_some() || hop.jitter.is_some_and(|jitter| jitter.overtaking);
    let mut later = Draw::new(draw.clone().next(), "slots");
    hop.slot = later
        .chance(5)
        .then(|| slot(&mut later))
        .filter(|_| !overtakes);
}

/// Slots with 2500 packets a second and more.
fn slot(draw: &mut Draw) -> Slot {
    let delay = draw.span(Duration::from_nanos(1), Duration::from_millis(20));
    Slot {
        delay,
        spread: draw.span(Duration::from_nanos(1), delay),
        law: draw.pick(&[JitterLaw::Uniform, JitterLaw::Normal, JitterLaw::Pareto]),
        packets: draw.chance(50).then(|| draw.magnitude(50, 1000)),
        bytes: draw
            .chance(20)
            .then(|| Bytes::new(draw.magnitude(100_000, 1_000_000))),
    }
}

/// A rate scaled by `thousandths`.
fn times(rate: Rate, thousandths: u64) -> Rate {
    let bps = u128::from(rate.as_bps()) * u128::from(thousandths) / 1000;
    Rate::from_bps((bps as u64).max(500_000))
}

/// A link of some Mbit/s with irregular opportunities.
fn trace(draw: &mut Draw) -> Trace {
    let mut at = 0;
    let lines: Vec<String> = (0..draw.between(5, 400))
        .map(|_| {
            at += draw.pick(&[0, 0, 0, 1, 1, 2, 10]);
            (at + 1).to_string()
        })
        .collect();
    Trace::parse(&lines.join("\n")).expect("ascending and not at zero")
}

/// Any discipline, sometimes with non-default settings.
fn queue(draw: &mut Draw, rate: Rate) -> QueueConfig {
    let entry = discipline(draw);
    let mut settings = Settings::new();
    for parameter in entry.parameters {
        if !draw.chance(25) {
            continue;
        }
        if let Some(value) = near_default(draw, parameter) {
            // A value outside the bounds leaves the setting unchanged.
            let _ = settings.set(entry.parameters, parameter.name, value);
        }
    }
    let mut queue = QueueConfig {
        discipline: entry,
        settings,
        classes: classes(entry, rate),
    };
    if (entry.check)(&queue).is_err() {
        queue.settings = Settings::new();
    }
    queue
}

/// Two classes that borrow from a third, which has nine tenths of the rate.
fn classes(entry: &Entry, rate: Rate) -> Vec<Settings> {
    if entry.class_parameters.is_empty() {
        return Vec::new();
    }
    let share = |parent: Option<u64>, own, ceil| {
        let values = [
            ("parent", parent.map(Value::Count)),
            ("rate", Some(Value::Rate(times(rate, own)))),
            ("ceil", Some(Value::Rate(times(rate, ceil)))),
        ];
        let mut settings = Settings::new();
        for (name, value) in values {
            if let Some(value) = value {
                let set = settings.set(entry.class_parameters, name, value);
                set.expect("a rate of a class");
            }
        }
        settings
    };
    vec![
        share(None, 900, 900),
        share(Some(1), 300, 900),
        share(Some(1), 500, 700),
    ]
}

/// Any discipline. CAKE and HTB, which came later, take a tenth of the draws each without one of
/// their own: the others make the worlds that they made before.
fn discipline(draw: &mut Draw) -> &'static Entry {
    const LATER: [&str; 2] = ["cake", "htb"];
    let later = LATER.get((draw.clone().next() % 10) as usize);
    let earlier = REGISTRY.iter().filter(|entry| !LATER.contains(&entry.name));
    let number = draw.between(0, earlier.clone().count() as u64 - 1) as usize;
    let drawn = earlier.clone().nth(number).expect("one of them");
    later.and_then(|name| find(name)).unwrap_or(drawn)
}

/// Half to twice the default, or the other one of two values.
fn near_default(draw: &mut Draw, parameter: &Parameter) -> Option<Value> {
    let factor = draw.between(50, 200);
    let scaled = |number: u64| number.saturating_mul(factor) / 100;
    Some(match parameter.default? {
        Value::Time(time) => Value::Time(Duration::from_nanos(scaled(time.as_nanos()))),
        Value::Octets(octets) => Value::Octets(scaled(octets)),
        Value::Count(count) => Value::Count(scaled(count)),
        Value::Number(number) => Value::Number(number * factor as f64 / 100.0),
        Value::Rate(rate) => Value::Rate(Rate::from_bps(scaled(rate.as_bps()))),
        Value::Flag(flag) => Value::Flag(!flag),
    })
}
