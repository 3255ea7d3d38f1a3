//! Files that pages load. Their addresses name their content, so browsers keep them for good.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};

use super::visit::Visit;
use crate::http::pages::PageAnswer;
use base::hex::Hex;

/// Name, media type and text.
const ASSETS: &[(&str, &str, &str)] = &[
    ("hc.css", "text/css; charset=utf-8", include_str!("assets/hc.css")),
    ("expiry.js", "text/javascript; charset=utf-8", include_str!("assets/expiry.js")),
    ("hc.js", "text/javascript; charset=utf-8", include_str!("assets/hc.js")),
    ("search.js", "text/javascript; charset=utf-8", include_str!("assets/search.js")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("assets/live.js")),
];

/// Characters of the digest in an address.
const DIGEST_CHARACTERS: usize = 12;

/// Of each file, in their order.
static DIGESTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of =
        |text: &str| format!("{:.*}", DIGEST_CHARACTERS, Hex(digest(&SHA256, text.as_bytes()).as_ref()).to_string());
    ASSETS.iter().map(|(_, _, text)| of(text)).collect()
});

/// The address of a file.
pub(super) fn href(visit: &Visit<'_>, name: &str) -> String {
    let at = ASSETS.iter().position(|(known, _, _)| *known == name).expect("a file of the table");
    visit.href(&format!("/assets/{}/{name}", DIGESTS[at]))
}

/// The file of an address below `/assets/`.
pub(super) fn answer(path: &str) -> Option<PageAnswer> {
    let (digest, name) = path.split_once('/')?;
    let at = ASSETS.iter().position(|(known, _, _)| *known == name).filter(|at| DIGESTS[*at] == digest)?;
    let (_, content_type, text) = ASSETS[at];
    Some(PageAnswer { content_type, body: text.into(), is_lasting: true, ..PageAnswer::html(200, String::new()) })
}
