/** The cases, one line each, with tags, origin and expectations. One of them can be opened, changed, copied or deleted. */
import { expectationWords } from "../lib/expectations.ts"
import { textIn } from "../lib/forms.ts"
import { plural, shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { go, href } from "../state/address.ts"
import { assistant, assistants, pressing, submitting, tell } from "../state/studio.ts"
import * as tests from "../state/tests.ts"
import { html, useEffect, useRef, useState, type View } from "../view.ts"
import type { EvalCase } from "../wire.ts"
import { CaseForm } from "./CaseForm.ts"
import { Icon } from "./Icon.ts"

interface CasesPaneProps {
  /** The case that is open, and the tag by which the list is filtered. */
  readonly path: ReadonlyArray<string>
}

export const CasesPane = ({ path: [open = "-", tag = ""] }: CasesPaneProps): View => {
  const [cases, setCases] = useState<ReadonlyArray<EvalCase> | null>(null)
  const [cursor, setCursor] = useState<string | null>(null)
  const [isNew, setNew] = useState(false)
  const wanted = useRef(tag)
  wanted.current = tag
  const load = async (after: string | null) => {
    const page = await tests.readCases(tag, after)
    if (wanted.current !== tag) return
    setCases((before) => (after === null ? page.cases : [...(before ?? []), ...page.cases]))
    setCursor(page.next_cursor)
  }
  useEffect(() => {
    load(null).catch(tell)
  }, [tag])
  const tags = [...new Set(cases?.flatMap((each) => each.tags))].toSorted()
  const made = async (added: EvalCase) => {
    setNew(false)
    await load(null)
    go("tests", "cases", added.case_id, ...(tag === "" ? [] : [tag]))
  }
  return html`<section class="pane" aria-label="Cases">
    <div class="row">
      <p class="hint">${tag === "" ? "A case is a conversation up to a question, and what is expected of the answer." : html`With the tag <b>${tag}</b>. <a href=${href("tests", "cases")}>Show all</a>`}</p>
      ${
        mayAct() &&
        html`<span class="actions">
          <button type="button" aria-expanded=${isNew} onClick=${() => setNew(!isNew)}><${Icon} name="plus" /> New case</button>
          ${(cases?.length ?? 0) > 0 && html`<a class="button primary" href=${href("tests", "experiments", "new", ...(tag === "" ? [] : [tag]))}>Try them</a>`}
        </span>`
      }
    </div>
    ${isNew && html`<${NewCase} onMade=${made} />`}
    ${
      tag === "" &&
      tags.length > 0 &&
      html`<p class="tags" role="group" aria-label="Tags">${tags.map((each) => html`<a class="chip" key=${each} href=${href("tests", "cases", "-", each)}>${each}</a>`)}</p>`
    }
    ${cases?.length === 0 && html`<${NoCases} />`}
    <ul class="cards" aria-label="Cases">
      ${cases?.map((each) => html`<${CaseItem} key=${each.case_id} each=${each} tag=${tag} isOpen=${each.case_id === open} onChange=${() => load(null)} />`)}
    </ul>
    ${cursor !== null && html`<button type="button" onClick=${pressing(() => load(cursor))}>Show more</button>`}
    ${(cases?.length ?? 0) > 3 && html`<p class="hint">${plural(cases?.length ?? 0, "case")}${cursor !== null && " and more"}</p>`}
  </section>`
}

const NoCases = (): View =>
  html`<div class="nothing">
    <${Icon} name="check" />
    <p>No case is kept yet.${mayAct() && " Choose “Keep as test” under an answer in Talk, or write a case here."}</p>
  </div>`

const NewCase = ({ onMade }: { readonly onMade: (made: EvalCase) => Promise<void> }): View => {
  const make = async (form: HTMLFormElement) => {
    const assistant_id = textIn(form, "assistant")
    await onMade(
      await tests.addCase({ question: textIn(form, "question"), ...(assistant_id === "" ? {} : { assistant_id }) })
    )
  }
  return html`<form class="sheet" aria-label="New case" onSubmit=${submitting(make)}>
    <label>Question <textarea name="question" rows="2" dir="auto" required></textarea></label>
    <label>
      Assistant
      <select name="assistant" defaultValue=${assistant.value?.assistant_id ?? ""}>
        <option value="">An experiment names one</option>
        ${assistants.value?.map(({ assistant_id: id, name }) => html`<option value=${id} selected=${id === assistant.value?.assistant_id}>${name}</option>`)}
      </select>
    </label>
    <div class="actions"><button class="primary">Make case</button></div>
  </form>`
}

interface CaseItemProps {
  readonly each: EvalCase
  readonly tag: string
  readonly isOpen: boolean
  readonly onChange: () => Promise<void>
}

const CaseItem = ({ each, isOpen, onChange, tag }: CaseItemProps): View => {
  const { case_id: id, created_at, expectations, messages, name, question, source, tags } = each
  const line = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isOpen) line.current?.scrollIntoView({ block: "nearest" })
  }, [isOpen])
  const behind = tag === "" ? [] : [tag]
  const link = isOpen
    ? href("tests", "cases", ...(tag === "" ? [] : ["-", tag]))
    : href("tests", "cases", id, ...behind)
  return html`<li class="sheet" ref=${line}>
    <div class="row">
      <h3 dir="auto"><a href=${link} aria-expanded=${isOpen}>${name ?? question.slice(0, 120)}</a></h3>
      <span class="detail">
        ${source === null ? "by hand" : html`<a href=${href("talk", source.thread_id)}>from a turn</a>`},${" "}
        <time datetime=${created_at} title=${wholeDate(created_at)}>${shortDate(created_at)}</time>
      </span>
    </div>
    ${name !== null && (!isOpen || !mayAct()) && html`<p class="detail" dir="auto">${question.slice(0, 300)}</p>`}
    ${messages.length > 0 && html`<p class="detail">${plural(messages.length, "message")} before it</p>`}
    ${tags.length > 0 && html`<p class="tags">${tags.map((word) => html`<a class="chip" href=${href("tests", "cases", "-", word)}>${word}</a>`)}</p>`}
    ${
      (!isOpen || !mayAct()) &&
      html`<ul class="expected" aria-label="Expected">
        ${expectations.length === 0 && html`<li class="hint">Nothing is expected yet: any answer passes.</li>`}
        ${expectations.map((expectation) => html`<li>${expectationWords(expectation)}</li>`)}
      </ul>`
    }
    ${isOpen && mayAct() && html`<${CaseForm} each=${each} onChange=${onChange} />`}
  </li>`
}
