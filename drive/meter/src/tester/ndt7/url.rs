//! The URL of an ndt7 server.

use tungstenite::http::Uri;

/// Maximum bytes of a path with its query: 4096 of a query (ndt7), and the longest path.
const MAX_RESOURCE: usize = 4096 + 64;

/// URL of an ndt7 server: `ws://HOST[:PORT]` or `wss://HOST[:PORT]`, with or without a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ndt7Url {
    /// Whether the connection is TLS (`wss`).
    pub is_secure: bool,
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query, as a server of M-Lab needs them; `None`: the direction determines them.
    pub resource: Option<String>,
}

impl Ndt7Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|error| format!("`{text}`: {error}"))?;
        let is_secure = match uri.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            _ => {
                return Err(format!(
                    "`{text}` is no URL of ndt7: ws://HOST or wss://HOST"
                ));
            }
        };
        let authority = uri
            .authority()
            .filter(|authority| !authority.as_str().contains('@'));
        let host = uri
            .host()
            .unwrap_or_default()
            .trim_start_matches('[')
            .trim_end_matches(']');
        if authority.is_none() || host.is_empty() {
            return Err(format!("`{text}` has no host"));
        }
        let port = uri.port_u16();
        // `port_u16` is `None` too for a port above 65535.
        let has_port = authority.is_some_and(|authority| {
            let after_host = authority.as_str().rsplit(']').next().unwrap_or_default();
            after_host.contains(':')
        });
        if port == Some(0) || (has_port && port.is_none()) {
            return Err(format!("`{text}` has no port from 1 to 65535"));
        }
        let resource = uri
            .path_and_query()
            .map(|resource| resource.as_str())
            .filter(|resource| *resource != "/");
        if resource.is_some_and(|resource| resource.len() > MAX_RESOURCE) {
            return Err(format!("its path has more than {MAX_RESOURCE} bytes"));
        }
        Ok(Self {
            is_secure,
            host: host.to_owned(),
            port: port.unwrap_or(if is_secure { 443 } else { 80 }),
            resource: resource.map(str::to_owned),
        })
    }

    /// Whether its path is that of a test that sends to this host.
    pub fn is_download(&self) -> bool {
        let path = self
            .resource
            .as_deref()
            .and_then(|one| one.split('?').next());
        path == Some(gigatcp_protocol::ndt7::DOWNLOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_host_port_and_the_resource_that_a_server_of_mlab_needs() {
        let url = Ndt7Url::parse("wss://ndt.example/ndt/v7/download?access_token=a.b").unwrap();
        assert!(url.is_secure && url.is_download() && url.port == 443);
        assert_eq!(
            url.resource.as_deref(),
            Some("/ndt/v7/download?access_token=a.b")
        );
        let url = Ndt7Url::parse("ws://[::1]:8080").unwrap();
        assert_eq!((url.host.as_str(), url.port), ("::1", 8080));
        assert_eq!((url.is_secure, url.resource), (false, None));
    }

    #[test]
    fn other_schemes_and_missing_hosts_are_refused() {
        for text in [
            "https://ndt.example",
            "ndt.example",
            "ws://",
            "ws://me@ndt.example",
            "ws:// a",
            "ws://ndt.example:99999",
            "ws://[::1]:0",
            "ws://ndt.example:",
        ] {
            assert!(Ndt7Url::parse(text).is_err(), "{text}");
        }
    }
}
