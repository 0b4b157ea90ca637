import assert from "node:assert/strict";
import { test } from "node:test";

import { empty, line, url } from "./chromium.mjs";

const { TEST_USER: user, TEST_PASSWORD: password, TEST_TOKEN: token } = process.env;

/** Goes to the page, which leads to the form, and fills it in. */
async function logIn(page, name, secret) {
  await page.goto(url);
  await page.waitForURL(`${url}login`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password or token").fill(secret);
  await page.getByRole("button", { name: "Log in" }).click();
}

test("a wrong password is refused and shows nothing", async () => {
  const page = await empty();
  await logIn(page, user, "not it");
  await page.getByRole("alert").filter({ hasText: "no such user with this password" }).waitFor();
  assert.deepEqual(await page.context().cookies(), []);
  assert.equal(await page.locator("#tree").count(), 0);
});

test("the right one begins a session, which only the browser itself can use, and logging out ends it", async () => {
  const page = await empty();
  await logIn(page, user, password);
  await page.locator("html[data-ready=true]").waitFor();
  await line(page, "hidden").waitFor();
  const [cookie] = await page.context().cookies();
  assert.equal(cookie.name, "plumbago_session");
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure], [true, "Strict", false]);
  assert.equal(await page.evaluate(() => document.cookie), "");
  const asks = () =>
    fetch(`${url}metrics/index.json`, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
  assert.equal((await asks()).status, 200);
  await page.reload();
  await page.locator("html[data-ready=true]").waitFor();
  await page.locator("#health").click();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(`${url}login`);
  assert.deepEqual(await page.context().cookies(), []);
  assert.equal((await asks()).status, 401, "a cookie that was kept is worth nothing");
  await page.goto(url);
  await page.waitForURL(`${url}login`);
  assert.deepEqual(page.mistakes, []);
});

test("a token is a password, too, and its scope holds", async () => {
  const page = await empty();
  await logIn(page, "", token);
  await page.locator("html[data-ready=true]").waitFor();
  await line(page, "servers").waitFor();
  assert.equal(await line(page, "hidden").count(), 0);
});
