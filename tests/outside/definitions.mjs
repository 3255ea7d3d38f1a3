// Says which cases the R5 definitions refuse: the error invariants they state, the codes they require and
// the formats of their primitive types.
//
//     node definitions.mjs SCRATCH CASES > VERDICTS
//
// SCRATCH holds the npm packages `fhirpath`, which evaluates the invariants, and `hl7.fhir.r5.core`, unpacked in `r5/package`. A body
// is walked by its StructureDefinitions, so that every element meets the invariants of its definition and of its type. The
// profiles in data/profiles that a resource claims add their own. The form of the answer is that of models.py.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [scratch, cases] = process.argv.slice(2);
const require = createRequire(join(scratch, "/"));
const fhirpath = require("fhirpath");
const r5 = require("fhirpath/fhir-context/r5");

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
/** The value that `make` gives for a key, made once. */
function once(make) {
  const made = new Map();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key);
  };
}

const REGEX = "http://hl7.org/fhir/StructureDefinition/regex";

/** A definition by kind and address, such as `ValueSet http://...`; null for one that the package has not. */
const published = once((name) => {
  const [kind, address] = name.split(" ");
  const file = join(scratch, "r5", "package", `${kind}-${address.slice(address.lastIndexOf("/") + 1)}.json`);
  const found = existsSync(file) ? read(file) : null;
  return found?.url === address ? found : null;
});

/** The StructureDefinition of a type, as elements by path and as names of children by path; null for a type that R5 has not. */
const type = once((name) => {
  const definition = published(`StructureDefinition http://hl7.org/fhir/StructureDefinition/${name}`);
  if (!definition || definition.derivation !== "specialization") return null;
  const elements = new Map(definition.snapshot.element.map((element) => [element.path, element]));
  const children = new Map();
  for (const path of elements.keys()) {
    const parent = path.slice(0, path.lastIndexOf("."));
    if (path.includes(".")) children.set(parent, [...(children.get(parent) ?? []), path]);
  }
  const kinds = elements.get(`${name}.value`)?.type?.[0].extension ?? [];
  const format = definition.kind === "primitive-type" && kinds.find((extension) => extension.url === REGEX)?.valueString;
  return { root: name, elements, children, kind: definition.kind, abstract: definition.abstract, format };
});

/** The profiles of ours, placeholders replaced by their defaults, by address. */
function profiles() {
  const folder = "data/profiles";
  const defaults = { profile_base: "https://fhir.ee/hcert", hcert_ns: "https://fhir.ee/hcert", code_system_base: "https://fhir.ee" };
  let names = [];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  return new Map(names.map((name) => {
    const text = readFileSync(join(folder, name), "utf8").replace(/\{(\w+)\}/g, (all, word) => defaults[word] ?? all);
    const profile = JSON.parse(text);
    return [profile.url, profile];
  }));
}
const ours = profiles();

/** The error constraints that a profile and its ancestors add to the resource as a whole. */
const profileConstraints = once((address) => {
  const profile = ours.get(address);
  if (!profile) return [];
  const own = profile.differential.element.flatMap((element) =>
    errors(element).map((constraint) => {
      // A constraint inside a slice would need the slice found first; ours stand on whole resources.
      if (element.id !== profile.type) throw new Error(`${address}: cannot look for ${constraint.key} at ${element.id}`);
      return constraint;
    }),
  );
  return [...own, ...profileConstraints(profile.baseDefinition)];
});

/** What JSON had for an element; the evaluator wraps numbers to compute with them exactly. */
const plain = (node) => (node.data?.toJSON ? node.data.toJSON() : node.data);
const shown = (value) => String(JSON.stringify(value)).slice(0, 60);
const errors = (element) => (element.constraint ?? []).filter((constraint) => constraint.severity === "error");

/** What `resolve()` finds: a resource contained in the same root. Others are outside the body, and say nothing. */
let contained = [];
const resolve = {
  fn: (references) => references.flatMap((reference) => {
    const address = typeof reference === "string" ? reference : reference?.reference;
    return contained.filter((resource) => address === `#${resource?.id}`);
  }),
  arity: { 0: [] },
};

const compiled = once((expression) =>
  fhirpath.compile(expression, r5, {
    resolveInternalTypes: false,
    traceFn: () => {},
    userInvocationTable: { resolve },
  }),
);

/** The codes of a value set as `system code`, and each alone; null when the package does not list them. */
const codes = once((address) => {
  const valueSet = published(`ValueSet ${address}`);
  if (!valueSet) return null;
  const found = new Set();
  const add = (system, concepts) => {
    for (const concept of concepts) {
      found.add(concept.code).add(`${system} ${concept.code}`);
      add(system, concept.concept ?? []);
    }
  };
  for (const include of valueSet.compose.include) {
    for (const imported of include.valueSet ?? []) {
      const inner = codes(imported.split("|")[0]);
      if (!inner) return null;
      inner.forEach((code) => found.add(code));
    }
    if (!include.system) continue;
    const system = published(`CodeSystem ${include.system}`);
    if (include.concept) add(include.system, include.concept);
    else if (system?.content === "complete") add(include.system, system.concept);
    else return null;
  }
  return found;
});

/** Whether an element with a required binding holds a code of it; true where nothing can be said. */
function bound(element, value) {
  if (element.binding?.strength !== "required") return true;
  const allowed = codes(element.binding.valueSet.split("|")[0]);
  if (!allowed) return true;
  if (typeof value === "string") return allowed.has(value);
  const codings = value?.coding ?? (value?.code ? [value] : []);
  return codings.length === 0 || codings.some((coding) => allowed.has(`${coding.system} ${coding.code}`));
}

