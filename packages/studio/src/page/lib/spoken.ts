/** A spoken turn, made from its stored messages: a voice session is no run, so nothing else is stored. Pure. */
import { type Answer, type Call, storedAnswer } from "./answer.ts"
import { isRecord, type StoredMessage } from "../wire.ts"
import type { FilmStep } from "./waterfall.ts"

export interface SpokenTurn {
  readonly threadId: string
  /** The id of the turn in addresses. */
  readonly runId: string
  readonly answer: Answer
  /** The calls since the user's words. Calls for which the answer waited are stored as a message before it. */
  readonly calls: ReadonlyArray<Call>
  /** The user's words; null: the assistant spoke first. */
  readonly heard: string | null
  readonly status: StoredMessage["status"]
  readonly isInterrupted: boolean
  /** The stages whose times are known, counted from the end of the user's words at the year 1970; then the calls, without times. */
  readonly stages: ReadonlyArray<FilmStep>
  readonly firstTokenAt: string | null
  /** Milliseconds; null: the voice tells no times. */
  readonly firstSound: number | null
}

/** Null: the thread has no such answer. */
export const spokenTurn = (
  threadId: string,
  messages: ReadonlyArray<StoredMessage>,
  messageId: string
): SpokenTurn | null => {
  const index = messages.findIndex(({ message_id }) => message_id === messageId)
  const message = messages[index]
  if (message === undefined) return null
  const answer = storedAnswer(message)
  const said = messages.slice(0, index).findLastIndex(({ role }) => role === "user")
  const calls = messages.slice(said + 1, index + 1).flatMap((each) => storedAnswer(each).calls)
  const millis = (name: string): number | null => {
    const value = answer.voiceTimes?.[name]
    return typeof value === "number" ? value : null
  }
  const [written, sentence, sound] = [millis("transcript_ms"), millis("first_sentence_ms"), millis("first_sound_ms")]
  const firstToken = millis("first_token_ms")
  const { inputTokens: input_tokens, outputTokens: output_tokens } = answer
  return {
    threadId,
    runId: `spoken-${messageId}`,
    answer,
    calls,
    heard: messages[said]?.content ?? null,
    status: message.status,
    isInterrupted: isRecord(message.metadata_) && message.metadata_["interrupted"] === true,
    stages: [
      ...stage("hear", 0, written),
      ...stage("model", written, sentence, { name: answer.model, input_tokens, output_tokens }),
      ...stage("speak", sentence, sound),
      ...calls.map(({ id, name }) => ({ ...untimed, kind: "tool" as const, name, tool_call_id: id }))
    ],
    firstTokenAt: firstToken === null ? null : instant(firstToken),
    firstSound: sound
  }
}

const untimed = {
  name: null,
  tool_call_id: null,
  started_at: null,
  ended_at: null,
  input_tokens: null,
  output_tokens: null,
  cost_usd: null
}

const instant = (millis: number): string => new Date(millis).toISOString()

const stage = (
  kind: FilmStep["kind"],
  begin: number | null,
  end: number | null,
  rest: Partial<FilmStep> = {}
): ReadonlyArray<FilmStep> =>
  begin === null || end === null
    ? []
    : [{ ...untimed, ...rest, kind, started_at: instant(begin), ended_at: instant(end) }]
