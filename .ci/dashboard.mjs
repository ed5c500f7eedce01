// The dashboard in a real browser: every page in light and dark, on a phone, by keyboard, and without JavaScript.
//
//     LOOPGATE_BROWSER_MODULES=NODE_MODULES node .ci/dashboard.mjs ADDRESS PATH…
//     LOOPGATE_BROWSER_MODULES=NODE_MODULES node .ci/dashboard.mjs --sign-in ADDRESS TOKEN SEEN HIDDEN
//     LOOPGATE_BROWSER_MODULES=NODE_MODULES node .ci/dashboard.mjs --demo ADDRESS PULLS
//
// The first looks at pages of other addresses too, those in LOOPGATE_OTHER_PAGES. The second signs in by click, on the
// simulated GitHub, as whom TOKEN is of, who sees the repository SEEN and not HIDDEN; makes a token, uses it, revokes it,
// and signs out. The third opens pull requests on the page PULLS of `loopgate demo --serve`, and looks whether a reader
// finds at once what waits for whom. With LOOPGATE_PICTURES a folder, it leaves the pictures of docs/pictures.md there:
//
//     LOOPGATE_PICTURES=$PWD/docs/pictures LOOPGATE_BROWSER=$PWD/.ci/dashboard.mjs LOOPGATE_BROWSER_MODULES=NODE_MODULES \
//         cargo test --test scenarios the_demos_dashboard
//
// NODE_MODULES has playwright-core, axe-core and ajv; CHROMIUM is the browser's program. With LOOPGATE_SCREENSHOTS a
// folder, a picture of each page is left there. It ends with 1 and says why if anything is wrong.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const mode = process.argv[2].startsWith("--") ? process.argv[2] : "";
const [address, ...paths] = process.argv.slice(mode ? 3 : 2);
const others = (process.env.LOOPGATE_OTHER_PAGES ?? "").split(" ").filter(Boolean);
const require = createRequire(join(process.env.LOOPGATE_BROWSER_MODULES, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const Ajv = require("ajv");
const wrong = [];
const schemas = new URL("../config/schemas/", import.meta.url);
const pictures = process.env.LOOPGATE_SCREENSHOTS;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"],
});

function placeOf(path) {
  return path.startsWith("/") ? address + path : path;
}

// Whether it is shown, in time: a click does not wait for the page that it leads to.
function appears(locator) {
  return locator.waitFor({ timeout: 10_000 }).then(() => true, () => false);
}

