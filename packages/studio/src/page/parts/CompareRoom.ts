/** Two models answer one message side by side. Each uses a separate thread, so that neither sees the other's answer. */
import { duration } from "../lib/format.ts"
import { emptyAnswer } from "../lib/answer.ts"
import { catalogueProblem, readModelName, writeModelName } from "../state/catalogue.ts"
import { Conversation } from "../state/conversation.ts"
import { useTitle } from "../state/address.ts"
import * as inspector from "../state/inspector.ts"
import { act, assistant, ensureAssistant, newThread, submitting, threads } from "../state/studio.ts"
import { html, signal, type Signal, useState, type View } from "../view.ts"
import type { AnswerActions } from "./AnswerItem.ts"
import { AnswerItem } from "./AnswerItem.ts"
import { ModelPicker } from "./ModelPicker.ts"

interface Side {
  readonly letter: "A" | "B"
  readonly model: Signal<string>
  readonly conversation: Conversation
  /** Milliseconds from the question to the last word; null: the answer is not finished. */
  readonly took: Signal<number | null>
}

const makeSide = (letter: Side["letter"]): Side => ({
  letter,
  model: signal(""),
  took: signal<number | null>(null),
  conversation: new Conversation({
    onThread: (thread) => {
      threads.value = [thread, ...threads.value]
    },
    onActivity: () => {}
  })
})

const sides: ReadonlyArray<Side> = [makeSide("A"), makeSide("B")]

const ask = async (side: Side, assistantId: string, content: string): Promise<void> => {
  const { conversation, letter, model, took } = side
  const { model: model_name, provider: llm_provider } = readModelName(model.value)
  const named = { ...(llm_provider === null ? {} : { llm_provider }), ...(model_name === null ? {} : { model_name }) }
  conversation.reset(assistantId)
  took.value = null
  const begin = performance.now()
  await conversation.send({ body: { content, ...named }, attachments: [], audio: null }, `${letter}: ${content}`)
  took.value = performance.now() - begin
}

export const Room = (): View => {
  useTitle("Two models")
  const [text, setText] = useState("")
  const isRunning = sides.some(({ conversation }) => conversation.isRunning.value)
  const hasProblem = sides.some(({ model }) => catalogueProblem(readModelName(model.value)) !== null)
  const send = async () => {
    const content = text.trim()
    if (content === "" || isRunning || hasProblem) return
    const assistantId = await ensureAssistant()
    const asked = await Promise.allSettled(sides.map((side) => ask(side, assistantId, content)))
    for (const each of asked) if (each.status === "rejected") throw each.reason
  }
  return html`<div class="compare">
    <form class="composer" onSubmit=${submitting(send)} aria-label="Message to both models">
      <header class="row">
        <h2>Compare two models</h2>
        <button type="button" onClick=${newThread}>Close</button>
      </header>
      <div class="pair">
        ${sides.map(
          ({ letter, model }) =>
            html`<${ModelPicker}
              label="Model ${letter}"
              empty=${writeModelName({ provider: assistant.value?.llm_provider ?? null, model: assistant.value?.model_name ?? null }) || "The server’s default"}
              value=${model.value}
              onInput=${(next: string) => (model.value = next)}
            />`
        )}
      </div>
      <label>
        Message to both
        <textarea
          rows="2"
          value=${text}
          onInput=${(event: Event) => {
            if (event.currentTarget instanceof HTMLTextAreaElement) setText(event.currentTarget.value)
          }}
        ></textarea>
      </label>
      <div class="actions">
        ${isRunning && html`<button type="button" onClick=${() => act(() => Promise.all(sides.map(({ conversation }) => conversation.cancel())))()}>Cancel</button>`}
        <button class="primary" disabled=${isRunning || hasProblem || text.trim() === ""}>Ask both</button>
      </div>
    </form>
    <div class="pair columns">${sides.map((side) => html`<${Column} key=${side.letter} side=${side} />`)}</div>
  </div>`
}

const answerActions = (conversation: Conversation): AnswerActions => {
  const threadId = conversation.threadId.value
  return threadId === null ? {} : { onInspect: (runId) => act(() => inspector.inspect(threadId, runId))() }
}

const Column = ({ side }: { readonly side: Side }): View => {
  const { conversation, letter, model, took } = side
  const answers = conversation.entries.value.filter((entry) => entry.kind === "answer")
  const name = `Model ${letter}`
  return html`<section aria-label=${name}>
    <h3>${name} <span class="detail">${model.value}${took.value === null ? "" : `, ${duration(took.value)}`}</span></h3>
    <ol class="messages" tabindex="0" aria-label="Answers of model ${letter}">
      ${answers.length === 0 && html`<li class="hint">Its answer stands here, with its time and cost.</li>`}
      ${answers.map((entry) => html`<${AnswerItem} key=${entry.key} answer=${entry.answer ?? signal(emptyAnswer)} name=${name} threadId=${conversation.threadId.value} actions=${answerActions(conversation)} />`)}
    </ol>
  </section>`
}
