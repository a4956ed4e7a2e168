//! The config file: what is shown and where results go, never what a result is.
//!
//! `$XDG_CONFIG_HOME/gigatcp/config.toml` (`~/.config` without it, `%APPDATA%` on Windows), or the
//! file that GIGATCP_CONFIG names:
//!
//! ```toml
//! color = "never"          # as --color
//! log = "warn"             # as GIGATCP_LOG
//! out = "/data/runs"       # as --out of `run` and `sweep`, also for `show --cell`
//! ```
//!
//! The command line wins over a variable, and a variable over the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, io};

use crate::failure::Failure;
use crate::nearest;

/// Names the file to read in place of the usual one.
const VARIABLE: &str = "GIGATCP_CONFIG";

/// Default directory of results.
const OUT: &str = "runs";

/// Names of the settings.
const NAMES: [&str; 3] = ["color", "log", "out"];

/// Settings of the file; `None`: the default.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Config {
    pub(crate) color: Option<String>,
    pub(crate) log: Option<String>,
    out: Option<String>,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

/// The settings of this process.
pub(crate) fn get() -> &'static Config {
    CONFIG.get_or_init(Config::default)
}

/// Directory of results without `--out`.
pub(crate) fn out() -> PathBuf {
    PathBuf::from(get().out.as_deref().unwrap_or(OUT))
}

/// Reads the file, if there is one.
///
/// Returns a note if it cannot be read and is not used.
pub(crate) fn load() -> Result<Option<String>, Failure> {
    let named = env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let Some(file) = named.clone().map(PathBuf::from).or_else(usual) else {
        return Ok(None);
    };
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            return Ok(None);
        }
        // HOME is another user's, as after setpriv(1).
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && named.is_none() => {
            return Ok(Some(format!(
                "the config file {} cannot be read and is not used: {error}",
                file.display()
            )));
        }
        Err(error) => return Err(unreadable(&file, &error)),
    };
    let config = parse(&text).map_err(|failure| failure.within(&file.display().to_string()))?;
    CONFIG.get_or_init(|| config);
    Ok(None)
}

/// Usual path of the file on this system.
fn usual() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let directory = match cfg!(windows) {
        true => set("APPDATA").map(PathBuf::from),
        false => set("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(Path::new(&set("HOME")?).join(".config"))),
    };
    Some(directory?.join("gigatcp").join("config.toml"))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    Failure::at("read the config file", file, error)
        .effect("nothing was done")
        .hint(format!("make it readable, or set {VARIABLE} to another"))
}

fn parse(text: &str) -> Result<Config, Failure> {
    let wrong = |cause: String| Failure::new(cause).effect("nothing was done");
    let settings: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let number = 1 + text[..start].matches('\n').count();
        wrong(format!("line {number}: {}", error.message()))
    })?;
    let mut config = Config::default();
    for (name, value) in settings {
        let place = match name.as_str() {
            "color" => &mut config.color,
            "log" => &mut config.log,
            "out" => &mut config.out,
            other => {
                return Err(wrong(format!("there is no setting `{other}`"))
                    .hint(nearest::hint(other, "settings", &NAMES)));
            }
        };
        let toml::Value::String(value) = value else {
            return Err(wrong(format!("the value of `{name}` is not in quotes"))
                .hint(format!("as in `{name} = \"...\"`")));
        };
        if value.contains(char::is_control) {
            return Err(
                wrong(format!("the value of `{name}` has a control character"))
                    .hint(format!("single quotes keep a backslash: `{name} = '...'`")),
            );
        }
        *place = Some(value);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_settings() {
        let text = "# mine\n\ncolor = \"never\"   # as in 1988\nout = '/data/runs'\n";
        let config = parse(text).expect("it is valid");
        assert_eq!(config.color.as_deref(), Some("never"));
        assert_eq!(config.out.as_deref(), Some("/data/runs"));
        assert_eq!(config.log, None);
    }

    #[test]
    fn a_wrong_line_is_named_with_what_was_meant() {
        for (text, said) in [
            ("colour = \"never\"", "did you mean `color`?"),
            ("color", "line 1"),
            ("out = \"D:\\runs\"", "single quotes"),
            ("out = \"D:\\data\"", "line 1"),
            ("\ncolor = never", "line 2"),
            ("color = 1", "the value of `color` is not in quotes"),
        ] {
            let failure = parse(text).expect_err(text);
            assert!(failure.text().contains(said), "{}", failure.text());
        }
    }
}
