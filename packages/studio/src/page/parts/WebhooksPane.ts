/**
 * The webhooks of the owner and their deliveries. A new webhook shows its secret once; deliveries can be sent again, and secrets replaced.
 */
import { plural, shortDate, wholeDate } from "../lib/format.ts"
import { copyText } from "../lib/clipboard.ts"
import { textIn } from "../lib/forms.ts"
import { mayAct } from "../lib/host.ts"
import * as knowledge from "../state/knowledge.ts"
import type { SecretWebhook } from "../state/knowledge.ts"
import { pressing, submitting, tell } from "../state/studio.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Delivery, Webhook } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { Dialog } from "./Dialog.ts"
import { Icon, IconButton } from "./Icon.ts"

/** The events, each with its cause in words. */
const eventWords = {
  "run.completed": "a run is done",
  "run.failed": "a run failed",
  "run.requires_action": "a run waits for a person",
  "document.indexed": "a document was read",
  "schedule.missed": "a schedule missed a time"
}

export const WebhooksPane = (): View => {
  const [webhooks, setWebhooks] = useState<ReadonlyArray<Webhook> | null>(null)
  const [secret, setSecret] = useState<SecretWebhook | null>(null)
  const load = async () => setWebhooks(await knowledge.readWebhooks())
  useEffect(() => {
    load().catch(tell)
  }, [])
  const tellSecret = async (made: SecretWebhook) => {
    setSecret(made)
    await load()
  }
  return html`<section class="pane">
    ${mayAct() && html`<${WebhookForm} onMade=${tellSecret} />`}
    ${webhooks?.length === 0 && html`<div class="nothing"><${Icon} name="hook" /><p>No address is told of your runs yet.</p></div>`}
    <ul class="cards" aria-label="Webhooks">
      ${webhooks?.map((each) => html`<${WebhookItem} key=${each.webhook_id} webhook=${each} onChange=${load} onSecret=${tellSecret} />`)}
    </ul>
    ${secret !== null && html`<${SecretDialog} webhook=${secret} onClose=${() => setSecret(null)} />`}
  </section>`
}

const WebhookForm = ({ onMade }: { readonly onMade: (made: SecretWebhook) => Promise<void> }): View => {
  const make = async (form: HTMLFormElement) => {
    const fields = new FormData(form)
    const description = textIn(form, "description").trim()
    const made = await knowledge.addWebhook({
      url: textIn(form, "url").trim(),
      events: fields.getAll("events").map(String),
      include_content: fields.has("include_content"),
      ...(description === "" ? {} : { description })
    })
    form.reset()
    await onMade(made)
  }
  return html`<form class="sheet" onSubmit=${submitting(make)} aria-label="New webhook">
    <div class="fields">
      <label>Address <input name="url" type="url" required placeholder="https://example.com/hooks" autocomplete="off" /></label>
      <label>Description <input name="description" autocomplete="off" /></label>
    </div>
    <fieldset class="checks">
      <legend>It is told when</legend>
      ${Object.entries(eventWords).map(
        ([name, word], index) =>
          html`<label class="check"><input type="checkbox" name="events" value=${name} defaultChecked=${index < 2} /> ${word} <code>${name}</code></label>`
      )}
    </fieldset>
    <label class="check"><input type="checkbox" name="include_content" /> With the words of conversations</label>
    <div class="actions"><button class="primary">Make webhook</button></div>
  </form>`
}

const SecretDialog = ({
  onClose,
  webhook
}: {
  readonly webhook: SecretWebhook
  readonly onClose: () => void
}): View => {
  const [isCopied, setCopied] = useState(false)
  const copy = () => void copyText(webhook.secret).then(setCopied)
  return html`<${Dialog} title="The secret of this webhook" onClose=${onClose}>
    <p>What is sent to ${webhook.url} is signed with it. It is shown this once: keep it where your server finds it.</p>
    <pre class="secret" tabindex="0" role="group" aria-label="Secret">${webhook.secret}</pre>
    <div class="actions">
      <button type="button" onClick=${copy}>${isCopied ? "Copied" : "Copy"}</button>
      <button type="button" class="primary" onClick=${onClose}>I have kept it</button>
    </div>
  <//>`
}

interface WebhookItemProps {
  readonly webhook: Webhook
  readonly onChange: () => Promise<void>
  readonly onSecret: (made: SecretWebhook) => Promise<void>
}

const WebhookItem = ({ onChange, onSecret, webhook }: WebhookItemProps): View => {
  const { description, events, include_content, url, webhook_id: id } = webhook
  const [deliveries, setDeliveries] = useState<ReadonlyArray<Delivery> | null>(null)
  const load = async () => setDeliveries(await knowledge.readDeliveries(id))
  const toggle = async () => (deliveries === null ? load() : setDeliveries(null))
  const rotate = () =>
    confirm({
      title: "Make a new secret?",
      text: "The old one signs as well for 24 hours, so that your server can change over.",
      action: "Make a new secret",
      run: async () => onSecret(await knowledge.rotateWebhook(id))
    })
  const remove = () =>
    confirm({
      title: "Delete this webhook?",
      text: `Nothing is sent to ${url} any more, and its deliveries are forgotten.`,
      action: "Delete webhook",
      run: async () => {
        await knowledge.removeWebhook(id)
        await onChange()
      }
    })
  return html`<li class="sheet">
    <div class="row">
      <b class="address">${url}</b>
      ${mayAct() && html`<${IconButton} icon="trash" label="Delete the webhook ${url}" onClick=${remove} />`}
    </div>
    ${description !== null && html`<p>${description}</p>`}
    <p class="detail">${events.join(", ")}${include_content && ", with the words of conversations"}</p>
    <div class="actions">
      <button type="button" aria-expanded=${deliveries !== null} onClick=${pressing(toggle)}>Deliveries</button>
      ${mayAct() && html`<button type="button" onClick=${rotate}>New secret</button>`}
    </div>
    ${deliveries?.length === 0 && html`<p class="hint">Nothing was sent yet.</p>`}
    ${
      deliveries !== null &&
      deliveries.length > 0 &&
      html`<ol class="deliveries" aria-label="Deliveries to ${url}">
      ${deliveries.map((each) => html`<${DeliveryLine} key=${each.delivery_id} webhookId=${id} delivery=${each} onChange=${load} />`)}
    </ol>`
    }
  </li>`
}

interface DeliveryLineProps {
  readonly webhookId: string
  readonly delivery: Delivery
  readonly onChange: () => Promise<void>
}

const DeliveryLine = ({ delivery, onChange, webhookId }: DeliveryLineProps): View => {
  const { attempts, created_at, delivery_id, error, last_status, status, type } = delivery
  const retry = async () => {
    await knowledge.retryDelivery(webhookId, delivery_id)
    await onChange()
  }
  return html`<li class="row">
    <span>
      <b>${type}</b> <span class="run-state state-${status === "dead" ? "FAILED" : status === "delivered" ? "COMPLETED" : "QUEUED"}">${status}</span>
      <span class="detail">
        <time datetime=${created_at} title=${wholeDate(created_at)}>${shortDate(created_at)}</time>, ${plural(attempts, "attempt")}${last_status !== null && `, answered ${last_status}`}${error !== null && `: ${error}`}
      </span>
    </span>
    ${mayAct() && html`<button type="button" class="quiet" aria-label="Send ${type} again" onClick=${pressing(retry)}>Send again</button>`}
  </li>`
}
