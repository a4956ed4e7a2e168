//! Controls a browser: Chromium through chromedriver, with the W3C's WebDriver over plain HTTP/1.1
//! on the loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Time within which a browser must complete an action.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts a browser with a window of this size; `None` if none is installed.
    pub fn start(width: u32, height: u32) -> Option<Self> {
        // It chooses its port itself: a free port found beforehand may be taken by the time it is
        // used.
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let said = driver.stdout.as_mut().expect("it says where it listens");
        let port = port_said(BufReader::new(said));
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
        };
        let arguments = [
            "--headless".to_owned(),
            "--no-sandbox".into(),
            "--disable-gpu".into(),
            "--hide-scrollbars".into(),
            format!("--window-size={width},{height}"),
        ];
        let wanted = json!({ "goog:chromeOptions": { "args": arguments } });
        let made = browser.ask(
            "POST",
            "/session",
            &json!({ "capabilities": { "alwaysMatch": wanted } }),
        );
        let id = made["sessionId"].as_str().expect("a session");
        browser.session = format!("/session/{id}");
        Some(browser)
    }

    /// Opens a file and waits until its graphs are drawn.
    pub fn open(&self, file: &Path, fragment: &str) {
        let url = format!("file://{}#{fragment}", file.display());
        // Another fragment alone would not load the file again.
        self.post("/url", &json!({ "url": "about:blank" }));
        self.post("/url", &json!({ "url": url }));
        let started = Instant::now();
        while self.data("ready") != json!("yes") {
            let error = self.data("error");
            assert!(error.is_null(), "the page says {error}");
            assert!(started.elapsed() < PATIENCE, "the page is not ready");
            sleep(Duration::from_millis(20));
        }
        self.settle();
    }

    /// A data attribute of the page.
    pub fn data(&self, name: &str) -> Value {
        self.script(&format!(
            "return document.documentElement.dataset.{name} ?? null"
        ))
    }

    /// The text of an element.
    pub fn text(&self, id: &str) -> String {
        let text = self.script(&format!(
            "return document.getElementById('{id}').textContent"
        ));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script in the page.
    pub fn script(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until the last change is drawn.
    pub fn settle(&self) {
        let two_frames = "const done = arguments[0]; \
                          requestAnimationFrame(() => requestAnimationFrame(() => done()));";
        self.post(
            "/execute/async",
            &json!({ "script": two_frames, "args": [] }),
        );
    }

    /// Types keys, one after the other.
    pub fn keys(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key })))
            .collect();
        self.act(&json!({ "type": "key", "id": "keys", "actions": strokes }));
    }

    /// Moves the pointer there.
    pub fn point(&self, x: f64, y: f64) {
        self.pointer(&[to(x, y)]);
    }

    /// Clicks there.
    pub fn click(&self, x: f64, y: f64) {
        self.pointer(&[to(x, y), press(), release()]);
    }

    /// Drags from one place to another.
    pub fn drag(&self, from: (f64, f64), until: (f64, f64)) {
        let middle = to(
            f64::midpoint(from.0, until.0),
            f64::midpoint(from.1, until.1),
        );
        let end = to(until.0, until.1);
        self.pointer(&[to(from.0, from.1), press(), middle, end, release()]);
    }

    fn pointer(&self, steps: &[Value]) {
        let mouse = json!({ "pointerType": "mouse" });
        self.act(
            &json!({ "type": "pointer", "id": "mouse", "parameters": mouse, "actions": steps }),
        );
    }

    /// Turns the wheel there.
    pub fn wheel(&self, x: f64, y: f64, by: i32) {
        let step = json!({
            "type": "scroll", "x": x as i64, "y": y as i64, "deltaX": 0, "deltaY": by, "duration": 0,
        });
        self.act(&json!({ "type": "wheel", "id": "wheel", "actions": [step] }));
    }

    fn act(&self, what: &Value) {
        self.post("/actions", &json!({ "actions": [what] }));
        self.settle();
    }

    /// Sets the size of the viewport, which may be narrower than a desktop window.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        let what = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size });
        self.post("/goog/cdp/execute", &what);
        self.settle();
    }

    /// A picture of the window, as PNG in base64.
    pub fn picture(&self) -> String {
        let picture = self.ask("GET", &format!("{}/screenshot", self.session), &Value::Null);
        picture.as_str().expect("a picture").to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("{}{path}", self.session), body)
    }

    /// One request and its answer.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time limit");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .expect("the request is sent");
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut read = String::new();
            reader.read_line(&mut read).expect("a header");
            let line = read.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let value = answer["value"].clone();
        assert!(value["error"].is_null(), "{method} {path}: {value}");
        value
    }
}

/// The port in chromedriver's "... was started successfully on port N.".
fn port_said(said: impl BufRead) -> u16 {
    for line in said.lines().map_while(Result::ok) {
        let after = line.split("successfully on port ").nth(1);
        if let Some(port) = after.and_then(|rest| rest.trim_end_matches('.').parse().ok()) {
            return port;
        }
    }
    panic!("chromedriver ended before it listened");
}

fn to(x: f64, y: f64) -> Value {
    json!({ "type": "pointerMove", "duration": 0, "x": x as i64, "y": y as i64 })
}

fn press() -> Value {
    json!({ "type": "pointerDown", "button": 0 })
}

fn release() -> Value {
    json!({ "type": "pointerUp", "button": 0 })
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.ask("DELETE", &self.session, &Value::Null);
        }
        // It may have ended by itself.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
