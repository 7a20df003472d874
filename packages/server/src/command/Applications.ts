/**
 * The files of the applications that `colloquy new` writes: one file that says what answers, a server of the host that was chosen, and a test
 * that passes. They use the package `colloquy` alone, as an application without Effect would.
 */

export const hosts = ["express", "hono", "next", "plain"] as const
export type Host = (typeof hosts)[number]

const assistant = `/** What answers: a real model with OPENAI_API_KEY, otherwise a sentence that asks for the key. */
import { provider, tool } from "colloquy"
import { inMemory } from "colloquy/in-memory"
import { openai } from "colloquy/openai"

const apiKey = process.env["OPENAI_API_KEY"]

const withoutKey = provider({
  id: "without-key",
  models: ["without-key-1"],
  chat: async function* () {
    yield "Set OPENAI_API_KEY "
    yield "for an answer of a model."
  }
})

/** A tool that runs on the server when the model calls it. */
export const rollDie = tool({
  name: "roll_die",
  description: "Rolls a die.",
  parameters: { type: "object", properties: { sides: { type: "integer", minimum: 2 } }, required: ["sides"] },
  execute: ({ sides }) => 1 + Math.floor(Math.random() * Number(sides))
})

/** For a database that stays: \`postgres({ url })\` of colloquy/postgres, or \`pglite({ dataDir })\` of colloquy/pglite. */
export const options = {
  store: inMemory(),
  providers: [apiKey ? openai({ apiKey }) : withoutKey],
  model: apiKey ? "gpt-5-mini" : "without-key-1",
  tools: [rollDie]
}
`

const test = `/** A conversation as a test: the model follows a script, so the test needs no network and no key. */
import { callTool, say, TestKernel } from "colloquy/testing"
import assert from "node:assert"
import { test } from "node:test"
import { rollDie } from "./assistant.ts"

test("the assistant rolls a die when the model asks for it", async () => {
  const kernel = await TestKernel.open([callTool("roll_die", { sides: 6 }), say("There it is.")], { tools: [rollDie] })
  const reply = await kernel.send({ content: "Roll a die." })
  assert.strictEqual(reply.status, "COMPLETED")
  assert.strictEqual(reply.content, "There it is.")
  await kernel.close()
})
`

const opened = `const colloquy = await Colloquy.open(options)
// Everybody is the same user here. Read the session of your application instead, and return null for nobody.
const ai = await colloquy.handler({ basePath: "/ai", authenticate: () => "me" })
`

const listening = `  const address = server.address()
  const port = typeof address === "object" ? address?.port : 0
  console.log(\`curl -N http://127.0.0.1:\${port}/ai/threads/messages -H "content-type: application/json" -d '{"content": "Hello", "stream": true}'\`)
`

const ending = `
// Answers that are being written have time to end.
process.once("SIGTERM", () => {
  server.close()
  void colloquy.drain().then(() => colloquy.close())
})
`

const express = `/** An Express application with the API of Colloquy under /ai. */
import { Colloquy } from "colloquy"
import express from "express"
import { options } from "./assistant.ts"

${opened}
const app = express()
app.use("/ai", ai.node)

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) throw error
${listening}})
${ending}`

const hono = `/** A Hono application with the API of Colloquy under /ai. */
import { serve } from "@hono/node-server"
import { Colloquy } from "colloquy"
import { Hono } from "hono"
import { options } from "./assistant.ts"

${opened}
const app = new Hono()
app.all("/ai/*", (context) => ai.handler(context.req.raw))

const port = Number(process.env["PORT"] ?? 3000)
const server = serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, () => {
${listening.replace("const port", "const bound").replaceAll("${port}", "${bound}")}})
${ending}`

const plain = `/** A server of Node with the API of Colloquy under /ai. */
import { Colloquy } from "colloquy"
import { createServer } from "node:http"
import { options } from "./assistant.ts"

${opened}
const server = createServer(ai.node).listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
${listening}})
${ending}`

const route = `/** The API of Colloquy under /ai. Nothing is opened before the first request. */
import { Colloquy } from "colloquy"
import { options } from "../../../assistant.ts"

const colloquy = Colloquy.lazy(() => options)
// Everybody is the same user here. Read the session of your application instead, and return null for nobody.
const handler = colloquy.handler({ basePath: "/ai", authenticate: () => "me" })

export const dynamic = "force-dynamic"
export { handler as GET, handler as HEAD, handler as POST, handler as PUT, handler as DELETE, handler as OPTIONS }
`

