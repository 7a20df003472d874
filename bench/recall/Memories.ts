/**
 * Memories: a user tells things over many threads, a script extracts one fact of each message (it stands in for a model, which this does not
 * measure), other facts of the same life stand around them, and questions in other words ask for them. Measured through whole turns: what is
 * recalled among the first five and ten, as searched and as Memory Pro gives it with a reranker that makes no mistake, which is the most
 * that reranking can win.
 */
import { type AssistantId, Assistants, Kernel, Principal, type Provider, Providers, Turns } from "@colloquy/core"
import type { ChatEvent, ChatRequest, Stores } from "@colloquy/core/adapters"
import { Memory, Memories, type MemoryStore, readKept, Reranker } from "@colloquy/core/memory"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

interface Told {
  readonly said: string
  readonly fact: string
  readonly question: string
}

const told = (said: string, fact: string, question: string): Told => ({ said, fact, question })

const life: ReadonlyArray<Told> = [
  told(
    "We finally moved, the flat in Bergen is ours.",
    "The user moved to a flat in Bergen.",
    "Which city do I live in, after we moved?"
  ),
  told(
    "Nuts are out for me, walnuts nearly killed me once.",
    "The user is allergic to walnuts.",
    "Can I eat this cake, given my allergy?"
  ),
  told(
    "My daughter Ida turns seven in March.",
    "The user's daughter Ida turns seven in March.",
    "When is my daughter's birthday?"
  ),
  told(
    "I started cello lessons on Tuesdays.",
    "The user takes cello lessons on Tuesdays.",
    "What instrument am I learning?"
  ),
  told(
    "The doctor put me on metformin, twice a day.",
    "The user takes metformin twice a day.",
    "Which medicine did the doctor give me?"
  ),
  told("Call me Jo, nobody says Johanna.", "The user is called Jo rather than Johanna.", "How should you call me?"),
  told(
    "I run the bakery on Market Street with my brother.",
    "The user runs a bakery on Market Street with a brother.",
    "Where is our bakery?"
  ),
  told("Our cat Miso had kittens.", "The user's cat Miso had kittens.", "What is the name of the cat?"),
  told(
    "I hate flying, we always take the train.",
    "The user hates flying and takes the train.",
    "How do I like to travel?"
  ),
  told(
    "Please keep answers short, I read them on my phone.",
    "The user prefers short answers, read on a phone.",
    "What kind of answers do I prefer?"
  ),
  told("I passed my glider licence.", "The user passed the glider licence.", "Do I have a licence to fly?"),
  told("My sister lives in Trieste now.", "The user's sister lives in Trieste.", "Where does my sister live?"),
  told("The car is an old Volvo, red.", "The user drives an old red Volvo.", "What car do I drive?"),
  told(
    "I gave up coffee last year, only green tea.",
    "The user gave up coffee and drinks green tea.",
    "What do I drink in the morning, coffee or tea?"
  ),
  told(
    "Rent is due on the third, 1,240 crowns.",
    "The user's rent of 1,240 crowns is due on the third.",
    "When do I have to pay the rent?"
  ),
  told(
    "We are getting married on the second of June.",
    "The user gets married on the second of June.",
    "When is my wedding, when do I get married?"
  ),
  told(
    "I am writing a novel about lighthouse keepers.",
    "The user writes a novel about lighthouse keepers.",
    "What is my novel about?"
  ),
  told(
    "My knee was operated on, no running until May.",
    "The user had a knee operation and may not run until May.",
    "May I go running with my knee?"
  ),
  told(
    "Dad's name is Harald, he was a sailor.",
    "The user's father Harald was a sailor.",
    "What was my father's profession?"
  ),
  told(
    "I speak Portuguese with my wife.",
    "The user speaks Portuguese with his wife.",
    "Which language do we speak at home, my wife and I?"
  ),
  told(
    "The wifi at the cabin does not work, so no calls at weekends.",
    "The user has no calls at weekends, because the cabin has no wifi.",
    "Can you call me at the weekend?"
  ),
  told("My manager is called Priya.", "The user's manager is called Priya.", "Who is my manager?"),
  told("I collect stamps with birds.", "The user collects stamps with birds.", "What do I collect?"),
  told(
    "We keep bees behind the shed.",
    "The user keeps bees behind the shed.",
    "Which animals do we keep behind the shed?"
  ),
  told("My shoe size is 43.", "The user's shoe size is 43.", "Which size of shoes do I need?"),
  told(
    "I vote in Norway but pay tax in Sweden.",
    "The user votes in Norway and pays tax in Sweden.",
    "Where do I pay my taxes?"
  ),
  told(
    "The project deadline moved to the ninth of April.",
    "The project's deadline moved to the ninth of April.",
    "What is the deadline of the project?"
  ),
  told("I sold the boat.", "The user sold the boat.", "Do I still have the boat?"),
  told(
    "My password manager is on the laptop only.",
    "The user has a password manager on the laptop only.",
    "On which device do I keep my passwords?"
  ),
  told(
    "Mum prefers letters to mails.",
    "The user's mother prefers letters to mails.",
    "How should I write to my mother?"
  )
]

