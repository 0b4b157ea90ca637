import assert from "node:assert/strict";
import http from "node:http";
import { test } from "node:test";

import { drawn, line, open, url } from "./chromium.mjs";

const hurt = (page) => page.evaluate(() => window.hurt);
const elements = (page) =>
  page.evaluate(() => document.querySelectorAll("body img:not(.brand img), body script, body svg").length);

async function stored() {
  const [answer, tagged] = await Promise.all([
    fetch(`${url}internal/browser/tree?path=evil`).then((reply) => reply.json()),
    fetch(`${url}internal/browser/tree?tagged=1&path=evil`).then((reply) => reply.json()),
  ]);
  return [...answer.nodes.map(({ name }) => `evil.${name}`), ...tagged.nodes.map(({ name }) => name)];
}

test("names with HTML in them are shown as they are and never run", async () => {
  const names = await stored();
  assert.ok(
    names.some((name) => name.includes("<img")),
    `the server took ${names}`,
  );
  assert.ok(
    names.some((name) => name.includes("<script>")),
    `the server took ${names}`,
  );
  assert.ok(
    names.some((name) => name.includes(";tag=<svg")),
    `the server took ${names}`,
  );
  const page = await open();
  await line(page, "evil").first().click();
  await page.locator("#tree .name", { hasText: "<img" }).waitFor();
  const before = await elements(page);
  for (const name of names) {
    // Without what the search would take for a glob.
    await page.getByLabel("Search metrics").fill(name.split(/[;*?[{]/)[0].slice(0, 14));
    await page.locator(".search [role=option]").first().waitFor();
    await page.goto(`${url}#${new URLSearchParams({ target: name })}`);
    const query = page.getByLabel("Query A", { exact: true });
    // The page follows its address in its own time, and would close a search that had already begun.
    await page.waitForFunction(
      (text) => document.querySelector('[aria-label="Query A"]')?.value === text,
      name,
    );
    await page.locator("#legend .series, #note:not(:empty)").first().waitFor();
    await query.focus();
  }
  const image = names.find((name) => name.includes("<img"));
  await page.goto(`${url}#${new URLSearchParams({ target: image })}`);
  await page.locator("#legend .series", { hasText: "<img" }).waitFor();
  await page.locator("#metric .full-name", { hasText: "<img" }).waitFor();
  await page.locator("#share", { hasText: "<img" }).waitFor();
  await drawn(page);
  const box = await page.locator("#plot .u-over").boundingBox();
  await page.mouse.move(box.x + box.width - 4, box.y + box.height / 2);
  await page.locator("#plot .tip").waitFor();
  assert.equal(await hurt(page), undefined);
  assert.equal(await elements(page), before);
  assert.deepEqual(page.mistakes, []);
});

test("errors that repeat what was asked are shown as text, too", async () => {
  const page = await open(`#${new URLSearchParams({ target: "<img src=x onerror=window.hurt=1>(" })}`);
  await page.locator("#note.wrong").waitFor();
  assert.equal(await hurt(page), undefined);
  const direct = await fetch(
    `${url}render?format=json&target=${encodeURIComponent("<script>alert(1)</script>(")}`,
  );
  assert.match(direct.headers.get("content-type"), /^text\/plain/);
});

test("a script that got into the page would not run", async () => {
  const page = await open();
  const refused = page.waitForEvent("console", (message) => /Content Security Policy/.test(message.text()));
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.hurt = 1";
    document.body.append(script);
  });
  await refused;
  assert.equal(await hurt(page), undefined);
});

test("nobody but the server is asked", async () => {
  const page = await open("#target=good.one");
  await drawn(page);
  await page.keyboard.press("f");
  await page.keyboard.type("sum");
  await page.locator(".completions [role=option]:visible").first().waitFor();
  assert.ok(page.requests.length > 10);
  assert.deepEqual(
    page.requests.filter((request) => !request.startsWith(url)),
    [],
  );
});

test("no path leads out of the files of the page", async () => {
  for (const path of [
    "/browser/../../../../etc/passwd",
    "/browser/..%2f..%2f..%2fetc%2fpasswd",
    "/browser/%2e%2e/%2e%2e/etc/passwd",
    "/browser/....//....//etc/passwd",
    "/browser//etc/passwd",
    "/browser/..\\..\\etc\\passwd",
    "/browser/app.js%00",
  ]) {
    assert.equal(await status(path), 404, path);
  }
});

/** fetch() would tidy the path up before it is sent. */
function status(path) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    http.get({ hostname, port, path }, (answer) => resolve(answer.resume().statusCode)).on("error", reject);
  });
}
