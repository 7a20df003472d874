/** The MCP servers of a host, as it names them. */
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"

interface ServerOptions {
  /** The prefix of its tools' names: `files` and `read` become `files_read`. */
  readonly name: string
  /** Selects the tools that are offered. Default: all. */
  readonly tools?: (name: string) => boolean
  /** The tools whose calls wait until a person approves them, by their names at the server; true: all. Default: none. */
  readonly approval?: true | ReadonlyArray<string>
  /** How long a call may take. Default: the kernel's `hostedToolTimeout`. */
  readonly timeout?: Duration.Input
}

/** A server that this process starts as a program and talks to through its standard input and output. */
export interface ProgramOptions extends ServerOptions {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Environment variables in addition to the few that the SDK passes on. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A server that is reached over streamable HTTP. */
export interface AddressOptions extends ServerOptions {
  readonly url: string
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted<string>>>
}

/** One MCP server: a program that is started here, or an address. */
export type McpServer = ProgramOptions | AddressOptions

/** A server at which each owner grants access to what is theirs. */
export interface OwnedServer extends AddressOptions {
  readonly oauth: {
    /**
     * To which the browser comes back: `/tool-access/callback` of the API, or a page of the host, which gives what it brings to
     * `ToolAccess.finish`. A function where the address is known only later.
     */
    readonly redirectUrl: string | (() => string)
    /** A registration that the host has at the server. Absent: this client registers itself. */
    readonly client?: { readonly id: string; readonly secret?: Redacted.Redacted<string> }
    readonly scope?: string
    /** What the owner is shown there. Default: Colloquy. */
    readonly clientName?: string
  }
}
