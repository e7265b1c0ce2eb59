"""The checker of answers finds what it should, and the contract itself is well formed."""
import json
import unittest

import openapi

DOCUMENT = {
    "paths": {
        "/jobs": {
            "get": {"responses": {"200": {"content": {"application/json": {"schema": {
                "$ref": "#/components/schemas/Page"}}}},
                "default": {"$ref": "#/components/responses/error"}}},
            "post": {"requestBody": {"content": {"application/json": {"schema": {
                "$ref": "#/components/schemas/Job"}}}}, "responses": {"201": {}}},
        },
        "/jobs/{job}": {
            "get": {"parameters": [{"name": "job", "in": "path"}], "responses": {
                "200": {"content": {"application/json": {"schema": {
                    "$ref": "#/components/schemas/Job"}}}}}}},
        "/jobs/special": {"get": {"responses": {"204": {}}}},
        "/events": {"get": {"responses": {"200": {"content": {"text/event-stream": {
            "schema": {"type": "string"},
            "x-event-data": {"$ref": "#/components/schemas/Job"}}}}}}},
        "/logs": {"get": {"responses": {"200": {"content": {"text/event-stream": {
            "schema": {"type": "string"},
            "x-event-data": {"line": {"type": "string"}, "end": {"type": "null"}}}}}}}},
    },
    "components": {
        "responses": {"error": {"content": {"application/json": {"schema": {
            "type": "object", "required": ["error"]}}}}},
        "schemas": {
            "Page": {"type": "object", "properties": {
                "jobs": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}},
                "next": {"type": ["string", "null"]}}, "required": ["jobs", "next"]},
            "Job": {"type": "object", "properties": {
                "id": {"type": "string"},
                "state": {"enum": ["Waiting", "Running"]},
                "gpus": {"type": "integer", "minimum": 0},
                "why": {"oneOf": [{"type": "null"}, {"type": "object", "required": ["kind"]}]},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}},
                "required": ["id"], "additionalProperties": False},
        },
    },
}
JSON = {"Content-Type": "application/json; charset=utf-8"}


def checked(value, method="GET", target="/jobs/7", status=200, headers=None):
    contract = openapi.Contract(DOCUMENT)
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return contract.check(method, target, status, JSON if headers is None else headers, body)


