/** Records of an owner as a whole. */
import { KeyScope } from "@colloquy/core"
import * as Schema from "effect/Schema"
import { Timestamp } from "./Fields.ts"

const Id = Schema.String.annotate({ format: "uuid" })

/** `limit` null: there is none. `resets_at` null: it does not reset by time. */
const Allowance = Schema.Struct({
  used: Schema.Finite,
  limit: Schema.NullOr(Schema.Finite),
  resets_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Allowance" })

export const ErasureBegun = Schema.Struct({ erasure_id: Schema.String }).annotate({
  identifier: "ErasureBegun",
  httpApiStatus: 202
})

export const Erasure = Schema.Struct({
  erasure_id: Schema.String,
  status: Schema.Literals(["IN_PROGRESS", "COMPLETED", "FAILED"]),
  /** How many rows are left, by table. */
  left: Schema.Record(Schema.String, Schema.Int),
  created_at: Schema.String,
  ended_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Erasure" })

/** The secret is shown when the key is made, and never again. */
const ApiKey = Schema.Struct({
  key_id: Id,
  name: Schema.String,
  scope: KeyScope,
  /** Whether this request came with it. */
  current: Schema.Boolean,
  created_at: Timestamp,
  /** Null: it does not expire. */
  expires_at: Schema.NullOr(Timestamp),
  /** Null: it is not revoked. */
  revoked_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "ApiKey" })

export const ApiKeyList = Schema.Struct({ keys: Schema.Array(ApiKey), next_cursor: Schema.NullOr(Id) }).annotate({
  identifier: "ApiKeyList"
})

export const ApiKeyRevoked = Schema.Struct({ message: Schema.String, key_id: Id, revoked_at: Timestamp }).annotate({
  identifier: "ApiKeyRevoked"
})

export const OwnerUsage = Schema.Struct({
  /** In the last minute. */
  requests: Allowance,
  turns: Allowance,
  /** Of the day, in UTC. One limit holds for input and output together. */
  input_tokens: Allowance,
  output_tokens: Allowance,
  cost_usd: Allowance.annotate({
    description:
      "In US dollars. With a limit, tokens whose price nobody knows count at the prices that the service assumes; without one, they count nothing."
  }),
  bytes: Allowance,
  documents: Allowance,
  memories: Allowance,
  /** Open voice sessions. */
  sessions: Allowance
}).annotate({ identifier: "OwnerUsage" })
