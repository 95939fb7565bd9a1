"""A model on the loopback that does what it is told: it calls one tool after the other, then it says that it is done.

It speaks the streams of Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini. Where a conversation is
is told by the results in it alone, so what an agent asks beside it (a title, a summary) disturbs nothing.
"""

import contextlib
import http.server
import json
import threading

DONE = "That is all."


def text_of(content):
    """What a result says, whichever of the forms it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return content.get("text") or text_of(content.get("output", content.get("content", json.dumps(content))))
    return "".join(text_of(block) for block in content or ())


class Api:
    """One way of asking a model; `calls` and `results` are those of the conversation so far."""

    def __init__(self, body):
        self.body = body

    def find(self, name):
        """The tool's name as this agent has it: with the server's name before it, as a rule."""
        known = self.names()
        fits = [n for n in known if n == name] or [n for n in known if n.endswith((f"_{name}", f".{name}"))]
        assert fits, f"there is no tool {name} among {known}"
        return fits[0]


class Messages(Api):
    def names(self):
        return [tool["name"] for tool in self.body.get("tools", ())]

    def blocks(self, kind):
        lists = [m["content"] for m in self.body["messages"] if isinstance(m["content"], list)]
        return [block for content in lists for block in content if block.get("type") == kind]

    def results(self):
        return [(text_of(b.get("content")), bool(b.get("is_error"))) for b in self.blocks("tool_result")]

    def answer(self, call, number):
        start = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": [],
                 "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        if call:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": self.find(call[0]), "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": DONE}
        end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        return [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]

    def whole(self, _call, number):
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
                "content": [{"type": "text", "text": DONE}]}  # fmt: skip


class Responses(Api):
    def tools(self):
        """Pairs of a namespace, which may be None, and a name."""
        for tool in self.body.get("tools", ()):
            if tool.get("type") == "namespace":
                yield from ((tool["name"], inner["name"]) for inner in tool["tools"])
            else:
                yield None, tool.get("name", tool["type"])

    def names(self):
        return [f"{space}.{name}" if space else name for space, name in self.tools()]

    def results(self):
        kinds = ("function_call_output", "custom_tool_call_output")
        return [(text_of(i["output"]), None) for i in self.body["input"] if i.get("type") in kinds]

    def answer(self, call, number):
        if call:
            space, _, name = self.find(call[0]).rpartition(".")
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
                    "arguments": json.dumps(call[1])}  # fmt: skip
            if space:
                item["namespace"] = space
            if isinstance(call[1], str):
                item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}", "name": name,
                        "input": call[1]}  # fmt: skip
        else:
            text = {"type": "output_text", "text": DONE, "annotations": []}
            item = {"type": "message", "id": f"m_{number}", "role": "assistant", "content": [text]}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
                 "total_tokens": 2}  # fmt: skip
        head = {"id": f"resp_{number}", "output": []}
        return [
            {"type": "response.created", "response": head},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**head, "usage": usage}},
        ]


class Chat(Api):
    def names(self):
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]

    def results(self):
        return [(text_of(m["content"]), None) for m in self.body["messages"] if m["role"] == "tool"]

    def answer(self, call, number):
        def piece(delta, reason=None):
            return {"id": f"c_{number}", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}  # fmt: skip

        if not call:
            return [piece({"role": "assistant", "content": DONE}), piece({}, "stop")]
        function = {"name": self.find(call[0]), "arguments": json.dumps(call[1])}
        made = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        return [piece({"role": "assistant", "content": None, "tool_calls": [made]}), piece({}, "tool_calls")]

    def whole(self, _call, number):
        return {"id": f"c_{number}", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": DONE}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}  # fmt: skip


class Gemini(Api):
    def names(self):
        return [one["name"] for tool in self.body.get("tools", ()) for one in tool.get("functionDeclarations", ())]

    def results(self):
        parts = [part for content in self.body["contents"] for part in content.get("parts", ())]
        found = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        return [(text_of(r.get("output", r.get("error", ""))), "error" in r) for r in found]

    def answer(self, call, number):
        part = {"functionCall": {"name": self.find(call[0]), "args": call[1]}} if call else {"text": DONE}
        return [self.whole(None, number) | {"candidates": [
            {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}]  # fmt: skip

    def whole(self, _call, _number):
        return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": DONE}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}  # fmt: skip


APIS = {"/messages": Messages, "/responses": Responses, "/chat/completions": Chat, "GenerateContent": Gemini,
        "generateContent": Gemini}  # fmt: skip


class Model:
    """The calls it makes, and what it was sent: `tools` (names), `results` (pairs of a text and whether it is an error) of
    the longest conversation, `faults` of its own."""

    def __init__(self, calls, ours="read_file"):
        self.calls = calls
        self.ours = ours
        self.tools = []
        self.results = []
        self.instructions = ""
        self.faults = []
        self.lock = threading.Lock()
        self.url = ""

    def next(self, api):
        """The events of an answer."""
        results = api.results()
        number = len(results)
        with self.lock:
            if number >= len(self.results):
                self.results, self.tools = results, api.names()
                self.instructions = json.dumps(api.body)
        return api.answer(self.calls[number] if number < len(self.calls) else None, number)

    def converses(self, api):
        """Whether this is the agent at work: what else it wants has no such tool."""
        return any(name.endswith(self.ours) for name in api.names())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def stream(self, api, events):
        text = ""
        for event in events:
            text += f"event: {event['type']}\n" if isinstance(api, (Messages, Responses)) else ""
            text += f"data: {json.dumps(event)}\n\n"
        self.send((text + ("data: [DONE]\n\n" if isinstance(api, Chat) else "")).encode(), "text/event-stream")

    def do_GET(self):
        self.send(b'{"data":[],"models":[]}')

    do_HEAD = do_GET

    def do_POST(self):
        model = self.server.model
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        kind = next((kind for end, kind in APIS.items() if path.endswith(end)), None)
        if not kind:
            return self.send(b'{"input_tokens":1,"totalTokens":1}')
        try:
            api = kind(json.loads(body))
            if model.converses(api):
                return self.stream(api, model.next(api))
            if api.body.get("stream") or "stream" in path:
                return self.stream(api, api.answer(None, 0))
            return self.send(json.dumps(api.whole(None, 0)).encode())
        except Exception as error:  # noqa: BLE001 # a fault of the model is the test's to tell
            model.faults.append(f"{path}: {error!r}")
            self.send_error(400)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """An agent that ends takes its connections with it."""


@contextlib.contextmanager
def serving(calls, **more):
    """A model with these calls: pairs of a tool's name and arguments, or a text for a tool that takes one."""
    server = Server(("127.0.0.1", 0), Handler)
    server.model = Model(calls, **more)
    server.model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
