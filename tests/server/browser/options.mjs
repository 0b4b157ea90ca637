// Other ways to draw, to read, and to take away what is drawn.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { drawn, empty, open, shown, url } from "./chromium.mjs";

const hash = (targets, more = {}) =>
  `#${new URLSearchParams([...targets.map((target) => ["target", target]), ...Object.entries({ refresh: "0", ...more })])}`;
const label = (page) => page.locator("#plot").getAttribute("aria-label");

/** How many pixels of the canvas are this colour, about. */
const painted = (page, wanted) =>
  page.evaluate((wanted) => {
    const canvas = document.querySelector("#plot canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 200 && wanted.every((part, at) => Math.abs(data[i + at] - part) < 12)) found += 1;
    }
    return found;
  }, wanted);

test("colours and dashes of a target are obeyed, as in the server's pictures", async () => {
  const red = [255, 0, 0];
  const page = await open(hash(["color(servers.calm.load,'darkred')"], { from: "-1h" }));
  await drawn(page);
  const whole = await painted(page, red);
  assert.ok(whole > 500, `${whole}`);
  const draw = async (target) => {
    await page.goto(new URL(hash([target], { from: "-1h" }), page.url()).href);
    await page.waitForFunction((target) => document.querySelector(".target").value === target, target);
    await page.locator("#plot:not([aria-busy])").waitFor();
    await drawn(page);
    return painted(page, red);
  };
  const dashed = await draw("dashed(servers.calm.load|color('#ff0000'),10)");
  assert.ok(dashed > whole * 0.3 && dashed < whole * 0.75, `${dashed} of ${whole}`);
  assert.ok((await draw("alias(lineWidth(color(servers.calm.load,'darkred'),6),'x')")) > whole * 2);
  // A sum makes a new series, and forgets the colour.
  assert.equal(await draw("sumSeries(color(servers.calm.load,'darkred'))"), 0);
  assert.equal(await draw("alpha(color(servers.calm.load,'darkred'),0.3)"), 0);
  // A line from bottom to top for each of 360 points.
  assert.ok((await draw("color(drawAsInfinite(servers.calm.load),'darkred')")) > whole * 20);
});

test("the second axis has its own scale on the right", async () => {
  const page = await open(hash(["servers.calm.load", "secondYAxis(scale(servers.calm.load,1000))"], { from: "-1h" }));
  await drawn(page);
  // The left one is not stretched by the line on the right.
  assert.match(await label(page), /values 18 to 22\./);
  assert.equal(await page.locator("#plot .u-axis").count(), 3);
});

test("lines are stacked by the page or by the target, and hidden ones count no more", async () => {
  const page = await open(hash(["servers.calm.load", "scale(servers.calm.load,2)"], { from: "-1h", style: "stacked" }));
  await drawn(page);
  const top = async (pattern) => page.waitForFunction((text) => new RegExp(text).test(document.querySelector("#plot").getAttribute("aria-label")), pattern);
  // 20 + 40
  await top("values 0 to 64.8\\.");
  // The legend has what the lines are, not how high they are stacked.
  assert.deepEqual(await page.locator("#legend td.max").allTextContents(), ["20", "40"]);
  await page.locator("#legend .series").first().click();
  await top("values 0 to 43.2\\.");
  await page.goto(new URL(hash(["stacked(servers.calm.load)", "stacked(scale(servers.calm.load,2))"], { from: "-1h" }), page.url()).href);
  await top("values 0 to 64.8\\.");
});

