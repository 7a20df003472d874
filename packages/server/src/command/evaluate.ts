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
import { parseArgs } from "node:util"
import { clock } from "../demo/Clock.ts"
import { mcpLayer } from "../McpServers.ts"
import { defaultProblem, makeProviders } from "../Services.ts"
import { type Environment, readSettings, type Settings, SettingsRefused } from "../Settings.ts"
import { StartRefused } from "../StartRefused.ts"

const evaluateUsage = `eval <cases.jsonl> [options]

  --variant <JSON or file>   one way to answer, or a list of them; may be repeated. Fields: name,
                             provider, model, instructions, model_options, tools
  --min <share>              the share of cases that each variant must pass, from 0 to 1
                             (default: 1 for a single variant; several are compared)
  --baseline <name>          the variant with which the others are compared (default: the first)
  --repeats <n>              how often each variant answers each case (default: 1)
  --concurrency <n>          how many cases are answered at once (default: 4)
  --judge <provider/model>   the model that judges (default: that of the settings)
  --junit, --json, --markdown <file>   reports

Exit status: 0 good enough, 1 not good enough, 2 could not begin.`

interface EvaluateContext {
  readonly env: Environment
  readonly print: (text: string) => void
  /** Used in place of those of the settings. */
  readonly providers?: ProvidersOptions
}

/** The exit status. */
export const evaluateCommand = async (
  argv: ReadonlyArray<string>,
  { env, print, providers }: EvaluateContext
): Promise<0 | 1 | 2> => {
  try {
    const asked = await readArguments(argv)
    // A report that cannot be written is told before anything is paid for.
    await writeAll(asked.reports, () => "")
    const settings = await Effect.runPromise(readSettings(env))
    const gate = await run(asked, settings.mcpServers, providers ?? makeProviders(settings))
    print(toMarkdown(gate))
    await writeAll(asked.reports, (kind) => reports[kind](gate))
    return gate.passed ? 0 : 1
  } catch (error) {
    if (!isRefusal(error)) throw error
    print(error.message)
    return 2
  }
}

const isRefusal = (error: unknown): error is Error =>
  [StartRefused, SettingsRefused, CasesUnreadable].some((refusal) => error instanceof refusal)

// ------ arguments

const refuse = (problem: string) => new StartRefused({ message: `${problem}\n\n${evaluateUsage}` })

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
  const { positionals, values } = parse(argv)
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw refuse("Name one file of cases.")
  const variants = (await Promise.all((values.variant ?? []).map(readVariants))).flat()
  const twice = variants.find(({ name }, place) => variants.findIndex((each) => each.name === name) !== place)
  if (twice !== undefined) throw refuse(`Two variants have the name "${twice.name}".`)
  if (values.baseline !== undefined && variants.every(({ name }) => name !== values.baseline))
    throw refuse(`There is no variant "${values.baseline}" to be the baseline.`)
  const cases = readCases(await readText(file))
  if (cases.length === 0) throw refuse(`${file} has no case.`)
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

const parse = (argv: ReadonlyArray<string>) => {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options })
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error))
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
    throw refuse(`${file} cannot be read.`)
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
    const parsed: unknown = JSON.parse(json)
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

/** By the usual model of the first provider that embeds; undefined if none does. */
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
const kinds = ["junit", "json", "markdown"] as const
type Kind = (typeof kinds)[number]

const writeAll = async (files: { readonly [kind in Kind]: string | undefined }, report: (kind: Kind) => string) => {
  for (const kind of kinds) {
    const file = files[kind]
    if (file === undefined) continue
    await writeFile(file, report(kind)).catch(() => {
      throw new StartRefused({ message: `${file} cannot be written.` })
    })
  }
}
