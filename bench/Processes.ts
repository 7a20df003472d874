/** Starts the processes of the benchmark and asks them what they have used. Each is a program of its own, so that its CPU time is its own. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import type { Stats } from "./Child.ts"

/** `BundledSubject` is `Subject` as a host bundles it, with all its packages. */
export type Program =
  | "Baseline"
  | "BundledSubject"
  | "FollowersClient"
  | "Raw"
  | "Subject"
  | "Upstream"
  | "VoiceRelay"
  | "VoiceSubject"
  | "VoiceVendor"

/** Plain JavaScript, as a user's program is: to take the types out at the start costs a process some 27 MB. */
const compile = (program: string): URL => {
  const source = readFileSync(new URL(`./${program}.ts`, import.meta.url), "utf8")
  const file = new URL(`./dist/${program}.js`, import.meta.url)
  mkdirSync(new URL("./", file), { recursive: true })
  writeFileSync(file, stripTypeScriptTypes(source).replaceAll('.ts"', '.js"'))
  return file
}

const bundle = async (program: Program): Promise<URL> => {
  const build = await rolldown({
    input: fileURLToPath(compile(program)),
    platform: "node",
    external: /^@electric-sql/u
  })
  const folder = new URL("./dist/bundled/", import.meta.url)
  await build.write({ dir: fileURLToPath(folder) })
  await build.close()
  return new URL(`./${program}.js`, folder)
}

/** Made once: its time is not the start's. */
let bundled: Promise<URL> | undefined

export class Process {
  readonly port: number
  private readonly child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.child = child
    this.port = port
  }

  /** Resolves when the program listens. `BENCH_PROFILE` names a folder for CPU profiles. */
  static async start(program: Program, env: Readonly<Record<string, string>>): Promise<Process> {
    const folder = process.env["BENCH_PROFILE"]
    const profiling = folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${folder}/${program}`]
    compile("Child")
    const file = program === "BundledSubject" ? await (bundled ??= bundle("Subject")) : compile(program)
    const child = fork(file, {
      // Not the conditions of this process: the packages are measured as they are built.
      execArgv: ["--expose-gc", ...profiling],
      env: { ...process.env, NODE_ENV: "production", ...env }
    })
    const { port } = await answer<{ readonly port: number }>(child)
    return new Process(child, port)
  }

  async stats(): Promise<Stats> {
    return this.ask("stats")
  }

  async collect(): Promise<void> {
    await this.ask("collect")
  }

  async ask<A>(question: number | string): Promise<A> {
    const answered = answer<A>(this.child)
    this.child.send(question)
    return answered
  }

  async stop(): Promise<void> {
    const gone = once(this.child, "exit")
    this.child.disconnect()
    await gone
  }
}

const answer = <A>(child: ChildProcess): Promise<A> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A process of the benchmark ended with code ${code}`))
    child.once("exit", ended)
    child.once("message", (message) => (child.off("exit", ended), resolve(message as A)))
  })
