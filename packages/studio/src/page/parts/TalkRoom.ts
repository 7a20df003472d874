/**
 * The conversation: messages, the tool form when the assistant waits for outputs, and the field for the next message. Files may be dropped
 * on it.
 */
import { base } from "../api/http.ts"
import { playDocument } from "../state/documents.ts"
import * as inspector from "../state/inspector.ts"
import { act, assistant, assistants, conversation, tell, threadTitle, threads } from "../state/place.ts"
import { classes, html, useEffect, useLayoutEffect, useRef, useState, type View } from "../view.ts"
import { AnswerItem, type AnswerActions } from "./AnswerItem.ts"
import { AssistantForm } from "./AssistantForm.ts"
import { attach, Composer } from "./Composer.ts"
import { QuestionItem } from "./QuestionItem.ts"
import { shareTurn } from "../state/shared.ts"
import { ToolForm } from "./ToolForm.ts"

export const TalkRoom = (): View => {
  const [isOver, setOver] = useState(false)
  const stop = (event: DragEvent, over: boolean) => {
    event.preventDefault()
    setOver(over)
  }
  const drop = (event: DragEvent) => {
    stop(event, false)
    attach([...(event.dataTransfer?.files ?? [])])
  }
  if (assistants.value !== null && assistant.value === null) return html`<${Welcome} />`
  const waiting = conversation.waiting.value
  return html`<div
    class=${classes("talk", isOver && "dropping")}
    onDragOver=${(event: DragEvent) => stop(event, true)}
    onDragLeave=${(event: DragEvent) => stop(event, false)}
    onDrop=${drop}
  >
    <${Messages} />
    ${waiting !== null && html`<${ToolForm} key=${waiting.runId} waiting=${waiting} />`}
    <${Composer} />
  </div>`
}

/** The first step is in the middle of the page, on a phone too. */
const Welcome = (): View =>
  html`<div class="welcome">
    <h2>Make your first assistant</h2>
    <p>It has a name, instructions and a model. Then you talk to it here.</p>
    <${AssistantForm} assistant=${null} />
  </div>`

const actionsFor = (threadId: string | null): AnswerActions =>
  threadId === null
    ? {}
    : {
        onInspect: (runId) => act(() => inspector.inspect(threadId, runId))(),
        onShare: (runId) => act(() => shareTurn(threadId, runId))(),
        onHear: (documentId) => act(() => playDocument(documentId))()
      }

const Messages = (): View => {
  const entries = conversation.entries.value
  const threadId = conversation.threadId.value
  const name = assistant.value?.name ?? "Assistant"
  const list = useRef<HTMLOListElement>(null)
  const isAtEnd = useRef(true)
  const toEnd = () => list.current?.scrollTo({ top: list.current.scrollHeight })
  // New content at the end is scrolled into view, unless the reader has scrolled away.
  useEffect(() => {
    const box = list.current
    if (box === null) return
    const onScroll = () => {
      isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 60
    }
    const watch = new MutationObserver(() => {
      if (isAtEnd.current) toEnd()
    })
    box.addEventListener("scroll", onScroll)
    watch.observe(box, { childList: true, subtree: true, characterData: true })
    return () => {
      box.removeEventListener("scroll", onScroll)
      watch.disconnect()
    }
  }, [])
  const last = entries.at(-1)
  useLayoutEffect(() => {
    isAtEnd.current = true
    toEnd()
  }, [threadId, last?.kind === "question" ? last.key : ""])
  useEffect(() => {
    const answer = last?.kind === "answer" ? last.answer.value : null
    if (!conversation.isRunning.value && answer?.runId && threadId !== null && inspector.isOpen.value) {
      void inspector.refresh(threadId, answer.runId).catch(tell)
    }
  }, [conversation.isRunning.value])
  const thread = threads.value.find(({ thread_id }) => thread_id === threadId)
  return html`<h2 class="unseen">${thread === undefined ? "New thread" : threadTitle(thread)}</h2>
    <ol class="messages" ref=${list} tabindex="0" aria-label=${thread === undefined ? "Messages" : `Messages of ${threadTitle(thread)}`}>
      ${entries.length === 0 && html`<li class="empty">Say something, or try “What time is it?”</li>`}
      ${entries.map((entry) =>
        entry.kind === "question"
          ? html`<${QuestionItem} key=${entry.key} question=${entry} />`
          : html`<${AnswerItem} key=${entry.key} answer=${entry.answer} name=${name} threadId=${threadId} actions=${actionsFor(threadId)} />`
      )}
    </ol>
    <p class="unseen" role="status">${conversation.spoken.value}</p>`
}

export const guideAddress = `${base}/docs/guide`
