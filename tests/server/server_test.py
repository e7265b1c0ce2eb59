#!/usr/bin/env python3
"""`muster serve` as its users see it: the real program, HTTP, processes that really run.

Usage: server_test.py MUSTER [unittest arguments]
"""
import http.client
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
import unittest

from muster_server import Server

BINARY = ""
HERE = "clusters:\n- {name: here, type: local, slots: 4, cpu: 64, memory: 64Gi}\n"
QUEUES = "queues:\n- {name: default}\n- {name: other}\n"


class OneServer(unittest.TestCase):
    """One server for all of its tests: they use jobs of their own."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(BINARY, HERE + QUEUES).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def error(self, status, method, path, body=None, **kw):
        got, answer, headers = self.server.api(method, path, body, **kw)
        self.assertEqual(got, status, answer)
        error = answer["error"]
        self.assertTrue(error["message"])
        self.assertEqual(error["request_id"], headers["X-Request-Id"])
        return error

    def events(self, path):
        status, text, _ = self.server.api("GET", path)
        self.assertEqual(status, 200, text)
        events = []
        for block in text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "data" in fields:
                events.append((fields.get("event"), fields.get("id"), json.loads(fields["data"])))
        return events

    # ---- the way of a job

    def test_a_command_runs_and_its_output_and_exit_code_are_kept(self):
        job = self.server.submit("echo hello; echo wrong >&2; exit 3", name="greet")
        row = self.server.wait_final(job)
        self.assertEqual((row["state"], row["exit_code"]), ("Failed", 3))
        self.assertEqual((row["name"], row["queue"], row["cluster"], row["attempt"]),
                         ("greet", "default", "here", 1))
        self.assertIn("exit 3", row["document"]["command"])
        status, page, _ = self.server.api("GET", f"/jobs/{job}/logs")
        self.assertEqual(status, 200)
        self.assertEqual({(line["stream"], line["text"]) for line in page["lines"]},
                         {("out", "hello\n"), ("err", "wrong\n")})

    def test_a_followed_log_ends_with_the_exit_code(self):
        job = self.server.submit("for i in 1 2 3; do echo line $i; sleep 0.1; done; exit 7")
        events = self.events(f"/jobs/{job}/logs?follow=true")
        self.assertEqual([e[2]["text"] for e in events if e[0] == "line"],
                         ["line 1\n", "line 2\n", "line 3\n"])
        kind, _, end = events[-1]
        self.assertEqual((kind, end["state"], end["exit_code"]), ("end", "Failed", 7))

    def test_tail_and_search_choose_lines(self):
        job = self.server.submit("for i in 1 2 3 4 5; do echo n$i; done")
        self.server.wait_final(job)
        logs = lambda query: [line["text"] for line in self.server.api(
            "GET", f"/jobs/{job}/logs?{query}")[1]["lines"]]
        self.assertEqual(logs("tail=2"), ["n4\n", "n5\n"])
        self.assertEqual(logs("search=n3"), ["n3\n"])
        self.assertEqual(len(logs("")), 5)
        self.error(400, "GET", f"/jobs/{job}/logs?tail=x")

    def test_a_tail_longer_than_a_page_comes_in_several(self):
        job = self.server.submit("seq 3000")
        self.server.wait_final(job)
        page = self.server.api("GET", f"/jobs/{job}/logs?tail=2500")[1]
        lines = page["lines"]
        self.assertEqual((len(lines), lines[0]["text"], page["end"]), (1000, "501\n", False))
        while not page["end"]:
            page = self.server.api("GET", f"/jobs/{job}/logs?from={page['next']}")[1]
            lines += page["lines"]
        self.assertEqual((len(lines), lines[-1]["text"]), (2500, "3000\n"))
        followed = self.events(f"/jobs/{job}/logs?follow=true&tail=2500")
        self.assertEqual(sum(e[0] == "line" for e in followed), 2500)
        self.assertEqual(self.server.api("GET", f"/jobs/{job}/logs?tail=1000000")[0], 200)

    def test_the_audit_is_asked_for_who_what_and_when(self):
        job = self.server.submit("true", held=True)
        self.server.api("POST", f"/jobs/{job}/cancel")

        def verbs(query):
            return [row["verb"] for row in self.server.api("GET", "/audit?" + query)[1]["rows"]]
        self.assertEqual(verbs(f"object={job}"), ["cancel", "submit"])
        self.assertEqual(verbs(f"object={job}&verb=submit"), ["submit"])
        self.assertEqual(verbs(f"object={job}&user=nobody"), [])
        row = self.server.api("GET", f"/audit?object={job}&verb=cancel")[1]["rows"][0]
        self.assertEqual(verbs(f"object={job}&since_ms={row['at_ms'] + 1}"), [])
        self.assertIn("cancel", verbs(f"user={row['user']}&since_ms={row['at_ms']}"))
        self.assertNotIn("cancel", verbs(f"object={job}&until_ms={row['at_ms']}"))
        self.error(400, "GET", "/audit?since_ms=yesterday")

    def test_jobs_are_found_by_their_labels(self):
        first = self.server.submit("true", labels={"team": "vision", "run": "a=1 &"})
        second = self.server.submit("true", labels={"team": "vision"}, held=True)
        self.server.submit("true", labels={"team": "speech"})
        self.assertEqual(self.server.job(first)["labels"], {"team": "vision", "run": "a=1 &"})

        def found(query):
            return [row["id"] for row in self.server.api("GET", "/jobs?" + query)[1]["jobs"]]
        self.assertEqual(found("label=team=vision"), [second, first])
        self.assertEqual(found("label=team%3Dvision&label=run%3Da%3D1%20%26"), [first])
        self.assertEqual(found("label=team=vision&state=held"), [second])
        self.assertEqual(found("label=team=nobody"), [])
        rows = self.server.api("GET", "/jobs?label=team=vision")[1]["jobs"]
        self.assertEqual(rows[0]["labels"], {"team": "vision"})
        self.assertIn("key=value", self.error(400, "GET", "/jobs?label=team")["message"])
        self.error(400, "GET", "/jobs?label=team=a&label=team=b")

    def test_the_events_of_a_job_have_rising_numbers_and_resume(self):
        job = self.server.submit("sleep 0.5")  # one that ends at once is not seen running
        first = self.server.job(job)["sequence"]
        self.server.wait_final(job)
        events = self.events(f"/events?from={first}&job={job}&follow=false")
        self.assertEqual([e[0] for e in events], ["submitted", "placed", "started", "finished"])
        numbers = [int(e[1]) for e in events]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual(events[-1][2]["state"], "Succeeded")
        status, text, _ = self.server.api("GET", f"/events?job={job}&follow=false",
                                          headers={"Last-Event-ID": str(numbers[1])})
        self.assertEqual(status, 200)
        self.assertIn("event: started", text)
        self.assertNotIn("event: placed", text)
        error = self.error(400, "GET", "/events?kind=finishd")
        self.assertIn("did you mean finished?", error["message"])

    def test_pods_have_the_limit_of_open_files_that_the_server_was_started_with(self):
        job = self.server.submit("ulimit -Sn")
        self.server.wait_final(job)
        lines = self.server.api("GET", f"/jobs/{job}/logs")[1]["lines"]
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.assertEqual(lines[0]["text"], f"{soft}\n")

    def test_a_gang_of_two_knows_its_ranks(self):
        job = self.server.submit("echo rank $RANK of $WORLD_SIZE", pods=2)
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")
        lines = self.server.api("GET", f"/jobs/{job}/logs")[1]["lines"]
        self.assertEqual(sorted(line["text"] for line in lines),
                         ["rank 0 of 2\n", "rank 1 of 2\n"])

    # ---- what people ask

    def test_a_running_job_is_cancelled(self):
        job = self.server.submit("sleep 600")
        while self.server.job(job)["state"] != "Running":
            time.sleep(0.02)
        status, row, _ = self.server.api("POST", f"/jobs/{job}/cancel")
        self.assertEqual(status, 200)
        self.assertIn(row["state"], ("Stopping", "Cancelled"))  # as fast as it stops
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")
        status, row, _ = self.server.api("POST", f"/jobs/{job}/cancel")
        self.assertEqual((status, row["state"]), (200, "Cancelled"), "again changes nothing")

    def test_hold_release_priority_and_queue(self):
        job = self.server.submit("true", held=True)
        self.assertEqual(self.server.job(job)["state"], "Held")
        status, row, _ = self.server.api("PATCH", f"/jobs/{job}", {"priority": 7, "queue": "other"})
        self.assertEqual((status, row["priority"], row["queue"]), (200, 7, "other"))
        self.assertIn("no queue", self.error(400, "PATCH", f"/jobs/{job}",
                                             {"queue": "nowhere"})["message"])
        self.error(400, "PATCH", f"/jobs/{job}", {"colour": "red"})
        self.assertEqual(self.server.api("POST", f"/jobs/{job}/release")[0], 200)
        self.assertEqual(self.server.wait_final(job)["state"], "Succeeded")
        self.error(409, "POST", f"/jobs/{job}/hold")
        self.error(409, "PATCH", f"/jobs/{job}", {"priority": 1})

    def test_a_running_job_is_held_only_if_it_may_be_stopped_and_starts_over(self):
        job = self.server.submit("echo begins; sleep 600", max_retries=0)
        self.server.wait_state(job, "Running")
        self.assertIn("with stop", self.error(409, "POST", f"/jobs/{job}/hold")["message"])
        self.error(400, "POST", f"/jobs/{job}/hold?stopp=true")
        self.assertEqual(self.server.job(job)["state"], "Running")
        status, row, _ = self.server.api("POST", f"/jobs/{job}/hold?stop=true")
        self.assertEqual(status, 200, row)
        self.assertIn(row["state"], ("Stopping", "Held"))
        self.server.wait_state(job, "Held")
        row = self.server.job(job)
        self.assertEqual((row["why"], row["failures"], row["attempt"]), ("Held", 0, 1))
        self.assertEqual(self.server.api("POST", f"/jobs/{job}/release")[0], 200)
        self.server.wait_state(job, "Running")
        self.assertEqual(self.server.job(job)["attempt"], 2)
        self.server.api("POST", f"/jobs/{job}/cancel")
        self.assertEqual(self.server.wait_final(job)["state"], "Cancelled")

    def test_of_two_jobs_the_one_that_saved_its_work_goes_for_a_more_important_one(self):
        saved = self.server.submit("sleep 600", gpus=2)
        self.server.wait_state(saved, "Running")
        unsaved = self.server.submit("sleep 600", gpus=2)
        self.server.wait_state(unsaved, "Running")
        time.sleep(0.1)
        status, row, _ = self.server.api("POST", f"/jobs/{saved}/checkpoint")
        self.assertEqual((status, row["state"]), (200, "Running"))
        urgent = self.server.submit("true", gpus=2, priority=90)
        self.error(409, "POST", f"/jobs/{urgent}/checkpoint")
        self.assertEqual(self.server.wait_final(urgent)["state"], "Succeeded")
        self.assertEqual(self.server.job(unsaved)["attempt"], 1)
        self.server.wait_state(saved, "Running")
        self.assertEqual(self.server.job(saved)["attempt"], 2)
        events = self.events(f"/events?job={saved}&follow=false&from=1")
        self.assertIn("checkpointed", [kind for kind, _, _ in events])
        for job in (saved, unsaved):
            self.server.api("POST", f"/jobs/{job}/cancel")
            self.server.wait_final(job)

    def test_a_job_says_why_it_waits_and_when_it_may_start(self):
        runs = self.server.submit("sleep 600", gpus=4, run_limit="1h")
        while self.server.job(runs)["state"] != "Running":
            time.sleep(0.02)
        self.assertEqual((self.server.job(runs)["verdict"], len(self.server.job(runs)["nodes"])),
                         (None, 1))
        waits = self.server.submit("true", gpus=1)
        row = self.server.job(waits)
        self.assertEqual((row["state"], row["placement"], row["nodes"]), ("Waiting", None, []))
        self.assertTrue(row["verdict"]["text"], row)
        self.assertGreater(row["estimate"]["expected_ms"], row["submitted_ms"])
        held = self.server.submit("true", held=True)
        self.assertIn("on hold", self.server.job(held)["verdict"]["text"])
        for job in (waits, runs):
            self.server.api("POST", f"/jobs/{job}/cancel")
        row = self.server.wait_final(runs)
        self.assertEqual((row["verdict"], row["estimate"], row["nodes"]), (None, None, []))

    def test_a_finished_job_is_retried_as_a_new_one(self):
        job = self.server.submit("echo again", name="one")
        self.server.wait_final(job)
        status, answer, _ = self.server.api("POST", f"/jobs/{job}/retry")
        self.assertEqual(status, 201, answer)
        second = answer["ids"][0]
        self.assertNotEqual(second, job)
        row = self.server.wait_final(second)
        self.assertEqual((row["state"], row["name"]), ("Succeeded", "one"))
        held = self.server.submit("true", held=True)
        self.error(409, "POST", f"/jobs/{held}/retry")

    def test_a_batch_is_taken_whole_or_not_at_all(self):
        status, answer, _ = self.server.api("POST", "/jobs", [
            {"command": "true", "name": "batch-a"}, {"command": "true", "queue": "nowhere"}])
        self.assertEqual(status, 400)
        self.assertIn("jobs[1]", answer["error"]["message"])
        self.assertEqual(self.server.api("GET", "/jobs?name=batch-a")[1]["jobs"], [])
        status, answer, _ = self.server.api("POST", "/jobs", {"jobs": [
            {"command": "true", "name": "batch-b"}, {"command": "true", "name": "batch-b"}]})
        self.assertEqual((status, len(answer["ids"])), (201, 2))

    def test_a_job_file_as_text_with_settings(self):
        body = {"file": "parameters: {word: }\nname: filed\ncommand: echo ${word}\n",
                "set": {"word": "said"}}
        status, answer, _ = self.server.api("POST", "/jobs?dry_run=true", body)
        self.assertEqual((status, answer["ids"], len(answer["jobs"])), (200, [], 1))
        status, answer, _ = self.server.api("POST", "/jobs", body)
        self.assertEqual(status, 201, answer)
        self.server.wait_final(answer["ids"][0])
        lines = self.server.api("GET", f"/jobs/{answer['ids'][0]}/logs")[1]["lines"]
        self.assertEqual(lines[0]["text"], "said\n")
        status, answer, _ = self.server.api("POST", "/jobs", "name: y\ncommand: true\n",
                                            headers={"Content-Type": "application/yaml"})
        self.assertEqual(status, 201, answer)

    def test_a_dry_run_is_judged_as_a_submit_and_keeps_nothing(self):
        ok = [{"command": "true", "name": "dry"},
              {"command": "true", "clusters": ["here"], "queue": "other"}]
        status, answer, _ = self.server.api("POST", "/jobs?dry_run=true", ok)
        self.assertEqual((status, answer["ids"], len(answer["jobs"])), (200, [], 2), answer)
        self.assertEqual(self.server.api("GET", "/jobs?name=dry")[1]["jobs"], [])
        for wrong, word in (({"queue": "othr"}, "did you mean other"), ({"pool": "p"}, "no pool"),
                            ({"clusters": ["her"]}, "did you mean here"),
                            ({"depends_on": ["nobody"]}, "no job"), ({"image": "x"}, "image: ")):
            for path in ("/jobs", "/jobs?dry_run=true"):
                error = self.error(400, "POST", path, {"command": "true", **wrong})
                self.assertIn(word, error["message"], (path, wrong))
        two = "name: a\ncommand: true\n---\ncommand: true\ndepends_on: [a]\n"
        status, answer, _ = self.server.api("POST", "/jobs?dry_run=true", two,
                                            headers={"Content-Type": "application/yaml"})
        self.assertEqual((status, len(answer["jobs"])), (200, 2), answer)

    def test_a_repeated_submit_gets_the_jobs_of_the_first(self):
        key = {"Idempotency-Key": "k1"}
        answers = []
        ask = lambda: answers.append(self.server.api("POST", "/jobs", {"command": "true"},
                                                     headers=key))
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({answer[1]["ids"][0] for answer in answers}), 1, answers)
        self.assertEqual(sorted(answer[0] for answer in answers), [200] * 7 + [201])
        self.error(409, "POST", "/jobs", {"command": "false"}, headers=key)

    # ---- lists, errors, documents

    def test_lists_go_in_pages_with_filters(self):
        ids = [self.server.submit("true", held=True, name=f"page-{i}", queue="other")
               for i in range(5)]
        seen, cursor = [], ""
        while cursor is not None:
            query = f"/jobs?name=page-&state=held&queue=other&limit=2&cursor={cursor or 0}"
            _, page, _ = self.server.api("GET", query)
            seen += [row["id"] for row in page["jobs"]]
            cursor = page["next"]
        self.assertEqual(seen, ids[::-1])
        self.error(400, "GET", "/jobs?state=asleep")
        self.error(400, "GET", "/jobs?limit=0")

    def test_errors_say_what_and_where(self):
        self.assertEqual(self.error(404, "GET", "/jobs/none")["code"], "not_found")
        self.assertEqual(self.error(404, "GET", "/nothing", check=False)["code"], "not_found")
        error = self.error(405, "DELETE", "/jobs", check=False)
        self.assertEqual(error["code"], "method_not_allowed")
        error = self.error(400, "POST", "/jobs", {"comand": "true"})
        self.assertIn("command", error["problems"][0]["message"])
        self.assertIn("did you mean other",
                      self.error(400, "POST", "/jobs", {"command": "true", "queue": "othr"})
                      ["message"])
        self.error(400, "POST", "/jobs", "{")
        self.error(400, "POST", "/jobs", [])

    def test_a_parameter_that_is_none_is_not_passed_over(self):
        job = self.server.submit("true")
        for path in ("/jobs?stat=Running", f"/jobs/{job}/logs?tial=3", f"/jobs/{job}/notes?a=1",
                     "/events?form=1", "/nodes?clster=here", "/audit?who=ann"):
            said = self.error(400, "GET", path)["message"]
            self.assertIn("unknown in this request", said, path)
        self.error(400, "POST", "/jobs?dryrun=true", {"command": "true"})

    def test_what_is_no_good_http_is_refused_as_everything_else(self):
        path = "/api/muster/v1/jobs"
        for status, code, head in (
                (413, "too_large", f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {10**11}"),
                (431, "too_large", f"GET {path} HTTP/1.1\r\nHost: x\r\nX: {'a' * 200_000}"),
                (400, "invalid", f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: -5"),
                (400, "invalid", f"GET {path} HTTP/1.1")):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as peer:
                peer.sendall(head.encode() + b"\r\n\r\n")
                answer = http.client.HTTPResponse(peer)
                answer.begin()
                error = json.loads(answer.read())["error"]
            self.assertEqual((answer.status, error["code"]), (status, code))
            self.assertEqual(error["request_id"], answer.headers["X-Request-Id"])

    def test_every_change_stands_in_the_audit(self):
        job = self.server.submit("true", held=True)
        self.server.api("POST", f"/jobs/{job}/cancel", headers={"X-Request-Id": "asked-by-me"})
        rows = [row for row in self.server.api("GET", "/audit?limit=1000")[1]["rows"]
                if row["object"] == job]
        self.assertEqual([row["verb"] for row in rows], ["cancel", "submit"])
        self.assertEqual(rows[0]["request_id"], "asked-by-me")
        self.assertTrue(rows[0]["user"])

    def test_documents_and_health(self):
        self.assertEqual(self.server.get("/healthz")[:2], (200, "ok\n"))
        self.assertTrue(self.server.get("/readyz")[1]["ready"])
        status, document, _ = self.server.api("GET", "/openapi.json")
        self.assertEqual((status, document["openapi"][:2]), (200, "3."))
        self.assertEqual(self.server.api("GET", "/schemas/job.json")[0], 200)
        info = self.server.api("GET", "/info")[1]
        self.assertEqual(info["defaults"]["queue"], "default")


class OwnServer(unittest.TestCase):
    """Each test has a server of its own."""

    def begin(self, config=HERE + QUEUES, **kw):
        server = Server(BINARY, config, **kw)
        self.addCleanup(server.close)
        return server.start()

    def test_work_goes_on_while_the_server_is_away(self):
        server = self.begin()
        done = os.path.join(server.folder, "done")
        job = server.submit(f"while [ ! -e {done} ]; do sleep 0.05; done; echo seen; exit 4")
        while server.job(job)["state"] != "Running":
            time.sleep(0.02)
        server.kill()
        open(done, "w").close()
        time.sleep(0.3)
        server.start()
        row = server.wait_final(job)
        self.assertEqual((row["exit_code"], row["attempt"]), (4, 1))
        lines = server.api("GET", f"/jobs/{job}/logs")[1]["lines"]
        self.assertEqual([line["text"] for line in lines], ["seen\n"])

    def test_terminate_ends_it_in_order(self):
        server = self.begin()
        job = server.submit("true", held=True)
        self.assertEqual(server.terminate(), 0)
        server.start()
        self.assertEqual(server.job(job)["state"], "Held")

    def test_a_second_server_on_the_same_folder_is_refused(self):
        server = self.begin()
        second = Server(BINARY)
        self.addCleanup(second.close)
        second.config_path = server.config_path
        with self.assertRaisesRegex(AssertionError, "another server uses"):
            second.start()

    def test_who_runs_processes_here_is_not_reached_from_elsewhere(self):
        server = Server(BINARY)
        self.addCleanup(server.close)
        with open(server.config_path, "w") as out:
            out.write(f"data_dir: {server.folder}/data\nlisten: 0.0.0.0:{server.port}\n{HERE}")
        with self.assertRaisesRegex(AssertionError, "listen: "):
            server.start()

    def test_a_token_says_who_asks_and_a_wrong_one_is_refused(self):
        server = self.begin()
        path = os.path.join(server.folder, "data", "admin.token")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path) as file:
            token = file.read().strip()
        info = lambda value: server.api("GET", "/info", headers={"Authorization": value})
        self.assertEqual(info("Bearer " + token)[0], 200)
        status, answer, headers = info("Bearer mst_wrong")
        self.assertEqual((status, answer["error"]["code"]), (401, "unauthorized"))
        self.assertIn("Bearer", headers["WWW-Authenticate"])

    def test_a_changed_file_is_taken_over_without_a_restart(self):
        server = self.begin()
        self.assertEqual(server.api("POST", "/jobs", {"command": "true", "queue": "new"})[0], 400)
        server.write_config(HERE + "queues:\n- {name: default}\n- {name: new}\n"
                            "- {name: other}\n")
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while server.api("POST", "/jobs", {"command": "true", "queue": "new"})[0] != 201:
            self.assertLess(time.monotonic(), end, server.log())
            time.sleep(0.05)
        row = next(row for row in server.api("GET", "/audit")[1]["rows"] if row["verb"] == "reload")
        self.assertEqual((row["object"], row["detail"]),
                         ("config", "changes by SIGHUP: 1; affects no jobs"))
        self.assertIn("reload: affects no jobs", server.log())
        server.write_config("nonsense: 1\n")
        server.process.send_signal(signal.SIGHUP)
        while "not reloaded" not in server.log():
            self.assertLess(time.monotonic(), end, server.log())
            time.sleep(0.05)
        self.assertEqual(server.get("/readyz")[0], 200, "a wrong file changes nothing")

    def test_a_job_is_of_the_main_tree_and_charges_one_queue_of_each_other(self):
        server = self.begin(HERE + QUEUES + "trees:\n- {name: projects, queues: [{name: apollo}, "
                            "{name: gemini}]}\n")
        known = {"command": "true", "held": True, "extra_queues": ["apollo"]}
        status, answer, _ = server.api("POST", "/jobs", known)
        self.assertEqual(status, 201, answer)
        other = "is of the tree 'projects', which jobs name in extra_queues"
        for method, path, body, wrong in (
                ("POST", "/jobs", {"command": "true", "queue": "apollo"}, other),
                ("PATCH", f"/jobs/{answer['ids'][0]}", {"queue": "gemini"}, other),
                ("POST", "/jobs", {**known, "extra_queues": ["apollo", "gemini"]},
                 "extra_queues[1]: gemini is of the tree 'projects' as apollo is"),
                ("POST", "/jobs", {**known, "extra_queues": ["other"]},
                 "extra_queues[0]: other is of the main tree")):
            status, refused, _ = server.api(method, path, body)
            self.assertEqual(status, 400, refused)
            self.assertIn(wrong, refused["error"]["message"])

    def test_a_cluster_that_is_removed_from_the_file_leaves_when_its_jobs_have_ended(self):
        two = HERE + "- {name: old, type: simulated, run_time: 1h, nodes: [{gpu: {T4: 1}}]}\n"
        server = self.begin(two)

        def names():
            return {row["name"]: row.get("leaving", False)
                    for row in server.api("GET", "/clusters")[1]["clusters"]}

        def reload(text):
            server.write_config(text)
            status, preview, _ = server.api("POST", "/config/reload")
            self.assertEqual((status, preview["applied"]), (200, True), preview)

        reload(HERE)
        self.assertEqual(names(), {"here": False}, "nothing ran there")
        reload(two)
        kept = server.submit("sleep 1", gpus=1, clusters=["old"])
        server.wait_state(kept, "Running")
        reload(HERE)
        self.assertEqual(names(), {"here": False, "old": True})
        late = server.submit("true", gpus=1, clusters=["old"])
        reload(two)
        self.assertEqual(names(), {"here": False, "old": False}, "it is back")
        reload(HERE)
        server.kill()
        server.start()
        self.assertEqual(names(), {"here": False, "old": True}, "also after a restart")
        self.assertEqual((server.job(kept)["state"], server.job(late)["state"]),
                         ("Running", "Waiting"))
        server.api("POST", f"/jobs/{kept}/cancel")
        server.wait("it has left", lambda: names() == {"here": False})

    def test_a_cluster_removed_from_the_file_while_no_server_runs_leaves_as_well(self):
        two = HERE + "- {name: old, type: simulated, run_time: 1h, nodes: [{gpu: {T4: 1}}]}\n"
        server = self.begin(two)
        kept = server.submit("sleep 1", gpus=1, clusters=["old"])
        server.wait_state(kept, "Running")
        server.kill()
        server.write_config(HERE)
        server.start()
        rows = server.api("GET", "/clusters")[1]["clusters"]
        self.assertEqual([row["name"] for row in rows if row["leaving"]], ["old"], rows)
        self.assertEqual(server.job(kept)["state"], "Running")

    def test_defaults_limits_and_the_log_follow_the_file(self):
        server = self.begin(HERE + QUEUES + "log: {level: warn}\n")
        server.submit("true", held=True)
        self.assertNotIn("POST", server.log())
        server.write_config(HERE + QUEUES + "log: {level: info}\ndefaults: {queue: other}\n"
                            "limits: {jobs_per_submit: 2, connections: 7}\n")
        status, preview, _ = server.api("POST", "/config/reload")
        self.assertEqual((status, preview["applied"]), (200, True), preview)
        self.assertEqual(len(preview["restart"]), 1, preview)
        job = server.submit("true", held=True)
        self.assertEqual(server.job(job)["queue"], "other")
        self.assertIn("method=POST target=/api/muster/v1/jobs status=201", server.log())
        self.assertEqual(server.api("POST", "/jobs", [{"command": "true"}] * 3)[0], 400)

    def test_clusters_of_this_machine_and_simulated_ones_follow_the_file(self):
        sim = "- {name: sim, type: simulated, run_time: 1h, nodes: [{count: %d, gpu: {T4: 1}}]}\n"
        server = self.begin(HERE + sim % 1)
        first = server.submit("true", gpus=1, clusters=["sim"])
        server.wait_state(first, "Running")
        second = server.submit("true", gpus=1, clusters=["sim"])
        wide = server.submit("true", gpus=6, clusters=["here"])
        server.write_config(HERE.replace("slots: 4", "slots: 6, stop_grace: 1s") + sim % 3)
        status, preview, _ = server.api("POST", "/config/reload")
        self.assertEqual((status, preview["restart"]), (200, []), preview)
        self.assertEqual(preview["jobs_affected"], 3, preview)
        server.wait_state(second, "Running")
        self.assertEqual(server.wait_final(wide)["state"], "Succeeded")
        deaf = server.submit("trap '' TERM; echo up; while :; do sleep 0.1; done")
        server.wait("it hears nothing",
                    lambda: server.api("GET", f"/jobs/{deaf}/logs")[1]["lines"])
        server.api("POST", f"/jobs/{deaf}/cancel")
        server.wait_final(deaf, wait_s=15)  # and not after the 30 s of other clusters
        names = lambda: [row["name"] for row in
                         server.api("GET", "/nodes?cluster=sim")[1]["nodes"]]
        self.assertEqual(len(names()), 3)
        server.write_config(HERE + (sim % 1).replace("{count", "{name: other, count"))
        self.assertEqual(server.api("POST", "/config/reload")[0], 200)
        server.wait("the others are gone", lambda: "other-0" in names())
        self.assertEqual(server.job(first)["state"], "Running", "what runs goes on")

    def test_jobs_that_wait_in_whatever_way_count_against_the_limit(self):
        server = self.begin("limits: {waiting_jobs: 3}\n" + QUEUES)
        key = {"Idempotency-Key": "once"}
        job = {"command": "true", "held": True}
        status, first, _ = server.api("POST", "/jobs", job, headers=key)
        self.assertEqual(status, 201, first)
        server.submit("true", depends_on=first["ids"])
        later = server.submit("true", start_after="2100-01-01T00:00:00Z")
        status, answer, headers = server.api("POST", "/jobs", job)
        self.assertEqual((status, headers.get("Retry-After")), (429, "1"), answer)
        status, again, _ = server.api("POST", "/jobs", job, headers=key)
        self.assertEqual((status, again["ids"]), (200, first["ids"]), "it was taken")
        self.assertEqual(server.api("DELETE", "/queues/default")[0], 409)
        self.assertEqual(server.api("POST", f"/jobs/{later}/cancel")[0], 200)
        server.wait("there is room for one",
                    lambda: server.api("POST", f"/jobs/{later}/retry")[0] == 201)
        self.assertEqual(server.api("POST", f"/jobs/{later}/retry")[0], 429)

    def test_too_many_at_once_are_told_to_come_again(self):
        server = self.begin("limits: {inbox: 20, batch: 20}\n" + QUEUES)
        taken, refused = [], []

        def flood():
            body = [{"command": "true", "held": True}] * 20
            for _ in range(20):
                status, answer, headers = server.api("POST", "/jobs", body)
                if status == 201:
                    taken.extend(answer["ids"])
                else:
                    refused.append((status, headers.get("Retry-After")))

        threads = [threading.Thread(target=flood) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertTrue(taken)
        self.assertTrue(refused, "nobody was refused")
        self.assertEqual(set(refused), {(429, "1")})
        listed, cursor = [], "0"
        while cursor:
            page = server.api("GET", f"/jobs?limit=1000&cursor={cursor}")[1]
            listed += [row["id"] for row in page["jobs"]]
            cursor = page["next"]
        self.assertEqual(sorted(listed), sorted(taken), "taken, and nothing else")


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
