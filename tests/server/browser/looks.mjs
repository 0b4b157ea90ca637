// What people see. The pictures in docs/img are made here; each is also checked for what a picture alone would hide.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { drawn, line, open, url } from "./chromium.mjs";

const FLEET =
  "#target=servers.db1.cpu.user&target=servers.db2.cpu.user" +
  "&target=movingAverage(servers.web1.cpu.user%2C%225min%22)&refresh=0";

async function picture(page, name) {
  if (!process.env.UPDATE_SCREENSHOTS) return;
  await page.mouse.move(0, 0);
  await page.screenshot({
    path: join(process.env.TEST_PICTURES, `browser-${name}.png`),
    animations: "disabled",
  });
}

/** Nothing sticks out to the side. */
async function fits(page) {
  const { wide, screen, culprits } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    screen: document.documentElement.clientWidth,
    culprits: [...document.querySelectorAll("body *")]
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
      .map((one) => `${one.tagName}.${one.className}`)
      .slice(0, 5),
  }));
  assert.ok(wide <= screen, `${wide} on ${screen}: ${culprits}`);
}

/** Every text stands out from what is behind it, as WCAG AA asks. */
async function readable(page) {
  const pale = await page.evaluate(() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
      willReadFrequently: true,
    });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
      const [x, y, z] = [r, g, b]
        .map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = (one) => {
      for (let at = one; at; at = at.parentElement) {
        const found = rgba(getComputedStyle(at).backgroundColor);
        if (found[3] === 255) return found;
      }
      return [255, 255, 255, 255];
    };
    const texts = [...document.querySelectorAll("body *")].filter(
      (one) =>
        [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()) &&
        one.checkVisibility({ opacityProperty: true }),
    );
    return texts
      .map((one) => {
        const [a, b] = [light(rgba(getComputedStyle(one).color)), light(behind(one))];
        return {
          what: `${one.className || one.tagName}: ${one.textContent.trim().slice(0, 30)}`,
          ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
        };
      })
      .filter(({ ratio }) => ratio < 4.5);
  });
  assert.deepEqual(pale, []);
}

async function browse(page) {
  await drawn(page);
  await line(page, "servers").click();
  await line(page, "db1").click();
  await line(page, "cpu").click();
  await line(page, "user").waitFor();
}

test("on a desk, light", async () => {
  const page = await open(FLEET, { colorScheme: "light", viewport: { width: 1280, height: 1335 } });
  await browse(page);
  await fits(page);
  await readable(page);
  await picture(page, "light");
});

test("on a desk, dark, because the system is", async () => {
  const page = await open(FLEET, { colorScheme: "dark", viewport: { width: 1280, height: 940 } });
  await browse(page);
  const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(ground, "rgb(20, 22, 28)");
  await readable(page);
  await picture(page, "dark");
});

test("the choice of colours wins over the system and stays", async () => {
  const page = await open("", { colorScheme: "light" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.keyboard.press("d");
  assert.equal(await ground(), light);
  await page.keyboard.press("d");
  assert.equal(await ground(), "rgb(20, 22, 28)");
  await page.reload();
  assert.equal(await ground(), "rgb(20, 22, 28)");
});

test("on a phone: a graph", async () => {
  const page = await open(FLEET, {
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    hasTouch: true,
    isMobile: true,
  });
  await drawn(page);
  await fits(page);
  assert.equal(await page.locator("#tree").isVisible(), false);
  await picture(page, "phone");
});

test("on a phone: from the tree to the graph by touch", async () => {
  const page = await open("", {
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    hasTouch: true,
    isMobile: true,
  });
  await line(page, "servers").tap();
  await line(page, "web1").tap();
  await line(page, "cpu").tap();
  await line(page, "load").tap();
  await fits(page);
  await picture(page, "phone-tree");
  await page.getByRole("button", { name: "Graph (1)" }).tap();
  await drawn(page);
  await fits(page);
});

test("a narrow window loses nothing", async () => {
  for (const width of [320, 600, 821, 1000]) {
    const page = await open(FLEET, { viewport: { width, height: 700 } });
    await drawn(page);
    await fits(page);
    await page.context().close();
  }
});

test("search and completion", async () => {
  const page = await open(FLEET, { colorScheme: "light" });
  await drawn(page);
  await page.getByLabel("Search metrics").fill("web cpu");
  await page.locator(".search [role=option]").first().waitFor();
  await readable(page);
  await picture(page, "search");
  await page.keyboard.press("Escape");
  await page.getByLabel("Add a function to query A").fill("moving");
  await page.locator(".completions [role=option]:visible").first().waitFor();
  await readable(page);
  await picture(page, "functions");
});

const many = (targets, more) => `#${new URLSearchParams([...targets.map((target) => ["target", target]), ["refresh", "0"], ...Object.entries(more)])}`;

test("twenty lines", async () => {
  const page = await open(many(["servers.*.cpu.user"], { sort: "-max" }), { colorScheme: "light", viewport: { width: 1280, height: 1280 } });
  await drawn(page);
  assert.equal(await page.locator("#legend tbody tr").count(), 20);
  await readable(page);
  await picture(page, "twenty");
});

test("a wide screen", async () => {
  const page = await open(many(["servers.web*.cpu.user", "servers.db*.cpu.user"], { from: "-1d" }), { colorScheme: "light", viewport: { width: 2200, height: 1100 } });
  await drawn(page);
  await fits(page);
  await picture(page, "wide");
});

test("stacked, with events and values pinned", async () => {
  for (const [what, ago] of [["deploy web 2.4", 2400], ["failover db1", 900]]) {
    const event = { what, tags: "deploy", when: Math.floor(Date.now() / 1000) - ago, data: "" };
    await fetch(new URL("events/", url), { method: "POST", body: JSON.stringify(event) });
  }
  const page = await open("#target=servers.db*.memory.used_bytes&style=stacked&events=deploy&refresh=0", { colorScheme: "dark", viewport: { width: 1280, height: 900 } });
  await drawn(page);
  assert.equal(await page.locator(".mark").count(), 2);
  const box = await page.locator("#plot .u-over").boundingBox();
  await page.mouse.click(box.x + box.width * 0.4, box.y + 80);
  await page.locator(".tip.pinned").waitFor();
  await readable(page);
  await picture(page, "stacked");
});

test("a table", async () => {
  const page = await open("#target=servers.db*.cpu.load&view=table&refresh=0", { colorScheme: "light" });
  await page.locator("#table td").first().waitFor();
  await fits(page);
  await readable(page);
  await picture(page, "table");
});

test("wrong queries", async () => {
  const targets = ["servers.web1.cpu.load", "sumSerie(servers.*.cpu.load)", "servers.wbe2.cpu.load", "sumSeries(servers.db1.cpu.load"];
  const page = await open(`#${new URLSearchParams([...targets.map((target) => ["target", target]), ["refresh", "0"]])}`, { colorScheme: "light" });
  await drawn(page);
  await page.locator(".mistake .better").nth(1).waitFor();
  await readable(page);
  await picture(page, "error");
});
