/**
 * The command `eval`: answers the cases of a file in the given variants, with the providers and tools of the server's settings, prints the
 * result, and ends with a status that a build server understands. Nothing is kept: the conversations stand in memory.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { HostedTools, Kernel, type Principal, Providers } from "@colloquy/core"
import { EmbeddingModel, ModelOptions, type ProvidersOptions, ToolList } from "@colloquy/core/adapters"
import { Answers } from "@colloquy/core/answers"
import {
  CasesUnreadable,
  evaluate,
  type EvaluateOptions,
  type Gate,
  gateRecord,
  readCases,
  toJUnit,
  toMarkdown,
  type Variant
} from "@colloquy/core/evals"
import { Outputs } from "@colloquy/core/outputs"
import { openKernel } from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { readFile, writeFile } from "node:fs/promises"
import { clock } from "../demo/Clock.ts"
import { mcpLayer } from "../McpServers.ts"
import { defaultProblem, makeProviders } from "../Services.ts"
import { type Environment, readSettings, type Settings, SettingsRefused } from "../Settings.ts"
import { StartRefused } from "../StartRefused.ts"
import { WronglyCalled } from "../ToldErrors.ts"
import { readWords } from "./Command.ts"

interface EvaluateContext {
  readonly env: Environment
  readonly print: (text: string) => void
  readonly note: (text: string) => void
  /** Used in place of those of the settings. */
  readonly providers?: ProvidersOptions
}

/** Returns the exit status. Throws `WronglyCalled` for wrong words, which the caller of the command handles. */
export const evaluateCommand = async (
  argv: ReadonlyArray<string>,
  { env, note, print, providers }: EvaluateContext
): Promise<0 | 1 | 2> => {
  try {
    const asked = await readArguments(argv)
    // A report that cannot be written is told before anything is paid for.
    await writeAll(asked.reports, () => "", "a")
    const settings = await Effect.runPromise(readSettings(env))
    const gate = await run(asked, settings.mcpServers, providers ?? makeProviders(settings))
    const printed = kinds.filter((kind) => asked.reports[kind] === terminal)
    for (const kind of printed.length === 0 ? (["markdown"] as const) : printed) print(reports[kind](gate))
    await writeAll(asked.reports, (kind) => reports[kind](gate))
    return gate.passed ? 0 : 1
  } catch (error) {
    if (!isRefusal(error)) throw error
    note(error.message)
    return 2
  }
}

const isRefusal = (error: unknown): error is Error =>
  [StartRefused, SettingsRefused, CasesUnreadable].some((refusal) => error instanceof refusal)

// ------ arguments

const refuse = (problem: string) => new WronglyCalled(`${problem} colloquy eval --help explains the options.`)

const Text = Schema.NonEmptyString
const VariantFields = Schema.Struct({
  name: Text,
  provider: Schema.optionalKey(Text),
  model: Schema.optionalKey(Text),
  instructions: Schema.optionalKey(Schema.String),
  model_options: Schema.optionalKey(Schema.JsonObject),
  tools: Schema.optionalKey(ToolList)
})
const exact = { errors: "all", onExcessProperty: "error" } as const
const decodeVariant = Schema.decodeUnknownSync(VariantFields, exact)
const decodeOptions = Schema.decodeUnknownSync(ModelOptions, exact)
const decodeShare = Schema.decodeUnknownSync(
  Schema.NumberFromString.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
)
const decodeCount = Schema.decodeUnknownSync(
  Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 1000 }))
)

const text = { type: "string" } as const
const options = {
  variant: { type: "string", multiple: true },
  min: text,
  baseline: text,
  repeats: text,
  concurrency: text,
  judge: text,
  junit: text,
  json: text,
  markdown: text
} as const

const readArguments = async (argv: ReadonlyArray<string>) => {
  const { positionals, values } = readWords({ args: [...argv], allowPositionals: true, options })
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw refuse("Name one file of cases.")
  const variants = (await Promise.all((values.variant ?? []).map(readVariants))).flat()
  const twice = variants.find(({ name }, place) => variants.findIndex((each) => each.name === name) !== place)
  if (twice !== undefined) throw refuse(`Two variants have the name "${twice.name}".`)
  if (values.baseline !== undefined && variants.every(({ name }) => name !== values.baseline))
    throw refuse(`There is no variant "${values.baseline}" to be the baseline.`)
  const cases = readCases(await readText(file))
  if (cases.length === 0) throw new StartRefused({ message: `${file} has no case: write one as JSON on each line.` })
  const judge = values.judge === undefined ? undefined : readModel(values.judge)
  return {
    cases,
    variants,
    judge,
    min: read("--min", values.min, decodeShare) ?? (variants.length > 1 ? undefined : 1),
    baseline: values.baseline,
    repeats: read("--repeats", values.repeats, decodeCount),
    concurrency: read("--concurrency", values.concurrency, decodeCount),
    reports: { junit: values.junit, json: values.json, markdown: values.markdown }
  }
}

