import assert from "node:assert/strict";
import { test } from "node:test";

import { drawn, line, open, shown, url } from "./chromium.mjs";

const LOAD = "#target=servers.web1.cpu.load";
const renders = (page) =>
  page.requests.map((request) => new URL(request)).filter((request) => request.pathname === "/render");
const last = (page) => renders(page).at(-1).searchParams;
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());

test("what is selected is drawn, with its numbers below", async () => {
  const page = await open(LOAD);
  await drawn(page);
  const row = page.locator("#legend tbody tr");
  assert.equal(await row.count(), 1);
  assert.match(await row.locator("td.max").textContent(), /^\d+(\.\d+)?$/);
  assert.equal(last(page).get("from"), "-1h");
  assert.deepEqual(page.mistakes, []);
});

test("the pointer reads values off, and a line can be hidden", async () => {
  const page = await open("#target=servers.web*.cpu.load");
  await drawn(page);
  const box = await page.locator("#plot .u-over").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator("#plot .tip time").waitFor();
  assert.equal(await page.locator("#legend td.here").count(), 3);
  const first = page.locator("#legend .series").first();
  await first.click();
  assert.equal(await first.getAttribute("aria-pressed"), "false");
});

test("ranges are chosen, written, zoomed into and left again", async () => {
  const page = await open(LOAD);
  await drawn(page);
  await page.getByRole("button", { name: "24h" }).click();
  assert.equal(shown(page).get("from"), "-1d");
  await page.waitForFunction(() => document.querySelector("#legend tbody tr"));
  await page.getByLabel("From", { exact: true }).fill("-3h");
  const answered = page.waitForResponse((answer) => answer.url().includes("from=-3h"));
  await page.getByLabel("From", { exact: true }).press("Enter");
  assert.equal(shown(page).get("from"), "-3h");
  await answered;
  await page.locator("#plot:not([aria-busy])").waitFor();
  const box = await page.locator("#plot .u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 4 });
  // The selection follows the pointer frame by frame.
  await page.waitForFunction(
    (width) => document.querySelector(".u-select").clientWidth > width,
    box.width * 0.24,
  );
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes("until="));
  const from = Number(shown(page).get("from"));
  const until = Number(shown(page).get("until"));
  assert.ok(Math.abs(until - from - 2700) < 200, `${from} to ${until}`);
  await page.goBack();
  assert.equal(shown(page).get("from"), "-3h");
  assert.equal(await page.getByLabel("From", { exact: true }).inputValue(), "-3h");
  await page.getByRole("button", { name: "Zoom out" }).click();
  assert.ok(Number(shown(page).get("from")) < Date.now() / 1000 - 3 * 3600);
});

test("a bad time is explained in the server's words", async () => {
  const page = await open(`${LOAD}&from=the-day-after`);
  const note = page.locator("#note.wrong", { hasText: "the-day-after" });
  await note.waitFor();
  const [colour, trouble] = await colours(note);
  assert.equal(colour, trouble);
});

test("it draws again by itself, and not when that is off", async () => {
  const page = await open(`${LOAD}&refresh=1`);
  await drawn(page);
  const before = renders(page).length;
  await page.waitForRequest((request) => new URL(request.url()).pathname === "/render");
  assert.ok(renders(page).length > before);
  await page.getByLabel("Refresh", { exact: true }).selectOption("0");
  assert.equal(shown(page).get("refresh"), "0");
});

test("functions are completed by name and wrap the query", async () => {
  const page = await open(LOAD);
  await page.keyboard.press("f");
  await page.keyboard.type("movingav");
  const option = page.locator(".completions [role=option]:visible").first();
  await option.filter({ hasText: "movingAverage(" }).waitFor();
  await page.keyboard.press("Enter");
  assert.match(shown(page).get("target"), /^movingAverage\(servers\.web1\.cpu\.load, .+\)$/);
  await page.locator("#legend .series", { hasText: "movingAverage" }).waitFor();
});

