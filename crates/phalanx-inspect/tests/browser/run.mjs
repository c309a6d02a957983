// The page in chromium: `.ci/browser` runs this. Each case opens a page of its own.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = process.env.PHALANX_BROWSER_FOLDER;
const require = createRequire(join(folder, "index.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(join(folder, "node_modules/axe-core/axe.min.js"), "utf8");
const shots = process.env.PHALANX_SHOTS;
const only = process.env.PHALANX_ONLY;
mkdirSync(shots, { recursive: true });

const programs = [];
/** Starts the example, and returns the address that it prints. */
function start(...args) {
  const program = spawn(process.env.PHALANX_LIVE, ["--address", "127.0.0.1:0", "--frames", "100000000", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  programs.push(program);
  return new Promise((resolve, reject) => {
    let text = "";
    program.stderr.on("data", (data) => {
      text += data;
      const found = /http:\/\/(127\.0\.0\.1:\d+)\/#key=([0-9a-f]{32})/.exec(text);
      if (found) resolve({ url: found[0], host: found[1], key: found[2] });
    });
    program.on("exit", () => reject(new Error(`the program has ended: ${text}`)));
  });
}

const profile = mkdtempSync(join(tmpdir(), "phalanx-browser-"));
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
  "--host-resolver-rules=MAP rebound.example 127.0.0.1"];
const browser = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM, args: flags, viewport: { width: 1280, height: 800 } });

let failed = 0;
const faults = [];
async function test(name, run) {
  if (only && !name.includes(only)) return;
  const page = await browser.newPage();
  page.setDefaultTimeout(15000);
  page.on("pageerror", (error) => faults.push(`${name}: ${error.message}`));
  page.on("console", (message) => { if (message.type() === "error" && !name.endsWith("gets nothing") && !/status of (4|5)|ERR_/.test(message.text())) faults.push(`${name}: ${message.text()}`); });
  try {
    await run(page);
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
    await page.screenshot({ path: join(folder, `failed-${failed}.png`) }).catch(() => {});
  }
  await page.close();
}
function assert(condition, text) {
  if (!condition) throw new Error(text);
}
async function until(text, check) {
  const end = Date.now() + 15000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`in vain: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const cells = (page) => page.$$eval(".grid-line:not([hidden])", (lines) => lines.map((line) => [Number(line.getAttribute("aria-rowindex")) - 2, ...[...line.children].map((cell) => cell.textContent)]));
const query = async (page, text) => { await page.fill("#query", text); await page.press("#query", "Escape"); await page.press("#query", "Enter"); };
const summary = (page) => page.textContent(".summary");

const small = await start("--entities", "2000");
const large = await start("--entities", "1000000");
const fixed = await start("--entities", "50", "--read-only");

await test("the first rows are there soon, and the key is not in the address", async (page) => {
  const before = Date.now();
  await page.goto(large.url);
  await page.waitForSelector(".grid-line .entity");
  await until("rows", async () => (await cells(page)).some((row) => /^\d+v\d+$/.test(row[1])));
  console.log(`        ${Date.now() - before} ms until the first rows of a million`);
  assert(!page.url().includes(large.key), "the key is still in the address");
});

await test("the last of a million rows is reached by keyboard, scroll bar and wheel", async (page) => {
  await page.goto(large.url);
  await until("a million", async () => /1,000,000 entities/.test(await summary(page)));
  await page.focus(".grid");
  await page.keyboard.press("End");
  const last = await until("the last row", async () => (await cells(page)).find((row) => row[0] === 999999 && /v\d/.test(row[1])));
  assert(await page.$eval(".grid-line.active", (line) => line.getAttribute("aria-rowindex") === "1000001"), "the last row is active");
  await page.keyboard.press("Home");
  await until("the first row", async () => (await cells(page)).some((row) => row[0] === 0));
  await page.$eval(".grid", (grid) => { grid.scrollTop = grid.scrollHeight; });
  await until("the last row by the scroll bar", async () => (await cells(page)).some((row) => row[0] === 999999 && row[1] === last[1]));
  await page.hover(".grid");
  await page.mouse.wheel(0, -2600);
  await until("100 rows up by the wheel", async () => { const rows = await cells(page); return rows[0][0] < 999900 && rows[0][0] > 999800 && /v\d/.test(rows[0][1]); });
  await page.$eval(".grid", (grid) => { grid.scrollTop = grid.scrollHeight / 2; });
  await until("the middle", async () => { const rows = await cells(page); return Math.abs(rows[0][0] - 500000) < 20000 && /v\d/.test(rows[0][1]); });
  const longest = await page.evaluate(async () => {
    let most = 0;
    const seen = new PerformanceObserver((list) => list.getEntries().forEach((entry) => { most = Math.max(most, entry.duration); }));
    seen.observe({ type: "longtask" });
    const grid = document.querySelector(".grid");
    for (let at = 0; at < 60; at++) {
      grid.scrollTop = (grid.scrollHeight * at) / 60;
      await new Promise(requestAnimationFrame);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    return most;
  });
  console.log(`        longest task while scrolling: ${longest || "below 50"} ms`);
});

await test("a filter finds rows by value, with their number", async (page) => {
  await page.goto(large.url);
  await query(page, "Health.hp < 10, Team.colour = red");
  await until("the number", async () => /^[\d,]+ entities/.test(await summary(page)) && !/^1,000,000/.test(await summary(page)));
  const rows = (await until("rows", async () => { const rows = await cells(page); return rows.length > 5 && rows[3][3] ? rows : null; })).filter((row) => row[1] !== "…");
  assert(rows.every((row) => Number(row[3]) < 10 && row[4] === "Red"), JSON.stringify(rows[0]));
  await query(page, "Helth.hp < 10");
  await until("the error", async () => /Health/.test(await page.textContent(".query-error")));
  await page.click(".query-error button");
  await until("no error", async () => page.$eval(".query-error", (error) => error.hidden));
  await query(page, "");
  await page.fill("#query", "Vel");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert((await page.inputValue("#query")) === "Velocity", "the name is completed");
});

await test("a column sorts, and a list has chosen columns", async (page) => {
  await page.goto(small.url);
  await query(page, "Health, Health.hp");
  await page.click(".grid-head button >> text=Health.hp");
  await until("ascending", async () => { const rows = await cells(page); return rows.length > 5 && rows.slice(0, 5).every((row) => row[4] === "1"); });
  await page.click(".grid-head button >> text=Health.hp");
  await until("descending", async () => { const rows = await cells(page); return rows.length > 5 && Number(rows[0][4]) >= Number(rows[4][4]) && Number(rows[0][4]) > 90; });
  await page.click(".chooser summary");
  await page.check(".chooser label:has-text('Velocity.x') input");
  await until("the column", async () => /Velocity\.x/.test(await page.textContent(".grid-head")));
});

await test("a field is edited, and the edit taken back", async (page) => {
  await page.goto(small.url);
  await query(page, "Health.hp, !Velocity");
  await until("rows", async () => (await cells(page)).some((row) => row[2] === "ann"));
  const entity = (await cells(page)).find((row) => row[2] === "ann")[1];
  await page.click(`.grid-line .entity >> text="${entity}"`);
  const field = page.locator('input[aria-label="Health.hp"]');
  await field.fill("4711");
  await field.press("Enter");
  await until("the new value", async () => (await cells(page)).some((row) => row[1] === entity && row[3] === "4711"));
  await field.fill("-1");
  await field.press("Enter");
  await page.waitForSelector(".toast.bad");
  await field.press("Escape");
  await page.locator("#top button", { hasText: "Undo" }).click();
  await until("the old value", async () => (await cells(page)).some((row) => row[1] === entity && row[3] === "90"));
  // The route is not plain, and says so.
  assert(/Read-only: not/.test(await page.textContent(".side")), "a reason is given");
  // Markup in values is text.
  await query(page, "Title ~ \"smith\"");
  await until("bob", async () => (await cells(page)).some((row) => row.join().includes("Smith <forge>")));
});

await test("a program is paused, stepped and resumed", async (page) => {
  await page.goto(small.url + "");
  await page.waitForSelector(".grid-line");
  const frame = async () => Number(/frame ([\d,]+)/.exec(await page.textContent(".figures-top"))[1].replaceAll(",", ""));
  await page.keyboard.press("Escape");
  await page.focus(".grid");
  await page.keyboard.press("p");
  await until("paused", async () => (await page.textContent("#top")).includes("Resume"));
  await page.waitForTimeout(300);
  const held = await frame();
  await page.waitForTimeout(400);
  assert((await frame()) === held, "frames are still made");
  await page.keyboard.press("n");
  await until("one more", async () => (await frame()) === held + 1);
  await page.keyboard.press("p");
  await until("running", async () => (await frame()) > held + 5);
});

await test("earlier frames are looked at, compared and returned to", async (page) => {
  await page.goto(small.url);
  await page.waitForSelector(".grid-line");
  await page.click("#nav >> text=Time");
  await until("frames", async () => Number(await page.getAttribute("#scrub", "max")) > Number(await page.getAttribute("#scrub", "min")) + 60);
  await page.locator("button", { hasText: "Pause" }).first().click();
  await until("paused", async () => (await page.textContent("#top")).includes("Resume"));
  await page.focus("#scrub");
  for (let at = 0; at < 30; at++) await page.keyboard.press("ArrowLeft");
  await until("30 frames back", async () => /, 30 frames back/.test(await page.textContent("output")));
  await page.click("#nav >> text=Entities");
  await query(page, "Velocity, Position.x sort Position.x desc");
  await until("rows of the past", async () => (await cells(page)).length > 5);
  assert(/Looking at frame/.test(await page.textContent("#top")), "the page says so");
  const past = (await cells(page))[0];
  await page.locator("#top button", { hasText: "Back to now" }).click();
  await until("other values", async () => { const now = (await cells(page))[0]; return now && (now[1] !== past[1] || now[4] !== past[4]); });
  await page.click("#nav >> text=Compare");
  await page.waitForSelector(".compare select option:nth-child(2)", { state: "attached" });
  await page.locator("main button", { hasText: /^Compare$/ }).click();
  await until("differences", async () => /changed/.test(await page.textContent("main .figures")));
  await page.click("#nav >> text=Time");
  await page.focus("#scrub");
  for (let at = 0; at < 10; at++) await page.keyboard.press("ArrowLeft");
  await until("back", async () => /\d frames? back/.test(await page.textContent("output")));
  const chosen = await page.inputValue("#scrub");
  await page.locator("button", { hasText: "Return the world" }).click();
  await page.locator("dialog button", { hasText: "Return" }).click();
  await until("the frame", async () => (await page.textContent(".figures-top")).replaceAll(",", "").includes(`frame ${chosen} `));
  await page.locator("#top button", { hasText: "Resume" }).click();
});

await test("two snapshots are loaded and compared, or none of them", async (page) => {
  await page.goto(small.url);
  await page.waitForSelector(".grid-line");
  const snapshot = async () => {
    const answer = await fetch(`http://${small.host}/api/1/snapshot`, { headers: { Authorization: `Bearer ${small.key}` } });
    assert(answer.status === 200, `the status is ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const copies = async () => (await (await fetch(`http://${small.host}/api/1/world`, { headers: { Authorization: `Bearer ${small.key}` } })).json()).copies;
  const first = await snapshot();
  await page.waitForTimeout(300);
  const second = await snapshot();
  await page.click("#nav >> text=Compare");
  const file = (name, buffer) => ({ name, mimeType: "application/octet-stream", buffer });
  const picker = page.locator("input[type=file]");
  await until("the files", () => picker.isVisible());
  // One of them is broken: none is loaded.
  await picker.setInputFiles([file("first.phx", first), file("broken.phx", second.subarray(0, second.length / 2))]);
  await until("the error", async () => /broken\.phx/.test((await page.textContent(".toast.bad")) || ""));
  await until("no copies", async () => (await copies()).length === 0);
  await picker.setInputFiles([file("<b>first</b>.phx", first), file("second.phx", second)]);
  await until("differences", async () => /changed/.test(await page.textContent("main .figures").catch(() => "")));
  assert((await copies()).length === 2, "both are copies");
  const chosen = await page.$$eval(".compare select", (lists) => lists.map((list) => list.selectedOptions[0].textContent));
  assert(chosen[0].endsWith("<b>first</b>.phx") && chosen[1].endsWith("second.phx"), chosen.join());
  assert(/Position/.test(await page.textContent("main")), "the components are named");
  assert(/^Between copy \d+ and copy \d+:/.test(await page.textContent("main .figures")), "the moments are named");
  const found = await serious(page);
  assert(found.length === 0, found.join("\n"));
  while ((await copies()).length) {
    const left = (await copies()).length;
    await page.locator("main button", { hasText: "Forget" }).first().click();
    await until("one less", async () => (await copies()).length < left);
  }
});

await test("everything is reached by keyboard", async (page) => {
  await page.goto(small.url);
  await page.waitForSelector(".grid-line .entity");
  await page.keyboard.press("/");
  await until("the query", () => page.evaluate(() => document.activeElement.id === "query"));
  await page.keyboard.type("Title, Health.hp");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await until("rows", async () => (await cells(page)).some((row) => row[2] === "ann"));
  for (let at = 0; at < 6 && !(await page.evaluate(() => document.activeElement.matches(".grid"))); at++) await page.keyboard.press("Tab");
  assert(await page.evaluate(() => document.activeElement.matches(".grid")), "Tab leads to the grid");
  await page.keyboard.press("ArrowDown");
  for (let at = 0; at < 3; at++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("e");
  await page.keyboard.type("77");
  await page.keyboard.press("Enter");
  await until("the value", async () => (await cells(page)).some((row) => row[4] === "77"));
  assert(await page.evaluate(() => document.activeElement.matches(".grid")), "the focus is in the grid again");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".side h2");
  await page.keyboard.press("u");
  await until("the old value", async () => !(await cells(page)).some((row) => row[4] === "77"));
  for (const [key, title] of [["2", "Tables and sparse stores"], ["3", "Components"], ["4", "Resources"], ["5", "Groups"], ["6", "Systems"], ["7", "Time"], ["8", "Compare"], ["9", "Charts"]]) {
    await page.keyboard.press(key);
    await until(title, async () => (await page.textContent("h1")) === title);
  }
});

async function serious(page) {
  // The policy of the page allows no foreign script, so that the checker is put in by the debugger.
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.filter((found) => ["serious", "critical"].includes(found.impact)).map((found) => `${found.id}: ${found.nodes.map((node) => node.target).slice(0, 3).join(" ")} ${found.nodes[0].failureSummary.split("\n")[1] || ""}`);
}

for (const theme of ["light", "dark"]) {
  await test(`nothing serious is found in any page, ${theme}`, async (page) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(small.url);
    await page.waitForSelector(".grid-line .entity");
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert((dark === "rgb(18, 21, 27)") === (theme === "dark"), `the background is ${dark}`);
    const problems = [];
    for (const name of ["entities", "tables", "components", "resources", "groups", "systems", "time", "compare", "charts"]) {
      await page.evaluate((name) => { location.hash = `#/${name}`; }, name);
      await page.waitForTimeout(500);
      if (name === "entities") {
        await query(page, "Title, Health.hp, Position, ?Burning");
        await until("rows", async () => (await cells(page)).some((row) => row[2] === "ann"));
        await page.click(".grid-line .entity");
        await page.waitForSelector(".side dl");
        await page.waitForTimeout(300);
      }
      if (name === "time") {
        await page.focus("#scrub");
        for (let at = 0; at < 30; at++) await page.keyboard.press("ArrowLeft");
      }
      if (name === "compare") {
        await page.locator("main button", { hasText: /^Compare$/ }).click();
        await until("differences", async () => /changed/.test(await page.textContent("main .figures")));
        await page.locator("#top button", { hasText: "Back to now" }).click();
      }
      problems.push(...(await serious(page)).map((text) => `${name}: ${text}`));
      if (theme === "light" && !["resources", "groups", "systems"].includes(name)) await page.screenshot({ path: join(shots, `${name}.png`) });
      if (theme === "dark" && name === "entities") await page.screenshot({ path: join(shots, "entities-dark.png") });
    }
    assert(problems.length === 0, problems.join("\n"));
  });
}

