// The native tools with types. Written by clients/generate.py from the tools' own schemas: do not edit.

import { pathArgument, type CallOptions, type PathArgument } from "./wire.js";

export interface ReadFileResult {
  path: string;
  content: string;
  encoding: "utf8" | "base64" | "auto";
  /** Size of the whole file. */
  bytes: number;
  /** Of the whole file. Over 512 KiB only where hash is true. */
  sha256?: string;
  start_line: number;
  end_line: number;
  /** Over 16 MiB only where hash is true or the end was read. */
  total_lines?: number;
  truncated: boolean;
  /** What to do to see the rest. */
  hint?: string;
  tier: string;
  duration_ms: number;
}

export interface ReadFileArguments {
  /** File to read. */
  path: PathArgument;
  /** First line, from 1. */
  start_line?: number;
  /** Last line, included. */
  end_line?: number;
  /** Most bytes of content. */
  max_bytes?: number;
  /** utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64 only where utf8 would lose something. */
  encoding?: "utf8" | "base64" | "auto";
  /** Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB. In plain text: give sha256. */
  hash?: boolean;
  /** In plain text: each line behind its number and a tab; false: the exact text. */
  line_numbers?: boolean;
}

export interface WriteFileResult {
  path: string;
  bytes_written: number;
  /** Of the whole file now. */
  sha256: string;
  created: boolean;
  tier: string;
  duration_ms: number;
}

export interface WriteFileArguments {
  /** File to write; missing folders are made. */
  path: PathArgument;
  /** The whole new content. */
  content: string;
  /** How `content` is written. */
  encoding?: "utf8" | "base64";
  /** Only if this is still its SHA-256. */
  if_match_sha256?: string;
  /** Add to the end instead. */
  append?: boolean;
  /** Fail if the file exists. */
  create_only?: boolean;
}

export interface ListFilesResultEntry {
  path: string;
  /** Base64 of the name, where it is not UTF-8. */
  name_b64?: string;
  /** Base64 of the path, where it is not UTF-8. */
  path_b64?: string;
  type: "file" | "directory" | "symlink" | "other";
  /** Not with names_only. */
  size?: number;
  /** Not with names_only. */
  mtime?: string;
}

export interface ListFilesResult {
  path: string;
  entries: Array<ListFilesResultEntry>;
  truncated: boolean;
  hint?: string;
  tier: string;
  duration_ms: number;
}

export interface ListFilesArguments {
  /** Folder to list; default: the workspace. */
  path?: PathArgument;
  /** Also what is inside the folders. */
  recursive?: boolean;
  /** Only paths that match, seen from the folder: *.c, src/**\/*.{ts,tsx}. With `**` or a slash give recursive too. */
  glob?: string;
  /** Leave out what matches, and all in it; without a slash at any depth: {node_modules,*.o}. */
  exclude?: string;
  /** Also names that begin with a dot. */
  hidden?: boolean;
  /** Leave out what .gitignore and .ignore files name. */
  ignore?: boolean;
  /** Without sizes and times; plain text has them only with false. */
  names_only?: boolean;
  /** Most entries. */
  max_results?: number;
}

export interface SearchResultMatch {
  path: string;
  /** Base64 of the path, where it is not UTF-8. */
  path_b64?: string;
  /** Counted from 1. */
  line?: number;
  /** Byte of the line where the match begins, from 1. */
  column?: number;
  /** The line without its end. */
  text?: string;
  /** Start and end of each match in the line, in bytes from its beginning. */
  spans?: Array<Array<number>>;
  before?: Array<string>;
  after?: Array<string>;
  /** Parts of the long line are left out of text. */
  cut?: boolean;
  /** Lines of the file that match. */
  count?: number;
}

export interface SearchResultStatsSkipped {
  binary: number;
  ignored: number;
  unreadable: number;
  long_lines: number;
}

export interface SearchResultStats {
  /** That were searched. */
  files: number;
  /** Of them. */
  bytes: number;
  duration_ms: number;
  skipped: SearchResultStatsSkipped;
}

export interface SearchResult {
  matches: Array<SearchResultMatch>;
  truncated: boolean;
  hint?: string;
  stats: SearchResultStats;
  tier: string;
  duration_ms: number;
}

