// Saved graphs: named, kept on the server, shared by a link; and events on the graph.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawn, open, shown, url } from "./chromium.mjs";

const GRAPH = "#target=servers.peak.load&from=-2h&style=area&refresh=0";

const panel = async (page) => {
  await page.getByRole("button", { name: "Saved graphs" }).click();
  return page.getByRole("dialog", { name: "Saved graphs" });
};

test("a graph is saved under a name, and anybody with the link sees it", async () => {
  const page = await open(GRAPH);
  await drawn(page);
  const saved = await panel(page);
  await saved.getByText("None yet.").waitFor();
  await saved.getByLabel("Name of the graph").fill("Peaks & <b>areas</b>");
  await saved.getByLabel("Name of the graph").press("Enter");
  await saved.getByRole("button", { name: "Peaks & <b>areas</b>", exact: true }).waitFor();
  await saved.getByRole("button", { name: /^Copy the link/ }).click();
  const link = await page.evaluate(() => navigator.clipboard.readText());

  // Another browser, which has neither history nor storage of the first.
  const other = await open(new URL(link).hash);
  await drawn(other);
  assert.deepEqual(shown(other).getAll("target"), ["servers.peak.load"]);
  assert.equal(await other.getByLabel("Style").inputValue(), "area");
  await other.goto(url);
  const list = await panel(other);
  await list.getByText("Draw something to save it.").waitFor();
  await list.getByRole("button", { name: "Peaks & <b>areas</b>", exact: true }).click();
  await drawn(other);
  assert.equal(shown(other).get("from"), "-2h");
});

test("a graph is saved again under its name, and deleted when one is sure", async () => {
  const page = await open(GRAPH);
  await drawn(page);
  const save = async () => {
    await page.getByLabel("Name of the graph").fill("twice");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("#toast.shown", { hasText: "Saved" }).waitFor();
  };
  const saved = await panel(page);
  await save();
  await page.evaluate(() => (location.hash += "&scale=log"));
  await save();
  const row = saved.locator("li").filter({ has: page.getByRole("button", { name: "twice", exact: true }) });
  await row.locator('.past[title*="scale=log"]').waitFor();
  assert.equal(await row.count(), 1);
  await row.getByRole("button", { name: "Delete twice" }).click();
  await row.getByRole("button", { name: "No" }).click();
  assert.equal(await row.count(), 1);
  await row.getByRole("button", { name: "Delete twice" }).click();
  await row.getByRole("button", { name: "Delete it" }).click();
  await row.waitFor({ state: "detached" });
});

test("a link to a graph that is gone says so", async () => {
  const page = await open("#saved=nothing");
  await page.locator("#toast.shown", { hasText: "there is no graph named `nothing`" }).waitFor();
});

test("events are marks with their texts, listed below the graph, and told at the pointer", async () => {
  const now = Math.floor(Date.now() / 1000);
  for (const [what, tags, ago] of [["deploy web", "deploy web", 1800], ["deploy db", "deploy db", 900], ["coffee", "pause", 600]]) {
    const answer = await fetch(new URL("events/", url), { method: "POST", body: JSON.stringify({ what, tags, when: now - ago, data: "v2" }) });
    assert.equal(answer.status, 200);
  }
  const page = await open("#target=servers.calm.load&from=-1h&refresh=0");
  await drawn(page);
  assert.equal(await page.locator(".mark").count(), 0);
  const field = page.getByLabel("Mark the events with these tags");
  await field.fill("deploy");
  await field.press("Enter");
  await page.locator(".mark").nth(1).waitFor();
  assert.deepEqual(await page.locator(".mark").allTextContents(), ["deploy web", "deploy db"]);
  assert.equal(shown(page).get("events"), "deploy");
  // They are where their times are: half an hour and three quarters of an hour into the hour.
  const places = await page.locator(".mark").evaluateAll((all) => {
    const width = all[0].closest(".u-over").clientWidth;
    return all.map((one) => parseFloat(one.style.left) / width);
  });
  assert.ok(Math.abs(places[0] - 0.5) < 0.03 && Math.abs(places[1] - 0.75) < 0.03, `${places}`);
  const box = await page.locator("#plot .u-over").boundingBox();
  await page.mouse.move(box.x + places[0] * box.width + 2, box.y + 100);
  await page.locator(".tip em", { hasText: "deploy web" }).waitFor();
  await page.getByText("2 events").click();
  assert.match(await page.locator("#events li").first().textContent(), /deploy web deploy web · v2$/);
  await field.fill("*");
  await field.press("Enter");
  await page.locator(".mark").nth(2).waitFor();
  const picture = new URL(await page.getByRole("link", { name: "PNG", exact: true }).getAttribute("href"));
  assert.match(picture.searchParams.getAll("target")[1], /drawAsInfinite\(events\("\*"\)\)/);
  assert.equal((await fetch(picture)).status, 200);
  await field.fill("");
  await field.press("Enter");
  await page.locator(".mark").first().waitFor({ state: "detached" });
});
