/** The assistant's memories: searched by meaning, written by hand, edited and deleted; with the turns that said each. */
import { dayName, plural, shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import * as memory from "../state/memories.ts"
import { href } from "../state/address.ts"
import { act, pressing, submitting, tell } from "../state/studio.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Assistant, Memory } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { IconButton } from "./Icon.ts"
import { Search } from "./Lists.ts"

export const MemoriesRoom = ({ assistant }: { readonly assistant: Assistant }): View => {
  const id = assistant.assistant_id
  const [search, setSearch] = useState("")
  const [found, setFound] = useState<ReadonlyArray<Memory> | null>(null)
  useEffect(() => {
    memory.loadMemories(id).catch(tell)
  }, [id])
  useEffect(() => {
    if (search.trim() === "") return setFound(null)
    let isWanted = true
    const timer = setTimeout(() => {
      memory.searchMemories(id, search).then((list) => isWanted && setFound(list), tell)
    }, 250)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [search, id, memory.memories.value])
  const shown = found ?? memory.memories.value
  const hasSome = memory.memories.value.length > 0
  const forget = () =>
    confirm({
      title: "Forget everything?",
      text: `${plural(memory.memories.value.length, "memory", "memories")} of “${assistant.name}” go, with their history. This cannot be undone.`,
      action: "Forget everything",
      run: () => memory.forgetAll(id)
    })
  return html`<section class="memories" aria-label="Memories">
    ${mayAct() && html`<${NewMemory} assistantId=${id} />`}
    ${hasSome && html`<${Search} label="Search memories" value=${search} onInput=${setSearch} />`}
    ${
      found === null
        ? days(shown).map(
            ([name, those]) =>
              html`<h3 class="day" id="memories-${those[0]?.id}">${name}</h3>
                <ul class="timeline" aria-labelledby="memories-${those[0]?.id}">
                  ${those.map((each) => html`<${MemoryItem} key=${each.id} each=${each} assistantId=${id} />`)}
                </ul>`
          )
        : html`<ul>${found.map((each) => html`<${MemoryItem} key=${each.id} each=${each} assistantId=${id} />`)}</ul>`
    }
    ${memory.isLoaded.value && shown.length === 0 && html`<p class="hint">${found === null ? "Nothing is remembered yet." : "Nothing is found."}</p>`}
    <div class="actions">
      ${mayAct() && html`<button type="button" class="quiet" onClick=${() => act(memory.importMemories)(id)}>Read from a file</button>`}
      ${hasSome && html`<button type="button" class="quiet" onClick=${() => act(memory.exportMemories)(id)}>Save as a file</button>`}
      ${hasSome && mayAct() && html`<button type="button" class="quiet" onClick=${forget}>Forget everything</button>`}
    </div>
  </section>`
}

/** The memories by the day on which they were last said or changed, newest first. */
const days = (memories: ReadonlyArray<Memory>): ReadonlyArray<readonly [string, ReadonlyArray<Memory>]> => {
  const newest = memories.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1))
  return [...Map.groupBy(newest, ({ updated_at }) => dayName(updated_at))]
}

const NewMemory = ({ assistantId }: { readonly assistantId: string }): View => {
  const [text, setText] = useState("")
  const add = async () => {
    if (text.trim() === "") return
    await memory.addMemory(assistantId, text.trim())
    setText("")
  }
  return html`<form class="row" onSubmit=${submitting(add)}>
    <input
      aria-label="New memory"
      placeholder="Something to remember"
      value=${text}
      onInput=${(event: Event) => {
        if (event.currentTarget instanceof HTMLInputElement) setText(event.currentTarget.value)
      }}
    />
    <button>Add</button>
  </form>`
}

const MemoryItem = ({ assistantId, each }: { readonly assistantId: string; readonly each: Memory }): View => {
  const [isEdited, setEdited] = useState(false)
  const [text, setText] = useState(each.content)
  const save = async () => {
    await memory.changeMemory(assistantId, each.id, text.trim())
    setEdited(false)
  }
  if (isEdited) {
    return html`<li>
      <form onSubmit=${submitting(save)}>
        <textarea
          aria-label="Text of the memory"
          rows="3"
          value=${text}
          onInput=${(event: Event) => {
            if (event.currentTarget instanceof HTMLTextAreaElement) setText(event.currentTarget.value)
          }}
        ></textarea>
        <div class="actions">
          <button type="button" onClick=${() => setEdited(false)}>Leave it</button>
          <button class="primary" disabled=${text.trim() === ""}>Save</button>
        </div>
      </form>
    </li>`
  }
  return html`<li>
    <p>${each.content}</p>
    <div class="row">
      <span class="detail">
        <time datetime=${each.updated_at} title=${wholeDate(each.updated_at)}>${shortDate(each.updated_at)}</time>,${" "}
        ${
          each.source === null
            ? "written by hand"
            : html`<a href=${href("talk", each.source.thread_id, each.source.run_id)}>learned in a turn</a>`
        }
        ${
          each.confirmed_by.length > 0 &&
          html`, said again ${plural(each.confirmed_by.length, "time")}:${" "}
          ${each.confirmed_by.map(({ run_id, thread_id }, index) => html`<a href=${href("talk", thread_id, run_id)} aria-label="Turn ${index + 1} that said it again">${index + 1}</a> `)}`
        }
        ${each.valid_until !== null && `, true until ${shortDate(each.valid_until)}`}
      </span>
      ${
        mayAct() &&
        html`<span>
          <${IconButton} icon="pencil" label="Edit memory ${each.content}" onClick=${() => {
            setText(each.content)
            setEdited(true)
          }} />
          <${IconButton} icon="trash" label="Forget memory ${each.content}" onClick=${pressing(() => memory.removeMemory(assistantId, each.id))} />
        </span>`
      }
    </div>
  </li>`
}
