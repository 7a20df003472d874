/** An empty conversation: the name of the assistant, and four first messages that show a tool, the memory, a document and the voice. */
import { mayAct } from "../lib/host.ts"
import { go } from "../state/address.ts"
import { isDemo, realtimeModels } from "../state/catalogue.ts"
import { setOptions } from "../state/options.ts"
import { send, sendWith } from "../state/outbox.ts"
import { assistantName, can, pressing } from "../state/studio.ts"
import { html, type View } from "../view.ts"
import { Icon, type IconName } from "./Icon.ts"

interface Starter {
  readonly icon: IconName
  readonly word: string
  readonly text: string
  readonly isThere: () => boolean
  readonly run: () => Promise<void>
}

const story =
  "# The lighthouse of Fanø\n\nThe keeper of the lighthouse is called Marguerite.\n\nShe waters her tulips on Tuesdays.\n"

const always = () => true

const starters: ReadonlyArray<Starter> = [
  { icon: "clock", word: "A tool", text: "What time is it?", isThere: always, run: () => send("What time is it?") },
  {
    icon: "book",
    word: "Memory",
    text: "I live in Oslo.",
    isThere: () => can.value.memory,
    run: async () => {
      setOptions({ memory: "Auto" })
      await send("I live in Oslo.")
    }
  },
  {
    icon: "file",
    word: "A document",
    text: "Who keeps the lighthouse?",
    isThere: () => can.value.documents,
    run: () => sendWith("Who keeps the lighthouse?", [new File([story], "lighthouse.md", { type: "text/markdown" })])
  },
  {
    icon: "wave",
    word: "Voice",
    text: "Talk with it",
    isThere: () => realtimeModels.value.length > 0,
    run: async () => go("voice")
  },
  {
    icon: "talk",
    word: "Text",
    text: "Show me some markdown",
    isThere: always,
    run: () => send("Show me some markdown")
  },
  { icon: "stop", word: "A long answer", text: "Count to 200", isThere: always, run: () => send("Count to 200") }
]

export const Starters = (): View =>
  mayAct() ? html`<${Beginnings} />` : html`<li class="empty"><h3>Nothing was said here yet</h3></li>`

const Beginnings = (): View =>
  html`<li class="empty">
    <h3>Say something to ${assistantName.value}</h3>
    <p>Or begin with one of these.</p>
    <ul class="starters" aria-label="Beginnings">
      ${starters
        .filter(({ isThere }) => isThere())
        .slice(0, 4)
        .map(
          ({ icon, run, text, word }) =>
            html`<li key=${word}>
              <button type="button" onClick=${pressing(run)}>
                <${Icon} name=${icon} /><span><span class="detail">${word}</span>${text}</span>
              </button>
            </li>`
        )}
    </ul>
    ${isDemo.value && html`<${DemoCard} />`}
  </li>`

const DemoCard = (): View =>
  html`<aside class="card" aria-label="Demo model">
    <p>
      <strong>This is the demo model.</strong> It runs inside the server and knows nothing. For real answers set
      ${" "}<code>OPENAI_API_KEY</code>, <code>ANTHROPIC_API_KEY</code>, <code>GEMINI_API_KEY</code> or
      ${" "}<code>OPENROUTER_API_KEY</code> with <code>DEFAULT_MODEL_NAME</code>, and start the server again.
    </p>
  </aside>`
