// The pages for operators: what they show, and that what they do is done.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { empty, url } from "./chromium.mjs";

const require = createRequire(join(process.env.TEST_PLAYWRIGHT, "package.json"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const PAGES = ["health", "queries", "cardinality", "rules", "retention", "changes"];
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

/** The page with this hash, when it has its answers. */
async function operate(name, parameters = {}, options = {}) {
  const page = await empty(options);
  await page.goto(`${url}operate#${new URLSearchParams([["page", name], ...Object.entries(parameters)])}`);
  await page.locator("html[data-ready=true]").waitFor();
  return page;
}

/** The table with this heading, as lists of texts. */
async function table(page, title) {
  const region = page.getByRole("region", { name: title, exact: true });
  await region.waitFor();
  return region.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

async function findings(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
}

async function picture(page, name) {
  if (!process.env.UPDATE_SCREENSHOTS) return;
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(process.env.TEST_PICTURES, `operate-${name}.png`), animations: "disabled" });
}

test("health has figures, and their history from the server's own metrics", async () => {
  const page = await operate("health", {}, { colorScheme: "light", viewport: { width: 1280, height: 1190 } });
  const tile = (label) => page.locator(".tile").filter({ has: page.locator("span", { hasText: new RegExp(`^${label}$`) }) });
  const stored = tile("Points stored");
  await stored.locator(".spark path").waitFor({ state: "attached" });
  assert.notEqual(await stored.locator("strong").textContent(), "0");
  assert.match(await tile("Threads").first().locator("strong").textContent(), /^\d+$/);
  assert.match(await tile("Used").first().locator("strong").textContent(), /(bytes|[KMG]iB)$/);
  await tile("CPU").locator("strong").filter({ hasText: /^[\d.]+ %$/ }).waitFor();
  assert.equal(await page.getByRole("heading", { name: "Cluster" }).count(), 0, "there is none");
  await picture(page, "health");
  await stored.locator("a").click();
  await page.waitForURL(/#target=.*committedPoints/);
});

test("cardinality leads down the tree, and knows the newest metrics and those never read", async () => {
  const page = await operate("cardinality", {}, { colorScheme: "light", viewport: { width: 1280, height: 866 } });
  const prefixes = await table(page, "By prefix");
  assert.deepEqual(prefixes.find(([prefix]) => prefix === "servers").slice(0, 2), ["servers", "140"]);
  assert.ok((await table(page, "By tag")).some(([tag, values]) => tag === "handler" && values === "5"));
  assert.ok((await table(page, "Never read")).length > 0);
  assert.ok((await table(page, "Newest")).length > 0);
  assert.ok((await table(page, "Busiest")).length > 0);
  await picture(page, "cardinality");
  await page.getByRole("button", { name: "servers", exact: true }).click();
  await page.getByRole("button", { name: "servers.web1", exact: true }).waitFor();
  assert.equal(await page.getByLabel("Below", { exact: true }).inputValue(), "servers");
  await page.getByRole("button", { name: "servers.web1", exact: true }).click();
  await page.getByRole("button", { name: "servers.web1.cpu", exact: true }).waitFor();
  await page.getByRole("navigation", { name: "Directories" }).getByRole("button", { name: "all metrics" }).click();
  await page.getByRole("button", { name: "app", exact: true }).waitFor();
  await page.goBack();
  await page.getByRole("button", { name: "servers.web1.cpu", exact: true }).waitFor();
  await page.getByRole("link", { name: "Delete all below servers.web1.cpu" }).click();
  await page.getByText("3 metrics would be deleted").waitFor();
});

test("queries that run can be cancelled; the slowest and the most frequent are listed", async () => {
  const page = await operate("queries", {}, { colorScheme: "light" });
  const ask = (target, from) => fetch(`${url}render?${new URLSearchParams({ target, from, format: "json" })}`).then((answer) => answer.text());
  for (const target of ['groupByNode(servers.*.cpu.user,1,"average")', 'movingAverage(app.requests.*.p99,"10min")', "sumSeries(servers.web*.network.eth0.tx_bytes)"])
    await ask(target, "-1d");
  await ask("servers.*.cpu.load", "-1h");
  await ask("servers.*.cpu.load", "-1h");
  await page.keyboard.press("r");
  const often = (await table(page, "Most frequent since the start")).find(([query]) => query === "/render servers.*.cpu.load");
  assert.ok(Number(often[1]) >= 2, often);
  assert.ok((await table(page, "Slowest of the last hour")).length > 0);
  // A query that takes long: the same series over and over.
  const heavy = `group(${Array(100).fill("movingMedian(servers.*.cpu.load,200)").join(",")})`;
  // An answer that has begun cannot become another one: it breaks off.
  const slow = fetch(`${url}render`, { method: "POST", body: new URLSearchParams({ target: heavy, from: "-1d", format: "json" }) })
    .then(async (answer) => (await answer.text(), answer.status))
    .catch(() => "broken off");
  const cancel = page.getByRole("button", { name: /^Cancel group/ });
  await cancel.waitFor();
  await picture(page, "queries");
  await cancel.click();
  const ended = await slow;
  assert.ok(ended === 503 || ended === "broken off", ended);
  await page.getByText("No query runs.").waitFor();
});

test("a name can be tried: rewriting, rules, quotas, and whether there is such a metric", async () => {
  const page = await operate("rules", {}, { colorScheme: "light" });
  await page.getByLabel("Name").fill("old.web1.load");
  await page.keyboard.press("Enter");
  const outcome = page.locator("#outcome");
  await outcome.getByText("(rewritten)").waitFor();
  const text = await outcome.textContent();
  for (const part of ["There is no such metric yet", "servers.web1.load", "every 10 seconds for 6 hours", "storage-schemas.conf:1", "at most 1000 metrics", "plumbago.toml"])
    assert.ok(text.includes(part), `${part} is not in ${text}`);
  await page.getByLabel("Name").fill("servers.web1.cpu.load");
  await page.keyboard.press("Enter");
  await page.getByText("There is such a metric").waitFor();
  await page.getByLabel("Name").fill("secret.x");
  await page.keyboard.press("Enter");
  await outcome.getByText("refused").waitFor();
  assert.deepEqual((await table(page, "Quotas"))[0].slice(1, 4), ["metrics", "140", "1,000"]);
  await page.getByText("The files have the rules that are in force").waitFor();
  await page.getByRole("button", { name: "Read the files again…" }).click();
  await page.getByRole("button", { name: "Put the files in force" }).click();
  await page.getByText("The rules are in force").waitFor();
  await page.getByLabel("Name").fill("old.web1.load");
  await page.keyboard.press("Enter");
  await outcome.getByText("(rewritten)").waitFor();
  await page.locator("#toast:not(.shown)").waitFor({ state: "attached" });
  await picture(page, "rules");
});

test("retention says which stage a query reads, and how many points become one", async () => {
  const page = await operate("retention", { target: "servers.web*.cpu.load", from: "-1h" }, { colorScheme: "light" });
  const read = page.locator(".stage.read");
  await read.filter({ hasText: "every 10 seconds for 6 hours" }).waitFor();
  await page.getByText("The answer has every point.").waitFor();
  await page.getByRole("button", { name: "7d" }).click();
  await read.filter({ hasText: "every minute for 7 days" }).waitFor();
  await page.getByText("It has the average of finer points.").waitFor();
  await page.getByLabel("Most points").fill("100");
  await page.keyboard.press("Enter");
  await page.getByText("The answer draws 101 points together: average.").waitFor();
  assert.equal(await page.locator(".stage").count(), 3);
  await picture(page, "retention");
  await page.getByLabel("Target").fill("nothing.here");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing matches").waitFor();
});

test("deleting and renaming show first what they would do", async () => {
  const page = await operate("changes", {}, { colorScheme: "light" });
  const exists = async (name) => (await (await fetch(`${url}metrics/find?query=${name}&format=json`)).json()).length > 0;
  await page.getByLabel("Metrics").fill("staging");
  await page.keyboard.press("Enter");
  await page.getByText("Everything below is staging.**").waitFor();
  await page.getByLabel("Metrics").fill("staging.**");
  await page.keyboard.press("Enter");
  const sure = page.getByRole("button", { name: "Delete 3 metrics for good" });
  await sure.waitFor();
  assert.deepEqual(await page.locator(".names li").allTextContents(), ["staging.web1.cpu.load", "staging.web1.cpu.user", "staging.web1.memory.used_bytes"]);
  assert.ok(await exists("staging.web1.cpu.load"), "a trial deletes nothing");
  await picture(page, "delete");
  await sure.click();
  await page.getByText("3 metrics deleted.").first().waitFor();
  assert.ok(!(await exists("staging.web1.cpu.load")));
  await page.getByLabel("From").fill("former");
  await page.getByLabel("To").fill("latter");
  await page.keyboard.press("Enter");
  assert.deepEqual(await page.locator(".names li").allTextContents().then(async (seen) => (seen.length ? seen : (await page.locator(".names li").first().waitFor(), page.locator(".names li").allTextContents()))), ["former.name → latter.name"]);
  assert.ok(await exists("former.name"), "a trial renames nothing");
  await page.getByRole("button", { name: "Rename 1 metric" }).click();
  await page.getByText("1 metric renamed.").first().waitFor();
  assert.ok(await exists("latter.name"));
  assert.ok(!(await exists("former.name")));
  await page.getByLabel("From").fill("former");
  await page.getByLabel("From").press("Enter");
  await page.getByText("There is no metric former").waitFor();
});

test("the keyboard is enough", async () => {
  const page = await operate("health");
  for (const [at, title] of ["Health", "Queries", "Cardinality", "Rules", "Retention", "Delete and rename"].entries()) {
    await page.keyboard.press(String(at + 1));
    await page.getByRole("heading", { level: 1, name: title }).waitFor();
    await page.locator("nav.pages a[aria-current=page]", { hasText: title }).waitFor();
  }
  await page.keyboard.press("/");
  await page.keyboard.type("x");
  assert.equal(await page.getByLabel("Metrics").inputValue(), "x");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("b");
  await page.waitForURL(url);
  await page.locator("html[data-ready=true]").waitFor();
  await page.keyboard.press("o");
  await page.waitForURL(/operate/);
});

test("axe finds nothing wrong, nothing sticks out, and nobody else is asked", async () => {
  for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, PHONE]) {
    for (const name of PAGES) {
      const parameters = { name: "servers.web1.cpu.load", target: "servers.*.cpu.load", query: "staging*.**", from: "-1d" };
      const page = await operate(name, parameters, options);
      await page.locator("#page .card").first().waitFor();
      await page.waitForLoadState("networkidle");
      const where = `${name}, ${JSON.stringify(options)}`;
      assert.deepEqual(await findings(page), [], where);
      const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(wide <= screen, `${wide} on ${screen}: ${where}`);
      assert.deepEqual(page.mistakes, [], where);
      assert.deepEqual(page.requests.filter((request) => !request.startsWith(url)), []);
      if (options.colorScheme === "dark" && name === "queries") await picture(page, "dark");
      if (options.isMobile && name === "cardinality") await picture(page, "phone");
      await page.context().close();
    }
  }
});
