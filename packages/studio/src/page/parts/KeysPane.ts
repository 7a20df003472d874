/**
 * The owner's keys on the server: the rights and the expiry of each, and which one this page uses. Keys can be revoked here, but not made.
 */
import { call, json } from "../api/http.ts"
import { wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { pressing, tell } from "../state/studio.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import { confirm } from "./Confirm.ts"
import { Icon } from "./Icon.ts"

interface ApiKey {
  readonly key_id: string
  readonly name: string
  readonly scope: "read" | "write" | "admin"
  readonly current: boolean
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

interface KeyPage {
  readonly keys: ReadonlyArray<ApiKey>
  readonly next_cursor: string | null
}

const may = { read: "may read", write: "may read and write", admin: "may do everything" }

/** The page of keys behind a cursor; null: the first one. */
const readKeys = (cursor: string | null): Promise<KeyPage> =>
  json<KeyPage>(`/owners/me/keys?limit=50${cursor === null ? "" : `&cursor=${cursor}`}`)

export const KeysPane = (): View => {
  const [keys, setKeys] = useState<ReadonlyArray<ApiKey> | null>(null)
  const [next, setNext] = useState<string | null>(null)
  const load = async (cursor: string | null = null) => {
    const page = await readKeys(cursor)
    setKeys(cursor === null ? page.keys : [...(keys ?? []), ...page.keys])
    setNext(page.next_cursor)
  }
  useEffect(() => {
    load().catch(tell)
  }, [])
  if (keys === null) return html`<p class="hint">It is being read.</p>`
  return html`<section class="pane">
    <p class="hint">
      These keys open the API for you. A key is made where the server runs, with ${" "}<code>npm run key -- make</code> and your name, and is
      shown only then. Keys of the server's settings are not listed.
    </p>
    ${keys.length === 0 && html`<div class="nothing"><${Icon} name="key" /><p>The server keeps no key of yours.</p></div>`}
    <ul class="cards" aria-label="Keys">
      ${keys.map((each) => html`<${KeyItem} key=${each.key_id} apiKey=${each} onChange=${load} />`)}
    </ul>
    ${next !== null && html`<button type="button" onClick=${pressing(() => load(next))}>Show more</button>`}
  </section>`
}

interface KeyItemProps {
  readonly apiKey: ApiKey
  readonly onChange: () => Promise<void>
}

const KeyItem = ({ apiKey, onChange }: KeyItemProps): View => {
  const { created_at, current, expires_at, key_id, name, revoked_at, scope } = apiKey
  const revoke = () =>
    confirm({
      title: "Revoke the key",
      text: `Programs that use “${name}” are refused within seconds, for ever.${current ? " It is the key of this page: you will be asked for another one." : ""}`,
      action: "Revoke",
      run: async () => {
        await call(`/owners/me/keys/${key_id}`, { method: "DELETE" })
        await onChange()
      }
    })
  const isOver = expires_at !== null && Date.parse(expires_at) <= Date.now()
  const isOpen = revoked_at === null && !isOver
  return html`<li class="sheet">
    <div class="row">
      <span><b>${name}</b> <span class="detail">${may[scope]}${current && ", used by this page"}</span></span>
      ${isOpen && mayAct() && html`<button type="button" class="quiet" aria-label="Revoke ${name}" onClick=${revoke}>Revoke</button>`}
    </div>
    <p class="detail">
      Made <time datetime=${created_at}>${wholeDate(created_at)}</time>${endWords(apiKey, isOver)}
    </p>
  </li>`
}

const endWords = ({ expires_at, revoked_at }: ApiKey, isOver: boolean): string => {
  if (revoked_at !== null) return `, revoked ${wholeDate(revoked_at)}`
  if (expires_at === null) return ", without an end"
  return `, ${isOver ? "expired" : "until"} ${wholeDate(expires_at)}`
}
