/** The schedules of an assistant, each with its next times and its last run. They can be made, paused, run now and deleted. */
import { textIn } from "../lib/forms.ts"
import { shortDate, wholeDate } from "../lib/format.ts"
import { timeIn } from "../lib/zones.ts"
import { mayAct } from "../lib/host.ts"
import { href } from "../state/address.ts"
import * as knowledge from "../state/knowledge.ts"
import { conversation, pressing, submitting, tell, threads, threadTitle } from "../state/studio.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Assistant, Schedule } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { Icon, IconButton } from "./Icon.ts"

export const SchedulesPane = ({ assistant }: { readonly assistant: Assistant }): View => {
  const id = assistant.assistant_id
  const [schedules, setSchedules] = useState<ReadonlyArray<Schedule> | null>(null)
  const load = async () => setSchedules(await knowledge.readSchedules(id))
  useEffect(() => {
    load().catch(tell)
  }, [id])
  return html`<section class="pane">
    ${mayAct() && html`<${ScheduleForm} assistant=${assistant} onMade=${load} />`}
    ${schedules?.length === 0 && html`<div class="nothing"><${Icon} name="clock" /><p>No schedule sends a message to ${assistant.name} yet.</p></div>`}
    <ul class="cards" aria-label="Schedules">
      ${schedules?.map((each) => html`<${ScheduleItem} key=${each.schedule_id} schedule=${each} onChange=${load} />`)}
    </ul>
  </section>`
}

const examples: ReadonlyArray<readonly [cron: string, word: string]> = [
  ["0 9 * * 1-5", "Weekdays at 9"],
  ["0 * * * *", "Every hour"],
  ["0 8 1 * *", "The first of each month"]
]

const ScheduleForm = ({
  assistant,
  onMade
}: {
  readonly assistant: Assistant
  readonly onMade: () => Promise<void>
}): View => {
  const [cron, setCron] = useState("0 9 * * 1-5")
  const threadId = conversation.assistantId.value === assistant.assistant_id ? conversation.threadId.value : null
  const make = async (form: HTMLFormElement) => {
    const thread = textIn(form, "thread")
    await knowledge.addSchedule(assistant.assistant_id, {
      cron,
      timezone: textIn(form, "timezone"),
      content: textIn(form, "content"),
      thread: thread === "new" ? "new" : { thread_id: thread },
      on_missed: textIn(form, "on_missed")
    })
    form.reset()
    await onMade()
  }
  const open = threads.value.find(({ thread_id }) => thread_id === threadId)
  return html`<form class="sheet" onSubmit=${submitting(make)} aria-label="New schedule">
    <label>Message <textarea name="content" rows="2" required placeholder="What came in since yesterday?"></textarea></label>
    <div class="fields">
      <label>
        When (cron)
        <input
          name="cron"
          required
          autocomplete="off"
          spellcheck=${false}
          value=${cron}
          aria-describedby="cron-hint"
          onInput=${(event: Event) => {
            if (event.currentTarget instanceof HTMLInputElement) setCron(event.currentTarget.value)
          }}
        />
      </label>
      <label>Time zone <input name="timezone" required defaultValue=${Intl.DateTimeFormat().resolvedOptions().timeZone} autocomplete="off" /></label>
      <label>
        Thread
        <select name="thread">
          <option value="new">A new one each time</option>
          ${open !== undefined && html`<option value=${open.thread_id}>${threadTitle(open)}</option>`}
        </select>
      </label>
      <label>
        Missed times
        <select name="on_missed">
          <option value="once">Once for all</option>
          <option value="skip">Leave them out</option>
        </select>
      </label>
    </div>
    <p class="hint" id="cron-hint">
      Minute, hour, day, month, weekday.${" "}
      ${examples.map(([expression, word]) => html`<button type="button" class="quiet" onClick=${() => setCron(expression)}>${word}</button>`)}
    </p>
    <div class="actions"><button class="primary">Make schedule</button></div>
  </form>`
}

const ScheduleItem = ({
  onChange,
  schedule
}: {
  readonly schedule: Schedule
  readonly onChange: () => Promise<void>
}): View => {
  const [begun, setBegun] = useState<{ readonly run_id: string; readonly thread_id: string } | null>(null)
  const { content, cron, last, next, paused, timezone } = schedule
  const pause = async () => {
    await knowledge.pauseSchedule(schedule, !paused)
    await onChange()
  }
  const run = async () => setBegun(await knowledge.runSchedule(schedule))
  const remove = () =>
    confirm({
      title: "Delete this schedule?",
      text: `“${content.slice(0, 80)}” is not sent any more. Its threads stay.`,
      action: "Delete schedule",
      run: async () => {
        await knowledge.removeSchedule(schedule)
        await onChange()
      }
    })
  return html`<li class="sheet">
    <div class="row">
      <p dir="auto"><b>${content}</b></p>
      ${mayAct() && html`<${IconButton} icon="trash" label="Delete the schedule ${content.slice(0, 40)}" onClick=${remove} />`}
    </div>
    <p class="detail"><code>${cron}</code> in ${timezone}${schedule.thread === "new" ? ", a new thread each time" : ", on one thread"}</p>
    ${
      paused
        ? html`<p><span class="badge soft">paused</span></p>`
        : html`<ol class="times" aria-label="Next times">
            ${next.map((time) => html`<li><time datetime=${time}>${timeIn(time, timezone)}</time></li>`)}
          </ol>`
    }
    ${
      last !== null &&
      html`<p class="detail">
      Last time <time datetime=${last.time} title=${wholeDate(last.time)}>${shortDate(last.time)}</time>${last.error !== null && html`: <span class="problem">${last.error}</span>`}
    </p>`
    }
    ${
      mayAct() &&
      html`<div class="actions">
        ${begun !== null && html`<span role="status">It runs: <a href=${href("runs", begun.run_id, begun.thread_id)}>look at it</a></span>`}
        <button type="button" onClick=${pressing(pause)}>${paused ? "Resume" : "Pause"}</button>
        <button type="button" onClick=${pressing(run)}>Run now</button>
      </div>`
    }
  </li>`
}
