//! iperf3's authentication: name and password, encrypted with the server's RSA key.
//!
//! The token is the RSA ciphertext in base64, with PKCS #1 v1.5 padding up to iperf3 3.16 and OAEP
//! since 3.17. As with iperf3, a server accepts OAEP only, or PKCS #1 v1.5 only if configured so.
//!
//! The time of a decryption by the `rsa` crate depends on the key and the ciphertext
//! (RUSTSEC-2023-0071), which can tell an attacker with very many tries what a recorded token says.
//! Decryption is blinded, and a server answers after a fixed time (`server/logins.rs`).

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gigatcp_protocol::iperf3::Parameters;
use gigatcp_protocol::iperf3::auth::{Credentials, digest_of};
use rsa::pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey};
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::{Oaep, Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use sha2::{Digest, Sha256};

use super::server::Authorize;

/// Padding of RSA.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Padding {
    /// OAEP, as iperf3 since 3.17.
    #[default]
    Oaep,
    /// PKCS #1 v1.5, as iperf3 up to 3.16.
    Pkcs1,
}

impl Padding {
    /// Description of clients that use the other one.
    const fn other(self) -> &'static str {
        match self {
            Self::Oaep => "the padding of iperf3 up to 3.16 (--use-pkcs1-padding)",
            Self::Pkcs1 => "the padding of iperf3 since 3.17",
        }
    }
}

/// iperf3's default tolerance between clocks (`--time-skew-threshold`), in seconds.
pub const TIME_SKEW: u64 = 10;

/// Encrypts a name and password for a server whose public key is `pem`.
///
/// # Errors
/// If the key cannot be read, or the text is too long for it.
pub fn token(user: &str, password: &str, pem: &str, padding: Padding) -> Result<String, String> {
    let key = RsaPublicKey::from_public_key_pem(pem)
        .or_else(|_| RsaPublicKey::from_pkcs1_pem(pem))
        .map_err(|error| format!("the public key cannot be read: {error}"))?;
    let credentials = Credentials {
        user: user.to_owned(),
        password: password.to_owned(),
        sent_at: seconds_since_1970(),
    };
    let text = credentials.to_text();
    let mut random = rsa::rand_core::OsRng;
    let result = match padding {
        // OpenSSL's default for OAEP is SHA-1.
        Padding::Oaep => key.encrypt(&mut random, Oaep::new::<sha1::Sha1>(), text.as_bytes()),
        Padding::Pkcs1 => key.encrypt(&mut random, Pkcs1v15Encrypt, text.as_bytes()),
    };
    let encrypted = result.map_err(|error| format!("name and password: {error}"))?;
    Ok(BASE64_STANDARD.encode(encrypted))
}

/// A check of tokens with one padding, against a private key and a file of `user,digest` lines.
///
/// # Errors
/// If the key cannot be read.
pub fn authorizer(
    private_pem: &str,
    users: String,
    padding: Padding,
    time_skew: u64,
) -> Result<Arc<Authorize>, String> {
    let key = RsaPrivateKey::from_pkcs8_pem(private_pem)
        .or_else(|_| RsaPrivateKey::from_pkcs1_pem(private_pem))
        .map_err(|error| format!("the private key cannot be read: {error}"))?;
    Ok(Arc::new(move |parameters: &Parameters| {
        let token = parameters
            .authtoken
            .as_deref()
            .ok_or("no name and password were sent")?;
        let credentials = decrypt(&key, token, padding).ok_or_else(|| {
            format!(
                "its token cannot be decrypted: another key, or {}",
                padding.other()
            )
        })?;
        let skew = seconds_since_1970().abs_diff(credentials.sent_at);
        if skew > time_skew {
            return Err(format!(
                "its clock differs by {skew} s, limit {time_skew} s"
            ));
        }
        let digest = hexadecimal(&Sha256::digest(credentials.salted()));
        let known = digest_of(&users, &credentials.user);
        match known.is_some_and(|known| known.eq_ignore_ascii_case(&digest)) {
            true => Ok(()),
            false => Err("unknown user, or wrong password".into()),
        }
    }))
}

fn decrypt(key: &RsaPrivateKey, token: &str, padding: Padding) -> Option<Credentials> {
    let printable: String = token.split_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(printable).ok()?;
    let mut random = rsa::rand_core::OsRng;
    let text = match padding {
        Padding::Oaep => key.decrypt_blinded(&mut random, Oaep::new::<sha1::Sha1>(), &bytes),
        Padding::Pkcs1 => key.decrypt_blinded(&mut random, Pkcs1v15Encrypt, &bytes),
    };
    Credentials::from_text(&String::from_utf8(text.ok()?).ok()?)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seconds_since_1970() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};

    use super::*;

    fn keys() -> (String, String) {
        let private = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
        let public = private
            .to_public_key()
            .to_public_key_pem(LineEnding::LF)
            .unwrap();
        let pem = private.to_pkcs8_pem(LineEnding::LF).unwrap();
        (pem.to_string(), public)
    }

    fn with(token: Option<String>) -> Parameters {
        Parameters {
            authtoken: token,
            ..Parameters::default()
        }
    }

    #[test]
    fn user_with_the_right_password_and_padding_is_let_in() {
        let (private, public) = keys();
        // SHA-256 of "{mario}rossi".
        let digest = hexadecimal(&Sha256::digest("{mario}rossi"));
        let users = format!("# users\nmario,{digest}\n");
        for (padding, other) in [
            (Padding::Oaep, Padding::Pkcs1),
            (Padding::Pkcs1, Padding::Oaep),
        ] {
            let check = authorizer(&private, users.clone(), padding, TIME_SKEW).unwrap();
            let right = token("mario", "rossi", &public, padding).unwrap();
            assert_eq!(check(&with(Some(right))), Ok(()));
            let wrong = token("mario", "verdi", &public, padding).unwrap();
            assert!(check(&with(Some(wrong))).is_err());
            let padded = token("mario", "rossi", &public, other).unwrap();
            assert!(check(&with(Some(padded))).is_err());
            assert!(check(&with(None)).is_err());
            assert!(check(&with(Some("no base64".into()))).is_err());
        }
    }
}
