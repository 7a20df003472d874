/**
 * Simulates the death of a process at a chosen moment, for tests of what survives it. The stores, models and tools of a kernel are wrapped. At its
 * n-th write the "process" dies: the write is committed, and from then on no call does anything or ever returns. A second kernel on the same
 * stores then shows what was stored. A loop over `at` kills the process at every write of a conversation.
 *
 *     const doom = yield* Crash.make({ at: 3 })
 *     const first = Kernel.layer.pipe(Layer.provide([doom.stores(stores), Providers.layer({ providers: [doom.provider(mine)], defaults })]))
 *     // …talk to it, until:
 *     yield* doom.died
 */
import { type HostedTool, type Provider } from "@colloquy/core"
import {
  AssistantStore,
  FollowUpStore,
  InboxStore,
  KeyStore,
  OwnerStore,
  QuotaStore,
  RunStore,
  type SpeechToText,
  ThreadStore,
  UsageLedger,
  type VideoModel
} from "@colloquy/core/adapters"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

type Stores =
  | AssistantStore
  | FollowUpStore
  | InboxStore
  | KeyStore
  | OwnerStore
  | QuotaStore
  | RunStore
  | ThreadStore
  | UsageLedger

/** Where a process dies. */
export interface CrashPoint {
  /** The number of the write at which the process dies, from 1. Without it, the process does not die, and its writes are counted. */
  readonly at?: number
  /** Whether the process still gets the result of its last write. */
  readonly hears?: boolean
}

/** Stores and a provider that die at one point, and what happened until then. */
export interface Doom {
  /** Wraps the stores of the process that will die. */
  readonly stores: (stores: Layer.Layer<Stores>) => Layer.Layer<Stores>
  readonly provider: (provider: Provider) => Provider
  /** For the store of a wing: a write at which the process may die. */
  readonly write: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly tool: (tool: HostedTool) => HostedTool
  /** Kills the process now, for example when a reader has received a certain event. */
  readonly kill: () => void
  readonly isDead: () => boolean
  /** Completes at the moment of death. */
  readonly died: Effect.Effect<void>
  /** The number of committed writes. Prolonging a lease does not count. */
  readonly writes: () => number
  /** Fails all calls of the dead process that are still waiting, so that their scopes can be closed. */
  readonly bury: Effect.Effect<void>
}

