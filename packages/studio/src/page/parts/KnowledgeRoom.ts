/** Panes for the records of an assistant (settings with versions, documents, memories, schedules, helpers), and for those of its owner. */
import { mayAct } from "../lib/host.ts"
import { href, useTitle } from "../state/address.ts"
import { assistant as current, assistants, can } from "../state/studio.ts"
import { html, useEffect, type View } from "../view.ts"
import type { Assistant } from "../wire.ts"
import { DocumentsRoom } from "./DocumentsRoom.ts"
import { HelpersPane } from "./HelpersPane.ts"
import { Icon } from "./Icon.ts"
import { KeysPane } from "./KeysPane.ts"
import { MemoriesRoom } from "./MemoriesRoom.ts"
import { SchedulesPane } from "./SchedulesPane.ts"
import { SettingsPane } from "./SettingsPane.ts"
import { UsagePane } from "./UsagePane.ts"
import { WebhooksPane } from "./WebhooksPane.ts"

interface Pane {
  readonly name: string
  readonly word: string
  readonly isShown?: () => boolean
  /** Absent: the pane shows records of the owner, for any assistant. */
  readonly ofAssistant?: (props: { readonly assistant: Assistant }) => View
  readonly ofOwner?: () => View
}

const panes: ReadonlyArray<Pane> = [
  { name: "settings", word: "Settings", ofAssistant: SettingsPane },
  { name: "documents", word: "Documents", ofAssistant: DocumentsRoom, isShown: () => can.value.documents },
  { name: "memories", word: "Memories", ofAssistant: MemoriesRoom, isShown: () => can.value.memory },
  { name: "schedules", word: "Schedules", ofAssistant: SchedulesPane },
  { name: "helpers", word: "Helpers", ofAssistant: HelpersPane },
  { name: "webhooks", word: "Webhooks", ofOwner: WebhooksPane },
  { name: "keys", word: "Keys", ofOwner: KeysPane },
  { name: "usage", word: "Usage", ofOwner: UsagePane }
]

interface RoomProps {
  readonly path: ReadonlyArray<string>
}

export const Room = ({ path: [id = "-", paneName = "settings"] }: RoomProps): View => {
  const subject = assistants.value?.find(({ assistant_id }) => assistant_id === id) ?? current.value
  const shown = panes.filter(({ isShown }) => isShown?.() ?? true)
  const pane = shown.find(({ name }) => name === paneName) ?? shown[0]
  useTitle(`${pane?.word ?? ""} of ${pane?.ofAssistant === undefined ? "yours" : (subject?.name ?? "nobody")}`)
  useEffect(() => {
    document.querySelector(".panes [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" })
  }, [pane, subject])
  const assistantId = subject?.assistant_id ?? "-"
  const isGone = id !== "-" && assistants.value !== null && subject?.assistant_id !== id
  return html`<div class="room knowledge">
    <header class="room-head">
      <h2>Knowledge</h2>
      ${subject !== null && pane?.ofAssistant !== undefined && html`<${AssistantChooser} chosen=${assistantId} pane=${pane.name} />`}
    </header>
    <nav class="panes" aria-label="What an assistant has">
      ${shown.map(
        ({ name, word }) =>
          html`<a key=${name} href=${href("knowledge", assistantId, name)} aria-current=${name === pane?.name ? "page" : undefined}>${word}</a>`
      )}
    </nav>
    ${isGone && pane?.ofAssistant !== undefined && html`<p class="problem" role="alert">The assistant of this address is gone, or was never yours. This is ${subject?.name ?? "nobody"}.</p>`}
    <${PaneView} key=${`${assistantId} ${pane?.name ?? ""}`} pane=${pane} assistant=${subject} />
  </div>`
}

const PaneView = ({
  assistant,
  pane
}: {
  readonly assistant: Assistant | null
  readonly pane: Pane | undefined
}): View => {
  if (pane?.ofOwner !== undefined) return html`<${pane.ofOwner} />`
  if (assistant === null)
    return html`<div class="nothing"><${Icon} name="book" /><p>There is no assistant yet.${mayAct() && " Make one in Talk."}</p></div>`
  return html`<${pane?.ofAssistant ?? SettingsPane} assistant=${assistant} />`
}

/** Another assistant is opened by a link, so that Back leads to the earlier one. */
const AssistantChooser = ({ chosen, pane }: { readonly chosen: string; readonly pane: string }): View =>
  html`<label class="chooser">
    Assistant
    <select
      value=${chosen}
      onChange=${(event: Event) => {
        if (event.currentTarget instanceof HTMLSelectElement)
          location.hash = href("knowledge", event.currentTarget.value, pane)
      }}
    >
      ${assistants.value?.map(({ assistant_id: each, name }) => html`<option value=${each}>${name}</option>`)}
    </select>
  </label>`
