"""Sandgate's tools from Python: `Gate` for threads, `AsyncGate` for asyncio."""

from . import _tools
from ._async import AsyncGate
from ._gate import Call, Gate
from ._tools import *
from ._wire import OnOutput, PathArgument
from .errors import CallTimeout, GateClosed, GateDied, GateError, GateNotFound, SandgateError, ToolError

__version__ = "0.1.0"

__all__ = [
    "AsyncGate",
    "Call",
    "CallTimeout",
    "Gate",
    "GateClosed",
    "GateDied",
    "GateError",
    "GateNotFound",
    "OnOutput",
    "PathArgument",
    "SandgateError",
    "ToolError",
    "__version__",
]
__all__ += _tools.__all__
