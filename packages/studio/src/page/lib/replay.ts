/** A turn as it was at an instant of its log, and the step to which each event belongs. Pure. */
import { afterEvent, type Answer, emptyAnswer } from "./answer.ts"
import type { RunStep, StreamEvent } from "../wire.ts"

/** The content of the screen: the message, and an answer for each leg. */
export interface Moment {
  readonly question: string | null
  readonly answers: ReadonlyArray<Answer>
}

/** The turn after the events up to this position in the list. */
export const momentAt = (events: ReadonlyArray<StreamEvent>, position: number): Moment => {
  let question: string | null = null
  const answers: Array<Answer> = []
  for (const event of events.slice(0, position + 1)) {
    if (event.type === "user_message") question = event.content
    const isNew =
      event.type === "run_started" ||
      event.type === "run_continuing" ||
      (event.type === "run_failed" && answers.at(-1)?.messageId !== event.message_id)
    if (isNew) answers.push(emptyAnswer)
    const last = answers.pop()
    if (last !== undefined) answers.push(afterEvent(last, event))
  }
  return { question, answers }
}

/** The events that a model has written. */
const written = new Set<StreamEvent["type"]>([
  "reasoning_streaming",
  "reasoning_ended",
  "content_streaming",
  "output_streaming",
  "tool_call_start"
])

const indexes = (steps: ReadonlyArray<RunStep>, kind: RunStep["kind"]): ReadonlyArray<number> =>
  steps.flatMap((step, index) => (step.kind === kind ? [index] : []))

/**
 * The number of the step of each event. The log has no times of events, and steps do not name their events. So text that a model writes
 * after its calls are ready counts for the next model call.
 */
export const eventSteps = (
  events: ReadonlyArray<StreamEvent>,
  steps: ReadonlyArray<RunStep>
): ReadonlyArray<number> => {
  const models = indexes(steps, "model")
  const clients = indexes(steps, "client")
  const settles = indexes(steps, "settle")
  const first = indexes(steps, "recall")[0] ?? indexes(steps, "queue")[0] ?? 0
  let model = -1
  let client = -1
  let isNext = true
  let current = first
  return events.map((event) => {
    if (written.has(event.type) && isNext) {
      model = Math.min(model + 1, models.length - 1)
      isNext = false
    }
    if (written.has(event.type)) current = models[model] ?? current
    if (event.type === "tool_call_ready") {
      isNext = true
      const tool = steps.findIndex(({ tool_call_id }) => tool_call_id === event.tool_call.id)
      return tool === -1 ? current : tool
    }
    if (event.type === "tool_submit_required") {
      client = Math.min(client + 1, clients.length - 1)
      current = clients[client] ?? current
      isNext = true
    }
    if (event.type === "run_ended" || event.type === "run_failed" || event.type === "run_cancelled")
      current = settles.at(-1) ?? current
    return current
  })
}
