/**
 * What the service itself adds to a session: the hosted tools and the instructions that come with a selection (memory, web search, image
 * and video generation). The default offers the host's own `HostedTools` and refuses every selection; the code that puts the
 * kernel together provides the rooms that are installed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { AssistantId, newId, type ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import type { ServiceSelection } from "./Frames.ts"

export class FeatureRefused extends Schema.TaggedError<FeatureRefused>()("FeatureRefused", {
  /** Says what to change in the first frame. */
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

export interface SessionExtras {
  readonly tools: ReadonlyArray<HostedTool>
  /** Stands behind the instructions of the assistant. */
  readonly instructions: string | null
}

export interface SessionFeatures {
  /** Ids are null for what the session is still to make. */
  readonly prepare: (
    selection: ServiceSelection,
    place: { readonly assistantId: AssistantId | null; readonly threadId: ThreadId | null }
  ) => Effect.Effect<SessionExtras, FeatureRefused | StoreUnavailable, Principal>
}

/** Null: `hostTools`. */
export const SessionFeatures = Context.Reference<SessionFeatures | null>("@colloquy/core/realtime/SessionFeatures", {
  defaultValue: () => null
})

/** The host's own tools, and nothing else. */
export const hostTools = (tools: () => ReadonlyArray<HostedTool>): SessionFeatures => ({
  prepare: (selection, { assistantId }) => {
    const missing = notInstalled(selection)
    if (missing !== null) {
      return Effect.fail(new FeatureRefused({ reason: `${missing} is not installed on this service.` }))
    }
    return Effect.gen(function* () {
      // An assistant that is still to be made has what every new one has: nothing under its id.
      const id = assistantId ?? (yield* newId(AssistantId))
      const offered = tools().filter(
        (tool) => tool.offered?.({ assistantId: id, metadata: null, jsonOutput: false }) ?? true
      )
      return { tools: offered, instructions: null }
    })
  }
})

const notInstalled = (selection: ServiceSelection): string | null => {
  if (selection.memory !== "off" || selection.memoryPro !== "off") return "Memory"
  if (selection.webSearch) return "Web search"
  if (selection.image !== null) return "Image generation"
  return selection.video === null ? null : "Video generation"
}
