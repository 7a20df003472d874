/** The chosen step of a turn: what was sent, what was received, its events, and the request as a program would send it. */
import { base, json } from "../api/http.ts"
import { count, duration, money, plural } from "../lib/format.ts"
import { prettyJson } from "../lib/prettyJson.ts"
import { newMessages } from "../lib/promptBar.ts"
import { curlSample, type SampleRequest, typescriptSample } from "../lib/samples.ts"
import { stepFailures, type FilmStep } from "../lib/waterfall.ts"
import { hasRoom } from "./rooms.ts"
import { href } from "../state/address.ts"
import { type Call, storedAnswer } from "../lib/answer.ts"
import * as inspector from "../state/inspector.ts"
import type { InspectedTurn } from "../state/inspector.ts"
import type { LoggedEvent } from "../state/log.ts"
import { html, useEffect, useMemo, useState, type View } from "../view.ts"
import type { RunStep, StreamEvent, Thread, ToolCall } from "../wire.ts"
import { CodeBlock } from "./CodeBlock.ts"
import { EventLog } from "./EventLog.ts"
import { IconButton } from "./Icon.ts"

export const stepWords: Readonly<Record<FilmStep["kind"], string>> = {
  queue: "Waited for the thread",
  listen: "Listen",
  recall: "Recall",
  hear: "Hear",
  model: "Model",
  speak: "Speak",
  tool: "Tool",
  client: "Your results",
  settle: "Settle"
}

export interface StepDetailProps {
  readonly turn: InspectedTurn
  readonly number: number
  /** The number of the step of each event. */
  readonly stepNumbers: ReadonlyArray<number>
  readonly onClose: () => void
}

export const StepDetail = ({ number, onClose, stepNumbers, turn }: StepDetailProps): View => {
  const step = turn.inspection.steps[number]
  const events = useMemo(
    () => turn.log.filter((_, index) => stepNumbers[index] === number),
    [turn.log, stepNumbers, number]
  )
  if (step === undefined) return null
  const facts = [
    stepTime(step),
    step.input_tokens === null ? null : `${count(step.input_tokens)} tokens in, ${count(step.output_tokens ?? 0)} out`,
    step.cost_usd === null ? null : money(step.cost_usd)
  ].filter((fact) => fact !== null)
  return html`<${StepFrame} number=${number} step=${step} facts=${facts} onClose=${onClose}>
    ${step.kind === "model" && hasRoom("playground") && html`<p><a href=${href("playground", turn.threadId, turn.runId, number)}>Try it in the playground</a></p>`}
    ${step.kind === "model" && html`<${ModelCall} turn=${turn} number=${number} events=${events} />`}
    ${(step.kind === "tool" || step.kind === "client") && html`<${Calls} turn=${turn} step=${step} events=${events} />`}
    <${Problems} turn=${turn} number=${number} />
    ${events.length > 0 && html`<${Folded} title="Raw events (${events.length})"><${EventLog} turn=${{ ...turn, log: events }} /><//>`}
    <${Sample} turn=${turn} step=${step} />
  <//>`
}

/** How long a step took, in words; null: not known. */
export const stepTime = ({ ended_at, started_at }: FilmStep): string | null =>
  started_at === null || ended_at === null ? null : duration(Date.parse(ended_at) - Date.parse(started_at))

interface StepFrameProps {
  readonly number: number
  readonly step: FilmStep
  readonly facts: ReadonlyArray<string>
  readonly onClose: () => void
  readonly children?: View
}

/** The head of a chosen step: its kind and name, and its facts in one line. */
export const StepFrame = ({ children, facts, number, onClose, step: { kind, name } }: StepFrameProps): View =>
  html`<section class="step-detail" aria-label="Step ${number + 1}">
    <header class="row">
      <h3>${stepWords[kind]} ${name !== null && html`<code>${name}</code>`}</h3>
      <${IconButton} icon="close" label="Close the step" onClick=${onClose} />
    </header>
    ${facts.length > 0 && html`<p class="detail">${facts.join(" · ")}</p>`}
    ${children}
  </section>`

interface FoldedProps {
  readonly title: string
  readonly isOpen?: boolean
  readonly children?: View
}

/** Folded content is not drawn. */
export const Folded = ({ children, isOpen = false, title }: FoldedProps): View => {
  const [isShown, setShown] = useState(isOpen)
  return html`<details
    open=${isShown}
    onToggle=${(event: Event) => {
      if (event.currentTarget instanceof HTMLDetailsElement) setShown(event.currentTarget.open)
    }}
  >
    <summary>${title}</summary>
    ${isShown && children}
  </details>`
}

const modelNumber = ({ steps }: InspectedTurn["inspection"], number: number): number =>
  steps.slice(0, number).filter(({ kind }) => kind === "model").length

interface ModelCallProps {
  readonly turn: InspectedTurn
  readonly number: number
  readonly events: ReadonlyArray<LoggedEvent>
}

