/** What the user has used of each limit of the server. */
import { bytes, count, money, wholeDate } from "../lib/format.ts"
import { type Allowance, usage } from "../state/usage.ts"
import { html, type View } from "../view.ts"
import { Dialog } from "./Dialog.ts"

const names: { readonly [field: string]: string } = {
  requests: "Requests this minute",
  turns: "Turns this minute",
  input_tokens: "Input tokens today",
  output_tokens: "Output tokens today",
  cost_usd: "Cost today",
  bytes: "Bytes of documents",
  documents: "Documents",
  memories: "Memories",
  sessions: "Voice sessions"
}

const shown = (field: string, value: number): string => {
  if (field === "cost_usd") return money(value)
  return field === "bytes" ? bytes(value) : count(value)
}

export const UsageDialog = (): View => {
  const found = usage.value
  if (found === null) return null
  const close = () => {
    usage.value = null
  }
  return html`<${Dialog} title="Usage and limits" onClose=${close}>
    <dl class="usage">
      ${Object.entries(names).flatMap(([field, name]) => {
        const allowance = found[field]
        return allowance === undefined
          ? []
          : [html`<${Line} key=${field} field=${field} name=${name} allowance=${allowance} />`]
      })}
    </dl>
  <//>`
}

interface LineProps {
  readonly field: string
  readonly name: string
  readonly allowance: Allowance
}

const Line = ({ allowance, field, name }: LineProps): View => {
  const { limit, resets_at: resetsAt, used } = allowance
  const title = limit === null || resetsAt === null ? undefined : `Resets ${wholeDate(resetsAt)}`
  return html`<dt>${name}</dt>
    <dd title=${title}>
      ${shown(field, used)} ${limit === null ? html`<span class="hint">no limit</span>` : `of ${shown(field, limit)}`}
    </dd>`
}
