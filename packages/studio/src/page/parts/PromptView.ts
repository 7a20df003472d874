/** The prompt of each model call as the model read it, part by part, with each part's share of the window. */
import { count, plural } from "../lib/format.ts"
import type { InspectedTurn } from "../state/inspector.ts"
import { html, type View } from "../view.ts"
import type { RunInspection } from "../wire.ts"

type Prompt = RunInspection["prompts"][number]
type Part = Prompt["parts"][number]

const titles: Readonly<Record<string, string>> = {
  system: "Instructions",
  tools: "Tools",
  summary: "Summary of what came before",
  history: "Earlier messages",
  excerpts: "Excerpts of documents",
  memory: "Memories",
  memories: "Memories",
  turn: "This turn"
}

export const PromptView = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const { inspection, run } = turn
  const { prompt: report } = run
  const { prompts } = inspection
  if (report === null || prompts.length === 0)
    return html`<p class="hint">Nothing was sent to a conversation model, or the turn is still under way.</p>`
  const { context_limit: limit, left_out, reserved_for_answer, used_tokens } = report
  return html`<section class="prompt">
    ${limit !== null && html`<meter min="0" max=${limit} value=${used_tokens} aria-label="Window used"></meter>`}
    <p>
      About ${count(used_tokens)} tokens of ${limit === null ? "a window that is not known" : `a window of ${count(limit)}`};
      ${" "}${count(reserved_for_answer)} are kept free for the answer.
    </p>
    ${prompts.map(
      (prompt, index) => html`
        ${prompts.length > 1 && html`<h4>${promptTitle(prompt, index)}</h4>`}
        ${prompt.parts.map((part) => html`<${PromptPart} key=${`${index} ${part.part}`} part=${part} />`)}
      `
    )}
    ${left_out.map(
      ({ because, messages, part }) =>
        html`<p class="mark">Left out of “${titles[part] ?? part}”: ${messages > 0 ? `${plural(messages, "message")}, ` : ""}${because}.</p>`
    )}
  </section>`
}

const promptTitle = ({ estimated_tokens, input_tokens }: Prompt, index: number): string =>
  `Model call ${index + 1}: about ${plural(estimated_tokens, "token")}${
    input_tokens === null ? "" : `, ${count(input_tokens)} by the provider`
  }`

const PromptPart = ({ part }: { readonly part: Part }): View => {
  const { estimated_tokens: tokens, messages, part: name } = part
  if (tokens === 0 && messages.length === 0) return null
  return html`<details open=${name !== "history" && name !== "tools"}>
    <summary><b>${titles[name] ?? name}</b> <span class="detail">about ${plural(tokens, "token")}</span></summary>
    ${messages.length === 0 && html`<p class="hint">Its text is not kept any more.</p>`}
    ${messages.map(
      ({ role, text }) =>
        html`<div class="read">
          <span class="role">${role}</span>
          <pre>${name === "tools" ? pretty(text) : text}</pre>
        </div>`
    )}
  </details>`
}

const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
