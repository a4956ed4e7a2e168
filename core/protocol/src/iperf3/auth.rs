//! Name and password of a user, in the formats of iperf3.
//!
//! The client encrypts [`Credentials::to_text`] with the server's RSA key (padding PKCS #1 v1.5 up
//! to 3.16, OAEP since 3.17) and sends it in base64 as `authtoken`. The server keeps `user,digest`
//! lines; the digest is SHA-256, in hexadecimal, of [`Credentials::salted`]. The caller encrypts
//! and calculates the digest.

use alloc::format;
use alloc::string::String;

/// A user's name and password, and the time when they were sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Seconds since 1970 by the sender's clock.
    pub sent_at: i64,
}

impl Credentials {
    /// Text that is encrypted.
    pub fn to_text(&self) -> String {
        let (user, password, sent_at) = (&self.user, &self.password, self.sent_at);
        format!("user: {user}\npwd:  {password}\nts:   {sent_at}")
    }

    /// Reads the decrypted text; `None` if it has another form.
    pub fn from_text(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("user: ")?;
        let (user, rest) = rest.split_once("\npwd:  ")?;
        let (password, time) = rest.rsplit_once("\nts:   ")?;
        Some(Self {
            user: user.into(),
            password: password.into(),
            sent_at: time.trim_end_matches(['\0', '\n']).parse().ok()?,
        })
    }

    /// Text whose digest the server keeps.
    pub fn salted(&self) -> String {
        format!("{{{}}}{}", self.user, self.password)
    }
}

/// Digest of a user in the server's file; `None` without such a user. The file has `user,digest`
/// lines. Lines that begin with `#` are comments.
pub fn digest_of<'a>(file: &'a str, user: &str) -> Option<&'a str> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let mut entries = lines.filter_map(|line| line.split_once(','));
    let (_, digest) = entries.find(|(name, _)| name.trim() == user)?;
    Some(digest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_as_they_were_written() {
        let credentials = Credentials {
            user: "mario".into(),
            password: "a\npwd:  b".into(),
            sent_at: 1_700_000_000,
        };
        let text = credentials.to_text();
        assert!(Credentials::from_text(&text) == Some(credentials));
        assert!(Credentials::from_text("user: x").is_none());
    }

    #[test]
    fn users_are_found_in_the_servers_file() {
        let file = "# comment,1\nmario,bf7a49\nrossi, 83a1\n";
        assert_eq!(digest_of(file, "rossi"), Some("83a1"));
        assert_eq!(digest_of(file, "# comment"), None);
    }
}
