"""The native tools with types. Written by clients/generate.py from the tools' own schemas: do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, cast

from ._wire import PathArgument, path_argument

__all__ = [
    "ReadFileResult",
    "WriteFileResult",
    "ListFilesResultEntry",
    "ListFilesResult",
    "StatResult",
    "TimeNowResult",
]


def _given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


class _ReadFileResultOptional(TypedDict, total=False):
    hint: str
    """What to do to see the rest."""


class ReadFileResult(_ReadFileResultOptional):
    path: str
    content: str
    encoding: Literal["utf8", "base64", "auto"]
    bytes: int
    """Size of the whole file."""
    sha256: str
    """Of the whole file."""
    start_line: int
    end_line: int
    total_lines: int
    truncated: bool
    tier: str
    duration_ms: int


class WriteFileResult(TypedDict):
    path: str
    bytes_written: int
    sha256: str
    """Of the whole file now."""
    created: bool
    tier: str
    duration_ms: int


class _ListFilesResultEntryOptional(TypedDict, total=False):
    name_b64: str
    """Base64 of the name, where it is not UTF-8."""


class ListFilesResultEntry(_ListFilesResultEntryOptional):
    path: str
    type: Literal["file", "directory", "symlink", "other"]
    size: int
    mtime: str


class _ListFilesResultOptional(TypedDict, total=False):
    hint: str


class ListFilesResult(_ListFilesResultOptional):
    path: str
    entries: List[ListFilesResultEntry]
    truncated: bool
    tier: str
    duration_ms: int


class StatResult(TypedDict):
    path: str
    type: Literal["file", "directory", "symlink", "other"]
    size: int
    mode: str
    """Permissions, in octal."""
    mtime: str
    is_symlink: bool
    tier: str
    duration_ms: int


class TimeNowResult(TypedDict):
    utc: str
    """RFC 3339, in UTC."""
    unix_ms: int
    """Milliseconds since 1970-01-01."""
    tier: str
    duration_ms: int


class Tools:
    """Typed methods that wait."""

    def _tool(self, name: str, arguments: Dict[str, Any], timeout: Optional[float]) -> Any:
        raise NotImplementedError

    def read_file(
        self,
        path: PathArgument,
        *,
        start_line: Optional[int] = None,
        end_line: Optional[int] = None,
        max_bytes: Optional[int] = None,
        encoding: Optional[Literal["utf8", "base64", "auto"]] = None,
        timeout: Optional[float] = None,
    ) -> ReadFileResult:
        """Reads a text file of the workspace and returns its content with the file's size, SHA-256 and number of lines.
        For a large file give start_line and end_line. The sha256 can be given to write_file as if_match_sha256 so that
        nobody else's change is overwritten.

        path: File to read, relative to the workspace.
        start_line: First line to return, counted from 1.
        end_line: Last line to return, itself included.
        max_bytes: Most bytes of content to return. Default: 100000.
        encoding: How the content is written: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64
            only where utf8 would lose something. Default: "utf8".
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "start_line": start_line,
                "end_line": end_line,
                "max_bytes": max_bytes,
                "encoding": encoding,
            }
        )
        return cast(ReadFileResult, self._tool("read_file", arguments, timeout))

    def write_file(
        self,
        path: PathArgument,
        content: str,
        *,
        encoding: Optional[Literal["utf8", "base64"]] = None,
        if_match_sha256: Optional[str] = None,
        append: Optional[bool] = None,
        create_only: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> WriteFileResult:
        """Writes a file of the workspace, making missing folders. The file is replaced as a whole: it holds either the
        old or the new content, never half. Give if_match_sha256 from an earlier read to be refused when the file has
        changed since.

        path: File to write, relative to the workspace; missing folders are made.
        content: What the file is to contain.
        encoding: How `content` is written. Default: "utf8".
        if_match_sha256: Write only if the file's SHA-256 still is this one.
        append: Add to the end instead of replacing. Default: false.
        create_only: Fail if the file exists. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "content": content,
                "encoding": encoding,
                "if_match_sha256": if_match_sha256,
                "append": append,
                "create_only": create_only,
            }
        )
        return cast(WriteFileResult, self._tool("write_file", arguments, timeout))

    def list_files(
        self,
        path: Optional[PathArgument] = None,
        *,
        hidden: Optional[bool] = None,
        max_results: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListFilesResult:
        """Lists the files and folders directly inside a folder of the workspace, sorted by name, each with its type,
        size and time of change.

        path: Folder to list, relative to the workspace; the workspace itself when left out.
        hidden: Also list names that begin with a dot. Default: false.
        max_results: Most entries to return. Default: 1000.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "hidden": hidden,
                "max_results": max_results,
            }
        )
        return cast(ListFilesResult, self._tool("list_files", arguments, timeout))

    def stat(
        self,
        path: PathArgument,
        *,
        timeout: Optional[float] = None,
    ) -> StatResult:
        """Tells whether a path of the workspace is a file or a folder, its size, permissions and time of change,
        without reading it.

        path: File or folder, relative to the workspace.
        """
        arguments = _given(
            {
                **path_argument("path", path),
            }
        )
        return cast(StatResult, self._tool("stat", arguments, timeout))

    def time_now(
        self,
        *,
        timeout: Optional[float] = None,
    ) -> TimeNowResult:
        """Tells the current date and time in UTC."""
        arguments: Dict[str, Any] = {}
        return cast(TimeNowResult, self._tool("time_now", arguments, timeout))


