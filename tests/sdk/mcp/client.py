"""Talks with the server on its command line through the Python SDK and prints what came back as one JSON. The SDK
itself holds structured content against the output schema and raises where it does not fit."""

import json
import os
import sys

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

MODE = sys.argv[1]  # auto: asks for the newer protocol first; legacy: begins with initialize
SERVER = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], env=dict(os.environ))


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def told(client, name, **arguments):
    try:
        return {"result": plain(await client.call_tool(name, arguments))}
    except MCPError as error:
        return {"code": error.error.code, "message": error.error.message}


async def ask_many(client):
    answers = [None] * 200

    async def one(number):
        result = await client.call_tool("read_file", {"path": f"many/{number}"})
        structured = result.structured_content
        answers[number] = structured["content"] if structured else result.content[0].text

    async with anyio.create_task_group() as group:
        for number in range(len(answers)):
            group.start_soon(one, number)
    return answers


async def cancel_one(client):
    with anyio.move_on_after(0.05) as scope:
        await client.call_tool("read_file", {"path": "sparse", "hash": True})
    return scope.cancelled_caught


async def main():
    async with Client(stdio_client(SERVER), mode=MODE) as client:
        calls = {
            "write": await told(client, "write_file", path="made/by sdk.txt", content='a "b"\n\\ü\n'),
            "read": await told(client, "read_file", path="made/by sdk.txt"),
            "list": await told(client, "list_files", path="made"),
            "stat": await told(client, "stat", path="made/by sdk.txt"),
            "time": await told(client, "time_now"),
            "missing": await told(client, "read_file", path="missing"),
            "wrong": await told(client, "read_file", path="x", max_bytes="many"),
            "unknown": await told(client, "no_such_tool"),
        }
        report = {
            "server": plain(client.server_info),
            "capabilities": plain(client.server_capabilities),
            "instructions": client.instructions,
            "tools": [plain(tool) for tool in (await client.list_tools()).tools],
            "calls": calls,
            "many": await ask_many(client),
            "cancelled": await cancel_one(client),
            "version": client.protocol_version,
        }
        await client.send_ping()
        calls["after"] = await told(client, "read_file", path="many/7")
    print(json.dumps(report))


anyio.run(main)
