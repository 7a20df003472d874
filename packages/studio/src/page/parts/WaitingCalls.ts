/** The calls that a run of the conversation waits for. */
import type { Decision, Waiting } from "../state/conversation.ts"
import { assistant, conversation } from "../state/studio.ts"
import { html, type View } from "../view.ts"
import { Decisions } from "./Decisions.ts"
import type { Output } from "./ToolForm.ts"

export const WaitingCalls = ({ waiting }: { readonly waiting: Waiting }): View =>
  html`<li class="waiting">
    <${Decisions}
      calls=${waiting.calls}
      tools=${assistant.value?.tools ?? []}
      isBusy=${conversation.isRunning.value}
      onDecide=${(decision: Decision) => conversation.decide(decision)}
      onAnswer=${(outputs: ReadonlyArray<Output>) => conversation.submit(outputs)}
    />
  </li>`
