"""A script as they were written for the original service: it knows /ruqi, and nothing of what stands behind it.

    client.py URL FOLDER [TOKEN]

It ends with 0 and "done" when all is as it was there.
"""

import http.server
import json
import re
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

url, folder = sys.argv[1], sys.argv[2]
token = sys.argv[3] if len(sys.argv) > 3 else ""
received = []


class Target(http.server.BaseHTTPRequestHandler):
    """What http commands are sent to."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received.append((self.path, json.loads(body)))
        answer = b'{"stat": "OK"}' if self.path.startswith("/ok") else b"<html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def call(path, query=None, body=None, method=None):
    """One request, as requests.get and requests.post send it."""
    address = url + "/ruqi/" + path
    if query:
        address += "?" + urllib.parse.urlencode(query)
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, method=method)
    if token:
        request.add_header("Authorization", "Bearer: " + token)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read()), response.headers
    except urllib.error.HTTPError as error:
        text = error.read()
        return (json.loads(text) if text else None), error.headers


def ok(path, query=None, body=None):
    answer, headers = call(path, query, body)
    assert answer["stat"] == "OK", (path, query, body, answer, headers["x-reason"], headers["x-detail"])
    return answer.get("data")


def refused(stat, reason, path, query=None, body=None):
    answer, headers = call(path, query, body)
    assert answer["stat"] == stat and headers["x-reason"] == reason, (path, body, answer, headers["x-reason"], headers["x-detail"])


def eventually(what, so):
    for _ in range(600):
        got = so()
        if got:
            return got
        time.sleep(0.05)
    raise AssertionError(what)


def job(trigger, job_id, cmd, rule, name="old"):
    return {"job_trigger": trigger, "job_id": job_id, "job_name": name, "cmd": cmd, "rule": rule}


clock = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
script = "python3 " + folder + "/report.py"

target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
threading.Thread(target=target.serve_forever, daemon=True).start()
hook = "http://127.0.0.1:%d" % target.server_address[1]

# Nothing is there.
assert ok("get_jobs") == {"total": 0, "list": []}
assert ok("get_history") == {"total": 0, "list": []}
assert ok("status") == {"wait_seconds": None, "check_time": None, "next_wakeup_time": None}

# A job of each kind, by both generations of names.
ok("add_job", body=job("cron", "report/daily", script + ' --day "of the week"', "0 30 2 * * 0-4"))
ok("job_add", body=job("interval", "often", script + " often", "1s"))
ok("add_job", body=job("date", "once", script + " once", "2099-01-02T03:04:05", name="other"))
listed = ok("get_jobs")
assert listed["total"] == 3 and [row["job_id"] for row in listed["list"]] == ["once", "often", "report/daily"], listed
assert ok("job_list", {"page_index": 2, "page_size": "2"})["list"] == listed["list"][2:]
assert [row["job_id"] for row in ok("get_jobs", {"job_name": "other"})["list"]] == ["once"]
daily = ok("get_job", {"job_id": "report/daily"})
assert daily["rule"] == "0 30 2 * * mon-fri" and daily["cmd"] == script + ' --day "of the week"', daily
assert daily["next_run_time"].endswith(" 02:30:00") and clock.fullmatch(daily["c_time"]), daily
assert ok("job_show", {"job_id": "once"})["next_run_time"] == "2099-01-02 03:04:05"

# What runs leaves its history.
rows = eventually("often has run twice", lambda: (lambda d: d["list"] if d["total"] >= 2 else None)(ok("get_history", {"job_id": "often"})))
row = rows[0]
assert row["id"] > rows[1]["id"] and row["cmd_is_success"] is True and row["cmd_output"] == "report: often\n", row
assert isinstance(row["cmd_cost"], float) and 0 < row["cmd_cost"] < 30 and clock.fullmatch(row["c_time"]), row
assert re.fullmatch(r"[^:]+:\d+:\d+", row["scheduler_name"]) and row["scheduler_name"].split(":")[1] == url.rsplit(":", 1)[1], row
status = ok("status")
assert 0 <= status["wait_seconds"] <= 1.5 and clock.fullmatch(status["check_time"]) and clock.fullmatch(status["next_wakeup_time"]), status
ok("wakeup", body={})

# Pause, change while paused, resume.
ok("pause_job", body={"job_id": "often"})
paused = ok("get_job", {"job_id": "often"})
assert paused["next_run_time"] is None, paused
ok("modify_job", body=job("interval", "often", script + " fails", "2s"))
assert ok("get_job", {"job_id": "often"})["next_run_time"] is None
ok("job_resume", body={"job_id": "often"})
failed = eventually("often fails", lambda: ok("job_history_list", {"job_id": "often", "is_success": "no"})["list"])[0]
assert failed["cmd"] == script + " fails" and failed["cmd_is_success"] is False and failed["cmd_output"].startswith("report: fails\n"), failed
ok("job_remove", body={"job_id": "often"})
refused("ERR", "job not found", "get_job", {"job_id": "often"})
assert ok("get_history", {"job_id": "often"})["total"] >= 3

# A date fires and is gone.
ok("add_job", body=job("date", "now", script + " now", "now"))
done = eventually("the date has fired", lambda: ok("get_history", {"job_id": "now"})["list"])[0]
assert done["cmd"] == script + " now" and done["cmd_output"] == "report: now\n", done
eventually("its job is gone", lambda: ok("get_jobs", {"job_id": "now"})["total"] == 0)

# http commands.
ok("add_job", body=job("date", "hook", hook + '/ok?a=b#{"day": "monday", "n": 1.50}', "now"))
ok("add_job", body=job("date", "bare", hook + "/ok/bare", "now"))
ok("add_job", body=job("date", "odd", hook + "/odd#{}", "now"))
for name, success in ("hook", True), ("bare", True), ("odd", False):
    row = eventually(name + " is sent", lambda: ok("get_history", {"job_id": name})["list"])[0]
    assert row["cmd_is_success"] is success, row
    assert name != "hook" or row["cmd"] == hook + '/ok?a=b#{"day": "monday", "n": 1.50}', row
assert sorted(received, key=lambda r: r[0]) == [("/odd", {}), ("/ok/bare", {}), ("/ok?a=b", {"day": "monday", "n": 1.5})], received

# What is refused, and how that is said.
refused("ERR", "Job_trigger not in jobs_map", "add_job", body=job("every", "x", script, "5m"))
refused("ERR", "Job_rule not match", "add_job", body=job("interval", "x", script, "5M"))
refused("ERR", "(scripts) Cmd does not meet expectations", "add_job", body=job("interval", "x", "ls /", "5m"))
refused("ERR", "topic commands are not configured", "add_job", body=job("interval", "x", "/topic#{}#1", "5m"))
refused("ERR_BAD_PARAMS", "Param check failed", "add_job", body={"job_id": "x"})
refused("ERR_BAD_PARAMS", "Param check failed", "get_jobs", {"page_index": "one"})
answer, headers = call("no_such_call")
assert answer is None and headers["x-reason"] == "API Not Found", (answer, headers)
answer, headers = call("remove_job", {"job_id": "once"}, method="GET")
assert answer == {"stat": "ERR"} and headers["x-reqid"] and headers["x-cost"], answer

for row in ok("job_list")["list"]:
    ok("remove_job", body={"job_id": row["job_id"]})
assert ok("get_jobs")["total"] == 0
target.shutdown()
print("done")
