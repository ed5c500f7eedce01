// Checks a transcript of the simulator (see crates/loopgate-simulator/src/transcript.rs) against GitHub's OpenAPI
// description, GraphQL schema and webhook schemas: every request that was accepted, with its path and the parameters of
// its query, every answer, every payload. The description names what its next versions change
// (`x-github-breaking-changes`), so the same exchanges are checked against those, too. What Loopgate reads of a webhook
// (webhook-fields.json, which a test writes) must be in the description of some event.
//
//   npm ci --prefix tests/contract
//   LOOPGATE_SIMULATOR_TRANSCRIPT=target/simulator.jsonl cargo test -p loopgate-simulator
//   node tests/contract/check.mjs target/simulator.jsonl
//
// With the folder of other descriptions behind it (its node_modules), it also says what became different since those in
// the operations, events and queries that were seen.
//
// Exits 1 if something differs, or if the transcript is too small to mean anything.
import { createReadStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { schema as published } from "@octokit/graphql-schema";
import addFormats from "ajv-formats";
import Ajv from "ajv";
import { TypeInfo, buildSchema, execute, parse, validate, visit, visitWithTypeInfo } from "graphql";

const require = createRequire(import.meta.url);
const read = (name) => JSON.parse(readFileSync(require.resolve(name), "utf8"));

// Where the descriptions themselves are known to be wrong or silent.
const EXCUSED = [
  [/GET \/(app|user)\/installations 200 .*\/account/, "described as a user and an enterprise at once"],
  [/ 200 .*\/labels\/N\/description must be string/, "null for labels without one"],
  [/ 30[14] status$/, "redirects of renamed repositories and conditional requests work everywhere"],
  [/ (401|403|404|422|502) status$/, "refusals and injected faults are described for few endpoints"],
];

// What version 2026-03-10 has no longer of what is said in the words of 2022-11-28, and why it may go.
const GONE = [
  [/\/merge_commit_sha boolean/, "GraphQL's mergeCommit is asked for instead (src/github/observe/base.rs)"],
  [/\/assignee boolean/, "nothing reads it: who asked for a pull request is read from events and from its description"],
  [/\/has_downloads boolean/, "nothing reads it"],
  [/^2026-03-10: GET \/rate_limit .*\/rate boolean/, "the limits are read from the headers of every answer"],
  [/\/pull_request\/merged_at must be string/, "nothing reads it of issues; the pull request itself says it"],
  [/\/dispatches 200 request \/return_run_details boolean/, "later versions always answer with the run"],
  [/\/dispatches 204 status/, "200 with the run's id from then on: only the success matters"],
];

/** OpenAPI 3.0's `nullable` in the words of JSON Schema; examples are left out. */
function modern(schema) {
  if (Array.isArray(schema)) return schema.map(modern);
  if (!schema || typeof schema !== "object") return schema;
  const { nullable, example, examples, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key.startsWith("example") ? undefined : modern(value)]),
  );
  if (nullable !== true) return rest;
  if (typeof rest.type !== "string") return { anyOf: [rest, { type: "null" }] };
  return { ...rest, type: [rest.type, "null"], ...(rest.enum ? { enum: [...new Set([...rest.enum, null])] } : {}) };
}

/** The webhook schemas are older than the API: keys that were added since are no error. */
function loose(schema) {
  if (Array.isArray(schema)) return schema.map(loose);
  if (!schema || typeof schema !== "object") return schema;
  const { additionalProperties, oneOf, ...rest } = schema;
  const kept = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, loose(value)]));
  if (additionalProperties && typeof additionalProperties === "object") kept.additionalProperties = loose(additionalProperties);
  if (oneOf) kept.anyOf = loose(oneOf); // without `additionalProperties` several alternatives may fit
  if (Array.isArray(kept.required)) kept.required = kept.required.filter((key) => key !== "custom_properties");
  return kept;
}

/** A description as a later version has it: what that version removes may not be there, the rest is patched in. */
function later(schema, version) {
  if (Array.isArray(schema)) return schema.map((one) => later(one, version));
  if (!schema || typeof schema !== "object") return schema;
  const { "x-github-breaking-changes": changes = [], ...rest } = schema;
  let changed = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, later(value, version)]));
  for (const { patch, version: since } of changes) {
    if (since <= version) changed = Array.isArray(patch) ? patch.reduce(operated, changed) : merged(changed, patch);
  }
  return changed;
}

/** RFC 7396, but a property that goes is forbidden, and lists of required ones only lose those (see `allowed`). */
function merged(target, patch, within) {
  if (!patch || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const result = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      if (within === "properties") result[key] = false;
      else delete result[key];
    } else if (key !== "required" || within === "properties") {
      result[key] = merged(result[key], value, key);
    }
  }
  return result;
}