const read = <A>(name: string, given: string | undefined, decode: (text: string) => A): A | undefined => {
  if (given === undefined) return undefined
  try {
    if (given.trim() === "") throw new TypeError("empty")
    return decode(given)
  } catch {
    throw refuse(`${name} cannot be ${given}.`)
  }
}

const readText = (file: string): Promise<string> =>
  readFile(file, "utf8").catch(() => {
    throw new StartRefused({ message: `${file} cannot be read. Name a file that exists.` })
  })

const readModel = (given: string) => {
  const [provider = "", ...model] = given.split("/")
  if (provider === "" || model.join("/") === "") throw refuse("--judge is a provider and a model: openai/gpt-5.")
  return { provider, model: model.join("/") }
}

/** JSON on the command line, or a file with it. */
const readVariants = async (given: string): Promise<ReadonlyArray<Variant>> => {
  const json = /^\s*[[{]/u.test(given) ? given : await readText(given)
  try {
    const parsed: unknown = JSON.parse(json.replace(/^\uFEFF/u, ""))
    return (Array.isArray(parsed) ? parsed : [parsed]).map((each) => toVariant(decodeVariant(each)))
  } catch (error) {
    throw refuse(`This is no variant: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const toVariant = ({ instructions, model_options: chosen, ...rest }: typeof VariantFields.Type): Variant => ({
  ...rest,
  ...(instructions === undefined ? {} : { systemPrompt: instructions }),
  ...(chosen === undefined ? {} : { modelOptions: decodeOptions(inCamelCase(chosen)) })
})

const inCamelCase = (fields: Schema.JsonObject): Schema.JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase()),
      value
    ])
  )

// ------ work

const run = async (
  asked: Awaited<ReturnType<typeof readArguments>>,
  mcpServers: Settings["mcpServers"],
  providers: ProvidersOptions
): Promise<Gate> => {
  const problem = defaultProblem(providers)
  if (problem !== undefined) throw new SettingsRefused({ problems: [problem] })
  const { baseline, cases, min, variants, ...rest } = asked
  const layer = Layer.mergeAll(
    Answers.layer(),
    Outputs.layer(),
    HostedTools.tools([clock]),
    mcpLayer(mcpServers),
    EmbeddingModel.layer
  ).pipe(Layer.provideMerge(Kernel.layer), Layer.provide(Providers.layer(providers)), Layer.provide(InMemory.layer))
  const kernel = await openKernel(layer, { owner: "evaluation" })
  try {
    const evaluation = await evaluate(cases, {
      kernel: { ...kernel, answers: { ask: (request) => kernel.run(Answers.use(({ ask }) => ask(request))) } },
      ...rest,
      judge: rest.judge ?? providers.defaults,
      ...(variants.length === 0 ? {} : { variants }),
      embed: embedder(kernel.run, providers)
    })
    return evaluation.gate({ min, baseline })
  } finally {
    await kernel.close()
  }
}

type Run = <A, E>(effect: Effect.Effect<A, E, EmbeddingModel | Principal>) => Promise<A>

/** Embeds with the default model of the first provider that has an embedding model. Undefined: no provider has one. */
const embedder = (runEffect: Run, { providers }: ProvidersOptions): EvaluateOptions["embed"] => {
  const usual = providers.find(({ defaultEmbedding, embedding }) => embedding && defaultEmbedding)
  const target = usual?.defaultEmbedding && { provider: usual.id, ...usual.defaultEmbedding }
  return (
    target &&
    (async (texts) => (await runEffect(EmbeddingModel.use(({ embed }) => embed(target, texts, "document")))).vectors)
  )
}

const reports = {
  junit: toJUnit,
  json: (gate: Gate) => `${JSON.stringify(gateRecord(gate), null, 2)}\n`,
  markdown: toMarkdown
}
/** In the place of a file: the report is printed. */
const terminal = "-"
const kinds = ["junit", "json", "markdown"] as const
type Kind = (typeof kinds)[number]

/** With the flag `a` nothing of a file is lost that is there already. */
const writeAll = async (
  files: { readonly [kind in Kind]: string | undefined },
  report: (kind: Kind) => string,
  flag: "w" | "a" = "w"
) => {
  for (const kind of kinds) {
    const file = files[kind]
    if (file === undefined || file === terminal) continue
    await writeFile(file, report(kind), { flag }).catch(() => {
      throw new StartRefused({ message: `${file} cannot be written. Name a file in a folder that exists.` })
    })
  }
}
