#!/usr/bin/env node
/** `colloquy <command>`: the standalone server, and what its operator needs beside it. `npm run colloquy` in the repository. */
import { createRequire } from "node:module"
import { exitStatus, Stopped, toldError, WronglyCalled } from "../ToldErrors.ts"
import type { Command } from "./Command.ts"
import { nodeProblem } from "./NodeVersion.ts"
import { makeProgress } from "./Progress.ts"

const { version }: { readonly version: string } = createRequire(import.meta.url)("@colloquy/server/package.json")

const commands: Readonly<Record<string, Command>> = {
  serve: {
    usage: "serve [folder] [--json]",
    does: "runs the server and the studio, on a folder or DATABASE_URL",
    more: [
      "The folder (./.colloquy if you name none) gets a database. Variables change it:",
      "",
      "  PORT, HOST       where it listens (8787, 127.0.0.1); PORT=0 takes a free port",
      "  DATABASE_URL     postgres://…, in the place of the folder",
      "  OPENAI_API_KEY   the key of a provider; there is one variable for each vendor",
      "  --json           one line of JSON when it listens: url, api, key",
      "",
      "Ctrl C lets answers under way end first. A second Ctrl C ends it at once."
    ],
    load: async () => (await import("./serve.ts")).serve
  },
  new: {
    usage: "new <folder> [--host express|hono|next|plain] [--json]",
    does: "writes an application without Effect into a new folder, with a test",
    more: ["--host is the framework of its server; plain, the default, is Node's own."],
    load: async () => (await import("./new.ts")).newApplication
  },
  studio: {
    usage: "studio [--url URL] [--port N] [--json]",
    does: "shows the studio here, for a server that runs elsewhere",
    more: [
      "  --url    the API of that server (http://localhost:8787/api)",
      "  --port   where the page is shown (8788); 0 takes a free port",
      "",
      "COLLOQUY_API_KEY, if it is set, is passed to the page. Ctrl C ends it."
    ],
    load: async () => (await import("./studio.ts")).studioCommand
  },
  key: {
    usage: "key make|list|revoke <user> [id] [options]",
    does: "makes, lists and revokes the API keys of a user",
    more: [
      "  key make <user>          prints a new key, which is shown this once",
      "    --scope read|write|admin    what the key allows (admin)",
      "    --days <number>             how long it is valid (for ever)",
      "  key list <user>          ids, times and scopes, never the keys themselves",
      "  key revoke <user> <id>   from then on the key is refused",
      "  --json                   for a program"
    ],
    load: async () => (await import("./key.ts")).key
  },
  migrate: {
    usage: "migrate [--json]",
    does: "brings the database to the schema of this version",
    more: ["The database is that of DATABASE_URL, or of the folder COLLOQUY_DATA_DIR."],
    load: async () => (await import("./migrate.ts")).migrate
  },
  retention: {
    usage: "retention [--json]",
    does: "deletes once what is old enough by the settings",
    more: ["The variables that begin with RETENTION_ say what is old enough."],
    load: async () => (await import("./retention.ts")).retention
  },
  export: {
    usage: "export <file.tar> [--url URL] [--json]",
    does: "writes all data of the user of COLLOQUY_API_KEY into a file",
    more: ["--url is the API of a running server (http://localhost:8787/api)."],
    load: async () => (await import("./export.ts")).exportOwner
  },
  "copy-test": {
    usage: "copy-test <thread_id> <message_id> [--url URL] [--json]",
    does: "prints a stored answer as a test file; needs COLLOQUY_API_KEY",
    more: ["--url is the API of a running server (http://localhost:8787/api)."],
    load: async () => (await import("./copyTest.ts")).copyTest
  },
  eval: {
    usage: "eval <cases.jsonl> [options]",
    does: "answers questions of a file, and says whether that is good enough",
    more: [
      "  --variant <JSON or file>  one way to answer, or a list; may be repeated.",
      "                            Fields: name, provider, model, instructions,",
      "                            model_options, tools",
      "  --min <share>             the share of cases each variant must pass, 0 to 1",
      "                            (1 for a single variant; several are compared)",
      "  --baseline <name>         the variant to compare with (the first)",
      "  --repeats <n>             how often each variant answers each case (1)",
      "  --concurrency <n>         how many cases are answered at once (4)",
      "  --judge <provider/model>  the model that judges (the default model)",
      "  --junit, --json, --markdown <file>   reports; - is the terminal",
      "",
      "Exit status: 0 good enough, 1 not good enough, 2 could not begin."
    ],
    load: async () => (await import("./evaluate.ts")).evaluateCommand
  },
  doctor: {
    usage: "doctor [--json]",
    does: "checks Node, settings, database and providers, and changes nothing",
    more: ["Exit status: 0 when nothing is wrong, 1 otherwise."],
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
    "`colloquy <command> --help` says how a command is called. Settings are",
    "environment variables: a running server lists them at /docs/guide/settings."
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
    const { does, more = [], usage } = command
    console.log([`Usage: colloquy ${usage}`, "", `It ${does}.`, ...(more.length > 0 ? ["", ...more] : [])].join("\n"))
    return 0
  }
  const call = await command.load()
  const progress = makeProgress(process.stderr)
  return call(args, {
    env: process.env,
    print: (text) => console.log(text),
    note: (text) => console.error(text),
    progress,
    whenStopped: () => {
      const stopped = new AbortController()
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => stopped.abort(new Stopped("Stopped.")))
      return stopped.signal
    }
  })
    .catch((error: unknown) => {
      throw error instanceof WronglyCalled
        ? new WronglyCalled(`${error.message}\nUsage: colloquy ${command.usage}`)
        : error
    })
    .finally(progress.clear)
}

const words = process.argv.slice(2)

run(words).then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    const told = toldError(error, process.env["LOG_LEVEL"]?.toLowerCase() === "debug")
    console.error(told)
    // A program that reads the result gets one in any case.
    if (words.includes("--json")) console.log(JSON.stringify({ ok: false, error: told }))
    process.exitCode = exitStatus(error)
  }
)