const people = ["Anna", "Ben", "Clara", "David", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jan", "Karim", "Lena"]
const habits = [
  "likes jazz on Mondays",
  "drinks coffee with milk",
  "lives near the harbour",
  "has a dog called Pepper",
  "drives a blue car",
  "plays the piano",
  "works for a bank",
  "collects old coins",
  "speaks German at home",
  "moved to another city",
  "is married since May",
  "takes the train to work",
  "writes letters",
  "keeps two cats",
  "runs every morning",
  "flies to Rome in June",
  "pays the rent on the first",
  "has a birthday in March",
  "is allergic to pollen",
  "reads novels at the weekend"
]

/** Facts about others, in the words of the questions. */
const surroundings = people.flatMap((name) => habits.map((habit) => `The user's colleague ${name} ${habit}.`))

const firstUserText = ({ messages }: ChatRequest): string => {
  const [first] = messages
  return first?.role === "user" ? first.content.map((part) => (part.type === "text" ? part.text : "")).join("") : ""
}

/** Writes the fact of the message that it is shown. */
const extractor: Provider = {
  id: "script",
  chat: (request) => {
    const found = life.find(({ said }) => firstUserText(request).includes(JSON.stringify(said)))
    const operations = found === undefined ? [] : [{ op: "ADD", text: found.fact, message: 1, quote: found.said }]
    return Stream.fromIterable<ChatEvent>([
      { _tag: "TextDelta", text: request.jsonOutput ? JSON.stringify({ operations }) : "Ok." },
      { _tag: "Finished", reason: "stop", model: null, providerData: null }
    ])
  }
}

/** Knows which fact answers which question. */
const flawless = Layer.succeed(Reranker, {
  model: null,
  rerank: ({ query, texts }) => {
    const answer = life.find(({ question }) => query.includes(question))?.fact
    const index = texts.indexOf(answer ?? "")
    return Effect.succeed({ order: index === -1 ? [] : [{ index, score: 1 }], charge: null })
  }
})

const settings = { recalled: 10, recalledTokens: 100_000, cut: 0 }

const learned = (
  id: Parameters<typeof Memories.Service.operation>[0]
): Effect.Effect<void, unknown, Memories | Principal> =>
  Effect.flatMap(Memories, (memories) => memories.operation(id)).pipe(
    Effect.flatMap((found) =>
      Option.isSome(found) && found.value.status === "COMPLETED" ? Effect.void : Effect.delay(learned(id), "5 millis")
    )
  )

const tell = Effect.fnUntraced(function* () {
  const turns = yield* Turns
  const { id: assistantId } = yield* (yield* Assistants).create({ name: "Recall" })
  const lines = surroundings.map((content) => JSON.stringify({ content }))
  yield* (yield* Memories).import(assistantId, lines.join("\n"))
  for (const { said } of life) {
    const { runId } = yield* turns.send({ content: said, assistantId, options: { memory: { mode: "Auto" } } })
    yield* learned(runId)
  }
  return assistantId
})

/** The place of the fact among what the turn recalls; 0: it is not there. */
const factPlace = Effect.fnUntraced(function* ({ fact, question }: Told, assistantId: AssistantId, pro: boolean) {
  const memory = { mode: "Readonly", pro }
  const reply = yield* (yield* Turns).send({ content: question, assistantId, options: { memory } })
  const retrieved = readKept(reply.supplements["memory"])?.retrieved ?? []
  return 1 + retrieved.findIndex((each) => each.memory === fact)
})

export interface MemoryRecall {
  readonly name: string
  /** In percent of the questions. */
  readonly at5: number
  readonly at10: number
}

export const memoryQuestions = life.length
export const memoriesAround = surroundings.length

export const measureMemories = (
  stores: Layer.Layer<Stores | MemoryStore, unknown>
): Effect.Effect<ReadonlyArray<MemoryRecall>, unknown> =>
  Effect.gen(function* () {
    const assistantId = yield* tell()
    return yield* Effect.forEach([false, true], (pro) =>
      Effect.map(
        Effect.forEach(life, (each) => factPlace(each, assistantId, pro)),
        (places) => {
          const share = (most: number) =>
            (100 * places.filter((place) => place > 0 && place <= most).length) / life.length
          return { name: pro ? "Memory Pro, reranker without mistakes" : "as searched", at5: share(5), at10: share(10) }
        }
      )
    )
  }).pipe(
    Principal.provide("recall"),
    Effect.provide(
      Memory.layer(settings).pipe(
        Layer.provideMerge(Kernel.layer),
        Layer.provide([
          Providers.layer({ providers: [extractor], defaults: { provider: "script", model: "script" } }),
          flawless
        ]),
        Layer.provide(stores)
      )
    )
  )
