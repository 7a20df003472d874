/**
 * The conversation: messages, the tool form when the assistant waits for outputs, and the field for the next message. Files may be dropped
 * on it.
 */
import { mayAct } from "../lib/host.ts"
import { go, href, useTitle } from "../state/address.ts"
import { readModelName } from "../state/catalogue.ts"
import type { Entry } from "../state/conversation.ts"
import { playDocument } from "../state/documents.ts"
import * as inspector from "../state/inspector.ts"
import { attach } from "../state/outbox.ts"
import {
  act,
  assistantName,
  can,
  conversation,
  forkThread,
  isListShown,
  rewindThread,
  tell,
  threads,
  threadTitle
} from "../state/studio.ts"
import { classes, html, lazy, useEffect, useLayoutEffect, useRef, useState, type View } from "../view.ts"
import type { RunSummary } from "../wire.ts"
import type { AnswerActions } from "./AnswerItem.ts"
import { Composer } from "./Composer.ts"
import { OpenedExcerpt } from "./Excerpts.ts"
import { Icon, IconButton } from "./Icon.ts"
import { type QuestionActions, QuestionItem } from "./QuestionItem.ts"
import { Starters } from "./Starters.ts"

const AnswerItem = lazy(async () => (await import("./AnswerItem.ts")).AnswerItem)
const WaitingCalls = lazy(async () => (await import("./WaitingCalls.ts")).WaitingCalls)

export const TalkRoom = (): View => {
  const [isOver, setOver] = useState(false)
  const stop = (event: DragEvent, over: boolean) => {
    // A text that is dragged into the field is no file.
    if (event.dataTransfer?.types.includes("Files") !== true) return
    event.preventDefault()
    setOver(over)
  }
  const drop = (event: DragEvent) => {
    stop(event, false)
    act(attach)([...(event.dataTransfer?.files ?? [])])
  }
  const dropping = mayAct()
    ? {
        onDragOver: (event: DragEvent) => stop(event, true),
        onDragLeave: (event: DragEvent) => stop(event, false),
        onDrop: drop
      }
    : {}
  return html`<div class=${classes("talk", isOver && "dropping")} ...${dropping}>
    <${Bar} />
    <${Messages} />
    ${mayAct() && html`<${Composer} />`}
    <${OpenedExcerpt} />
  </div>`
}

/** The title of the open thread; null: a new one. */
const openTitle = (): string | null => {
  const thread = threads.value.find(({ thread_id }) => thread_id === conversation.threadId.value)
  return thread === undefined ? null : threadTitle(thread)
}

const Bar = (): View => {
  const name = openTitle() ?? "New thread"
  const forkedFrom =
    threads.value.find(({ thread_id }) => thread_id === conversation.threadId.value)?.forked_from ?? null
  const source = threads.value.find(({ thread_id }) => thread_id === forkedFrom?.thread_id)
  const forkedName = source === undefined ? "a thread that is gone" : `“${threadTitle(source)}”`
  useTitle(`${name} · ${assistantName.value}`)
  return html`<header class="bar">
    <${IconButton} class="only-narrow" icon="menu" label="Assistants and threads" isPressed=${isListShown.value} onClick=${() => (isListShown.value = !isListShown.value)} />
    <h2 dir="auto">${name}</h2>
    <p class="where">
      ${assistantName.value}
      ${forkedFrom !== null && html`, <a href=${href("talk", forkedFrom.thread_id)}>a fork of ${forkedName}</a>`}
    </p>
    <div class="tools">
      ${
        mayAct() &&
        html`<button type="button" class="quiet-button" aria-label="Compare two models" title="Compare two models" onClick=${() => go("compare")}>
          <${Icon} name="columns" /> <span>Compare</span>
        </button>`
      }
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

const regenerate = (messageId: string, model: string): void => {
  const { model: model_name, provider: llm_provider } = readModelName(model)
  const body = model === "" ? {} : { model_name, llm_provider }
  act(() => conversation.again(messageId, "regenerate", body))()
}

const actionsFor = (threadId: string | null, isBusy: boolean): AnswerActions & QuestionActions =>
  threadId === null
    ? {}
    : {
        onInspect: (runId) => act(() => inspector.inspect(threadId, runId))(),
        onShare: (runId) => act(async () => (await import("../state/shared.ts")).shareTurn(threadId, runId))(),
        hasTests: can.value.evals && mayAct(),
        onHear: (documentId) => act(() => playDocument(documentId))(),
        // While an answer is being written, the server would refuse these actions.
        ...(isBusy || !mayAct()
          ? {}
          : {
              onAgain: regenerate,
              onEdit: (messageId, content) => act(() => conversation.again(messageId, "edit", { content }))(),
              onFork: (messageId) => forkThread(threadId, messageId),
              onRewind: rewindThread
            })
      }

/**
 * The time and cost of runs with a single answer. The time of a run that waited for a person would include that waiting. The signal of the
 * answers is not subscribed to, so that a new word of one answer does not redraw all.
 */
const singleRuns = (entries: ReadonlyArray<Entry>): ReadonlyMap<string | null, RunSummary> => {
  const facts = new Map<string | null, RunSummary>(conversation.facts.value)
  const seen = new Set<string | null>()
  for (const entry of entries) {
    if (entry.kind !== "answer") continue
    const { runId } = entry.answer.peek()
    if (seen.has(runId)) facts.delete(runId)
    seen.add(runId)
  }
  return facts
}

const Messages = (): View => {
  const entries = conversation.entries.value
  const threadId = conversation.threadId.value
  const name = assistantName.value
  const waiting = conversation.waiting.value
  const keptAs = conversation.keptAs.value
  const actions = actionsFor(threadId, conversation.isRunning.value)
  const facts = singleRuns(entries)
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
          ? html`<${QuestionItem} key=${entry.key} question=${entry} actions=${actions} />`
          : html`<${AnswerItem}
              key=${entry.key}
              answer=${entry.answer}
              name=${name}
              threadId=${threadId}
              actions=${actions}
              facts=${facts.get(entry.answer.peek().runId)}
              isLast=${entry === last}
            />`
      )}
      ${waiting !== null && mayAct() && html`<${WaitingCalls} key=${waiting.runId} waiting=${waiting} />`}
      ${
        keptAs !== null &&
        html`<li>
          <p class="mark" role="status">
            <${Icon} name="back" /><span>What was here before is kept: <a href=${href("talk", keptAs)}>open it as it was</a>.</span>
          </p>
        </li>`
      }
    </ol>
    <p class="unseen" role="status">${conversation.spoken.value}</p>`
}
