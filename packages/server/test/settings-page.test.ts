/** `docs/settings.md` is made from the table of variables: `npm run test:quick -- -u` writes it after a change. */
import { assert, expect, it } from "@effect/vitest"
import { join } from "node:path"
import { priceVariables, realtimeVariables, type Variable, variables, vendorVariables } from "../src/Variables.ts"
import { vendors } from "../src/Vendors.ts"

type Any = Pick<Variable<unknown>, "name" | "fallback" | "unit" | "usual" | "about">

const defaultText = ({ fallback, unit, usual }: Any): string => {
  if (usual !== null) return usual
  if (fallback === null || fallback === "") return "–"
  return `\`${JSON.stringify(fallback).replaceAll('"', "")}\`${unit === null ? "" : ` ${unit}`}`
}

const table = (all: ReadonlyArray<Any>): string =>
  [
    "| variable | default | what it is |",
    "|---|---|---|",
    ...all.map((each) => `| \`${each.name}\` | ${defaultText(each)} | ${each.about} |`)
  ].join("\n")

const ofVendors = [...vendors].map(([name, { about }]) => vendorVariables(name, about))
const ofVoices = (["OPENAI", "GEMINI", "XAI"] as const).flatMap((vendor) => [
  ...Object.values(realtimeVariables(vendor)),
  priceVariables[vendor]
])

const page = `# Set the environment variables of the server

The variables of the [standalone server](standalone-server.md), made from its source. None is required. An empty variable counts as not set, except \`BASE_PATH\`. If variables are wrong, the server does not start and lists all of them, without their values. The options of the library are in [the reference](reference.md).

The table uses words of the glossary: [thread](../GLOSSARY.md#thread), [turn](../GLOSSARY.md#turn), [run](../GLOSSARY.md#run), [owner](../GLOSSARY.md#owner), [follow-up](../GLOSSARY.md#follow-up), [catalogue](../GLOSSARY.md#catalogue), [dialect](../GLOSSARY.md#dialect), [judge](../GLOSSARY.md#judge), [typed answer](../GLOSSARY.md#typed-answer).

${table(Object.values(variables))}

## Vendors

A vendor is registered when its key or its address is set. A key does not change the default model; \`DEFAULT_MODEL_NAME\` does.

| variables | what it is |
|---|---|
${ofVendors.map(({ apiKey, baseUrl }) => `| \`${apiKey.name}\`, \`${baseUrl.name}\` | ${apiKey.about} |`).join("\n")}

Without any vendor for speech, text to speech uses espeak-ng if it is installed; the server says at the start what is missing.

## Voice sessions

They are offered as \`provider_a\` (OpenAI), \`provider_b\` (Gemini) and \`provider_c\` (xAI) where the vendor's key or address is set.

${table(ofVoices)}
`

it("the page of settings is the table of variables, in which each has one name", async () => {
  const names = [...Object.values(variables), ...ofVendors.flatMap(Object.values<Any>), ...ofVoices].map(
    ({ name }) => name
  )
  assert.strictEqual(new Set(names).size, names.length)
  await expect(page).toMatchFileSnapshot(join(import.meta.dirname, "../../../docs/settings.md"))
})

it("names each provider by the id under which messages find it", () => {
  for (const [name, { about, provider }] of vendors) {
    if (provider !== undefined) assert.include(about, `provider \`${provider({}).id}\``, name)
  }
})

it("names the providers that bring an embedding model", () => {
  const ids = [...vendors.values()].flatMap(({ provider }) => {
    const made = provider?.({})
    return made?.defaultEmbedding === undefined ? [] : [`\`${made.id}\``]
  })
  assert.strictEqual(variables.embeddingProvider.usual, `the first of ${ids.join(" and ")} that is set`)
  assert.strictEqual(variables.embeddingModel.usual, `the usual one of ${ids.join(" or ")}`)
})
