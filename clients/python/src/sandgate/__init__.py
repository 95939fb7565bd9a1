"""Sandgate's tools from Python: `Gate` for threads, `AsyncGate` for asyncio."""

from . import _tools
from ._approvals import Approval, ApprovalOver, Approver, AsyncApprover, Decision, OnApprovalOver, Scope
from ._async import AsyncGate
from ._gate import Call, Gate
from ._tools import *
from ._wire import OnOutput, PathArgument
from .errors import ApprovalError, CallTimeout, GateClosed, GateDied, GateError, GateNotFound, SandgateError, ToolError

__version__ = "0.1.0"

__all__ = [
    "Approval",
    "ApprovalError",
    "ApprovalOver",
    "Approver",
    "AsyncApprover",
    "AsyncGate",
    "Call",
    "CallTimeout",
    "Decision",
    "Gate",
    "GateClosed",
    "GateDied",
    "GateError",
    "GateNotFound",
    "OnApprovalOver",
    "OnOutput",
    "PathArgument",
    "SandgateError",
    "Scope",
    "ToolError",
    "__version__",
]
__all__ += _tools.__all__
