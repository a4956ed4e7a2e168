//! What the command line asks for.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use crate::kernels;
use crate::views;
use crate::worlds::{CAUSES, Paths};

/// Where seeds for grading begin. Rules are written with seeds below.
const FIRST: u64 = 1_000_000;

/// Whose connections.
pub enum Ground {
    Simulated,
    Kernels,
}

pub struct Asked {
    pub ground: Ground,
    /// Of simulated paths.
    pub paths: Paths,
    pub seeds: u64,
    pub first: u64,
    pub cause: Option<String>,
    pub show: bool,
    /// Where captures are kept.
    pub keep: Option<PathBuf>,
    /// Where those of kernels were kept.
    pub again: Option<PathBuf>,
}

pub fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        ground: Ground::Simulated,
        paths: Paths::Usual,
        seeds: 20,
        first: FIRST,
        cause: None,
        show: false,
        keep: None,
        again: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seeds" => asked.seeds = number(&value()?)?,
            "--first" => asked.first = number(&value()?)?,
            "--cause" => asked.cause = Some(value()?),
            "--show" => asked.show = true,
            "--fat" | "--shared" if asked.paths != Paths::Usual => {
                return Err("either `--fat` or `--shared`: there are no worlds of both".into());
            }
            "--fat" => asked.paths = Paths::Fat,
            "--shared" => asked.paths = Paths::Shared,
            "--live" => asked.ground = Ground::Kernels,
            "--keep" => asked.keep = Some(value()?.into()),
            "--again" => asked.again = Some(value()?.into()),
            _ => return Err(format!("what is `{word}`?")),
        }
    }
    let is_simulated = matches!(asked.ground, Ground::Simulated);
    if is_simulated && asked.again.is_some() {
        return Err("only captures of kernels are judged again: add `--live`".into());
    }
    if !is_simulated && asked.paths != Paths::Usual {
        return Err("only simulated paths are fat, or shared: leave out `--live`".into());
    }
    match &asked.cause {
        Some(cause) if asked.injections().is_empty() => Err(format!(
            "no cause `{cause}`; there are {}",
            asked
                .known()
                .iter()
                .map(|(one, _)| *one)
                .collect::<Vec<_>>()
                .join(", ")
        )),
        _ => Ok(asked),
    }
}

impl Asked {
    /// What can be injected, and what is to be said of it.
    fn known(&self) -> Vec<(&'static str, &'static str)> {
        match self.ground {
            Ground::Simulated => CAUSES.map(|cause| (cause, cause)).into(),
            #[cfg(target_os = "linux")]
            Ground::Kernels => kernels::worlds::INJECTIONS.into(),
            #[cfg(not(target_os = "linux"))]
            Ground::Kernels => Vec::new(),
        }
    }

    /// What of it is asked for: by what it is, or by what is to be said.
    pub fn injections(&self) -> Vec<(&'static str, &'static str)> {
        let is_asked = |(injection, truth): &(&str, &str)| {
            let only = self.cause.as_deref();
            only.is_none_or(|only| only == *injection || only == *truth)
        };
        self.known().into_iter().filter(is_asked).collect()
    }

    /// Places of capture.
    pub const fn views(&self) -> &'static [&'static str] {
        match self.ground {
            Ground::Simulated => &views::VIEWS,
            #[cfg(target_os = "linux")]
            Ground::Kernels => &kernels::VIEWS,
            #[cfg(not(target_os = "linux"))]
            Ground::Kernels => &[],
        }
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}
