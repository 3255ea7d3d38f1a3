use super::*;
use crate::json;

const OBSERVATION: &str = r##"{"resourceType":"Observation","id":"o","status":"final","_status":{"id":"s"},
    "code":{"coding":[{"system":"a","code":"1"},{"system":"b","code":"2"}]},"valueQuantity":{"value":7.50,"unit":"kg"},
    "contained":[{"resourceType":"Patient","id":"p","active":true,"birthDate":"1990-01-01"}],
    "subject":{"reference":"#p"},"note":[{"text":"ab"},{"text":"cd"},{"text":"ab"}],
    "component":[{"code":{"coding":[{"system":"b","code":"2"}]}},{"code":{"text":"x"},"valueString":"7"}],
    "_issued":{"extension":[{"url":"u","valueCode":"unknown"}]}}"##;

fn asked(text: &str) -> Result<bool, EvaluationError> {
    let json = json::parse(OBSERVATION.as_bytes()).unwrap();
    let node = Node::resource(&json);
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let shared = SharedContext::of(&json);
    expression.holds(EvaluationContext { focus: node, resource: node, root: node, shared: &shared })
}

#[test]
fn expressions_say_what_fhirpath_says() {
    for (text, expected) in [
        ("status = 'final'", true),
        ("status = 'draft'", false),
        ("status != 'draft'", true),
        ("Observation.status = 'final'", true),
        ("Patient.status.exists()", false),
        ("nothing = 'final'", false),
        ("nothing.empty()", true),
        ("{}.empty()", true),
        ("code.coding.count() = 2", true),
        ("code.coding.code.count() + note.count() - 1 = 4", true),
        ("code.coding.first().code = '1'", true),
        ("code.coding[1].code = '2' and code.coding[2].empty()", true),
        ("code.coding.tail().code = '2'", true),
        ("code.coding.where(system='a').code = '1'", true),
        ("code.coding.exists(code = '2')", true),
        ("code.coding.all(system.exists())", true),
        ("code.coding.all(system = 'a')", false),
        ("code.coding.select(system & code).isDistinct()", true),
        ("note.text.isDistinct()", false),
        ("note.text.distinct().count() = 2", true),
        ("(note.text | 'x').count() = 3", true),
        ("note.text.combine('x').count() = 4", true),
        ("component.code.where(coding.intersect(%resource.code.coding).exists()).exists()", true),
        ("'a' in note.text", false),
        ("'ab' in note.text and note.text contains 'cd'", true),
        ("value.exists() and value is Quantity", true),
        ("value.ofType(Quantity).unit = 'kg'", true),
        ("value.ofType(CodeableConcept).exists()", false),
        ("value is string", false),
        ("(value as Quantity).value > 7", true),
        ("value.value = 7.5", true),
        ("value.value.toString() = '7.50'", true),
        ("value.value >= 7.5 and value.value <= 7.5 and (value.value < 7.5).not()", true),
        ("-1 < 0", true),
        ("component[1].value is string and component.value = '7'", true),
        ("component.value.toInteger() = 7", true),
        ("subject.resolve() is Patient", true),
        ("subject.reference.resolve().active", true),
        ("subject.resolve().birthDate is date", true),
        ("issued.exists() and issued.hasValue().not() and status.hasValue()", true),
        ("status.id = 's'", true),
        ("status is code and status is string and status.ofType(uri).empty()", true),
        ("descendants().where($this is Patient).count() = 1", true),
        ("component.children().count() = 3", true),
        ("repeat(component).count() = 2", true),
        ("component.repeat(code).count() = 2", true),
        ("status.startsWith('fi') and status.endsWith('al') and status.contains('in')", true),
        ("status.matches('^[a-z]+$') and status.matches('x').not()", true),
        ("status.replaceMatches('i.*', '') = 'f'", true),
        ("status.length() = 5 and status.substring(1) = 'inal' and status.substring(1, 2) = 'in'", true),
        ("status.substring(9).empty()", true),
        ("iif(status = 'final', 'a', 'b') = 'a' and iif(status = 'x', 'a').empty()", true),
        ("status.memberOf('http://hl7.org/fhir/ValueSet/observation-status')", true),
        ("code.coding.select(code = '1').allTrue() or code.coding.select(code = '9').allFalse()", true),
        ("true xor false", true),
        ("nothing.exists() implies false", true),
        ("{} implies true", true),
        ("{} or true", true),
        ("({} and true).empty()", true),
        ("status.trace('x') = 'final' and %context.status = 'final' and %rootResource.id = 'o'", true),
        ("%ucum = 'http://unitsofmeasure.org'", true),
        ("1 + 1 = 2 and 1 < 2 = true", true),
        ("status", true),
        ("{}", false),
    ] {
        assert_eq!(asked(text), Ok(expected), "{text}");
    }
}

