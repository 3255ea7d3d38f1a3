"""Says which cases the R5 models of the PyPI package `fhir.resources` refuse.

    models.py CASES > VERDICTS

A line of the answer belongs to the line of the cases with the same name: {"name": ..., "refusals": [{"by", "key", "path", "text"}]}.
"""

import json
import sys

from fhir.resources import get_fhir_model_class
from pydantic import ValidationError


def refusal(key, path, text):
    return {"by": "models", "key": key, "path": path, "text": text}


def refusals(body):
    try:
        resource = json.loads(body)
    except (ValueError, RecursionError) as error:
        return [refusal("json", "", str(error))]
    if not isinstance(resource, dict):
        return [refusal("json", "", "not an object")]
    try:
        model = get_fhir_model_class(resource.get("resourceType"))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return [refusal("resource-type", "resourceType", str(error))]
    try:
        model.model_validate_json(body)
    except ValidationError as error:
        return [
            refusal(found["type"], ".".join(map(str, found["loc"])), found["msg"].split("\n")[0])
            for found in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    # Some checks of the package run outside pydantic's own, and what they raise comes as it is.
    except (ValueError, TypeError, AssertionError, LookupError, AttributeError, RecursionError) as error:
        return [refusal(type(error).__name__, "", str(error).split("\n")[0])]
    return []


def main():
    with open(sys.argv[1], encoding="utf-8") as cases:
        for line in cases:
            case = json.loads(line)
            json.dump({"name": case["name"], "refusals": refusals(case["body"])}, sys.stdout)
            sys.stdout.write("\n")


main()
