#!/usr/bin/env node
/** `colloquy <command>`: the standalone server, and what its operator needs beside it. `npm run colloquy` in the repository. */
import { createRequire } from "node:module"
import { type Command, isRefusal, WronglyCalled } from "./Command.ts"
import { nodeProblem } from "./NodeVersion.ts"
import { makeProgress } from "./Progress.ts"

const { version }: { readonly version: string } = createRequire(import.meta.url)("@colloquy/server/package.json")

const commands: Readonly<Record<string, Command>> = {
  serve: {
    usage: "serve [folder]",
    does: "runs the server and the studio, on a folder or DATABASE_URL",
    load: async () => (await import("./serve.ts")).serve
  },
  new: {
    usage: "new <folder> [--host express|hono|next|plain] [--json]",
    does: "writes an application without Effect into a new folder, with a test",
    load: async () => (await import("./new.ts")).newApplication
  },
  studio: {
    usage: "studio [--url URL] [--port N] [--json]",
    does: "shows the studio here, for a server that runs elsewhere",
    load: async () => (await import("./studio.ts")).studioCommand
  },
  key: {
    usage: "key make|list|revoke <owner> [id] [--scope S] [--days N] [--json]",
    does: "manages the API keys of an owner",
    load: async () => (await import("./key.ts")).key
  },
  migrate: {
    usage: "migrate [--json]",
    does: "brings the database to the schema of this version",
    load: async () => (await import("./migrate.ts")).migrate
  },
  retention: {
    usage: "retention [--json]",
    does: "deletes once what is old enough by the settings",
    load: async () => (await import("./retention.ts")).retention
  },
  export: {
    usage: "export <file.tar> [--url URL] [--json]",
    does: "writes all data of the owner of COLLOQUY_API_KEY into a file",
    load: async () => (await import("./export.ts")).exportOwner
  },
  "copy-test": {
    usage: "copy-test <thread_id> <message_id> [--url URL]",
    does: "prints a stored turn of the owner of COLLOQUY_API_KEY as a test file",
    load: async () => (await import("./copyTest.ts")).copyTest
  },
  eval: {
    usage: "eval <cases.jsonl> [--variant <JSON or file>] [--min SHARE] [--junit FILE] [--json FILE] [--markdown FILE]",
    does: "answers the cases of a file in variants, and says whether that is good enough",
    load: async () => (await import("./evaluate.ts")).evaluateCommand
  },
  doctor: {
    usage: "doctor [--json]",
    does: "looks at Node, the settings, the database and what each provider answers",
    load: async () => (await import("./doctor.ts")).doctor
  }
}

const help = (): string => {
  const width = Math.max(...Object.keys(commands).map((name) => name.length)) + 2
  return [
    `Colloquy ${version}. Usage: colloquy <command>`,
    "",
    ...Object.entries(commands).map(([name, { does }]) => `  ${name.padEnd(width)}${does}`),
    "",
    "`colloquy <command> --help` says how a command is called. Settings are environment variables: docs/settings.md."
  ].join("\n")
}

const run = async ([name = "help", ...args]: ReadonlyArray<string>): Promise<number> => {
  if (["help", "--help", "-h"].includes(name)) {
    console.log(help())
    return 0
  }
  if (["version", "--version", "-v"].includes(name)) {
    console.log(version)
    return 0
  }
  const tooOld = nodeProblem(process.versions.node)
  if (tooOld !== null) {
    console.error(`${tooOld} See which one is found first: node --version`)
    return 1
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    console.error(`There is no command "${name.slice(0, 100)}". Commands: ${Object.keys(commands).join(", ")}.`)
    return 2
  }
  if (args.includes("--help") || args.includes("-h")) {
    console.log(`Usage: colloquy ${command.usage}\n\nIt ${command.does}.`)
    return 0
  }
  const call = await command.load()
  const progress = makeProgress(process.stderr)
  return call(args, {
    env: process.env,
    print: (text) => console.log(text),
    note: (text) => console.error(text),
    progress
  }).finally(progress.clear)
}

run(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    console.error(isRefusal(error) ? error.message : error)
    process.exitCode = error instanceof WronglyCalled ? 2 : 1
  }
)
