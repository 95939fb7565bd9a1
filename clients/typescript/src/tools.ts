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
  /** File to read, relative to the workspace. */
  path: PathArgument;
  /** First line to return, counted from 1. */
  start_line?: number;
  /** Last line to return, itself included. */
  end_line?: number;
  /** Most bytes of content to return. */
  max_bytes?: number;
  /**
   * How the content is written: utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64 only where
   * utf8 would lose something.
   */
  encoding?: "utf8" | "base64" | "auto";
  /** Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB: all of it is read for them. */
  hash?: boolean;
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
  /** File to write, relative to the workspace; missing folders are made. */
  path: PathArgument;
  /** What the file is to contain. */
  content: string;
  /** How `content` is written. */
  encoding?: "utf8" | "base64";
  /** Write only if the file's SHA-256 still is this one. */
  if_match_sha256?: string;
  /** Add to the end instead of replacing. */
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
  /** Folder to list, relative to the workspace; the workspace itself when left out. */
  path?: PathArgument;
  /** Also list what is inside the folders. */
  recursive?: boolean;
  /** Only paths that match, seen from the folder: *.c, src/**\/*.{ts,tsx}. With `**` or a slash give recursive too. */
  glob?: string;
  /**
   * Leave out what matches this glob and all that is in it; without a slash it means names at any depth:
   * {node_modules,*.o}.
   */
  exclude?: string;
  /** Also list names that begin with a dot. */
  hidden?: boolean;
  /** Leave out what .gitignore and .ignore files name. */
  ignore?: boolean;
  /** Leave out sizes and times: a shorter answer, and a faster one. */
  names_only?: boolean;
  /** Most entries to return. */
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
  /**
   * Regular expression to look for in each line, in Rust's syntax: fn \w+\(, ^import .*react, (?i)todo|fixme. Linear
   * time; no look-around, no back-references.
   */
  pattern: string;
  /** Folder or file to search, relative to the workspace; the workspace itself when left out. */
  path?: PathArgument;
  /** The pattern is plain text: every character means itself. */
  literal?: boolean;
  /** Capital and small letters are the same. */
  ignore_case?: boolean;
  /** Only whole words: no letter, digit or underscore beside the match. */
  word?: boolean;
  /** Only files that match this glob: *.c for names at any depth, src/**\/*.{ts,tsx} for paths seen from the folder. */
  include?: string;
  /** Leave out files that match this glob, and folders with all that is in them: {dist,*.min.js}. */
  exclude?: string;
  /** Also search names that begin with a dot. */
  hidden?: boolean;
  /** Leave out what .gitignore and .ignore files name. */
  ignore?: boolean;
  /** Lines of context before each match. */
  before?: number;
  /** Lines of context behind each match. */
  after?: number;
  /** Most matching lines to return, or files where mode asks for them. */
  max_results?: number;
  /**
   * lines: each line that matches. files: only the files that have one. count: those files, and how many of their
   * lines match.
   */
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
  /** File or folder, relative to the workspace. */
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
  /** The exact text to replace, with enough around it to occur only once. */
  old_text: string;
  /** What takes its place. */
  new_text: string;
  /** Replace every place where the text occurs. */
  all?: boolean;
}