// What is wrong with a page as it is shown now.
async function examine(page, view, path, index) {
  for (const state of ["folded", "open"]) {
    if (state === "open") await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
    if (pictures) await page.screenshot({ path: join(pictures, `${index} ${view} ${state}.png`), fullPage: true });
    await page.evaluate(axe);
    // What is not drawn yet has no size.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    const { violations } = await page.evaluate(() => window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }));
    for (const it of violations) {
      wrong.push(`${view} ${path} ${state}: ${it.id}: ${it.help}: ${it.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 0) wrong.push(`${view} ${path} ${state}: ${wide} pixels too wide`);
  }
}

// Each view of each page: axe needs scripts, which the page's policy forbids, so that policy is put aside for it alone.
const views = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 900 }, bypassCSP: true }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 }, bypassCSP: true }],
  ["phone", { colorScheme: "light", viewport: { width: 400, height: 860 }, bypassCSP: true }],
  ["phone, dark", { colorScheme: "dark", viewport: { width: 400, height: 860 }, bypassCSP: true }],
];
if (mode === "--demo") {
  for (const [view, options] of views) await seesTheDemo(view, options, paths[0], view === "light");
  if (process.env.LOOPGATE_PICTURES) await takesPictures(process.env.LOOPGATE_PICTURES);
  await finish("the demo");
}
if (mode === "--sign-in") {
  views.splice(2);
  for (const [view, options] of views) await signIn(view, options, ...paths);
  await finish("signed in and out");
}
for (const [view, options] of views) {
  const context = await browser.newContext(options);
  for (const [index, path] of [...paths, ...others].entries()) {
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && !/status of 404/.test(message.text())
      && wrong.push(`${view} ${path}: ${message.text()}`));
    await page.goto(placeOf(path));
    await examine(page, view, path, index);
    await page.close();
  }
  await context.close();
}

// By keyboard alone: the first stop leads to the content, every stop is seen, and a folded part opens.
{
  const page = await (await browser.newContext()).newPage();
  for (const path of [...paths, ...others]) {
    await page.goto(placeOf(path));
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.className) !== "skip") wrong.push(`keyboard ${path}: no way past the head`);
    const stops = new Set();
    for (let stop = 0; stop < 400; stop += 1) {
      const at = await page.evaluate(() => {
        const it = document.activeElement;
        const style = getComputedStyle(it);
        const seen = it === document.body || style.outlineStyle !== "none" || it.className === "skip";
        return { key: it === document.body ? "" : it.outerHTML.slice(0, 300) + it.getBoundingClientRect().top, seen };
      });
      if (!at.seen) wrong.push(`keyboard ${path}: the focus does not show on ${at.key.slice(0, 120)}`);
      if (at.key === "" || stops.has(at.key)) break;
      stops.add(at.key);
      await page.keyboard.press("Tab");
    }
    const fold = page.locator("summary").first();
    if (await fold.count()) {
      await fold.focus();
      await page.keyboard.press("Enter");
      if (!(await page.evaluate(() => document.querySelector("details").open))) wrong.push(`keyboard ${path}: nothing unfolds`);
    }
  }
}

// Without JavaScript: links, the filter and a permalink lead on.
{
  const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await page.goto(address + "/");
  await page.getByLabel("My login").fill("bob");
  await page.getByRole("button", { name: "What is waiting for me" }).click();
  await page.waitForURL(/\/me\?login=bob/, { timeout: 10_000 })
    .catch(() => wrong.push(`without JavaScript: the form led to ${page.url()}`));
  await page.goto(address + "/");
  await page.locator(".inbox .title a").first().click();
  await page.waitForURL(/\/pull\/\d+$/, { timeout: 10_000 })
    .catch(() => wrong.push(`without JavaScript: the list led to ${page.url()}`));
  await page.locator("summary").filter({ hasText: "newest first: each link" }).click();
  await page.locator("a[href*='?at=']").last().click();
  await page.getByText("As it was on").waitFor({ timeout: 10_000 })
    .catch(() => wrong.push(`without JavaScript: no page of then at ${page.url()}`));
}
await showsWhatIsNew();

// The JSON of each page fits its schema, and both forms are confirmed by their ETag.
const ajv = new Ajv({ strict: false, validateFormats: false });
for (const path of paths) {
  for (const accept of ["application/json", "text/html"]) {
    const answer = await fetch(address + path, { headers: { accept } });
    const tag = answer.headers.get("etag");
    if (accept === "application/json") {
      const document = await answer.json();
      const name = document.schema.replace(/^loopgate\.|\/v\d+$/g, "");
      const check = ajv.compile(JSON.parse(readFileSync(new URL(`${name}.schema.json`, schemas), "utf8")));
      if (!check(document)) wrong.push(`${path}: ${ajv.errorsText(check.errors)}`);
    } else {
      await answer.text();
    }
    if (answer.status === 200 && path !== "/operations") {
      const again = await fetch(address + path, { headers: { accept, "if-none-match": tag } });
      if (again.status !== 304) wrong.push(`${path} ${accept}: ${again.status}, not 304`);
    }
  }
}
await finish(`${paths.length} pages`);

async function finish(what) {
  await browser.close();
  console.log(`${what} in ${views.length} views: ${wrong.length} problems`);
  wrong.forEach((it) => console.error(it));
  process.exit(wrong.length ? 1 : 0);
}

async function signIn(view, options, secret, seen, hidden) {
  const context = await browser.newContext(options);
  // The simulated GitHub knows people by their tokens, and agrees at once: this stands for its page.
  await context.route(`${address}/login`, async (route) => {
    const begun = await route.fetch({ maxRedirects: 0 });
    const headers = { authorization: `Bearer ${secret}` };
    const agreed = await context.request.get(begun.headers().location, { maxRedirects: 0, headers });
    const back = agreed.headers().location.replaceAll("&", "&amp;");
    await route.fulfill({ contentType: "text/html", body: `<!doctype html><title>GitHub</title><a href="${back}">Authorize</a>` });
  });
  const page = await context.newPage();
  const expect = (holds, what) => holds || wrong.push(`${view}: ${what}`);
  const see = (path) => examine(page, view, path, `sign-in ${path.replaceAll("/", "_")}`);
  await page.goto(address);
  await see("/ of a stranger");
  await page.getByRole("link", { name: "Sign in with GitHub" }).click();
  await page.getByRole("link", { name: "Authorize" }).click();
  await page.waitForURL(`${address}/`);
  const body = await page.locator("body").innerText();
  expect(body.includes(seen) && !body.includes(hidden), `the first page shows ${body}`);
  expect(body.includes("Nothing waits for you"), `the first page does not say what waits for the visitor: ${body}`);
  await see("/ of a visitor");
  await page.goto(`${address}/${hidden}/pull/1`);
  expect(await page.getByRole("heading", { name: "Not found" }).count() === 1, `${hidden} is shown`);

  await page.getByRole("link", { name: "Tokens" }).click();
  await see("/tokens empty");
  await page.getByLabel("What it is for").fill(`laptop <${view}>`);
  await page.getByRole("button", { name: "Create token" }).click();
  const token = await page.locator("#token").innerText();
  expect(/^lg_[0-9a-f]{64}$/.test(token), `a token: ${token}`);
  await see("/tokens made");
  const ask = () => fetch(`${address}/mcp`, {
    method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" },
  });
  const tools = await ask();
  expect(tools.status === 200 && (await tools.json()).result.tools.length === 5, `/mcp answers ${tools.status}`);
  await page.getByRole("link", { name: "Tokens" }).click();
  const row = page.getByRole("row", { name: `laptop <${view}>` });
  expect(await appears(row), "the token is not listed");
  expect(!(await page.content()).includes(token), "the token is shown again");
  expect(!(await row.innerText()).includes("never"), "that it was used is not shown");
  const document = await (await context.request.get(`${address}/tokens.json`)).json();
  const schema = JSON.parse(readFileSync(new URL("tokens.schema.json", schemas), "utf8"));
  expect(new Ajv({ strict: false, validateFormats: false }).validate(schema, document), "/tokens.json does not fit its schema");
  await see("/tokens used");
  await row.getByRole("button", { name: "Revoke" }).click();
  expect(await appears(page.getByText("You have no tokens.")), "a revoked token is listed");
  expect((await ask()).status === 401, "a revoked token works");
  await page.getByRole("button", { name: "Sign out" }).click();
  expect(await appears(page.getByRole("link", { name: "Sign in with GitHub" })), "still signed in");
  expect((await page.goto(`${address}/tokens`)).status() === 401, "tokens are shown to a stranger");
  await context.close();
}

// A page that is open shows what happened since, without being loaded again; what was typed, and where, stays. Who posts to
// LOOPGATE_CHANGE makes it happen.
async function showsWhatIsNew() {
  const page = await (await browser.newContext()).newPage();
  page.on("console", (message) => message.type() === "error" && wrong.push(`live: ${message.text()}`));
  await page.goto(address + "/");
  await page.evaluate(() => (window.loaded = "once"));
  const field = page.getByLabel("My login");
  await field.fill("half a na");
  await fetch(process.env.LOOPGATE_CHANGE, { method: "POST" });
  await page.getByText("it came while the page was open").waitFor({ timeout: 30_000 })
    .catch(() => wrong.push("live: the open page does not show what is new"));
  const kept = await page.evaluate(() => [window.loaded, document.activeElement.value]);
  if (kept.join() !== "once,half a na") wrong.push(`live: not kept: ${kept}`);
}

// The first page, of the demo: without scrolling each person finds the own name, and behind it what to do.
async function seesTheDemo(view, options, pulls, plays) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const expect = (holds, what) => holds || wrong.push(`${view}: ${what}`);
  if (plays) {
    await page.goto(address);
    expect(await page.getByText("Once a pull request is opened").count() === 1, "the empty page does not say what will stand there");
    for (const [who, change, title] of [
      ["alice", "the fix, and a change of authentication", "feat: a pause keeps the token"],
      ["mender-agent", "one that fails a test", "refactor: a pause is counted once"],
      ["alice", "one that fails a test", "perf: a pause is counted in whole seconds"],
      ["mender-agent", "the failing test removed", "fix: all tests pass"],
    ]) {
      await page.goto(`${pulls}?as=${who}`);
      await page.getByLabel("Title").fill(title);
      await page.getByLabel("What it changes").selectOption(change);
      await page.getByRole("button", { name: "Open it" }).click();
      await page.waitForURL(/pull.[0-9]+/);
    }
  }
  await page.goto(address);
  await examine(page, view, "/ of the demo", "demo");
  for (const who of ["alice", "bob", "acme/security", "mender-agent"]) {
    const box = await page.locator(".names a").filter({ hasText: who }).boundingBox();
    expect(box && box.y + box.height <= options.viewport.height, `${who} does not see at once that something waits: ${JSON.stringify(box)}`);
  }
  await page.locator(".names a").filter({ hasText: "bob" }).click();
  expect(await appears(page.getByRole("heading", { level: 1, name: "1 waits for bob" })), "what waits for bob is not found by one click");
  const deed = page.locator(".inbox .go").first();
  const box = await deed.boundingBox();
  expect(/^Decide/.test(await deed.innerText()), `bob is asked to ${await deed.innerText()}`);
  expect(box && box.y + box.height <= options.viewport.height, `bob does not see at once what to do: ${JSON.stringify(box)}`);
  for (const path of ["/acme/widgets/metrics", "/acme/widgets/memory", "/acme/widgets/pull/5"]) {
    await page.goto(address + path);
    await examine(page, view, path, `demo ${path.replaceAll("/", "_")}`);
  }
  await context.close();
}

// The pictures of docs/pictures.md.
async function takesPictures(folder) {
  const [light, dark] = [views[0][1], views[1][1]];
  for (const [name, path, options, height] of [
    ["inbox", "/", light, 1060], ["pull-request", "/acme/widgets/pull/5", dark, 840], ["metrics", "/acme/widgets/metrics", light, 940],
  ]) {
    const page = await (await browser.newContext({ ...options, viewport: { width: 1280, height } })).newPage();
    await page.goto(address + path);
    const protocol = await page.context().newCDPSession(page);
    const { data } = await protocol.send("Page.captureScreenshot", { format: "webp", quality: 85 });
    writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, "base64"));
  }
}
