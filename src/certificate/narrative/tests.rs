use proptest::prelude::*;

use super::*;
use crate::fhir::{json, narrative};

/// The examples and what is told of each, without the div around it.
#[rustfmt::skip]
const EXAMPLES: &[(&str, &str)] = &[
    (include_str!("../../../examples/driver-draft.json"),
     "<p><b>Läbivaatus juhiloa saamiseks või pikendamiseks (A-, AM-, B- ja BE-kategooria)</b></p><p>Tervisetõend nr TT-2025-000201</p><p>Olek: Mustand</p>"),
    (include_str!("../../../examples/driver-external-declaration.json"),
     "<p><b>Läbivaatus juhiloa saamiseks või pikendamiseks (C-, CE-, D- ja DE-kategooria)</b></p><p>Tervisetõend nr TT-2025-000203</p><p>Olek: Lõpetatud</p><p>Otsus: Sobib mootorsõidukit juhtima</p><p>Kehtib 18.06.2025 kuni 17.06.2030</p>"),
    (include_str!("../../../examples/driver-final.json"),
     "<p><b>Läbivaatus juhiloa saamiseks või pikendamiseks (A-, AM-, B- ja BE-kategooria)</b></p><p>Tervisetõend nr TT-2025-000202</p><p>Olek: Lõpetatud</p><p>Otsus: Sobib mootorsõidukit juhtima piirangutega</p><p>Kehtib 12.01.2025 kuni 11.01.2035</p><p>Meditsiinilised piirangud:</p><ul><li>prillid või kontaktläätsed (Prille või läätsi tuleb kanda kogu sõidu ajal.)</li></ul>"),
    (include_str!("../../../examples/driver-final-changed.json"),
     "<p><b>Läbivaatus juhiloa saamiseks või pikendamiseks (A-, AM-, B- ja BE-kategooria)</b></p><p>Tervisetõend nr TT-2025-000202</p><p>Olek: Lõpetatud</p><p>Otsus: Sobib mootorsõidukit juhtima piirangutega</p><p>Kehtib 12.01.2025 kuni 11.01.2030</p><p>Meditsiinilised piirangud:</p><ul><li>prillid või kontaktläätsed (Prille või läätsi tuleb kanda kogu sõidu ajal.)</li><li>kuuldeaparaat (Kuuldeaparaat vasakus kõrvas.)</li></ul>"),
    (include_str!("../../../examples/occupational-draft.json"),
     "<p><b>Töötervishoiualane läbivaatus</b></p><p>Tervisetõend nr TT-2025-000205</p><p>Olek: Mustand</p><p>Töölaadi ja töökeskkonnaga seotud ohutegurid:</p><ul><li>Kantserogeenid</li></ul>"),
    (include_str!("../../../examples/occupational-final.json"),
     "<p><b>Töötervishoiualane läbivaatus</b></p><p>Tervisetõend nr TT-2025-000204</p><p>Olek: Lõpetatud</p><p>Otsus: Sobib töötama piirangutega</p><p>Kehtib 31.03.2025 kuni 30.03.2026</p><p>Meditsiinilised piirangud:</p><ul><li>Vältida käsitsi raskuste teisaldamist üle 15 kg (Rohkem kui 15 kg tõstmisel kasutada tõstevahendit.)</li><li>Ei sobi töötama üksinda</li></ul><p>Töötamiseks vajalikud lisatingimused:</p><ul><li>Tugivöö ja turvajalanõud</li><li>Reguleeritava kõrgusega töölaud</li></ul><p>Töölaadi ja töökeskkonnaga seotud ohutegurid:</p><ul><li>Kastide tõstmine laos, kuni 25 kg</li><li>Kantserogeenid</li></ul>"),
    (include_str!("../../../examples/occupational-rejected.json"),
     "<p><b>Töötervishoiualane läbivaatus</b></p><p>Tervisetõend nr TT-2025-000206</p><p>Olek: Lõpetatud</p><p>Otsus: Ei sobi töötama</p><p>Töölaadi ja töökeskkonnaga seotud ohutegurid:</p><ul><li>Kokkupuude puidutolmuga</li></ul>"),
];

