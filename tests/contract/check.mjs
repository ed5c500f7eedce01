// Checks a transcript of the simulator (see crates/loopgate-simulator/src/transcript.rs) against GitHub's OpenAPI
// description and webhook schemas: every request that was accepted, every answer, every payload.
//
//   npm ci --prefix tests/contract
//   LOOPGATE_SIMULATOR_TRANSCRIPT=target/simulator.jsonl cargo test -p loopgate-simulator
//   node tests/contract/check.mjs target/simulator.jsonl
//
// Exits 1 if something differs, or if the transcript is too small to mean anything.
import { createReadStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import addFormats from "ajv-formats";
import Ajv from "ajv";

const require = createRequire(import.meta.url);
const read = (name) => JSON.parse(readFileSync(require.resolve(name), "utf8"));

// Where the descriptions themselves are known to be wrong or silent.
const EXCUSED = [
  [/^GET \/app\/installations 200 .*\/account/, "described as a user and an enterprise at once"],
  [/ 200 .*\/labels\/N\/description must be string/, "null for labels without one"],
  [/ 30[14] status$/, "redirects of renamed repositories and conditional requests work everywhere"],
  [/ (401|403|404|422|502) status$/, "refusals and injected faults are described for few endpoints"],
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

const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
const api = modern(read("@octokit/openapi/generated/api.github.com.json"));
const hooks = loose(read("@octokit/webhooks-schemas/schema.json"));
ajv.addSchema({ ...api, $id: "api" });
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

/** The routes of the description, the most specific first. */
const WITH_SLASHES = new Set(["ref", "path", "basehead", "branch"]);
const routes = Object.entries(api.paths)
  .flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))
  .map((route) => ({
    ...route,
    pattern: new RegExp(`^${route.path.replace(/\{(\w+)\}/g, (_, name) => (WITH_SLASHES.has(name) ? "(.+)" : "([^/]+)"))}$`),
    fixed: route.path.split("/").filter((part) => !part.startsWith("{")).length,
  }))
  .sort((a, b) => b.fixed - a.fixed || b.path.length - a.path.length);

const problems = new Map();
const note = (text) => problems.set(text, (problems.get(text) ?? 0) + 1);

function checkExchange({ method, target, sent, status, received }) {
  const path = decodeURI(target.split("?")[0]);
  const route = routes.find((one) => one.method === method.toLowerCase() && one.pattern.test(path));
  if (!route) return false;
  const name = `${method} ${route.path} ${status}`;
  const operation = ["paths", route.path, route.method];
  if (status < 300 && sent !== "" && route.operation.requestBody?.content?.["application/json"]) {
    const ref = "api" + pointer(...operation, "requestBody", "content", "application/json", "schema");
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
  for (const error of errorsOf("api" + pointer(...place, "content", type, "schema"), received)) note(`${name} ${error}`);
  return true;
}

function checkDelivery({ event, payload }) {
  const name = [`${event}$${payload.action}`, `${event}$event`].find((one) => hooks.definitions[one]);
  if (!name) return note(`webhook ${event}.${payload.action} is not described`);
  for (const error of errorsOf("hooks" + pointer("definitions", name), payload)) note(`webhook ${name} ${error}`);
}

let exchanges = 0;
let deliveries = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const entry = JSON.parse(line);
  if (entry.event) {
    deliveries += 1;
    checkDelivery(entry);
  } else if (checkExchange(entry)) {
    exchanges += 1;
  }
}
const unexcused = [...problems].filter(([text]) => !EXCUSED.some(([pattern]) => pattern.test(text)));
for (const [text, count] of unexcused.sort()) console.log(`${count} × ${text}`);
console.log(`${exchanges} exchanges and ${deliveries} deliveries checked, ${unexcused.length} differences`);
process.exitCode = unexcused.length > 0 || exchanges < 100 || deliveries < 30 ? 1 : 0;