export interface SearchArguments {
  /** Regular expression for one line, in Rust's syntax; no look-around, no back-references. */
  pattern: string;
  /** Folder or file; default: the workspace. */
  path?: PathArgument;
  /** The pattern is plain text. */
  literal?: boolean;
  /** Capital and small letters are the same. */
  ignore_case?: boolean;
  /** Only whole words. */
  word?: boolean;
  /** Only files that match: *.c at any depth, src/**\/*.{ts,tsx} seen from the folder. */
  include?: string;
  /** Leave out files that match, and folders with all in them: {dist,*.min.js}. */
  exclude?: string;
  /** Also names that begin with a dot. */
  hidden?: boolean;
  /** Leave out what .gitignore and .ignore files name. */
  ignore?: boolean;
  /** Lines of context before each match. */
  before?: number;
  /** Lines of context behind each match. */
  after?: number;
  /** Most matching lines, or files. */
  max_results?: number;
  /** lines; only the files that match; or count: those files with how many lines match. */
  mode?: "lines" | "files" | "count";
}

export interface StatResult {
  path: string;
  type: "file" | "directory" | "symlink" | "other";
  size: number;
  /** Permissions, in octal. */
  mode: string;
  mtime: string;
  is_symlink: boolean;
  tier: string;
  duration_ms: number;
}

export interface StatArguments {
  /** File or folder. */
  path: PathArgument;
}

export interface EditFileResult {
  path: string;
  /** Unified diff. */
  diff: string;
  /** The diff was cut. */
  truncated: boolean;
  sha256_before: string;
  sha256_after: string;
  /** Size of the file then. */
  bytes: number;
  dry_run: boolean;
  tier: string;
  duration_ms: number;
}

export interface EditFileArgumentsEditsEntry {
  /** Exact text to replace; must occur once. */
  old_text: string;
  /** What takes its place. */
  new_text: string;
  /** Replace every occurrence. */
  all?: boolean;
}

export interface EditFileArguments {
  /** File to change. */
  path: PathArgument;
  /** Exact text to replace; must occur once. */
  old_string?: string;
  /** What takes its place. */
  new_string?: string;
  /** Replace every occurrence. */
  replace_all?: boolean;
  /** Several of these at once, made in order. */
  edits?: Array<EditFileArgumentsEditsEntry>;
  /** Only if this is still its SHA-256. */
  if_match_sha256?: string;
  /** Only tell what would change. */
  dry_run?: boolean;
}

export interface DeleteResult {
  path: string;
  /** What was there. */
  type: "file" | "directory" | "symlink" | "other";
  /** How many files and folders were deleted. */
  deleted: number;
  tier: string;
  duration_ms: number;
}

export interface DeleteArguments {
  /** File or folder to delete. */
  path: PathArgument;
  /** Also delete a folder that is not empty, with all that is in it. */
  recursive?: boolean;
}

export interface MoveResult {
  from: string;
  to: string;
  type: "file" | "directory" | "symlink" | "other";
  replaced: boolean;
  tier: string;
  duration_ms: number;
}

export interface MoveArguments {
  /** File or folder to move. */
  from: PathArgument;
  /** Its new path; missing folders are made. */
  to: PathArgument;
  /** Replace a file, or an empty folder by a folder, that is there. */
  overwrite?: boolean;
}

export interface MakeDirectoryResult {
  path: string;
  /** False when the folder was there already. */
  created: boolean;
  tier: string;
  duration_ms: number;
}

export interface MakeDirectoryArguments {
  /** Folder to make. */
  path: PathArgument;
}

export interface UpdateFrontmatterResult {
  path: string;
  /** Unified diff. */
  diff: string;
  /** The diff was cut. */
  truncated: boolean;
  sha256_before: string;
  sha256_after: string;
  /** Size of the file then. */
  bytes: number;
  tier: string;
  duration_ms: number;
}

export interface UpdateFrontmatterArguments {
  /** File with YAML front matter. */
  path: PathArgument;
  /**
   * For each key one of {"set": value}, {"append": [values], "unique": true}, {"merge": {key: value}} or {"remove":
   * true}.
   */
  update: Record<string, unknown>;
  /** Only if this is still its SHA-256. */
  if_match_sha256?: string;
}

export interface RunCommandResultViolationsEntry {
  call: string;
  count: number;
}

