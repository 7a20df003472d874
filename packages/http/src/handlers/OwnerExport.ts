/**
 * Everything of an owner as one tar archive, read in pages while it is sent. In a tar archive the size of a file stands before its bytes, so
 * its lines are read twice: first to count bytes, then to send them. Lines added between the two are left out, removed ones become empty.
 */
import {
  type Assistant,
  Assistants,
  Billing,
  type Message,
  type MessageId,
  type Principal,
  type RunId,
  type StoreUnavailable,
  type Thread,
  Threads
} from "@colloquy/core"
import type { CaseId, ExperimentId, ScheduleId, VersionedAssistant, WebhookId } from "@colloquy/core/adapters"
import {
  type Document,
  Documents,
  type EvalCase,
  type ExperimentResult,
  type ExperimentState,
  type Feedback,
  Evals,
  Memories,
  type MemoryRecord,
  type RatedScore,
  scheduleRecord,
  Schedules,
  type ScheduleWithTimes,
  type Webhook,
  Webhooks
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { assistantToWire, messageToWire, threadToWire, versionToWire } from "../encoding/Encode.ts"
import { documentToWire } from "../encoding/EncodeDocuments.ts"
import {
  caseToWire,
  experimentToWire,
  feedbackToWire,
  onlineScoreToWire,
  resultToWire
} from "../encoding/EncodeEvals.ts"
import { memoryToWire } from "../encoding/EncodeMemories.ts"
import { webhookToWire } from "../encoding/EncodeWebhooks.ts"
import { usageToWire } from "../encoding/EncodeModels.ts"
import { compact } from "../wire/Fields.ts"
import { tarEnd, tarHeader, tarPadding } from "../streams/Tar.ts"

const atOnce = 100
/** Each may be a megabyte. */
const messagesAtOnce = 3
const casesAtOnce = 3

type Read<A> = Effect.Effect<ReadonlyArray<A>, StoreUnavailable, Principal>
type Lines = Stream.Stream<string, StoreUnavailable, Principal>
type Bytes = Stream.Stream<Uint8Array, StoreUnavailable, Principal>

/** All pages of a list. */
const pages = <A>(read: (skip: number) => Read<A>, limit = atOnce): Stream.Stream<A, StoreUnavailable, Principal> =>
  Stream.paginate(0, (skip: number) =>
    Effect.map(
      read(skip),
      (found) => [found, found.length < limit ? Option.none() : Option.some(skip + limit)] as const
    )
  )

type VersionWithId = VersionedAssistant & Pick<Assistant, "id">
type Wings = Parameters<typeof messageToWire>[1]

export const ownerExport = Effect.gen(function* () {
  const assistants = yield* Assistants
  const threads = yield* Threads
  const billing = yield* Billing
  const documents = Option.getOrNull(yield* Effect.serviceOption(Documents))
  const memories = Option.getOrNull(yield* Effect.serviceOption(Memories))
  const evals = Option.getOrNull(yield* Effect.serviceOption(Evals))
  const schedules = Option.getOrNull(yield* Effect.serviceOption(Schedules))
  const webhooks = Option.getOrNull(yield* Effect.serviceOption(Webhooks))

  const allAssistants: Stream.Stream<Assistant, StoreUnavailable, Principal> = pages((skip) =>
    assistants.list({ skip, limit: atOnce })
  )
  const versionsBefore = Effect.fnUntraced(
    function* (id: Assistant["id"], before: number) {
      const { next, versions } = yield* assistants.versions(id, { limit: atOnce, before })
      const found = yield* Effect.forEach(versions, (each) => assistants.version(id, each.version))
      return [found.map((each) => ({ id, ...each })), Option.fromNullishOr(next)] as const
    },
    // An assistant that was deleted meanwhile has none.
    Effect.catchIf(
      (error) => error._tag !== "StoreUnavailable",
      () => Effect.succeed([[], Option.none<number>()] as const)
    )
  )
  /** All versions of an assistant that has more than the first one. */
  const assistantVersions = ({ id, version }: Assistant): Stream.Stream<VersionWithId, StoreUnavailable, Principal> =>
    version === 1 ? Stream.empty : Stream.paginate(version + 1, (before: number) => versionsBefore(id, before))
  const allThreads: Stream.Stream<Thread, StoreUnavailable, Principal> = pages((skip) =>
    Effect.map(threads.list({ page: { skip, limit: atOnce }, includeMessages: false }), (found) =>
      found.map(({ thread }) => thread)
    )
  )
  const threadMessages = ({ id }: Thread): Stream.Stream<Message, StoreUnavailable, Principal> =>
    pages((skip) => threads.messages(id, skip, messagesAtOnce), messagesAtOnce)
  const allDocuments: Stream.Stream<Document, StoreUnavailable, Principal> =
    documents === null ? Stream.empty : pages((skip) => documents.listAll({ skip, limit: atOnce }))
  const assistantMemories = ({ id }: Assistant): Stream.Stream<MemoryRecord, StoreUnavailable, Principal> =>
    memories === null
      ? Stream.empty
      : pages((skip) =>
          Effect.map(memories.list(id, { skip, limit: atOnce }), (found) => found.memories).pipe(
            // An assistant that was deleted meanwhile has none.
            Effect.catchIf(
              (error) => error._tag !== "StoreUnavailable",
              () => Effect.succeed([])
            )
          )
        )
  const assistantSchedules = ({ id }: Assistant): Stream.Stream<ScheduleWithTimes, StoreUnavailable, Principal> =>
    schedules === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: ScheduleId | undefined) =>
          Effect.map(
            schedules.list(id, { limit: atOnce, ...compact({ after }) }),
            (found) => [found.schedules, Option.fromNullishOr(found.next)] as const
          ).pipe(
            // An assistant that was deleted meanwhile has none.
            Effect.catchTag("AssistantNotFound", () => Effect.succeed([[], Option.none<ScheduleId>()] as const))
          )
        )
  const allWebhooks: Stream.Stream<Webhook, StoreUnavailable, Principal> =
    webhooks === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: WebhookId | undefined) =>
          Effect.map(
            webhooks.list({ limit: atOnce, ...compact({ after }) }),
            (found) => [found.webhooks, Option.fromNullishOr(found.next)] as const
          )
        )
  const evalCases: Stream.Stream<EvalCase, StoreUnavailable, Principal> =
    evals === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: CaseId | undefined) =>
          Effect.map(
            evals.listCases({ limit: casesAtOnce, ...compact({ after }) }),
            (found) => [found.cases, Option.fromNullishOr(found.next)] as const
          )
        )
  const experiments: Stream.Stream<ExperimentState, StoreUnavailable, Principal> =
    evals === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: ExperimentId | undefined) =>
          Effect.map(
            evals.listExperiments({ limit: atOnce, ...compact({ after }) }),
            (found) => [found.experiments, Option.fromNullishOr(found.next)] as const
          )
        )
  const allFeedback: Stream.Stream<Feedback, StoreUnavailable, Principal> =
    evals === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: MessageId | undefined) =>
          Effect.map(
            evals.listFeedback({ limit: atOnce, ...compact({ after }) }),
            (found) => [found.feedback, Option.fromNullishOr(found.next)] as const
          )
        )
  const onlineScores: Stream.Stream<RatedScore, StoreUnavailable, Principal> =
    evals === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: RunId | undefined) =>
          Effect.map(
            evals.listOnlineScores({ limit: atOnce, ...compact({ after }) }),
            (found) => [found.scores, Option.fromNullishOr(found.next)] as const
          )
        )
  type NumberedResult = { readonly experimentId: ExperimentId; readonly result: ExperimentResult }
  const resultsIn = ({
    experiment: { id: experimentId }
  }: ExperimentState): Stream.Stream<NumberedResult, StoreUnavailable, Principal> =>
    evals === null
      ? Stream.empty
      : Stream.paginate(undefined, (after: number | undefined) =>
          Effect.map(
            evals.listResults({ experimentId, limit: casesAtOnce, ...compact({ after }) }),
            (found) =>
              [found.results.map((result) => ({ experimentId, result })), Option.fromNullishOr(found.next)] as const
          ).pipe(
            // An experiment that was deleted meanwhile has none.
            Effect.catchTag("ExperimentNotFound", () => Effect.succeed([[], Option.none<number>()] as const))
          )
        )
  const usage = pages((skip) => Effect.map(billing.recentUsage({ skip, limit: atOnce }), ({ days }) => days))

  const documentBytes = (document: Document): Bytes =>
    documents === null
      ? Stream.empty
      : Stream.unwrap(Effect.map(documents.content(document.id), ({ bytes }) => bytes)).pipe(
          // A file that was deleted meanwhile is filled with zeros.
          Stream.catchTag(["DocumentNotFound", "BlobNotFound"], () => Stream.empty)
        )

  return (wings: Wings, at: Date): Bytes => {
    const jsonLines = <A>(all: Stream.Stream<A, StoreUnavailable, Principal>, toWire: (each: A) => object): Lines =>
      Stream.suspend(() => {
        let length = 0
        return Stream.mapEffect(all, (each) => {
          const line = `${JSON.stringify(toWire(each))}\n`
          length += line.length
          if (length < lettersAtOnce) return Effect.succeed(line)
          length = 0
          return Effect.as(Effect.yieldNow, line)
        })
      })
    const file = (name: string, lines: Lines): Bytes => {
      const encoded = Stream.map(lines, (line) => encoder.encode(line))
      return Stream.unwrap(
        Effect.map(
          Stream.runFold(
            encoded,
            () => 0,
            (sum, line) => sum + line.length
          ),
          (size) => entry({ name, size, modifiedAt: at }, encoded, newLine)
        )
      )
    }
    return Stream.concat(
      Stream.concat(
        file("assistants.jsonl", jsonLines(allAssistants, assistantToWire)),
        file(
          "assistant_versions.jsonl",
          jsonLines(Stream.flatMap(allAssistants, assistantVersions), (version) => ({
            assistant_id: version.id,
            ...versionToWire(version),
            assistant: assistantToWire(version.assistant)
          }))
        )
      ),
      file(
        "threads.jsonl",
        jsonLines(allThreads, (thread) => threadToWire({ thread, messages: [] }, wings))
      )
    ).pipe(
      Stream.concat(
        file(
          "messages.jsonl",
          jsonLines(Stream.flatMap(allThreads, threadMessages), (message) => ({
            thread_id: message.threadId,
            ...messageToWire(message, wings)
          }))
        )
      ),
      Stream.concat(
        file(
          "memories.jsonl",
          jsonLines(Stream.flatMap(allAssistants, assistantMemories), (memory) => ({
            assistant_id: memory.assistantId,
            ...memoryToWire(memory)
          }))
        )
      ),
      Stream.concat(
        schedules === null
          ? Stream.empty
          : file("schedules.jsonl", jsonLines(Stream.flatMap(allAssistants, assistantSchedules), scheduleRecord))
      ),
      Stream.concat(webhooks === null ? Stream.empty : file("webhooks.jsonl", jsonLines(allWebhooks, webhookToWire))),
      Stream.concat(evals === null ? Stream.empty : file("evals.jsonl", jsonLines(evalCases, caseToWire))),
      Stream.concat(evals === null ? Stream.empty : file("feedback.jsonl", jsonLines(allFeedback, feedbackToWire))),
      Stream.concat(
        evals === null ? Stream.empty : file("online_scores.jsonl", jsonLines(onlineScores, onlineScoreToWire))
      ),
      Stream.concat(
        evals === null ? Stream.empty : file("experiments.jsonl", jsonLines(experiments, experimentToWire))
      ),
      Stream.concat(
        evals === null
          ? Stream.empty
          : file(
              "experiment_results.jsonl",
              jsonLines(Stream.flatMap(experiments, resultsIn), ({ experimentId, result }) => ({
                experiment_id: experimentId,
                ...resultToWire(result)
              }))
            )
      ),
      Stream.concat(file("documents.jsonl", jsonLines(allDocuments, documentToWire))),
      Stream.concat(
        Stream.flatMap(allDocuments, (document) =>
          entry(
            { name: entryName(document), size: document.size, modifiedAt: document.createdAt },
            documentBytes(document),
            0
          )
        )
      ),
      Stream.concat(file("usage.jsonl", jsonLines(usage, usageToWire))),
      Stream.concat(Stream.succeed(tarEnd))
    )
  }
})

