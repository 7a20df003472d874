/** The documents of the assistant, which all its threads share, and those of the thread: adding, viewing and deleting them. */
import { plural, shortDate, wholeDate } from "../lib/format.ts"
import * as documents from "../state/documents.ts"
import { act, assistant, conversation, tell } from "../state/place.ts"
import { classes, html, type ReadonlySignal, useEffect, useState, type View } from "../view.ts"
import type { DocumentRead } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { FileChooser } from "./FileChooser.ts"
import { Icon, IconButton } from "./Icon.ts"

export const DocumentsRoom = (): View => {
  const assistantId = assistant.value?.assistant_id
  const threadId = conversation.threadId.value
  useEffect(() => {
    if (assistantId !== undefined) documents.loadDocuments(assistantId, threadId).catch(tell)
  }, [assistantId, threadId, conversation.isRunning.value])
  if (assistantId === undefined) return null
  return html`<section>
    <${DocumentList} title="Of ${assistant.value?.name}, for all its threads" list=${documents.ofAssistant} place=${{ assistant: assistantId }} />
    ${threadId !== null && html`<${DocumentList} title="Of this thread" list=${documents.ofThread} place=${{ thread: threadId }} />`}
  </section>`
}

interface DocumentListProps {
  readonly title: string
  readonly list: ReadonlySignal<ReadonlyArray<DocumentRead>>
  readonly place: documents.Place
}

const DocumentList = ({ list, place, title }: DocumentListProps): View => {
  const [isOver, setOver] = useState(false)
  const add = (files: Iterable<File>) => act(documents.addDocuments)(place, [...files])
  const drag = (event: DragEvent, over: boolean) => {
    event.preventDefault()
    event.stopPropagation()
    setOver(over)
  }
  return html`<section
    class=${classes("documents", isOver && "dropping")}
    aria-label=${title}
    onDragOver=${(event: DragEvent) => drag(event, true)}
    onDragLeave=${(event: DragEvent) => drag(event, false)}
    onDrop=${(event: DragEvent) => {
      drag(event, false)
      add(event.dataTransfer?.files ?? [])
    }}
  >
    <header class="row">
      <h3>${title}</h3>
      <${FileChooser}
        onFiles=${add}
        button=${(choose: () => void) => html`<button type="button" onClick=${choose}><${Icon} name="plus" /> Add files</button>`}
      />
    </header>
    <ul>
      ${list.value.map((each) => html`<${DocumentItem} key=${each.document_id} each=${each} />`)}
    </ul>
    ${list.value.length === 0 && html`<p class="hint">There is none. Files may be dropped here.</p>`}
    ${list.value.length > 3 && html`<p class="hint">${plural(list.value.length, "document")}</p>`}
  </section>`
}

const words: Readonly<Record<DocumentRead["status"], string>> = {
  processing: "is being read",
  completed: "is read",
  error: "could not be read"
}

const DocumentItem = ({ each }: { readonly each: DocumentRead }): View => {
  const { created_at, document_id: id, filename, status, status_message, summary } = each
  const remove = () =>
    confirm({
      title: `Delete “${filename}”?`,
      text: "The file and everything that was found in it go. This cannot be undone.",
      action: "Delete document",
      run: () => documents.removeDocument(id)
    })
  return html`<li class=${classes(status === "error" && "failed")}>
    <div class="row">
      <button type="button" class="quiet name" onClick=${() => act(documents.openDocument)(id)}><${Icon} name="file" /> ${filename}</button>
      <${IconButton} icon="trash" label="Delete document ${filename}" onClick=${remove} />
    </div>
    <p class="detail">
      ${words[status]}${status_message === null ? "" : `: ${status_message}`},${" "}
      <time datetime=${created_at} title=${wholeDate(created_at)}>${shortDate(created_at)}</time>
    </p>
    ${summary !== null && html`<p class="hint">${summary}</p>`}
  </li>`
}
