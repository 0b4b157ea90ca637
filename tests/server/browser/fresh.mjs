import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

import { line, open } from "./chromium.mjs";

test("a server without metrics tells how to send the first point, and shows it when it comes", async () => {
  const page = await open("", { colorScheme: "light" });
  await page.getByRole("heading", { name: "No metrics yet" }).waitFor();
  if (process.env.UPDATE_SCREENSHOTS)
    await page.screenshot({ path: join(process.env.TEST_PICTURES, "browser-fresh.png") });
  await page.getByRole("button", { name: "Copy From a shell" }).click();
  await page.locator("#toast.shown").waitFor();
  // What is told works as it stands.
  execFileSync("bash", ["-c", await page.evaluate(() => navigator.clipboard.readText())]);
  await line(page, "hello").waitFor();
  assert.equal(await page.getByRole("heading", { name: "No metrics yet" }).isVisible(), false);
  await line(page, "hello").click();
  await line(page, "world").click();
  await page.locator("#legend td.last", { hasText: "42" }).waitFor();
  assert.deepEqual(page.mistakes, []);
});
