"""What can go wrong. Everything the package raises on purpose is a `SandgateError`, except `ValueError` and
`TypeError` for a request that cannot be written as JSON."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


class SandgateError(Exception):
    """The base of all of them."""


class GateError(SandgateError):
    """The gate itself cannot be used, or no longer."""


class GateNotFound(GateError):
    """There is no `sandgate` program, or it cannot be started."""


class GateClosed(GateError):
    """The gate was closed with `close()`."""


class GateDied(GateError):
    """The gate ended by itself. Whether the calls under way had an effect is not known."""

    def __init__(self, message: str, returncode: Optional[int], stderr: List[str]) -> None:
        super().__init__(message)
        self.returncode = returncode
        """Its exit status, or minus the signal that ended it."""
        self.stderr = stderr
        """The last lines it wrote to standard error."""


class CallTimeout(SandgateError, TimeoutError):
    """No answer within the caller's `timeout`. The call was cancelled; a write has happened or not."""


class ApprovalError(SandgateError):
    """An answer to a question could not be given: it was decided first, or no rule can be made of the call."""


class ToolError(SandgateError):
    """The gate answered that the call failed. The message is written for the model to act on."""

    def __init__(
        self,
        code: str,
        message: str,
        details: Optional[Dict[str, Any]] = None,
        retryable: bool = False,
        retry_after_ms: Optional[int] = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.details: Dict[str, Any] = details or {}
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
