// A Chromium, and pages in it that note what goes wrong and whom they ask.

import { createRequire } from "node:module";
import { after } from "node:test";
import { join } from "node:path";

const require = createRequire(join(process.env.TEST_PLAYWRIGHT, "package.json"));
const { chromium } = require("playwright-core");

export const url = process.env.TEST_URL;

const browser = await chromium.launch({
  executablePath: process.env.TEST_CHROMIUM,
  // Inside of a container there is neither a user to be nor much shared memory.
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
after(() => browser.close());

/** A page at `hash`, ready to be used. */
export async function open(hash = "", options = {}) {
  const page = await empty(options);
  await page.goto(url + hash);
  await page.locator("html[data-ready=true]").waitFor();
  return page;
}

/** A page in a browser without cookies. `page.requests` and `page.mistakes` are lists that grow. */
export async function empty(options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    locale: "en-GB",
    timezoneId: "UTC",
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.requests = [];
  page.mistakes = [];
  page.on("request", (request) => page.requests.push(request.url()));
  page.on("pageerror", (error) => page.mistakes.push(String(error)));
  page.on("console", (message) => {
    // Chromium writes a line for every 4xx answer; those are asked for on purpose.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      page.mistakes.push(message.text());
  });
  return page;
}

/** The line of the tree with this name. */
export const line = (page, name) =>
  page
    .locator("#tree .row")
    .filter({ has: page.locator(".name", { hasText: new RegExp(`^${escape(name)}$`) }) });

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** What the page has in its address. */
export const shown = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

/** Waits until lines are on the canvas: pixels of another colour than nothing. */
export async function drawn(page) {
  await page.waitForFunction(() => {
    const canvas = document.querySelector("#plot canvas");
    if (!canvas || !canvas.width) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 200) colours.add(`${data[i] >> 5},${data[i + 1] >> 5},${data[i + 2] >> 5}`);
    }
    return colours.size > 1;
  });
}
