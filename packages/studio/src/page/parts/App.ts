/** The whole studio: the bar, the lists, the open room, and the panel beside it. */
import { isServerUp } from "../api/http.ts"
import { chooseText } from "../lib/files.ts"
import * as inspector from "../state/inspector.ts"
import { act, assistant, conversation, isListShown, isStarted, keyProblem, notice, room } from "../state/place.ts"
import { opened, readShared } from "../state/shared.ts"
import { openUsage } from "../state/usage.ts"
import { isDark, switchTheme } from "../state/theme.ts"
import { classes, html, useEffect, type View } from "../view.ts"
import { AssistantDialog } from "./AssistantForm.ts"
import { CompareRoom } from "./CompareRoom.ts"
import { Confirm } from "./Confirm.ts"
import { Icon, IconButton } from "./Icon.ts"
import { Inspector } from "./Inspector.ts"
import { KeyDialog, OfferedKey } from "./KeyDialog.ts"
import { Lists } from "./Lists.ts"
import { SharedRoom } from "./SharedRoom.ts"
import { realtimeModels } from "../state/voice.ts"
import { UsageDialog } from "./UsageDialog.ts"
import { VoiceRoom } from "./VoiceRoom.ts"
import { guideAddress, TalkRoom } from "./TalkRoom.ts"

export const App = (): View => {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null) return
      if (isListShown.value) isListShown.value = false
      // A run that waits for results is cancelled by its button alone: they may be half typed.
      else if (conversation.isRunning.value) act(() => conversation.cancel())()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
  return html`<div class=${classes("studio", isListShown.value && "with-lists", inspector.isOpen.value && "with-inspector")}>
    <${Bar} />
    <nav class="lists" aria-label="Assistants and threads">${isStarted.value && html`<${Lists} />`}</nav>
    <main>
      <${Notices} />
      <${Room} />
    </main>
    ${inspector.isOpen.value && html`<${Inspector} />`}
    <${AssistantDialog} /><${Confirm} /><${KeyDialog} /><${OfferedKey} /><${UsageDialog} />
  </div>`
}

const Room = (): View => {
  if (!isStarted.value) return html`<p class="hint loading">The studio opens.</p>`
  switch (room.value) {
    case "compare":
      return html`<${CompareRoom} />`
    case "voice":
      return html`<${VoiceRoom} />`
    case "shared":
      return html`<${SharedRoom} />`
    default:
      return html`<${TalkRoom} />`
  }
}

const openShared = async (): Promise<void> => {
  const shared = readShared(await chooseText("application/json,.json"))
  opened.value = shared
  inspector.inspected.value = shared.turn
  room.value = "shared"
}

const Bar = (): View =>
  html`<header class="bar">
    <${IconButton} class="only-narrow" icon="menu" label="Assistants and threads" isPressed=${isListShown.value} onClick=${() => (isListShown.value = !isListShown.value)} />
    <h1>Colloquy</h1>
    <p class="where">${assistant.value?.name ?? ""}</p>
    <div class="tools">
      ${
        assistant.value !== null &&
        html`<${IconButton} icon="columns" label="Compare two models" isPressed=${room.value === "compare"} onClick=${() => (room.value = room.value === "compare" ? "talk" : "compare")} />`
      }
      ${
        assistant.value !== null &&
        realtimeModels.value.length > 0 &&
        html`<${IconButton} icon="wave" label="Talk by voice" isPressed=${room.value === "voice"} onClick=${() => (room.value = "voice")} />`
      }
      <${IconButton} icon="open" label="Open a shared turn" onClick=${act(openShared)} />
      <${IconButton} icon="look" label="Inside the turn" isPressed=${inspector.isOpen.value} onClick=${() => (inspector.isOpen.value = !inspector.isOpen.value)} />
      <a class="icon-button" href=${guideAddress} aria-label="The guide" title="The guide"><${Icon} name="book" /></a>
      <${IconButton} icon=${isDark.value ? "sun" : "moon"} label=${isDark.value ? "Light colours" : "Dark colours"} onClick=${switchTheme} />
      <${IconButton} icon="gauge" label="Usage and limits" onClick=${act(openUsage)} />
      <${IconButton} icon="key" label="API key" onClick=${() => (keyProblem.value = "")} />
    </div>
  </header>`

const Notices = (): View =>
  html`<div class="notices">
    ${!isServerUp.value && html`<p class="notice" role="alert"><${Icon} name="warning" /> The server does not answer. It is tried again.</p>`}
    ${
      notice.value !== null &&
      isServerUp.value &&
      html`<p class="notice" role="alert">
      <${Icon} name="warning" /><span>${notice.value}</span>
      <${IconButton} icon="close" label="Close the message" onClick=${() => (notice.value = null)} />
    </p>`
    }
  </div>`
