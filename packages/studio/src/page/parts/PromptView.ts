/** The prompt of each model call as the model read it: the window as one bar in true proportion, and each part with its text. */
import { count, percent, plural } from "../lib/format.ts"
import { prettyJson } from "../lib/prettyJson.ts"
import { makeSegments, newMessages, type Prompt, type PromptPart, type Segment } from "../lib/promptBar.ts"
import * as inspector from "../state/inspector.ts"
import type { InspectedTurn } from "../state/inspector.ts"
import { classes, html, useEffect, useMemo, useState, type View } from "../view.ts"
import type { Run } from "../wire.ts"

type Report = NonNullable<Run["prompt"]>

const titles: Readonly<Record<string, string>> = {
  system: "Instructions",
  tools: "Tools",
  summary: "Summary of what came before",
  history: "Earlier messages",
  excerpts: "Excerpts of documents",
  memory: "Memories",
  memories: "Memories",
  turn: "This turn",
  answer: "Kept for the answer",
  free: "Free"
}

const titleText = (name: string): string => titles[name] ?? name

/** The model call of the chosen step; the last one if none is chosen. */
const callNumber = ({ inspection: { prompts, steps } }: InspectedTurn, step: number | null): number => {
  const before = step === null ? prompts.length : steps.slice(0, step + 1).filter(({ kind }) => kind === "model").length
  return Math.max(0, Math.min(prompts.length, before) - 1)
}

export const PromptView = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const { inspection, run } = turn
  const { prompts } = inspection
  const wanted = callNumber(turn, inspector.step.value)
  const [number, setNumber] = useState(wanted)
  useEffect(() => setNumber(wanted), [wanted, turn.runId])
  const prompt = prompts[number] ?? prompts.at(-1)
  if (run.prompt === null || prompt === undefined)
    return html`<p class="hint">Nothing was sent to a conversation model, or the turn is still under way.</p>`
  const before = prompts[prompts.indexOf(prompt) - 1]
  return html`<section class="prompt">
    ${prompts.length > 1 && html`<${CallChooser} prompts=${prompts} number=${prompts.indexOf(prompt)} onChoose=${setNumber} />`}
    <${Window} prompt=${prompt} report=${run.prompt} />
    ${prompt.parts.map((part) => html`<${PromptPartView} key=${`${number} ${part.part}`} part=${part} before=${before} />`)}
    <${LeftOut} report=${run.prompt} />
  </section>`
}

interface CallChooserProps {
  readonly prompts: ReadonlyArray<Prompt>
  readonly number: number
  readonly onChoose: (number: number) => void
}

const CallChooser = ({ number, onChoose, prompts }: CallChooserProps): View =>
  html`<label class="call-chooser">
    Model call
    <select
      value=${String(number)}
      onChange=${(event: Event) => {
        if (event.currentTarget instanceof HTMLSelectElement) onChoose(Number(event.currentTarget.value))
      }}
    >
      ${prompts.map(
        ({ estimated_tokens }, index) =>
          html`<option value=${String(index)}>${index + 1} of ${prompts.length}: about ${plural(estimated_tokens, "token")}</option>`
      )}
    </select>
  </label>`

const Window = ({ prompt, report }: { readonly prompt: Prompt; readonly report: Report }): View => {
  const { context_limit: limit, reserved_for_answer } = report
  const segments = useMemo(() => makeSegments(prompt, limit, reserved_for_answer), [prompt, limit])
  const counted = prompt.input_tokens
  const difference = counted === null || counted === 0 ? null : (prompt.estimated_tokens - counted) / counted
  return html`<div class="window">
    <div class="window-bar" aria-hidden="true">
      ${segments.map((each) => html`<span class="window-${each.name}" style=${{ flexGrow: String(each.share) }} title="${titleText(each.name)}: ${count(each.tokens)}"></span>`)}
    </div>
    <p>
      About ${count(prompt.estimated_tokens)} tokens of ${limit === null ? "a window that is not known" : `a window of ${count(limit)}`};
      ${" "}${count(reserved_for_answer)} are kept free for the answer.
    </p>
    ${
      counted !== null &&
      html`<p class="hint">
      The provider counted ${plural(counted, "token")}${difference === null ? "" : `: the estimate is ${percent(Math.abs(difference))} ${difference < 0 ? "lower" : "higher"}`}.
    </p>`
    }
    <ul class="window-legend">
      ${segments.map((each) => html`<${Legend} key=${each.name} segment=${each} />`)}
    </ul>
  </div>`
}

const shareText = (share: number): string => (share > 0 && share < 0.01 ? "< 1 %" : percent(share))

const Legend = ({ segment: { name, share, tokens } }: { readonly segment: Segment }): View =>
  html`<li>
    <span class="window-mark window-${name}" aria-hidden="true"></span>
    <span>${titleText(name)}</span><span class="detail">${count(tokens)} · ${shareText(share)}</span>
  </li>`

interface PromptPartProps {
  readonly part: PromptPart
  readonly before: Prompt | undefined
}

/** Texts that are folded are not drawn: a prompt may have hundreds of messages. */
const PromptPartView = ({ before, part }: PromptPartProps): View => {
  const { estimated_tokens: tokens, messages, part: name } = part
  const [isShown, setShown] = useState(name !== "history" && name !== "tools")
  const marks = useMemo(() => newMessages(part, before), [part, before])
  if (tokens === 0 && messages.length === 0) return null
  const added = marks.filter(Boolean).length
  return html`<details
    open=${isShown}
    onToggle=${(event: Event) => {
      if (event.currentTarget instanceof HTMLDetailsElement) setShown(event.currentTarget.open)
    }}
  >
    <summary>
      <b>${titleText(name)}</b> <span class="detail">about ${plural(tokens, "token")}</span>
      ${added > 0 && html` <span class="badge">${added} new</span>`}
    </summary>
    ${isShown && messages.length === 0 && html`<p class="hint">Its text is not kept any more.</p>`}
    ${
      isShown &&
      messages.map(
        ({ role, text }, index) =>
          html`<div class=${classes("read", marks[index] === true && "new")}>
          <span class="role">${role}${marks[index] === true && html` <span class="badge">new</span>`}</span>
          <pre>${name === "tools" ? prettyJson(text) : text}</pre>
        </div>`
      )
    }
  </details>`
}

const LeftOut = ({ report: { left_out } }: { readonly report: Report }): View =>
  html`${left_out.map(
    ({ because, messages, part }) =>
      html`<p class="mark">Left out of “${titleText(part)}”: ${messages > 0 ? `${plural(messages, "message")}, ` : ""}${because}.</p>`
  )}`