const JSON_KINDS = { boolean: "boolean", decimal: "number", integer: "number", positiveInt: "number", unsignedInt: "number" };

/** Whether a primitive stands in JSON as its type does, and is written as the definition of the type demands. */
function formatted(primitive, value) {
  if (value === null || value === undefined) return true;
  if (typeof value !== (JSON_KINDS[primitive.root] ?? "string")) return false;
  // The pattern that R5 gives for a decimal is broken (a bracket too many in its exponent); JSON's own numbers are enough.
  if (!primitive.format || primitive.root === "decimal") return true;
  return new RegExp(`^(?:${primitive.format})$`, "u").test(String(value));
}

/** Walks one resource and its contained ones; `refuse` is told of everything wrong. */
function walk(root, refuse) {
  function holds(node, place, by, constraint, resource) {
    let result;
    try {
      result = compiled(constraint.expression)(node, { resource: resource.node, rootResource: resource.root });
    } catch (error) {
      refuse("unknown", constraint.key, place, String(error.message ?? error).split("\n")[0]);
      return;
    }
    // An invariant holds when it is true; nothing is not true, and a value that is no boolean counts as there.
    const values = result.map((value) => value?.data ?? value);
    if (values.length === 0 || values.includes(false)) refuse(by, constraint.key, place, constraint.human);
  }

  function children(definition, path, node, place, resource) {
    for (const child of definition.children.get(path) ?? []) {
      const element = definition.elements.get(child);
      const name = child.slice(child.lastIndexOf(".") + 1);
      if (element.max === "0" || (definition.kind === "primitive-type" && name === "value")) continue;
      let found;
      try {
        found = compiled(`\`${name.replace("[x]", "")}\``)(node, {});
      } catch (error) {
        refuse("unknown", "path", `${place}.${name}`, String(error.message ?? error));
        continue;
      }
      found.forEach((each, index) => {
        const at = `${place}.${name.replace("[x]", "")}${element.max === "1" ? "" : `[${index}]`}`;
        visit(definition, element, each, at, resource);
      });
    }
  }

  function visit(definition, element, node, place, resource) {
    let inside = definition;
    let path = element.path;
    let kind = null;
    if (element.contentReference) {
      path = element.contentReference.split("#")[1];
    } else if (!["BackboneElement", "Element"].includes(element.type[0].code)) {
      const nested = element.type.some((one) => ["Resource", "DomainResource"].includes(one.code)) && node.data?.resourceType;
      kind = nested || (element.type.length === 1 ? element.type[0].code : node.getTypeInfo().name);
      inside = type(kind);
      path = kind;
      if (nested) {
        resource = { node, root: element.path.endsWith(".contained") ? resource.root : node };
      }
    }
    const seen = new Set();
    // A reference to another element's content brings that element's invariants along, as a type brings its own.
    const more = inside && (kind || element.contentReference) ? errors(inside.elements.get(path)) : [];
    for (const constraint of [...errors(element), ...more]) {
      if (seen.has(constraint.key)) continue;
      // fhirpath.js knows no value of the type xhtml, so it would refuse every narrative by this one; txt-2 says as much.
      if (kind === "xhtml" && constraint.key === "ele-1") continue;
      seen.add(constraint.key);
      holds(node, place, "invariant", constraint, resource);
    }
    const value = plain(node);
    if (!bound(element, value)) refuse("code", element.path, place, shown(value));
    if (!inside) return;
    if (inside.kind === "primitive-type" && !formatted(inside, value)) refuse("format", kind, place, shown(value));
    if (resource.node === node) claimed(node, place, resource);
    children(inside, path, node, place, resource);
  }

  function claimed(node, place, resource) {
    for (const address of [].concat(node.data?.meta?.profile ?? [])) {
      for (const constraint of profileConstraints(String(address).split("|")[0])) {
        holds(node, place, "profile", constraint, resource);
      }
    }
  }

  const definition = type(root.resourceType);
  if (definition?.kind !== "resource" || definition.abstract) {
    refuse("definitions", "resource-type", "", `R5 has no resource ${root.resourceType}`);
    return;
  }
  contained = Array.isArray(root.contained) ? root.contained : [];
  const [node] = compiled("$this")(root, {});
  const resource = { node, root: node };
  for (const constraint of errors(definition.elements.get(definition.root))) {
    holds(node, definition.root, "invariant", constraint, resource);
  }
  claimed(node, definition.root, resource);
  children(definition, definition.root, node, definition.root, resource);
}

for (const line of readFileSync(cases, "utf8").split("\n").filter(Boolean)) {
  const { name, body } = JSON.parse(line);
  const refusals = [];
  const refuse = (by, key, path, text) => refusals.push({ by, key, path, text });
  let root;
  try {
    root = JSON.parse(body);
  } catch (error) {
    refuse("definitions", "json", "", error.message);
  }
  if (refusals.length === 0) {
    if (root === null || typeof root !== "object" || Array.isArray(root)) refuse("definitions", "json", "", "not an object");
    else {
      try {
        walk(root, refuse);
      } catch (error) {
        // A body so odd that the evaluator gives up on it says nothing about us.
        refuse("unknown", "walk", "", String(error.message ?? error).split("\n")[0]);
      }
    }
  }
  process.stdout.write(`${JSON.stringify({ name, refusals })}\n`);
}
