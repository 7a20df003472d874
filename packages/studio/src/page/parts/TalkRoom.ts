/**
 * The conversation: messages, the tool form when the assistant waits for outputs, and the field for the next message. Files may be dropped
 * on it.
 */
import { go, title } from "../state/address.ts"
import { playDocument } from "../state/documents.ts"
import * as inspector from "../state/inspector.ts"
import { attach } from "../state/outbox.ts"
import { act, assistantName, conversation, isListShown, tell, threads, threadTitle } from "../state/place.ts"
import { classes, html, lazy, useEffect, useLayoutEffect, useRef, useState, type View } from "../view.ts"
import { AnswerItem, type AnswerActions } from "./AnswerItem.ts"
import { Composer } from "./Composer.ts"
import { Icon, IconButton } from "./Icon.ts"
import { QuestionItem } from "./QuestionItem.ts"
import { Starters } from "./Starters.ts"

const ToolForm = lazy(async () => (await import("./ToolForm.ts")).ToolForm)

export const TalkRoom = (): View => {
  const [isOver, setOver] = useState(false)
  const stop = (event: DragEvent, over: boolean) => {
    event.preventDefault()
    setOver(over)
  }
  const drop = (event: DragEvent) => {
    stop(event, false)
    act(attach)([...(event.dataTransfer?.files ?? [])])
  }
  const waiting = conversation.waiting.value
  return html`<div
    class=${classes("talk", isOver && "dropping")}
    onDragOver=${(event: DragEvent) => stop(event, true)}
    onDragLeave=${(event: DragEvent) => stop(event, false)}
    onDrop=${drop}
  >
    <${Bar} />
    <${Messages} />
    ${waiting !== null && html`<${ToolForm} key=${waiting.runId} waiting=${waiting} />`}
    <${Composer} />
  </div>`
}

/** The thread that is open; null: a new one. */
const openTitle = (): string | null => {
  const thread = threads.value.find(({ thread_id }) => thread_id === conversation.threadId.value)
  return thread === undefined ? null : threadTitle(thread)
}

const Bar = (): View => {
  const name = openTitle() ?? "New thread"
  useEffect(() => {
    title.value = `${name} · ${assistantName.value}`
  }, [name, assistantName.value])
  return html`<header class="bar">
    <${IconButton} class="only-narrow" icon="menu" label="Assistants and threads" isPressed=${isListShown.value} onClick=${() => (isListShown.value = !isListShown.value)} />
    <h2 dir="auto">${name}</h2>
    <p class="where">${assistantName.value}</p>
    <div class="tools">
      <button type="button" class="quiet-button" aria-label="Compare two models" title="Compare two models" onClick=${() => go("compare")}>
        <${Icon} name="columns" /> <span>Compare</span>
      </button>
      <button
        type="button"
        class="quiet-button"
        aria-label="Inside the turn"
        title="Inside the turn"
        aria-pressed=${inspector.isOpen.value}
        onClick=${() => (inspector.isOpen.value ? inspector.close() : inspector.open())}
      >
        <${Icon} name="look" /> <span>Inside</span>
      </button>
    </div>
  </header>`
}

const actionsFor = (threadId: string | null): AnswerActions =>
  threadId === null
    ? {}
    : {
        onInspect: (runId) => act(() => inspector.inspect(threadId, runId))(),
        onShare: (runId) => act(async () => (await import("../state/shared.ts")).shareTurn(threadId, runId))(),
        onHear: (documentId) => act(() => playDocument(documentId))()
      }

const Messages = (): View => {
  const entries = conversation.entries.value
  const threadId = conversation.threadId.value
  const name = assistantName.value
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
  const thread = openTitle()
  return html`<ol class="messages" ref=${list} tabindex="0" aria-label=${thread === null ? "Messages" : `Messages of ${thread}`}>
      ${entries.length === 0 && html`<${Starters} />`}
      ${entries.map((entry) =>
        entry.kind === "question"
          ? html`<${QuestionItem} key=${entry.key} question=${entry} />`
          : html`<${AnswerItem} key=${entry.key} answer=${entry.answer} name=${name} threadId=${threadId} actions=${actionsFor(threadId)} />`
      )}
    </ol>
    <p class="unseen" role="status">${conversation.spoken.value}</p>`
}
