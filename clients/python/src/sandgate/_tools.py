"""The native tools with types. Written by clients/generate.py from the tools' own schemas: do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, cast

from ._wire import OnOutput, PathArgument, path_argument

__all__ = [
    "ReadFileResult",
    "WriteFileResult",
    "ListFilesResultEntry",
    "ListFilesResult",
    "SearchResultMatch",
    "SearchResultStatsSkipped",
    "SearchResultStats",
    "SearchResult",
    "StatResult",
    "EditFileResult",
    "DeleteResult",
    "MoveResult",
    "MakeDirectoryResult",
    "UpdateFrontmatterResult",
    "RunCommandResultViolationsEntry",
    "RunCommandResult",
    "ReadOutputResult",
    "SessionDiffResultChangesEntry",
    "SessionDiffResult",
    "TimeNowResult",
    "EditFileEditsEntry",
]


def _given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


class _ReadFileResultOptional(TypedDict, total=False):
    sha256: str
    """Of the whole file. Over 512 KiB only where hash is true."""
    total_lines: int
    """Over 16 MiB only where hash is true or the end was read."""
    hint: str
    """What to do to see the rest."""


class ReadFileResult(_ReadFileResultOptional):
    path: str
    content: str
    encoding: Literal["utf8", "base64", "auto"]
    bytes: int
    """Size of the whole file."""
    start_line: int
    end_line: int
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
    path_b64: str
    """Base64 of the path, where it is not UTF-8."""
    size: int
    """Not with names_only."""
    mtime: str
    """Not with names_only."""


class ListFilesResultEntry(_ListFilesResultEntryOptional):
    path: str
    type: Literal["file", "directory", "symlink", "other"]


class _ListFilesResultOptional(TypedDict, total=False):
    hint: str


class ListFilesResult(_ListFilesResultOptional):
    path: str
    entries: List[ListFilesResultEntry]
    truncated: bool
    tier: str
    duration_ms: int


class _SearchResultMatchOptional(TypedDict, total=False):
    path_b64: str
    """Base64 of the path, where it is not UTF-8."""
    line: int
    """Counted from 1."""
    column: int
    """Byte of the line where the match begins, from 1."""
    text: str
    """The line without its end."""
    spans: List[List[int]]
    """Start and end of each match in the line, in bytes from its beginning."""
    before: List[str]
    after: List[str]
    cut: bool
    """Parts of the long line are left out of text."""
    count: int
    """Lines of the file that match."""


class SearchResultMatch(_SearchResultMatchOptional):
    path: str


class SearchResultStatsSkipped(TypedDict):
    binary: int
    ignored: int
    unreadable: int
    long_lines: int


class SearchResultStats(TypedDict):
    files: int
    """That were searched."""
    bytes: int
    """Of them."""
    duration_ms: int
    skipped: SearchResultStatsSkipped


class _SearchResultOptional(TypedDict, total=False):
    hint: str


class SearchResult(_SearchResultOptional):
    matches: List[SearchResultMatch]
    truncated: bool
    stats: SearchResultStats
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


class EditFileResult(TypedDict):
    path: str
    diff: str
    """Unified diff."""
    truncated: bool
    """The diff was cut."""
    sha256_before: str
    sha256_after: str
    bytes: int
    """Size of the file then."""
    dry_run: bool
    tier: str
    duration_ms: int


class DeleteResult(TypedDict):
    path: str
    type: Literal["file", "directory", "symlink", "other"]
    """What was there."""
    deleted: int
    """How many files and folders were deleted."""
    tier: str
    duration_ms: int


_MoveResultWords = TypedDict("_MoveResultWords", {"from": str})


class MoveResult(_MoveResultWords):
    to: str
    type: Literal["file", "directory", "symlink", "other"]
    replaced: bool
    tier: str
    duration_ms: int


class MakeDirectoryResult(TypedDict):
    path: str
    created: bool
    """False when the folder was there already."""
    tier: str
    duration_ms: int


class UpdateFrontmatterResult(TypedDict):
    path: str
    diff: str
    """Unified diff."""
    truncated: bool
    """The diff was cut."""
    sha256_before: str
    sha256_after: str
    bytes: int
    """Size of the file then."""
    tier: str
    duration_ms: int


class RunCommandResultViolationsEntry(TypedDict):
    call: str
    count: int


class _RunCommandResultOptional(TypedDict, total=False):
    exit_code: int
    """Absent where a signal ended it."""
    signal: str
    """The signal that ended it: `SIGKILL`."""
    output_id: str
    """For `read_output`, where output was cut."""
    peak_memory: int
    """In bytes; absent: not known."""
    cpu_ms: int
    """Absent: not known."""
    limits: str
    """`watched` where no control group can be used, so that the limits in `weaker` are."""
    weaker: List[str]
    """`memory:watched` and `processes:watched`: looked at ten times a second, and more can be used in between. `cpus:none`: not limited."""
    hint: str


class RunCommandResult(_RunCommandResultOptional):
    stdout: str
    stderr: str
    truncated: bool
    ended_by: Literal[
        "exit", "signal", "timeout", "memory_limit", "process_limit", "disk_limit", "file_size_limit", "cpu_limit"
    ]
    """What ended it."""
    violations: List[RunCommandResultViolationsEntry]
    """What the sandbox refused it, and how often."""
    tier: str
    duration_ms: int


class ReadOutputResult(TypedDict):
    content: str
    """What is not UTF-8 is replaced."""
    offset: int
    """Where the content begins."""
    next_offset: int
    """The offset to go on with."""
    total_bytes: int
    """How much the command printed to this stream."""
    complete: bool
    """False when the command still runs, or printed more than is kept."""
    truncated: bool
    """There is more to read at next_offset."""
    tier: str
    duration_ms: int


class _SessionDiffResultChangesEntryOptional(TypedDict, total=False):
    path_b64: str
    """Base64 of the path, where it is not UTF-8."""
    renamed_from: str
    """The path before, of one that was renamed."""
    renamed_from_b64: str


class SessionDiffResultChangesEntry(_SessionDiffResultChangesEntryOptional):
    change: str
    """added, modified, deleted, renamed, mode or type."""
    path: str


class SessionDiffResult(TypedDict):
    changes: List[SessionDiffResultChangesEntry]
    """At most 1,000."""
    count: int
    """How many there are."""
    patch: str
    """As `git apply` takes it, without secrets, binary files and what did not fit."""
    left_out: int
    """Changes that the patch does not say, or not all of."""
    tier: str
    duration_ms: int


class TimeNowResult(TypedDict):
    utc: str
    """RFC 3339, in UTC."""
    unix_ms: int
    """Milliseconds since 1970-01-01."""
    tier: str
    duration_ms: int


class _EditFileEditsEntryOptional(TypedDict, total=False):
    all: bool
    """Replace every occurrence."""


class EditFileEditsEntry(_EditFileEditsEntryOptional):
    old_text: str
    """Exact text to replace; must occur once."""
    new_text: str
    """What takes its place."""


class Tools:
    """Typed methods that wait."""

    def _tool(
        self,
        name: str,
        arguments: Dict[str, Any],
        timeout: Optional[float],
        on_output: Optional[OnOutput] = None,
    ) -> Any:
        raise NotImplementedError

    def read_file(
        self,
        path: PathArgument,
        *,
        start_line: Optional[int] = None,
        end_line: Optional[int] = None,
        max_bytes: Optional[int] = None,
        encoding: Optional[Literal["utf8", "base64", "auto"]] = None,
        hash: Optional[bool] = None,
        line_numbers: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ReadFileResult:
        """Reads a text file, or shows an image. Read a large file in parts with start_line and end_line. The sha256,
        asked for with hash, can be given to write_file and edit_file as if_match_sha256, so that nobody else's change
        is overwritten.

        path: File to read.
        start_line: First line, from 1.
        end_line: Last line, included.
        max_bytes: Most bytes of content. Default: 100000.
        encoding: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64 only where utf8 would lose
            something. Default: "utf8".
        hash: Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB. In plain text: give sha256.
            Default: false.
        line_numbers: In plain text: each line behind its number and a tab; false: the exact text. Default: true.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "start_line": start_line,
                "end_line": end_line,
                "max_bytes": max_bytes,
                "encoding": encoding,
                "hash": hash,
                "line_numbers": line_numbers,
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
        """Writes a file as a whole: it holds either the old or the new content, never half.

        path: File to write; missing folders are made.
        content: The whole new content.
        encoding: How `content` is written. Default: "utf8".
        if_match_sha256: Only if this is still its SHA-256.
        append: Add to the end instead. Default: false.
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
        recursive: Optional[bool] = None,
        glob: Optional[str] = None,
        exclude: Optional[str] = None,
        hidden: Optional[bool] = None,
        ignore: Optional[bool] = None,
        names_only: Optional[bool] = None,
        max_results: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListFilesResult:
        """Lists a folder, sorted by name: files and folders with type, size and time, or in plain text a tree; with a
        glob only the paths that match.

        path: Folder to list; default: the workspace.
        recursive: Also what is inside the folders. Default: false.
        glob: Only paths that match, seen from the folder: *.c, src/**/*.{ts,tsx}. With `**` or a slash give recursive
            too.
        exclude: Leave out what matches, and all in it; without a slash at any depth: {node_modules,*.o}.
        hidden: Also names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: false.
        names_only: Without sizes and times; plain text has them only with false. Default: false.
        max_results: Most entries. Default: 1000.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "recursive": recursive,
                "glob": glob,
                "exclude": exclude,
                "hidden": hidden,
                "ignore": ignore,
                "names_only": names_only,
                "max_results": max_results,
            }
        )
        return cast(ListFilesResult, self._tool("list_files", arguments, timeout))

    def search(
        self,
        pattern: str,
        path: Optional[PathArgument] = None,
        *,
        literal: Optional[bool] = None,
        ignore_case: Optional[bool] = None,
        word: Optional[bool] = None,
        include: Optional[str] = None,
        exclude: Optional[str] = None,
        hidden: Optional[bool] = None,
        ignore: Optional[bool] = None,
        before: Optional[int] = None,
        after: Optional[int] = None,
        max_results: Optional[int] = None,
        mode: Optional[Literal["lines", "files", "count"]] = None,
        timeout: Optional[float] = None,
    ) -> SearchResult:
        """Searches text files line by line. What .gitignore and .ignore files name, hidden and binary files, .git and
        node_modules are left out. In a large workspace look first with mode files or count, then narrow with path and
        include.

        pattern: Regular expression for one line, in Rust's syntax; no look-around, no back-references.
        path: Folder or file; default: the workspace.
        literal: The pattern is plain text. Default: false.
        ignore_case: Capital and small letters are the same. Default: false.
        word: Only whole words. Default: false.
        include: Only files that match: *.c at any depth, src/**/*.{ts,tsx} seen from the folder.
        exclude: Leave out files that match, and folders with all in them: {dist,*.min.js}.
        hidden: Also names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: true.
        before: Lines of context before each match. Default: 0.
        after: Lines of context behind each match. Default: 0.
        max_results: Most matching lines, or files. Default: 100.
        mode: lines; only the files that match; or count: those files with how many lines match. Default: "lines".
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "pattern": pattern,
                "literal": literal,
                "ignore_case": ignore_case,
                "word": word,
                "include": include,
                "exclude": exclude,
                "hidden": hidden,
                "ignore": ignore,
                "before": before,
                "after": after,
                "max_results": max_results,
                "mode": mode,
            }
        )
        return cast(SearchResult, self._tool("search", arguments, timeout))

    def stat(
        self,
        path: PathArgument,
        *,
        timeout: Optional[float] = None,
    ) -> StatResult:
        """Tells whether a path is a file or a folder, its size, permissions and time of change, without reading it.

        path: File or folder.
        """
        arguments = _given(
            {
                **path_argument("path", path),
            }
        )
        return cast(StatResult, self._tool("stat", arguments, timeout))

    def edit_file(
        self,
        path: PathArgument,
        *,
        old_string: Optional[str] = None,
        new_string: Optional[str] = None,
        replace_all: Optional[bool] = None,
        edits: Optional[List[EditFileEditsEntry]] = None,
        if_match_sha256: Optional[str] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> EditFileResult:
        """Replaces exact text in a file and returns the difference. Give old_string and new_string, or several in
        edits: all are made or none. Everything else in the file stays as it is, line ends too.

        path: File to change.
        old_string: Exact text to replace; must occur once.
        new_string: What takes its place.
        replace_all: Replace every occurrence. Default: false.
        edits: Several of these at once, made in order.
        if_match_sha256: Only if this is still its SHA-256.
        dry_run: Only tell what would change. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "old_string": old_string,
                "new_string": new_string,
                "replace_all": replace_all,
                "edits": edits,
                "if_match_sha256": if_match_sha256,
                "dry_run": dry_run,
            }
        )
        return cast(EditFileResult, self._tool("edit_file", arguments, timeout))

    def delete(
        self,
        path: PathArgument,
        *,
        recursive: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DeleteResult:
        """Deletes a file, a link (never what it points to) or an empty folder; with recursive a folder and all in it.

        path: File or folder to delete.
        recursive: Also delete a folder that is not empty, with all that is in it. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "recursive": recursive,
            }
        )
        return cast(DeleteResult, self._tool("delete", arguments, timeout))

    def move(
        self,
        from_: PathArgument,
        to: PathArgument,
        *,
        overwrite: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> MoveResult:
        """Moves or renames a file or folder in one step. What is at the new path is kept and the call fails, unless
        overwrite is true.

        from_: File or folder to move.
        to: Its new path; missing folders are made.
        overwrite: Replace a file, or an empty folder by a folder, that is there. Default: false.
        """
        arguments = _given(
            {
                **path_argument("from", from_),
                **path_argument("to", to),
                "overwrite": overwrite,
            }
        )
        return cast(MoveResult, self._tool("move", arguments, timeout))

    def make_directory(
        self,
        path: PathArgument,
        *,
        timeout: Optional[float] = None,
    ) -> MakeDirectoryResult:
        """Makes a folder and those above it that are missing. It is no error when it is there already.

        path: Folder to make.
        """
        arguments = _given(
            {
                **path_argument("path", path),
            }
        )
        return cast(MakeDirectoryResult, self._tool("make_directory", arguments, timeout))

    def update_frontmatter(
        self,
        path: PathArgument,
        update: Dict[str, Any],
        *,
        if_match_sha256: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> UpdateFrontmatterResult:
        """Changes keys of a file's YAML front matter; every other byte stays as it is, comments and order included.

        path: File with YAML front matter.
        update: For each key one of {"set": value}, {"append": [values], "unique": true}, {"merge": {key: value}} or
            {"remove": true}.
        if_match_sha256: Only if this is still its SHA-256.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "update": update,
                "if_match_sha256": if_match_sha256,
            }
        )
        return cast(UpdateFrontmatterResult, self._tool("update_frontmatter", arguments, timeout))

    def run_command(
        self,
        command: Optional[str] = None,
        *,
        argv: Optional[List[str]] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, Any]] = None,
        stdin: Optional[str] = None,
        timeout_ms: Optional[int] = None,
        max_output: Optional[int] = None,
        network: Optional[List[str]] = None,
        git: Optional[bool] = None,
        timeout: Optional[float] = None,
        on_output: Optional[OnOutput] = None,
    ) -> RunCommandResult:
        """Runs a command line with bash, or one program, in the workspace: `command` or `argv` is required. It sees the
        workspace and the system's programs, has its own /tmp and home, and no network. Everything it started ends with
        it.

        command: A command line for bash.
        argv: In place of `command`: a program and its arguments, without a shell.
        cwd: Working directory.
        env: More environment variables.
        stdin: Its standard input; without, it is empty.
        timeout_ms: After this long everything it started is stopped. Default: 60000.
        max_output: Bytes kept of each of its two outputs; of more, the first and the last part, and `read_output` has
            the rest. Default: 100000.
        network: Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else.
        git: It has to write to git directories, which are read-only otherwise: commit, checkout, merge, fetch. Has to
            be approved. Default: false.
        on_output: Takes what is printed as it comes: `stdout` or `stderr`, and the text.
        """
        arguments = _given(
            {
                "command": command,
                "argv": argv,
                "cwd": cwd,
                "env": env,
                "stdin": stdin,
                "timeout_ms": timeout_ms,
                "max_output": max_output,
                "network": network,
                "git": git,
            }
        )
        return cast(RunCommandResult, self._tool("run_command", arguments, timeout, on_output))

    def read_output(
        self,
        output_id: str,
        *,
        stream: Optional[Literal["stdout", "stderr"]] = None,
        offset: Optional[int] = None,
        max_bytes: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ReadOutputResult:
        """Reads what a command printed when its answer showed only the beginning and the end. Only the latest long
        outputs are kept: for one that is gone, run the command again with its output redirected into a file.

        output_id: As the command's answer had it.
        stream: Which of the two. Default: "stdout".
        offset: Bytes to leave out at the beginning. Default: 0.
        max_bytes: Most bytes to return. Default: 100000.
        """
        arguments = _given(
            {
                "output_id": output_id,
                "stream": stream,
                "offset": offset,
                "max_bytes": max_bytes,
            }
        )
        return cast(ReadOutputResult, self._tool("read_output", arguments, timeout))

    def session_diff(
        self,
        path: Optional[PathArgument] = None,
        *,
        max_bytes: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SessionDiffResult:
        """Shows what was changed since the session began, as a list and a patch. The changes wait in the session until
        the user takes them over.

        path: Only what was changed there, or in this folder; default: everything.
        max_bytes: Most bytes of the patch; 0: only the list of changes. Default: 100000.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "max_bytes": max_bytes,
            }
        )
        return cast(SessionDiffResult, self._tool("session_diff", arguments, timeout))

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

    async def _tool(
        self,
        name: str,
        arguments: Dict[str, Any],
        timeout: Optional[float],
        on_output: Optional[OnOutput] = None,
    ) -> Any:
        raise NotImplementedError

    async def read_file(
        self,
        path: PathArgument,
        *,
        start_line: Optional[int] = None,
        end_line: Optional[int] = None,
        max_bytes: Optional[int] = None,
        encoding: Optional[Literal["utf8", "base64", "auto"]] = None,
        hash: Optional[bool] = None,
        line_numbers: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ReadFileResult:
        """Reads a text file, or shows an image. Read a large file in parts with start_line and end_line. The sha256,
        asked for with hash, can be given to write_file and edit_file as if_match_sha256, so that nobody else's change
        is overwritten.

        path: File to read.
        start_line: First line, from 1.
        end_line: Last line, included.
        max_bytes: Most bytes of content. Default: 100000.
        encoding: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64 only where utf8 would lose
            something. Default: "utf8".
        hash: Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB. In plain text: give sha256.
            Default: false.
        line_numbers: In plain text: each line behind its number and a tab; false: the exact text. Default: true.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "start_line": start_line,
                "end_line": end_line,
                "max_bytes": max_bytes,
                "encoding": encoding,
                "hash": hash,
                "line_numbers": line_numbers,
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
        """Writes a file as a whole: it holds either the old or the new content, never half.

        path: File to write; missing folders are made.
        content: The whole new content.
        encoding: How `content` is written. Default: "utf8".
        if_match_sha256: Only if this is still its SHA-256.
        append: Add to the end instead. Default: false.
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
        recursive: Optional[bool] = None,
        glob: Optional[str] = None,
        exclude: Optional[str] = None,
        hidden: Optional[bool] = None,
        ignore: Optional[bool] = None,
        names_only: Optional[bool] = None,
        max_results: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListFilesResult:
        """Lists a folder, sorted by name: files and folders with type, size and time, or in plain text a tree; with a
        glob only the paths that match.

        path: Folder to list; default: the workspace.
        recursive: Also what is inside the folders. Default: false.
        glob: Only paths that match, seen from the folder: *.c, src/**/*.{ts,tsx}. With `**` or a slash give recursive
            too.
        exclude: Leave out what matches, and all in it; without a slash at any depth: {node_modules,*.o}.
        hidden: Also names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: false.
        names_only: Without sizes and times; plain text has them only with false. Default: false.
        max_results: Most entries. Default: 1000.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "recursive": recursive,
                "glob": glob,
                "exclude": exclude,
                "hidden": hidden,
                "ignore": ignore,
                "names_only": names_only,
                "max_results": max_results,
            }
        )
        return cast(ListFilesResult, await self._tool("list_files", arguments, timeout))

    async def search(
        self,
        pattern: str,
        path: Optional[PathArgument] = None,
        *,
        literal: Optional[bool] = None,
        ignore_case: Optional[bool] = None,
        word: Optional[bool] = None,
        include: Optional[str] = None,
        exclude: Optional[str] = None,
        hidden: Optional[bool] = None,
        ignore: Optional[bool] = None,
        before: Optional[int] = None,
        after: Optional[int] = None,
        max_results: Optional[int] = None,
        mode: Optional[Literal["lines", "files", "count"]] = None,
        timeout: Optional[float] = None,
    ) -> SearchResult:
        """Searches text files line by line. What .gitignore and .ignore files name, hidden and binary files, .git and
        node_modules are left out. In a large workspace look first with mode files or count, then narrow with path and
        include.

        pattern: Regular expression for one line, in Rust's syntax; no look-around, no back-references.
        path: Folder or file; default: the workspace.
        literal: The pattern is plain text. Default: false.
        ignore_case: Capital and small letters are the same. Default: false.
        word: Only whole words. Default: false.
        include: Only files that match: *.c at any depth, src/**/*.{ts,tsx} seen from the folder.
        exclude: Leave out files that match, and folders with all in them: {dist,*.min.js}.
        hidden: Also names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: true.
        before: Lines of context before each match. Default: 0.
        after: Lines of context behind each match. Default: 0.
        max_results: Most matching lines, or files. Default: 100.
        mode: lines; only the files that match; or count: those files with how many lines match. Default: "lines".
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "pattern": pattern,
                "literal": literal,
                "ignore_case": ignore_case,
                "word": word,
                "include": include,
                "exclude": exclude,
                "hidden": hidden,
                "ignore": ignore,
                "before": before,
                "after": after,
                "max_results": max_results,
                "mode": mode,
            }
        )
        return cast(SearchResult, await self._tool("search", arguments, timeout))

    async def stat(
        self,
        path: PathArgument,
        *,
        timeout: Optional[float] = None,
    ) -> StatResult:
        """Tells whether a path is a file or a folder, its size, permissions and time of change, without reading it.

        path: File or folder.
        """
        arguments = _given(
            {
                **path_argument("path", path),
            }
        )
        return cast(StatResult, await self._tool("stat", arguments, timeout))

    async def edit_file(
        self,
        path: PathArgument,
        *,
        old_string: Optional[str] = None,
        new_string: Optional[str] = None,
        replace_all: Optional[bool] = None,
        edits: Optional[List[EditFileEditsEntry]] = None,
        if_match_sha256: Optional[str] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> EditFileResult:
        """Replaces exact text in a file and returns the difference. Give old_string and new_string, or several in
        edits: all are made or none. Everything else in the file stays as it is, line ends too.

        path: File to change.
        old_string: Exact text to replace; must occur once.
        new_string: What takes its place.
        replace_all: Replace every occurrence. Default: false.
        edits: Several of these at once, made in order.
        if_match_sha256: Only if this is still its SHA-256.
        dry_run: Only tell what would change. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "old_string": old_string,
                "new_string": new_string,
                "replace_all": replace_all,
                "edits": edits,
                "if_match_sha256": if_match_sha256,
                "dry_run": dry_run,
            }
        )
        return cast(EditFileResult, await self._tool("edit_file", arguments, timeout))

    async def delete(
        self,
        path: PathArgument,
        *,
        recursive: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> DeleteResult:
        """Deletes a file, a link (never what it points to) or an empty folder; with recursive a folder and all in it.

        path: File or folder to delete.
        recursive: Also delete a folder that is not empty, with all that is in it. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "recursive": recursive,
            }
        )
        return cast(DeleteResult, await self._tool("delete", arguments, timeout))

    async def move(
        self,
        from_: PathArgument,
        to: PathArgument,
        *,
        overwrite: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> MoveResult:
        """Moves or renames a file or folder in one step. What is at the new path is kept and the call fails, unless
        overwrite is true.

        from_: File or folder to move.
        to: Its new path; missing folders are made.
        overwrite: Replace a file, or an empty folder by a folder, that is there. Default: false.
        """
        arguments = _given(
            {
                **path_argument("from", from_),
                **path_argument("to", to),
                "overwrite": overwrite,
            }
        )
        return cast(MoveResult, await self._tool("move", arguments, timeout))

    async def make_directory(
        self,
        path: PathArgument,
        *,
        timeout: Optional[float] = None,
    ) -> MakeDirectoryResult:
        """Makes a folder and those above it that are missing. It is no error when it is there already.

        path: Folder to make.
        """
        arguments = _given(
            {
                **path_argument("path", path),
            }
        )
        return cast(MakeDirectoryResult, await self._tool("make_directory", arguments, timeout))

    async def update_frontmatter(
        self,
        path: PathArgument,
        update: Dict[str, Any],
        *,
        if_match_sha256: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> UpdateFrontmatterResult:
        """Changes keys of a file's YAML front matter; every other byte stays as it is, comments and order included.

        path: File with YAML front matter.
        update: For each key one of {"set": value}, {"append": [values], "unique": true}, {"merge": {key: value}} or
            {"remove": true}.
        if_match_sha256: Only if this is still its SHA-256.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "update": update,
                "if_match_sha256": if_match_sha256,
            }
        )
        return cast(UpdateFrontmatterResult, await self._tool("update_frontmatter", arguments, timeout))

    async def run_command(
        self,
        command: Optional[str] = None,
        *,
        argv: Optional[List[str]] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, Any]] = None,
        stdin: Optional[str] = None,
        timeout_ms: Optional[int] = None,
        max_output: Optional[int] = None,
        network: Optional[List[str]] = None,
        git: Optional[bool] = None,
        timeout: Optional[float] = None,
        on_output: Optional[OnOutput] = None,
    ) -> RunCommandResult:
        """Runs a command line with bash, or one program, in the workspace: `command` or `argv` is required. It sees the
        workspace and the system's programs, has its own /tmp and home, and no network. Everything it started ends with
        it.

        command: A command line for bash.
        argv: In place of `command`: a program and its arguments, without a shell.
        cwd: Working directory.
        env: More environment variables.
        stdin: Its standard input; without, it is empty.
        timeout_ms: After this long everything it started is stopped. Default: 60000.
        max_output: Bytes kept of each of its two outputs; of more, the first and the last part, and `read_output` has
            the rest. Default: 100000.
        network: Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else.
        git: It has to write to git directories, which are read-only otherwise: commit, checkout, merge, fetch. Has to
            be approved. Default: false.
        on_output: Takes what is printed as it comes: `stdout` or `stderr`, and the text.
        """
        arguments = _given(
            {
                "command": command,
                "argv": argv,
                "cwd": cwd,
                "env": env,
                "stdin": stdin,
                "timeout_ms": timeout_ms,
                "max_output": max_output,
                "network": network,
                "git": git,
            }
        )
        return cast(RunCommandResult, await self._tool("run_command", arguments, timeout, on_output))

    async def read_output(
        self,
        output_id: str,
        *,
        stream: Optional[Literal["stdout", "stderr"]] = None,
        offset: Optional[int] = None,
        max_bytes: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ReadOutputResult:
        """Reads what a command printed when its answer showed only the beginning and the end. Only the latest long
        outputs are kept: for one that is gone, run the command again with its output redirected into a file.

        output_id: As the command's answer had it.
        stream: Which of the two. Default: "stdout".
        offset: Bytes to leave out at the beginning. Default: 0.
        max_bytes: Most bytes to return. Default: 100000.
        """
        arguments = _given(
            {
                "output_id": output_id,
                "stream": stream,
                "offset": offset,
                "max_bytes": max_bytes,
            }
        )
        return cast(ReadOutputResult, await self._tool("read_output", arguments, timeout))

    async def session_diff(
        self,
        path: Optional[PathArgument] = None,
        *,
        max_bytes: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> SessionDiffResult:
        """Shows what was changed since the session began, as a list and a patch. The changes wait in the session until
        the user takes them over.

        path: Only what was changed there, or in this folder; default: everything.
        max_bytes: Most bytes of the patch; 0: only the list of changes. Default: 100000.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "max_bytes": max_bytes,
            }
        )
        return cast(SessionDiffResult, await self._tool("session_diff", arguments, timeout))

    async def time_now(
        self,
        *,
        timeout: Optional[float] = None,
    ) -> TimeNowResult:
        """Tells the current date and time in UTC."""
        arguments: Dict[str, Any] = {}
        return cast(TimeNowResult, await self._tool("time_now", arguments, timeout))