const layout = `export default function Layout({ children }: { children: React.ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
`

const page = `"use client"
import { useState } from "react"

export default function Page() {
  const [answer, setAnswer] = useState("")
  const ask = async (form: FormData) => {
    const response = await fetch("/ai/threads/messages", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ content: form.get("content") })
    })
    const reply = await response.json()
    setAnswer(reply.content ?? reply.detail)
  }
  return (
    <form action={ask}>
      <input name="content" aria-label="Message" required />
      <button>Send</button>
      <p role="status">{answer}</p>
    </form>
  )
}
`

const nextOptions = {
  compilerOptions: {
    target: "es2023",
    lib: ["dom", "dom.iterable", "esnext"],
    allowJs: true,
    strict: true,
    noEmit: true,
    incremental: true,
    esModuleInterop: true,
    resolveJsonModule: true,
    allowImportingTsExtensions: true,
    module: "esnext",
    moduleResolution: "bundler",
    isolatedModules: true,
    skipLibCheck: true,
    jsx: "react-jsx",
    plugins: [{ name: "next" }]
  },
  include: ["next-env.d.ts", ".next/types/**/*.ts", ".next/dev/types/**/*.ts", "**/*.ts", "**/*.tsx"],
  exclude: ["node_modules"]
}

const packages: { readonly [H in Host]: Readonly<Record<string, string>> } = {
  express: { express: "^5.1.0" },
  hono: { "@hono/node-server": "^2.0.0", hono: "^4.6.0" },
  next: { next: "^16.0.0", react: "^19.0.0", "react-dom": "^19.0.0" },
  plain: {}
}

const typePackages: { readonly [H in Host]: Readonly<Record<string, string>> } = {
  express: { "@types/express": "^5.0.0", "@types/node": "^24.0.0" },
  hono: { "@types/node": "^24.0.0" },
  next: { "@types/node": "^24.0.0", "@types/react": "^19.0.0", typescript: "^5.9.0" },
  plain: { "@types/node": "^24.0.0" }
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const readme = (name: string, host: Host): string => `# ${name}

\`\`\`sh
npm install
npm test         # a conversation as a test, without a network
${host === "next" ? "npm run dev      # the page is at http://localhost:3000; for production: npm run build, npm start" : "npm start        # prints a curl line that asks it"}
\`\`\`

\`assistant.ts\` says what answers. With OPENAI_API_KEY in the environment that is a model of OpenAI.

It needs Node.js 22.19 or newer (\`node --version\`).

The packages are not on a registry yet, so \`npm install\` ends with a 404. Run \`npm run pack:all\` in the repository of Colloquy, and here, in the place of the first line, \`npm install /path/to/packed/*.tgz\`.
`

const files: { readonly [H in Host]: Readonly<Record<string, string>> } = {
  express: { "server.ts": express },
  hono: { "server.ts": hono },
  plain: { "server.ts": plain },
  next: {
    "app/ai/[...path]/route.ts": route,
    "app/layout.tsx": layout,
    "app/page.tsx": page,
    "tsconfig.json": json(nextOptions)
  }
}

/** The text of each file by its path. `version` is that of Colloquy, with which the application is known to work. */
export const applicationFiles = (name: string, host: Host, version: string): ReadonlyMap<string, string> =>
  new Map([
    [
      "package.json",
      json({
        name,
        private: true,
        type: "module",
        engines: { node: ">=22.19" },
        scripts: {
          ...(host === "next"
            ? { dev: "next dev", build: "next build", start: "next start" }
            : { start: "node server.ts" }),
          test: "node --test assistant.test.ts"
        },
        dependencies: { colloquy: `~${version}`, effect: "~4.1.0", ...packages[host] },
        devDependencies: typePackages[host]
      })
    ],
    ["README.md", readme(name, host)],
    [".gitignore", "node_modules\n.next\nnext-env.d.ts\n*.tsbuildinfo\n"],
    ["assistant.ts", assistant],
    ["assistant.test.ts", test],
    ...Object.entries(files[host])
  ])
