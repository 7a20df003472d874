/** The documents of the assistant, which all its threads share, and those of the thread: adding, viewing and deleting them. */
import { plural, shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { readingProgress, type Stage } from "../lib/stages.ts"
import * as documents from "../state/documentLists.ts"
import { openDocument, type Scope } from "../state/documents.ts"
import { searchDocuments } from "../state/knowledge.ts"
import { act, conversation, tell } from "../state/studio.ts"
import { classes, html, type ReadonlySignal, useEffect, useRef, useState, type View } from "../view.ts"
import type { Assistant, DocumentExcerpt, DocumentRead } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { DocumentDialog } from "./DocumentDialog.ts"
import { FileChooser } from "./FileChooser.ts"
import { Icon, IconButton } from "./Icon.ts"

export const DocumentsRoom = ({ assistant }: { readonly assistant: Assistant }): View => {
  const { assistant_id: assistantId, name } = assistant
  const isTalkedTo = conversation.assistantId.value === assistantId
  const threadId = isTalkedTo ? conversation.threadId.value : null
  useEffect(() => {
    documents.loadDocuments(assistantId, threadId).catch(tell)
  }, [assistantId, threadId])
  return html`<section>
    <${DocumentSearch} assistantId=${assistantId} />
    <${DocumentList} title="Of ${name}, for all its threads" list=${documents.ofAssistant} scope=${{ assistant: assistantId }} />
    ${threadId !== null && html`<${DocumentList} title="Of the open thread" list=${documents.ofThread} scope=${{ thread: threadId }} />`}
  </section>`
}

const DocumentSearch = ({ assistantId }: { readonly assistantId: string }): View => {
  const [words, setWords] = useState("")
  const [found, setFound] = useState<ReadonlyArray<DocumentExcerpt> | null>(null)
  const last = useRef("")
  const search = async () => {
    if (words.trim() === "") return
    last.current = words
    const list = await searchDocuments(assistantId, words)
    if (last.current === words) setFound(list)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    act(search)()
  }
  return html`<form class="try-search" role="search" aria-label="Try a search" onSubmit=${submit}>
    <div class="row">
      <input
        type="search"
        aria-label="Words to search documents for"
        placeholder="Try a search: what would a turn find?"
        value=${words}
        onInput=${(event: Event) => {
          if (event.currentTarget instanceof HTMLInputElement) setWords(event.currentTarget.value)
        }}
      />
      <button>Search</button>
    </div>
    ${found !== null && found.length === 0 && html`<p class="hint" role="status">No piece of a document fits.</p>`}
    ${
      found !== null &&
      found.length > 0 &&
      html`<ol class="found" aria-label="What was found">
      ${found.map((each) => html`<${Excerpt} key=${`${each.document_id} ${each.ordinal}`} excerpt=${each} />`)}
    </ol>`
    }
  </form>`
}

const Excerpt = ({ excerpt }: { readonly excerpt: DocumentExcerpt }): View => {
  const { filename, lexical, page, score, semantic, text } = excerpt
  const facts = [
    page === null ? null : `page ${page}`,
    lexical === null ? null : `by words ${lexical.toFixed(2)}`,
    semantic === null ? null : `by meaning ${semantic.toFixed(2)}`
  ].filter(Boolean)
  return html`<li>
    <div class="row">
      <span class="name"><${Icon} name="file" /> ${filename}</span>
      <span class="score">
        <span class="score-bar" aria-hidden="true"><span style=${{ width: `${score * 100}%` }}></span></span>${score.toFixed(2)}
      </span>
    </div>
    <p dir="auto">${text}</p>
    ${facts.length > 0 && html`<p class="detail">${facts.join(" · ")}</p>`}
  </li>`
}

interface DocumentListProps {
  readonly title: string
  readonly list: ReadonlySignal<ReadonlyArray<DocumentRead>>
  readonly scope: Scope
}

const DocumentList = ({ list, scope, title }: DocumentListProps): View => {
  const [isOver, setOver] = useState(false)
  const add = (files: Iterable<File>) => act(documents.addDocuments)(scope, [...files])
  const drag = (event: DragEvent, over: boolean) => {
    event.preventDefault()
    event.stopPropagation()
    setOver(over)
  }
  const dropping = mayAct()
    ? {
        onDragOver: (event: DragEvent) => drag(event, true),
        onDragLeave: (event: DragEvent) => drag(event, false),
        onDrop: (event: DragEvent) => {
          drag(event, false)
          add(event.dataTransfer?.files ?? [])
        }
      }
    : {}
  return html`<section class=${classes("documents", isOver && "dropping")} aria-label=${title} ...${dropping}>
    <header class="row">
      <h3>${title}</h3>
      ${
        mayAct() &&
        html`<${FileChooser}
          onFiles=${add}
          button=${(choose: () => void) => html`<button type="button" onClick=${choose}><${Icon} name="plus" /> Add files</button>`}
        />`
      }
    </header>
    <ul>
      ${list.value.map((each) => html`<${DocumentItem} key=${each.document_id} each=${each} />`)}
    </ul>
    ${list.value.length === 0 && html`<p class="hint">There is none.${mayAct() && " Files may be dropped here."}</p>`}
    ${list.value.length > 3 && html`<p class="hint">${plural(list.value.length, "document")}</p>`}
  </section>`
}

const words: Readonly<Record<DocumentRead["status"], string>> = {
  processing: "is being read",
  completed: "is read",
  error: "could not be read"
}

const stageWords: Readonly<Record<Stage, string>> = {
  received: "Received",
  text: "Text read",
  vectors: "Vectors made",
  done: "Read"
}

const stages: ReadonlyArray<Stage> = ["received", "text", "vectors"]

const Reading = ({ document }: { readonly document: DocumentRead }): View => {
  const { share, stage } = readingProgress(document)
  return html`<progress max="1" value=${share} aria-label="Reading of ${document.filename}"></progress>
    <ol class="stages" aria-label="Stages of ${document.filename}">
      ${stages.map((each) => html`<li key=${each} aria-current=${each === stage ? "step" : undefined}>${stageWords[each]}</li>`)}
    </ol>`
}

const DocumentItem = ({ each }: { readonly each: DocumentRead }): View => {
  const { created_at, document_id: id, filename, status, status_message, summary } = each
  const [isLooked, look] = useState(false)
  const remove = () =>
    confirm({
      title: `Delete “${filename}”?`,
      text: "The file and everything that was found in it go. This cannot be undone.",
      action: "Delete document",
      run: () => documents.removeDocument(id)
    })
  return html`<li class=${classes(status === "error" && "failed")}>
    <div class="row">
      <button type="button" class="quiet name" onClick=${() => act(openDocument)(id)}><${Icon} name="file" /> ${filename}</button>
      ${mayAct() && html`<${IconButton} icon="trash" label="Delete document ${filename}" onClick=${remove} />`}
    </div>
    ${status === "processing" && html`<${Reading} document=${each} />`}
    <p class="detail">
      ${words[status]}${status_message === null ? "" : `: ${status_message}`},${" "}
      <time datetime=${created_at} title=${wholeDate(created_at)}>${shortDate(created_at)}</time>
      ${status === "completed" && html`<button type="button" class="quiet" aria-label="Pieces of ${filename}" onClick=${() => look(true)}>Pieces</button>`}
    </p>
    ${isLooked && html`<${DocumentDialog} excerpt=${{ document_id: id, filename, page: null, text: "" }} onClose=${() => look(false)} />`}
    ${summary !== null && html`<p class="hint">${summary}</p>`}
  </li>`
}