export interface RunCommandResult {
  /** Absent where a signal ended it. */
  exit_code?: number;
  /** The signal that ended it: `SIGKILL`. */
  signal?: string;
  stdout: string;
  stderr: string;
  truncated: boolean;
  /** For `read_output`, where output was cut. */
  output_id?: string;
  /** What ended it. */
  ended_by: "exit" | "signal" | "timeout" | "memory_limit" | "process_limit" | "disk_limit" | "file_size_limit" | "cpu_limit";
  /** In bytes; absent: not known. */
  peak_memory?: number;
  /** Absent: not known. */
  cpu_ms?: number;
  /** What the sandbox refused it, and how often. */
  violations: Array<RunCommandResultViolationsEntry>;
  /** `watched` where no control group can be used, so that the limits in `weaker` are. */
  limits?: string;
  /**
   * `memory:watched` and `processes:watched`: looked at ten times a second, and more can be used in between.
   * `cpus:none`: not limited.
   */
  weaker?: Array<string>;
  hint?: string;
  tier: string;
  duration_ms: number;
}

export interface RunCommandArguments {
  /** A command line for bash. */
  command?: string;
  /** In place of `command`: a program and its arguments, without a shell. */
  argv?: Array<string>;
  /** Working directory. */
  cwd?: string;
  /** More environment variables. */
  env?: Record<string, unknown>;
  /** Its standard input; without, it is empty. */
  stdin?: string;
  /** After this long everything it started is stopped. */
  timeout_ms?: number;
  /** Bytes kept of each of its two outputs; of more, the first and the last part, and `read_output` has the rest. */
  max_output?: number;
  /** Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else. */
  network?: Array<string>;
  /**
   * It has to write to git directories, which are read-only otherwise: commit, checkout, merge, fetch. Has to be
   * approved.
   */
  git?: boolean;
}

export interface ReadOutputResult {
  /** What is not UTF-8 is replaced. */
  content: string;
  /** Where the content begins. */
  offset: number;
  /** The offset to go on with. */
  next_offset: number;
  /** How much the command printed to this stream. */
  total_bytes: number;
  /** False when the command still runs, or printed more than is kept. */
  complete: boolean;
  /** There is more to read at next_offset. */
  truncated: boolean;
  tier: string;
  duration_ms: number;
}

export interface ReadOutputArguments {
  /** As the command's answer had it. */
  output_id: string;
  /** Which of the two. */
  stream?: "stdout" | "stderr";
  /** Bytes to leave out at the beginning. */
  offset?: number;
  /** Most bytes to return. */
  max_bytes?: number;
}

export interface SessionDiffResultChangesEntry {
  /** added, modified, deleted, renamed, mode or type. */
  change: string;
  path: string;
  /** Base64 of the path, where it is not UTF-8. */
  path_b64?: string;
  /** The path before, of one that was renamed. */
  renamed_from?: string;
  renamed_from_b64?: string;
}

export interface SessionDiffResult {
  /** At most 1,000. */
  changes: Array<SessionDiffResultChangesEntry>;
  /** How many there are. */
  count: number;
  /** As `git apply` takes it, without secrets, binary files and what did not fit. */
  patch: string;
  /** Changes that the patch does not say, or not all of. */
  left_out: number;
  tier: string;
  duration_ms: number;
}

export interface SessionDiffArguments {
  /** Only what was changed there, or in this folder; default: everything. */
  path?: PathArgument;
  /** Most bytes of the patch; 0: only the list of changes. */
  max_bytes?: number;
}

export interface TimeNowResult {
  /** RFC 3339, in UTC. */
  utc: string;
  /** Milliseconds since 1970-01-01. */
  unix_ms: number;
  tier: string;
  duration_ms: number;
}

/** Typed methods. */
export abstract class Tools {
  abstract call<T>(name: string, arguments_: object, options?: CallOptions): Promise<T>;

  /**
   * Reads a text file, or shows an image. Read a large file in parts with start_line and end_line. The sha256, asked
   * for with hash, can be given to write_file and edit_file as if_match_sha256, so that nobody else's change is
   * overwritten.
   */
  readFile({ path, ...rest }: ReadFileArguments, options?: CallOptions): Promise<ReadFileResult> {
    return this.call<ReadFileResult>("read_file", { ...pathArgument("path", path), ...rest }, options);
  }