/** One operation of RFC 6902 on a copy, with the same two exceptions. */
function operated(target, { op, path, value }) {
  const parts = path.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = parts.pop();
  if (parts.at(-1) === "required") return target;
  const result = structuredClone(target);
  const at = parts.reduce((at, part) => at[part], result);
  if (op !== "remove") at[last] = value;
  else if (parts.at(-1) === "properties") at[last] = false;
  else delete at[last];
  return result;
}

/** Requires no property that is forbidden. */
function allowed(schema) {
  if (Array.isArray(schema)) return schema.map(allowed);
  if (!schema || typeof schema !== "object") return schema;
  const kept = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, allowed(value)]));
  if (Array.isArray(kept.required)) kept.required = kept.required.filter((key) => kept.properties?.[key] !== false);
  return kept;
}

const VERSIONS = ["2022-11-28", "2026-03-10"];
const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
const description = read("@octokit/openapi/generated/api.github.com.json");
const apis = VERSIONS.map((version) => [version, modern(allowed(later(description, version)))]);
const hooks = loose(read("@octokit/webhooks-schemas/schema.json"));
for (const [version, api] of apis) ajv.addSchema({ ...api, $id: version });
ajv.addSchema({ ...hooks, $id: "hooks" });

const pointer = (...parts) =>
  "#/" + parts.map((part) => encodeURIComponent(String(part).replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
const compiled = new Map();
function errorsOf(ref, value) {
  if (!compiled.has(ref)) compiled.set(ref, ajv.compile({ $ref: ref }));
  const validate = compiled.get(ref);
  if (validate(value)) return [];
  return validate.errors.map((error) => `${error.instancePath.replace(/\/\d+/g, "/N")} ${error.message}`);
}

/** The routes of a description, the most specific first. */
const WITH_SLASHES = new Set(["ref", "path", "basehead", "branch"]);
const routesOf = (api) => Object.entries(api.paths)
  .flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))
  .map((route) => ({
    ...route,
    pattern: new RegExp(`^${route.path.replace(/\{(\w+)\}/g, (_, name) => (WITH_SLASHES.has(name) ? "(.+)" : "([^/]+)"))}$`),
    fixed: route.path.split("/").filter((part) => !part.startsWith("{")).length,
  }))
  .sort((a, b) => b.fixed - a.fixed || b.path.length - a.path.length);

/** Where GitHub answers outside its API: pages for people, and files behind an address that another answer gave. */
const OUTSIDE = /^\/(login\/|_|raw\/|apps\/[^/]+\/installations\/new$|(organizations\/[^/]+\/)?settings\/)/;

/**
 * The path that the description has for another way of saying it: an enterprise server's prefix, a repository by the id
 * to which its old names redirect, and its top folder.
 */
