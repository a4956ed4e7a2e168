//! HTML for notebooks: tables and paragraphs, without styles of their own.

use gigatcp_report::escape::html;

pub(crate) fn table<'a>(
    heading: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let row = |cells: Vec<String>, tag: &str| {
        let cells = cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", html(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let heading = row(heading.into_iter().map(str::to_owned).collect(), "th");
    let rows: String = rows.into_iter().map(|cells| row(cells, "td")).collect();
    format!("<table><thead>{heading}</thead><tbody>{rows}</tbody></table>")
}

pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", html(text))
}
