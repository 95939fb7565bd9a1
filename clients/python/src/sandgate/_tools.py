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


class TimeNowResult(TypedDict):
    utc: str
    """RFC 3339, in UTC."""
    unix_ms: int
    """Milliseconds since 1970-01-01."""
    tier: str
    duration_ms: int


class _EditFileEditsEntryOptional(TypedDict, total=False):
    all: bool
    """Replace every place where the text occurs."""


class EditFileEditsEntry(_EditFileEditsEntryOptional):
    old_text: str
    """The exact text to replace, with enough around it to occur only once."""
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
        timeout: Optional[float] = None,
    ) -> ReadFileResult:
        """Reads a text file of the workspace and returns its content with the file's size, SHA-256 and number of lines.
        For a large file give start_line and end_line. The SHA-256 of a file over 512 KiB and the number of lines over
        16 MiB are only given with hash: true. The sha256 can be given to write_file as if_match_sha256 so that nobody
        else's change is overwritten.

        path: File to read, relative to the workspace.
        start_line: First line to return, counted from 1.
        end_line: Last line to return, itself included.
        max_bytes: Most bytes of content to return. Default: 100000.
        encoding: How the content is written: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64
            only where utf8 would lose something. Default: "utf8".
        hash: Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB: all of it is read for them.
            Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "start_line": start_line,
                "end_line": end_line,
                "max_bytes": max_bytes,
                "encoding": encoding,
                "hash": hash,
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
        recursive: Optional[bool] = None,
        glob: Optional[str] = None,
        exclude: Optional[str] = None,
        hidden: Optional[bool] = None,
        ignore: Optional[bool] = None,
        names_only: Optional[bool] = None,
        max_results: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListFilesResult:
        """Lists the files and folders of a folder of the workspace, sorted by name, each with its type, size and time
        of change (names_only: its type alone); with recursive also what is inside the folders. A glob keeps only what
        matches.

        path: Folder to list, relative to the workspace; the workspace itself when left out.
        recursive: Also list what is inside the folders. Default: false.
        glob: Only paths that match, seen from the folder: *.c, src/**/*.{ts,tsx}. With `**` or a slash give recursive
            too.
        exclude: Leave out what matches this glob and all that is in it; without a slash it means names at any depth:
            {node_modules,*.o}.
        hidden: Also list names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: false.
        names_only: Leave out sizes and times: a shorter answer, and a faster one. Default: false.
        max_results: Most entries to return. Default: 1000.
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
        """Searches the contents of the workspace's text files, or of one folder or file, line by line for a regular
        expression (with literal: for plain text). Each match comes with its path, line number, column and text, and
        with before and after the lines around it, each once. What .gitignore and .ignore files name, hidden and binary
        files, .git and node_modules are left out. To find where to look in a large workspace use mode files or count
        first, then narrow with path and include.

        pattern: Regular expression to look for in each line, in Rust's syntax: fn \\w+\\(, ^import .*react,
            (?i)todo|fixme. Linear time; no look-around, no back-references.
        path: Folder or file to search, relative to the workspace; the workspace itself when left out.
        literal: The pattern is plain text: every character means itself. Default: false.
        ignore_case: Capital and small letters are the same. Default: false.
        word: Only whole words: no letter, digit or underscore beside the match. Default: false.
        include: Only files that match this glob: *.c for names at any depth, src/**/*.{ts,tsx} for paths seen from the
            folder.
        exclude: Leave out files that match this glob, and folders with all that is in them: {dist,*.min.js}.
        hidden: Also search names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: true.
        before: Lines of context before each match. Default: 0.
        after: Lines of context behind each match. Default: 0.
        max_results: Most matching lines to return, or files where mode asks for them. Default: 100.
        mode: lines: each line that matches. files: only the files that have one. count: those files, and how many of
            their lines match. Default: "lines".
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

    def edit_file(
        self,
        path: PathArgument,
        edits: List[EditFileEditsEntry],
        *,
        if_match_sha256: Optional[str] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> EditFileResult:
        """Replaces exact text in a file of the workspace and returns the difference. Each old_text must occur exactly
        once, unless all is true. Line ends, encoding and everything else in the file stay as they are; either all edits
        are made or none.

        path: File to change, relative to the workspace.
        edits: Replacements, made one after the other; all of them or none.
        if_match_sha256: Change the file only if its SHA-256 still is this one.
        dry_run: Only tell what would change. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
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
        """Deletes a file, a link (never what it points to) or an empty folder of the workspace; with recursive also a
        folder and all that is in it.

        path: File, link or folder to delete, relative to the workspace.
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
        """Moves or renames a file or folder of the workspace in one step. What is at the new path already is kept and
        the call fails, unless overwrite is true.

        from_: File or folder to move, relative to the workspace.
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
        """Makes a folder of the workspace and those above it that are missing. It is no error when the folder is there
        already.

        path: Folder to make, relative to the workspace; missing ones above it are made too.
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
        """Changes keys of the YAML front matter of a file and leaves every other byte of it as it is, comments and
        order included.

        path: File with YAML front matter, relative to the workspace.
        update: For each key one of {"set": value}, {"append": [values], "unique": true}, {"merge": {key: value}} or
            {"remove": true}.
        if_match_sha256: Change the file only if its SHA-256 still is this one.
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
        command: str,
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
        """Runs a command line with bash, or one program with its arguments, in the workspace. It sees the workspace and
        the system's programs, has its own /tmp and home, and no network but a loopback of its own. Everything it
        started ends with it.

        command: A command line for bash, with all that bash understands.
        argv: In place of `command`: one program and its arguments, without a shell.
        cwd: Working directory, relative to the workspace.
        env: Environment variables for it: names and their texts.
        stdin: What it reads from its standard input; without, there is nothing to read.
        timeout_ms: After this long everything it started is stopped. Default: 60000.
        max_output: Bytes kept of standard output, and as many of standard error; of more, the first and the last part,
            and `read_output` has the rest. Default: 100000.
        network: Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else.
        git: Whether it may write to git directories, which are read-only otherwise: for commit, checkout, merge, fetch
            and the like. Has to be approved. Configuration and hooks stay as they are. Default: false.
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
        """Reads what a command printed when its answer showed only the beginning and the end of it (truncated, with an
        output_id). Returns up to max_bytes from offset on; while truncated is true, go on with next_offset. Only the
        latest long outputs are kept: for one that is gone, run the command again with its output redirected into a
        file.

        output_id: As the command's answer had it.
        stream: Which of the two to read. Default: "stdout".
        offset: How many bytes to leave out at the beginning. Default: 0.
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
        timeout: Optional[float] = None,
    ) -> ReadFileResult:
        """Reads a text file of the workspace and returns its content with the file's size, SHA-256 and number of lines.
        For a large file give start_line and end_line. The SHA-256 of a file over 512 KiB and the number of lines over
        16 MiB are only given with hash: true. The sha256 can be given to write_file as if_match_sha256 so that nobody
        else's change is overwritten.

        path: File to read, relative to the workspace.
        start_line: First line to return, counted from 1.
        end_line: Last line to return, itself included.
        max_bytes: Most bytes of content to return. Default: 100000.
        encoding: How the content is written: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64
            only where utf8 would lose something. Default: "utf8".
        hash: Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB: all of it is read for them.
            Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
                "start_line": start_line,
                "end_line": end_line,
                "max_bytes": max_bytes,
                "encoding": encoding,
                "hash": hash,
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
        recursive: Optional[bool] = None,
        glob: Optional[str] = None,
        exclude: Optional[str] = None,
        hidden: Optional[bool] = None,
        ignore: Optional[bool] = None,
        names_only: Optional[bool] = None,
        max_results: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ListFilesResult:
        """Lists the files and folders of a folder of the workspace, sorted by name, each with its type, size and time
        of change (names_only: its type alone); with recursive also what is inside the folders. A glob keeps only what
        matches.

        path: Folder to list, relative to the workspace; the workspace itself when left out.
        recursive: Also list what is inside the folders. Default: false.
        glob: Only paths that match, seen from the folder: *.c, src/**/*.{ts,tsx}. With `**` or a slash give recursive
            too.
        exclude: Leave out what matches this glob and all that is in it; without a slash it means names at any depth:
            {node_modules,*.o}.
        hidden: Also list names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: false.
        names_only: Leave out sizes and times: a shorter answer, and a faster one. Default: false.
        max_results: Most entries to return. Default: 1000.
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
        """Searches the contents of the workspace's text files, or of one folder or file, line by line for a regular
        expression (with literal: for plain text). Each match comes with its path, line number, column and text, and
        with before and after the lines around it, each once. What .gitignore and .ignore files name, hidden and binary
        files, .git and node_modules are left out. To find where to look in a large workspace use mode files or count
        first, then narrow with path and include.

        pattern: Regular expression to look for in each line, in Rust's syntax: fn \\w+\\(, ^import .*react,
            (?i)todo|fixme. Linear time; no look-around, no back-references.
        path: Folder or file to search, relative to the workspace; the workspace itself when left out.
        literal: The pattern is plain text: every character means itself. Default: false.
        ignore_case: Capital and small letters are the same. Default: false.
        word: Only whole words: no letter, digit or underscore beside the match. Default: false.
        include: Only files that match this glob: *.c for names at any depth, src/**/*.{ts,tsx} for paths seen from the
            folder.
        exclude: Leave out files that match this glob, and folders with all that is in them: {dist,*.min.js}.
        hidden: Also search names that begin with a dot. Default: false.
        ignore: Leave out what .gitignore and .ignore files name. Default: true.
        before: Lines of context before each match. Default: 0.
        after: Lines of context behind each match. Default: 0.
        max_results: Most matching lines to return, or files where mode asks for them. Default: 100.
        mode: lines: each line that matches. files: only the files that have one. count: those files, and how many of
            their lines match. Default: "lines".
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

    async def edit_file(
        self,
        path: PathArgument,
        edits: List[EditFileEditsEntry],
        *,
        if_match_sha256: Optional[str] = None,
        dry_run: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> EditFileResult:
        """Replaces exact text in a file of the workspace and returns the difference. Each old_text must occur exactly
        once, unless all is true. Line ends, encoding and everything else in the file stay as they are; either all edits
        are made or none.

        path: File to change, relative to the workspace.
        edits: Replacements, made one after the other; all of them or none.
        if_match_sha256: Change the file only if its SHA-256 still is this one.
        dry_run: Only tell what would change. Default: false.
        """
        arguments = _given(
            {
                **path_argument("path", path),
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
        """Deletes a file, a link (never what it points to) or an empty folder of the workspace; with recursive also a
        folder and all that is in it.

        path: File, link or folder to delete, relative to the workspace.
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
        """Moves or renames a file or folder of the workspace in one step. What is at the new path already is kept and
        the call fails, unless overwrite is true.

        from_: File or folder to move, relative to the workspace.
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
        """Makes a folder of the workspace and those above it that are missing. It is no error when the folder is there
        already.

        path: Folder to make, relative to the workspace; missing ones above it are made too.
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
        """Changes keys of the YAML front matter of a file and leaves every other byte of it as it is, comments and
        order included.

        path: File with YAML front matter, relative to the workspace.
        update: For each key one of {"set": value}, {"append": [values], "unique": true}, {"merge": {key: value}} or
            {"remove": true}.
        if_match_sha256: Change the file only if its SHA-256 still is this one.
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
        command: str,
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
        """Runs a command line with bash, or one program with its arguments, in the workspace. It sees the workspace and
        the system's programs, has its own /tmp and home, and no network but a loopback of its own. Everything it
        started ends with it.

        command: A command line for bash, with all that bash understands.
        argv: In place of `command`: one program and its arguments, without a shell.
        cwd: Working directory, relative to the workspace.
        env: Environment variables for it: names and their texts.
        stdin: What it reads from its standard input; without, there is nothing to read.
        timeout_ms: After this long everything it started is stopped. Default: 60000.
        max_output: Bytes kept of standard output, and as many of standard error; of more, the first and the last part,
            and `read_output` has the rest. Default: 100000.
        network: Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else.
        git: Whether it may write to git directories, which are read-only otherwise: for commit, checkout, merge, fetch
            and the like. Has to be approved. Configuration and hooks stay as they are. Default: false.
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
        """Reads what a command printed when its answer showed only the beginning and the end of it (truncated, with an
        output_id). Returns up to max_bytes from offset on; while truncated is true, go on with next_offset. Only the
        latest long outputs are kept: for one that is gone, run the command again with its output redirected into a
        file.

        output_id: As the command's answer had it.
        stream: Which of the two to read. Default: "stdout".
        offset: How many bytes to leave out at the beginning. Default: 0.
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

    async def time_now(
        self,
        *,
        timeout: Optional[float] = None,
    ) -> TimeNowResult:
        """Tells the current date and time in UTC."""
        arguments: Dict[str, Any] = {}
        return cast(TimeNowResult, await self._tool("time_now", arguments, timeout))
