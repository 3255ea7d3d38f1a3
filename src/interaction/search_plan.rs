//! How a search was run, for the header `x-hcert-plan` of `hcert dev`. Contract 6.4 has the other headers of this mode.

use serde_json::{Value, json};

use super::grants::CallerGrants;
use super::service::{Service, unsearchable};
use crate::access::rights::PermittedAction;
use crate::turns::ClientKey;
use certificate::search::EngineQuery;
use engine::{SearchDriver, SearchExplanation, SearchWay, TotalSource};
use fhir::outcome::Outcome;

impl Service {
    /// Runs a search to tell how it is run: one line of JSON in ASCII. The query is the one that rights have narrowed already.
    ///
    /// # Errors
    /// As the search itself.
    pub(super) async fn plan_told(
        &self,
        client: Option<ClientKey>,
        query: EngineQuery,
        grants: Option<(&CallerGrants, PermittedAction)>,
    ) -> Result<Box<str>, Outcome> {
        let engine = self.engine.clone();
        let explained = self.heavy(client, move || engine.explain(&query)).await?.map_err(unsearchable)?;
        let rights = grants.map(|(grants, may)| grants.rights.conditions(may));
        Ok(told(&explained, rights.as_deref()).to_string().into())
    }
}

/// `rights`: what each permission asks of a certificate; nothing where everything is permitted.
fn told(explained: &SearchExplanation, rights: Option<&[Vec<&'static str>]>) -> Value {
    let (way, by) = match &explained.way {
        SearchWay::Nothing => ("nothing", Vec::new()),
        SearchWay::Driven(drivers) => ("driven", drivers.iter().copied().map(driver).collect()),
        SearchWay::Merged { jumps: false } => ("merged", Vec::new()),
        SearchWay::Merged { jumps: true } => ("merged-with-jumps", Vec::new()),
    };
    let total = match explained.total {
        TotalSource::Counters => "counters",
        TotalSource::CountersAndRows => "counters-and-rows",
        TotalSource::Remembered => "remembered",
        TotalSource::Counted => "counted",
    };
    json!({
        "way": way,
        "by": by,
        "total": total,
        "rows": explained.rows,
        "overlay": explained.overlay_rows,
        "segments": explained.segments,
        "us": explained.took_us,
        "rights": rights,
    })
}

/// What brings certificates, by the name of the search parameter where it is one.
fn driver(driver: SearchDriver) -> &'static str {
    match driver {
        SearchDriver::Every => "every",
        SearchDriver::Postings(field) => field.parameter(),
        SearchDriver::Ids => "ids",
        SearchDriver::Classes => "classes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use certificate::search::parameter::Field;

    #[test]
    fn a_plan_names_parameters_and_figures() {
        let explained = SearchExplanation {
            way: SearchWay::Driven(vec![SearchDriver::Postings(Field::Subject), SearchDriver::Classes]),
            total: TotalSource::CountersAndRows,
            rows: 5,
            overlay_rows: 1,
            segments: 2,
            took_us: 84,
        };
        let rights = [vec!["state"], Vec::new()];
        let text = told(&explained, Some(&rights)).to_string();
        assert!(text.is_ascii() && !text.contains('\n'));
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            read,
            json!({"way": "driven", "by": ["subject", "classes"], "total": "counters-and-rows", "rows": 5, "overlay": 1,
                "segments": 2, "us": 84, "rights": [["state"], []]})
        );
    }
}
