//! `$lookup`, `$validate-code`, `$expand`, and what loading a list does to them.

use serde_json::{Value, json};

use crate::server::Server;

const KIND: &str = "https://fhir.ee/CodeSystem/labivaatuse-tyyp";
const DRIVER_KIND_SET: &str = "https://fhir.ee/ValueSet/mootorsoidukijuhi-labivaatuse-tyyp";
const HAZARDS: &str = "https://fhir.ee/CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid";
const HAZARD_SET: &str = "https://fhir.ee/ValueSet/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid";
const DRIVER: &str = "https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang";

/// The values of a Parameters resource by name; the first of each.
fn value(told: &Value, name: &str) -> Value {
    let parameters = told["parameter"].as_array().expect("parameters");
    let found = parameters.iter().find(|parameter| parameter["name"] == name);
    let members = found.and_then(Value::as_object);
    members
        .and_then(|members| members.iter().find(|(name, _)| name.starts_with("value")))
        .map_or(Value::Null, |(_, value)| value.clone())
}

fn parameters(parameters: &[(&str, &str, Value)]) -> Vec<u8> {
    let all: Vec<Value> = parameters.iter().map(|(name, kind, value)| json!({"name": name, *kind: value})).collect();
    json!({"resourceType": "Parameters", "parameter": all}).to_string().into_bytes()
}

fn hazards(content: &str, codes: &[&str]) -> Value {
    let concepts: Vec<Value> =
        codes.iter().map(|code| json!({"code": code, "display": format!("oht {code}")})).collect();
    json!({"resourceType": "CodeSystem", "url": HAZARDS, "status": "active", "content": content, "concept": concepts})
}

#[tokio::test]
async fn a_code_is_looked_up_by_get_and_by_post_for_the_type_and_the_instance() {
    let server = Server::start().await;
    let by_get = server.get(&format!("CodeSystem/$lookup?system={KIND}&code=driver-group-I&displayLanguage=en")).await;
    let told = by_get.expect(200).json();
    assert_eq!(told["resourceType"], "Parameters");
    assert!(value(&told, "display").as_str().is_some_and(|display| display.contains("driv")), "{told}");
    assert!(value(&told, "name").is_string());
    let body = parameters(&[
        ("coding", "valueCoding", json!({"system": KIND, "code": "driver-group-I"})),
        ("displayLanguage", "valueCode", json!("en")),
    ]);
    assert_eq!(server.post("CodeSystem/$lookup", body).await.expect(200).json(), told);
    let own = "CodeSystem/labivaatuse-tyyp/$lookup?code=driver-group-I&displayLanguage=en";
    assert_eq!(server.get(own).await.expect(200).json(), told);
    let estonian =
        server.get(&format!("CodeSystem/$lookup?system={KIND}&code=driver-group-I")).await.expect(200).json();
    assert_ne!(value(&estonian, "display"), value(&told, "display"));
    let only = server.get(&format!("CodeSystem/$lookup?system={KIND}&code=driver-group-I&property=definition")).await;
    assert!(!only.text().contains("designation"));
}

#[tokio::test]
async fn the_catalogue_of_errors_is_a_code_system_with_properties() {
    let server = Server::start().await;
    let told =
        server.get("CodeSystem/hcert-issue/$lookup?code=HCERT-100&property=http-status").await.expect(200).json();
    let property = told["parameter"].as_array().expect("parameters").iter().find(|part| part["name"] == "property");
    let expected = json!([{"name": "code", "valueCode": "http-status"}, {"name": "value", "valueInteger": 400}]);
    assert_eq!(property.expect("a property")["part"], expected);
}

