//! The documents of the program, as pages.

use maud::{PreEscaped, html};
use pulldown_cmark::{Event, Options, Parser, Tag, html::push_html};

use crate::console::visit::Visit;
use crate::http::pages::PageAnswer;

pub(in crate::console) fn list(visit: &Visit<'_>) -> PageAnswer {
    let title = visit.t("documents.title");
    let mut groups: Vec<(&str, Vec<_>)> = Vec::new();
    for page in visit.sources.documents.pages() {
        match groups.last_mut().filter(|(group, _)| *group == page.group) {
            Some((_, pages)) => pages.push(page),
            None => groups.push((page.group, vec![page])),
        }
    }
    visit.page(title, &html! {
        h1 { (title) }
        @for (group, pages) in &groups {
            @if !group.is_empty() { h2 lang="en" { (group) } }
            ul lang="en" { @for page in pages { li { a href=(visit.href(&format!("/documents/{}", page.path))) { (page.title) } } } }
        }
    })
}

/// Tags as they are made, and as a page has them: what may be wider than its page is reached by keyboard, and no tag has a style of its own.
const WRITTEN_OTHERWISE: [(&str, &str); 4] = [
    ("<pre>", "<pre tabindex=\"0\">"),
    ("<table>", "<table tabindex=\"0\">"),
    ("<th style=\"text-align: right\">", "<th class=\"number\">"),
    ("<td style=\"text-align: right\">", "<td class=\"number\">"),
];

/// A document, by its path or any other name that it has.
pub(in crate::console) fn show(visit: &Visit<'_>, name: &str) -> PageAnswer {
    let documents = visit.sources.documents;
    let Some(page) = documents.page(name) else { return list(visit) };
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(page.text, options).map(|event| match event {
        // A remark of those who wrote it is for nobody else.
        Event::Html(text) if text.starts_with("<!--") => Event::Text("".into()),
        // What a document says in HTML is shown and not believed.
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = address(visit, folder, &dest_url).into();
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let dest_url = address(visit, folder, &dest_url).into();
            Event::Start(Tag::Image { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut text = String::new();
    push_html(&mut text, events);
    let text = WRITTEN_OTHERWISE.iter().fold(text, |text, (made, ours)| text.replace(made, ours));
    // A document has one h1 of its own.
    let language = if page.path.starts_with("et/") { "et" } else { "en" };
    visit.page(
        page.title,
        &html! {
            p { a href=(visit.href("/documents")) { (visit.t("documents.title")) } }
            article lang=(language) { (PreEscaped(text)) }
        },
    )
}

/// Where a link of a document leads: to another document, or where it says.
fn address(visit: &Visit<'_>, folder: &str, link: &str) -> String {
    if link.starts_with('#') || link.contains("://") {
        return link.to_owned();
    }
    let (file, part) = link.split_once('#').map_or((link, String::new()), |(file, part)| (file, format!("#{part}")));
    let mut path: Vec<&str> = folder.split('/').filter(|piece| !piece.is_empty()).collect();
    for piece in file.split('/') {
        match piece {
            "." => {}
            ".." => drop(path.pop()),
            piece => path.push(piece),
        }
    }
    let path = path.join("/");
    // Pages of the project beside `docs/` name it.
    let path = path.strip_prefix("docs/").unwrap_or(&path);
    let documents = visit.sources.documents;
    match documents.page(path) {
        Some(page) => visit.href(&format!("/documents/{}{part}", page.path)),
        None if documents.picture(path).is_some() => visit.href(&format!("/pictures/{path}")),
        None => visit.href("/documents"),
    }
}

/// A picture of a document.
pub(in crate::console) fn picture(visit: &Visit<'_>, name: &str) -> Option<PageAnswer> {
    let svg = visit.sources.documents.picture(name)?;
    Some(PageAnswer { content_type: "image/svg+xml", body: svg.into(), ..PageAnswer::html(200, String::new()) })
}