await test("the page is usable at a width of 320", async (page) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(small.url);
  await page.waitForSelector(".grid-line .entity");
  for (const name of ["entities", "tables", "components", "time", "compare", "charts"]) {
    await page.evaluate((name) => { location.hash = `#/${name}`; }, name);
    await page.waitForTimeout(400);
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth]);
    assert(wide[0] <= 320 && wide[1] <= 0, `${name} is ${wide}`);
    if (name === "entities") {
      await page.click(".grid-line .entity");
      await page.waitForSelector(".side dl");
      await page.screenshot({ path: join(shots, "narrow.png") });
      await page.click("button[aria-label=Close]");
      await page.waitForSelector(".grid-line .entity");
    }
  }
});

await test("a read-only inspector offers no edits", async (page) => {
  await page.goto(fixed.url);
  await page.waitForSelector(".grid-line .entity");
  await page.click(".grid-line .entity");
  await page.waitForSelector(".side dl");
  assert((await page.locator(".side input, .side .danger").count()) === 0, "there are fields to edit");
  const status = await page.evaluate(async (key) => (await fetch("/api/1/undo", { method: "POST", headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" }, body: "{}" })).status, fixed.key);
  assert(status === 403, `the status is ${status}`);
});

await test("a page of another origin gets nothing", async (page) => {
  const other = createServer((request, response) => { response.setHeader("content-type", "text/html"); response.end("<!doctype html><title>other</title>"); });
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  await page.goto(`http://127.0.0.1:${other.address().port}/`);
  const got = await page.evaluate(async ([host, key]) => {
    const tries = [
      () => fetch(`http://${host}/api/1/world`, { headers: { Authorization: `Bearer ${key}` } }).then((answer) => answer.text()),
      () => fetch(`http://${host}/api/1/world`).then((answer) => answer.text()),
      () => fetch(`http://${host}/`).then((answer) => answer.text()),
      () => fetch(`http://${host}/api/1/pause`, { method: "POST", mode: "no-cors", body: "{}" }).then((answer) => (answer.type === "opaque" ? Promise.reject() : answer.text())),
      () => new Promise((resolve, reject) => { const script = document.createElement("script"); script.src = `http://${host}/main.js`; script.onload = resolve; script.onerror = reject; document.head.append(script); }),
      () => new Promise((resolve, reject) => { const image = new Image(); image.src = `http://${host}/icon.svg`; image.onload = resolve; image.onerror = reject; }),
    ];
    const results = [];
    for (const attempt of tries) results.push(await attempt().then(() => "got", () => "refused"));
    return results;
  }, [small.host, small.key]);
  assert(got.every((one) => one === "refused"), got.join());
  const frame = await page.evaluate((host) => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.onload = () => { try { resolve(frame.contentDocument ? "readable" : "closed"); } catch { resolve("closed"); } };
    frame.src = `http://${host}/`;
    document.body.append(frame);
  }), small.host);
  assert(frame === "closed", frame);
  const world = await (await fetch(`http://${small.host}/api/1/world`, { headers: { Authorization: `Bearer ${small.key}` } })).json();
  assert(!world.paused, "the program was paused from another page");
  other.close();
});

await test("a host name that is rebound gets nothing", async (page) => {
  const port = small.host.split(":")[1];
  const answer = await page.goto(`http://rebound.example:${port}/`);
  assert(answer.status() === 403, `the status is ${answer.status()}`);
  const status = await page.evaluate(async (key) => (await fetch("/api/1/world", { headers: { Authorization: `Bearer ${key}` } })).status, small.key);
  assert(status === 403, `the status is ${status}`);
});

await browser.close();
rmSync(profile, { recursive: true, force: true });
programs.forEach((program) => { program.removeAllListeners("exit"); program.kill(); });
faults.forEach((fault) => console.log(`error in the page: ${fault}`));
console.log(failed || faults.length ? `${failed} failed, ${faults.length} errors in pages` : "all passed");
process.exit(failed || faults.length ? 1 : 0);
