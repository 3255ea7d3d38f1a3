//! Two certificates to test with, written after the profiles in the Estonian guide.

pub(crate) const DRIVER: &str = r##"{
  "resourceType": "Composition",
  "id": "20695",
  "meta": {"versionId": "2", "lastUpdated": "2025-01-12T10:00:00.123+02:00",
    "profile": ["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-driver"]},
  "text": {"status": "generated", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\"><p>Mootorsõidukijuhi tervisetõend</p></div>"},
  "contained": [
    {"resourceType": "PractitionerRole", "id": "role",
      "practitioner": {"reference": "Practitioner/36109255737"}, "organization": {"reference": "Organization/90006399"}},
    {"resourceType": "Observation", "id": "decision",
      "meta": {"profile": ["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-decision"]},
      "status": "final",
      "code": {"coding": [{"system": "http://snomed.info/sct", "code": "419183001", "display": "Practitioner decision status"}]},
      "valueCodeableConcept": {"coding": [{"system": "http://snomed.info/sct", "code": "156861000181108"}]}},
    {"resourceType": "Observation", "id": "glasses",
      "meta": {"profile": ["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-medical-restriction"]},
      "status": "final",
      "code": {"coding": [{"system": "http://snomed.info/sct", "code": "146861000181105", "display": "Restriction"}]},
      "note": [{"time": "2025-01-12T09:30:00+02:00", "text": "Prillid **alati** kaasas"}],
      "component": [{"code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-piirangud", "code": "01.01"}]},
        "valueQuantity": {"value": 1.10, "unit": "dpt"}}]}
  ],
  "identifier": [{"system": "https://fhir.ee/hcert/health-certificate-number", "value": "TT-2025-17"}],
  "status": "final",
  "type": {"coding": [{"system": "http://snomed.info/sct", "code": "772786005", "display": "Medical certificate"}]},
  "category": [{"coding": [{"system": "https://fhir.ee/CodeSystem/labivaatuse-tyyp", "code": "driver-group-I"}]}],
  "subject": [{"reference": "Patient/200/_history/3"}],
  "date": "2025-01-12T10:00:00+02:00",
  "author": [{"reference": "#role"}],
  "title": "Mootorsõidukijuhi tervisetõend",
  "event": [{"period": {"start": "2025-01-12T00:00:00+02:00", "end": "2035-01-11T23:59:59+02:00"}}],
  "section": [
    {"code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": "decision"}]},
      "entry": [{"reference": "#decision"}]},
    {"code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": "medical-restrictions"}]},
      "text": {"status": "additional", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">Prillid</div>"},
      "entry": [{"reference": "#glasses"}]},
    {"code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": "health-declaration"}]},
      "entry": [{"reference": "QuestionnaireResponse/300"}]}
  ]
}"##;

pub(crate) const OCCUPATIONAL: &str = r##"{
  "resourceType": "Composition",
  "meta": {"profile": ["https://fhir.ee/hcert/StructureDefinition/ee-health-certificate-occupational"]},
  "contained": [
    {"resourceType": "PractitionerRole", "id": "role",
      "practitioner": {"reference": "Practitioner/36109255737"}, "organization": {"reference": "Organization/90006399"}},
    {"resourceType": "Observation", "id": "decision", "status": "final",
      "code": {"coding": [{"system": "http://snomed.info/sct", "code": "419183001"}]},
      "valueCodeableConcept": {"coding": [{"system": "http://snomed.info/sct", "code": "160926000"}]}},
    {"resourceType": "Observation", "id": "employment", "status": "final",
      "code": {"coding": [{"system": "http://snomed.info/sct", "code": "184104002", "display": "Patient occupation"}]},
      "performer": [{"type": "Organization", "display": "Tööandja OÜ",
        "identifier": {"system": "https://fhir.ee/sid/org/est/br", "value": "16978044"}}],
      "component": [
        {"code": {"coding": [{"system": "http://snomed.info/sct", "code": "160922003"}]},
          "valueCodeableConcept": {"coding": [{"system": "https://fhir.ee/CodeSystem/ametite-klassifikaator", "code": "25120001"}]}},
        {"code": {"coding": [{"system": "http://snomed.info/sct", "code": "224374003"}]},
          "valueQuantity": {"value": 0.5, "unit": "1"}}
      ]}
  ],
  "status": "preliminary",
  "type": {"coding": [{"system": "http://snomed.info/sct", "code": "772786005"}]},
  "category": [{"coding": [{"system": "https://fhir.ee/CodeSystem/labivaatuse-tyyp", "code": "occupational"}]}],
  "subject": [{"reference": "Patient/200"}],
  "date": "2025-07-12T07:00:00Z",
  "author": [{"reference": "#role"}],
  "title": "Töötervishoiu tervisetõend",
  "event": [{"period": {"start": "2025-07-12T00:00:00", "end": "2026-07-11"}}],
  "section": [
    {"code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": "decision"}]},
      "entry": [{"reference": "#decision"}]},
    {"code": {"coding": [{"system": "https://fhir.ee/CodeSystem/tervisetoendi-sektsioon", "code": "employer"}]},
      "text": {"status": "additional", "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">16978044</div>"},
      "entry": [{"reference": "#employment"}]}
  ]
}"##;
