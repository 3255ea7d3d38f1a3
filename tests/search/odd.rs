//! Certificates out of the ordinary: what real ones mostly have is missing, or written in another allowed way.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::known::BASE_URL;

/// Titles that try the alphabet, case, signs of the query language, and white space.
pub(crate) const TITLES: &[&str] = &[
    "Õun",
    "õUN",
    "o\u{303}un",
    "Äike, 50 % | $ \\ lõpp",
    "öö  ja\tpäev",
    "Šokk",
    "sokk",
    "Zooloog",
    "Žürii",
    "žürii II",
    "zz",
    "Taat",
    "vaat",
    "waat",
    "Õlu",
    "ülo",
    "xüü",
    "yks",
    "9 kuud",
    "10 kuud",
    "(sulgudes)",
    "A",
    "a",
    "Aa",
];

/// Makes a certificate odd: some of these changes, by chance.
pub(crate) fn bend(certificate: &mut Value, dice: &mut Dice) {
    let changes: [fn(&mut Value, &mut Dice); 10] =
        [remove, title, kind, category, identifier, subject, date, period, author, section];
    for _ in 0..1 + dice.below(4) {
        dice.pick(&changes)(certificate, dice);
    }
}

fn remove(certificate: &mut Value, dice: &mut Dice) {
    let needed = ["resourceType", "id", "meta", "status"];
    let elements = certificate.as_object_mut().unwrap();
    let names: Vec<String> = elements.keys().filter(|name| !needed.contains(&name.as_str())).cloned().collect();
    elements.remove(dice.pick::<String>(&names));
}

fn title(certificate: &mut Value, dice: &mut Dice) {
    certificate["title"] = json!(dice.pick(TITLES));
}

fn kind(certificate: &mut Value, dice: &mut Dice) {
    certificate["type"] = any(
        dice,
        vec![
            json!({"coding": [{"code": "772786005"}]}),
            json!({"coding": [{"system": "http://loinc.org", "code": "11488-4"}, {"system": "http://snomed.info/sct", "code": "772786005"}]}),
            json!({"coding": [{"system": "http://loinc.org"}]}),
            json!({"text": "Tõend"}),
            json!({"coding": [{"system": "urn:a|b", "code": "c,d$e"}]}),
        ],
    );
}

fn category(certificate: &mut Value, dice: &mut Dice) {
    let concept = any(
        dice,
        vec![
            json!({"coding": [{"code": "driver-group-I"}]}),
            json!({"coding": [{"system": "urn:other", "code": "occupational"}, {"code": "äär"}]}),
            json!({"coding": [{"system": "urn:other"}]}),
            json!({"coding": [{"display": "only"}]}),
        ],
    );
    certificate["category"] = json!([concept]);
}

fn identifier(certificate: &mut Value, dice: &mut Dice) {
    let identifier = any(
        dice,
        vec![
            json!({"value": "TT-1"}),
            json!({"system": "urn:numbers", "value": "TT-1"}),
            json!({"system": "urn:numbers"}),
            json!({"system": "urn:numbers|2", "value": "7,8$9\\0"}),
            json!({"use": "official"}),
        ],
    );
    certificate["identifier"] = json!([identifier]);
}

fn subject(certificate: &mut Value, dice: &mut Dice) {
    let patient = 1_000 + dice.below(40);
    let subject = match dice.below(7) {
        0 => json!({"reference": format!("Patient/{patient}/_history/{}", 1 + dice.below(3))}),
        1 => json!({"reference": format!("{BASE_URL}/Patient/{patient}")}),
        2 => json!({"reference": format!("https://mpi.ee/fhir/Patient/{patient}/_history/2")}),
        3 => json!({"identifier": {"system": "est/ni", "value": format!("{patient}")}}),
        4 => json!({"display": "Keegi"}),
        5 => json!({"reference": format!("Patient/{patient}"), "identifier": {"value": format!("{patient}")}}),
        _ => json!({"reference": "#patient"}),
    };
    certificate["subject"] = json!([subject]);
}

fn date(certificate: &mut Value, dice: &mut Dice) {
    certificate["date"] = json!(dice.pick(&[
        "2024",
        "2023-10",
        "2023-10-29",
        "2023-10-29T03:30:00",
        "2024-03-31T02:59:59",
        "2022-06-15T21:00:00.250Z",
        "2022-06-16T00:00:00-05:00",
        "1931-05-01",
        "9999-12-31",
    ]));
}

fn period(certificate: &mut Value, dice: &mut Dice) {
    let period = any(
        dice,
        vec![
            json!({"start": "2022-01-01"}),
            json!({"end": "2026-12-31"}),
            json!({"start": "2021", "end": "2024-02"}),
            json!({"start": "2024-05-05T13:00:00+03:00", "end": "2024-05-05T14:00:00+03:00"}),
            json!({"start": "2025-01-01", "end": "2024-01-01"}),
            json!({"start": "2023-06-01T23:30:00", "end": "9999-12-31"}),
        ],
    );
    certificate["event"] = json!([{"period": period}]);
}

fn author(certificate: &mut Value, dice: &mut Dice) {
    let mut role = any(
        dice,
        vec![
            json!({"practitioner": {"reference": "Practitioner/48001010001"}}),
            json!({"organization": {"reference": format!("{BASE_URL}/Organization/90006399/_history/2")}}),
            json!({"practitioner": {"reference": "https://mpi.ee/Practitioner/1"}, "organization": {"display": "Haigla"}}),
            json!({"practitioner": {"identifier": {"value": "48001010001"}}}),
        ],
    );
    role["resourceType"] = json!("PractitionerRole");
    role["id"] = json!("odd");
    certificate["contained"] =
        json!([{"resourceType": "Observation", "id": "other", "status": "final", "code": {"text": "x"}}, role]);
    certificate["author"] = json!([{"reference": "#odd"}]);
}

fn section(certificate: &mut Value, dice: &mut Dice) {
    let code = dice.pick(&["employer", "own|code", "a$b", "c,d"]);
    let text =
        dice.pick(&["16978044", "<b>1697</b>8044", " x &lt; y &amp; z\n", "5 &#x24;, 6 | 7", "<p>üks</p><p>kaks</p>"]);
    let coding = if dice.one_in(2) { json!({"code": code}) } else { json!({"system": "urn:sections", "code": code}) };
    let inner = json!({
        "code": {"coding": [coding, {"code": "second"}]},
        "text": {"status": "additional", "div": format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{text}</div>")},
        "entry": [
            {"reference": format!("QuestionnaireResponse/{}/_history/1", 1_000 + dice.below(50))},
            {"identifier": {"system": "urn:documents", "value": format!("D-{}", dice.below(20))}},
        ],
    });
    certificate["section"] = json!([{"title": "outer", "section": [{"title": "middle", "section": [inner]}]}]);
}

fn any(dice: &mut Dice, mut from: Vec<Value>) -> Value {
    let at = dice.below(from.len());
    from.swap_remove(at)
}
