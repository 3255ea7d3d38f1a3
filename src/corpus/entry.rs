//! One change as an entry of a FHIR history Bundle: a line of export, import and `hcert generate`.
//!
//! Source: Contract 4.1; FHIR R5 `http.html#history`.

use super::change::CorpusChange;
use super::digits::number;
use super::history::LifeStep;

impl CorpusChange {
    /// Appends one entry of a history Bundle, minified, without a line's end: the format of export and import.
    pub fn write_entry(&self, out: &mut String) {
        let (method, status) = match self.step() {
            LifeStep::Draft | LifeStep::Issue => ("POST", "201"),
            LifeStep::Save | LifeStep::Complete | LifeStep::Change | LifeStep::Suspend | LifeStep::Cancel => {
                ("PUT", "200")
            }
            LifeStep::Delete => ("DELETE", "204"),
        };
        let id = self.id().get();
        out.push_str(r#"{"fullUrl":"Composition/"#);
        number(out, id);
        out.push_str(r#"","#);
        if method != "DELETE" {
            out.push_str(r#""resource":"#);
            self.write_resource(out);
            out.push(',');
        }
        out.push_str(r#""request":{"method":""#);
        out.push_str(method);
        out.push_str(r#"","url":"Composition"#);
        if method != "POST" {
            out.push('/');
            number(out, id);
        }
        out.push_str(r#""},"response":{"status":""#);
        out.push_str(status);
        out.push_str(r#"","etag":"W/\""#);
        number(out, self.version().get().into());
        out.push_str(r#"\"","lastModified":""#);
        self.stamp.moment().write_instant(out);
        out.push_str(r#""}}"#);
    }
}
