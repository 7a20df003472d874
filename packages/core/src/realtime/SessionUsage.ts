/** Pure: what a session has used, as a whole and for the current answer. */
import { addUsage, noUsage, totalTokens, type Usage } from "../primitives/Usage.ts"
import type { VendorEvent } from "./RealtimeModel.ts"
import type { Decided, SessionState } from "./SessionSteps.ts"

export const countUsage = (
  state: SessionState,
  { isHearing = false, usage }: Extract<VendorEvent, { readonly _tag: "Used" }>
): Decided => ({
  state: {
    ...state,
    usage: addUsage(state.usage, usage),
    answerUsage: isHearing ? state.answerUsage : addUsage(state.answerUsage ?? noUsage, usage)
  },
  actions: [{ _tag: "Charge", usage }]
})

/** Tokens that the vendor did not count are not told as a figure. */
export const answerUsage = ({ answerUsage: usage }: SessionState): { readonly usage?: Usage } =>
  usage === null || (usage.estimated && totalTokens(usage) === 0) ? {} : { usage }

/** The usage of an answer that did not end: the vendor will charge for it, and has not reported how much. */
export const unknownUsage: Usage = { ...noUsage, estimated: true }
