//! `docs/ERRORS.md`: every code for people who call the service.

use std::fmt::Write;

use super::markdown::{cell, piped};
use super::ways::way;
use super::{CatalogueLine, own, reflected};
use certificate::Names;
use fhir::outcome::Hcert;
use fhir::outcome::reflected::{System, all};

const ABOUT: &str = "\
# Errors

Every answer from 400 up is an OperationOutcome. Each of its issues has a FHIR issue type (`code`), a code with its system
(`details.coding`) and a text (`details.text`, Estonian where `Accept-Language: et` asks for it). A name in angle brackets stands for a
value. `hcert catalogue` prints these tables at a terminal, `hcert catalogue --json` both languages for programs; the service itself
answers them as `/CodeSystem?url=<system>`.

This file is made by `hcert catalogue --page errors`.

## Own codes

";

const CHAINS: &str = "
## Codes of other systems

The service relays what the patient registry says: first the registry's own code; behind it, where another service failed the registry,
the code of the microservice in between; last the original error of the source register. The last issue decides the status: what the
registry answers with 4xx is 400 here, with 5xx it is 503. The FHIR issue type of each is `exception`. The English texts are those of the
specification of reflected errors.

To see any of them, start `hcert dev` and send the header `x-hcert-fault` with a request that
asks the registry:

```sh
curl -X POST http://127.0.0.1:8080/fhir/Composition -H 'content-type: application/fhir+json' \\
  -H 'x-hcert-fault: MPI-029/XRR200/10001' --data @certificate.json
```

The tables show the whole chain of each code. Naming its last code is enough: `x-hcert-fault: 10001` has the same effect. These values are
also accepted:

| `x-hcert-fault` | The registry |
|---|---|
| `timeout` | does not answer: the request ends with HCERT-163 after `registry.remote.timeout_ms` |
| `refuse` | takes no connection |
| `garbage` | answers something that is no FHIR |
| `slow=2s`, `slow=150ms` | answers as ever, but later: up to 60 s, and no later than `timeout` ends |
| `slow=2s,MPI-021` | waits, then refuses |

A rule `[[registry.fault]]` in `hcert.toml` does the same to every call for an identifier or a path, with a chance and as often as it says.
";

/// The whole file.
pub(super) fn page() -> String {
    let mut text = ABOUT.to_owned();
    let names = Names::default();
    let _ = writeln!(
        text,
        "System: `{}` (setting `namespaces.hcert_issue_system`). The first issue in the order of this table decides the status.\n",
        names.hcert_issue_system
    );
    text.push_str("| Code | Status | Issue type | Text | How to see it |\n|---|---|---|---|---|\n");
    for (code, line) in Hcert::ALL.iter().zip(own(&names)) {
        let CatalogueLine { code: shown, status, issue_type, english, .. } = line;
        let _ = writeln!(text, "| {shown} | {status} | {issue_type} | {} | {} |", cell(english), piped(way(*code)));
    }
    text.push_str(CHAINS);
    for system in System::ALL {
        let _ = writeln!(text, "\n### {}\n", title(system));
        let address = names.issue_systems.of(system);
        let _ = writeln!(text, "System: `{address}` (setting `namespaces.{}`).", system.placeholder());
        if all().iter().all(|entry| entry.system != system) {
            text.push_str("The catalogue of the specification names it and lists no codes for it.\n");
            continue;
        }
        text.push_str("\n| Code | Registry's status | Status here | Text | `x-hcert-fault` |\n|---|---|---|---|---|\n");
        for line in reflected(&names).filter(|line| line.name == system.name()) {
            let CatalogueLine { code, status, english, fault, .. } = line;
            let here = if status < 500 { 400 } else { 503 };
            let fault = fault.unwrap_or_default();
            let _ = writeln!(text, "| {code} | {status} | {here} | {} | `{fault}` |", cell(english));
        }
    }
    text
}

fn title(system: System) -> &'static str {
    match system {
        System::Mpi => "Patient registry",
        System::XroadRr => "Microservice for the population register",
        System::XroadAds => "Microservice for the address register",
        System::XroadTor => "Microservice for the employment register",
        System::XroadSka => "Microservice for the social insurance register",
        System::XroadTk => "Microservice for the unemployment fund",
        System::PopulationRegister => "Population register",
        System::UnemploymentFund => "Unemployment fund",
        System::SocialInsurance => "Social insurance board",
        System::AddressRegister => "Address register",
        System::TaxCustoms => "Employment register of the tax and customs board",
    }
}