/** Characters that are written before other requests get their turn: an embedded database answers without a pause. */
const lettersAtOnce = 250_000

const encoder = new TextEncoder()
const newLine = 10

/** The name is the user's: it must not lead out of the folder into which the archive is unpacked. */
const entryName = ({ filename, id }: Document): string =>
  `documents/${id}/${filename.replaceAll(/[/\\\p{Cc}]/gu, "_").replace(/^\.+$/u, "_") || "_"}`

/** Sends exactly as many bytes as the header says: surplus bytes are left out, missing ones filled. */
const entry = (header: Parameters<typeof tarHeader>[0], bytes: Bytes, filling: number): Bytes =>
  Stream.suspend(() => {
    let left = header.size
    const cut = Stream.map(bytes, (piece) => {
      const some = piece.length <= left ? piece : piece.subarray(0, left)
      left -= some.length
      return some
    })
    const rest: Bytes = Stream.unfold(0, () =>
      Effect.sync(() => {
        const size = Math.min(left, 65_536)
        left -= size
        return size === 0 ? undefined : ([new Uint8Array(size).fill(filling), 0] as const)
      })
    )
    return Stream.succeed(tarHeader(header)).pipe(
      Stream.concat(cut),
      Stream.concat(rest),
      Stream.concat(Stream.succeed(tarPadding(header.size)))
    )
  })
