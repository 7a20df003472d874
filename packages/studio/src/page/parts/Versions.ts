/** The versions of an assistant, newest first: the changes of each, its differences from the present one, and a button that restores it. */
import { shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { readVersion, readVersions, restoreVersion } from "../state/knowledge.ts"
import { act, pressing, tell } from "../state/studio.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Assistant, VersionEntry } from "../wire.ts"
import { WordDiff } from "./WordDiff.ts"

interface VersionsProps {
  /** The present version. */
  readonly assistant: Assistant
  readonly onRestored: (assistant: Assistant) => Promise<void>
  /** Called when another change was stored first. */
  readonly onRefused: (error: unknown) => void
}

export const Versions = ({ assistant, onRefused, onRestored }: VersionsProps): View => {
  const { assistant_id: id, version: present } = assistant
  const [versions, setVersions] = useState<ReadonlyArray<VersionEntry>>([])
  const [cursor, setCursor] = useState<string | null>(null)
  const [opened, setOpened] = useState<Assistant | null>(null)
  const load = async (after: string | null) => {
    const page = await readVersions(id, after)
    setVersions((before) => (after === null ? page.versions : [...before, ...page.versions]))
    setCursor(page.next_cursor)
  }
  useEffect(() => {
    setOpened(null)
    load(null).catch(tell)
  }, [present])
  const look = async (version: number) =>
    setOpened(opened?.version === version ? null : (await readVersion(id, version)).assistant)
  const restore = async (version: number) => restoreVersion(id, version, present).then(onRestored, onRefused)
  return html`<section class="versions" aria-label="Versions">
    <h3>Versions</h3>
    <ol>
      ${versions.map(
        (each) =>
          html`<li key=${each.version} class=${each.version === present ? "current" : ""}>
            <${VersionLine} entry=${each} isPresent=${each.version === present} isOpen=${opened?.version === each.version} onLook=${() => act(look)(each.version)} />
            ${opened?.version === each.version && html`<${Differences} before=${opened} after=${assistant} onRestore=${pressing(() => restore(each.version))} />`}
          </li>`
      )}
    </ol>
    ${cursor !== null && html`<button type="button" class="quiet" onClick=${pressing(() => load(cursor))}>Older versions</button>`}
  </section>`
}

interface VersionLineProps {
  readonly entry: VersionEntry
  readonly isPresent: boolean
  readonly isOpen: boolean
  readonly onLook: () => void
}

const fieldWords: Readonly<Record<string, string>> = {
  system_prompt: "instructions",
  llm_provider: "provider",
  model_name: "model",
  model_options: "model options",
  metadata_: "metadata"
}

const fieldWord = (field: string): string => fieldWords[field] ?? field.replaceAll("_", " ")

const VersionLine = ({ entry, isOpen, isPresent, onLook }: VersionLineProps): View =>
  html`<div class="row">
    <span>
      <b>Version ${entry.version}</b>${isPresent && html` <span class="badge">now</span>`}
      <span class="detail">
        <time datetime=${entry.created_at} title=${wholeDate(entry.created_at)}>${shortDate(entry.created_at)}</time>${entry.by !== null && `, by ${entry.by}`}${
          entry.changes.length > 0 &&
          `: ${entry.changes
            .filter((field) => !leftOutFields.has(field))
            .map(fieldWord)
            .join(", ")}`
        }
      </span>
    </span>
    ${!isPresent && html`<button type="button" class="quiet" aria-expanded=${isOpen} aria-label="Compare version ${entry.version} with now" onClick=${onLook}>Compare</button>`}
  </div>`

/** Fields that are left out: those that differ in every version, and the description, which is an older name of the instructions. */
const leftOutFields = new Set(["version", "created_at", "updated_at", "assistant_id", "description"])

const fieldText = (value: unknown): string => {
  if (value === null || value === undefined) return ""
  return typeof value === "string" ? value : JSON.stringify(value, null, 2)
}

interface DifferencesProps {
  readonly before: Assistant
  readonly after: Assistant
  readonly onRestore: (event: Event) => void
}

const Differences = ({ after, before, onRestore }: DifferencesProps): View => {
  const now = new Map(Object.entries(after))
  const changed = Object.entries(before).flatMap(([field, value]) => {
    const [old, fresh] = [fieldText(value), fieldText(now.get(field))]
    return leftOutFields.has(field) || old === fresh ? [] : [{ field, old, fresh }]
  })
  return html`<div class="differences">
    ${changed.length === 0 && html`<p class="hint">It is the same as now.</p>`}
    ${changed.map(
      ({ field, fresh, old }) =>
        html`<div key=${field}>
          <h4>${fieldWord(field)}</h4>
          <${WordDiff} before=${old} after=${fresh} />
        </div>`
    )}
    ${mayAct() && html`<div class="actions"><button type="button" onClick=${onRestore}>Restore version ${before.version}</button></div>`}
  </div>`
}