#[test]
fn several_values_where_one_is_needed_are_an_error() {
    for text in ["code.coding.code.startsWith('1')", "note and true", "note.text > 'a'", "code.coding is Coding"] {
        assert!(asked(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_not_known_is_refused_when_it_is_read() {
    for text in [
        "",
        "a.",
        "a b",
        "(a",
        "a)",
        "'a",
        "a[1",
        "lowBoundary()",
        "now()",
        "%other",
        "$index",
        "a is Nothing",
        "a.ofType(Nothing)",
        "where()",
        "first(1)",
        "exists(a, b)",
        "a.matches(b)",
        "a.matches('(')",
        "a ~ b",
        "a * b",
        "a / b",
        "a.memberOf('http://other')",
        "@2020",
        "a is",
        "a.ofType(",
        "= 1",
        "a =",
    ] {
        assert!(Expression::parse(text).is_err(), "{text}");
    }
    assert!(Expression::parse(&"(".repeat(100_000)).is_err());
    assert!(Expression::parse(&format!("a{}", " or a".repeat(10_000))).is_ok());
}

#[test]
fn values_without_end_are_not_looked_at() {
    let many: Vec<String> = (0..1_000).map(|at| format!(r#"{{"text":"{at}"}}"#)).collect();
    let text = format!(r#"{{"resourceType":"Observation","note":[{}]}}"#, many.join(","));
    let json = json::parse(text.as_bytes()).unwrap();
    let node = Node::resource(&json);
    let shared = SharedContext::of(&json);
    let context = EvaluationContext { focus: node, resource: node, root: node, shared: &shared };
    let holds = |text: &str| match Expression::parse(text) {
        Ok(expression) => expression.holds(context),
        Err(error) => panic!("{text}: {error}"),
    };
    assert_eq!(holds("note.count() = 1000"), Ok(true));
    assert!(holds("note.text.isDistinct()").is_err());
    assert!(holds("note.repeat($this)").is_err());
}

#[test]
fn a_step_that_comes_again_for_each_value_is_bounded_as_a_whole() {
    let coding = |at: usize| format!(r#"{{"system":"a","code":"{at}"}}"#);
    let holds = |count: usize| {
        let components: Vec<String> =
            (0..count).map(|at| format!(r#"{{"code":{{"coding":[{}]}}}}"#, coding(at))).collect();
        let codings: Vec<String> = (count..2 * count).map(coding).collect();
        let text = format!(
            r#"{{"resourceType":"Observation","code":{{"coding":[{}]}},"component":[{}]}}"#,
            codings.join(","),
            components.join(",")
        );
        let json = json::parse(text.as_bytes()).unwrap();
        let (node, shared) = (Node::resource(&json), SharedContext::of(&json));
        let asked = "component.code.where(coding.intersect(%resource.code.coding).exists()).empty()";
        let expression = Expression::parse(asked).unwrap();
        expression.holds(EvaluationContext { focus: node, resource: node, root: node, shared: &shared })
    };
    assert_eq!(holds(100), Ok(true));
    assert!(holds(2_000).is_err());
}

/// What was seen: a list whose invariant compares each member with each kept a processor for half a minute.
#[test]
fn what_all_expressions_of_a_resource_look_at_grows_with_the_resource_alone() {
    let text = |actors: usize| {
        let actors: Vec<String> = (0..actors).map(|at| format!(r#"{{"key":"k{at}"}}"#)).collect();
        format!(r#"{{"resourceType":"ExampleScenario","actor":[{}]}}"#, actors.join(","))
    };
    let expression = Expression::parse("actor.all(%resource.actor.where(key = 'k0').exists())").unwrap();
    for (actors, expected) in [(30, Ok(true)), (3_000, Err(true))] {
        let text = text(actors);
        let json = json::parse(text.as_bytes()).unwrap();
        let (node, shared) = (Node::resource(&json), SharedContext::of(&json));
        let context = EvaluationContext { focus: node, resource: node, root: node, shared: &shared };
        assert_eq!(expression.holds(context).map_err(EvaluationError::is_too_costly), expected, "{actors}");
    }
}
