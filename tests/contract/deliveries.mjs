// Sends every webhook that GitHub describes to the real server, signed: the published examples, and for each pair of
// event and action two instances of its schema, one with all that may be there and one with as little as may be, where
// all that may be null is. Each goes with and without an installation. None of them is malformed, so none may be
// refused, and none may take a second.
//
//   npm ci --prefix tests/contract
//   node tests/contract/deliveries.mjs target/debug/loopgate
//
// Exits 1 if one is refused or slow, if what is malformed is not refused, or if the server does not end well.
import { spawn } from "node:child_process";
import { createHmac, generateKeyPairSync, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const description = require("@octokit/openapi-webhooks/generated/api.github.com.json");
const published = require("@octokit/webhooks-examples");

const SECRET = "s3cret";
const SLOWEST = 1000; // milliseconds
const AT_ONCE = 4;
const INSTALLATION = { id: 9001, node_id: "x" };

const pointed = (schema) => schema.$ref.slice(2).split("/").reduce((at, key) => at[key], description);
const typesOf = (schema) => [schema.type ?? []].flat();

/** A schema without references at its top; what must all hold is one. */
function resolved(schema) {
  if (!schema) return {};
  if (schema.$ref) return resolved(pointed(schema));
  const { allOf, ...rest } = schema;
  return allOf ? [...allOf, rest].map(resolved).reduce(joined) : rest;
}

function joined(one, other) {
  const [types, others] = [typesOf(one), typesOf(other)];
  const both = types.length > 0 && others.length > 0 ? types.filter((type) => others.includes(type)) : [...types, ...others];
  const properties = { ...one.properties };
  for (const [key, more] of Object.entries(other.properties ?? {})) {
    properties[key] = properties[key] ? { allOf: [properties[key], more] } : more;
  }
  return {
    ...one, ...other,
    ...(both.length > 0 ? { type: both } : {}),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}

// Texts that have a form which their schema does not say.
const FORMS = [
  [/(^|_)(sha|oid|before|after|commit_id)$/, "0123456789abcdef0123456789abcdef01234567"],
  [/^full_name$/, "acme/widgets"],
  [/^(login|slug)$/, "alice"],
  [/(^|_)ref$/, "refs/heads/main"],
  [/_at$/, "2026-11-20T10:15:00Z"],
];

function text(schema, name) {
  if (schema.format === "date-time") return "2026-11-20T10:15:00Z";
  if (schema.format === "date") return "2026-11-20";
  if (schema.format === "email") return "alice@example.com";
  if (schema.format?.startsWith("uri")) return "https://github.com/acme/widgets";
  return FORMS.find(([named]) => named.test(name))?.[1] ?? "text";
}

/** A valid instance: `full` with every property, else with the required ones, and null where that is allowed. */
function instance(given, full, name = "", depth = 0) {
  const schema = resolved(given);
  const types = typesOf(schema);
  const choices = (schema.oneOf ?? schema.anyOf ?? []).map(resolved);
  const isNull = (one) => typesOf(one).join() === "null";
  const isNullable = schema.nullable || types.includes("null") || choices.some(isNull);
  if (isNull(schema) || (isNullable && (!full || depth > 8))) return null;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum.find((one) => one !== null) ?? null;
  const chosen = choices.find((one) => !isNull(one));
  if (chosen && !schema.properties) return instance(chosen, full, name, depth);
  const type = types.find((one) => one !== "null") ?? (schema.properties ? "object" : "string");
  if (type === "array") return full && depth < 9 ? [instance(schema.items, full, name, depth + 1)] : [];
  if (type === "object") {
    const required = new Set(schema.required ?? []);
    const kept = Object.entries(schema.properties ?? {}).filter(([key]) => required.has(key) || (full && depth < 9));
    return Object.fromEntries(kept.map(([key, one]) => [key, instance(one, full, key, depth + 1)]));
  }
  return { integer: 1, number: 1, boolean: false }[type] ?? text(schema, name);
}

/** Every payload, with the name it is reported by. */
function* payloads() {
  for (const [name, { post }] of Object.entries(description.webhooks)) {
    const event = post.externalDocs.url.split("#")[1].replaceAll("-", "_");
    const { schema } = post.requestBody.content["application/json"];
    for (const full of [true, false]) {
      yield { event, name: `${name}, ${full ? "full" : "minimal"}`, payload: instance(schema, full) };
    }
  }
  for (const { name, examples } of published) {
    for (const [nth, payload] of examples.entries()) yield { event: name, name: `${name}, example ${nth}`, payload };
  }
}

function* bothWays() {
  for (const { event, name, payload } of payloads()) {
    const { installation, ...without } = payload;
    yield { event, name: `${name}, without installation`, body: JSON.stringify(without) };
    yield { event, name: `${name}, with installation`, body: JSON.stringify({ ...without, installation: INSTALLATION }) };
  }
}

/** A GitHub that shows nothing: what the server looks for after it has answered is not what is tried here. */
async function emptyGithub() {
  const server = createServer((request, response) => {
    const isToken = request.url.endsWith("/access_tokens");
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const answer = isToken ? { token: "x", expires_at } : request.url === "/app" ? { id: 7, slug: "loopgate" } : {};
    response.writeHead(isToken ? 201 : request.url === "/app" ? 200 : 404, { "content-type": "application/json" });
    request.resume().on("end", () => response.end(JSON.stringify(answer)));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return server;
}

async function started(program, github) {
  const folder = mkdtempSync(join(tmpdir(), "loopgate-deliveries-"));
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const server = spawn(program, ["serve"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH, LOOPGATE_APP_ID: "7", LOOPGATE_WEBHOOK_SECRET: SECRET, LOOPGATE_DATA_DIR: folder,
      LOOPGATE_PRIVATE_KEY: privateKey.export({ type: "pkcs8", format: "pem" }), LOOPGATE_RESYNC: "off",
      LOOPGATE_GITHUB_API_URL: `http://127.0.0.1:${github.address().port}`,
      LOOPGATE_LISTEN: "127.0.0.1:0", LOOPGATE_ADMIN_LISTEN: "127.0.0.1:0",
    },
  });
  const ended = new Promise((done) => server.on("exit", (code, signal) => done({ code, signal })));
  let log = "";
  const address = new Promise((found, lost) => {
    const read = (chunk) => {
      log += chunk;
      const at = /webhooks\W+(127\.0\.0\.1:\d+)/.exec(log);
      if (at) found(`http://${at[1]}/webhook`);
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    ended.then(() => lost(new Error(`the server ended: ${log}`)));
  });
  return { server, ended, folder, url: await address, log: () => log };
}

async function sent(url, { event, body }, signature) {
  const signed = createHmac("sha256", SECRET).update(body).digest("hex");
  const since = performance.now();
  const answer = await fetch(url, {
    method: "POST", body,
    headers: {
      "content-type": "application/json", "x-github-event": event, "x-github-delivery": randomUUID(),
      "x-hub-signature-256": signature ?? `sha256=${signed}`,
    },
  });
  const words = await answer.text();
  return { status: answer.status, words: words.trim(), took: performance.now() - since };
}

const problems = [];
const github = await emptyGithub();
const { server, ended, folder, url, log } = await started(process.argv[2], github);
const answers = new Map();
let slowest = 0;
const waiting = bothWays();
async function sender() {
  for (const delivery of waiting) {
    let { status, words, took } = await sent(url, delivery);
    // A machine that is busy with something else is not slow twice.
    if (took > SLOWEST) ({ status, words, took } = await sent(url, delivery));
    slowest = Math.max(slowest, took);
    const answer = `${status} ${words}`;
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
    if (status !== 200 && status !== 202) problems.push(`${delivery.name}: ${answer}`);
    if (took > SLOWEST) problems.push(`${delivery.name}: ${Math.round(took)} ms`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, sender));

const malformed = [
  ["not JSON", { event: "push", body: "{" }, undefined, 400],
  ["no number", { event: "pull_request", body: '{"action":"opened","pull_request":{"number":"x"}}' }, undefined, 400],
  ["another signature", { event: "ping", body: "{}" }, `sha256=${"0".repeat(64)}`, 401],
];
for (const [name, delivery, signature, expected] of malformed) {
  const { status } = await sent(url, delivery, signature);
  if (status !== expected) problems.push(`${name}: ${status} in place of ${expected}`);
}
server.kill("SIGTERM");
const { code, signal } = await ended;
if (code !== 0) problems.push(`the server ended with ${code ?? signal}: ${log().slice(-2000)}`);
if (/panicked/.test(log())) problems.push(`a panic: ${log().slice(-2000)}`);
github.closeAllConnections();
github.close();
rmSync(folder, { recursive: true, force: true });

const total = [...answers.values()].reduce((sum, count) => sum + count, 0);
for (const [answer, count] of [...answers].sort((a, b) => b[1] - a[1])) console.log(`${String(count).padStart(5)} × ${answer}`);
for (const problem of problems) console.log(problem);
console.log(`${total} deliveries, the slowest in ${Math.round(slowest)} ms, ${problems.length} problems`);
process.exitCode = problems.length > 0 || total < 1000 ? 1 : 0;
