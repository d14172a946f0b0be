#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A client that is made from /openapi.json alone: it finds every reference, and each route takes its
# own example, as POST and as GET.
. "$(dirname "$0")/lib.bash"
start_server
serve

python3 - "$base" <<'END' || fail "see above"
import json, re, sys, urllib.error, urllib.parse, urllib.request
base = sys.argv[1]
with urllib.request.urlopen(base + "/openapi.json") as answer:
    document = json.load(answer)
wrong = []

# Every reference leads somewhere, and is in the components only once.
def walk(node):
    if isinstance(node, dict):
        if "$ref" in node:
            at = document
            for part in node["$ref"].removeprefix("#/").split("/"):
                at = at.get(part) if isinstance(at, dict) else None
            if at is None:
                wrong.append(f"nothing at {node['$ref']}")
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        walk(part)
walk(document)

operations = [o for item in document["paths"].values() for o in item.values()]
names = [o["operationId"] for o in operations]
wrong += [f"{n} is no name" for n in names if not re.fullmatch("[a-z][a-z0-9_-]*", n)]
wrong += [f"{n} is there twice" for n in set(names) if names.count(n) > 1]

def schema_of(schema):
    return document["components"]["schemas"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema

# Whether a value fits a schema, as far as ours go.
TYPES = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list, "object": dict}
def fits(value, schema):
    schema = schema_of(schema)
    if "anyOf" in schema and not any(fits(value, one) for one in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) and (t == "boolean" or not isinstance(value, bool)) for t in types):
        return False
    if isinstance(value, dict) and "properties" in schema:
        return set(schema.get("required", [])) <= set(value) <= set(schema["properties"]) and all(
            fits(v, schema["properties"][k]) for k, v in value.items())
    if isinstance(value, list) and "items" in schema:
        return all(fits(v, schema["items"]) for v in value)
    return True

def ask(method, url, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(base + url, body, method=method), timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

# Examples with words for what an earlier call answers (TOKEN) may be refused for that.
def check(method, url, example, answer, body=None):
    status, said = ask(method, url, body)
    stands_in = any(isinstance(v, str) and v.isupper() for v in example.values()) if isinstance(example, dict) else False
    if status not in (200, 404, 409, 429) and not (status == 400 and stands_in):
        wrong.append(f"{method} {url} {example}: {status} {said}")
    schema = schema_of(document["components"]["schemas"]["Error"]) if status != 200 else answer
    if not fits(said, schema):
        wrong.append(f"{method} {url}: the answer does not fit its schema: {said}")

def text_of(value):
    return str(value).lower() if isinstance(value, bool) else str(value)

for path, item in document["paths"].items():
    content = item["post"]["requestBody"]["content"]["application/json"]
    example, schema = content["example"], content["schema"]
    answer = lambda o: o["responses"]["200"]["content"]["application/json"]["schema"]
    if not fits(example, schema):
        wrong.append(f"{path}: the example does not fit the schema: {example}")
    if isinstance(example, dict) and "wait" in example:
        example["wait"] = "100ms"
    check("POST", path, example, answer(item["post"]), json.dumps(example).encode())
    if "get" in item:
        given = {p["name"]: p["example"] for p in item["get"]["parameters"] if "example" in p}
        given |= {"wait": "100ms"} if "wait" in given else {}
        query = urllib.parse.urlencode([(k, text_of(v)) for k, values in given.items()
                                        for v in (values if isinstance(values, list) else [values])])
        check("GET", f"{path}?{query}", given, answer(item["get"]))
assert len(operations) > 250, len(operations)
sys.exit("\n".join(wrong) or 0)
END

# The standard's own rules, where a program knows them.
if command -v openapi-spec-validator >/dev/null && openapi-spec-validator --help >/dev/null 2>&1; then
    curl -s "$base/openapi.json" >"$home/openapi.json"
    ends 0 openapi-spec-validator "$home/openapi.json"
fi
unserve
