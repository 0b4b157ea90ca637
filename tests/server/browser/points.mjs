// What is drawn and said of it is true, however many points there are.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawn, line, open, shown } from "./chromium.mjs";

const PEAK = "#target=servers.peak.load&from=-4h&refresh=0";
const cell = (page, name) => page.locator(`#legend tbody td.${name}`).first().textContent();
const resolution = (page) => page.locator("#resolution").textContent();

test("a peak that is narrower than a pixel is seen, and the figures are of all points", async () => {
  const page = await open(PEAK);
  await drawn(page);
  assert.equal(await cell(page, "max"), "5k");
  assert.equal(await cell(page, "min"), "10");
  assert.match(await resolution(page), /^\d+ (seconds|minutes?) a point, average, shaded from min to max$/);
  // The axis goes up to the peak, because the range from min to max is drawn.
  await reaches(page, true);
  assert.deepEqual(page.mistakes, []);
});

/** Waits until the axis goes up to the peak, or does not, as the plot tells those who cannot see it. */
const reaches = (page, peak) =>
  page.waitForFunction((peak) => {
    const label = document.querySelector("#plot").getAttribute("aria-label");
    const [, number, thousand] = /values [-\d.]+k? to ([\d.]+)(k?)\./.exec(label) ?? [];
    return number !== undefined && Number(number) * (thousand ? 1000 : 1) >= 5000 === peak;
  }, peak);

test("points that do not fit are drawn together as the reader wants, and the page says how", async () => {
  const page = await open(PEAK);
  await drawn(page);
  for (const way of ["max", "min", "sum", "last", "average"]) {
    await page.getByLabel("Points that do not fit").selectOption(way);
    await page.locator("#resolution", { hasText: new RegExp(`a point, ${way}$`) }).waitFor();
    // The last of three points may be the peak. Of the others it is known whether it counts.
    if (way !== "last") await reaches(page, way === "max" || way === "sum");
    // The name and the figures stay.
    assert.deepEqual(await page.locator("#legend .series").allTextContents(), ["servers.peak.load"]);
    assert.equal(await cell(page, "max"), "5k");
  }
  assert.equal(shown(page).get("points"), "average");
});

test("what fits is drawn as it is stored, and the page says so", async () => {
  const page = await open("#target=servers.peak.load&from=-15min&refresh=0");
  await drawn(page);
  assert.equal(await resolution(page), "10 seconds a point, as stored");
});

test("a target that consolidates by itself is believed", async () => {
  const page = await open(`#${new URLSearchParams({ target: "consolidateBy(servers.peak.load,'max')", from: "-4h" })}`);
  await drawn(page);
  assert.match(await resolution(page), /as consolidateBy says/);
});

test("a function or metric that does not exist has a suggestion, which a click takes", async () => {
  const page = await open(`#${new URLSearchParams([["target", "sumSerie(servers.calm.load)"], ["target", "servers.clam.load"], ["target", "servers.peak.load"]])}`);
  const row = (at) => page.locator("#targets .target-row").nth(at);
  await row(1).locator(".mistake .better").click();
  await row(0).locator(".mistake .better").click();
  await page.waitForFunction(() => document.querySelectorAll("#legend tbody tr").length === 3);
  assert.deepEqual(shown(page).getAll("target"), ["sumSeries(servers.calm.load)", "servers.calm.load", "servers.peak.load"]);
  assert.equal(await page.locator("#targets .mistake:visible").count(), 0);
});

test("a query that finds nothing says so in its row, and nothing is suggested that is not alike", async () => {
  const page = await open("#target=servers.peak.load&target=servers.entirely-different.load");
  await page.locator("#targets .mistake", { hasText: "Nothing matches." }).waitFor();
  await page.locator("#plot:not([aria-busy])").waitFor();
  assert.equal(await page.locator(".better").count(), 0);
});

test("every name that can be clicked can be drawn", async () => {
  const page = await open("#refresh=0");
  await line(page, "odd").click();
  await line(page, "größe").waitFor();
  const names = await page.evaluate(() =>
    [...document.querySelectorAll("#tree .metric .name")].map((one) => one.textContent),
  );
  assert.equal(names.length, 21);
  for (const name of names) {
    const item = line(page, name).first();
    await item.click();
    await page.waitForFunction(
      (name) => [...document.querySelectorAll("#legend .series")].some((one) => one.textContent === name),
      `odd.${name}`,
    );
    await page.locator("#metric .full-name").filter({ hasText: `odd.${name}` }).waitFor();
    assert.equal(await page.locator("#legend .series").count(), 1, name);
    assert.equal(await page.locator("#tree [aria-selected=true]").count(), 1, name);
    await item.click();
    await page.waitForFunction(() => location.hash.indexOf("target") < 0);
  }
  assert.deepEqual(page.mistakes, []);
});

test("the rate says over how many seconds it was measured, at most a minute", async () => {
  const page = await open();
  // Ten seconds between two looks, in no time: 1,000 points a second in the first of them, none later.
  await page.clock.install();
  let stored = 0;
  await page.route("**/internal/browser/health", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), points_stored: stored } });
  });
  await page.reload();
  await page.locator("#health[data-state=well]").waitFor();
  const look = async () => {
    const answered = page.waitForResponse("**/internal/browser/health");
    await page.clock.runFor(10000);
    await answered;
  };
  stored = 10000;
  await look();
  await page.locator("#health-text", { hasText: /9\d\d(\.\d)?\/s|1k\/s/ }).waitFor();
  for (let at = 0; at < 5; at += 1) await look();
  await page.locator("#health[title^='Points per second over the last 6']").waitFor();
  assert.match(await page.locator("#health-text").textContent(), /1[56]\d(\.\d)?\/s/);
});

test("queries that are too long for an address are drawn, too", async () => {
  const targets = Array.from({ length: 60 }, (_, at) => `alias(scale(servers.calm.load,${at + 1}),"line ${at + 1}")`);
  const page = await open(`#${new URLSearchParams([...targets.map((target) => ["target", target]), ["refresh", "0"]])}`);
  await page.waitForFunction(() => document.querySelectorAll("#legend tbody tr").length === 60);
  assert.equal(await page.locator("#legend td.max").last().textContent(), "1.2k");
  assert.ok(page.requests.includes(new URL("render", page.url()).href), "it was sent by POST");
});
