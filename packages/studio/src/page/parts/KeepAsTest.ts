/** Keeps a stored turn as a case, with a name, tags and expectations. */
import { textIn } from "../lib/forms.ts"
import { href } from "../state/address.ts"
import { type Kept, kept } from "../state/dialogs.ts"
import { act, submitting } from "../state/studio.ts"
import * as tests from "../state/tests.ts"
import { html, loadStyles, useEffect, useState, type View } from "../view.ts"
import type { EvalCase, Expectation } from "../wire.ts"
import { draftExpectation, ExpectationsEditor, readExpectations } from "./CaseForm.ts"
import { CodeBlock } from "./CodeBlock.ts"
import { Dialog } from "./Dialog.ts"

/** The expectation that the form begins with. Most often a text was missing, or was there and should not have been. */
const first: Expectation = { kind: "contains" }

export const KeepAsTest = ({ turn }: { readonly turn: Kept }): View => {
  const [drafts, setDrafts] = useState(() => [draftExpectation(first)])
  const [problem, setProblem] = useState<string | null>(null)
  const [made, setMade] = useState<EvalCase | null>(null)
  const [test, setTest] = useState<string | null>(null)
  useEffect(() => {
    void loadStyles("tests")
  }, [])
  const onClose = () => {
    kept.value = null
  }
  const keep = async (form: HTMLFormElement) => {
    setProblem(null)
    try {
      const name = textIn(form, "name").trim()
      const tags = textIn(form, "tags").split(",")
      setMade(
        await tests.addCase({
          ...turn,
          ...(name === "" ? {} : { name }),
          tags: tags.flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()])),
          expectations: readExpectations(drafts)
        })
      )
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const copy = async () => {
    if ("thread_id" in turn) setTest(await tests.copyTest(turn.thread_id, turn.message_id))
  }
  return html`<${Dialog} title="Keep as test" onClose=${onClose}>
    ${
      made === null
        ? html`<form onSubmit=${submitting(keep)} novalidate>
            <p class="hint">The question is kept, with what was said before it and what tools returned. Say what a good answer does.</p>
            <label>Name <input name="name" autocomplete="off" maxlength="200" /></label>
            <label>Tags, with commas between <input name="tags" autocomplete="off" /></label>
            <${ExpectationsEditor} drafts=${drafts} onChange=${setDrafts} />
            ${problem !== null && html`<p class="problem" role="alert">${problem}</p>`}
            <div class="actions">
              <button type="button" onClick=${onClose}>Leave it</button>
              <button class="primary">Keep</button>
            </div>
          </form>`
        : html`<p role="status">Kept as a case. <a href=${href("tests", "cases", made.case_id)} onClick=${onClose}>Open it in Tests</a></p>
            ${test !== null && html`<${CodeBlock} code=${test} language="ts" />`}
            <div class="actions">
              ${"thread_id" in turn && test === null && html`<button type="button" onClick=${act(copy)}>Copy as Vitest</button>`}
              <button type="button" class="primary" onClick=${onClose}>Done</button>
            </div>`
    }
  <//>`
}