/** Makes the end of a process. */
export const make = (point: CrashPoint = {}): Effect.Effect<Doom> =>
  Effect.sync(() => {
    const died = Deferred.makeUnsafe<void>()
    const buried = Deferred.makeUnsafe<never>()
    const grave = Deferred.await(buried)
    let writes = 0
    let dead = false

    const kill = (): void => {
      dead = true
      Deferred.doneUnsafe(died, Effect.void)
    }
    const alive = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => (dead ? grave : effect))
    /** A call that is under way when the process dies does not return either. */
    const read = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      alive(Effect.flatMap(effect, (answer) => alive(Effect.succeed(answer))))
    const write: WrapWrite = (effect, hasWritten = () => true) =>
      alive(
        Effect.flatMap(effect, (answer) => {
          if (dead || !hasWritten(answer) || ++writes !== point.at) return alive(Effect.succeed(answer))
          kill()
          return point.hears === true ? Effect.succeed(answer) : grave
        })
      )
    const mute = <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
      Stream.mapArrayEffect(stream, (items) => read(Effect.succeed(items)))
    const ask = <A, E, R>(run: () => Effect.Effect<A, E, R>) => read(Effect.suspend(run))
    const stream = <A, E, R>(run: () => Stream.Stream<A, E, R>) => mute(Stream.unwrap(alive(Effect.sync(run))))
    const mortalVideo = (video: VideoModel): VideoModel => ({
      ...video,
      submit: (order) => ask(() => video.submit(order)),
      status: (...args) => ask(() => video.status(...args)),
      content: (...args) => stream(() => video.content(...args)),
      ...(video.listModels && { listModels: read(video.listModels) })
    })
    const mortalHearing = (hearing: SpeechToText): SpeechToText => {
      const { listen, stream: pieces } = hearing
      return {
        ...hearing,
        transcribe: (request) => ask(() => hearing.transcribe(request)),
        ...(pieces && { stream: (request) => stream(() => pieces(request)) }),
        ...(listen && { listen: (request, sound) => stream(() => listen(request, sound)) })
      }
    }

    return {
      stores: (stores) =>
        Layer.provide(
          mortalStores(read, write, () => dead),
          stores
        ),
      provider: (provider) => {
        const { answers, chat, embedding, image, listModels, listUpstreams, nextToken } = provider
        const { speechToText, textToSpeech, video } = provider
        return {
          ...provider,
          ...(chat && { chat: (request) => stream(() => chat(request)) }),
          ...(answers && { answers: (request) => ask(() => answers(request)) }),
          ...(nextToken && { nextToken: (request) => ask(() => nextToken(request)) }),
          ...(embedding && { embedding: { ...embedding, embed: (request) => ask(() => embedding.embed(request)) } }),
          ...(image && { image: { ...image, generate: (request) => ask(() => image.generate(request)) } }),
          ...(video && { video: mortalVideo(video) }),
          ...(speechToText && { speechToText: mortalHearing(speechToText) }),
          ...(textToSpeech && {
            textToSpeech: { ...textToSpeech, speak: (request) => stream(() => textToSpeech.speak(request)) }
          }),
          ...(listModels && { listModels: read(listModels) }),
          ...(listUpstreams && { listUpstreams: read(listUpstreams) })
        }
      },
      write: (effect) => write(effect),
      tool: (tool) => ({ ...tool, run: (args, call) => read(Effect.suspend(() => tool.run(args, call))) }),
      kill,
      isDead: () => dead,
      died: Deferred.await(died),
      writes: () => writes,
      bury: Effect.asVoid(Deferred.die(buried, new Error("The process is dead.")))
    }
  })

type Wrap = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** `hasWritten` is for an operation that may find nothing to write. */
type WrapWrite = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  hasWritten?: (answer: A) => boolean
) => Effect.Effect<A, E, R>

