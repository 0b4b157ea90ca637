// Lines and names beside each other can be told apart, and what there is of them fits the screen.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawn, line, open, shown } from "./chromium.mjs";
import { worst } from "./palette.mjs";

const TWENTY = "#target=many.*.used_bytes&refresh=0";
const names = (page) => page.locator("#legend tbody tr:visible .series").allTextContents();

/** The hues of the page in a theme. */
const hues = (page) =>
  page.evaluate(() =>
    Array.from({ length: 8 }, (_, at) => {
      const probe = document.createElement("span");
      probe.style.color = `var(--line-${at})`;
      document.body.append(probe);
      const found = getComputedStyle(probe).color.match(/\d+/g).map(Number);
      probe.remove();
      return found;
    }),
  );

test("twenty lines all look different", async () => {
  const page = await open(TWENTY);
  await drawn(page);
  const looks = await page
    .locator("#legend .swatch")
    .evaluateAll((all) => all.map((one) => `${one.className} ${one.style.getPropertyValue("--ink")}`));
  assert.equal(looks.length, 20);
  assert.equal(new Set(looks).size, 20);
});

test("hues differ for all kinds of eyes, the first of them most", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("", { colorScheme });
    const all = await hues(page);
    // How much any two of the first so many differ at least, for the kind of eyes that sees least of it.
    const least = (number) =>
      Math.min(...all.slice(0, number).flatMap((a, at) => all.slice(at + 1, number).map((b) => worst(a, b))));
    assert.ok(least(3) > 20, `${colorScheme}: ${least(3)}`);
    assert.ok(least(5) > 14, `${colorScheme}: ${least(5)}`);
    assert.ok(least(8) > 9, `${colorScheme}: ${least(8)}`);
  }
});

test("the legend sorts by any column, filters by words, and shows one line alone", async () => {
  const page = await open(TWENTY);
  await drawn(page);
  assert.deepEqual(await page.locator("#legend .sorter").allTextContents(), ["Series", "last", "min", "max", "avg", "sum"]);
  await page.getByRole("button", { name: "max", exact: true }).click();
  const highest = await names(page);
  assert.equal(shown(page).get("sort"), "-max");
  await page.getByRole("button", { name: "max", exact: true }).click();
  assert.deepEqual(await names(page), highest.toReversed());
  await page.getByRole("button", { name: "Series", exact: true }).click();
  assert.deepEqual((await names(page)).slice(0, 3), ["many.line1.used_bytes", "many.line2.used_bytes", "many.line3.used_bytes"]);
  await page.getByLabel("Filter lines").fill("line7");
  assert.deepEqual(await names(page), ["many.line7.used_bytes"]);
  await page.getByRole("button", { name: "Only many.line7.used_bytes" }).click();
  await page.getByLabel("Filter lines").fill("");
  const pressed = page.locator("#legend .series[aria-pressed=true]");
  assert.deepEqual(await pressed.allTextContents(), ["many.line7.used_bytes"]);
  await page.getByRole("button", { name: "Show all" }).click();
  assert.equal(await pressed.count(), 20);
  await pressed.nth(3).click({ modifiers: ["Control"] });
  assert.equal(await pressed.count(), 1);
});

test("tagged metrics show the tags that differ", async () => {
  const page = await open("#target=seriesByTag('name=latency')");
  await page.locator("#legend .series").first().waitFor();
  assert.deepEqual(await names(page), ["latency;host=alpha", "latency;host=beta"]);
  await line(page, "Tagged metrics").click();
  await line(page, "latency").click();
  await line(page, "host=alpha").waitFor();
  await line(page, "host=beta").waitFor();
});

test("the tree is as wide as it was dragged, also the next time", async () => {
  const page = await open();
  const edge = page.locator("#edge");
  const box = await edge.boundingBox();
  await page.mouse.move(box.x + 3, 300);
  await page.mouse.down();
  await page.mouse.move(500, 300, { steps: 3 });
  await page.mouse.up();
  assert.equal(Math.round((await page.locator("#tree-panel").boundingBox()).width), 500);
  await page.reload();
  await line(page, "odd").waitFor();
  assert.equal(Math.round((await page.locator("#tree-panel").boundingBox()).width), 500);
  await edge.focus();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await edge.getAttribute("aria-valuenow"), "480");
});

test("a wide screen is used, with the legend beside the plot", async () => {
  const page = await open(TWENTY, { viewport: { width: 2560, height: 1300 } });
  await drawn(page);
  const [picture, plot, legend] = await Promise.all(
    ["#picture", "#plot", "#legend"].map((place) => page.locator(place).boundingBox()),
  );
  assert.ok(picture.width > 2100, `${picture.width}`);
  assert.ok(legend.x >= plot.x + plot.width);
});

test("dates of a range are not cut off", async () => {
  const page = await open("#target=servers.calm.load&from=1769889601&until=1769893203&refresh=0");
  for (const [name, text] of [
    ["From", "2026-01-31 20:00:01"],
    ["Until", "2026-01-31 21:00:03"],
  ]) {
    const field = page.getByLabel(name, { exact: true });
    assert.equal(await field.inputValue(), text);
    assert.ok(await field.evaluate((one) => one.scrollWidth <= one.clientWidth), name);
  }
});

test("the unit follows from the names or is chosen, and is remembered for the queries", async () => {
  const page = await open(TWENTY);
  await drawn(page);
  const last = page.locator("#legend td.last").first();
  assert.match(await last.textContent(), /^[\d.]+ MiB$/);
  await page.getByLabel("Unit").selectOption("seconds");
  assert.match(await last.textContent(), /^[\d.]+k? d$/);
  await page.goto(new URL("#target=servers.calm.load&refresh=0", page.url()).href);
  await page.locator("#legend td.last", { hasText: /^20$/ }).waitFor();
  await page.goto(new URL(TWENTY, page.url()).href);
  await page.waitForFunction(() => document.querySelector("#legend td.last")?.textContent.endsWith(" d"));
  assert.equal(shown(page).get("unit"), "seconds");
});
