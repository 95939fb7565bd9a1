"""Model providers on the loopback: each answers a first request with calls of tools, a second one with a text.

They know their API's JSON and its rules about tools, and keep every request for the test to look at.
"""

import contextlib
import http.server
import json
import re
import threading

from lib import check, short

DONE = "That is all."
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
DESCRIPTION_MAX = 1024


def check_schema(schema):
    check(schema.get("type") == "object", f"the schema is no object: {short(schema)}")
    for word in ("oneOf", "anyOf", "allOf", "enum", "not", "$ref"):
        check(word not in schema, f"{word} at the top of a schema is refused")


def check_plain_tool(name, description, schema):
    check(NAME.fullmatch(name), f"{name!r} is refused as a name")
    check(0 < len(description) <= DESCRIPTION_MAX, f"{name}: a description of {len(description)} characters")
    check_schema(schema)


class Chat:
    """OpenAI, Chat Completions."""

    name = "openai chat"
    format = "openai"
    path = "/v1/chat/completions"
    reply_id = "tool_call_id"
    reply_text = "content"

    def check_tools(self, sent, listed):
        check(sent == listed, f"the tools arrived as {short(sent)}")
        for tool in sent:
            check(tool["type"] == "function", f"{short(tool)}")
            check_plain_tool(tool["function"]["name"], tool["function"]["description"], tool["function"]["parameters"])

    def first(self, calls):
        made = [
            {"id": ident, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for ident, name, arguments in calls
        ]
        return self.response({"role": "assistant", "content": None, "refusal": None, "tool_calls": made}, "tool_calls")

    def second(self):
        return self.response({"role": "assistant", "content": DONE, "refusal": None}, "stop")

    def response(self, message, reason):
        choice = {"index": 0, "finish_reason": reason, "logprobs": None, "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                "usage": usage}

    def check_results(self, body, calls, results):
        *_, asked = body["messages"][: -len(results)]
        check([c["id"] for c in asked["tool_calls"]] == [c[0] for c in calls], f"the calls went back as {short(asked)}")
        check(body["messages"][-len(results) :] == results, f"the results arrived as {short(body['messages'])}")


class Responses:
    """OpenAI, Responses."""

    name = "openai responses"
    format = "openai-responses"
    path = "/v1/responses"
    reply_id = "call_id"
    reply_text = "output"

    def check_tools(self, sent, listed):
        check(sent == listed, f"the tools arrived as {short(sent)}")
        for tool in sent:
            check(tool["type"] == "function" and tool["strict"] is False, f"{short(tool)}")
            check_plain_tool(tool["name"], tool["description"], tool["parameters"])

    def first(self, calls):
        return self.response([
            {"type": "function_call", "id": f"fc_{ident}", "call_id": ident, "name": name,
             "arguments": json.dumps(arguments), "status": "completed"}
            for ident, name, arguments in calls
        ])

    def second(self):
        text = {"type": "output_text", "text": DONE, "annotations": [], "logprobs": []}
        return self.response([
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        ])

    def response(self, output):
        return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
                "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "output": output,
                "parallel_tool_calls": True, "temperature": 1, "tool_choice": "auto", "tools": [], "top_p": 1}

    def check_results(self, body, calls, results):
        asked = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
        check(asked == [c[0] for c in calls], f"the calls went back as {short(body['input'])}")
        check(body["input"][-len(results) :] == results, f"the results arrived as {short(body['input'])}")


class Anthropic:
    """Anthropic, Messages."""

    name = "anthropic"
    format = "anthropic"
    path = "/v1/messages"
    reply_id = "tool_use_id"
    reply_text = "content"

    def check_tools(self, sent, listed):
        check(sent == listed, f"the tools arrived as {short(sent)}")
        for tool in sent:
            check_plain_tool(tool["name"], tool["description"], tool["input_schema"])

    def first(self, calls):
        content = [{"type": "text", "text": "I look."}]
        content += [{"type": "tool_use", "id": i, "name": name, "input": arguments} for i, name, arguments in calls]
        return self.response(content, "tool_use")

    def second(self):
        return self.response([{"type": "text", "text": DONE}], "end_turn")

    def response(self, content, reason):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
                "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}

    def check_results(self, body, calls, results):
        asked, told = body["messages"][-2:]
        ids = [block["id"] for block in asked["content"] if block["type"] == "tool_use"]
        check(ids == [c[0] for c in calls], f"the calls went back as {short(asked)}")
        check(told == {"role": "user", "content": results}, f"the results arrived as {short(told)}")


class Ollama:
    """Ollama, chat. Its calls have an id and an index, which not every client keeps."""

    name = "ollama"
    format = "ollama"
    path = "/api/chat"
    reply_id = "tool_call_id"
    reply_text = "content"

    def check_tools(self, sent, listed):
        """A client may leave out what its types do not know of a schema, but not change the rest."""
        check(len(sent) == len(listed), f"{len(sent)} tools arrived")
        for one, other in zip(sent, listed):
            check(one["type"] == "function", f"{short(one)}")
            one, other = one["function"], other["function"]
            check(one["name"] == other["name"] and one["description"] == other["description"], f"{short(one)}")
            check_schema(one["parameters"])
            check(one["parameters"].get("required", []) == other["parameters"].get("required", []), f"{short(one)}")
            properties = one["parameters"].get("properties", {})
            check(properties.keys() == other["parameters"]["properties"].keys(), f"{short(one)}")
            for name, schema in properties.items():
                whole = other["parameters"]["properties"][name]
                check({"type", "description"} <= schema.keys() and schema.items() <= whole.items(), f"{short(schema)}")

    def first(self, calls):
        made = [
            {"id": ident, "function": {"index": index, "name": name, "arguments": arguments}}
            for index, (ident, name, arguments) in enumerate(calls)
        ]
        return self.response({"role": "assistant", "content": "", "tool_calls": made})

    def second(self):
        return self.response({"role": "assistant", "content": DONE})

    def response(self, message):
        return {"model": "m", "created_at": "2024-01-01T00:00:00Z", "message": message, "done": True,
                "done_reason": "stop"}

    def check_results(self, body, calls, results):
        *_, asked = body["messages"][: -len(results)]
        names = [call["function"]["name"] for call in asked["tool_calls"]]
        check(names == [c[1] for c in calls], f"the calls went back as {short(asked)}")
        for one, other in zip(body["messages"][-len(results) :], results):
            check({"role", "tool_name", "content"} <= one.keys(), f"a result arrived as {short(one)}")
            check(one.items() <= other.items(), f"a result arrived as {short(one)}")


PROVIDERS = [Chat(), Responses(), Anthropic(), Ollama()]


class Server:
    """Answers POST requests in order; each must be for the expected path."""

    def __init__(self):
        self.replies = []
        self.bodies = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def expect(self, path, replies):
        self.replies = [(path, reply) for reply in replies]
        self.bodies = []

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["content-length"]))
        path, reply = self.replies.pop(0) if self.replies else (None, {"error": "one request too many"})
        status = 200 if handler.path.partition("?")[0] == path else 404
        with contextlib.suppress(ValueError):
            self.bodies.append(json.loads(body))
        data = json.dumps(reply).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def close(self):
        self.http.shutdown()
        self.http.server_close()
