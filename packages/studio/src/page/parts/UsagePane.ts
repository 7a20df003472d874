/** The usage of each limit of the owner. */
import { bytes, count, money, wholeDate } from "../lib/format.ts"
import { json } from "../api/http.ts"
import { tell } from "../state/studio.ts"
import { classes, html, useEffect, useState, type View } from "../view.ts"

interface Allowance {
  readonly used: number
  readonly limit: number | null
  readonly resets_at: string | null
}

type Usage = Readonly<Record<string, Allowance>>

const names: Readonly<Record<string, string>> = {
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

const amount = (field: string, value: number): string => {
  if (field === "cost_usd") return money(value)
  return field === "bytes" ? bytes(value) : count(value)
}

export const UsagePane = (): View => {
  const [usage, setUsage] = useState<Usage | null>(null)
  useEffect(() => {
    json<Usage>("/owners/me/usage").then(setUsage, tell)
  }, [])
  if (usage === null) return html`<p class="hint">It is being read.</p>`
  return html`<dl class="usage" aria-label="Usage and limits">
    ${Object.entries(names).flatMap(([field, name]) => {
      const allowance = usage[field]
      return allowance === undefined
        ? []
        : [html`<${Line} key=${field} field=${field} name=${name} allowance=${allowance} />`]
    })}
  </dl>`
}

interface LineProps {
  readonly field: string
  readonly name: string
  readonly allowance: Allowance
}

const Line = ({ allowance, field, name }: LineProps): View => {
  const { limit, resets_at: resetsAt, used } = allowance
  const share = limit === null || limit === 0 ? 0 : Math.min(1, used / limit)
  return html`<div>
    <dt>${name}</dt>
    <dd>
      ${amount(field, used)} ${limit === null ? html`<span class="hint">no limit</span>` : `of ${amount(field, limit)}`}
      ${limit !== null && html`<span class="gauge" aria-hidden="true"><span class=${classes(share > 0.8 && "high")} style=${{ width: `${share * 100}%` }}></span></span>`}
      ${limit !== null && resetsAt !== null && html`<span class="detail">Resets ${wholeDate(resetsAt)}</span>`}
    </dd>
  </div>`
}
