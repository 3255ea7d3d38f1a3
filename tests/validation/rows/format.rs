//! Formats of primitive types. An extension may have a value of any type, so most are tried there.

use crate::base::*;
use crate::mutation::Mutation::*;
use crate::row::{Row, row};

const VALUE: &[&str] = &["HCERT-109 value Composition.extension[0].value"];
const KIND: &[&str] = &["HCERT-108 structure Composition.extension[0].value"];

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("boolean: a text", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueBoolean":"true"}"#), KIND),
    row("boolean: a number", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueBoolean":1}"#), KIND),
    row("integer: a fraction", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInteger":1.5}"#), VALUE),
    row("integer: more than 32 bits", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInteger":2147483648}"#), VALUE),
    row("integer: a text", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInteger":"1"}"#), KIND),
    row("decimal: more than a program's number holds", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":1e400}"#), VALUE),
    row("integer: 1e400", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInteger":1e400}"#), VALUE),
    row("integer64: a number instead of a text", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInteger64":1}"#), KIND),
    row("integer64: more than 64 bits", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInteger64":"9223372036854775808"}"#), VALUE),
    row("positiveInt: zero", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valuePositiveInt":0}"#), VALUE),
    row("unsignedInt: below zero", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueUnsignedInt":-1}"#), VALUE),
    row("decimal: a text", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":"1.5"}"#), KIND),
    row("decimal: 19 digits", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":1000000000000000000}"#), VALUE),
    row("decimal: an exponent that begins with zeros", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":1.5e-0007}"#), VALUE),
    row("decimal: an exponent of zero below zero", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":0.0e-0}"#), VALUE),
    row("decimal: an exponent of zero with a plus", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":1e+0}"#), VALUE),
    row("decimal: an exponent of two zeros", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDecimal":1e00}"#), VALUE),
    row("string: empty", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueString":""}"#), VALUE),
    row("string: a control character", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueString":"a\u0007b"}"#), VALUE),
    row("string: a number", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueString":1}"#), KIND),
    row("markdown: empty", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueMarkdown":""}"#), VALUE),
    row("code: a space in front", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueCode":" a"}"#), VALUE),
    row("code: two spaces between words", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueCode":"a  b"}"#), VALUE),
    row("id: a sign that ids have not", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueId":"a_b"}"#), VALUE),
    row("uri: a space", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueUri":"http://a b"}"#), VALUE),
    row("uri: empty", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueUri":""}"#), VALUE),
    row("url: a space", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueUrl":"http://a b"}"#), VALUE),
    row("canonical: a space", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueCanonical":"http://a.ee/b |1"}"#), VALUE),
    row("oid: without urn:oid:", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueOid":"1.2.3"}"#), VALUE),
    row("uuid: without urn:uuid:", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueUuid":"c757873d-ec9a-4326-a141-556f43239520"}"#), VALUE),
    row("base64Binary: a sign that base64 has not", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueBase64Binary":"AA-_"}"#), VALUE),
    row("base64Binary: one character too few", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueBase64Binary":"AAA"}"#), VALUE),
    row("date: a time", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDate":"2025-01-12T10:00:00Z"}"#), VALUE),
    row("date: 30 February", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueDate":"2025-02-30"}"#), VALUE),
    row("time: an hour that does not exist", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueTime":"25:00:00"}"#), VALUE),
    row("time: without seconds", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueTime":"10:00"}"#), VALUE),
    row("instant: a day", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInstant":"2025-01-12"}"#), VALUE),
    row("instant: without offset", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueInstant":"2025-01-12T10:00:00"}"#), VALUE),
    row("dateTime: a month that does not exist", &DRIVER, Set("/date", r#""2025-13-01""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: 29 February of a common year", &DRIVER, Set("/date", r#""2025-02-29T10:00:00Z""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: 31 April", &DRIVER, Set("/date", r#""2025-04-31""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: an hour that does not exist", &DRIVER, Set("/date", r#""2025-01-12T24:00:00Z""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: an offset that does not exist", &DRIVER, Set("/date", r#""2025-01-12T10:00:00+15:00""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: day before month", &DRIVER, Set("/date", r#""12.01.2025""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: an hour alone", &DRIVER, Set("/date", r#""2025-01-12T10""#), &["HCERT-109 value Composition.date"]),
    row("dateTime: a start that does not exist", &DRIVER, Set("/event/0/period/start", r#""2025-02-30""#), &["HCERT-109 value Composition.event[0].period.start"]),
    row("dateTime: an end that does not exist", &DRIVER, Set("/event/0/period/end", r#""2035-06-31T00:00:00+03:00""#), &["HCERT-109 value Composition.event[0].period.end"]),
    row("dateTime: a time of a note that does not exist", &DRIVER, Set("/contained/2/note/0/time", r#""2025-00-01""#),
        &["HCERT-109 value Composition.contained[2].note[0].time"]),
    row("instant: lastUpdated that is a day", &DRIVER, Set("/meta/lastUpdated", r#""2025-01-12""#), &["HCERT-109 value Composition.meta.lastUpdated"]),
    row("id: versionId with a space", &DRIVER, Set("/meta/versionId", r#""1 2""#), &["HCERT-109 value Composition.meta.versionId"]),
    row("uri: an identifier's system with a space", &DRIVER_PAPER, Set("/contained/0/identifier", r#"[{"system":"a b","value":"1"}]"#),
        &["HCERT-109 value Composition.contained[0].identifier[0].system"]),
    row("code: language with a space in front", &DRIVER, Set("/language", r#"" et""#), &["HCERT-109 value Composition.language"]),
    row("string: a display with a control character", &DRIVER, Set("/subject/0/display", r#""Mari\u0000""#), &["HCERT-109 value Composition.subject[0].display"]),
];

/// Forms that R5's definitions leave open, or that only this service knows.
#[rustfmt::skip]
pub(super) const OWN: &[Row] = &[
    row("a blank in the id of an element", &DRIVER, Set("/subject/0/id", r#""a b""#), &["HCERT-109 value Composition.subject[0].id"]),
    row("a tab in the id of an element", &DRIVER, Set("/section/0/id", r#""a\tb""#), &["HCERT-109 value Composition.section[0].id"]),
    row("a blank in the id beside a primitive value", &DRIVER, Set("/_title", r#"{"id":" a"}"#), &["HCERT-109 value Composition.title.id"]),
    row("a blank in the id of an element of a contained resource", &DRIVER, Set("/contained/1/code/coding/0/id", r#""a ""#),
        &["HCERT-109 value Composition.contained[1].code.coding[0].id"]),
    row("a language that is no tag of BCP 47", &DRIVER, Set("/language", r#""zzzzz_12""#), &["HCERT-188 code-invalid Composition.language"]),
    row("a language of a contained resource that is no tag of BCP 47", &DRIVER, Set("/contained/1/language", r#""e""#),
        &["HCERT-188 code-invalid Composition.contained[1].language"]),
    row("a language of an attachment that is no tag of BCP 47", &DRIVER, Push("/extension", r#"{"url":"http://a.ee/x","valueAttachment":{"language":"et_EE","title":"x"}}"#),
        &["HCERT-188 code-invalid Composition.extension[0].value.language"]),
    row("a language that is a text", &DRIVER_DRAFT, Contain(r#"{"resourceType":"Patient","id":"x","communication":[{"language":{"text":"eesti"}}]}"#),
        &["HCERT-189 code-invalid Composition.contained[1].communication[0].language"]),
    row("a local time that the clock was put forward over", &DRIVER, Set("/date", r#""2025-03-30T03:30:00""#), &["HCERT-110 value Composition.date"]),
    row("a title of more than a thousand characters", &DRIVER, Long("/title", 1_001), &["HCERT-111 too-long Composition.title"]),
    row("a text of more than 1 048 576 characters", &DRIVER, Long("/contained/2/note/0/text", 1_048_577), &["HCERT-111 too-long Composition.contained[2].note[0].text"]),
];
