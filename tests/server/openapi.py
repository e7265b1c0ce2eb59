"""Checks what a server answers against its OpenAPI document. Standard library only.

    contract = Contract.load("docs/openapi.json")
    problems = contract.check("GET", "/api/muster/v1/jobs?limit=1", 200, headers, body)

Problems are lines of "path: what is wrong"; none means the answer keeps the contract. The part of
JSON Schema that the document uses is known: $ref, type (also a list), properties, required,
additionalProperties, items, enum, const, oneOf, anyOf, allOf, minimum, maximum, minLength,
maxLength, pattern, minItems, maxItems. Any other keyword that constrains is an error of the
document, so that nothing in it is silently not checked.

Of a stream of server-sent events each event's data is checked, against the `x-event-data` of its
media type: a schema of all of them, or one for each type of event.
"""
import json
import re
import urllib.parse

ANNOTATIONS = {"description", "summary", "title", "default", "example", "examples", "deprecated",
               "format", "$comment", "readOnly", "writeOnly", "$defs"}
TYPES = {
    "null": lambda v: v is None,
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "string": lambda v: isinstance(v, str),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
DEPTH_MAX = 200


class DocumentError(Exception):
    """The document itself is wrong, or uses what this module does not know."""


def short(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def same(a, b):
    """JSON's equality: 1 is 1.0, but true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def nearest(tried, path):
    """The first problem of the option that was probably meant: of the right type, with the fewest
    problems."""
    at_top = f"{path or '/'}: must be "
    return min(tried, key=lambda found: (found[0].startswith(at_top), len(found)))[0]


def stream_events(body):
    """(type, data) of the events of a stream, in order; comments are heartbeats, and one that the
    stream broke off in does not count."""
    for block in body.split(b"\n\n")[:-1]:
        fields = {}
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            if name:
                fields.setdefault(name.decode(), []).append(value.removeprefix(b" "))
        if "data" in fields:
            yield (b"".join(fields.get("event", [b"message"])[-1:]).decode(),
                   b"\n".join(fields["data"]))


class Schemas:
    """Validates values; references are looked up in `document`."""

    def __init__(self, document):
        self.document = document

    def resolve(self, node):
        seen = 0
        while isinstance(node, dict) and "$ref" in node:
            ref = node["$ref"]
            seen += 1
            if seen > DEPTH_MAX:
                raise DocumentError(f"{ref}: refers to itself")
            if not ref.startswith("#/"):
                raise DocumentError(f"{ref}: is not inside the document")
            node = self.document
            for part in ref[2:].split("/"):
                part = part.replace("~1", "/").replace("~0", "~")
                if not isinstance(node, dict) or part not in node:
                    raise DocumentError(f"{ref}: is not there")
                node = node[part]
        return node

    def problems(self, value, schema, path="", depth=0):
        if depth > DEPTH_MAX:
            raise DocumentError(f"{path}: is nested too deeply")
        schema = self.resolve(schema)
        if schema is True or schema == {}:
            return []
        if schema is False:
            return [f"{path or '/'}: must not be there"]
        found = []
        for keyword, rule in schema.items():
            if keyword in ANNOTATIONS or keyword.startswith("x-"):
                continue
            check = getattr(self, "check_" + keyword, None)
            if check is None:
                raise DocumentError(f"keyword {keyword} is not known to tests/server/openapi.py")
            found += check(value, rule, schema, path, depth + 1)
        return found

    # --- any value

    def check_type(self, value, rule, schema, path, depth):
        names = rule if isinstance(rule, list) else [rule]
        for name in names:
            if name not in TYPES:
                raise DocumentError(f"type {name} is not known")
        if any(TYPES[name](value) for name in names):
            return []
        return [f"{path or '/'}: must be {' or '.join(names)}, is {short(value)}"]

    def check_enum(self, value, rule, schema, path, depth):
        if any(same(value, allowed) for allowed in rule):
            return []
        return [f"{path or '/'}: must be one of {short(rule)}, is {short(value)}"]

    def check_const(self, value, rule, schema, path, depth):
        return [] if same(value, rule) else [f"{path or '/'}: must be {short(rule)}"]

    def check_oneOf(self, value, rule, schema, path, depth):
        tried = [self.problems(value, option, path, depth) for option in rule]
        fits = sum(not found for found in tried)
        if fits == 1:
            return []
        if fits > 1:
            return [f"{path or '/'}: fits {fits} of oneOf, must fit one"]
        return [f"{path or '/'}: fits none of oneOf: {nearest(tried, path)}"]

    def check_anyOf(self, value, rule, schema, path, depth):
        tried = [self.problems(value, option, path, depth) for option in rule]
        if not all(tried):
            return []
        return [f"{path or '/'}: fits none of anyOf: {nearest(tried, path)}"]

    def check_allOf(self, value, rule, schema, path, depth):
        return [line for option in rule for line in self.problems(value, option, path, depth)]

    # --- objects

    def check_properties(self, value, rule, schema, path, depth):
        if not isinstance(value, dict):
            return []
        return [line for name, option in rule.items() if name in value
                for line in self.problems(value[name], option, f"{path}/{name}", depth)]

    def check_required(self, value, rule, schema, path, depth):
        if not isinstance(value, dict):
            return []
        return [f"{path}/{name}: is missing" for name in rule if name not in value]

    def check_additionalProperties(self, value, rule, schema, path, depth):
        if not isinstance(value, dict):
            return []
        others = [name for name in value if name not in schema.get("properties", {})]
        if rule is False:
            return [f"{path}/{name}: is not in the contract" for name in others]
        return [line for name in others
                for line in self.problems(value[name], rule, f"{path}/{name}", depth)]

    # --- arrays

    def check_items(self, value, rule, schema, path, depth):
        if not isinstance(value, list):
            return []
        return [line for i, item in enumerate(value)
                for line in self.problems(item, rule, f"{path}/{i}", depth)]

    def check_minItems(self, value, rule, schema, path, depth):
        bad = isinstance(value, list) and len(value) < rule
        return [f"{path or '/'}: has {len(value)} items, at least {rule} are wanted"] if bad else []

    def check_maxItems(self, value, rule, schema, path, depth):
        bad = isinstance(value, list) and len(value) > rule
        return [f"{path or '/'}: has {len(value)} items, at most {rule} are wanted"] if bad else []

    # --- numbers and texts

    def check_minimum(self, value, rule, schema, path, depth):
        bad = TYPES["number"](value) and value < rule
        return [f"{path or '/'}: {value} is below {rule}"] if bad else []

    def check_maximum(self, value, rule, schema, path, depth):
        bad = TYPES["number"](value) and value > rule
        return [f"{path or '/'}: {value} is above {rule}"] if bad else []

    def check_minLength(self, value, rule, schema, path, depth):
        bad = isinstance(value, str) and len(value) < rule
        return [f"{path or '/'}: is shorter than {rule}"] if bad else []

    def check_maxLength(self, value, rule, schema, path, depth):
        bad = isinstance(value, str) and len(value) > rule
        return [f"{path or '/'}: is longer than {rule}"] if bad else []

    def check_pattern(self, value, rule, schema, path, depth):
        bad = isinstance(value, str) and not re.search(rule, value)
        return [f"{path or '/'}: {short(value)} does not match {rule}"] if bad else []


class Contract:
    """The document, with the answers checked so far remembered by operation and status."""

    METHODS = ("get", "put", "post", "delete", "patch", "head", "options")

    def __init__(self, document):
        self.document = document
        self.schemas = Schemas(document)
        self.seen = set()
        self.events_checked = 0  # of streams
        self.routes = []
        for pattern, item in document["paths"].items():
            parts = re.split(r"\{[^}]*\}", pattern)
            match = re.compile("[^/]+".join(re.escape(part) for part in parts) + "$")
            # A written segment is preferred to a name, as in the server's router.
            order = tuple(part.startswith("{") for part in pattern.split("/"))
            self.routes.append((order, pattern, match, item))
        self.routes.sort(key=lambda route: route[:2])

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    def find(self, method, target):
        """(pattern, operation) of a request; None where the document knows none."""
        path = urllib.parse.urlsplit(target).path
        for _, pattern, match, item in self.routes:
            if match.match(path) and method.lower() in item:
                return pattern, item[method.lower()]
        return None

    def operations(self):
        """(METHOD, pattern) of all of them, in the document's order."""
        return [(method.upper(), pattern) for pattern, item in self.document["paths"].items()
                for method in item if method in self.METHODS]

    def unseen(self):
        """Operations of which no answer below 400 has been checked."""
        return [(method, pattern) for method, pattern in self.operations()
                if not any(m == method and p == pattern and status < 400
                           for m, p, status in self.seen)]

    def check(self, method, target, status, headers, body):
        """Problems of one answer. `headers` is any mapping or list of pairs, `body` is bytes."""
        found = self.find(method, target)
        if found is None:
            return [f"{method} {target}: is not in the document"]
        pattern, operation = found
        where = f"{method} {pattern} {status}"
        answers = operation["responses"]
        answer = answers.get(str(status), answers.get(f"{status // 100}XX"))
        if answer is None and status >= 400:
            answer = answers.get("default")
        if answer is None:
            return [f"{where}: this status is not in the document"]
        self.seen.add((method, pattern, status))
        lines = self.check_body(self.schemas.resolve(answer), headers, body, status)
        return [f"{where}: {line}" for line in lines]

    def check_body(self, answer, headers, body, status):
        content = answer.get("content")
        if not content:
            return [f"has a body, the document none: {body[:60]!r}"] if body else []
        pairs = headers.items() if hasattr(headers, "items") else headers
        types = [value for name, value in pairs if name.lower() == "content-type"]
        kind = types[0].split(";")[0].strip().lower() if types else ""
        if kind not in content:
            return [f"content type {kind or 'none'} is not one of {', '.join(sorted(content))}"]
        if kind == "text/event-stream":
            return self.check_stream(content[kind].get("x-event-data"), body)
        if kind != "application/json":
            return []
        return self.check_json(content[kind].get("schema", {}), body)

    def check_json(self, schema, body):
        try:
            value = json.loads(body.decode("utf-8"), parse_constant=self.not_json)
        except (UnicodeDecodeError, ValueError) as error:
            return [f"is not JSON: {error}"]
        return self.schemas.problems(value, schema)

    def check_stream(self, described, body):
        if described is None:
            return ["the document does not say what the data of its events are"]
        problems = []
        for number, (kind, data) in enumerate(stream_events(body), 1):
            schema = described if "$ref" in described else described.get(kind)
            if schema is None:
                problems.append(f"event {number}: {kind} is not one of "
                                f"{', '.join(sorted(described))}")
                continue
            self.events_checked += 1
            problems += [f"event {number} ({kind}): {line}"
                         for line in self.check_json(schema, data)]
        return problems

    @staticmethod
    def not_json(word):
        raise ValueError(f"{word} is not JSON")

    def check_request(self, method, target, body):
        """Problems of a request's JSON body, so that tests do not lean on what is not allowed."""
        found = self.find(method, target)
        if found is None:
            return [f"{method} {target}: is not in the document"]
        pattern, operation = found
        ask = self.schemas.resolve(operation.get("requestBody", {}))
        schema = ask.get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return [f"{method} {pattern}: takes no JSON body"] if body else []
        return [f"{method} {pattern}: {line}"
                for line in self.schemas.problems(json.loads(body), schema)]

    def check_document(self):
        """Problems of the document itself: references that lead nowhere, unknown keywords."""
        problems = []
        for name, schema in self.document.get("components", {}).get("schemas", {}).items():
            problems += self.check_schema(schema, f"components/schemas/{name}")
        for pattern, item in self.document["paths"].items():
            for method, operation in item.items():
                if method not in self.METHODS:
                    continue
                where = f"{method.upper()} {pattern}"
                named = set(re.findall(r"\{([^}]*)\}", pattern))
                given = {p["name"] for p in map(self.schemas.resolve,
                                                operation.get("parameters", []) +
                                                item.get("parameters", []))
                         if p.get("in") == "path"}
                for name in sorted(named ^ given):
                    problems.append(f"{where}: parameter {name} of the path is not described, or "
                                    "described and not in the path")
                for status, answer in operation["responses"].items():
                    for kind, media in self.schemas.resolve(answer).get("content", {}).items():
                        problems += self.check_schema(media.get("schema", {}),
                                                      f"{where} {status} {kind}")
                        events = media.get("x-event-data", {})
                        for name, schema in ([("", events)] if "$ref" in events
                                             else events.items()):
                            problems += self.check_schema(schema, f"{where} events {name}")
        return problems

    def check_schema(self, schema, where, depth=0):
        if depth > DEPTH_MAX or isinstance(schema, bool):
            return []
        if "$ref" in schema:
            try:
                self.schemas.resolve(schema)
            except DocumentError as error:
                return [f"{where}: {error}"]
            return []
        problems = [f"{where}: keyword {keyword} is not known" for keyword in schema
                    if keyword not in ANNOTATIONS and not keyword.startswith("x-")
                    and not hasattr(self.schemas, "check_" + keyword)]
        below = list(schema.get("properties", {}).items())
        below += [(k, schema[k]) for k in ("items", "additionalProperties") if k in schema]
        for keyword in ("oneOf", "anyOf", "allOf"):
            below += [(f"{keyword}/{i}", s) for i, s in enumerate(schema.get(keyword, []))]
        for name, inner in below:
            problems += self.check_schema(inner, f"{where}/{name}", depth + 1)
        for name in schema.get("required", []):
            if "properties" in schema and name not in schema["properties"]:
                problems.append(f"{where}: {name} is required but not described")
        return problems
