// Holds the table of pinned actions (actions.json, which tests/docs.rs holds every pin in this repository to) against the
// actions themselves: each commit is that of its version, its `runs.using` is what the table says, and the newest
// runtime is the newest that GitHub's own parser of such files knows. Newer versions are named, and fail nothing.
//
//   npm ci --prefix tests/contract
//   node tests/contract/actions.mjs [where repositories are, https://github.com]
//
// Exits 1 if something differs. A repository that cannot be reached is named as skipped.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { newest, pinned } = JSON.parse(readFileSync(new URL("actions.json", import.meta.url), "utf8"));
const where = process.argv[2] ?? "https://github.com";
const folder = mkdtempSync(join(tmpdir(), "loopgate-actions-"));
const git = (...words) =>
  execFileSync("git", ["-C", folder, ...words], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });

/** The commit of each tag that is a whole version. */
function versionsOf(repository) {
  const versions = new Map();
  for (const line of git("ls-remote", "--tags", `${where}/${repository}`).trim().split("\n")) {
    const [commit, tag] = line.split("\trefs/tags/");
    const [version, peeled] = tag.split("^");
    // An annotated tag stands there twice: the second line has its commit.
    if (/^v\d+\.\d+\.\d+$/.test(version) && (peeled !== undefined || !versions.has(version))) versions.set(version, commit);
  }
  return versions;
}

/** What `action.yml` says it runs on at a commit; of a composite action also what it uses by a commit. */
function runsOn(repository, commit) {
  const remote = repository.replace("/", "-");
  git("config", `remote.${remote}.url`, `${where}/${repository}`);
  // Without the files; the one that is asked for comes by itself.
  git("config", `remote.${remote}.promisor`, "true");
  git("fetch", "--quiet", "--depth=1", "--filter=blob:none", remote, commit);
  const text = git("show", `${commit}:action.yml`);
  const using = /^\s+using:\s*['"]?([\w-]+)/m.exec(text)?.[1];
  if (using !== "composite") return using;
  const parts = [...text.matchAll(/^\s*(?:- )?uses:\s*([\w.-]+\/[\w.-]+)@([0-9a-f]{40})/gm)];
  return `composite of ${[...new Set(parts.map(([, part, at]) => runsOn(part, at)))].join(", ")}`;
}

const numbers = (version) => version.slice(1).split(".").map(Number);
const isNewer = (one, other) => {
  const [a, b] = [numbers(one), numbers(other)];
  const at = a.findIndex((number, place) => number !== b[place]);
  return at >= 0 && a[at] > b[at];
};

function problemsOf({ action, version, commit, using }) {
  const versions = versionsOf(action);
  const found = [];
  if (versions.get(version) !== commit) found.push(`${action} ${version} is ${versions.get(version)}, not ${commit}`);
  const runtime = runsOn(action, commit);
  if (runtime !== using) found.push(`${action} ${version} runs on ${runtime}, not on ${using}`);
  const newer = [...versions.keys()].filter((one) => isNewer(one, version)).sort((a, b) => (isNewer(a, b) ? -1 : 1));
  if (newer.length > 0) console.log(`${action}: ${newer[0]} is there, and ${version} is pinned`);
  return found;
}

const problems = [];
const parser = new URL("node_modules/@actions/workflow-parser/dist/action-v1.0.min.json", import.meta.url);
const runtimes = JSON.parse(readFileSync(parser, "utf8")).definitions.using["allowed-values"];
const known = runtimes.filter((one) => one.startsWith("node")).sort((a, b) => b.slice(4) - a.slice(4));
if (known[0] !== newest) problems.push(`the newest runtime is ${known[0]}, not ${newest}`);
let skipped = 0;
git("init", "--quiet");
for (const row of pinned) {
  try {
    problems.push(...problemsOf(row));
  } catch (error) {
    skipped += 1;
    console.log(`skipped: ${row.action} (${String(error.stderr ?? error.message).trim().split("\n")[0]})`);
  }
}
rmSync(folder, { recursive: true, force: true });
for (const problem of problems) console.log(problem);
console.log(`${pinned.length - skipped} of ${pinned.length} actions looked at, ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;
