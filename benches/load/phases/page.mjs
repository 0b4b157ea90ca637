// Opens the metric browser several times, each time in a new Chromium with an empty profile, and prints as JSON how long it took
// until a person could use it.
//
//   TEST_CHROMIUM=... TEST_PLAYWRIGHT=... node page.mjs URL LOADS

import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.TEST_PLAYWRIGHT, "package.json"));
const { chromium } = require("playwright-core");

const [url, loads] = process.argv.slice(2);
const WORDS = "host42 load1";

/** One cold load. */
async function load() {
  const browser = await chromium.launch({
    executablePath: process.env.TEST_CHROMIUM,
    // A container has neither a sandbox user nor much shared memory.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  try {
    // The browser is up with an empty window. It still has to fetch, compile and draw everything.
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    page.setDefaultTimeout(60000);
    const began = performance.now();
    await page.goto(url, { waitUntil: "commit" });
    await page.locator("#tree .row .name", { hasText: "servers" }).waitFor();
    await page.locator("html[data-ready=true]").waitFor();
    // As a person would reach the search field by keyboard. The page is usable once the field has the letter.
    await page.keyboard.press("/");
    await page.keyboard.press(WORDS[0]);
    await page.waitForFunction((letter) => document.getElementById("search").value === letter, WORDS[0]);
    const interactive = performance.now() - began;

    await page.keyboard.type(WORDS.slice(1));
    const typed = performance.now();
    await page.locator(".search [role=option] .label", { hasText: "host42" }).first().waitFor();
    const found = performance.now() - typed;
    await page.locator("#health-text", { hasText: "metrics" }).waitFor();
    const metrics = (await page.locator("#health-text").textContent()).split(" · ")[0];
    // Chromium's own figure: from the begin of the navigation until the first text was on the screen.
    const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    return { painted, interactive, found, metrics };
  } finally {
    await browser.close();
  }
}

const all = [];
for (let i = 0; i < Number(loads); i++) all.push(await load());
const column = (name) => all.map((one) => one[name]);
console.log(
  JSON.stringify({
    painted: column("painted"),
    interactive: column("interactive"),
    found: column("found"),
    metrics: column("metrics"),
  }),
);
