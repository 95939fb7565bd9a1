"""How a gate is found and started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _core, _wire
from ._approvals import Approvals
from .errors import GateError, GateNotFound


def find_program(program: Optional[_wire.PathArgument]) -> str:
    """The option, then $SANDGATE, then PATH."""
    if program is not None:
        return os.fsdecode(program)
    named = os.environ.get("SANDGATE")
    if named:
        return named
    found = shutil.which("sandgate")
    if found is None:
        raise GateNotFound("there is no sandgate program: give program=, set $SANDGATE, or put it in PATH")
    return found


class Options:
    """What both gates are made from; see `Gate`."""

    def __init__(
        self,
        workspace: Optional[_wire.PathArgument],
        program: Optional[_wire.PathArgument],
        dialect: str,
        format: str,
        more: Mapping[str, Optional[_wire.PathArgument]],
        options: Sequence[str],
        env: Optional[Mapping[str, str]],
        cwd: Optional[_wire.PathArgument],
        max_in_flight: int,
        approver: bool = False,
    ) -> None:
        if max_in_flight < 1:
            raise ValueError("max_in_flight must be at least 1")
        self.program = find_program(program)
        self.dialect = dialect
        self.format = format
        self.env = env
        self.cwd = cwd
        self.max_in_flight = max_in_flight
        self.argv = [self.program, "stdio", "--dialect", dialect, "--format", format]
        self.argv += ["--approver"] if approver else []
        for name, value in {"workspace": workspace, **more}.items():
            if value is not None:
                self.argv += [f"--{name}", os.fsdecode(value)]
        self.argv += options

    def start(self, approvals: Optional[Approvals]) -> _core.Core:
        return _core.Core(self.argv, self.env, self.cwd, self.max_in_flight, approvals)

    def tools(self, format: Optional[str]) -> List[Dict[str, Any]]:
        argv = [self.program, "tools", "--dialect", self.dialect, "--format", format or self.format]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, env=self.env, cwd=self.cwd, timeout=60, check=False
            )
        except OSError as error:
            raise GateNotFound(f"cannot start {self.program!r}: {error}") from error
        except subprocess.TimeoutExpired:
            raise GateError("no list of tools within 60 s") from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise GateError(f"no list of tools (exit status {done.returncode}): {said}")
        listed: List[Dict[str, Any]] = json.loads(done.stdout)
        return listed

    def check_callable(self) -> None:
        if self.format != "tool_call":
            raise ValueError(f"this gate speaks the format {self.format!r}: it takes calls through handle()")


class Request:
    """One call as it goes out, and how its answer comes back."""

    def __init__(self, core: _core.Core, format: str, call: Dict[str, Any], mended: bool) -> None:
        key = _wire.id_key(call)
        self.format = format
        self.had_id = key in call
        self.original = call.get(key)
        self.id = core.reserve(_wire.usable_id(self.original))
        try:
            self.line = (_wire.encode_mended if mended else _wire.encode)({key: self.id, **call, key: self.id})
        except BaseException:
            core.release(self.id)
            raise

    def answer(self, answer: Dict[str, Any]) -> Any:
        """The dialect's result in format `tool_call`, else the message, with the id that the caller gave."""
        if self.format == "tool_call":
            return answer.get("result")
        key = _wire.answer_id(answer)[0]
        # Ollama's calls need not have an id. They are given one, else nothing would tell their answers apart.
        if key and not self.had_id and self.format == "ollama":
            del answer[key]
        elif key:
            answer[key] = self.original
        return answer


def tool_call(name: str, arguments: Optional[Mapping[str, Any]], more: Mapping[str, Any]) -> Dict[str, Any]:
    return {"tool_call": {"name": name, "arguments": {**(arguments or {}), **more}}}
