/** The settings of a host's MCP servers. */
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

/** A server at which each owner has an account, and grants access to it. */
export interface OwnedServer extends AddressOptions {
  readonly oauth: {
    /**
     * The address to which the browser comes back: `/tool-access/callback` of the API, or a page of the host that passes the parameters of
     * the address to `ToolAccess.finish`. A function, if the address is known only later.
     */
    readonly redirectUrl: string | (() => string)
    /** The host's registration at the server. Absent: this client registers itself. */
    readonly client?: { readonly id: string; readonly secret?: Redacted.Redacted<string> }
    readonly scope?: string
    /** The name of the client that the server shows to the owner. Default: Colloquy. */
    readonly clientName?: string
  }
}
