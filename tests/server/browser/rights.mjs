// The pages for operators, for those who may not use all of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { empty, url } from "./chromium.mjs";

const { TEST_USER: user, TEST_PASSWORD: password, TEST_TOKEN: token } = process.env;

async function operate(page, name) {
  await page.goto(`${url}operate#page=${name}`);
  await page.locator("html[data-ready=true]").waitFor();
}

async function logIn(page, name, secret) {
  await page.goto(`${url}login`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password or token").fill(secret);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("html[data-ready=true]").waitFor();
}

const pages = (page) => page.locator("nav.pages a").allTextContents();

test("a visitor who is not logged in is led to the form", async () => {
  const page = await empty();
  await page.goto(`${url}operate`);
  await page.waitForURL(`${url}login`);
});

test("a reader has no page that needs an admin, and nothing of it is asked for", async () => {
  const page = await empty();
  await logIn(page, user, password);
  await operate(page, "changes");
  await page.getByText("This page needs the role admin. You have the role read.").waitFor();
  assert.deepEqual(await pages(page), ["Health", "Cardinality", "Rules", "Retention"]);
  await operate(page, "cardinality");
  await page.getByRole("region", { name: "By prefix" }).waitFor();
  assert.equal(await page.getByRole("link", { name: /^Delete all/ }).count(), 0);
  assert.deepEqual(page.requests.filter((request) => /internal\/(top|delete|queries)/.test(request)), []);
  assert.deepEqual(page.mistakes, []);
});

test("a user confined to some metrics has the pages about these alone", async () => {
  const page = await empty();
  await logIn(page, "", token);
  await operate(page, "cardinality");
  const region = page.getByRole("region", { name: "By prefix" });
  await region.waitFor();
  assert.deepEqual(await region.locator("tbody tr td:first-child").allTextContents(), ["servers"]);
  assert.deepEqual(await pages(page), ["Cardinality", "Retention"]);
});
