/**
 * Access that owners grant to servers of tools, each to an account of their own there. The protocol of such a server stands in an adapter;
 * this is what a transport and a host see of it.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { OwnerId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"

/** The name of the part of turns that has these tools, and so of what it tells and keeps. */
export const toolAccessPartName = "tool_access"

/** What the part tells when a model wanted a tool for which access is missing. */
export const accessRequired = "tool_access_required"

/** What the part keeps with an answer: the servers to which access was missing. */
export const KeptAccess = Schema.Struct({ required: Schema.Array(Schema.String) })

/** Whether an owner has granted access to a server of tools where each user has an account, and until when. */
export interface ServerAccess {
  readonly server: string
  readonly isGranted: boolean
  /** When the access ends unless it is renewed before; null: not known, or there is none. */
  readonly expiresAt: Date | null
  /** Whether it is renewed without the owner. */
  readonly isRenewed: boolean
}

/** What the browser of the owner brings back, without the encoding of the address. */
export interface AccessCallback {
  readonly state: string
  readonly code?: string | undefined
  readonly iss?: string | undefined
  /** In the place of a code: why there is none. */
  readonly error?: string | undefined
}

/** No server with accounts of owners has this name. */
export class ToolServerNotFound extends Schema.TaggedError<ToolServerNotFound>()("ToolServerNotFound", {
  server: Schema.String
}) {
  override get message() {
    return `There is no server ${this.server} to which access can be granted.`
  }
}

/** An authorization could not begin or end. The message says why, and has no token and no code in it. */
export class ToolAccessFailed extends Schema.TaggedError<ToolAccessFailed>()("ToolAccessFailed", {
  /** `state`: it was not begun, or not by this owner, or is over. `refused`: nothing was granted. `server`: what went wrong there. */
  reason: Schema.Literals(["state", "refused", "server"]),
  message: Schema.String
}) {}

export class ToolAccess extends Context.Service<
  ToolAccess,
  {
    /** The address to which the owner's browser is sent. With the key of a request that has begun one, the same address. */
    readonly begin: (
      server: string,
      key?: string
    ) => Effect.Effect<
      { readonly url: string; readonly expiresAt: Date },
      ToolAccessFailed | ToolServerNotFound | StoreUnavailable,
      Principal
    >
    /**
     * What the browser brought back. Its state names who has begun; it is good once, for ten minutes. `asking` is the owner of the browser's
     * session where that is known: another one than who has begun is refused.
     */
    readonly finish: (
      callback: AccessCallback,
      asking: OwnerId | null
    ) => Effect.Effect<{ readonly server: string }, ToolAccessFailed | StoreUnavailable>
    /** In the order of the host. */
    readonly list: Effect.Effect<ReadonlyArray<ServerAccess>, StoreUnavailable, Principal>
    readonly get: (server: string) => Effect.Effect<ServerAccess, ToolServerNotFound | StoreUnavailable, Principal>
    /** Forgets the tokens, and an authorization that has begun. False: there were no tokens. */
    readonly forget: (server: string) => Effect.Effect<boolean, ToolServerNotFound | StoreUnavailable, Principal>
  }
>()("@colloquy/core/tools/ToolAccess") {}
