//! `hcert openapi`: the description of the API, and its requests for programs that send them.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::Place;

/// Ids of the operations, and the description itself.
fn described(place: &Place, command: &str) -> (BTreeSet<String>, Value) {
    let document: Value = serde_json::from_str(place.run(&["openapi", "--for", command]).expect(0).text()).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
    let ids = operations.map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect();
    (ids, document)
}

#[test]
fn every_operation_is_a_request_in_every_form() {
    let place = Place::new();
    let (ids, document) = described(&place, "dev");
    assert_eq!(document["servers"][0]["url"], "http://127.0.0.1:8080/fhir");

    let http = place.run(&["openapi", "--as", "http"]);
    let named = |line: &str| Some(line.strip_prefix("### ")?.split_once(": ")?.1.to_owned());
    assert_eq!(http.expect(0).text().lines().filter_map(named).collect::<BTreeSet<_>>(), ids);
    assert!(http.text().contains("\n@base = http://127.0.0.1:8080/fhir\n") && !http.text().contains("@token"));
    assert!(http.text().contains("\nPOST {{base}}/Composition/1/$suspend\nContent-Type: application/fhir+json\n\n{\n"));

    let postman: Value = serde_json::from_str(place.run(&["openapi", "--as", "postman"]).expect(0).text()).unwrap();
    let folders = postman["item"].as_array().unwrap().iter();
    let items = folders.flat_map(|folder| folder["item"].as_array().unwrap());
    assert_eq!(items.map(|item| item["name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(), ids);

    place.run(&["openapi", "--as", "bruno", "--dir", "made"]).expect(0);
    let mut files = BTreeSet::new();
    for folder in fs::read_dir(place.path("made")).unwrap().map(|entry| entry.unwrap().path()).filter(|it| it.is_dir())
    {
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{}", file.display());
            files.insert(file.file_stem().unwrap().to_string_lossy().into_owned());
        }
    }
    assert!(files.remove("hcert") && files == ids, "{files:?}");
    place.run(&["openapi", "--as", "bruno"]).expect(2).says("--dir");
}

#[test]
fn addresses_namespaces_and_tokens_are_those_of_the_settings() {
    let place = Place::new();
    let settings = "[server]\nbase_url = \"https://health.example.ee/r5\"\n[namespaces]\nprofile_base = \"https://p.example.ee\"\n\
                    [access.token]\nissuer = \"i\"\naudience = \"a\"\njwks = \"https://127.0.0.1:1/jwks.json\"\n";
    fs::write(place.path("hcert.toml"), settings).unwrap();
    let (_, document) = described(&place, "serve");
    assert_eq!(document["servers"][0]["url"], "https://health.example.ee/r5");
    let text = document.to_string();
    assert!(text.contains("https://p.example.ee/StructureDefinition/ee-health-certificate-driver"));
    assert!(!text.contains("https://fhir.ee/hcert/StructureDefinition"));
    assert_eq!(document["security"], serde_json::json!([{"token": []}]));
    let curl = document["paths"]["/Composition"]["post"]["x-codeSamples"][0]["source"].as_str().unwrap();
    assert!(
        curl.contains("-H \"Authorization: Bearer $TOKEN\"") && curl.contains("--data-binary @examples/"),
        "{curl}"
    );
    let http = place.run(&["openapi", "--for", "serve", "--as", "http"]);
    assert!(
        http.expect(0).text().contains("\n@token = \n") && http.text().contains("\nAuthorization: Bearer {{token}}\n")
    );
    // What needs no token is asked without one.
    let (_, of_statement) = http.text().split_once("GET {{base}}/metadata\n").unwrap();
    assert!(!of_statement.starts_with("Authorization"));
}
