//! What narratives may hold. The example is R5's rule, the words are in `fhir::narrative`, whose own tests know every element.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

const DIV: &[&str] = &["HCERT-195 invariant Composition.text.div"];

macro_rules! div {
    ($inside:literal) => {
        Set("/text/div", concat!(r#""<div xmlns=\"http://www.w3.org/1999/xhtml\">"#, $inside, r#"</div>""#))
    };
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("a script", &DRIVER, div!("<p>x</p><script>x()</script>"), DIV),
    row("a form", &DRIVER, div!("<form><p>x</p></form>"), DIV),
    row("an input", &DRIVER, div!("x<input type='text'/>"), DIV),
    row("a frame", &DRIVER, div!("x<iframe src='x'></iframe>"), DIV),
    row("an object", &DRIVER, div!("x<object data='x'></object>"), DIV),
    row("a style sheet", &DRIVER, div!("<style>p{}</style>x"), DIV),
    row("a link to a style sheet", &DRIVER, div!("x<link rel='stylesheet' href='http://a.ee/x.css'/>"), DIV),
    row("a base address", &DRIVER, div!("x<base href='http://a.ee/'/>"), DIV),
    row("an element that HTML does not know", &DRIVER, div!("<foo>x</foo>"), DIV),
    row("an element in capitals", &DRIVER, div!("<P>x</P>"), DIV),
    row("an event attribute", &DRIVER, div!("<p onclick='x()'>x</p>"), DIV),
    row("an event attribute on an image", &DRIVER, div!("x<img src='#x' alt='x' onerror='x()'/>"), DIV),
    row("a link that runs something", &DRIVER, div!("<a href='javascript:x()'>x</a>"), DIV),
    row("a link that runs something, with a tab in its scheme", &DRIVER, div!("<a href='java&#9;script:x()'>x</a>"), DIV),
    row("an image from elsewhere", &DRIVER, div!("x<img src='http://a.ee/x.png' alt='x'/>"), DIV),
    row("an image that is a vector drawing", &DRIVER, div!("x<img src='data:image/svg+xml;base64,AAAA' alt='x'/>"), DIV),
    row("a style that loads something", &DRIVER, div!("<p style='background:url(http://a.ee/x)'>x</p>"), DIV),
    row("a style that runs something", &DRIVER, div!("<p style='width:expression(x())'>x</p>"), DIV),
    row("a processing instruction", &DRIVER, div!("<?x y?>x"), DIV),
    row("an element of another namespace", &DRIVER, div!("<svg xmlns='http://www.w3.org/2000/svg'/>x"), DIV),
    row("nothing but blanks", &DRIVER, div!("  <p> </p> "), DIV),
    row("an empty div", &DRIVER, div!(""), DIV),
    row("elements that end in the wrong order", &DRIVER, div!("<p><b>x</p></b>"), DIV),
    row("an element that does not end", &DRIVER, div!("<p>x"), DIV),
    row("an ampersand that begins nothing", &DRIVER, div!("a & b"), DIV),
    row("an attribute twice", &DRIVER, div!("<p title='a' title='b'>x</p>"), DIV),
    row("an attribute without quotation marks", &DRIVER, div!("<p title=a>x</p>"), DIV),
    row("two faults, each told", &DRIVER, div!("<p onclick='x()'>x</p><script>y()</script>"),
        &["HCERT-195 invariant Composition.text.div", "HCERT-195 invariant Composition.text.div"]),
    row("a paragraph in a paragraph", &DRIVER, div!("<p>a<p>b</p></p>"), DIV),
    row("a list in a paragraph", &DRIVER, div!("<p><ul><li>x</li></ul></p>"), DIV),
    row("a block in an inline element", &DRIVER, div!("<b><p>x</p></b>"), DIV),
    row("a link in a link", &DRIVER, div!("<a href='http://a.ee/'>x<b><a href='http://a.ee/'>y</a></b></a>"), DIV),
    row("an item outside of a list", &DRIVER, div!("<li>x</li>"), DIV),
    row("a cell outside of a row", &DRIVER, div!("<table><td>x</td></table>"), DIV),
    row("a text in a list", &DRIVER, div!("<ul>x</ul>"), DIV),
    row("a text without markup", &DRIVER, Set("/text/div", r#""x""#), DIV),
    row("a root element that is not div", &DRIVER, Set("/text/div", r#""<p xmlns=\"http://www.w3.org/1999/xhtml\">x</p>""#), DIV),
    row("a div without its namespace", &DRIVER, Set("/text/div", r#""<div>x</div>""#), DIV),
    row("two divs", &DRIVER, Set("/text/div", r#""<div xmlns=\"http://www.w3.org/1999/xhtml\">x</div><div xmlns=\"http://www.w3.org/1999/xhtml\">y</div>""#), DIV),
    row("a document type", &DRIVER, Set("/text/div", r#""<!DOCTYPE div><div xmlns=\"http://www.w3.org/1999/xhtml\">x</div>""#), DIV),
    row("entities that grow", &DRIVER,
        Set("/text/div", r#""<!DOCTYPE div [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]><div xmlns=\"http://www.w3.org/1999/xhtml\">&b;</div>""#), DIV),
    row("an entity that reads a file", &DRIVER,
        Set("/text/div", r#""<!DOCTYPE div [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><div xmlns=\"http://www.w3.org/1999/xhtml\">&a;</div>""#), DIV),
    row("a script in the narrative of a section", &DRIVER, Set("/section/1/text/div", r#""<div xmlns=\"http://www.w3.org/1999/xhtml\"><script>x()</script>x</div>""#),
        &["HCERT-195 invariant Composition.section[1].text.div"]),
    row("a script in the narrative of a contained resource", &DRIVER,
        Set("/contained/0/text", r#"{"status":"generated","div":"<div xmlns=\"http://www.w3.org/1999/xhtml\"><script>x()</script>x</div>"}"#),
        &["HCERT-195 invariant Composition.contained[0].text.div"]),
];
