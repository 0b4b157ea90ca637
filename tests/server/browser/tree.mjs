import assert from "node:assert/strict";
import { test } from "node:test";
import net from "node:net";

import { line, open, shown } from "./chromium.mjs";

const names = (page) => page.locator("#tree [role=treeitem]:visible > .row > .name").allTextContents();
const counted = (page, name) => line(page, name).locator(".count").textContent();

test("directories open one after another and tell how many metrics are below", async () => {
  const page = await open();
  await line(page, "servers").waitFor();
  assert.deepEqual(await names(page), ["app", "servers", "Tagged metrics"]);
  assert.equal(await counted(page, "servers"), "25");
  assert.equal(await counted(page, "Tagged metrics"), "3");
  await line(page, "servers").click();
  await line(page, "web10").waitFor();
  // As a person counts: 2 before 10.
  assert.deepEqual(await names(page), [
    "app",
    "servers",
    "db1",
    "db2",
    "web1",
    "web2",
    "web10",
    "Tagged metrics",
  ]);
  await line(page, "servers").click();
  assert.equal(await line(page, "web10").isVisible(), false);
  assert.deepEqual(page.mistakes, []);
});

test("a metric is drawn by a click and taken away by another", async () => {
  const page = await open();
  await line(page, "app").click();
  await line(page, "requests").click();
  // It is a metric and a directory at once: its name draws, its triangle opens.
  await line(page, "login").click();
  assert.deepEqual(shown(page).getAll("target"), ["app.requests.login"]);
  await line(page, "login").locator(".twisty").click();
  await line(page, "p99").waitFor();
  await line(page, "login").click();
  assert.deepEqual(shown(page).getAll("target"), []);
});

test("all inside of a directory are drawn by its star", async () => {
  const page = await open();
  await line(page, "app").click();
  await line(page, "requests").hover();
  await line(page, "requests").getByTitle("Draw all inside").click();
  assert.deepEqual(shown(page).getAll("target"), ["app.requests.*"]);
});

test("tagged metrics have a root of their own", async () => {
  const page = await open();
  await line(page, "Tagged metrics").click();
  await line(page, "requests").click();
  // The region is the same for all of them.
  await line(page, "handler=login").click();
  assert.deepEqual(shown(page).getAll("target"), ["requests;handler=login;region=eu"]);
  await page.locator("#metric .tag", { hasText: "handler=login" }).waitFor();
});

test("words find names while they are typed, and Enter draws", async () => {
  const page = await open();
  await page.keyboard.press("/");
  await page.keyboard.type("WEB1 load");
  const options = page.locator(".search [role=option]");
  // The answer to the last letter: those before it mark less of the name.
  await options.filter({ hasText: "servers.web10.cpu.load" }).locator("b", { hasText: /^load$/ }).waitFor();
  assert.deepEqual(await options.locator(".label").allTextContents(), [
    "servers.web1.cpu.load",
    "servers.web10.cpu.load",
  ]);
  assert.deepEqual(await options.first().locator("b").allTextContents(), ["web1", "load"]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.deepEqual(shown(page).getAll("target"), ["servers.web10.cpu.load"]);
  // And it is shown in the tree.
  await page.locator("#tree [aria-selected=true] > .row > .name", { hasText: "load" }).waitFor();
});

test("a directory that is found is opened in the tree", async () => {
  const page = await open();
  await page.getByLabel("Search metrics").fill("db2");
  await page.locator(".search [role=option]", { hasText: "5 metrics" }).click();
  await line(page, "network").waitFor();
  assert.deepEqual(shown(page).getAll("target"), []);
  assert.equal(await page.evaluate(() => document.activeElement.node.path), "servers.db2");
});

test("a glob is found and drawn, a call is drawn, and nothing is said to be nothing", async () => {
  const page = await open();
  const field = page.getByLabel("Search metrics");
  await field.fill("servers.web*.cpu.load");
  await page.locator(".search .footer", { hasText: "3 found" }).waitFor();
  await field.press("Enter");
  await field.fill("seriesByTag('handler=~.+')");
  await page.locator(".search [role=option]", { hasText: "draw this target" }).waitFor();
  await field.press("Enter");
  assert.deepEqual(shown(page).getAll("target"), ["servers.web*.cpu.load", "seriesByTag('handler=~.+')"]);
  await page.locator("#legend .series", { hasText: "handler=search" }).waitFor();
  await field.fill("no such thing");
  await page.locator(".search .footer", { hasText: "Nothing found" }).waitFor();
});

test("the keyboard is enough", async () => {
  const page = await open();
  await line(page, "servers").waitFor();
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const here = () => page.evaluate(() => document.activeElement?.node?.path);
  await press("t", "ArrowDown");
  assert.equal(await here(), "servers");
  await press("ArrowRight");
  await line(page, "db1").waitFor();
  await press("ArrowRight", "ArrowRight");
  await line(page, "cpu").waitFor();
  await press("ArrowRight", "ArrowRight");
  await line(page, "load").waitFor();
  await press("ArrowRight", "Enter", "ArrowDown", " ");
  assert.deepEqual(shown(page).getAll("target"), ["servers.db1.cpu.load", "servers.db1.cpu.user"]);
  await press("ArrowLeft", "ArrowLeft");
  assert.equal(await line(page, "load").isVisible(), false);
  await press("Home");
  assert.equal(await here(), "app");
  await press("End");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.includes("Tagged")), true);
  await press("Home", "*");
  assert.equal(shown(page).getAll("target").at(-1), "app.*");
  await press("?");
  await page.getByRole("heading", { name: "Keyboard" }).waitFor();
  await press("Escape");
  assert.equal(await page.getByRole("heading", { name: "Keyboard" }).isVisible(), false);
  assert.deepEqual(page.mistakes, []);
});

test("counts follow what arrives", async () => {
  const page = await open();
  await line(page, "app").waitFor();
  const socket = net.connect(Number(process.env.TEST_CARBON_PORT), "127.0.0.1");
  socket.end(`fresh.arrival 1 ${Math.floor(Date.now() / 1000)}\n`);
  await line(page, "fresh").waitFor({ timeout: 25000 });
  assert.equal(await counted(page, "fresh"), "1");
});