const ModelCall = ({ events, number, turn }: ModelCallProps): View => {
  const { prompts, steps } = turn.inspection
  const nth = modelNumber(turn.inspection, number)
  const prompt = prompts[nth]
  const before = prompts[nth - 1]
  const next = steps.findIndex(({ kind }, index) => index > number && kind === "model")
  const made = steps.slice(number + 1, next === -1 ? undefined : next).filter(({ kind }) => kind === "tool")
  const all = prompt?.parts.flatMap((part) => {
    const marks = newMessages(part, before)
    return part.part === "tools"
      ? []
      : part.messages.map((message, index) => ({ ...message, isNew: marks[index] === true }))
  })
  const sent = before === undefined ? (all?.slice(-1) ?? []) : (all?.filter(({ isNew }) => isNew) ?? [])
  const written = (type: StreamEvent["type"]) =>
    events
      .flatMap(({ event }) => (event.type === type && "content" in event ? [event.content] : []))
      .join("")
      .trim()
  const [text, thoughts] = [written("content_streaming"), written("reasoning_streaming")]
  const whole = () => {
    inspector.tab.value = "prompt"
  }
  return html`<${Folded}
      title=${prompt === undefined ? "Sent" : `Sent: about ${plural(prompt.estimated_tokens, "token")}${prompt.input_tokens === null ? "" : `, ${count(prompt.input_tokens)} by the provider`}`}
      isOpen
    >
      ${prompt === undefined && html`<p class="hint">Its prompt is shown when the leg has ended.</p>`}
      ${sent.map(({ role, text: said }) => html`<div class="read"><span class="role">${role}</span><pre>${said}</pre></div>`)}
      ${
        all !== undefined &&
        html`<button type="button" class="quiet" onClick=${whole}>
        ${all.length > sent.length ? `All ${plural(all.length, "message")} of the prompt` : "The whole prompt"}
      </button>`
      }
    <//>
    <${Folded} title="Received" isOpen>
      ${thoughts !== "" && html`<pre class="thoughts">${thoughts}</pre>`}
      ${text !== "" && html`<pre>${text}</pre>`}
      ${made.length > 0 && html`<p>${made.map(({ name }) => html`<span class="chip">calls ${name}</span> `)}</p>`}
      ${text === "" && thoughts === "" && made.length === 0 && html`<p class="hint">No text.</p>`}
    <//>`
}

/** Outputs of calls are stored with the message, not in the log. */
const readOutputs = async (threadId: string, runId: string): Promise<ReadonlyMap<string, string | null>> => {
  const { messages } = await json<Thread>(`/threads/${threadId}`)
  const own = messages.filter((each) => each.run_id === runId && each.role === "assistant")
  return new Map(own.flatMap((each) => storedAnswer(each).calls).map(({ id, output }) => [id, output]))
}

interface CallsProps {
  readonly turn: InspectedTurn
  readonly step: RunStep
  readonly events: ReadonlyArray<LoggedEvent>
}

const Calls = ({ events, step, turn }: CallsProps): View => {
  const [outputs, setOutputs] = useState<ReadonlyMap<string, string | null> | null>(null)
  useEffect(() => {
    readOutputs(turn.threadId, turn.runId).then(setOutputs, () => setOutputs(new Map()))
  }, [turn.runId, turn.run.status])
  const asked = events.flatMap(({ event }): ReadonlyArray<Omit<ToolCall, "kind">> => {
    if (event.type === "tool_submit_required") return event.tool_calls
    return event.type === "tool_call_ready" && event.tool_call.id === step.tool_call_id ? [event.tool_call] : []
  })
  if (asked.length === 0) return html`<p class="hint">The log of this call is not kept any more.</p>`
  return html`${asked.map(
    ({ function: { arguments: given, name }, id }) =>
      html`<${CallDetail} name=${name} given=${given} output=${outputs?.get(id) ?? null} isRead=${outputs !== null} />`
  )}`
}

interface CallDetailProps extends Pick<Call, "name" | "given" | "output"> {
  /** Whether the output has been searched for. */
  readonly isRead: boolean
}

/** One call of a tool: its arguments and its output. */
export const CallDetail = ({ given, isRead, name, output }: CallDetailProps): View =>
  html`<${Folded} title="Sent to ${name}" isOpen><pre>${prettyJson(given)}</pre><//>
    <${Folded} title="Received from ${name}" isOpen>
      ${
        output === null
          ? html`<p class="hint">${isRead ? "There is no result, or it is not kept." : "It is being read."}</p>`
          : html`<pre>${prettyJson(output)}</pre>`
      }
    <//>`

const Problems = ({ number, turn }: { readonly turn: InspectedTurn; readonly number: number }): View =>
  html`${stepFailures(turn.inspection, number).map(
    ({ code, reason, said, status }) =>
      html`<div class="mark failed">
        <p>${[reason, status, code].filter((each) => each !== null).join(" · ")}</p>
        ${said !== null && html`<pre>${said}</pre>`}
      </div>`
  )}`

const sampleRequest = ({ log, run, runId, threadId }: InspectedTurn, step: RunStep): SampleRequest | null => {
  if (step.kind === "client") {
    const asked = log.flatMap(({ event }) => (event.type === "tool_submit_required" ? event.tool_calls : []))
    return {
      path: `/threads/${threadId}/runs/${runId}/submit-tool-outputs`,
      body: { tool_outputs: asked.map(({ id }) => ({ tool_call_id: id, output: "…" })) }
    }
  }
  if (step.kind !== "model") return null
  const question = log.map(({ event }) => event).find((event) => event.type === "user_message")
  if (question?.type !== "user_message") return null
  return {
    path: `/threads/${threadId}/messages`,
    body: { content: question.content, llm_provider: run.model_provider, model_name: run.model_name }
  }
}

const Sample = ({ step, turn }: { readonly turn: InspectedTurn; readonly step: RunStep }): View => {
  const request = sampleRequest(turn, step)
  if (request === null) return null
  const address = location.origin + base
  return html`<${Folded} title="As a request: curl, TypeScript">
    <${CodeBlock} language="sh" code=${curlSample(address, request)} />
    <${CodeBlock} language="ts" code=${typescriptSample(address, request)} />
  <//>`
}