test("functions and names are completed inside of a query", async () => {
  const page = await open();
  await page.keyboard.press("e");
  await page.keyboard.type("sumS");
  await page.locator(".completions [role=option]:visible", { hasText: "sumSeries(" }).first().waitFor();
  await page.keyboard.press("Tab");
  // A list that is still of fewer letters is asked for again before its first item is taken.
  await page.waitForFunction(() => document.querySelector(".target").value === "sumSeries(");
  await page.keyboard.type("serv");
  // First in the list once it is about all that was typed.
  await page.locator(".completions:visible [role=option]:first-child", { hasText: "25 metrics" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.getByLabel("Query A", { exact: true }).inputValue(), "sumSeries(servers.");
  await page.keyboard.type("web*.cpu.load)");
  await page.keyboard.press("Enter");
  assert.equal(shown(page).get("target"), "sumSeries(servers.web*.cpu.load)");
  await page.locator("#legend .series", { hasText: "sumSeries" }).waitFor();
});

test("tags and their values are completed, where the server knows them", async () => {
  const page = await open();
  // The answers of Graphite's tags API, so that this holds whether the server has it or not.
  await page.route("**/tags/autoComplete/tags*", (route) => route.fulfill({ json: ["handler", "region"] }));
  await page.route("**/tags/autoComplete/values*", (route) => route.fulfill({ json: ["checkout", "login"] }));
  await page.keyboard.press("e");
  await page.keyboard.type("seriesByTag('han");
  await page.locator(".completions [role=option]:visible", { hasText: "handler" }).waitFor();
  await page.keyboard.press("Tab");
  await page.locator(".completions [role=option]:visible", { hasText: "login" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("')");
  await page.keyboard.press("Enter");
  assert.equal(shown(page).get("target"), "seriesByTag('handler=login')");
  await page.locator("#legend .series", { hasText: "handler=login" }).waitFor();
});

test("a server without the tags API leaves the query as it is written", async () => {
  const page = await open();
  await page.route("**/tags/**", (route) => route.fulfill({ status: 404, body: "there is nothing here" }));
  await page.keyboard.press("e");
  const answered = page.waitForResponse("**/tags/autoComplete/tags*");
  await page.keyboard.type("seriesByTag('han");
  await answered;
  await page.keyboard.type("dler=login')");
  await page.keyboard.press("Enter");
  await page.locator("#legend .series", { hasText: "handler=login" }).waitFor();
  assert.deepEqual(page.mistakes, []);
});

test("queries are added, changed and removed", async () => {
  const page = await open(LOAD);
  await page.getByRole("button", { name: "+ Query" }).click();
  await page.keyboard.type("servers.db1.cpu.load");
  await page.keyboard.press("Enter");
  // Playwright hears of a new address a moment after the page has it.
  await page.waitForFunction(() => document.querySelectorAll("#legend tbody tr").length === 2);
  assert.deepEqual(shown(page).getAll("target"), ["servers.web1.cpu.load", "servers.db1.cpu.load"]);
  await page.getByRole("button", { name: "Remove query A" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#legend tbody tr").length === 1);
  assert.deepEqual(shown(page).getAll("target"), ["servers.db1.cpu.load"]);
  assert.equal(await page.getByLabel("Query A", { exact: true }).inputValue(), "servers.db1.cpu.load");
});

test("a query that is wrong is explained and can be put right", async () => {
  const page = await open("#target=noSuchFunction(a)");
  await mistakes(page).filter({ hasText: "noSuchFunction" }).waitFor();
  await page.locator("#note.wrong", { hasText: "nothing to draw" }).waitFor();
  await page.getByLabel("Query A", { exact: true }).fill("servers.db1.cpu.load");
  await page.keyboard.press("Enter");
  await drawn(page);
  assert.equal(await page.locator("#note").textContent(), "");
});

/** The colour of an element, and the colour for trouble. */
const colours = (locator) =>
  locator.evaluate((one) => {
    const probe = document.createElement("span");
    probe.style.color = "var(--trouble)";
    document.body.append(probe);
    const found = [getComputedStyle(one).color, getComputedStyle(probe).color];
    probe.remove();
    return found;
  });

const mistakes = (page) => page.locator("#targets .mistake:visible");
const hash = (...targets) => `#${new URLSearchParams(targets.map((target) => ["target", target]))}`;

test("a query that cannot be read says why in its row, and the others are drawn", async () => {
  const broken = "sumSeries(servers.web2.cpu.load";
  const page = await open(hash("servers.web1.cpu.load", broken, "servers.db1.cpu.load"));
  await drawn(page);
  await mistakes(page).waitFor();
  assert.equal(await mistakes(page).count(), 1);
  assert.match(await mistakes(page).textContent(), /^Cannot read the target at character \d+/);
  const [colour, trouble] = await colours(mistakes(page));
  assert.equal(colour, trouble);
  const field = page.getByLabel("Query B", { exact: true });
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  assert.equal(await page.getByLabel("Query A", { exact: true }).getAttribute("aria-invalid"), null);
  assert.equal(await page.locator("#legend tbody tr").count(), 2);
  await field.fill(`${broken})`);
  await field.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("#legend tbody tr").length === 3);
  assert.equal(await mistakes(page).count(), 0);
  assert.equal(await field.getAttribute("aria-invalid"), null);
  assert.deepEqual(page.mistakes, []);
});

test("each of several broken queries has its own reason", async () => {
  const long = `scale(${"servers.web1.cpu.load,".repeat(12)}`;
  const page = await open(hash("sumSeries(a, b", "servers.web1.cpu.load", "alias(c, 'größe'))", long));
  await drawn(page);
  await mistakes(page).nth(2).waitFor();
  const rows = page.locator("#targets .target-row");
  const reasons = await rows.locator(".mistake").allTextContents();
  assert.deepEqual(
    reasons.map((reason) => reason !== ""),
    [true, false, true, true],
  );
  for (const reason of reasons.filter(Boolean)) {
    assert.match(reason, /^Cannot read the target at character \d+/);
    assert.equal(reason.match(/Cannot read/gi).length, 1, reason);
  }
});

test("a function that does not exist does not hide the other queries", async () => {
  const page = await open(hash("servers.web1.cpu.load", "noSuchFunction(servers.db1.cpu.load)"));
  await drawn(page);
  await mistakes(page).filter({ hasText: "unknown function: noSuchFunction" }).waitFor();
  assert.equal(await page.locator("#legend tbody tr").count(), 1);
  assert.doesNotMatch(await mistakes(page).textContent(), /Invalid parameters|targets:/);
  assert.equal(await page.locator("#note").textContent(), "");
});

test("a mistake that all queries share is told once", async () => {
  const page = await open(`${hash("servers.web1.cpu.load", "servers.db1.cpu.load")}&from=the-day-after`);
  await page.locator("#note.wrong", { hasText: "the-day-after" }).waitFor();
  assert.equal(await mistakes(page).count(), 0);
});

test("the last graph stays while the server is away, and a new one comes when it is back", async () => {
  const page = await open(`${LOAD}&refresh=0`);
  await drawn(page);
  await page.route("**/render?*", (route) => route.abort());
  await page.keyboard.press("r");
  const note = page.locator("#note.wrong");
  await note.filter({ hasText: "The server does not answer. This is the last graph, from" }).waitFor();
  const [colour, trouble] = await colours(note);
  assert.equal(colour, trouble);
  await drawn(page);
  assert.equal(await page.locator("#legend tbody tr").count(), 1);
  // A proxy answers for a server that is gone with a page of its own.
  await page.route("**/render?*", (route) =>
    route.fulfill({ status: 502, contentType: "text/html", body: "<html>Bad Gateway</html>" }),
  );
  await page.keyboard.press("r");
  await note.filter({ hasText: "The server answered 502. This is the last graph" }).waitFor();
  await drawn(page);
  await page.unrouteAll();
  // Nobody presses anything: the page sees by itself that the server is back.
  await page.locator("#note:empty").waitFor({ state: "attached" });
  assert.deepEqual(page.mistakes, []);
});

test("a server that is away is told in words everywhere", async () => {
  const page = await open();
  await line(page, "app").waitFor();
  await page.route(/\/(internal|render|functions|tags)\b/, (route) => route.abort());
  await line(page, "app").click();
  await page.locator("#toast.shown", { hasText: "The server does not answer." }).waitFor();
  await page.goto(new URL(LOAD, page.url()).href);
  await page.locator("#note.wrong", { hasText: "The server does not answer. The page keeps trying." }).waitFor();
  await page.locator("#metric .wrong", { hasText: "The server does not answer." }).waitFor();
  await page.keyboard.press("f");
  await page.keyboard.type("sum");
  await page.locator(".completions .footer:visible", { hasText: "The server does not answer." }).waitFor();
  assert.doesNotMatch(await page.locator("body").textContent(), /Failed to fetch/);
});

test("addresses and targets are copied", async () => {
  const page = await open(`${LOAD}&from=-6h`);
  await page.getByRole("button", { name: "Copy Render URL" }).click();
  await page.locator("#toast.shown").waitFor();
  const copied = new URL(await clipboard(page));
  assert.equal(copied.origin, new URL(page.url()).origin);
  const answer = await (await fetch(copied)).json();
  assert.equal(answer[0].target, "servers.web1.cpu.load");
  await page.getByRole("button", { name: "Copy Grafana target" }).click();
  await page.waitForFunction(() => document.getElementById("toast").textContent.startsWith("Grafana"));
  assert.equal(await clipboard(page), "servers.web1.cpu.load");
  await page.getByRole("button", { name: "Copy Picture" }).click();
  await page.waitForFunction(() => document.getElementById("toast").textContent.startsWith("Picture"));
  const picture = await fetch(await clipboard(page));
  assert.equal(picture.headers.get("content-type"), "image/png");
  // A body that nobody reads would keep Node alive for more than a minute.
  await picture.arrayBuffer();
});

test("a metric's retention, rule, points and bytes are told", async () => {
  const page = await open(LOAD);
  const card = page.locator("#metric");
  await card.getByText("servers.web1.cpu.load").waitFor();
  assert.deepEqual(await card.locator(".stages strong").allTextContents(), [
    "every 10 seconds",
    "every minute",
    "every 10 minutes",
  ]);
  const facts = await card.locator("dd").allTextContents();
  assert.match(facts[0], /^servers storage-schemas\.conf:1|^servers .*storage-schemas\.conf/);
  assert.match(facts[1], /^average, xFilesFactor 0\.5$/);
  assert.match(facts[4], /^\d+(\.\d+)? at .* ago$/);
  // Another one by the line's own button.
  await line(page, "app").click();
  await page.getByRole("button", { name: "Remove query A" }).click();
  assert.equal(await card.isVisible(), false);
});

test("health is told in the bar and in numbers", async () => {
  const page = await open();
  const pill = page.locator("#health");
  await page.locator("#health[data-state=well]").waitFor();
  assert.match(await pill.textContent(), /\d+ metrics/);
  await pill.click();
  await page.getByRole("heading", { name: "All is well" }).waitFor();
  assert.match(await page.locator("#health-panel").textContent(), /Kindembedded/);
  await page.route("**/internal/browser/health", (route) => route.abort());
  await page.reload();
  await page.locator("#health[data-state=gone]").waitFor();
});

test("a click lists all functions under the headings of their groups, and nothing is added by accident", async () => {
  const page = await open("#target=servers.web1.cpu.load&refresh=0");
  await drawn(page);
  const field = page.getByLabel("Add a function to query A");
  await field.click();
  await page.locator(".completions .heading:visible").first().waitFor();
  const headings = await page.locator(".completions .heading:visible").allTextContents();
  const known = Object.values(await (await page.request.get(new URL("functions", url).href)).json());
  assert.deepEqual(headings, [...new Set(known.map(({ group }) => group))].sort());
  assert.equal(await page.locator(".completions [role=option]:visible").count(), known.length);
  await page.keyboard.press("Tab");
  assert.deepEqual(shown(page).getAll("target"), ["servers.web1.cpu.load"]);
  await field.click();
  await page.locator(".completions [role=option]:visible", { hasText: /^absolute/ }).click();
  assert.deepEqual(shown(page).getAll("target"), ["absolute(servers.web1.cpu.load)"]);
});

test("the page takes no more memory after an hour of refreshes", async () => {
  const page = await open("#target=servers.*.cpu.*&refresh=0");
  await drawn(page);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const measured = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    const { metrics } = await devtools.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  };
  const refresh = async (times) => {
    for (let i = 0; i < times; i += 1) {
      const answered = page.waitForResponse((answer) => answer.url().includes("/render"));
      await page.keyboard.press("r");
      await answered;
      await page.locator("#plot:not([aria-busy])").waitFor();
    }
    return measured();
  };
  // What is loaded once is there after a few; an hour has 120 refreshes of 30 seconds.
  const early = await refresh(10);
  const late = await refresh(120);
  assert.ok(late.JSHeapUsedSize < early.JSHeapUsedSize * 1.25, `${early.JSHeapUsedSize} became ${late.JSHeapUsedSize} bytes`);
  assert.ok(late.Nodes < early.Nodes * 1.25, `${early.Nodes} became ${late.Nodes} nodes`);
  assert.ok(late.JSEventListeners < early.JSEventListeners * 1.25, `${early.JSEventListeners} became ${late.JSEventListeners} listeners`);
});
