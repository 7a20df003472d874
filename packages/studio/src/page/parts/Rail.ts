/** The rail: the rooms, the search, and at its end the state of the server, the colours and the user's own actions. */
import { isServerUp } from "../api/http.ts"
import { brandMark, brandName, guideAddress } from "../lib/host.ts"
import { hasRoom, rooms } from "./rooms.ts"
import { go, href } from "../state/address.ts"
import { isPaletteOpen } from "../state/dialogs.ts"
import { act, conversation, keyProblem } from "../state/studio.ts"
import { isDark, switchTheme } from "../state/theme.ts"
import { classes, html, type View } from "../view.ts"
import { Icon, type IconName } from "./Icon.ts"

const openShared = async (): Promise<void> => (await import("../state/shared.ts")).openShared()

/** The address of a room. The address of Talk leads back to the open thread. */
const roomAddress = (name: string): string => {
  const threadId = conversation.threadId.value
  return name === "talk" && threadId !== null ? href(name, threadId) : href(name)
}

export const Rail = ({ current }: { readonly current: string }): View => {
  const word = isDark.value ? "Light" : "Dark"
  return html`<header class="rail">
    <h1><span aria-hidden="true">${brandMark}</span><span class="unseen">${brandName}</span></h1>
    <nav aria-label="Rooms">
      <ul>
        ${rooms.map(
          ({ count, icon, isShown, name, word: label }) =>
            (isShown?.() ?? true) &&
            html`<li key=${name}>
              <a href=${roomAddress(name)} aria-current=${name === current ? "page" : undefined}>
                <${Icon} name=${icon} /><span>${label}</span>
                ${(count?.value ?? 0) > 0 && html`<span class="badge">${count?.value}</span>`}
              </a>
            </li>`
        )}
      </ul>
    </nav>
    <div class="rail-end">
      <${RailButton} icon="search" word="Find" title="Find anything (Ctrl K)" onClick=${() => (isPaletteOpen.value = true)} />
      <${RailButton} icon=${isDark.value ? "sun" : "moon"} word=${word} label="${word} colours" onClick=${switchTheme} />
      <button type="button" class="rail-item" popovertarget="you"><${Icon} name="user" /><span>You</span></button>
      <p class=${classes("rail-item server", !isServerUp.value && "down")} role="status">
        <span class="dot" aria-hidden="true"></span><span>${isServerUp.value ? "Online" : "Offline"}</span>
      </p>
    </div>
    <${YouMenu} />
  </header>`
}

interface RailButtonProps {
  readonly icon: IconName
  readonly word: string
  readonly label?: string
  readonly title?: string
  readonly onClick: () => void
}

const RailButton = ({ icon, label, onClick, title, word }: RailButtonProps): View =>
  html`<button type="button" class="rail-item" aria-label=${label} title=${title ?? label} onClick=${onClick}>
    <${Icon} name=${icon} /><span>${word}</span>
  </button>`

const YouMenu = (): View => {
  const choose = (action: () => void) => (event: Event) => {
    if (event.currentTarget instanceof HTMLElement) event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover()
    action()
  }
  return html`<div id="you" class="menu" popover="auto" role="group" aria-label="You">
    ${hasRoom("knowledge") && html`<button type="button" onClick=${choose(() => go("knowledge", "-", "usage"))}><${Icon} name="gauge" /> Usage and limits</button>`}
    <button type="button" onClick=${choose(() => (keyProblem.value = ""))}><${Icon} name="key" /> API key</button>
    <button type="button" onClick=${choose(act(openShared))}><${Icon} name="open" /> Open a shared turn</button>
    ${guideAddress !== null && html`<a href=${guideAddress}><${Icon} name="book" /> The guide</a>`}
  </div>`
}
