//! Prints the features of a connection, weighted by time: the input of the cause weights.
//!
//! Usage: `features CAPTURE...`; two captures of one connection are analyzed jointly.

use gigatcp_analyze::{Options, Source, analyze};
use gigatcp_why::features::Feature;

fn main() {
    let sources: Vec<Source> = std::env::args().skip(1).map(Source::file).collect();
    let analysis = match analyze(&sources, &Options::default()) {
        Ok(analysis) => analysis,
        Err(error) => {
            eprintln!("features: {error}");
            std::process::exit(2);
        }
    };
    let Some(answer) = analysis.answers().next() else {
        println!("no connection sent data");
        return;
    };
    println!("{}", answer.diagnosis.limited_by());
    let Some(shown) = analysis.slices(&answer) else {
        return;
    };
    let slices = shown.list;
    println!(
        "captured at the {}, {} slices",
        shown.view.name(),
        slices.len()
    );
    for state in gigatcp_why::State::ALL {
        let of = slices.iter().filter(|slice| slice.state == state);
        let time: f64 = of.map(|slice| slice.time.as_secs_f64()).sum();
        println!("  {state:?} {time:.3} s");
    }
    for feature in Feature::ALL {
        let known = slices.iter().filter_map(|slice| {
            let value = slice.features.value(*feature)?;
            Some((value, slice.time.as_secs_f64()))
        });
        let (sum, time) = known.fold((0.0, 0.0), |sum, (value, time)| {
            (sum.0 + value * time, sum.1 + time)
        });
        if time > 0.0 {
            println!(
                "{:20} {:9.3}  {}",
                feature.name(),
                sum / time,
                feature.meaning()
            );
        }
    }
}
