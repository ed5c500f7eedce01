// The dashboard in a real browser: every page in light and dark, on a phone, by keyboard, and without JavaScript.
//
//     LOOPGATE_BROWSER_MODULES=NODE_MODULES node .ci/dashboard.mjs ADDRESS PATH…
//
// NODE_MODULES has playwright-core, axe-core and ajv; CHROMIUM is the browser's program. With LOOPGATE_SCREENSHOTS a
// folder, a picture of each page is left there. It ends with 1 and says why if anything is wrong.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [address, ...paths] = process.argv.slice(2);
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

// Each view of each page: axe needs scripts, which the page's policy forbids, so that policy is put aside for it alone.
const views = [
  ["light", { colorScheme: "light", viewport: { width: 1280, height: 900 }, bypassCSP: true }],
  ["dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 }, bypassCSP: true }],
  ["phone", { colorScheme: "light", viewport: { width: 390, height: 844 }, bypassCSP: true }],
  ["phone, dark", { colorScheme: "dark", viewport: { width: 390, height: 844 }, bypassCSP: true }],
];
for (const [view, options] of views) {
  const context = await browser.newContext(options);
  for (const [index, path] of paths.entries()) {
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && !/status of 404/.test(message.text())
      && wrong.push(`${view} ${path}: ${message.text()}`));
    await page.goto(address + path);
    for (const state of ["folded", "open"]) {
      if (state === "open") await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
      if (pictures) await page.screenshot({ path: join(pictures, `${index} ${view} ${state}.png`), fullPage: true });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      }));
      for (const it of violations) {
        wrong.push(`${view} ${path} ${state}: ${it.id}: ${it.help}: ${it.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) wrong.push(`${view} ${path} ${state}: ${wide} pixels too wide`);
    }
    await page.close();
  }
  await context.close();
}

// By keyboard alone: the first stop leads to the content, every stop is seen, and a folded part opens.
{
  const page = await (await browser.newContext()).newPage();
  for (const path of paths) {
    await page.goto(address + path);
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
  await page.getByRole("button", { name: "What waits for me" }).click();
  if (!page.url().includes("/me?login=bob")) wrong.push(`without JavaScript: the form led to ${page.url()}`);
  await page.goto(address + "/");
  await page.locator(".loops a").first().click();
  if (!/\/pull\/\d+$/.test(page.url())) wrong.push(`without JavaScript: the list led to ${page.url()}`);
  await page.locator("summary").filter({ hasText: "saved states" }).click();
  await page.locator("a[href*='?at=']").last().click();
  if (!(await page.getByText("As it stood on").count())) wrong.push("without JavaScript: no page of then");
}
await browser.close();

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
console.log(`${paths.length} pages in ${views.length} views: ${wrong.length} problems`);
wrong.forEach((it) => console.error(it));
process.exit(wrong.length ? 1 : 0);