class Answers(unittest.TestCase):
    def test_a_right_answer_has_no_problems(self):
        self.assertEqual(checked({"id": "7", "state": "Running", "gpus": 0, "why": None,
                                  "labels": {"a": "b"}}), [])
        self.assertEqual(checked({"jobs": [{"id": "7"}], "next": None}, target="/jobs?limit=3"), [])
        self.assertEqual(checked({"error": {}}, target="/jobs", status=503), [])
        self.assertEqual(checked(b"", target="/jobs/special", status=204, headers={}), [])

    def test_each_wrong_answer_is_named(self):
        cases = [
            ({}, "/id: is missing"),
            ({"id": 7}, "/id: must be string, is 7"),
            ({"id": "7", "more": 1}, "/more: is not in the contract"),
            ({"id": "7", "state": "Lost"}, "/state: must be one of"),
            ({"id": "7", "gpus": -1}, "/gpus: -1 is below 0"),
            ({"id": "7", "gpus": True}, "/gpus: must be integer"),
            ({"id": "7", "gpus": 1.5}, "/gpus: must be integer"),
            ({"id": "7", "why": {}}, "/why: fits none of oneOf: /why/kind: is missing"),
            ({"id": "7", "labels": {"a": 1}}, "/labels/a: must be string"),
            ([], "/: must be object"),
            (b"{", "is not JSON"),
            (b'{"id": "7", "gpus": NaN}', "is not JSON"),
            (b"\xff", "is not JSON"),
        ]
        for value, wanted in cases:
            with self.subTest(value=value):
                found = checked(value)
                self.assertEqual(len(found), 1, found)
                self.assertIn(wanted, found[0])

    def test_items_of_lists_are_checked_through_references(self):
        found = checked({"jobs": [{"id": "1"}, {"id": 2}], "next": 3}, target="/jobs")
        self.assertEqual(len(found), 2)
        self.assertIn("/jobs/1/id", found[0])
        self.assertIn("/next: must be string or null", found[1])

    def test_status_type_and_path_must_be_in_the_document(self):
        self.assertIn("this status is not", checked({"id": "7"}, status=202)[0])
        self.assertIn("content type text/html",
                      checked({"id": "7"}, headers={"content-type": "text/html"})[0])
        self.assertIn("content type none", checked({"id": "7"}, headers={})[0])
        self.assertIn("not in the document", checked({}, target="/nowhere")[0])
        self.assertIn("not in the document", checked({}, method="PUT")[0])
        self.assertIn("has a body", checked(b"x", target="/jobs/special", status=204)[0])

    def test_two_that_fit_one_of_are_one_too_many(self):
        schemas = openapi.Schemas({})
        both = {"oneOf": [{"type": "integer"}, {"minimum": 0}]}
        self.assertIn("fits 2 of oneOf", schemas.problems(1, both)[0])
        self.assertEqual(schemas.problems(-1, both), [])

    def test_unknown_keywords_and_lost_references_are_errors(self):
        schemas = openapi.Schemas({"a": {"$ref": "#/a"}})
        with self.assertRaises(openapi.DocumentError):
            schemas.problems(1, {"multipleOf": 2})
        with self.assertRaises(openapi.DocumentError):
            schemas.problems(1, {"$ref": "#/nowhere"})
        with self.assertRaises(openapi.DocumentError):
            schemas.problems(1, {"$ref": "#/a"})

    def test_operations_without_a_checked_answer_are_known(self):
        contract = openapi.Contract(DOCUMENT)
        contract.check("GET", "/jobs/7", 200, JSON, b'{"id": "7"}')
        contract.check("GET", "/jobs", 500, JSON, b'{"error": 1}')
        self.assertEqual(contract.unseen(), [("GET", "/jobs"), ("POST", "/jobs"),
                                             ("GET", "/jobs/special"), ("GET", "/events"),
                                             ("GET", "/logs")])

    def test_each_event_of_a_stream_is_checked(self):
        def streamed(text, target):
            contract = openapi.Contract(DOCUMENT)
            found = contract.check("GET", target, 200, {"Content-Type": "text/event-stream"},
                                   text.encode())
            return found, contract.events_checked

        good = ': \n\nid: 1\nevent: placed\ndata: {"id":\ndata: "7"}\n\n: \n\n'
        self.assertEqual(streamed(good, "/events"), ([], 1))
        found, _ = streamed(good + 'event: placed\ndata: {"id": 7}\n\n', "/events")
        self.assertEqual(len(found), 1, found)
        self.assertIn("event 2 (placed): /id: must be string", found[0])
        self.assertIn("is not JSON", streamed("event: placed\ndata: {\n\n", "/events")[0][0])
        self.assertEqual(streamed('event: line\ndata: "a"\n\nevent: end\ndata: null\n\n', "/logs"),
                         ([], 2))
        self.assertIn("must be null", streamed('event: end\ndata: "a"\n\n', "/logs")[0][0])
        self.assertIn("lost is not one of end, line",
                      streamed('event: lost\ndata: 1\n\n', "/logs")[0][0])

    def test_a_stream_that_broke_off_is_checked_up_to_there(self):
        cut = 'event: line\ndata: "a"\n\nevent: line\ndata: {'
        contract = openapi.Contract(DOCUMENT)
        self.assertEqual(contract.check("GET", "/logs", 200, {"Content-Type": "text/event-stream"},
                                        cut.encode()), [])
        self.assertEqual(contract.events_checked, 1)

    def test_requests_are_checked_too(self):
        contract = openapi.Contract(DOCUMENT)
        self.assertEqual(contract.check_request("POST", "/jobs", b'{"id": "7"}'), [])
        self.assertIn("/id: is missing", contract.check_request("POST", "/jobs", b"{}")[0])
        self.assertIn("takes no JSON body", contract.check_request("GET", "/jobs", b"{}")[0])


class Documents(unittest.TestCase):
    def test_faults_of_a_document_are_found(self):
        broken = {
            "paths": {"/a/{b}": {"get": {"responses": {"200": {"content": {"application/json": {
                "schema": {"multipleOf": 2}}}}}}}},
            "components": {"schemas": {
                "A": {"properties": {"x": {"$ref": "#/nowhere"}}, "required": ["y"]}}},
        }
        found = openapi.Contract(broken).check_document()
        self.assertEqual(len(found), 4, found)
        self.assertEqual(openapi.Contract(DOCUMENT).check_document(), [])

    def test_the_contract_is_well_formed(self):
        contract = openapi.Contract.load("docs/openapi.json")
        self.assertEqual(contract.check_document(), [])
        ids = [item[method.lower()]["operationId"] for method, pattern in contract.operations()
               for item in [contract.document["paths"][pattern]]]
        self.assertEqual(len(ids), len(set(ids)))


if __name__ == "__main__":
    unittest.main()
