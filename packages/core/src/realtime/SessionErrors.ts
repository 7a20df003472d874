/** Why a voice session ends before it has begun, as the client gets it. */
import * as Schema from "effect/Schema"
import { type CloseReason, ErrorCode } from "./Frames.ts"

export class SessionRefused extends Schema.TaggedError<SessionRefused>()("SessionRefused", {
  code: ErrorCode,
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }

  /** Failures of the service are faults; all others are refusals. */
  get close(): CloseReason {
    return this.code === "internal_error" || this.code.startsWith("provider_") ? "fault" : "refused"
  }
}

export const refuse = (code: ErrorCode, reason: string): SessionRefused => new SessionRefused({ code, reason })
