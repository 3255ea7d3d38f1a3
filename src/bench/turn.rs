//! One scenario, from its begin to its row.

use super::after_write;
use super::measure::ScenarioContext;
use super::report::ScenarioRow;
use super::scenario::{RequestKind, Scenario};
use super::stop::BenchError;

impl ScenarioContext<'_> {
    /// Measures one scenario.
    ///
    /// # Errors
    /// The floor fails, or the order to stop comes. Wrong answers stand in the row.
    pub(super) fn run(&self, scenario: &Scenario) -> Result<ScenarioRow, BenchError> {
        let clients = scenario.clients(self.plan.clients);
        let mut row = ScenarioRow::new(scenario, clients);
        row.distinct = self.questions.distinct(scenario.kind) as u64;
        if row.distinct == 0 {
            row.not_offered = Some("not enough certificates".to_owned());
            return Ok(row);
        }
        if let RequestKind::Dense { page, .. } = scenario.kind {
            let asked = self.questions.page(page);
            row.page = Some(asked);
            if asked < page {
                row.note = Some(format!("page {asked}, the last there is"));
            }
        }
        match scenario.kind {
            RequestKind::AfterWrite => after_write::run(self, scenario, &mut row)?,
            _ => self.slices(scenario, clients, &mut row)?,
        }
        // Goals are ours.
        if self.server.is_some() {
            row.judge(scenario.goal);
        }
        Ok(row)
    }
}
