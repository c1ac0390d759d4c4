// A web page as they were made for the original service: tables that bind columns of their rows, and dialogs that send rows back. It
// runs in Node with what a browser would add to its requests.
//
//   node page.mjs URL FOLDER [TOKEN]
import assert from "node:assert/strict";

const [url, folder, token] = process.argv.slice(2);
const headers = { "Content-Type": "application/json;charset=UTF-8", Origin: url, Referer: `${url}/tasks.html`, "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)" };
if (token) headers.Authorization = `Bearer: ${token}`;

async function ask(path, { query = {}, body } = {}) {
  const answer = await fetch(`${url}/ruqi/${path}?${new URLSearchParams(query)}`, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  assert.equal(answer.status, 200, `${path}: ${answer.status} ${answer.headers.get("x-detail")}`);
  assert.equal(answer.headers.get("content-type"), "application/json");
  const { stat, data } = await answer.json();
  return { stat, data, reason: answer.headers.get("x-reason") };
}

async function ok(path, options) {
  const { stat, data, reason } = await ask(path, options);
  assert.equal(stat, "OK", `${path} ${JSON.stringify(options)}: ${stat} ${reason}`);
  return data;
}

// The columns of the older table and of the younger one.
const older = (row) => [row.job_id, row.Job_trigger, row.rule, row.cmd, row.nexttime];
const younger = (row) => [row.job_id, row.job_trigger, row.rule, row.cmd, row.next_run_time];
const clock = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;
const script = `python3 ${folder}/report.py`;

for (let i = 0; i < 17; i++) {
  await ok("job_add", { body: { job_trigger: "interval", job_id: `page ${i} 名`, job_name: i % 2 ? "odd" : "even", cmd: `${script} 'row ${i}'`, rule: "2h" } });
}

// Pages, as the table turns them: it sends the fields of its search form empty.
const first = await ok("job_list", { query: { job_id: "", job_name: "", page_index: 1, page_size: 15 } });
assert.equal(first.total, 17);
assert.deepEqual(first.list.map((row) => row.job_id), Array.from({ length: 15 }, (_, i) => `page ${16 - i} 名`));
const last = await ok("job_list", { query: { job_id: "", job_name: "", page_index: "2", page_size: "15" } });
assert.deepEqual(last.list.map((row) => row.job_id), ["page 1 名", "page 0 名"]);
assert.equal((await ok("job_list", { query: { job_name: "odd", page_index: 1 } })).total, 8);

// Both tables show the same.
for (const row of first.list) {
  assert.deepEqual(older(row), younger(row));
  assert.match(row.nexttime, clock);
  assert.deepEqual(younger(row).slice(1, 3), ["interval", "7200s"]);
}

// A dialog sends back the row it was opened with, whole; nothing changes.
const row = first.list[3];
await ok("job_modify", { body: { ...row, _index: 3, _checked: true } });
assert.deepEqual((await ok("job_show", { query: { job_id: row.job_id } })), row);
await ok("job_modify", { body: { ...row, job_name: "renamed", rule: "3h" } });
const renamed = await ok("job_show", { query: { job_id: row.job_id } });
assert.equal(renamed.job_name, "renamed");
assert.equal(renamed.rule, "10800s");

// The switch of a row.
await ok("job_pause", { body: { job_id: row.job_id } });
const paused = await ok("get_job", { query: { job_id: row.job_id } });
assert.equal(paused.next_run_time, null);
assert.equal(paused.nexttime, "None");
await ok("job_resume", { body: { job_id: row.job_id } });
assert.match((await ok("get_job", { query: { job_id: row.job_id } })).nexttime, clock);

// A message of failure is in a header.
const failed = await ask("job_add", { body: { job_trigger: "cron", job_id: "x", job_name: "x", cmd: script, rule: "* * * * *" } });
assert.deepEqual([failed.stat, failed.reason], ["ERR", "Job_rule not match"]);

// The history, with its filter of three.
await ok("job_add", { body: { job_trigger: "date", job_id: "at once", job_name: "odd", cmd: `${script} <b>名</b>`, rule: "now" } });
let history;
for (let i = 0; i < 600; i++) {
  history = await ok("job_history_list", { query: { job_id: "at once", job_name: "", is_success: "", page_index: 1, page_size: 15 } });
  if (history.total > 0) break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
assert.equal(history.list.length, 1);
assert.equal(history.list[0].cmd_output, "report: <b>名</b>\n");
assert.equal(history.list[0].cmd_is_success, true);
assert.equal((await ok("job_history_list", { query: { job_id: "at once", is_success: "no", page_index: 1 } })).total, 0);
assert.equal((await ok("job_history_list", { query: { job_id: "at once", is_success: "yes", page_index: 1 } })).total, 1);

for (const { job_id } of (await ok("job_list")).list) await ok("job_remove", { body: { job_id } });
assert.equal((await ok("job_list")).total, 0);

// A page of another site gets nothing without the token.
if (!token) {
  for (const headers of [{ Origin: "http://evil.example" }, { "Sec-Fetch-Site": "cross-site" }, { Origin: "null" }]) {
    const answer = await fetch(`${url}/ruqi/job_list`, { method: "POST", headers });
    assert.equal(answer.status, 403);
    assert.deepEqual(await answer.json(), { stat: "ERR" });
  }
}
console.log("done");
