/** The events of a run as they arrived over the wire. Consecutive text deltas share one line that can be opened. */
import type { InspectedTurn } from "../state/inspector.ts"
import type { LoggedEvent } from "../state/log.ts"
import { duration, plural } from "../lib/format.ts"
import { html, type View } from "../view.ts"

interface Group {
  readonly type: string
  readonly events: Array<LoggedEvent>
}

const deltas = new Set(["content_streaming", "reasoning_streaming", "tts_audio_chunk", "stt_text_delta"])

const groupEvents = (log: ReadonlyArray<LoggedEvent>): ReadonlyArray<Group> => {
  const groups: Array<Group> = []
  for (const entry of log) {
    const { type } = entry.event
    const last = groups.at(-1)
    if (last?.type === type && deltas.has(type)) last.events.push(entry)
    else groups.push({ type, events: [entry] })
  }
  return groups
}

/** The fields of an event without those that all events of a run share. */
const own = ({ event }: LoggedEvent): string => {
  const common = new Set(["type", "sequence", "run_id", "thread_id", "assistant_id"])
  const rest = Object.entries(event).filter(([name]) => !common.has(name))
  return rest.length === 0 ? "" : JSON.stringify(Object.fromEntries(rest), shorten, 1)
}

/** Shortens audio, which would fill pages. */
const shorten = (name: string, value: unknown): unknown =>
  name === "data" && typeof value === "string" && value.length > 60 ? `${value.slice(0, 60)}…` : value

export const EventLog = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const begin = turn.log.find(({ at }) => at !== null)?.at ?? null
  const timeText = ({ at }: LoggedEvent) => (at === null || begin === null ? "" : `+${duration(at - begin)}`)
  return html`<ol class="log" aria-label="Events of the run">
    ${groupEvents(turn.log).map(({ events, type }) => {
      const [first] = events
      if (first === undefined) return null
      const many = events.length > 1
      return html`<li>
        <details>
          <summary>
            <span class="detail">${first.event.sequence}</span> <b>${type}</b>
            <span class="detail">${many ? plural(events.length, "time") : ""} ${timeText(first)}</span>
          </summary>
          <pre>${many ? events.map((each) => entryText(each)).join("") : own(first)}</pre>
        </details>
      </li>`
    })}
  </ol>`
}

const entryText = (entry: LoggedEvent): string =>
  "content" in entry.event && typeof entry.event.content === "string" ? entry.event.content : own(entry)