/** Wraps every operation of every port, so that the process can die in it. */
const mortalStores = (read: Wrap, write: WrapWrite, isDead: () => boolean): Layer.Layer<Stores, never, Stores> =>
  Layer.mergeAll(
    Layer.effect(
      AssistantStore,
      AssistantStore.useSync((store) => ({
        insert: (...args) => write(store.insert(...args)),
        insertDraft: (...args) => write(store.insertDraft(...args)),
        publish: (...args) => write(store.publish(...args)),
        discard: (...args) => write(store.discard(...args)),
        get: (...args) => read(store.get(...args)),
        ofThread: (...args) => read(store.ofThread(...args)),
        list: (...args) => read(store.list(...args)),
        update: (...args) => write(store.update(...args)),
        versions: (...args) => read(store.versions(...args)),
        version: (...args) => read(store.version(...args)),
        remove: (...args) => write(store.remove(...args))
      }))
    ),
    Layer.effect(
      ThreadStore,
      ThreadStore.useSync((store) => ({
        insert: (...args) => write(store.insert(...args)),
        get: (...args) => read(store.get(...args)),
        list: (...args) => read(store.list(...args)),
        messages: (...args) => read(store.messages(...args)),
        listed: (...args) => read(store.listed(...args)),
        messagesBefore: (...args) => read(store.messagesBefore(...args)),
        mergeMetadata: (...args) => write(store.mergeMetadata(...args)),
        handOver: (...args) => write(store.handOver(...args)),
        pin: (...args) => write(store.pin(...args)),
        setSummary: (...args) => write(store.setSummary(...args)),
        remove: (...args) => write(store.remove(...args))
      }))
    ),
    Layer.effect(
      RunStore,
      RunStore.useSync((store) => ({
        findAnswered: (...args) => read(store.findAnswered(...args)),
        locate: (...args) => read(store.locate(...args)),
        importThread: (...args) => write(store.importThread(...args)),
        forkThread: (...args) => write(store.forkThread(...args)),
        rewindThread: (...args) => write(store.rewindThread(...args)),
        begin: (...args) => write(store.begin(...args)),
        findRepeated: (...args) => read(store.findRepeated(...args)),
        activate: (...args) => write(store.activate(...args)),
        withdraw: (...args) => write(store.withdraw(...args)),
        answer: (...args) => write(store.answer(...args)),
        continue: (...args) => write(store.continue(...args)),
        append: (...args) => write(store.append(...args)),
        settle: (...args) => write(store.settle(...args)),
        reserve: (...args) => write(store.reserve(...args)),
        renew: (...args) => read(store.renew(...args)),
        expired: (...args) => read(store.expired(...args)),
        takeOver: (...args) => write(store.takeOver(...args)),
        requestCancel: (...args) => write(store.requestCancel(...args)),
        get: (...args) => read(store.get(...args)),
        list: (...args) => read(store.list(...args)),
        waiting: (...args) => read(store.waiting(...args)),
        waitingOn: (...args) => read(store.waitingOn(...args)),
        messages: (...args) => read(store.messages(...args)),
        read: (...args) => read(store.read(...args)),
        onChange: (listener) =>
          store.onChange((signal) => {
            if (!isDead()) listener(signal)
          })
      }))
    ),
    Layer.effect(
      FollowUpStore,
      FollowUpStore.useSync((store) => ({
        add: (...args) => write(store.add(...args)),
        claim: (...args) => write(store.claim(...args), (claims) => claims.length > 0),
        renew: (...args) => read(store.renew(...args)),
        complete: (...args) => write(store.complete(...args)),
        fail: (...args) => write(store.fail(...args)),
        find: (...args) => read(store.find(...args)),
        list: (...args) => read(store.list(...args)),
        cancel: (...args) => write(store.cancel(...args)),
        dead: (...args) => read(store.dead(...args)),
        revive: (...args) => write(store.revive(...args)),
        prune: (...args) => write(store.prune(...args))
      }))
    ),
    Layer.effect(
      InboxStore,
      InboxStore.useSync((store) => ({
        list: (...args) => read(store.list(...args)),
        summary: (...args) => read(store.summary(...args)),
        follow: (...args) => write(store.follow(...args)),
        changes: (...args) => read(store.changes(...args))
      }))
    ),
    Layer.effect(
      KeyStore,
      KeyStore.useSync((store) => ({
        insert: (...args) => write(store.insert(...args)),
        findByHashPrefix: (...args) => read(store.findByHashPrefix(...args)),
        list: read(store.list),
        revoke: (...args) => write(store.revoke(...args))
      }))
    ),
    Layer.effect(
      OwnerStore,
      OwnerStore.useSync((store) => ({
        beginErasure: (...args) => write(store.beginErasure(...args)),
        erasure: (...args) => read(store.erasure(...args)),
        endErasure: (...args) => write(store.endErasure(...args)),
        unattended: (...args) => read(store.unattended(...args)),
        activeRuns: (...args) => read(store.activeRuns(...args)),
        eraseSome: (...args) => write(store.eraseSome(...args)),
        left: (...args) => read(store.left(...args))
      }))
    ),
    Layer.effect(
      QuotaStore,
      QuotaStore.useSync((store) => ({
        takeRequests: (...args) => write(store.takeRequests(...args)),
        memories: read(store.memories),
        hold: (...args) => write(store.hold(...args)),
        release: (...args) => write(store.release(...args)),
        used: (...args) => read(store.used(...args))
      }))
    ),
    Layer.effect(
      UsageLedger,
      UsageLedger.useSync((store) => ({
        begin: (...args) => write(store.begin(...args)),
        add: (...args) => write(store.add(...args)),
        endBegun: (...args) => write(store.endBegun(...args), (ended) => ended > 0),
        recent: (...args) => read(store.recent(...args))
      }))
    )
  )
