#!/usr/bin/env python3
"""Commands that need no server, as the real binary runs them.

Usage: offline_test.py MUSTER [unittest arguments]
"""
import json
import subprocess
import sys
import tempfile
import unittest

BINARY = ""
OLD = """apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {name: train}
spec:
  priority: 9
  resources:
    GenericItems:
    - replicas: 1
      completionstatus: Complete,Failed
      generictemplate:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: j}
        spec: {template: {spec: {containers: [{name: c, args: ["1", "yes"]}]}}}
"""
NEW = """apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata:
  name: train
  labels:
    muster.dev/priority: '9'
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata:
        name: j
      spec:
        template:
          spec:
            containers:
            - name: c
              args: ['1', 'yes']
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: plain, labels: {kueue.x-k8s.io/queue-name: team}}
spec: {suspend: true, template: {spec: {containers: [{name: c}]}}}
"""


class ConfigCheck(unittest.TestCase):
    """muster config check"""

    def test_what_is_no_file_is_not_fine(self):
        for wrong, why in (("/", "Is a directory"), ("/no/such/file", "No such file")):
            for words in (["config", "check", wrong], ["serve", "--config", wrong],
                          ["submit", "-f", wrong]):
                done = subprocess.run([BINARY, *words], capture_output=True, text=True)
                code = 1 if words[0] == "serve" else 2
                self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
                self.assertIn(f"cannot read {wrong}: {why}", done.stderr)

    def test_options_stand_behind_their_command(self):
        done = subprocess.run([BINARY, "-o", "json", "list"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("-o stands behind its command: muster list -o", done.stderr)

    def test_a_context_can_be_forgotten(self):
        with tempfile.TemporaryDirectory() as folder:
            def muster(*words, code=0):
                done = subprocess.run([BINARY, "context", *words], capture_output=True, text=True,
                                      env={"MUSTER_CONFIG": folder + "/c.yaml"})
                self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
                return done.stdout
            muster("set", "lab", "--url", "http://127.0.0.1:1")
            self.assertIn("lab", muster("list"))
            muster("delete", "lab")
            self.assertNotIn("lab", muster("list"))
            muster("delete", "lab", code=1)

    def test_problems_are_for_people_or_for_programs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("queues:\n- {name: a, wieght: 2}\n")
            file.flush()
            ask = [BINARY, "config", "check", file.name]
            done = subprocess.run(ask, text=True, capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{file.name}:2:", done.stderr)
            done = subprocess.run([*ask, "-o", "json"], text=True, capture_output=True, timeout=60,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            found = json.loads(done.stdout)
            self.assertFalse(found["ok"])
            self.assertEqual([(p["line"], p["severity"]) for p in found["problems"]],
                             [(2, "error")])
            done = subprocess.run([*ask, "-o", "yaml"], text=True, capture_output=True, timeout=60,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            self.assertTrue(done.stdout.startswith("ok: false\nproblems:\n"), done.stdout)

    def test_what_is_printed_is_yaml_or_json_as_asked(self):
        def ask(*words):
            return subprocess.run([BINARY, "config", *words], text=True, capture_output=True,
                                  timeout=60, check=True).stdout
        self.assertEqual(ask("demo", "-o", "yaml"), ask("demo"))
        self.assertIn("clusters", json.loads(ask("demo", "-o", "json")))
        self.assertEqual(ask("show", "-o", "yaml"), ask("show"))
        self.assertIsInstance(json.loads(ask("show", "-o", "json"))["listen"], str)
        self.assertEqual(json.loads(ask("schema", "-o", "json")), json.loads(ask("schema")))
        self.assertIn("properties:", ask("schema", "--jobs", "-o", "yaml"))


class Convert(unittest.TestCase):
    """muster aw convert"""

    def convert(self, given, *words, code=0):
        done = subprocess.run([BINARY, "aw", "convert", "-f", "-", *words], input=given, text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def test_an_app_wrapper_is_printed_in_its_other_version(self):
        done = self.convert(OLD)
        self.assertEqual(done.stdout.replace('"', "'"), NEW)
        self.assertEqual(done.stderr, "AppWrapper train: spec.priority: is the label "
                                      "muster.dev/priority now\n")
        back = self.convert(done.stdout, "-o", "json")
        item = json.loads(back.stdout)["spec"]["resources"]["GenericItems"][0]
        self.assertEqual(item["completionstatus"], "Complete,Failed")

    def test_plain_objects_are_wrapped_together(self):
        done = self.convert(JOB + "---\n" + OLD, "--to", "v1beta2", "-o", "json")
        items = json.loads(done.stdout)["items"]
        self.assertEqual([one["metadata"]["name"] for one in items], ["train", "plain"])
        self.assertEqual(items[1]["metadata"]["labels"], {"muster.dev/queue": "team"})

    def test_what_cannot_be_converted_is_said_with_its_field(self):
        done = self.convert("{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, "
                            "metadata: {name: a}, spec: {components: [{}]}}", code=1)
        self.assertEqual(done.stderr, "muster: -: AppWrapper a: spec.components[0].template: "
                                      "missing; there is nothing to create\n")


class Scenarios(unittest.TestCase):
    """muster scenario"""

    def test_a_scenario_that_fails_anyway_notices_no_rule(self):
        with tempfile.NamedTemporaryFile("w", suffix=".scn") as file:
            file.write("cluster a\nplam\n")
            file.flush()
            done = subprocess.run([BINARY, "scenario", "mutate", file.name], text=True,
                                  capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(f"{file.name}:2: unknown verb", done.stdout)
        self.assertIn("fails with every rule on", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")


class Simulate(unittest.TestCase):
    """muster sim"""

    def sim(self, *words, code=0):
        done = subprocess.run([BINARY, "sim", *words], text=True, capture_output=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def test_options_that_would_do_nothing_are_refused_in_one_line(self):
        for words, option in ((("--generate", "demo", "--gpus", "64"), "--gpus"),
                              (("--generate", "demo", "--nodes", "nofile"), "--nodes"),
                              (("some.trace", "--hours", "3"), "--hours"),
                              (("some.trace", "--nodes", "nodes.csv"), "--nodes"),
                              (("some.csv", "--gpus", "64"), "--gpus")):
            done = self.sim("run", *words, code=2)
            self.assertRegex(done.stderr, f"^muster sim run: {option} is for .*: drop it\n$")
            self.assertEqual(done.stdout, "")

    def test_what_is_no_number_of_its_kind_is_refused(self):
        for wrong in ("--seed=99999999999999999999", "--seed=-1", "--seed=ten", "--jobs=1e3",
                      "--jobs=99999999999999999999"):
            option, value = wrong.split("=")
            done = self.sim("run", wrong, code=2)
            self.assertIn(f"{option}: {value} is not a whole number, or too large", done.stderr)
        self.assertIn("--jobs: 99999999999 is outside 1 to",
                      self.sim("run", "--jobs=99999999999", code=2).stderr)
        self.assertEqual(self.sim("run", "--hours", "nan", code=2).stderr,
                         "muster sim run: --hours: not a number\n")
        self.assertIn("demo: 10 jobs", self.sim("run", "--jobs", "010").stdout)

    def test_empty_names_are_refused(self):
        for words, name in ((("run", ""), "FILE"), (("run", "--generate", ""), "--generate"),
                            (("run", "some.csv", "--nodes", ""), "--nodes"),
                            (("run", "--report", ""), "--report"),
                            (("fgd", "--nodes", "n.csv", "--pods", ""), "--pods")):
            self.assertIn(f"{name}: is empty", self.sim(*words, code=2).stderr)
        done = self.sim("fgd", "--nodes", "/", "--pods", "/", code=2)
        self.assertIn("/: is a folder; name a file in it", done.stderr)

    def test_growth_that_is_left_out_has_no_events(self):
        done = subprocess.run([BINARY, "bench", "plan", "--no-growth", "--growth-events", "10"],
                              text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--growth-events excludes --no-growth", done.stderr)

    def test_a_report_that_cannot_be_written_is_said_before_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.sim("run", "--jobs", "5", "--report", f"{folder}/no/such/folder", code=2)
            self.assertEqual(done.stdout, "")
            self.assertIn("cannot be written", done.stderr)

    def test_the_first_line_names_the_seed_and_the_build(self):
        first = self.sim("run", "--jobs", "5", "--seed", "7").stdout.splitlines()[0]
        version = subprocess.run([BINARY, "--version"], text=True, capture_output=True, timeout=60,
                                 check=True).stdout.strip()
        self.assertTrue(first.endswith(f", seed 7, {version}"), first)

    def test_the_help_says_where_a_seed_changes_nothing(self):
        words = " ".join(self.sim("run", "--help").stdout.split())
        self.assertIn("nothing is in a FILE or in kueue without --faults", words)

    def test_the_first_line_comes_before_the_run(self):
        with subprocess.Popen([BINARY, "sim", "run", "--faults", "--jobs", "20000", "--seed", "7"],
                              text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            first = process.stdout.readline()
            runs = process.poll() is None
            process.kill()
        self.assertIn(", seed 7, ", first)
        self.assertTrue(runs, "a run that is cut short has said its seed")

    def test_lists_of_the_experiment_that_are_swapped_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            nodes, pods = f"{folder}/nodes.csv", f"{folder}/pods.csv"
            with open(nodes, "w", encoding="utf-8") as file:
                file.write("sn,cpu_milli,memory_mib,gpu,model\nn1,32000,65536,4,T4\n")
            with open(pods, "w", encoding="utf-8") as file:
                file.write("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1024,1,500\n")
            done = subprocess.run([BINARY, "sim", "fgd", "--nodes", pods, "--pods", nodes],
                                  text=True, capture_output=True, timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"{pods}:1: this is a pod list", done.stderr)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