export interface EditFileArguments {
  /** File to change, relative to the workspace. */
  path: PathArgument;
  /** Replacements, made one after the other; all of them or none. */
  edits: Array<EditFileArgumentsEditsEntry>;
  /** Change the file only if its SHA-256 still is this one. */
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
  /** File, link or folder to delete, relative to the workspace. */
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
  /** File or folder to move, relative to the workspace. */
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
  /** Folder to make, relative to the workspace; missing ones above it are made too. */
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
  /** File with YAML front matter, relative to the workspace. */
  path: PathArgument;
  /**
   * For each key one of {"set": value}, {"append": [values], "unique": true}, {"merge": {key: value}} or {"remove":
   * true}.
   */
  update: Record<string, unknown>;
  /** Change the file only if its SHA-256 still is this one. */
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
  /** A command line for bash, with all that bash understands. */
  command: string;
  /** In place of `command`: one program and its arguments, without a shell. */
  argv?: Array<string>;
  /** Working directory, relative to the workspace. */
  cwd?: string;
  /** Environment variables for it: names and their texts. */
  env?: Record<string, unknown>;
  /** What it reads from its standard input; without, there is nothing to read. */
  stdin?: string;
  /** After this long everything it started is stopped. */
  timeout_ms?: number;
  /**
   * Bytes kept of standard output, and as many of standard error; of more, the first and the last part, and
   * `read_output` has the rest.
   */
  max_output?: number;
  /** Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else. */
  network?: Array<string>;
  /**
   * Whether it may write to git directories, which are read-only otherwise: for commit, checkout, merge, fetch and
   * the like. Has to be approved. Configuration and hooks stay as they are.
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
  /** Which of the two to read. */
  stream?: "stdout" | "stderr";
  /** How many bytes to leave out at the beginning. */
  offset?: number;
  /** Most bytes to return. */
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
   * Reads a text file of the workspace and returns its content with the file's size, SHA-256 and number of lines.
   * For a large file give start_line and end_line. The SHA-256 of a file over 512 KiB and the number of lines over
   * 16 MiB are only given with hash: true. The sha256 can be given to write_file as if_match_sha256 so that nobody
   * else's change is overwritten.
   */
  readFile({ path, ...rest }: ReadFileArguments, options?: CallOptions): Promise<ReadFileResult> {
    return this.call<ReadFileResult>("read_file", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Writes a file of the workspace, making missing folders. The file is replaced as a whole: it holds either the old
   * or the new content, never half. Give if_match_sha256 from an earlier read to be refused when the file has
   * changed since.
   */
  writeFile({ path, ...rest }: WriteFileArguments, options?: CallOptions): Promise<WriteFileResult> {
    return this.call<WriteFileResult>("write_file", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Lists the files and folders of a folder of the workspace, sorted by name, each with its type, size and time of
   * change (names_only: its type alone); with recursive also what is inside the folders. A glob keeps only what
   * matches.
   */
  listFiles({ path, ...rest }: ListFilesArguments = {}, options?: CallOptions): Promise<ListFilesResult> {
    return this.call<ListFilesResult>("list_files", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Searches the contents of the workspace's text files, or of one folder or file, line by line for a regular
   * expression (with literal: for plain text). Each match comes with its path, line number, column and text, and
   * with before and after the lines around it, each once. What .gitignore and .ignore files name, hidden and binary
   * files, .git and node_modules are left out. To find where to look in a large workspace use mode files or count
   * first, then narrow with path and include.
   */
  search({ path, ...rest }: SearchArguments, options?: CallOptions): Promise<SearchResult> {
    return this.call<SearchResult>("search", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Tells whether a path of the workspace is a file or a folder, its size, permissions and time of change, without
   * reading it.
   */
  stat({ path, ...rest }: StatArguments, options?: CallOptions): Promise<StatResult> {
    return this.call<StatResult>("stat", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Replaces exact text in a file of the workspace and returns the difference. Each old_text must occur exactly
   * once, unless all is true. Line ends, encoding and everything else in the file stay as they are; either all edits
   * are made or none.
   */
  editFile({ path, ...rest }: EditFileArguments, options?: CallOptions): Promise<EditFileResult> {
    return this.call<EditFileResult>("edit_file", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Deletes a file, a link (never what it points to) or an empty folder of the workspace; with recursive also a
   * folder and all that is in it.
   */
  delete({ path, ...rest }: DeleteArguments, options?: CallOptions): Promise<DeleteResult> {
    return this.call<DeleteResult>("delete", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Moves or renames a file or folder of the workspace in one step. What is at the new path already is kept and the
   * call fails, unless overwrite is true.
   */
  move({ from, to, ...rest }: MoveArguments, options?: CallOptions): Promise<MoveResult> {
    return this.call<MoveResult>("move", { ...pathArgument("from", from), ...pathArgument("to", to), ...rest }, options);
  }

  /**
   * Makes a folder of the workspace and those above it that are missing. It is no error when the folder is there
   * already.
   */
  makeDirectory({ path, ...rest }: MakeDirectoryArguments, options?: CallOptions): Promise<MakeDirectoryResult> {
    return this.call<MakeDirectoryResult>("make_directory", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Changes keys of the YAML front matter of a file and leaves every other byte of it as it is, comments and order
   * included.
   */
  updateFrontmatter({ path, ...rest }: UpdateFrontmatterArguments, options?: CallOptions): Promise<UpdateFrontmatterResult> {
    return this.call<UpdateFrontmatterResult>("update_frontmatter", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Runs a command line with bash, or one program with its arguments, in the workspace. It sees the workspace and
   * the system's programs, has its own /tmp and home, and no network but a loopback of its own. Everything it
   * started ends with it.
   */
  runCommand(arguments_: RunCommandArguments, options?: CallOptions): Promise<RunCommandResult> {
    return this.call<RunCommandResult>("run_command", arguments_, options);
  }

  /**
   * Reads what a command printed when its answer showed only the beginning and the end of it (truncated, with an
   * output_id). Returns up to max_bytes from offset on; while truncated is true, go on with next_offset. Only the
   * latest long outputs are kept: for one that is gone, run the command again with its output redirected into a
   * file.
   */
  readOutput(arguments_: ReadOutputArguments, options?: CallOptions): Promise<ReadOutputResult> {
    return this.call<ReadOutputResult>("read_output", arguments_, options);
  }

  /** Tells the current date and time in UTC. */
  timeNow(options?: CallOptions): Promise<TimeNowResult> {
    return this.call<TimeNowResult>("time_now", {}, options);
  }
}
