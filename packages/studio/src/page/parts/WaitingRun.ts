/** A run that waits for a person, in the inbox: its last text, its calls, and the decision. */
import { json, post } from "../api/http.ts"
import { shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { href } from "../state/address.ts"
import type { Decision } from "../state/conversation.ts"
import { act, assistants, tell } from "../state/studio.ts"
import { cancelRun } from "../state/runs.ts"
import { loadWaiting } from "../state/waiting.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { RunSummary, Thread, ToolCall } from "../wire.ts"
import { Decisions, Given } from "./Decisions.ts"
import type { Output } from "./ToolForm.ts"

interface WaitingRunProps {
  readonly run: RunSummary
  readonly title: string
}

/** The calls that are still open: those of the newest answer of the run. */
const readCalls = async ({ run_id, thread_id }: RunSummary): Promise<ReadonlyArray<ToolCall>> => {
  const { messages } = await json<Thread>(`/threads/${thread_id}`)
  const last = messages.findLast((each) => each.run_id === run_id && each.role === "assistant")
  return last?.tool_calls ?? []
}

export const WaitingRun = ({ run, title }: WaitingRunProps): View => {
  const [calls, setCalls] = useState<ReadonlyArray<ToolCall> | null>(null)
  /** Decided calls of a run that still waits for others. */
  const [decided, setDecided] = useState<ReadonlyArray<string>>([])
  // A run that comes anew may have changed: another person may have decided one of its calls.
  useEffect(() => {
    let isNewest = true
    readCalls(run).then((read) => {
      if (isNewest) setCalls(read)
    }, tell)
    return () => {
      isNewest = false
    }
  }, [run])
  const path = `/threads/${run.thread_id}/runs/${run.run_id}`
  const send = async (address: string, body: object, ids: ReadonlyArray<string>) => {
    // Another person may have decided first, so the list is read again.
    await post(`${path}/${address}`, body).finally(() => void loadWaiting().catch(tell))
    setDecided([...decided, ...ids])
  }
  const decide = (decision: Decision) => send("approvals", { approvals: [decision] }, [decision.tool_call_id])
  const answer = (outputs: ReadonlyArray<Output>) =>
    send(
      "submit-tool-outputs",
      { tool_outputs: outputs },
      outputs.map(({ tool_call_id }) => tool_call_id)
    )
  const tools = assistants.value?.find(({ assistant_id }) => assistant_id === run.assistant_id)?.tools ?? []
  const open = calls?.filter(({ id }) => !decided.includes(id)) ?? []
  return html`<article class="waiting-run" aria-label="Run of ${title}">
    <header class="row">
      <h4><a href=${href("talk", run.thread_id)}>${title}</a></h4>
      <span class="detail"><time datetime=${run.created_at} title=${wholeDate(run.created_at)}>${shortDate(run.created_at)}</time>
        ${mayAct() && html`<button type="button" class="quiet" onClick=${() => act(cancelRun)(run)}>Cancel the run</button>`}
      </span>
    </header>
    ${run.content_preview !== null && run.content_preview !== "" && html`<p dir="auto">${run.content_preview}</p>`}
    ${calls === null && html`<p class="hint">Its calls are being read.</p>`}
    ${mayAct() ? calls !== null && html`<${Decisions} calls=${open} tools=${tools} onDecide=${decide} onAnswer=${answer} />` : open.map((call) => html`<${Asked} key=${call.id} call=${call} />`)}
  </article>`
}

/** A call, shown to a user who may not decide about it. */
const Asked = ({ call }: { readonly call: ToolCall }): View =>
  html`<div><h5><code>${call.function.name}</code></h5><${Given} name=${call.function.name} text=${call.function.arguments} /></div>`
