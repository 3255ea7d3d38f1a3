//! Systematic changes: every example, changed in one way at every place, for the comparison with the HL7 validator
//! (`tests/outside/run hl7`, docs/VALIDATION.md).
//!
//! The tables say what is changed, and by the name of which member. Nothing is random: the same example gives the same changes, under
//! the same names.

use hcert::fhir::json::Json;

use crate::base::{self, Base};
use crate::mutation::Mutation::{self, *};

/// A certificate with one change.
pub struct Changed {
    /// `driver-final /contained/1/status: removed`
    pub name: String,
    pub body: Vec<u8>,
}

/// Texts that are put in the place of every text.
const TEXTS: &[(&str, &str)] = &[
    ("empty", ""),
    ("a blank", " "),
    ("no-break spaces", "\u{a0}\u{a0}"),
    ("another text", "zzz"),
    ("a text with blanks inside", "a  b"),
    ("a control character", "a\u{1}b"),
];

/// Members that are put into every object, as JSON.
const MEMBERS: &[(&str, &str)] = &[
    ("id", r#""a b""#),
    ("id", r#""a-1.B""#),
    ("id", r#""""#),
    ("id", "1"),
    ("unknownElement", "true"),
    ("_unknownElement", r#"{"id":"x"}"#),
    ("resourceType", r#""Observation""#),
    ("fhir_comments", r#"["x"]"#),
    ("extension", r#"[{"url":"http://example.org/x","valueString":"x"}]"#),
    ("extension", r#"[{"url":"http://example.org/x","valueString":"x","extension":[{"url":"y","valueString":"y"}]}]"#),
    ("extension", r#"[{"url":"http://example.org/x"}]"#),
    ("extension", r#"[{"valueString":"x"}]"#),
    ("extension", r#"[{"url":"http://example.org/x","valueString":"x","valueCode":"x"}]"#),
    ("extension", r#"[{"url":"http://example.org/x","valueUnknown":"x"}]"#),
    ("extension", r#"{"url":"http://example.org/x","valueString":"x"}"#),
    ("modifierExtension", r#"[{"url":"http://example.org/x"}]"#),
];

/// Members that are put into the certificate itself, as JSON.
const OF_CERTIFICATE: &[(&str, &str)] = &[
    ("id", r#""1_2""#),
    ("implicitRules", r#""http://example.org/rules""#),
    ("implicitRules", r#""a b""#),
    ("language", r#""et""#),
    ("language", r#""et-EE""#),
    ("language", r#""zh-Hant-TW""#),
    ("language", r#""zzzzz_12""#),
    ("language", r#""e""#),
    ("language", r#""et EE""#),
    ("url", r#""http://example.org/Composition/1""#),
    ("url", r#""a b""#),
    ("version", r#""1""#),
    ("name", r#""Certificate1""#),
    ("name", r#""a certificate""#),
    ("note", r#"[{"text":"x"}]"#),
    ("note", r#"[{"time":"2025-01-12T10:05:00+02:00"}]"#),
    ("note", r#"[{"text":"x","authorString":"x","authorReference":{"display":"x"}}]"#),
    ("custodian", r#"{"reference":"Organization/90006399"}"#),
    ("custodian", r#"{"reference":"Patient/200"}"#),
    ("encounter", r#"{"display":"x"}"#),
    ("attester", r#"[{"mode":{"text":"x"}}]"#),
    ("attester", r#"[{"party":{"display":"x"}}]"#),
    ("participant", r#"[{"display":"x"}]"#),
    ("relatesTo", r#"[{"type":"replaces","resourceReference":{"reference":"Composition/1"}}]"#),
    ("relatesTo", r#"[{"type":"zzz","resourceReference":{"reference":"Composition/1"}}]"#),
    ("relatesTo", r#"[{"type":"replaces"}]"#),
    ("useContext", r#"[{"code":{"code":"x"},"valueCodeableConcept":{"text":"x"}}]"#),
    ("useContext", r#"[{"code":{"code":"x"}}]"#),
];

/// Texts by the name of the member that they are put into.
const TEXTS_OF: &[(&str, &[&str])] = &[
    (
        "code",
        &[
            "driver-group-I",
            "driver-group-II",
            "decision",
            "171353001",
            "160910001",
            "160926000",
            "999999999",
            "01.06",
            "891",
        ],
    ),
    ("date", DATES),
    ("display", &["Another display", " Practitioner decision status"]),
    ("end", DATES),
    (
        "profile",
        &[
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|1.0.0",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver|9.9.9",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational|1.0.0",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational|9.9.9",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational-employer",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-decision|1.0.0",
            "https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-decision|9.9.9",
            "http://hl7.org/fhir/StructureDefinition/Composition",
            "http://hl7.org/fhir/StructureDefinition/Observation",
            "http://hl7.org/fhir/StructureDefinition/Patient",
            "http://example.org/StructureDefinition/unknown",
            "a b",
        ],
    ),
    (
        "reference",
        &[
            "#",
            "#author",
            "#decision",
            "#nowhere",
            "Composition/1",
            "Observation/1",
            "Organization/90006399",
            "Patient/200",
            "Patient/200/_history/1",
            "Practitioner/49403136515",
            "PractitionerRole/1",
            "QuestionnaireResponse/300",
            "Patient/a b",
            "Unknown/1",
            "patient/200",
            "Patient",
            "Patient/",
            "http://example.org/fhir/Patient/200",
            "http://example.org/x",
            "urn:uuid:9c1f9c8e-4d2a-4f0e-8c55-2a3a4b5c6d7e",
            "urn:uuid:zzz",
            "urn:oid:1.2.3",
        ],
    ),
    ("resourceType", &["Basic", "Composition", "Observation", "Patient", "Practitioner", "Unknown", "composition"]),
    ("start", DATES),
    (
        "status",
        &[
            "additional",
            "amended",
            "cancelled",
            "corrected",
            "empty",
            "entered-in-error",
            "extensions",
            "final",
            "generated",
            "partial",
            "preliminary",
            "registered",
            "unknown",
            "Final",
            "final ",
        ],
    ),
    (
        "system",
        &[
            "http://example.org/system",
            "http://snomed.info/sct",
            "https://fhir.ee/CodeSystem/labivaatuse-tyyp",
            "https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang",
            "https://fhir.ee/CodeSystem/tervisetoendi-piirangud",
            "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon",
            "https://fhir.ee/hcert/health-certificate-number",
            "urn:oid:1.2.3",
            "urn:oid:zzz",
            "a b",
            "relative",
        ],
    ),
    ("type", &["Organization", "Patient", "Unknown"]),
    ("unit", &["g"]),
    ("value", &["16978044", "TT 1"]),
];

const DATES: &[&str] = &[
    "2025",
    "2025-01",
    "2025-01-12",
    "2025-02-29",
    "2024-02-29",
    "2025-13-01",
    "2025-1-2",
    "12.01.2025",
    "2025-01-12T10",
    "2025-01-12T10:05+02:00",
    "2025-01-12T10:05:00",
    "2025-01-12T10:05:00Z",
    "2025-01-12T10:05:00.123456789+02:00",
    "2025-01-12T10:05:60+02:00",
    "2025-01-12T24:00:00+02:00",
    "2025-01-12T25:00:00+02:00",
    "2025-01-12T10:05:00+14:00",
    "2025-01-12T10:05:00+15:00",
    "2025-01-12 10:05:00+02:00",
    "1925-01-12T10:05:00+02:00",
    "2125-01-12T10:05:00+02:00",
    "0000-01-12",
];

/// JSON by the name of the list that it becomes a further item of.
const ITEMS_OF: &[(&str, &[&str])] = &[
    ("author", &[r#"{"reference":"Practitioner/49403136515"}"#, r#"{"display":"x"}"#]),
    ("category", &[r#"{"text":"x"}"#, r#"{"coding":[{"system":"http://example.org/x","code":"x"}]}"#]),
    (
        "coding",
        &[
            r#"{"system":"http://example.org/x","code":"x"}"#,
            r#"{"code":"x"}"#,
            r#"{"display":"x"}"#,
            r#"{"system":"http://snomed.info/sct"}"#,
            r#"{"system":"http://snomed.info/sct","code":"1","userSelected":"true"}"#,
        ],
    ),
    (
        "component",
        &[
            r#"{"code":{"text":"x"}}"#,
            r#"{"code":{"text":"x"},"valueString":"x"}"#,
            r#"{"valueString":"x"}"#,
            r#"{"code":{"text":"x"},"valueString":"x","valueBoolean":true}"#,
            r#"{"code":{"text":"x"},"valueString":"x","dataAbsentReason":{"text":"x"}}"#,
            r#"{"code":{"coding":[{"system":"http://snomed.info/sct","code":"224374003"}]},"valueQuantity":{"value":1}}"#,
            r#"{"code":{"coding":[{"system":"http://snomed.info/sct","code":"160922003","display":"x"}]},"valueString":"x"}"#,
        ],
    ),
    (
        "contained",
        &[
            r#"{"resourceType":"Basic","id":"alone","code":{"text":"x"}}"#,
            r#"{"resourceType":"Basic","code":{"text":"x"}}"#,
            r#"{"resourceType":"Basic","id":"decision","code":{"text":"x"}}"#,
            r#"{"id":"typeless"}"#,
            r#"{"resourceType":"Unknown","id":"unknown"}"#,
        ],
    ),
    (
        "entry",
        &[
            r##"{"reference":"#nowhere"}"##,
            r##"{"reference":"#author"}"##,
            r#"{"reference":"Observation/1"}"#,
            r#"{"display":"x"}"#,
            r#"{"identifier":{"value":"1"}}"#,
            r#"{"type":"Observation"}"#,
        ],
    ),
    ("event", &[r#"{"period":{"start":"2025-01-12"}}"#, r#"{"detail":[{"concept":{"text":"x"}}]}"#]),
    ("identifier", &[r#"{"value":"x"}"#, r#"{"system":"http://example.org/x","value":"x"}"#]),
    ("note", &[r#"{"text":"x"}"#, r#"{"text":"x","time":"2025"}"#, r#"{"time":"2025"}"#]),
    ("performer", &[r#"{"reference":"Organization/1"}"#, r#"{"reference":"Location/1"}"#, r#"{"display":"x"}"#]),
    ("profile", &["\"http://hl7.org/fhir/StructureDefinition/Composition\"", "\"http://example.org/unknown\""]),
    (
        "section",
        &[
            r#"{"title":"x"}"#,
            r#"{"title":"x","section":[{"title":"y"}]}"#,
            r#"{"code":{"text":"x"},"entry":[{"display":"x"}]}"#,
            r#"{"code":{"coding":[{"system":"http://example.org/x","code":"x"}]},"entry":[{"display":"x"}]}"#,
            r#"{"entry":[{"display":"x"}],"emptyReason":{"text":"x"}}"#,
            r#"{"emptyReason":{"text":"x"}}"#,
            r#"{"title":"x","orderedBy":{"text":"x"}}"#,
            r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"decision"}]}}"#,
            r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"change-reason"}]}}"#,
            r#"{"code":{"coding":[{"system":"https://fhir.ee/CodeSystem/tervisetoendi-sektsioon","code":"zzz"}]},"title":"x"}"#,
        ],
    ),
    ("subject", &[r#"{"reference":"Patient/201"}"#, r#"{"display":"x"}"#]),
];

/// What stands inside the div of every narrative.
const NARRATIVES: &[&str] = &[
    "",
    " ",
    "<p/>",
    "&nbsp;",
    "x",
    "&Otilde;un &amp; pirn &lt; &#245; &#x20AC;",
    "&unknown;",
    "a & b",
    "a < b",
    "<p>x",
    "<p><b>x</p></b>",
    "<p><p>x</p></p>",
    "<p><div>x</div></p>",
    "<p><ul><li>x</li></ul></p>",
    "<p><table><tr><td>x</td></tr></table></p>",
    "<p><b>x <i>y</i></b> <span>z</span><br/></p>",
    "<b><p>x</p></b>",
    "<span><div>x</div></span>",
    "<a href='http://example.org'><a href='http://example.org'>x</a></a>",
    "<li>x</li>",
    "<ul>x</ul>",
    "<ul><p>x</p></ul>",
    "<ul><li><p>x</p><ul><li>y</li></ul></li></ul>",
    "<ol><li>x</li></ol>",
    "<dl><dt>x</dt><dd>y</dd></dl>",
    "<dl><p>x</p></dl>",
    "<table><tr><td>x</td></tr></table>",
    "<table><thead><tr><th>x</th></tr></thead><tbody><tr><td>x</td></tr></tbody></table>",
    "<table><caption>x</caption><colgroup><col/></colgroup><tr><td>x</td></tr></table>",
    "<table><td>x</td></table>",
    "<table><p>x</p></table>",
    "<tr><td>x</td></tr>",
    "<h1>x</h1><h6>y</h6>",
    "<h1><p>x</p></h1>",
    "<h7>x</h7>",
    "<pre>x</pre><blockquote><p>x</p></blockquote><hr/>",
    "<P>x</P>",
    "<script>x()</script>",
    "<style>p {}</style>x",
    "<form>x</form>",
    "<input type='text'/>x",
    "<iframe src='http://example.org'/>x",
    "<object data='x'/>x",
    "<unknown>x</unknown>",
    "<p onclick='x()'>x</p>",
    "<p class='x' title='x' lang='et' xml:lang='et' dir='ltr' id='x' style='color: red'>x</p>",
    "<p style='background: url(http://example.org/x)'>x</p>",
    "<p unknown='x'>x</p>",
    "<p title='a' title='b'>x</p>",
    "<p title=a>x</p>",
    "<a href='http://example.org'>x</a>",
    "<a href='#nowhere'>x</a>",
    "<a href='#author'>x</a>",
    "<a href='#here'>x</a><p id='here'>y</p>",
    "<a name='here'>x</a><a href='#here'>x</a>",
    "<a href='javascript:x()'>x</a>",
    "<a href='relative'>x</a>",
    "<img src='http://example.org/x.png' alt='x'/>",
    "<img src='data:image/png;base64,AAAA' alt='x'/>",
    "<img src='#nowhere' alt='x'/>",
    "<img alt='x'/>",
    "<!-- x -->y",
    "<?x y?>z",
    "<![CDATA[x]]>",
    "<svg xmlns='http://www.w3.org/2000/svg'/>x",
    "<h:p xmlns:h='http://www.w3.org/1999/xhtml'>x</h:p>",
];

/// What stands in the place of every div.
const DIVS: &[&str] = &[
    "x",
    "<div>x</div>",
    "<p xmlns='http://www.w3.org/1999/xhtml'>x</p>",
    "<div xmlns='http://example.org'>x</div>",
    "<div xmlns='http://www.w3.org/1999/xhtml' xml:lang='et' lang='et' class='x'>x</div>",
    "<div xmlns='http://www.w3.org/1999/xhtml'>x</div>y",
    "<div xmlns='http://www.w3.org/1999/xhtml'>x</div><div xmlns='http://www.w3.org/1999/xhtml'>y</div>",
    "<div xmlns='http://www.w3.org/1999/xhtml'>x</div><!-- y -->",
    "<?xml version='1.0'?><div xmlns='http://www.w3.org/1999/xhtml'>x</div>",
    "<!DOCTYPE div><div xmlns='http://www.w3.org/1999/xhtml'>x</div>",
    "<h:div xmlns:h='http://www.w3.org/1999/xhtml'>x</h:div>",
];

/// Numbers that are put in the place of every number.
const NUMBERS: &[&str] = &["0", "-1", "1.10", "1E2", "1e-400", "123456789012345678", "true", "\"1\""];

/// All changes of all examples.
pub fn changes() -> Vec<Changed> {
    base::EXAMPLES.iter().flat_map(|base| changes_of(base)).collect()
}

fn changes_of(base: &Base) -> Vec<Changed> {
    let certificate = base.json();
    let mut places = Vec::new();
    collect(&mut places, String::new(), "", &certificate);
    let mut changed = Vec::new();
    let mut change = |pointer: &str, what: String, mutation: Mutation| {
        let pointer = if pointer.is_empty() { "/" } else { pointer };
        changed.push(Changed { name: format!("{} {pointer}: {what}", base.example), body: base.with(mutation) });
    };
    for (name, json) in OF_CERTIFICATE {
        change("", format!("{name} {json}"), Set(&format!("/{name}"), json));
    }
    for place in &places {
        place.changes(&mut change);
    }
    changed
}

/// One value inside a certificate.
struct Place<'j> {
    pointer: String,
    /// Name of the member; of an item, that of its list.
    name: &'j str,
    value: &'j Json<'j>,
}

/// Every place below one, and itself, in the order of the text.
fn collect<'j>(places: &mut Vec<Place<'j>>, pointer: String, name: &'j str, value: &'j Json<'j>) {
    places.push(Place { pointer: pointer.clone(), name, value });
    match value {
        Json::Object(members) => {
            for (name, member) in members.iter() {
                collect(places, format!("{pointer}/{name}"), name, member);
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(places, format!("{pointer}/{at}"), name, item);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

impl Place<'_> {
    fn changes(&self, change: &mut impl FnMut(&str, String, Mutation)) {
        let pointer = self.pointer.as_str();
        let own = text(self.value);
        if let Json::Object(members) = self.value {
            for (name, json) in MEMBERS.iter().filter(|(name, _)| members.get(name).is_none()) {
                change(pointer, format!("with {name} {json}"), Set(&format!("{pointer}/{name}"), json));
            }
        }
        if pointer.is_empty() {
            return;
        }
        let mut set = |what: &str, json: &str| change(pointer, what.to_owned(), Set(pointer, json));
        set("null", "null");
        set("inside a list", &format!("[{own}]"));
        match self.value {
            Json::Object(_) => {
                set("an empty object", "{}");
                set("a text instead", r#""x""#);
            }
            Json::Array(items) => {
                set("an empty list", "[]");
                set("a text instead", r#""x""#);
                set("its first item instead", &text(&items[0]));
                set("with a null behind", &format!("{},null]", own.trim_end_matches(']')));
            }
            Json::String(original) => {
                set("a number instead", "1");
                set("inside an object", &format!(r#"{{"value":{own}}}"#));
                for (what, text) in TEXTS {
                    set(what, &string(text));
                }
                set("with blanks around", &string(&format!(" {original} ")));
                set("in capitals", &string(&original.to_uppercase()));
                for text in of(TEXTS_OF, self.name).filter(|text| **text != *original) {
                    set(&format!("as {text}"), &string(text));
                }
            }
            Json::Number(_) => NUMBERS.iter().for_each(|json| set(&format!("as {json}"), json)),
            Json::Null | Json::Bool(_) => {}
        }
        if self.name == "div" {
            for inside in NARRATIVES {
                let div = format!(r#"<div xmlns="http://www.w3.org/1999/xhtml">{inside}</div>"#);
                set(&format!("around {inside}"), &string(&div));
            }
            DIVS.iter().for_each(|div| set(&format!("as {div}"), &string(div)));
        }
        change(pointer, "removed".to_owned(), Remove(pointer));
        let is_item = pointer.rsplit('/').next().is_some_and(|step| step.parse::<usize>().is_ok());
        if is_item {
            change(pointer, "once more".to_owned(), Repeat(pointer));
        } else {
            change(pointer, "as a member twice".to_owned(), Twice(pointer, &own));
        }
        if let Json::Array(_) = self.value {
            for json in of(ITEMS_OF, self.name) {
                change(pointer, format!("and {json}"), Push(pointer, json));
            }
        }
        if let (Json::String(_), Some((parent, name)), false) = (self.value, pointer.rsplit_once('/'), is_item) {
            for json in [
                r#"{"id":"a-1"}"#,
                r#"{"id":"a b"}"#,
                r#"{"extension":[{"url":"http://example.org/x","valueString":"x"}]}"#,
                "{}",
            ] {
                change(pointer, format!("beside _{name} {json}"), Set(&format!("{parent}/_{name}"), json));
            }
        }
    }
}

fn of(table: &'static [(&str, &[&'static str])], name: &str) -> impl Iterator<Item = &'static &'static str> {
    table.iter().filter(move |(of, _)| *of == name).flat_map(|(_, texts)| *texts)
}

fn text(json: &Json) -> String {
    String::from_utf8(json.to_vec()).expect("a Json value is written as UTF-8")
}

fn string(value: &str) -> String {
    text(&Json::string(value))
}