class AsyncTools:
    """Typed methods to await."""

    async def _tool(self, name: str, arguments: Dict[str, Any], timeout: Optional[float]) -> Any:
        raise NotImplementedError

    async def read_file(
        self,
        path: PathArgument,
        *,
        start_line: Optional[int] = None,
        end_line: Optional[int] = None,
        max_bytes: Optional[int] = None,
        encoding: Optional[Literal["utf8", "base64", "auto"]] = None,
        timeout: Optional[float] = None,
    ) -> ReadFileResult:
        """Reads a text file of the workspace and returns its content with the file's size, SHA-256 and number of lines.
        For a large file give start_line and end_line. The sha256 can be given to write_file as if_match_sha256 so that
        nobody else's change is overwritten.

        path: File to read, relative to the workspace.
        start_line: First line to return, counted from 1.
        end_line: Last line to return, itself included.
        max_bytes: Most bytes of content to return. Default: 100000.
        encoding: How the content is written: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64
            only where utf8 would lose something. Default: "utf8".
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "start_line": start_line,
                "end_line": end_line,
                "max_bytes": max_bytes,
                "encoding": encoding,
            }
        )
        return cast(ReadFileResult, await self._tool("read_file", arguments, timeout))

    async def write_file(
        self,
        path: PathArgument,
        content: str,
        *,
        encoding: Optional[Literal["utf8", "base64"]] = None,
        if_match_sha256: Optional[str] = None,
        append: Optional[bool] = None,
        create_only: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> WriteFileResult:
        """Writes a file of the workspace, making missing folders. The file is replaced as a whole: it holds either the
        old or the new content, never half. Give if_match_sha256 from an earlier read to be refused when the file has
        changed since.

        path: File to write, relative to the workspace; missing folders are made.
        content: What the file is to contain.
        encoding: How `content` is written. Default: "utf8".
        if_match_sha256: Write only if the file's SHA-256 still is this one.
        append: Add to the end instead of replacing. Default: false.
        create_only: Fail if the file exists. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "content": content,
                "encoding": encoding,
                "if_match_sha256": if_match_sha256,
                "append": append,
                "create_only": create_only,
            }
        )
        return cast(WriteFileResult, await self._tool("write_file", arguments, timeout))

    async def list_files(
        self,
        path: Optional[PathArgument] = None,
        *,
        hidden: Optional[bool] = None,
        max_results: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListFilesResult:
        """Lists the files and folders directly inside a folder of the workspace, sorted by name, each with its type,
        size and time of change.

        path: Folder to list, relative to the workspace; the workspace itself when left out.
        hidden: Also list names that begin with a dot. Default: false.
        max_results: Most entries to return. Default: 1000.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "hidden": hidden,
                "max_results": max_results,
            }
        )
        return cast(ListFilesResult, await self._tool("list_files", arguments, timeout))

    async def stat(
        self,
        path: PathArgument,
        *,
        timeout: Optional[float] = None,
    ) -> StatResult:
        """Tells whether a path of the workspace is a file or a folder, its size, permissions and time of change,
        without reading it.

        path: File or folder, relative to the workspace.
        """
        arguments = _given(
            {
                **path_argument("path", path),
            }
        )
        return cast(StatResult, await self._tool("stat", arguments, timeout))

    async def time_now(
        self,
        *,
        timeout: Optional[float] = None,
    ) -> TimeNowResult:
        """Tells the current date and time in UTC."""
        arguments: Dict[str, Any] = {}
        return cast(TimeNowResult, await self._tool("time_now", arguments, timeout))
