// The native tools with types. Written by clients/generate.py from the tools' own schemas: do not edit.

import { pathArgument, type CallOptions, type PathArgument } from "./wire.js";

export interface ReadFileResult {
  path: string;
  content: string;
  encoding: "utf8" | "base64" | "auto";
  /** Size of the whole file. */
  bytes: number;
  /** Of the whole file. */
  sha256: string;
  start_line: number;
  end_line: number;
  total_lines: number;
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
  type: "file" | "directory" | "symlink" | "other";
  size: number;
  mtime: string;
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
  /** Also list names that begin with a dot. */
  hidden?: boolean;
  /** Most entries to return. */
  max_results?: number;
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
   * For a large file give start_line and end_line. The sha256 can be given to write_file as if_match_sha256 so that
   * nobody else's change is overwritten.
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
   * Lists the files and folders directly inside a folder of the workspace, sorted by name, each with its type, size
   * and time of change.
   */
  listFiles({ path, ...rest }: ListFilesArguments = {}, options?: CallOptions): Promise<ListFilesResult> {
    return this.call<ListFilesResult>("list_files", { ...pathArgument("path", path), ...rest }, options);
  }

  /**
   * Tells whether a path of the workspace is a file or a folder, its size, permissions and time of change, without
   * reading it.
   */
  stat({ path, ...rest }: StatArguments, options?: CallOptions): Promise<StatResult> {
    return this.call<StatResult>("stat", { ...pathArgument("path", path), ...rest }, options);
  }

  /** Tells the current date and time in UTC. */
  timeNow(options?: CallOptions): Promise<TimeNowResult> {
    return this.call<TimeNowResult>("time_now", {}, options);
  }
}
