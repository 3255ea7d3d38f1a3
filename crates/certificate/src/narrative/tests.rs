use proptest::prelude::*;

use super::*;
use crate::State;
use fhir::outcome::Language;
use fhir::{json, narrative};

/// Bodies of every kind.
const EXAMPLES: &[&str] = &[
    include_str!("../../../../examples/driver-draft.json"),
    include_str!("../../../../examples/driver-external-declaration.json"),
    include_str!("../../../../examples/driver-final.json"),
    include_str!("../../../../examples/driver-final-changed.json"),
    include_str!("../../../../examples/occupational-draft.json"),
    include_str!("../../../../examples/occupational-final.json"),
    include_str!("../../../../examples/occupational-rejected.json"),
];

/// Words for a few codes. Every code system is `urn:c`, but for the one of sections.
pub(crate) struct Few;

impl DisplayTerms for Few {
    fn term(&self, system: &str, code: &str) -> Option<&str> {
        let known = [
            ("urn:c", "fit", "Sobib töötama"),
            ("urn:c", "unfit", "Ei sobi töötama"),
            ("urn:c", "load", "Vältida raskusi üle"),
            ("urn:c", "hazard", "Ei sobi töö ohuteguriga"),
            ("urn:c", "dust", "Puidutolm"),
            ("urn:c", "blank", " "),
            (SECTIONS, "employer", "Tööandja"),
            (SECTIONS, "medical-restrictions", "Meditsiinilised piirangud"),
            (SECTIONS, "health-declaration", "Tervisedeklaratsioon"),
            (SECTIONS, "reject-reason", "Eitava otsuse põhjendus"),
            (SECTIONS, "cancel-reason", "Tühistamise põhjus"),
            (SECTIONS, "suspend-reason", "Peatamise põhjus"),
        ];
        let found = known.into_iter().find(|(of, known, _)| (*of, *known) == (system, code));
        found.map(|(_, _, term)| term)
    }

    fn other_words(&self, _: &str, code: &str) -> Option<&str> {
        (code == "english").then_some("Known in English")
    }

    fn unit(&self, _: &str, code: &str) -> Option<&str> {
        (code == "load").then_some("kg")
    }

    fn title(&self, system: &str) -> Option<&str> {
        (system == "urn:c").then_some("Loend")
    }
}

const SECTIONS: &str = "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon";

fn object(text: &str) -> Object<'static> {
    match json::parse(text.as_bytes()).unwrap().into_owned() {
        Json::Object(object) => object,
        _ => unreachable!("the tests write objects"),
    }
}

fn div_of(composition: &Object) -> String {
    generate(composition, &Names::default(), &Few)
}

/// What is told of a certificate, without the div around it.
fn told(composition: &Object) -> String {
    let div = div_of(composition);
    let (opening, inside) = div.split_once('>').unwrap();
    let digits = opening.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix(CLOSING.strip_suffix('>').unwrap()));
    assert!(digits.is_some_and(|digits| digits.len() == DIGEST_DIGITS), "{opening}");
    inside.strip_suffix("</div>").unwrap().to_owned()
}

