// The page for those who do not see it, do not use a mouse, do not want things to move, or print it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import { drawn, line, open } from "./chromium.mjs";

const require = createRequire(join(process.env.TEST_PLAYWRIGHT, "package.json"));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const GRAPH = "#target=many.*.used_bytes&target=servers.peak.load&refresh=0";

/** What axe finds wrong, all rules included. */
async function findings(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
}

test("axe finds nothing wrong, in either theme and wherever one is", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(GRAPH, { colorScheme });
    await drawn(page);
    await line(page, "odd").click();
    await line(page, "größe").waitFor();
    assert.deepEqual(await findings(page), [], colorScheme);
    await page.locator("#health").click();
    assert.deepEqual(await findings(page), [], `${colorScheme}, health`);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    assert.deepEqual(await findings(page), [], `${colorScheme}, keys`);
    await page.keyboard.press("Escape");
    await page.keyboard.press("s");
    await page.getByRole("dialog", { name: "Saved graphs" }).getByText("None yet.").waitFor();
    assert.deepEqual(await findings(page), [], `${colorScheme}, saved graphs`);
    await page.keyboard.press("Escape");
    await page.getByLabel("Add a function to query A").click();
    await page.locator(".completions .heading:visible").first().waitFor();
    assert.deepEqual(await findings(page), [], `${colorScheme}, functions`);
    await page.keyboard.press("Escape");
    await page.getByLabel("Search metrics").fill("line1");
    await page.locator(".search [role=option]").first().waitFor();
    assert.deepEqual(await findings(page), [], `${colorScheme}, search`);
    await page.goto(new URL("#target=sumSerie(a)&target=servers.peak.load&view=table&refresh=0", page.url()).href);
    await page.locator(".mistake .better").waitFor();
    await page.locator("#table td").first().waitFor();
    assert.deepEqual(await findings(page), [], `${colorScheme}, table and mistakes`);
  }
});

test("on a phone, axe finds nothing wrong either", async () => {
  const page = await open(GRAPH, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await drawn(page);
  assert.deepEqual(await findings(page), []);
  await page.getByRole("button", { name: "Metrics", exact: true }).tap();
  await line(page, "odd").waitFor();
  assert.deepEqual(await findings(page), []);
});

test("the plot says what it is, and the arrow keys read values from it", async () => {
  const page = await open("#target=servers.peak.load&target=servers.calm.load&refresh=0");
  await drawn(page);
  const plot = page.getByRole("application", { name: /^Graph of 2 lines from .* to .*, values .* to .*\. Arrow keys read values\.$/ });
  await plot.focus();
  await page.keyboard.press("Home");
  const spoken = page.locator("#spoken");
  const first = await spoken.textContent();
  assert.match(first, /^\d+ \w+ 20\d\d, \d\d:\d\d:\d\d: servers\.peak\.load 10, servers\.calm\.load 20$/);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await spoken.textContent(), first);
  assert.equal(await page.locator("#legend td.here").count(), 2);
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".tip.pinned .tip-row").count(), 2);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".tip.pinned").count(), 0);
  // Elsewhere the arrow keys move the range.
  await page.keyboard.press("Tab");
  await page.evaluate(() => document.activeElement.blur());
  const hash = await page.evaluate(() => location.hash);
  await page.keyboard.press("ArrowLeft");
  assert.notEqual(await page.evaluate(() => location.hash), hash);
});

test("nothing moves for those who do not want it", async () => {
  const page = await open(GRAPH, { reducedMotion: "reduce" });
  await drawn(page);
  const moving = await page.evaluate(() =>
    [...document.querySelectorAll("*")].filter((one) => {
      const style = getComputedStyle(one);
      return style.animationName !== "none" || style.transitionDuration.split(", ").some((text) => parseFloat(text) > 0);
    }).length,
  );
  assert.equal(moving, 0);
});

test("on paper there are the graph, its queries and its legend, and no controls", async () => {
  const page = await open(GRAPH);
  await drawn(page);
  await page.emulateMedia({ media: "print" });
  for (const seen of ["#plot canvas", "#legend table", ".target"]) assert.ok(await page.locator(seen).first().isVisible(), seen);
  for (const gone of [".bar", "#tree", "#options", "#range", "#share", ".remove"])
    assert.equal(await page.locator(gone).first().isVisible(), false, gone);
});
