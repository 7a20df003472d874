/** Pure: instructions and tools that a client changes while its session goes on, by the rules of the first frame. */
import * as Result from "effect/Result"
import type { SessionSettings } from "./Frames.ts"
import { complain, type Decided, type SessionState, tell } from "./SessionSteps.ts"

/** A change is checked as a whole, and goes to the vendor as a whole. */
export const changeSettings = (state: SessionState, change: SessionSettings): Decided => {
  const settings = { ...state.settings, ...change }
  const setup = state.terms.setupWith(settings)
  return {
    state,
    actions: [
      Result.isSuccess(setup)
        ? { _tag: "Change", setup: setup.success, settings }
        : complain("invalid_frame", setup.failure)
    ]
  }
}

export const keepSettings = (state: SessionState, settings: SessionSettings): Decided => ({
  state: { ...state, settings },
  actions: [{ _tag: "KeepSettings", settings }]
})

export const tellKept = (state: SessionState): Decided => ({ state, actions: [tell({ _tag: "SessionChanged" })] })
