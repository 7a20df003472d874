/**
 * Schedules: the use cases, the watch that takes times which have come, and the worker that begins their turns.
 *
 * A time is taken by `ScheduleStore.advance`, which moves the schedule on and stores a follow-up in one step, so that one process takes it.
 * The follow-up may run more than once; its turn has the idempotency key of the schedule and the time, so it begins once.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { type AssistantId, FollowUpId, newId, type RunId, ScheduleId } from "../primitives/Ids.ts"
import { runYielding } from "../primitives/RunYielding.ts"
import type { Steps } from "../primitives/Steps.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { OwnerEvents } from "../runs/OwnerEvents.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { answeredBefore, firstAnswer, keptAnswer } from "../runs/AnsweredBefore.ts"
import type { TurnRequest } from "../turns/TurnRequest.ts"
import { type StartError, Turns } from "../turns/TurnUseCases.ts"
import { Schedule, ScheduleNotFound, ScheduleRefused, TooManySchedules } from "./Schedule.ts"
import { ScheduleSettings } from "./ScheduleSettings.ts"
import { type NewSchedule, Schedules, type ScheduleWithTimes } from "./Schedules.ts"
import { type DueSchedule, ScheduleStore } from "./ScheduleStore.ts"
import { scheduleRecord } from "./ScheduleRecord.ts"
import { decideDue, KeptTimes, nextTime, readTimes } from "./ScheduleTimes.ts"

const runKind = "schedules.run"

const Payload = Schema.Struct({ scheduleId: ScheduleId, time: Schema.Int })
const readPayload = Schema.decodeUnknownOption(Payload)

const answerCodec = Schema.toCodecJson(Schema.Struct({ schedule: Schedule, times: Schema.Array(Schema.Date) }))
const encodeAnswer = Schema.encodeSync(answerCodec)
const decodeAnswer = Schema.decodeUnknownOption(answerCodec)

const dueAtOnce = 100

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

export const layerSchedules: Layer.Layer<
  Schedules,
  never,
  ScheduleStore | FollowUps | OwnerEvents | Turns | AssistantStore | RunStore | ThreadStore
> = Layer.effect(
  Schedules,
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const assistants = yield* AssistantStore
    const threads = yield* ThreadStore
    const runs = yield* RunStore
    const followUps = yield* FollowUps
    const turns = yield* Turns
    const settings = yield* ScheduleSettings
    const events = yield* OwnerEvents
    const grace = Duration.toMillis(settings.missedAfter)

    const kept = new KeptTimes()
    const withTimes = (schedule: Schedule, at: Date): ScheduleWithTimes => ({
      schedule,
      times: schedule.paused ? [] : kept.find(schedule, at)
    })

    /** The times of a hundred schedules take 50 ms when none of them is kept. */
    function* withAllTimes(schedules: ReadonlyArray<Schedule>, at: Date): Steps<ReadonlyArray<ScheduleWithTimes>> {
      const all: Array<ScheduleWithTimes> = []
      for (const schedule of schedules) {
        all.push(withTimes(schedule, at))
        yield
      }
      return all
    }

    const find = Effect.fnUntraced(function* (assistantId: AssistantId, id: ScheduleId) {
      const found = yield* store.get(id)
      if (Option.isNone(found) || found.value.assistantId !== assistantId)
        return yield* new ScheduleNotFound({ scheduleId: id })
      return found.value
    })

    const problems = Effect.fnUntraced(function* (
      assistantId: AssistantId,
      { content, cron, threadId = null, timezone }: Partial<NewSchedule>
    ) {
      const found: Array<ScheduleRefused["problems"][number]> = []
      if (cron !== undefined || timezone !== undefined) {
        const times = readTimes({ cron: cron ?? "* * * * *", timezone: timezone ?? "UTC" }, yield* now)
        if (Result.isFailure(times)) found.push(...times.failure)
      }
      if (content?.trim() === "") found.push({ field: "content", message: "The message has no content." })
      if (content !== undefined && content.length > settings.longestContent)
        found.push({ field: "content", message: `The message has more than ${settings.longestContent} characters.` })
      if (threadId !== null) {
        const thread = yield* threads.get(threadId)
        if (Option.isNone(thread) || thread.value.assistantId !== assistantId)
          found.push({ field: "threadId", message: "The assistant has no such thread." })
      }
      return found
    })

    /** With its next time, or every problem of it. */
    const checked = Effect.fnUntraced(function* (schedule: Schedule, at: Date) {
      const { threadId } = schedule
      const found = yield* problems(schedule.assistantId, schedule)
      const isUnknown = threadId !== null && Option.isNone(yield* threads.get(threadId))
      if (isUnknown && found.every(({ field }) => field === "threadId")) return yield* new ThreadNotFound({ threadId })

      const times = readTimes(schedule, at)
      if (found.length > 0 || Result.isFailure(times)) return yield* new ScheduleRefused({ problems: found })
      return { ...schedule, next: schedule.paused ? null : nextTime(times.success, at) }
    })

    const toRequest = (schedule: Schedule, idempotency: IdempotencyKey | undefined): TurnRequest => ({
      content: schedule.content,
      scheduleId: schedule.id,
      ...(schedule.threadId === null ? { assistantId: schedule.assistantId } : { threadId: schedule.threadId }),
      ...(schedule.metadata === null ? {} : { metadata: schedule.metadata }),
      ...(idempotency === undefined ? {} : { idempotency })
    })

    const note = (id: ScheduleId, time: Date, runId: RunId | null, error: string | null) =>
      store.note(id, { time, runId, error })

    /** No turn began at a time: the follow-up that tells it; null: nobody wants to hear of it. */
    const missedEvent = (schedule: Schedule, time: Date, error: string, at: Date) => {
      const data = scheduleRecord(withTimes({ ...schedule, last: { time, runId: null, error } }, at))
      const key = `${schedule.id}:${time.getTime()}`
      const { content } = schedule
      return events.order({ type: "schedule.missed", key, data: { ...data, content: null }, content: { content } })
    }

    /** What came of a time at which no turn began. The event is stored before it, and its repeat is the same event. */
    const noteMissed = Effect.fnUntraced(function* (schedule: Schedule, time: Date, error: string) {
      const event = yield* missedEvent(schedule, time, error, yield* now)
      if (event !== null) yield* followUps.add([event])
      yield* note(schedule.id, time, null, error)
    })

    yield* followUps.register(
      typedWorker({
        kind: runKind,
        payload: Payload,
        // No record waits: the follow-up is stored in the step that takes the time.
        run: Effect.fnUntraced(function* ({ scheduleId, time: millis }) {
          const found = yield* store.get(scheduleId)
          if (Option.isNone(found)) return
          const time = new Date(millis)
          const idempotency = { key: `schedule:${scheduleId}:${millis}`, fingerprint: scheduleId }
          yield* turns.start(toRequest(found.value, idempotency)).pipe(
            Effect.flatMap(({ runId }) => note(scheduleId, time, runId, null)),
            Effect.catch((error): Effect.Effect<void, StoreUnavailable | FollowUpFailed, Principal> =>
              isPassing(error)
                ? later(error)
                : // The turn had begun.
                  error._tag === "FirstAnswerGone"
                  ? Effect.void
                  : noteMissed(found.value, time, error.message)
            )
          )
        }),
        giveUp: ({ payload }, error) =>
          Option.match(readPayload(payload), {
            onNone: () => Effect.void,
            onSome: ({ scheduleId, time }) =>
              Effect.flatMap(store.get(scheduleId), (found) =>
                Option.isNone(found) ? Effect.void : noteMissed(found.value, new Date(time), error)
              )
          })
      })
    )

    /** True: this process has taken the time and ordered its work. */
    const take = Effect.fnUntraced(function* ({ ownerId, schedule }: DueSchedule) {
      const at = yield* now
      const { id, next: time, revision } = schedule
      const cron = readTimes(schedule, at)
      if (time === null) return false
      const due = Result.match(cron, {
        onFailure: (wrong) => ({
          time,
          next: null,
          runs: false,
          missed: wrong.map(({ message }) => message).join(" ")
        }),
        onSuccess: (times) => decideDue(schedule, times, time, at, grace)
      })
      const followUp = due.runs
        ? {
            id: yield* newId(FollowUpId),
            kind: runKind,
            key: `${id}:${time.getTime()}`,
            payload: { scheduleId: id, time: time.getTime() },
            sequence: `schedule:${id}`,
            delayMillis: 0,
            createdAt: at
          }
        : due.missed === null
          ? null
          : yield* Effect.provideService(missedEvent(schedule, time, due.missed, at), Principal, { ownerId })
      const last = due.missed === null ? null : { time, runId: null, error: due.missed }
      const isTaken = yield* Effect.provideService(
        store.advance({ id, revision, due: time, next: due.next, followUp, last }),
        Principal,
        { ownerId }
      )
      return isTaken && followUp !== null
    })

    const takeDue = Effect.gen(function* () {
      const due = yield* store.due(yield* now, dueAtOnce)
      const taken = yield* Effect.forEach(due, (each) =>
        Effect.catchCause(take(each), (cause) =>
          Effect.as(Effect.logWarning(`A time of schedule ${each.schedule.id} could not be taken`, cause), false)
        )
      )
      if (taken.some(Boolean)) followUps.wake()
    })
    yield* takeDue.pipe(
      Effect.catchCause((cause) => Effect.logWarning("Schedules could not be read; the store is asked again", cause)),
      Effect.delay(settings.poll),
      Effect.forever,
      Effect.forkScoped
    )

    return Schedules.of({
      problems,
      create: tracedFn("Schedules.create")(function* (
        assistantId: AssistantId,
        asked: NewSchedule,
        idempotency?: IdempotencyKey
      ) {
        const answered = yield* answeredBefore(runs, idempotency, decodeAnswer)
        if (answered !== undefined) return answered
        const at = yield* now
        if (Option.isNone(yield* assistants.get(assistantId))) return yield* new AssistantNotFound({ assistantId })
        const schedule = yield* checked(
          {
            id: yield* newId(ScheduleId),
            assistantId,
            cron: asked.cron,
            timezone: asked.timezone,
            content: asked.content,
            threadId: asked.threadId ?? null,
            metadata: asked.metadata ?? null,
            paused: asked.paused ?? false,
            onMissed: asked.onMissed ?? "once",
            next: null,
            last: null,
            revision: 1,
            createdAt: at,
            updatedAt: at
          },
          at
        )
        const answer = withTimes(schedule, at)
        const stored = yield* store.insert(schedule, settings.most, keptAnswer(idempotency, encodeAnswer(answer)))
        if (stored === "repeated") return yield* firstAnswer(runs, idempotency, decodeAnswer)
        if (stored === "assistant_missing") return yield* new AssistantNotFound({ assistantId })
        if (stored === "too_many") return yield* new TooManySchedules({ limit: settings.most })
        return answer
      }),
      get: tracedFn("Schedules.get")(function* (assistantId: AssistantId, id: ScheduleId) {
        return withTimes(yield* find(assistantId, id), yield* now)
      }),
      list: tracedFn("Schedules.list")(function* (
        assistantId: AssistantId,
        page: { readonly limit: number; readonly after?: ScheduleId }
      ) {
        const found = yield* store.list({ assistantId, ...page, limit: page.limit + 1 })
        if (found.length === 0 && Option.isNone(yield* assistants.get(assistantId)))
          return yield* new AssistantNotFound({ assistantId })
        const at = yield* now
        const shown = found.slice(0, page.limit)
        const next = found.length > shown.length ? (shown.at(-1)?.id ?? null) : null
        return { schedules: yield* runYielding(withAllTimes(shown, at)), next }
      }),
      update: tracedFn("Schedules.update")(function* (
        assistantId: AssistantId,
        id: ScheduleId,
        change: Partial<NewSchedule>
      ) {
        const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
        // Of two changes at once the later one is made to what the other has left.
        while (true) {
          const at = yield* now
          const before = yield* find(assistantId, id)
          const asked: Schedule = { ...before, ...given, revision: before.revision + 1, updatedAt: at }
          const isSame =
            asked.cron === before.cron && asked.timezone === before.timezone && asked.paused === before.paused
          // The thread of before may be gone, which keeps nobody from changing the rest.
          const { next } = yield* checked({ ...asked, threadId: change.threadId ?? null }, at)
          const schedule = { ...asked, next: isSame ? before.next : next }
          if (yield* store.replace(schedule)) return withTimes(schedule, at)
        }
      }),
      remove: tracedFn("Schedules.remove")(function* (assistantId: AssistantId, id: ScheduleId) {
        yield* find(assistantId, id)
        if (!(yield* store.remove(id))) return yield* new ScheduleNotFound({ scheduleId: id })
      }),
      run: tracedFn("Schedules.run")(function* (
        assistantId: AssistantId,
        id: ScheduleId,
        idempotency?: IdempotencyKey
      ) {
        // A repeat gets its run also when the schedule has been deleted since.
        const begun =
          idempotency === undefined ? Option.none() : yield* turns.repeated(idempotency, { background: true })
        if (Option.isSome(begun)) return begun.value
        return yield* turns.start(toRequest(yield* find(assistantId, id), idempotency))
      })
    })
  })
)

/** What may be different in a moment. Everything else ends this time of the schedule, with its sentence. */
const isPassing = (error: StartError): boolean =>
  error._tag === "StoreUnavailable" ||
  error._tag === "ShuttingDown" ||
  error._tag === "ThreadBusy" ||
  error._tag === "ThreadInSession"

const later = (error: StartError): Effect.Effect<never, StoreUnavailable | FollowUpFailed> =>
  error._tag === "StoreUnavailable"
    ? Effect.fail(error)
    : Effect.fail(new FollowUpFailed({ message: error.message, isRetryable: true, pauseMillis: 5000 }))