test("areas are filled", async () => {
  const page = await open(hash(["color(servers.calm.load,'darkred')"], { from: "-1h", min: "0" }), { colorScheme: "light" });
  await drawn(page);
  // Red at 30 % on a transparent canvas is red with a low opacity.
  const faint = () =>
    page.evaluate(() => {
      const canvas = document.querySelector("#plot canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let found = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] > 200 && data[i + 1] < 60 && data[i + 3] > 40 && data[i + 3] < 120) found += 1;
      return found;
    });
  const before = await faint();
  await page.getByLabel("Style").selectOption("area");
  await page.waitForFunction(() => document.querySelector("#plot canvas"));
  await drawn(page);
  assert.ok((await faint()) > before + 10000);
});

test("a log scale shows powers of ten, and limits are obeyed", async () => {
  const page = await open(hash(["servers.peak.load"], { from: "-4h", scale: "log" }));
  await drawn(page);
  assert.match(await label(page), /values 10 to 10k\./);
  await page.getByLabel("Scale").selectOption("linear");
  await page.getByLabel("Highest value").fill("50");
  await page.getByLabel("Lowest value").fill("-10");
  await page.waitForFunction(() => document.querySelector("#plot").getAttribute("aria-label").includes("values -10 to 50."));
  assert.equal(shown(page).get("max"), "50");
});

test("ticks are round in the unit of the values", async () => {
  for (const [target, unit, wanted] of [
    ["scale(servers.peak.load,1000000)", "bytes", /^\d+(\.5|\.25|\.75)? ([KMG]i)?B$/],
    ["scale(servers.peak.load,2)", "seconds", /^(0 s|\d+ min|\d+(\.5)? h)$/],
    ["scale(servers.calm.load,0.00001)", "seconds", /^\d+(\.\d)? µs$/],
  ]) {
    const page = await empty();
    await page.addInitScript(() => {
      const { prototype } = CanvasRenderingContext2D;
      const write = prototype.fillText;
      window.written = [];
      prototype.fillText = function (text, ...rest) {
        window.written.push(text);
        return write.call(this, text, ...rest);
      };
    });
    await page.goto(url + hash([target], { unit, from: "-4h" }));
    await drawn(page);
    const labels = (await page.evaluate(() => window.written)).filter((text) => /[a-zA-Zµ]$/.test(text) && !text.includes("\n"));
    const amounts = labels.filter((text) => / (([KMGT]i)?B|[µmn]?s|min|h|d)$/.test(text));
    assert.ok(amounts.length > 3, labels);
    for (const text of amounts) assert.match(text, wanted);
  }
});

test("a click pins the values of all lines, and another lets them go", async () => {
  const page = await open(hash(["many.line1*.used_bytes"]));
  await drawn(page);
  const box = await page.locator("#plot .u-over").boundingBox();
  await page.mouse.click(box.x + 200, box.y + 90);
  const tip = page.locator(".tip.pinned");
  assert.equal(await tip.locator(".tip-row").count(), 11);
  await page.mouse.move(box.x + 400, box.y + 60);
  assert.equal(await tip.locator("time").count(), 1);
  await page.keyboard.press("r");
  await page.locator("#plot:not([aria-busy])").waitFor();
  assert.equal(await tip.count(), 1);
  await page.mouse.click(box.x + 600, box.y + 200);
  assert.equal(await tip.count(), 0);
});

test("a table has what is drawn, and raw samples have every point", async () => {
  const page = await open(hash(["servers.peak.load", "servers.calm.load"], { from: "-4h" }));
  await drawn(page);
  await page.getByLabel("View", { exact: true }).selectOption("table");
  const heads = page.locator("#table th");
  await heads.nth(2).waitFor();
  assert.deepEqual(await heads.allTextContents(), ["Time", "servers.peak.load", "servers.calm.load"]);
  assert.equal(await page.locator("#plot").isVisible(), false);
  await page.getByLabel("View", { exact: true }).selectOption("samples");
  await page.locator("#table th", { hasText: "Seconds" }).waitFor();
  const rows = Number(/of ([\d,]+) rows/.exec(await page.locator("#table > p").textContent())[1].replace(",", ""));
  // Two series with 1,440 points each.
  assert.ok(rows > 2600 && rows < 2900, `${rows}`);
  await page.getByRole("button", { name: "Show more" }).click();
  assert.equal(await page.locator("#table tbody tr").count(), 1000);
  const [, first] = await page.locator("#table tbody tr td:nth-child(2)").allTextContents();
  assert.equal(Number(first) % 10, 0);
});

test("what is drawn can be downloaded", async () => {
  const page = await open(hash(["servers.calm.load"], { from: "-1h", style: "stacked", max: "50" }));
  await drawn(page);
  // The picture is drawn as the page draws.
  const picture = new URL(await page.getByRole("link", { name: "PNG", exact: true }).getAttribute("href"));
  assert.deepEqual([picture.searchParams.get("areaMode"), picture.searchParams.get("yMax")], ["stacked", "50"]);
  const starts = { CSV: "servers.calm.load,", JSON: '[{"target"', PNG: "\x89PNG", SVG: "<" };
  for (const [name, start] of Object.entries(starts)) {
    const waiting = page.waitForEvent("download");
    await page.getByRole("link", { name, exact: true }).click();
    const file = await waiting;
    assert.equal(file.suggestedFilename(), `plumbago.${name.toLowerCase()}`);
    const text = await readFile(await file.path(), "latin1");
    assert.ok(text.startsWith(start), `${name}: ${text.slice(0, 40)}`);
  }
});

test("times are those of the zone that is chosen", async () => {
  const page = await open(hash(["servers.calm.load"], { from: "1769889600", until: "1769893200" }));
  const from = page.getByLabel("From", { exact: true });
  assert.equal(await from.inputValue(), "2026-01-31 20:00");
  await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
  assert.equal(await from.inputValue(), "2026-02-01 05:00");
  await from.fill("2026-02-01 04:30");
  await from.press("Enter");
  assert.equal(shown(page).get("from"), "1769887800");
  // Words are read in it, too.
  const asked = page.waitForRequest((request) => request.url().includes("tz=Asia%2FTokyo"));
  await page.getByRole("button", { name: "24h" }).click();
  await asked;
});

test("queries are compared with themselves at an earlier time", async () => {
  const page = await open(hash(["servers.peak.load"], { from: "-1h" }));
  await drawn(page);
  await page.getByLabel("Compare with").selectOption("1h");
  await page.waitForFunction(() => document.querySelectorAll("#legend tbody tr").length === 2);
  const names = await page.locator("#legend .series").allTextContents();
  assert.deepEqual(names, ["servers.peak.load", 'timeShift(servers.peak.load, "-1h")']);
  const inks = await page.locator("#legend .swatch").evaluateAll((all) => all.map((one) => one.style.getPropertyValue("--ink")));
  assert.equal(inks[0], inks[1]);
  assert.equal(shown(page).getAll("target").length, 1);
});

test("queries of before are listed and drawn again", async () => {
  const page = await open(hash(["servers.peak.load"]));
  await drawn(page);
  // What was only passed by is not remembered.
  const kept = (target) => page.waitForFunction((target) => localStorage.getItem("plumbago.history")?.includes(target), target);
  await kept("servers.peak.load");
  await page.goto(new URL(hash(["servers.calm.load", "odd.5"]), page.url()).href);
  await kept("odd.5");
  await page.reload();
  await page.getByRole("button", { name: "History" }).click();
  await page.locator("#history .past", { hasText: "odd.5" }).waitFor();
  await page.locator("#history .past", { hasText: "servers.peak.load" }).click();
  assert.deepEqual(shown(page).getAll("target"), ["servers.peak.load"]);
});