#[tokio::test]
async fn a_nested_code_tells_its_parent_and_its_children() {
    let server = Server::start().await;
    let tree = json!({"resourceType": "CodeSystem", "url": "urn:tree", "status": "active", "content": "complete",
        "concept": [{"code": "1", "concept": [{"code": "1.1", "concept": [{"code": "1.1.1"}]}]}]});
    assert_eq!(server.load(&tree).await, Ok(1));
    let told = server.get("CodeSystem/$lookup?system=urn:tree&code=1.1").await.expect(200);
    let of = |code: &str, other: &str| {
        format!(r#"[{{"name":"code","valueCode":"{code}"}},{{"name":"value","valueCode":"{other}"}}]"#)
    };
    assert!(told.text().contains(&of("parent", "1")) && told.text().contains(&of("child", "1.1.1")), "{told}");
}

#[tokio::test]
async fn what_cannot_be_looked_up_is_told() {
    let server = Server::start().await;
    for (query, status, code) in [
        (String::new(), 400, "HCERT-171"),
        ("?code=x".to_owned(), 400, "HCERT-171"),
        (format!("?system={KIND}"), 400, "HCERT-171"),
        (format!("?system={KIND}&code=x"), 404, "HCERT-174"),
        ("?system=urn:none&code=x".to_owned(), 404, "HCERT-173"),
        (format!("?system={DRIVER}&code=01.06&version=1.0"), 404, "HCERT-173"),
        (format!("?system={KIND}&code=x&date=2025"), 400, "HCERT-170"),
        (format!("?system={KIND}&code=x&code=y"), 400, "HCERT-209"),
        (format!("?system={KIND}&code="), 400, "HCERT-172"),
        ("?coding=a".to_owned(), 400, "HCERT-210"),
    ] {
        server.get(&format!("CodeSystem/$lookup{query}")).await.refused(status, &[code]);
    }
    server.get("CodeSystem/none/$lookup?code=x").await.refused(404, &["HCERT-127"]);
    server.post("CodeSystem/$lookup", "{}").await.expect(400);
    server.post("CodeSystem/$lookup", r#"{"resourceType":"Patient"}"#).await.refused(400, &["HCERT-106"]);
    let quantity = parameters(&[("code", "valueQuantity", json!({"value": 1}))]);
    server.post("CodeSystem/$lookup", quantity).await.refused(400, &["HCERT-210"]);
    let all = server.get("CodeSystem/$lookup?a=1&b=2").await.refused(400, &["HCERT-170", "HCERT-170"]);
    assert_eq!(all.places(), ["http.a", "http.b"]);
}

#[tokio::test]
async fn a_code_is_validated_against_a_value_set_and_a_code_system() {
    let server = Server::start().await;
    let set = format!("ValueSet/$validate-code?url={DRIVER_KIND_SET}&system={KIND}");
    for (path, result, has_message) in [
        (format!("{set}&code=driver-group-I"), true, false),
        (format!("{set}&code=occupational"), false, true),
        (format!("{set}&code=driver-group-I&display=x"), false, true),
        (
            format!("ValueSet/mootorsoidukijuhi-labivaatuse-tyyp/$validate-code?system={KIND}&code=driver-group-II"),
            true,
            false,
        ),
        (format!("ValueSet/$validate-code?url={DRIVER_KIND_SET}|9&system=urn:other&code=driver-group-I"), false, true),
        (format!("ValueSet/$validate-code?url={HAZARD_SET}&system={HAZARDS}&code=none"), true, true),
        (format!("CodeSystem/$validate-code?url={DRIVER}&code=01.06"), true, false),
        (format!("CodeSystem/$validate-code?url={DRIVER}&code=99"), false, true),
        (format!("CodeSystem/$validate-code?url={HAZARDS}&code=99"), true, true),
        ("CodeSystem/mootorsoidukijuhi-medits-piirang/$validate-code?code=99".to_owned(), false, true),
    ] {
        let told = server.get(&path).await.expect(200).json();
        assert_eq!(value(&told, "result"), result, "{path}: {told}");
        assert_eq!(value(&told, "message").is_string(), has_message, "{path}: {told}");
    }
    let told = server.get(&format!("{set}&code=driver-group-I&displayLanguage=en")).await.expect(200).json();
    assert_eq!((value(&told, "code"), value(&told, "system")), (json!("driver-group-I"), json!(KIND)));
    let display = value(&told, "display");
    let named = json!({"system": KIND, "code": "driver-group-I", "display": display});
    let concept = json!({"coding": [{"system": "urn:other", "code": "x"}, named]});
    for (name, kind, coded) in
        [("coding", "valueCoding", named.clone()), ("codeableConcept", "valueCodeableConcept", concept)]
    {
        let body = parameters(&[("url", "valueUri", json!(DRIVER_KIND_SET)), (name, kind, coded)]);
        let told = server.post("ValueSet/$validate-code", body).await.expect(200).json();
        assert_eq!((value(&told, "result"), value(&told, "message")), (json!(true), Value::Null), "{told}");
    }
    for (path, status, code) in [
        ("ValueSet/$validate-code?code=x".to_owned(), 400, "HCERT-171"),
        (format!("ValueSet/$validate-code?url={DRIVER_KIND_SET}"), 400, "HCERT-171"),
        (format!("ValueSet/$validate-code?url={DRIVER_KIND_SET}&code=x"), 400, "HCERT-171"),
        ("ValueSet/$validate-code?url=urn:none&system=a&code=x".to_owned(), 404, "HCERT-173"),
        ("ValueSet/none/$validate-code?system=a&code=x".to_owned(), 404, "HCERT-127"),
        (format!("ValueSet/labivaatuse-tyyp/$validate-code?url={HAZARD_SET}&system=a&code=x"), 404, "HCERT-173"),
    ] {
        server.get(&path).await.refused(status, &[code]);
    }
}

#[tokio::test]
async fn a_value_set_is_expanded_and_says_when_it_is_not_all() {
    let server = Server::start().await;
    let whole = server.get(&format!("ValueSet/$expand?url={DRIVER_KIND_SET}")).await.expect(200).json();
    assert_eq!((&whole["resourceType"], &whole["expansion"]["total"]), (&json!("ValueSet"), &json!(2)));
    assert!(whole.get("compose").is_none() && whole["expansion"].get("extension").is_none());
    let codes: Vec<&Value> =
        whole["expansion"]["contains"].as_array().expect("codes").iter().map(|code| &code["code"]).collect();
    assert_eq!(codes, ["driver-group-I", "driver-group-II"]);
    let instance = "ValueSet/mootorsoidukijuhi-labivaatuse-tyyp/$expand?offset=1&count=1&displayLanguage=en&includeDesignations=true";
    let page = server.get(instance).await.expect(200).json();
    let expansion = &page["expansion"];
    assert_eq!((&expansion["total"], &expansion["offset"]), (&json!(2), &json!(1)));
    assert_eq!(expansion["contains"][0]["code"], "driver-group-II");
    let filtered =
        server.get(&format!("ValueSet/$expand?url={DRIVER_KIND_SET}&filter=GROUP-ii")).await.expect(200).json();
    assert_eq!(filtered["expansion"]["total"], 1);
    let none = server.get(&format!("ValueSet/$expand?url={DRIVER_KIND_SET}&count=0")).await.expect(200).json();
    assert_eq!((&none["expansion"]["total"], none["expansion"].get("contains")), (&json!(2), None));
    let open = server.get(&format!("ValueSet/$expand?url={HAZARD_SET}")).await.expect(200).json();
    assert!(open["expansion"]["extension"][0]["url"].as_str().is_some_and(|url| url.ends_with("/valueset-unclosed")));
    let body = parameters(&[("url", "valueUri", json!(DRIVER_KIND_SET)), ("count", "valueInteger", json!(1))]);
    assert_eq!(server.post("ValueSet/$expand", body).await.expect(200).json()["expansion"]["total"], 2);

    let absent = json!({"resourceType": "ValueSet", "url": "urn:absent", "status": "active",
        "compose": {"include": [{"system": "urn:none"}]}});
    assert_eq!(server.load(&absent).await, Ok(1));
    for (query, status, code) in [
        ("", 400, "HCERT-171"),
        ("?url=urn:nothing", 404, "HCERT-173"),
        ("?url=urn:absent", 422, "HCERT-175"),
        ("?url=urn:absent&count=-1", 400, "HCERT-172"),
        ("?url=urn:absent&includeDesignations=yes", 400, "HCERT-172"),
        ("?url=urn:absent&activeOnly=true", 400, "HCERT-170"),
    ] {
        server.get(&format!("ValueSet/$expand{query}")).await.refused(status, &[code]);
    }
}

#[tokio::test]
async fn a_loaded_list_is_in_force_with_the_next_request_and_goes_again() {
    let server = Server::start().await;
    let ask = format!("ValueSet/$validate-code?url={HAZARD_SET}&system={HAZARDS}&code=");
    let result = async |code: &str| {
        let told = server.get(&format!("{ask}{code}")).await.expect(200).json();
        (value(&told, "result") == true, value(&told, "message").is_string())
    };
    assert_eq!((result("114").await, result("900").await), ((true, false), (true, true)));
    assert_eq!(server.load(&hazards("complete", &["900"])).await, Ok(1));
    assert_eq!((result("114").await, result("900").await), ((false, true), (true, false)));
    let served = server.get("CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid").await.expect(200).json();
    assert_eq!((&served["content"], &served["concept"][0]["code"]), (&json!("complete"), &json!("900")));

    let refused = server.load(&hazards("supplement", &["1"])).await.unwrap_err();
    assert!(refused[0].contains("content is supplement"), "{refused:?}");
    assert_eq!(result("900").await, (true, false), "nothing was changed");

    let (lists, hazards) = (server.lists(), server.names.sent_text(HAZARDS));
    let removed = tokio::task::spawn_blocking(move || (lists.remove(&hazards), lists.remove(&hazards)));
    let removed = removed.await.expect("no panic");
    assert_eq!(removed.0, Ok(()));
    assert!(removed.1.unwrap_err()[0].contains("no list was loaded"));
    assert_eq!((result("114").await, result("900").await), ((true, false), (true, true)));
}

#[tokio::test]
async fn a_list_that_others_need_cannot_be_removed() {
    let server = Server::start().await;
    let set = |url: &str, include: Value| json!({"resourceType": "ValueSet", "url": url, "status": "active", "compose": {"include": [include]}});
    assert_eq!(server.load(&set("urn:a", json!({"system": KIND}))).await, Ok(1));
    assert_eq!(server.load(&set("urn:b", json!({"valueSet": ["urn:a"]}))).await, Ok(1));
    let lists = server.lists();
    let refused = tokio::task::spawn_blocking(move || lists.remove("urn:a")).await.expect("no panic").unwrap_err();
    assert!(refused[0].contains("urn:b") && refused[0].contains("urn:a"), "{refused:?}");
    assert_eq!(server.get("ValueSet?url=urn:a").await.expect(200).json()["total"], 1);
}

#[tokio::test]
async fn a_large_list_is_expanded_piece_by_piece_and_served_whole() {
    let server = Server::start().await;
    let codes: Vec<String> = (0..30_000).map(|number| format!("c{number:05}")).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let mut large = hazards("complete", &codes);
    large["description"] = json!("x".repeat(1_000_000));
    large["concept"][0]["definition"] = json!("y".repeat(1_000_000));
    large["concept"][1]["definition"] = json!("z".repeat(1_000_000));
    assert_eq!(server.load(&large).await, Ok(1));
    let ask =
        async |more: &str| server.get(&format!("ValueSet/$expand?url={HAZARD_SET}{more}")).await.expect(200).json();
    let first = ask("").await;
    assert_eq!((&first["expansion"]["total"], &first["expansion"]["offset"]), (&json!(30_000), &json!(0)));
    assert_eq!(first["expansion"]["contains"].as_array().map(Vec::len), Some(1_000));
    assert_eq!(first["expansion"]["parameter"][0], json!({"name": "count", "valueInteger": 1_000}));
    let last = ask("&offset=29999&count=5000").await;
    assert_eq!(last["expansion"]["contains"][0]["code"], "c29999");
    assert_eq!(ask("&filter=C0001&count=3").await["expansion"]["total"], 10);
    let served = server.get("CodeSystem/toolaadi-ja-tookeskkonnaga-seotud-ohutegurid").await.expect(200);
    assert!(served.body.len() > 4 * 1024 * 1024);
    let found = server.get(&format!("CodeSystem?url={HAZARDS}")).await.expect(200);
    assert!(found.body.len() > served.body.len());
}

#[tokio::test]
async fn the_errors_of_other_systems_are_code_systems_also_where_no_code_is_known() {
    let server = Server::start().await;
    for (url, id, content, codes) in [
        ("https://mpi.tehik.ee", "mpi-issue", "complete", 105),
        ("https://rahvastikuregister.ee", "population-register-issue", "complete", 15),
        ("https://maaamet.ee", "address-register-issue", "not-present", 0),
        ("https://tootukassa.ee", "unemployment-fund-issue", "not-present", 0),
    ] {
        let found = server.get(&format!("CodeSystem?url={url}")).await.expect(200).json();
        let system = &found["entry"][0]["resource"];
        assert_eq!((system["id"].as_str(), system["content"].as_str()), (Some(id), Some(content)));
        assert_eq!(system["concept"].as_array().map_or(0, Vec::len), codes, "{url}");
    }
    let path = "CodeSystem/$lookup?system=https://mpi.tehik.ee&code=MPI-021&displayLanguage=et";
    let told = server.get(path).await.expect(200).json();
    let display = told["parameter"].as_array().unwrap().iter().find(|parameter| parameter["name"] == "display");
    assert_eq!(display.unwrap()["valueString"], "Patsienti ei leitud");
    server.get("CodeSystem/$lookup?system=https://maaamet.ee&code=1").await.refused(404, &["HCERT-174"]);
    for (url, code, result) in [("https://emta.ee", "58", true), ("https://emta.ee", "59x", false)] {
        let told = server.get(&format!("CodeSystem/$validate-code?url={url}&code={code}")).await.expect(200).json();
        let of = |name: &str| told["parameter"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned();
        assert_eq!(of("result").unwrap()["valueBoolean"], result, "{code}");
    }
}

/// Observed: `$expand` is declared by HL7's definition, and did not take its parameter `valueSet`.
#[tokio::test]
async fn a_value_set_of_the_caller_is_expanded_by_the_lists_at_hand() {
    let server = Server::start().await;
    let expand = async |compose: Value, more: &[(&str, &str, Value)]| {
        let set = json!({"resourceType": "ValueSet", "status": "draft", "experimental": true, "compose": compose});
        let mut body: Value = serde_json::from_slice(&parameters(more)).expect("it was made");
        let all = body["parameter"].as_array_mut().expect("a list");
        all.push(json!({"name": "valueSet", "resource": set}));
        server.post("ValueSet/$expand", body.to_string()).await
    };
    let codes = |told: &Value| -> Vec<String> {
        let contains = told["expansion"]["contains"].as_array().into_iter().flatten();
        contains.map(|code| code["code"].as_str().expect("a code").to_owned()).collect()
    };
    let whole = expand(json!({"include": [{"valueSet": [DRIVER_KIND_SET]}]}), &[]).await.expect(200).json();
    assert_eq!(codes(&whole), ["driver-group-I", "driver-group-II"]);
    // It is answered as it came: nothing was made up for what it does not say.
    assert!(whole.get("id").is_none() && whole.get("url").is_none() && whole.get("compose").is_none(), "{whole}");
    assert!(whole["expansion"].get("extension").is_none(), "{whole}");
    let listed = json!({"include": [{"system": KIND, "concept": [{"code": "driver-group-I"}, {"code": "occupational"}]}],
        "exclude": [{"valueSet": [DRIVER_KIND_SET]}]});
    assert_eq!(codes(&expand(listed, &[]).await.expect(200).json()), ["occupational"]);
    let filtered = [("filter", "valueString", json!("occup"))];
    let found = expand(json!({"include": [{"system": KIND}]}), &filtered).await.expect(200).json();
    assert_eq!(codes(&found), ["occupational"]);

    for (compose, status, code) in [
        (
            json!({"include": [{"system": KIND, "filter": [{"property": "a", "op": "=", "value": "b"}]}]}),
            422,
            "HCERT-224",
        ),
        (json!({"include": [{"valueSet": ["urn:none"]}]}), 422, "HCERT-224"),
        (json!({"include": [{"system": "urn:none"}]}), 422, "HCERT-175"),
        (json!({"include": vec![json!({"system": KIND}); 101]}), 422, "HCERT-225"),
        (
            json!({"include": vec![json!({"system": "https://fhir.ee/CodeSystem/mootorsoidukijuhi-medits-piirang"}); 100]}),
            200,
            "",
        ),
    ] {
        let told = expand(compose, &[]).await;
        match status {
            200 => drop(told.expect(200)),
            _ => drop(told.refused(status, &[code])),
        }
    }
    let both = [("url", "valueUri", json!(DRIVER_KIND_SET))];
    expand(json!({"include": [{"system": KIND}]}), &both).await.refused(400, &["HCERT-172"]);
    let patient = json!({"name": "valueSet", "resource": {"resourceType": "Patient"}});
    let body = json!({"resourceType": "Parameters", "parameter": [patient]});
    server.post("ValueSet/$expand", body.to_string()).await.refused(400, &["HCERT-210"]);
    server.get("ValueSet/$expand?valueSet=x").await.refused(400, &["HCERT-210"]);
    server.get("ValueSet/$expand").await.refused(400, &["HCERT-171"]);
}
