#[test]
fn dump() {
    let text = std::fs::read_to_string("/tmp/bad.toml").unwrap();
    for text in text.split("#----\n") {
        let o: Vec<String> = text
            .lines()
            .filter_map(|l| l.strip_prefix("#set "))
            .map(Into::into)
            .collect();
        match gigatcp_plan::parse("plan.toml", text.as_bytes(), &o) {
            Ok(p) => println!("OK {:#?}\n{}", p.series.len(), p.warnings),
            Err(e) => {
                println!("{e}");
                for d in &e.list {
                    println!(
                        "   [{}] label={} rel={:?}",
                        e.text_of(d.place.source)
                            .get(d.place.span.clone())
                            .unwrap_or("<<bad span>>"),
                        d.label,
                        d.related.as_ref().map(|r| &r.1)
                    );
                }
            }
        }
        println!("=================");
    }
    for t in gigatcp_plan::keys::TABLES {
        println!("{t}");
    }
}
