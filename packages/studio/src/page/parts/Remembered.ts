/** The memories that a turn recalled and learned, and the excerpts of documents that it used. */
import type { InspectedTurn } from "../state/inspector.ts"
import { learned } from "../state/memories.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { MemoryOperation } from "../wire.ts"
import { Icon } from "./Icon.ts"

const turnEnd = (turn: InspectedTurn) => {
  const events = turn.log.map(({ event }) => event)
  return events.findLast((event) => event.type === "run_ended" || event.type === "message_saved") ?? null
}

export const Remembered = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const end = turnEnd(turn)
  const recalled = end?.type === "run_ended" ? (end.retrieved_memories ?? []) : []
  const excerpts = end?.type === "run_ended" ? (end.retrieved ?? []) : []
  const cites = end?.type === "run_ended" ? (end.citations ?? []) : []
  return html`${
    recalled.length > 0 &&
    html`<h3>Recalled from memory</h3>
    <ul class="plain">
      ${recalled.map(({ cited, memory }) => html`<li>${memory}${cited === true && html` <span class="badge">cited</span>`}</li>`)}
    </ul>`
  }
  ${
    excerpts.length > 0 &&
    html`<h3>Excerpts of documents</h3>
    <ul class="plain excerpts">
      ${excerpts.map(
        ({ filename, index, page, text }) =>
          html`<li>
            <details>
              <summary>
                <${Icon} name="file" /> [d${index + 1}] ${filename}${page !== null && `, page ${page}`}
                ${cites.some((each) => each.kind === undefined && each.index === index) && html` <span class="badge">cited</span>`}
              </summary>
              <p>${text ?? "deleted since"}</p>
            </details>
          </li>`
      )}
    </ul>`
  }
  <${Learned} operationId=${end?.memory_operation_id ?? null} />`
}

const words = { ADD: "new", UPDATE: "changed", DELETE: "forgotten" }

const Learned = ({ operationId }: { readonly operationId: string | null }): View => {
  const [operation, setOperation] = useState<MemoryOperation | null>(null)
  useEffect(() => {
    setOperation(null)
    if (operationId !== null) learned(operationId).then(setOperation, () => {})
  }, [operationId])
  if (operationId === null) return null
  if (operation === null) return html`<h3>Learned</h3><p class="hint">It is being looked for.</p>`
  if (operation.status === "FAILED")
    return html`<h3>Learned</h3><p class="mark failed">${operation.error ?? "Learning failed."}</p>`
  return html`<h3>Learned</h3>
    ${
      operation.memory_ids.length === 0
        ? html`<p class="hint">Nothing new.</p>`
        : html`<ul class="plain">
          ${operation.memory_ids.map(({ event, memory }) => html`<li><span class="badge">${words[event]}</span> ${memory ?? "gone since"}</li>`)}
        </ul>`
    }`
}