/// The lines of the narrative of a certificate with these members, after its title.
fn told_of(members: &str) -> String {
    let told = told(&object(&format!(r#"{{"title":"T",{members}}}"#)));
    told.strip_prefix("<p><b>T</b></p>").unwrap_or(&told).to_owned()
}

fn assert_right(composition: &Object) {
    let div = div_of(composition);
    assert_eq!(narrative::problems(&div), [], "{div}");
    assert!(div.chars().count() <= 10_000, "{}", div.chars().count());
    assert!(["<p>", "<li>"].iter().map(|line| div.matches(line).count()).sum::<usize>() <= 54, "{div}");
}

#[test]
fn every_example_is_told_in_a_few_lines() {
    for example in EXAMPLES {
        let composition = object(example);
        assert_right(&composition);
        assert!((8..30).contains(&told(&composition).matches("</").count()), "{}", told(&composition));
    }
}

#[test]
fn a_certificate_of_nothing_is_a_certificate_still() {
    assert_eq!(told(&Object::default()), "<p><b>Tervisetõend</b></p>");
    for empty in [
        r#"{"title":" ","status":"amended","section":{"a":1},"contained":1,"event":[1],"identifier":[{"value":"a"}],"category":["a"]}"#,
        r#"{"title":["a"],"status":["final"],"event":[{"period":{"start":"2025-02-30","end":5}}],"author":[{"reference":1}],"subject":[{"reference":" "}],"date":"x"}"#,
    ] {
        assert_eq!(told(&object(empty)), "<p><b>Tervisetõend</b></p>", "{empty}");
    }
}

#[test]
fn a_concept_is_told_by_term_then_by_the_clients_words_then_by_any_words_and_last_by_its_code() {
    for (concept, expected) in [
        (r#"{"coding":[{"system":"urn:c","code":"fit"}]}"#, "Sobib töötama"),
        (r#"{"coding":[{"system":"urn:c","code":"fit","display":"Fit for work"}]}"#, "Sobib töötama"),
        (r#"{"coding":[{"system":"urn:x","code":"a"},{"system":"urn:c","code":"fit"}]}"#, "Sobib töötama"),
        // Words that only say the term, and words that say more.
        (r#"{"text":"sobib Töötama ","coding":[{"system":"urn:c","code":"fit"}]}"#, "Sobib töötama"),
        (
            r#"{"text":"Sobib töötama, aga mitte öösel","coding":[{"system":"urn:c","code":"fit"}]}"#,
            "Sobib töötama, aga mitte öösel",
        ),
        // What the code says stands first, also where the client says the opposite.
        (r#"{"text":"Sobib töötama","coding":[{"system":"urn:c","code":"unfit"}]}"#, "Ei sobi töötama (Sobib töötama)"),
        (r#"{"text":"A","coding":[{"system":"urn:c","code":"x","display":"B"}]}"#, "A"),
        (r#"{"text":" ","coding":[{"system":"urn:c","code":"x","display":"B"}]}"#, "B"),
        (r#"{"coding":[{"system":"urn:c","code":"english"}]}"#, "Known in English"),
        (r#"{"coding":[{"system":"urn:c","code":"english","display":"Kliendi sõnad"}]}"#, "Kliendi sõnad"),
        (r#"{"coding":[{"system":"urn:c","code":"x"}]}"#, "x (Loend)"),
        (r#"{"coding":[{"system":"urn:c","code":"blank"}]}"#, "blank (Loend)"),
        (r#"{"coding":[{"system":"urn:unknown","code":"x"}]}"#, "x"),
        (r#"{"coding":[{"code":"x"}]}"#, "x"),
    ] {
        let observation = format!(r#"{{"id":"d","valueCodeableConcept":{concept}}}"#);
        let section = section("decision", r##","entry":[{"reference":"#d"}]"##);
        let expected = format!("<p>Otsus: {expected}</p>");
        assert_eq!(told_of(&format!(r#""contained":[{observation}],"section":[{section}]"#)), expected, "{concept}");
    }
}

/// A section of one of our codes; `rest` are its other members.
fn section(code: &str, rest: &str) -> String {
    format!(r#"{{"code":{{"coding":[{{"system":"{SECTIONS}","code":"{code}"}}]}}{rest}}}"#)
}

#[test]
fn a_restriction_is_told_with_amount_unit_value_and_notes() {
    let code = |code: &str| format!(r#""code":{{"coding":[{{"system":"urn:c","code":"{code}"}}]}}"#);
    let of = |component: String, rest: &str| format!(r##"{{"id":"r","component":[{{{component}}}]{rest}}}"##);
    let load = |quantity: &str| of(format!(r#"{},"valueQuantity":{{{quantity}}}"#, code("load")), "");
    for (observation, expected) in [
        (load(r#""value":10,"unit":"tonni","code":"t""#), "Vältida raskusi üle 10 tonni"),
        (load(r#""value":10,"system":"http://unitsofmeasure.org","code":"t""#), "Vältida raskusi üle 10 t"),
        (load(r#""value":7.50"#), "Vältida raskusi üle 7,50 kg"),
        (load(r#""value":7,"unit":" ","code":"1""#), "Vältida raskusi üle 7"),
        (load(r#""value":7,"comparator":"<=""#), "Vältida raskusi üle kuni 7 kg"),
        (load(r#""unit":"kg""#), "Vältida raskusi üle (kogus on märkimata)"),
        (
            of(code("load"), r#","note":[{"text":"a"},{"text":" "},{"text":"b"}]"#),
            "Vältida raskusi üle (kogus on märkimata; a; b)",
        ),
        (
            of(
                format!(
                    r#"{},"valueCodeableConcept":{{"text":"saepuru","coding":[{{"system":"urn:c","code":"dust"}}]}}"#,
                    code("hazard")
                ),
                r#","note":[{"text":"a"}]"#,
            ),
            "Ei sobi töö ohuteguriga: Puidutolm (saepuru; a)",
        ),
        (of(code("dust"), ""), "Puidutolm"),
    ] {
        let section = section(
            "medical-restrictions",
            r##","text":{"div":"<div>Selja tõttu.</div>"},"entry":[{"reference":"#r"}]"##,
        );
        assert_eq!(
            told_of(&format!(r#""contained":[{observation}],"section":[{section}]"#)),
            format!("<p>Meditsiinilised piirangud: Selja tõttu.</p><ul><li>{expected}</li></ul>"),
            "{observation}"
        );
    }
    let only_text = section("medical-restrictions", r#","text":{"div":"<div>Ei tõsta.</div>"}"#);
    assert_eq!(told_of(&format!(r#""section":[{only_text}]"#)), "<p>Meditsiinilised piirangud: Ei tõsta.</p>");
    assert_eq!(told_of(&format!(r#""section":[{}]"#, section("medical-restrictions", ""))), "");
}

#[test]
fn the_employer_is_told_by_name_and_code_and_the_work_by_job_and_rate() {
    let told = |performer: &str, rest: &str, text: &str| {
        let observation = format!(r#"{{"id":"e","performer":[{{"id":"p"{performer}}}]{rest}}}"#);
        let rest = format!(r##","text":{{"div":"<div>{text}</div>"}},"entry":[{{"reference":"#e"}}]"##);
        told_of(&format!(r#""contained":[{observation}],"section":[{}]"#, section("employer", &rest)))
    };
    let whole = r#","display":"OÜ Ladu","identifier":{"value":"16978044"}"#;
    assert_eq!(told(whole, "", "16978044"), "<p>Tööandja: OÜ Ladu (registrikood 16978044)</p>");
    assert_eq!(told(whole, "", "Ladu 2"), "<p>Tööandja: OÜ Ladu (registrikood 16978044; Ladu 2)</p>");
    assert_eq!(told(r#","display":"OÜ Ladu""#, "", "16978044"), "<p>Tööandja: OÜ Ladu (16978044)</p>");
    assert_eq!(told(r#","identifier":{"value":"16978044"}"#, "", ""), "<p>Tööandja: registrikood 16978044</p>");
    assert_eq!(told("", "", "16978044"), "<p>Tööandja: 16978044</p>");
    assert_eq!(told("", "", ""), "");
    let work = r#","note":[{"text":"Öötöö."}],"component":[{"valueCodeableConcept":{"text":"Laotöötaja"}},{"valueQuantity":{"value":0.75,"unit":"1"}},{"valueString":"a"}]"#;
    assert_eq!(
        told(whole, work, ""),
        "<p>Tööandja: OÜ Ladu (registrikood 16978044)</p><p>Amet: Laotöötaja</p><p>Töökoormus: 0,75</p><p>Lisainfo töö kohta: Öötöö.</p>"
    );
}

#[test]
fn the_number_the_patients_reference_and_the_author_are_told_and_no_other_identifier() {
    let told = told_of(
        r##""identifier":[{"system":"https://fhir.ee/sid/pid/est/ni","value":"38001085718"},
            {"system":"https://fhir.ee/hcert/health-certificate-number","value":"TT-1"}],
            "subject":[{"reference":"Patient/7/_history/2","display":"Mari Maasikas","identifier":{"value":"48001085718"}}],
            "contained":[{"id":"a","practitioner":{"reference":"Practitioner/49403136515"},"organization":{"display":"TK","reference":"Organization/90006399"}}],
            "author":[{"reference":"#a"}],"date":"2025-01-11T22:30:00Z""##,
    );
    assert_eq!(
        told,
        "<p>Tervisetõend nr TT-1</p><p>Patsient: Patient/7</p><p>Koostaja: isikukood 49403136515, TK (asutuse registrikood 90006399)</p><p>Koostatud: 12.01.2025</p>"
    );
    for (author, expected) in [
        (r##"{"reference":"Practitioner/1/_history/3"}"##, "<p>Koostaja: Practitioner/1</p>"),
        (r##"{"display":"Dr Mets"}"##, "<p>Koostaja: Dr Mets</p>"),
        (r##"{"reference":"#none"}"##, "<p>Koostaja: #none</p>"),
        (r#"{"id":"a"}"#, ""),
    ] {
        assert_eq!(told_of(&format!(r#""author":[{author}]"#)), expected);
    }
}

#[test]
fn the_declaration_is_told_by_its_reference_or_its_number() {
    for (entry, expected) in [
        (r#"{"reference":"QuestionnaireResponse/301"}"#, "<p>Tervisedeklaratsioon: QuestionnaireResponse/301</p>"),
        (r#"{"identifier":{"value":"P-1"}}"#, "<p>Tervisedeklaratsioon: dokument nr P-1</p>"),
        (r#"{"id":"a"}"#, ""),
    ] {
        let section = section("health-declaration", &format!(r#","entry":[{entry}]"#));
        assert_eq!(told_of(&format!(r#""section":[{section}]"#)), expected);
    }
}

#[test]
fn a_state_that_does_not_hold_stands_at_the_top_and_no_other_is_said_to_hold() {
    let period = r#""event":[{"period":{"start":"2025-01-12","end":"2035-01-11"}}]"#;
    for (status, expected) in [
        (
            "preliminary",
            "<p><b>T</b></p><p>Olek: Mustand. Tervisetõend veel ei kehti.</p><p>Otsus: puudub</p><p>Märgitud kehtivusaeg: 12.01.2025 kuni 11.01.2035</p>",
        ),
        (
            "final",
            "<p><b>T</b></p><p>Olek: Lõpetatud. Tervisetõend on välja antud.</p><p>Otsus: puudub</p><p>Kehtib 12.01.2025 kuni 11.01.2035</p>",
        ),
        (
            "cancelled",
            "<div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\"><p><b>Olek: Peatatud. Tervisetõend praegu ei kehti.</b></p></div><p><b>T</b></p><p>Otsus: puudub</p><p>Märgitud kehtivusaeg: 12.01.2025 kuni 11.01.2035</p>",
        ),
        (
            "entered-in-error",
            "<div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\"><p><b>Olek: Tühistatud. Tervisetõend ei kehti.</b></p></div><p><b>T</b></p><p>Otsus: puudub</p><p>Märgitud kehtivusaeg: 12.01.2025 kuni 11.01.2035</p>",
        ),
    ] {
        let composition = object(&format!(r#"{{"title":"T","status":"{status}",{period}}}"#));
        assert_eq!(told(&composition), expected);
        assert_right(&composition);
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
        let members = format!(r#""status":"final","event":[{{"id":"a"}},{{"period":{{{period}}}}}]"#);
        assert_eq!(
            told_of(&members),
            format!("<p>Olek: Lõpetatud. Tervisetõend on välja antud.</p><p>Otsus: puudub</p><p>Kehtib {expected}</p>")
        );
    }
}

#[test]
fn the_newest_reasons_are_told_and_only_under_the_codes_of_the_service() {
    let reason = |code: &str, text: &str| section(code, &format!(r#","text":{{"div":"<div>{text}</div>"}}"#));
    let sections = [
        reason("suspend-reason", "vana"),
        reason("suspend-reason", "a &lt; b"),
        reason("cancel-reason", "<p>Viga</p><p>isikus</p>"),
        reason("cancel-reason", "võõras").replace("https://fhir.ee", "https://other.ee"),
        reason("reject-reason", "Puidutolm."),
    ];
    let told = told_of(&format!(r#""status":"entered-in-error","section":[{}]"#, sections.join(",")));
    let on_top = "<p><b>Olek: Tühistatud. Tervisetõend ei kehti.</b></p><p>Tühistamise põhjus: Viga isikus</p><p>Varem peatatud. Peatamise põhjus: a &lt; b</p></div>";
    assert!(told.contains(on_top), "{told}");
    assert!(told.ends_with("<p>Otsus: puudub</p><p>Eitava otsuse põhjendus: Puidutolm.</p>"), "{told}");
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
    assert_eq!(cut.matches('õ').count(), 1_000);
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
    for example in EXAMPLES {
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
fn a_narrative_is_generated_as_long_as_nobody_changes_it() {
    let mut composition = object(EXAMPLES[2]);
    let of = |composition: &Object| composition.get("text").and_then(|text| text.text("div")).unwrap().to_owned();
    assert!(!is_generated(&of(&composition)));
    set(&mut composition, &Names::default(), &Few);
    let div = of(&composition);
    assert!(is_generated(&div) && div == div_of(&composition));
    assert_eq!(composition.get("text").unwrap().text("status"), Some(GENERATED));
    for changed in [
        div.replace("<p>Otsus", "<p> Otsus"),
        div.replace("class=\"hcert-", "class=\"hcert-0"),
        div.replace(" lang=\"et\"", ""),
        div.replace("</div>", "</div> "),
        div[..OPENING.len() + 3].to_owned(),
        "<div/>".to_owned(),
    ] {
        assert!(changed != div && !is_generated(&changed), "{changed}");
    }
}

#[test]
fn a_narrative_from_before_the_digest_is_known_by_its_beginning_and_its_state() {
    let div = r#"<div xmlns="http://www.w3.org/1999/xhtml" lang="et" xml:lang="et"><p><b>T</b></p><p>Olek: Lõpetatud</p></div>"#;
    assert!(is_generated_without_digest(div));
    assert!(is_generated_without_digest(&div.replace("Lõpetatud", "Mustand")));
    for other in [div.replace("Lõpetatud", "Aegunud"), div.replace("<p><b>", "<p>"), div.replace("lang=\"et\" ", "")] {
        assert!(!is_generated_without_digest(&other), "{other}");
    }
}

/// A certificate with a narrative and these sections, in the state that an operation made.
fn operated(status: &str, text: Json<'static>, sections: &[String]) -> Object<'static> {
    let mut composition = object(&format!(r#"{{"title":"T","status":"{status}","section":[{}]}}"#, sections.join(",")));
    composition.set("text", text);
    set_state(&mut composition, &Names::default(), &Few);
    let text = composition.get("text").unwrap();
    assert_eq!(narrative::problems(text.text("div").unwrap()), [], "{text:?}");
    composition
}

fn text(status: &'static str, div: &str) -> Json<'static> {
    Json::object([("status", Json::string(status)), ("div", Json::string(div.to_owned()))])
}

fn reason(code: &str, text: &str) -> String {
    section(code, &format!(r#","text":{{"div":"<div>{text}</div>"}}"#))
}

#[test]
fn an_operation_puts_the_state_above_what_a_client_wrote_once() {
    let own = "<div xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\" class=\"a\"><p>Fit to drive.</p></div>";
    let mut sections = vec![reason("suspend-reason", "Uus &lt;b&gt; läbivaatus")];
    let suspended = operated("cancelled", text("generated", own), &sections);
    let told = |composition: &Object| {
        let text = composition.get("text").unwrap();
        assert_eq!(text.text("status"), Some("additional"));
        text.text("div").unwrap().to_owned()
    };
    let on_top = "<div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\"><p><b>Olek: Peatatud. Tervisetõend praegu ei kehti.</b></p><p>Peatamise põhjus: Uus &lt;b&gt; läbivaatus</p></div>";
    assert_eq!(told(&suspended), own.replace("<p>Fit", &format!("{on_top}<p>Fit")));
    assert_eq!(without_state(&told(&suspended)).as_deref(), Some(own));

    let hiding = "<div xmlns=\"http://www.w3.org/1999/xhtml\" style = 'visibility: hidden'><p class=\"a\" style=\"position: fixed\">Valid.</p></div>";
    let told_now = told(&operated("cancelled", text("generated", hiding), &sections));
    let plain = "<div xmlns=\"http://www.w3.org/1999/xhtml\">{}<p class=\"a\">Valid.</p></div>";
    assert_eq!(told_now, plain.replace("{}", on_top), "nothing hides the state");

    let covering = vec![reason("suspend-reason", "a").replace("<div>", "<div style=\\\"position:fixed\\\">")];
    let plain = Json::Object(operated("cancelled", text("generated", own), &covering)).to_vec();
    assert!(!String::from_utf8(plain).unwrap().contains("style"), "no section covers the state either");

    sections.push(reason("cancel-reason", "Vale isik"));
    let text_before = suspended.get("text").unwrap().clone();
    let cancelled = told(&operated("entered-in-error", text_before, &sections));
    assert_eq!(cancelled.matches("hcert-state").count(), 1);
    assert!(!cancelled.contains("Peatatud."), "{cancelled}");
    let order = ["Olek: Tühistatud.", "Tühistamise põhjus: Vale isik", "Peatamise põhjus: Uus", "Fit to drive."];
    let places: Vec<_> = order.iter().map(|words| cancelled.find(words).unwrap()).collect();
    assert!(places.is_sorted(), "{cancelled}");
}

#[test]
fn an_operation_keeps_any_right_narrative_and_generates_the_others() {
    let sections = [reason("cancel-reason", "Viga")];
    let told = |text: Json<'static>| {
        let composition = operated("entered-in-error", text, &sections);
        let text = composition.get("text").unwrap();
        (text.text("status").unwrap().to_owned(), text.text("div").unwrap().to_owned())
    };
    let xhtml = "http://www.w3.org/1999/xhtml";
    for kept in [
        format!("<div xmlns=\"{xhtml}\">a</div>"),
        format!("<h:div xmlns:h=\"{xhtml}\"><h:p>a</h:p></h:div>"),
        format!("<div title='>' xmlns='{xhtml}'><p>{}</p></div>", "õ".repeat(400_000)),
        format!(
            "<div xmlns=\"{xhtml}\"><div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\"><ul><li>a</li></ul></div></div>"
        ),
    ] {
        let (status, div) = told(text("extensions", &kept));
        assert_eq!(status, "additional");
        assert!(div.find("Tühistatud").unwrap() < 300 && div.len() > kept.len());
        assert_eq!(without_state(&div).as_deref(), Some(kept.as_str()));
    }
    for replaced in [
        Json::Null,
        Json::object([("status", Json::string("generated"))]),
        text("empty", &format!("<div xmlns=\"{xhtml}\">Teksti ei ole.</div>")),
        text("generated", "<div>no namespace</div>"),
        text("generated", &format!("<div xmlns=\"{xhtml}\"><p>a</div>")),
        text("generated", &format!("<div xmlns=\"{xhtml}\"><script>a</script>a</div>")),
        text("generated", &div_of(&object(EXAMPLES[0]))),
    ] {
        let (status, div) = told(replaced);
        assert_eq!(status, "generated");
        assert!(is_generated(&div) && div.find("Tühistatud").unwrap() < 300, "{div}");
    }
}

#[test]
fn only_what_an_operation_wrote_is_taken_out_again() {
    let state =
        |inside: &str| format!("<div>{{<div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\">{inside}</div>}}</div>");
    for (inside, is_taken) in [
        ("<p><b>Olek</b></p><p>a &amp; b</p>", true),
        ("", true),
        ("<p>a<!-- </div> --></p>", false),
        ("<ul><li>a</li></ul>", false),
        ("<p class='a'>b</p>", false),
    ] {
        assert_eq!(without_state(&state(inside)), is_taken.then(|| "<div>{}</div>".to_owned()), "{inside}");
    }
    assert_eq!(without_state("<div>a</div>"), None);
    assert_eq!(without_state("<div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\"><p>a"), None);
}

/// What was seen: of two such parts in a client's narrative one stayed, and a draft began with "Olek: Peatatud".
#[test]
fn every_part_that_only_operations_write_is_taken_out() {
    let open = "<div class=\"hcert-state\" lang=\"et\" xml:lang=\"et\">";
    let of_prefixed = open.replace("<div", "<div xmlns=\"http://www.w3.org/1999/xhtml\"");
    let state = format!("{open}<p><b>Olek: Peatatud.</b></p></div>");
    let list = format!("{open}<ul><li>a</li></ul></div>");
    for (inside, kept) in [
        (format!("{state}{state}a{state}"), "a".to_owned()),
        (format!("{open}{state}</div>a"), "a".into()),
        (format!("{open}<p>{open}{state}<b>b</b></div></p>{state}</div>a"), "a".into()),
        (format!("{of_prefixed}{state}</div>{of_prefixed}<p>b</p></div>a"), "a".into()),
        (format!("{list}{state}a"), format!("{list}a")),
        // What taking one out joins together.
        (state.replace("hcert", &format!("hc{state}ert")), String::new()),
        (state.replace("</div>", &format!("</di{state}v>")), String::new()),
    ] {
        let rest = without_state(&format!("<div>{inside}</div>"));
        assert_eq!(rest, Some(format!("<div>{kept}</div>")), "{inside}");
        assert_eq!(without_state(&rest.unwrap()), None);
    }
    // As many as a body may hold are taken out in one pass.
    let many = format!("<div>{}{}a</div>", open.repeat(10_000), "</div>".repeat(10_000));
    assert_eq!(without_state(&many).as_deref(), Some("<div>a</div>"));
}

#[test]
fn the_text_is_set_where_r5_has_its_place() {
    let order = |text: &str| {
        let mut composition = object(text);
        set(&mut composition, &Names::default(), &Few);
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

/// A certificate for paper, in a language.
fn printed(text: &str, language: Language) -> PrintedCertificate {
    PrintedCertificate::read(&object(text), &Names::default(), &Few, language)
}

#[test]
fn paper_has_the_decision_first_and_the_declaration_last() {
    let told = printed(EXAMPLES[5], Language::Estonian);
    assert_eq!((told.number.as_deref(), told.state), (Some("TT-2025-000204"), Some(State::Completed)));
    let labels: Vec<&str> = told.facts.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["decision", "shortened-reason", "Kehtib", "Koostatud"]);
    assert!(told.is_decided && told.facts[2].values == ["31.03.2025 – 30.03.2026"], "{:?}", told.facts);
    let headings: Vec<&str> = told.sections.iter().map(|section| section.heading.as_str()).collect();
    assert_eq!(
        (headings.first(), headings.last()),
        (Some(&"Meditsiinilised piirangud"), Some(&"Tervisedeklaratsioon"))
    );
    let employer = told.sections.iter().find(|section| section.heading == "Tööandja").unwrap();
    let rows: Vec<_> = employer.rows.iter().map(|row| (row.label.as_str(), row.values[0].as_str())).collect();
    assert_eq!(rows[..3], [("Nimi", "OÜ Põhjatuule Ladu"), ("Registrikood", "16978044"), ("Töökoormus", "0,75")]);
    assert!(employer.paragraphs.is_empty(), "the code is told once: {employer:?}");
    let issuer: Vec<&str> = told.issuer.iter().map(|row| row.values[0].as_str()).collect();
    assert_eq!(issuer, ["isikukood 49403136515", "asutuse registrikood 90006399"]);
    let english = printed(EXAMPLES[5], Language::English);
    assert_eq!(english.issuer[0].values, ["personal code 49403136515"]);
    let employer = english.sections.iter().find(|section| section.heading == "Tööandja").unwrap();
    assert_eq!(employer.rows[2].values, ["0.75"]);
}

#[test]
fn paper_says_why_a_certificate_is_not_valid() {
    let reasons = |status: &str, codes: &[&str]| {
        let section = |code: &&str| {
            let div = format!(r#"<div xmlns=\"http://www.w3.org/1999/xhtml\">a &amp; b, {code}</div>"#);
            format!(r#"{{"code":{{"coding":[{{"system":"{SECTIONS}","code":"{code}"}}]}},"text":{{"div":"{div}"}}}}"#)
        };
        let sections: Vec<String> = codes.iter().map(section).collect();
        let text = format!(r#"{{"status":"{status}","section":[{}]}}"#, sections.join(","));
        let told = printed(&text, Language::Estonian);
        (told.reasons, told.sections.len())
    };
    let both = ["suspend-reason", "cancel-reason"];
    let cancelled = "Tühistamise põhjus: a & b, cancel-reason".to_owned();
    let suspended = "Peatamise põhjus: a & b, suspend-reason".to_owned();
    assert_eq!(reasons("entered-in-error", &both), (vec![cancelled, suspended.clone()], 0));
    assert_eq!(reasons("cancelled", &both[..1]), (vec![suspended], 0));
    // What was suspended once and is a draft of something else now says so as a section.
    assert_eq!(reasons("final", &both[..1]), (Vec::new(), 1));
}
