/** Talking to the assistant: the transcript of both, the tool calls, and one round meter. Speaking interrupts the assistant. */
import { find, readModelName, realtimeModels, writeModelName } from "../state/catalogue.ts"
import { useTitle } from "../state/address.ts"
import {
  act,
  assistantName,
  conversation,
  ensureAssistant,
  newThread,
  openThread,
  refreshThreads
} from "../state/studio.ts"
import * as voice from "../state/voice.ts"
import { classes, html, signal, useState, type View } from "../view.ts"
import { Icon } from "./Icon.ts"
import { ModelPicker } from "./ModelPicker.ts"
import { VoiceMeter } from "./VoiceMeter.ts"

const model = signal("")

const chosenModel = (): string => {
  const [first] = realtimeModels.value
  if (model.value !== "" || first === undefined) return model.value
  return writeModelName({ provider: first.provider, model: first.name })
}

export const Room = (): View => {
  const state = voice.state.value
  useTitle("Voice")
  const begin = async () =>
    voice.begin({ assistantId: await ensureAssistant(), threadId: conversation.threadId.value, model: chosenModel() })
  const leave = async () => {
    if (voice.state.value !== "off") await voice.end()
    await refreshThreads()
    const threadId = voice.voiceThread()
    if (threadId === null) newThread()
    else await openThread(threadId)
  }
  return html`<div class="voice">
    <header class="banner">
      <h2>Talk to ${assistantName.value}</h2>
      <button type="button" onClick=${() => act(leave)()}>Back to the thread</button>
    </header>
    <${Lines} />
    ${voice.ending.value !== null && html`<p class="mark" role="status">${voice.ending.value}</p>`}
    <${OpenCalls} />
    <div class="composer">
      ${
        state === "off"
          ? html`<div class="row">
            <${ModelPicker} label="Voice model" from=${realtimeModels} value=${chosenModel()} onInput=${(next: string) => (model.value = next)} />
            <button
              type="button"
              class="primary"
              disabled=${find(readModelName(chosenModel())) === undefined}
              onClick=${() => act(begin)()}
            >
              <${Icon} name="mic" /> Begin
            </button>
          </div>`
          : html`<${Controls} isOn=${state === "on"} />`
      }
    </div>
  </div>`
}

const Lines = (): View =>
  html`<ol class="messages" tabindex="0" aria-label="What was said">
    ${
      voice.lines.value.length === 0 &&
      html`<li class="empty">
        ${
          voice.state.value === "on"
            ? "Speak, or write."
            : html`<span class="disc" aria-hidden="true"><span></span></span>
                <h3>Talk with ${assistantName.value}</h3>
                <p>Begin, and speak. Speak while it speaks, and it listens. What you both say is written here.</p>`
        }
      </li>`
    }
    ${voice.lines.value.map(
      ({ id, role, state, text }) =>
        html`<li key=${`${role}-${id}`} class=${role === "user" ? "question" : "answer"}>
          <article aria-label=${role === "user" ? "You say" : "The assistant says"}>
            <p class=${classes(state === "draft" && "draft", state === "failed" && "mark")}>${text === "" ? "…" : text}</p>
          </article>
        </li>`
    )}
  </ol>`

const OpenCalls = (): View => {
  const all = voice.calls.value
  return all.length === 0
    ? null
    : html`<ul class="calls spoken-calls" aria-label="Tool calls">
        ${all.map((call) => html`<${SpokenCall} key=${call.id} call=${call} />`)}
      </ul>`
}

const words = { open: "runs", done: "done", cancelled: "cancelled" }

const SpokenCall = ({ call }: { readonly call: voice.SpokenCall }): View => {
  const [text, setText] = useState("")
  const submit = (event: Event) => {
    event.preventDefault()
    voice.answerCall(call, text)
  }
  const isMine = !call.isHosted && call.state === "open"
  return html`<li>
    <p><code>${call.name}</code> <span class="detail">${call.given}, ${isMine ? "waits for you" : words[call.state]}</span></p>
    ${
      isMine &&
      html`<form class="row" onSubmit=${submit}>
      <input
        aria-label="Result of ${call.name}"
        value=${text}
        onInput=${(event: Event) => {
          if (event.currentTarget instanceof HTMLInputElement) setText(event.currentTarget.value)
        }}
      />
      <button>Send the result</button>
    </form>`
    }
  </li>`
}

const Controls = ({ isOn }: { readonly isOn: boolean }): View => {
  const [text, setText] = useState("")
  const submit = (event: Event) => {
    event.preventDefault()
    if (text.trim() === "") return
    voice.write(text.trim())
    setText("")
  }
  return html`<${VoiceMeter} />
    <form class="row" onSubmit=${submit}>
      <input
        aria-label="Write instead of speaking"
        placeholder="Write instead of speaking"
        disabled=${!isOn}
        value=${text}
        onInput=${(event: Event) => {
          if (event.currentTarget instanceof HTMLInputElement) setText(event.currentTarget.value)
        }}
      />
      <button disabled=${!isOn}><${Icon} name="send" /> Send</button>
    </form>
    <div class="actions">
      <button type="button" aria-pressed=${voice.isMuted.value} onClick=${() => (voice.isMuted.value = !voice.isMuted.value)}>
        <${Icon} name="mic" /> ${voice.isMuted.value ? "Microphone is off" : "Microphone is on"}
      </button>
      <button type="button" disabled=${!isOn} onClick=${voice.interrupt}><${Icon} name="stop" /> Interrupt</button>
      <button type="button" class="primary" onClick=${() => act(voice.end)()}>${isOn ? "End" : "One moment"}</button>
    </div>`
}
