//! Systematic changes: every example, changed in one way at every place, for the comparison with the HL7 validator
//! (`tests/outside/run hl7`, docs/VALIDATION.md).
//!
//! The tables say what is changed, and by the name of which member. Nothing is random: the same example gives the same changes, under
//! the same names.

use std::collections::HashSet;

use fhir::json::Json;

use crate::base::{self, Base};
use crate::mutation::Mutation::{self, *};

/// A certificate with one change.
pub(crate) struct Changed {
    /// `driver-final /contained/1/status: removed`
    pub name: String,
    pub body: Vec<u8>,
}

/// Texts that are put in the place of every text.
const TEXTS: &[(&str, &str)] = &[
    ("empty", ""),
    ("a blank", " "),
    ("no-break spaces", "\u{a0}\u{a0}"),
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

/// Companions of primitive members, as JSON.
const BESIDE: &[&str] = &[
    r#"{"id":"a-1"}"#,
    r#"{"id":"a b"}"#,
    r#"{"extension":[{"url":"http://example.org/x","valueString":"x"}]}"#,
    "{}",
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

/// All changes of all examples, each once: of places that the same definition describes, one is changed.
pub(crate) fn changes() -> Vec<Changed> {
    let mut changes = Changes { done: HashSet::new(), changed: Vec::new() };
    for base in base::EXAMPLES {
        let certificate = base.json();
        let profile = base.example.split('-').next().unwrap_or_default();
        let mut places = Vec::new();
        Place {
            pointer: String::new(),
            name: "",
            element: String::new(),
            slice: profile.to_owned(),
            value: &certificate,
        }
        .collect(&mut places);
        let [root, below @ ..] = places.as_slice() else { unreachable!("a certificate is a place") };
        for (name, json) in OF_CERTIFICATE {
            changes.add(base, root, &root.element, format!("with {name} {json}"), Set(&format!("/{name}"), json));
        }
        with_members(base, root, &mut changes);
        for place in below {
            with_members(base, place, &mut changes);
            other_values(base, place, &mut changes);
            other_lists(base, place, &mut changes);
        }
    }
    changes.changed
}

struct Changes {
    /// Definition of a place, and what was changed there.
    done: HashSet<(String, String)>,
    changed: Vec<Changed>,
}

impl Changes {
    /// Makes a change unless the same was done at another place of `definition`, which is a place's `element` or its `slice`.
    fn add(&mut self, base: &Base, place: &Place, definition: &str, what: String, mutation: Mutation) {
        if self.done.insert((definition.to_owned(), what.clone())) {
            let pointer = if place.pointer.is_empty() { "/" } else { &place.pointer };
            self.changed
                .push(Changed { name: format!("{} {pointer}: {what}", base.example), body: base.with(mutation) });
        }
    }
}

/// One value inside a certificate.
struct Place<'j> {
    pointer: String,
    /// Name of the member; of an item, that of its list.
    name: &'j str,
    /// What base R5 knows it by: `/contained/Observation/code`.
    element: String,
    /// What the profile knows it by: `driver/contained/decision/code`.
    slice: String,
    value: &'j Json<'j>,
}

impl<'j> Place<'j> {
    /// Adds itself, and every place below it, in the order of the text.
    fn collect(self, places: &mut Vec<Place<'j>>) {
        let Place { pointer, name, element, slice, value } = &self;
        let mut below = Vec::new();
        match *value {
            Json::Object(members) => below.extend(members.iter().map(|(name, value)| {
                let longer = |path: &str| format!("{path}/{name}");
                Place { pointer: longer(pointer), name, element: longer(element), slice: longer(slice), value }
            })),
            Json::Array(items) => below.extend(items.iter().enumerate().map(|(at, value)| {
                let element = value.text("resourceType").map_or(element.clone(), |name| format!("{element}/{name}"));
                let slice = slice_of(value).map_or(slice.clone(), |name| format!("{slice}/{name}"));
                Place { pointer: format!("{pointer}/{at}"), name, element, slice, value }
            })),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
        places.push(self);
        below.into_iter().for_each(|place| place.collect(places));
    }

    fn is_item(&self) -> bool {
        self.pointer.ends_with(|last: char| last.is_ascii_digit())
    }
}

/// What names the slice of an item: the id of a contained resource, as `restriction` of `restriction-2`; the code of a section.
fn slice_of(item: &Json) -> Option<String> {
    let id = item.text("id").map(|id| id.trim_end_matches(|last: char| last == '-' || last.is_ascii_digit()));
    let code = || item.get("code")?.items("coding").first()?.text("code");
    id.or_else(code).map(str::to_owned)
}

/// A member that was not there.
fn with_members(base: &Base, place: &Place, changes: &mut Changes) {
    if let Json::Object(members) = place.value {
        for (name, json) in MEMBERS.iter().filter(|(name, _)| members.get(name).is_none()) {
            let pointer = format!("{}/{name}", place.pointer);
            changes.add(base, place, &place.element, format!("with {name} {json}"), Set(&pointer, json));
        }
    }
    if let (Json::String(_), false) = (place.value, place.is_item()) {
        let (parent, name) = place.pointer.rsplit_once('/').expect("a text stands in an object");
        for json in BESIDE {
            let what = format!("beside _{name} {json}");
            changes.add(base, place, &place.element, what, Set(&format!("{parent}/_{name}"), json));
        }
    }
}

/// Another value in its place. What no definition allows is tried once for an element, what a profile may be about once for a slice.
fn other_values(base: &Base, place: &Place, changes: &mut Changes) {
    let Place { element, slice, .. } = place;
    let own = text(place.value);
    let mut set = |definition: &str, what: &str, json: &str| {
        changes.add(base, place, definition, what.to_owned(), Set(&place.pointer, json));
    };
    set(element, "null", "null");
    set(element, "inside a list", &format!("[{own}]"));
    match place.value {
        Json::Object(_) => {
            set(element, "an empty object", "{}");
            set(element, "a text instead", r#""x""#);
        }
        Json::Array(items) => {
            set(element, "an empty list", "[]");
            set(element, "a text instead", r#""x""#);
            set(element, "its first item instead", &text(&items[0]));
            set(element, "with a null behind", &format!("{},null]", own.trim_end_matches(']')));
        }
        Json::Number(_) => NUMBERS.iter().for_each(|json| set(slice, &format!("as {json}"), json)),
        Json::String(original) => {
            set(element, "a number instead", "1");
            set(element, "inside an object", &format!(r#"{{"value":{own}}}"#));
            TEXTS.iter().for_each(|(what, text)| set(element, what, &string(text)));
            set(element, "with blanks around", &string(&format!(" {original} ")));
            set(slice, "in capitals", &string(&original.to_uppercase()));
            set(slice, "another text", r#""zzz""#);
            for text in of(TEXTS_OF, place.name).filter(|text| **text != *original) {
                set(slice, &format!("as {text}"), &string(text));
            }
        }
        Json::Null | Json::Bool(_) => {}
    }
    if place.name == "div" {
        for inside in NARRATIVES {
            let div = format!(r#"<div xmlns="http://www.w3.org/1999/xhtml">{inside}</div>"#);
            set(element, &format!("around {inside}"), &string(&div));
        }
        DIVS.iter().for_each(|div| set(element, &format!("as {div}"), &string(div)));
    }
}

/// Less or more of it.
fn other_lists(base: &Base, place: &Place, changes: &mut Changes) {
    let mut change = |what: String, mutation: Mutation| changes.add(base, place, &place.slice, what, mutation);
    change("removed".to_owned(), Remove(&place.pointer));
    if place.is_item() {
        change("once more".to_owned(), Repeat(&place.pointer));
    } else {
        change("as a duplicate key".to_owned(), Twice(&place.pointer, &text(place.value)));
    }
    if let Json::Array(_) = place.value {
        of(ITEMS_OF, place.name).for_each(|json| change(format!("and {json}"), Push(&place.pointer, json)));
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
