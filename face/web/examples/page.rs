//! Makes the page: `page WASM HTML` puts the WebAssembly into `page.html`, compressed.

use std::error::Error;
use std::fs;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Stands for the WebAssembly in the template.
const PLACE: &str = "@WASM@";

/// Maximum bytes of the page.
const MAX_SIZE: usize = 3_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args_os().skip(1);
    let (Some(wasm), Some(page)) = (words.next(), words.next()) else {
        return Err("usage: page WASM HTML".into());
    };
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(&fs::read(wasm)?)?;
    let template = include_str!("../page.html");
    let html = template.replace(PLACE, &STANDARD.encode(compressed.finish()?));
    if html.len() > MAX_SIZE {
        return Err(format!("the page has {} bytes, more than {MAX_SIZE}", html.len()).into());
    }
    fs::write(&page, &html)?;
    println!("{}: {} bytes", page.display(), html.len());
    Ok(())
}