const described = (path) => path
  .replace(/^\/api\/v3\//, "/")
  .replace(/^\/repositories\/\d+(?=\/|$)/, "/repos/owner/name")
  .replace(/(^\/repos\/[^/]+\/[^/]+\/contents)$/, "$1/.");

/** What the description says of a request's path and query. */
function checkRequest(routes, { method, target, status }) {
  const [asked, query = ""] = target.split("?");
  const path = described(asked);
  const route = routes.find((one) => one.method === method.toLowerCase() && one.pattern.test(decodeURI(path)));
  if (!route) {
    if (status < 400 && !OUTSIDE.test(path)) note(`${method} ${path.replace(/\d+/g, "N")} is not described`);
    return;
  }
  const name = `${method} ${route.path}`;
  if (route.operation.deprecated) note(`${name} is deprecated`);
  const parameters = (route.operation.parameters ?? []).map((one) => pointed(apis[0][1], one));
  const known = new Set(parameters.filter((one) => one.in === "query").map((one) => one.name));
  for (const key of new URLSearchParams(query).keys()) {
    if (!known.has(key)) note(`${name} has no parameter ${key}`);
  }
  used.add(name);
}

const pointed = (api, part) => (part?.$ref ? part.$ref.slice(2).split("/").reduce((at, key) => at[key], api) : part);
const used = new Set();

const routed = apis.map(([version, api]) => ({ version, api, routes: routesOf(api) }));
const problems = new Map();
const note = (text) => problems.set(text, (problems.get(text) ?? 0) + 1);

function checkExchange({ version, api, routes }, { method, target, sent, status, received }) {
  const path = decodeURI(target.split("?")[0]);
  const route = routes.find((one) => one.method === method.toLowerCase() && one.pattern.test(path));
  if (!route) return false;
  const name = `${version === VERSIONS[0] ? "" : `${version}: `}${method} ${route.path} ${status}`;
  const operation = ["paths", route.path, route.method];
  if (status < 300 && sent !== "" && route.operation.requestBody?.content?.["application/json"]) {
    const ref = version + pointer(...operation, "requestBody", "content", "application/json", "schema");
    for (const error of errorsOf(ref, sent)) note(`${name} request ${error}`);
  }
  let response = route.operation.responses[status];
  if (!response) note(`${name} status`);
  let place = [...operation, "responses", status];
  if (response?.$ref) {
    place = response.$ref.slice(2).split("/");
    response = place.reduce((at, key) => at[key], api);
  }
  const type = response?.content && Object.keys(response.content).find((media) => media.includes("json"));
  if (!type || typeof received === "string") return Boolean(response);
  for (const error of errorsOf(version + pointer(...place, "content", type, "schema"), received)) note(`${name} ${error}`);
  return true;
}

// GitHub publishes a field twice, which a checked schema may not have.
const graphql = buildSchema(published.idl, { assumeValidSDL: true });

/** The type of an interface or union that a query has a fragment for, else any. */
function selectedType(query, abstract) {
  const possible = graphql.getPossibleTypes(abstract).map((type) => type.name);
  const fragments = [...query.matchAll(/\.\.\. on (\w+)/g)].map((found) => found[1]);
  return fragments.find((name) => possible.includes(name)) ?? possible[0];
}

/** No deprecated field, and no number of 32 bits of what has one of 64: such numbers are used up. */
function checkFields(document) {
  const types = new TypeInfo(graphql);
  const Field = () => {
    const [field, parent] = [types.getFieldDef(), types.getParentType()];
    const isShort = field?.name === "databaseId" && parent.getFields().fullDatabaseId;
    if (isShort) note(`GraphQL ${parent.name}.databaseId has 32 bits, and fullDatabaseId is there`);
    if (field?.deprecationReason) note(`GraphQL ${parent.name}.${field.name} is deprecated: ${field.deprecationReason}`);
  };
  visit(document, visitWithTypeInfo(types, { Field }));
}

/** The query must be valid, and its answer must be what the query selects, in GitHub's types. */
function checkGraphql({ sent, status, received }) {
  if (status !== 200 || received.errors) return false;
  const document = parse(sent.query);
  const invalid = validate(graphql, document);
  checkFields(document);
  const { errors = [] } = invalid.length > 0 ? { errors: invalid } : execute({
    schema: graphql, document, rootValue: received.data, variableValues: sent.variables,
    fieldResolver: (source, _args, _context, info) => source[info.path.key],
    typeResolver: (value, _context, _info, abstract) => value.__typename ?? selectedType(sent.query, abstract),
  });
  const place = (error) => (error.path ?? []).filter((part) => typeof part === "string").join("/");
  for (const error of errors) note(`GraphQL ${place(error)}: ${error.message}`);
  return true;
}

function checkDelivery({ event, payload }) {
  const name = [`${event}$${payload.action}`, `${event}$event`].find((one) => hooks.definitions[one]);
  if (!name) return note(`webhook ${event}.${payload.action} is not described`);
  for (const error of errorsOf("hooks" + pointer("definitions", name), payload)) note(`webhook ${name} ${error}`);
}

/** Every schema that a part of an event may have, by the names that lead there. */
function partsAt(schema, names) {
  const here = pointed(events, schema) ?? {};
  const ways = [...(here.allOf ?? []), ...(here.oneOf ?? []), ...(here.anyOf ?? [])];
  if (here.items) ways.push(here.items);
  const among = ways.flatMap((one) => partsAt(one, names));
  if (names.length === 0) return [here, ...among];
  const next = here.properties?.[names[0]];
  return next ? [...among, ...partsAt(next, names.slice(1))] : among;
}

/** What Loopgate reads of webhooks: each must be in what GitHub describes of some event. */
const events = read("@octokit/openapi-webhooks/generated/api.github.com.json");
const bodies = Object.values(events.webhooks).map(({ post }) => post.requestBody.content["application/json"].schema);
function checkFieldsRead(fields) {
  for (const [places, names] of Object.entries(fields)) {
    const ways = places.split(" ").map((place) => place.split(".").filter(Boolean));
    const parts = bodies.flatMap((body) => ways.flatMap((way) => partsAt(body, way)));
    const known = new Set(parts.flatMap((part) => Object.keys(part.properties ?? {})));
    for (const name of names) {
      if (!known.has(name)) note(`webhooks: nothing has ${places ? `${places}.` : ""}${name}, which Loopgate reads`);
    }
  }
}
const fieldsRead = JSON.parse(readFileSync(new URL("webhook-fields.json", import.meta.url), "utf8"));
checkFieldsRead(fieldsRead);

let exchanges = 0;
let queries = 0;
let deliveries = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const entry = JSON.parse(line);
  if (entry.event) {
    deliveries += 1;
    checkDelivery(entry);
  } else if (entry.target === "/graphql") {
    queries += checkGraphql(entry) ? 1 : 0;
  } else {
    checkRequest(routed[0].routes, entry);
    if (routed.map((one) => checkExchange(one, entry)).every(Boolean)) exchanges += 1;
  }
}
/** What a description says of a part: its parameters, answers and properties by name, each with its type. */
function* saidOf(api, given, at = "", depth = 0) {
  const part = pointed(api, given);
  if (depth > 6 || !part || typeof part !== "object") return;
  if (part.deprecated) yield [`${at} deprecated`, "yes"];
  for (const one of part.parameters ?? []) yield [`${at} ?${pointed(api, one).name}`, "parameter"];
  for (const [status, answer] of Object.entries(part.responses ?? {})) {
    yield [`${at} ${status}`, "answer"];
    yield* saidOf(api, pointed(api, answer).content?.["application/json"]?.schema, `${at} ${status} `, depth + 1);
  }
  const body = part.requestBody?.content?.["application/json"]?.schema;
  if (body) yield* saidOf(api, body, `${at} body `, depth + 1);
  for (const [name, one] of Object.entries(part.properties ?? {})) {
    const { type, nullable } = pointed(api, one) ?? {};
    yield [`${at}.${name}`, [type ?? "any", nullable ? "null" : []].flat().join("|")];
    yield* saidOf(api, one, `${at}.${name}`, depth + 1);
  }
  for (const one of [...(part.allOf ?? []), ...(part.oneOf ?? []), ...(part.anyOf ?? [])]) yield* saidOf(api, one, at, depth);
  if (part.items) yield* saidOf(api, part.items, `${at}[]`, depth + 1);
}

