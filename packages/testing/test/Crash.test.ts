/** A provider of a process that dies: after the death no member of it is called, and none returns. */
import type { Provider } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { Crash } from "../src/index.ts"

/** Stands for requests and answers of every form, which nobody here reads. */
const nothing = undefined as never

/** Calls of every member of a provider. Each tells its name, and answers when it may. */
const everyCall = (provider: Provider): Readonly<Record<string, Effect.Effect<unknown, unknown>>> => {
  const { answers, chat, embedding, image, listModels, listUpstreams, nextToken } = provider
  const { speechToText, textToSpeech, video } = provider
  const drain = <A, E>(stream: Stream.Stream<A, E> | undefined) => Stream.runDrain(stream ?? Stream.die("none"))
  const none = Effect.die("none")
  return {
    answers: answers?.(nothing) ?? none,
    chat: drain(chat?.(nothing)),
    embed: embedding?.embed(nothing) ?? none,
    generate: image?.generate(nothing) ?? none,
    listModels: listModels ?? none,
    listUpstreams: listUpstreams ?? none,
    nextToken: nextToken?.(nothing) ?? none,
    transcribe: speechToText?.transcribe(nothing) ?? none,
    stream: drain(speechToText?.stream?.(nothing)),
    listen: drain(speechToText?.listen?.(nothing, Stream.empty)),
    speak: drain(textToSpeech?.speak(nothing)),
    submit: video?.submit(nothing) ?? none,
    status: video?.status("job", nothing) ?? none,
    content: drain(video?.content("job", nothing)),
    listVideoModels: video?.listModels ?? none
  }
}

const providerThat = (run: (name: string) => Effect.Effect<never>): Provider => {
  const flow = (name: string) => () => Stream.fromEffect(run(name))
  const call = (name: string) => () => run(name)
  return {
    id: "mortal",
    answers: call("answers"),
    chat: flow("chat"),
    nextToken: call("nextToken"),
    embedding: { embed: call("embed"), maxTexts: 1, maxCharacters: 1 },
    image: { generate: call("generate") },
    listModels: run("listModels"),
    listUpstreams: run("listUpstreams"),
    speechToText: {
      defaultModel: "m",
      maxBytes: 1,
      transcribe: call("transcribe"),
      stream: flow("stream"),
      listen: flow("listen")
    },
    textToSpeech: {
      defaultModel: "m",
      formats: ["pcm"],
      sampleRate: 24_000,
      maxCharacters: 1,
      speak: flow("speak")
    },
    video: {
      submit: call("submit"),
      status: call("status"),
      content: flow("content"),
      listModels: run("listVideoModels")
    }
  }
}

describe("a process that dies", () => {
  it.effect("hears no answer of a provider that came with its death, whatever it asked for", () =>
    Effect.gen(function* () {
      for (const name of Object.keys(everyCall({ id: "none" }))) {
        const doom = yield* Crash.make()
        const calls: Array<string> = []
        const answers = (each: string) => Effect.sync(() => (calls.push(each), doom.kill(), nothing))
        const fiber = yield* Effect.forkChild(everyCall(doom.provider(providerThat(answers)))[name] ?? Effect.void)
        yield* doom.died
        yield* doom.bury
        const exit = yield* Fiber.await(fiber)
        assert.match(Exit.isFailure(exit) ? String(exit.cause) : "It returned.", /The process is dead/u, name)
        assert.deepStrictEqual(calls, [name])
      }
    })
  )

  it.effect("asks a provider for nothing more, and lives with all its answers until then", () =>
    Effect.gen(function* () {
      const doom = yield* Crash.make()
      const calls: Array<string> = []
      const called = everyCall(doom.provider(providerThat((name) => Effect.sync(() => (calls.push(name), nothing)))))
      yield* Effect.forEach(Object.values(called), (call) => call)
      assert.deepStrictEqual(calls, Object.keys(called))
      doom.kill()
      const fibers = yield* Effect.forEach(Object.values(called), (call) => Effect.forkChild(call))
      yield* doom.bury
      for (const fiber of fibers) assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(calls, Object.keys(called))
    })
  )
})
