// A Probot app that does nothing, for `cargo bench --bench webhook -- beside node benches/probot.mjs FOLDER`: FOLDER is
// where `npm install probot@14.3.2` was called. Prints the address that it listens at.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const entry = resolve(process.argv[2], "node_modules/probot/lib/index.js");
const { createNodeMiddleware, createProbot } = await import(pathToFileURL(entry));
const privateKey = readFileSync(new URL("../src/server/testdata/not-a-secret.pem", import.meta.url), "utf8");
const probot = createProbot({
  overrides: { appId: 42, privateKey, secret: process.env.WEBHOOK_SECRET, logLevel: "warn" },
});
const app = (app) => app.on(["pull_request", "issue_comment"], () => {});
const middleware = await createNodeMiddleware(app, { probot, webhooksPath: "/webhook" });
const server = createServer(middleware);
server.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