/** A property that is new is no news to a reader that passes over what it does not know. */
function compare(name, was, is) {
  for (const [path, type] of was) {
    if (!is.has(path)) console.log(`gone: ${name}${path}`);
    else if (is.get(path) !== type) console.log(`changed: ${name}${path} from ${type} to ${is.get(path)}`);
  }
  for (const [path, type] of is) {
    if (!was.has(path) && ["parameter", "answer", "yes"].includes(type)) console.log(`new: ${name}${path}`);
  }
}

/** What became different, since descriptions that lie elsewhere, in the operations that were seen and the fields read. */
function changesSince(folder) {
  const older = (name) => JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));
  const before = older("@octokit/openapi/generated/api.github.com.json");
  for (const name of [...used].sort()) {
    const [method, path] = name.split(" ");
    const of = (api) => new Map(saidOf(api, api.paths[path]?.[method.toLowerCase()]));
    compare(name, of(before), of(description));
  }
  const hooksBefore = older("@octokit/openapi-webhooks/generated/api.github.com.json");
  const fieldsAt = new Map(
    Object.entries(fieldsRead).flatMap(([places, names]) => places.split(" ").map((place) => [place, new Set(names)])),
  );
  const isRead = (path) => {
    const names = path.replace(/^ body /, "").replaceAll("[]", "").split(".").filter(Boolean);
    const place = names.slice(0, -1).join(".");
    return fieldsAt.get(place)?.has(names.at(-1));
  };
  for (const name of Object.keys({ ...hooksBefore.webhooks, ...events.webhooks }).sort()) {
    const of = (api) => new Map([...saidOf(api, api.webhooks[name]?.post)].filter(([path]) => isRead(path)));
    if (!hooksBefore.webhooks[name]) console.log(`new: webhook ${name}`);
    else if (!events.webhooks[name]) console.log(`gone: webhook ${name}`);
    else compare(`webhook ${name}`, of(hooksBefore), of(events));
  }
}
if (process.argv[3]) changesSince(process.argv[3]);

const isKnown = (text) =>
  [...EXCUSED, ...(text.startsWith(VERSIONS[1]) ? GONE : [])].some(([pattern]) => pattern.test(text));
const unexcused = [...problems].filter(([text]) => !isKnown(text));
const idle = GONE.filter(([pattern]) => ![...problems.keys()].some((text) => pattern.test(text)));
for (const [pattern] of idle) console.log(`${pattern} excuses nothing any more`);
for (const [text, count] of unexcused.sort()) console.log(`${count} × ${text}`);
console.log(
  `${exchanges} exchanges, ${queries} GraphQL queries and ${deliveries} deliveries checked, ${unexcused.length} differences`,
);
const isSmall = exchanges < 100 || queries < 3 || deliveries < 30;
process.exitCode = unexcused.length + idle.length > 0 || isSmall ? 1 : 0;