  /** Writes a file as a whole: it holds either the old or the new content, never half. */
  writeFile({ path, ...rest }: WriteFileArguments, options?: CallOptions): Promise<WriteFileResult> {
    return this.call<WriteFileResult>("write_file", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Lists a folder, sorted by name: files and folders with type, size and time, or in plain text a tree; with a glob
   * only the paths that match.
   */
  listFiles({ path, ...rest }: ListFilesArguments = {}, options?: CallOptions): Promise<ListFilesResult> {
    return this.call<ListFilesResult>("list_files", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Searches text files line by line. What .gitignore and .ignore files name, hidden and binary files, .git and
   * node_modules are left out. In a large workspace look first with mode files or count, then narrow with path and
   * include.
   */
  search({ path, ...rest }: SearchArguments, options?: CallOptions): Promise<SearchResult> {
    return this.call<SearchResult>("search", { ...pathArgument("path", path), ...rest }, options);
  }

  /** Tells whether a path is a file or a folder, its size, permissions and time of change, without reading it. */
  stat({ path, ...rest }: StatArguments, options?: CallOptions): Promise<StatResult> {
    return this.call<StatResult>("stat", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Replaces exact text in a file and returns the difference. Give old_string and new_string, or several in edits:
   * all are made or none. Everything else in the file stays as it is, line ends too.
   */
  editFile({ path, ...rest }: EditFileArguments, options?: CallOptions): Promise<EditFileResult> {
    return this.call<EditFileResult>("edit_file", { ...pathArgument("path", path), ...rest }, options);
  }

  /** Deletes a file, a link (never what it points to) or an empty folder; with recursive a folder and all in it. */
  delete({ path, ...rest }: DeleteArguments, options?: CallOptions): Promise<DeleteResult> {
    return this.call<DeleteResult>("delete", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Moves or renames a file or folder in one step. What is at the new path is kept and the call fails, unless
   * overwrite is true.
   */
  move({ from, to, ...rest }: MoveArguments, options?: CallOptions): Promise<MoveResult> {
    return this.call<MoveResult>("move", { ...pathArgument("from", from), ...pathArgument("to", to), ...rest }, options);
  }

  /** Makes a folder and those above it that are missing. It is no error when it is there already. */
  makeDirectory({ path, ...rest }: MakeDirectoryArguments, options?: CallOptions): Promise<MakeDirectoryResult> {
    return this.call<MakeDirectoryResult>("make_directory", { ...pathArgument("path", path), ...rest }, options);
  }

  /** Changes keys of a file's YAML front matter; every other byte stays as it is, comments and order included. */
  updateFrontmatter({ path, ...rest }: UpdateFrontmatterArguments, options?: CallOptions): Promise<UpdateFrontmatterResult> {
    return this.call<UpdateFrontmatterResult>("update_frontmatter", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Runs a command line with bash, or one program, in the workspace: `command` or `argv` is required. It sees the
   * workspace and the system's programs, has its own /tmp and home, and no network. Everything it started ends with
   * it.
   */
  runCommand(arguments_: RunCommandArguments = {}, options?: CallOptions): Promise<RunCommandResult> {
    return this.call<RunCommandResult>("run_command", arguments_, options);
  }

  /**
   * Reads what a command printed when its answer showed only the beginning and the end. Only the latest long outputs
   * are kept: for one that is gone, run the command again with its output redirected into a file.
   */
  readOutput(arguments_: ReadOutputArguments, options?: CallOptions): Promise<ReadOutputResult> {
    return this.call<ReadOutputResult>("read_output", arguments_, options);
  }

  /**
   * Shows what was changed since the session began, as a list and a patch. The changes wait in the session until the
   * user takes them over.
   */
  sessionDiff({ path, ...rest }: SessionDiffArguments = {}, options?: CallOptions): Promise<SessionDiffResult> {
    return this.call<SessionDiffResult>("session_diff", { ...pathArgument("path", path), ...rest }, options);
  }

  /** Tells the current date and time in UTC. */
  timeNow(options?: CallOptions): Promise<TimeNowResult> {
    return this.call<TimeNowResult>("time_now", {}, options);
  }
}