fn object(text: &str) -> Object<'static> {
    match json::parse(text.as_bytes()).unwrap().into_owned() {
        Json::Object(object) => object,
        _ => unreachable!("the tests write objects"),
    }
}

/// What is told of a certificate, without the div around it.
fn told(composition: &Object) -> String {
    let div = generate(composition, &Names::default());
    let inside = div.strip_prefix(r#"<div xmlns="http://www.w3.org/1999/xhtml" lang="et" xml:lang="et">"#);
    inside.and_then(|inside| inside.strip_suffix("</div>")).expect("it is always the same div").to_owned()
}

fn assert_right(composition: &Object) {
    let div = generate(composition, &Names::default());
    assert_eq!(narrative::problems(&div), [], "{div}");
    assert!(div.chars().count() <= 10_000, "{}", div.chars().count());
    assert!(["<p>", "<li>"].iter().map(|line| div.matches(line).count()).sum::<usize>() <= 50, "{div}");
}

#[test]
fn every_example_is_told_in_a_few_lines() {
    for (example, expected) in EXAMPLES {
        let mut composition = object(example);
        composition.remove("text");
        assert_eq!(told(&composition), *expected);
        assert_right(&composition);
    }
}

#[test]
fn a_certificate_of_nothing_is_a_certificate_still() {
    assert_eq!(told(&Object::default()), "<p><b>Tervisetõend</b></p>");
    for empty in [
        r#"{"title":" ","status":"amended","section":{"a":1},"contained":1,"event":[1],"identifier":[{"value":"a"}],"category":["a"]}"#,
        r#"{"title":["a"],"status":["final"],"event":[{"period":{"start":"2025-02-30","end":5}}]}"#,
    ] {
        assert_eq!(told(&object(empty)), "<p><b>Tervisetõend</b></p>", "{empty}");
    }
}

#[test]
fn without_a_title_the_category_is_told_by_text_display_or_code() {
    for (category, expected) in [
        (r#"{"text":"A","coding":[{"display":"B","code":"c"}]}"#, "A"),
        (r#"{"coding":[{"code":"c"},{"display":"B"}]}"#, "B"),
        (r#"{"coding":[{"system":"s"},{"code":"c"}]}"#, "c"),
        (r#"{"coding":"c"}"#, "Tervisetõend"),
    ] {
        let composition = object(&format!(r#"{{"category":[{category}]}}"#));
        assert_eq!(told(&composition), format!("<p><b>{expected}</b></p>"));
    }
}

#[test]
fn the_number_is_told_and_no_other_identifier() {
    let composition = object(
        r#"{"title":"T","identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"38001085718"},
            {"system":"https://fhir.ee/hcert/health-certificate-number","value":"TT-1"}],
            "subject":[{"reference":"Patient/7","display":"Mari Maasikas"}],"author":[{"display":"49403136515"}]}"#,
    );
    assert_eq!(told(&composition), "<p><b>T</b></p><p>Tervisetõend nr TT-1</p>");
}

#[test]
fn every_status_is_told_as_the_state_it_means() {
    for (status, state) in [
        ("preliminary", "Mustand"),
        ("final", "Lõpetatud"),
        ("cancelled", "Peatatud"),
        ("entered-in-error", "Tühistatud"),
    ] {
        let composition = object(&format!(r#"{{"title":"T","status":"{status}"}}"#));
        assert_eq!(told(&composition), format!("<p><b>T</b></p><p>Olek: {state}</p>"));
    }
}

#[test]
fn validity_is_told_in_tallinn_days_with_the_precision_given() {
    for (period, expected) in [
        (r#""start":"2025-01-12T00:00:00+02:00","end":"2035-01-11T23:59:59+02:00""#, "12.01.2025 kuni 11.01.2035"),
        (r#""start":"2025-01-11T22:00:00Z""#, "alates 12.01.2025"),
        (r#""end":"2025-03""#, "kuni 03.2025"),
        (r#""start":"2025","end":"2026-02-31""#, "alates 2025"),
    ] {
        let composition = object(&format!(r#"{{"title":"T","event":[{{"id":"a"}},{{"period":{{{period}}}}}]}}"#));
        assert_eq!(told(&composition), format!("<p><b>T</b></p><p>Kehtib {expected}</p>"));
    }
}

#[test]
fn the_newest_reasons_are_told_and_only_under_the_codes_of_the_service() {
    let section = |system: &str, code: &str, text: &str| {
        format!(
            r#"{{"code":{{"coding":[{{"system":"{system}","code":"{code}"}}]}},"text":{{"div":"<div>{text}</div>"}}}}"#
        )
    };
    let ours = "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon";
    let sections = [
        section(ours, "suspend-reason", "vana"),
        section(ours, "suspend-reason", "a &lt; b"),
        section(ours, "cancel-reason", "<p>Viga</p><p>isikus</p>"),
        section("https://other.ee", "cancel-reason", "võõras"),
        section(ours, "reject-reason", "diagnoos"),
    ];
    let composition = object(&format!(r#"{{"title":"T","section":[{}]}}"#, sections.join(",")));
    assert_eq!(
        told(&composition),
        "<p><b>T</b></p><p>Peatamise põhjus: a &lt; b</p><p>Tühistamise põhjus: Viga isikus</p>"
    );
}

/// A certificate with this many restrictions of this text.
fn restricted(count: usize, text: &str) -> Object<'static> {
    let entry = Json::object([("reference", Json::string("#r"))]);
    let concept = |code: &'static str, system: String| {
        let coding = Json::object([("system", Json::string(system)), ("code", Json::string(code))]);
        Json::object([("coding", Json::Array(vec![coding]))])
    };
    let section = Json::object([
        ("code", concept("medical-restrictions", Names::default().section_system())),
        ("entry", Json::Array(vec![entry; count])),
    ]);
    let value = Json::object([("text", Json::string(text.to_owned()))]);
    let observation = Json::object([("id", Json::string("r")), ("valueCodeableConcept", value)]);
    Object(vec![
        ("title".into(), Json::string("T")),
        ("contained".into(), Json::Array(vec![observation])),
        ("section".into(), Json::Array(vec![section])),
    ])
}

#[test]
fn fifty_lines_are_told_and_the_last_says_that_more_were_left_out() {
    let lines = |count| told(&restricted(count, "a"));
    assert_eq!(lines(0), "<p><b>T</b></p>");
    assert_eq!(
        lines(47),
        format!("<p><b>T</b></p><p>Meditsiinilised piirangud:</p><ul>{}</ul>", "<li>a</li>".repeat(47))
    );
    for count in [48, 49, 10_000] {
        assert!(lines(count).ends_with("<li>a</li><li>…</li></ul>"), "{count}");
        assert_right(&restricted(count, "a"));
    }
}

#[test]
fn long_texts_are_cut_at_a_character_and_many_of_them_end_early() {
    let long = "õ".repeat(1_000_000);
    let cut = told(&restricted(1, &long));
    assert!(cut.ends_with("õ…</li></ul>"));
    assert_eq!(cut.matches('õ').count(), 998);
    for text in [&long, &"&".repeat(5000), &"< ".repeat(5000), &"\u{0}".repeat(5000)] {
        for count in [1, 2, 9, 60] {
            assert_right(&restricted(count, text));
        }
    }
    assert!(told(&restricted(20, &long)).ends_with("<li>…</li></ul>"));
}

/// Gives every text of a value in turn another one and shows the whole each time.
fn with_each_text(value: &Json<'static>, hostile: &'static str, show: &mut dyn FnMut(Json<'static>)) {
    match value {
        Json::String(_) => show(Json::string(hostile)),
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                with_each_text(item, hostile, &mut |changed| {
                    let mut items = items.clone();
                    items[at] = changed;
                    show(Json::Array(items));
                });
            }
        }
        Json::Object(members) => {
            for (at, (_, member)) in members.0.iter().enumerate() {
                with_each_text(member, hostile, &mut |changed| {
                    let mut members = members.clone();
                    members.0[at].1 = changed;
                    show(Json::Object(members));
                });
            }
        }
        _ => {}
    }
}

#[test]
fn a_hostile_text_in_any_field_is_only_a_text() {
    let hostile = "</p><script>alert(1)</script>&nbsp;]]>\"'\u{0}\u{fffe}\u{b}";
    let mut shown = 0;
    for (example, _) in EXAMPLES {
        with_each_text(&Json::Object(object(example)), hostile, &mut |changed| {
            let composition = changed.as_object().expect("only texts are changed");
            assert_right(composition);
            let told = told(composition);
            assert!(!told.contains("<script") && !told.contains("&nbsp;"), "{told}");
            shown += usize::from(told.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;nbsp;]]&gt;\"'"));
        });
    }
    assert!(shown > 30, "{shown}");
}

#[test]
fn a_narrative_is_generated_as_long_as_the_fields_say_the_same() {
    let names = Names::default();
    let mut composition = object(EXAMPLES[2].0);
    assert!(!is_generated(&composition, &names));
    set(&mut composition, &names);
    assert!(is_generated(&composition, &names));
    let text = composition.get("text").unwrap();
    assert_eq!(text.text("status"), Some(GENERATED));
    assert_eq!(text.text("div"), Some(generate(&composition, &names).as_str()));
    composition.set("status", Json::string("cancelled"));
    assert!(!is_generated(&composition, &names));
    assert!(!is_generated(&Object::default(), &names));
}

#[test]
fn the_text_is_set_where_r5_has_its_place() {
    let order = |text: &str| {
        let mut composition = object(text);
        set(&mut composition, &Names::default());
        composition.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(r#"{"resourceType":"Composition"}"#), "resourceType text");
    assert_eq!(
        order(
            r#"{"resourceType":"Composition","id":"7","meta":{"a":1},"implicitRules":"a","language":"et","contained":[1],"status":"final","text":{"a":1}}"#
        ),
        "resourceType id meta implicitRules language text contained status"
    );
    assert_eq!(order(r#"{"meta":{"a":1},"text":{"a":1},"title":"a"}"#), "meta text title");
    assert_eq!(order(r#"{"title":"a","meta":{"a":1}}"#), "text title meta");
}

/// JSON of the names and texts that a narrative is made of, in any shape.
fn odd() -> impl Strategy<Value = Json<'static>> {
    let text = prop_oneof![
        prop::sample::select(vec![
            "#a",
            "final",
            "decision",
            "risk-factors",
            "cancel-reason",
            "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon",
            "https://fhir.ee/hcert/health-certificate-number",
            "a",
            "<div>&amp;</div>",
            "2025-03-30T10:00:00+03:00",
        ])
        .prop_map(Json::string),
        "(\\PC|[<>&\u{0}\u{1}\u{fffe}\u{85}]){0,8}".prop_map(Json::string),
    ];
    let leaf = prop_oneof![6 => text, 1 => Just(Json::Null), 1 => Just(Json::Number("1e400".into())), 1 => Just(Json::Bool(true))];
    leaf.prop_recursive(6, 60, 6, |inner| {
        let name = prop::sample::select(vec![
            "title",
            "status",
            "category",
            "coding",
            "code",
            "display",
            "system",
            "value",
            "identifier",
            "section",
            "entry",
            "reference",
            "contained",
            "id",
            "event",
            "period",
            "start",
            "end",
            "text",
            "div",
            "component",
            "valueQuantity",
            "unit",
            "note",
            "valueCodeableConcept",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((name, inner), 0..6).prop_map(|members| {
                Json::Object(Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect()))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_fields_hold_the_narrative_is_right(members in prop::collection::vec(odd(), 10)) {
        let names = ["title", "status", "category", "identifier", "section", "contained", "event", "text", "date", "author"];
        let composition = Object(names.into_iter().map(Into::into).zip(members).collect());
        assert_right(&composition);
        prop_assert_eq!(told(&composition), told(&composition.clone()));
    }
}
