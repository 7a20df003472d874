/** What the runs share: the provider, a database for each side, how much effort is made, and sides that are warmed up once for each store. */
import { dropDatabase, emptyDatabase } from "./Databases.ts"
import { watchDatabase } from "./DatabaseCpu.ts"
import type { Effort } from "./Measure.ts"
import { Process } from "./Processes.ts"
import { type Env, type Side, startBaseline, startKernel, stop, type Store } from "./Side.ts"
import { warmUp } from "./ThreadTurns.ts"
import type { Prompts } from "./Upstream.ts"

/** The kernel, its baseline, and the leanest program. */
export interface Sides {
  readonly kernel: Side
  readonly baseline: Side
  readonly raw: Side
}

export class World {
  /** The server's own database: runs within this process make a schema there. */
  readonly database: string
  readonly isQuick: boolean
  readonly effort: Effort
  private readonly provider: Process
  private readonly watched: Awaited<ReturnType<typeof watchDatabase>>
  private readonly databases = new Map<string, Promise<string>>()
  private baselines: Promise<Pick<Sides, "baseline" | "raw">> | null = null
  private readonly kernels = new Map<Store, Promise<Side>>()

  private constructor(database: string, isQuick: boolean, provider: Process, watched: World["watched"]) {
    this.database = database
    this.isQuick = isQuick
    this.provider = provider
    this.watched = watched
    this.effort = {
      ...(isQuick ? { rounds: 3, millis: 500 } : { rounds: 7, millis: 1000 }),
      databaseCpu: watched.cpuMillis
    }
  }

  static async open(database: string, isQuick: boolean): Promise<World> {
    return new World(database, isQuick, await Process.start("Upstream", {}), await watchDatabase(database))
  }

  /** Empty when it is first asked for in a run of the benchmark. */
  private databaseFor(name: string): Promise<string> {
    const found = this.databases.get(name) ?? emptyDatabase(this.database, `bench_${name}`)
    this.databases.set(name, found)
    return found
  }

  /** The base URL of the provider for one side. It contains the side's name, by which the provider counts prompts. */
  upstream(name: string): string {
    return `http://127.0.0.1:${this.provider.port}/${name}/v1`
  }

  prompts(): Promise<Readonly<Record<string, Prompts>>> {
    return this.provider.ask("prompts")
  }

  /** A new process; those of one name share a database. */
  async startKernel(store: Store, name = "kernel", env: Env = {}): Promise<Side> {
    return startKernel(this.upstream(name), store, { DATABASE_URL: await this.databaseFor(name), ...env })
  }

  /** The same program as its host bundles it. */
  async startBundledKernel(store: Store, name: string, env: Env): Promise<Side> {
    const database = { DATABASE_URL: await this.databaseFor(name), ...env }
    return startKernel(this.upstream(name), store, database, "BundledSubject")
  }

  async startBaseline(name: "baseline" | "raw"): Promise<Side> {
    const program = name === "raw" ? "Raw" : "Baseline"
    return startBaseline(program, this.upstream(name), { DATABASE_URL: await this.databaseFor(name) })
  }

  /** Warm. The baselines are on Postgres, whatever the kernel's store is. */
  async sides(store: Store): Promise<Sides> {
    const kernel = this.kernels.get(store) ?? this.warm(this.startKernel(store))
    this.kernels.set(store, kernel)
    this.baselines ??= this.startBaselines()
    return { ...(await this.baselines), kernel: await kernel }
  }

  private async startBaselines(): Promise<Pick<Sides, "baseline" | "raw">> {
    const baseline = await this.warm(this.startBaseline("baseline"))
    return { baseline, raw: await this.warm(this.startBaseline("raw")) }
  }

  /** V8 compiles for good what was called 3,000 times, and a turn calls most of its functions once: some 20,000 turns are needed (`docs/benchmarks.md`). */
  async warm(starting: Promise<Side>): Promise<Side> {
    const side = await starting
    await warmUp(side, this.isQuick ? 16_000 : 40_000)
    return side
  }

  /** The kernel of a store that has been measured. */
  async leave(store: Store): Promise<void> {
    const kernel = this.kernels.get(store)
    this.kernels.delete(store)
    if (kernel !== undefined) await stop([await kernel])
  }

  async close(): Promise<void> {
    for (const store of this.kernels.keys()) await this.leave(store)
    if (this.baselines !== null) await stop(Object.values(await this.baselines))
    await this.watched.stop()
    await this.provider.stop()
    for (const name of this.databases.keys()) await dropDatabase(this.database, `bench_${name}`)
  }
}
