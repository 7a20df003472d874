/** The runs of `npm run bench` by their names, in the order in which they are made: what is measured alone, and on which stores. */
import type { Row } from "./Report.ts"
import { files } from "./runs/Files.ts"
import { manyFollowers } from "./runs/Followers.ts"
import { longThread } from "./runs/LongThreads.ts"
import { memories } from "./runs/Memories.ts"
import { recallInTurns } from "./runs/Recall.ts"
import { search } from "./runs/Search.ts"
import { smallPool } from "./runs/SmallPool.ts"
import { embeddedStart, startUp } from "./runs/Start.ts"
import { realTimeStreams, slowStreams } from "./runs/Streams.ts"
import { coldTurns, grownMemory, plainTurns, streamedTurns, turnsOnOtherThreads } from "./runs/Turns.ts"
import { voice } from "./runs/Voice.ts"
import { wings } from "./runs/Wings.ts"
import { type Env, stop, type Store } from "./Side.ts"
import type { World } from "./World.ts"

export interface Run {
  readonly name: string
  readonly says: string
  readonly stores: ReadonlyArray<Store>
  /** On which of them it is made with `--quick`. */
  readonly quick: ReadonlyArray<Store>
  readonly measure: (world: World, store: Store) => Promise<ReadonlyArray<Row>>
}

const onPostgres: ReadonlyArray<Store> = ["postgres"]
const everywhere: ReadonlyArray<Store> = ["postgres", "pglite", "in-memory"]

const sizesFor = (world: World, quick: ReadonlyArray<number>, full: ReadonlyArray<number>) =>
  world.isQuick ? quick : full

export const runs: ReadonlyArray<Run> = [
  {
    name: "cold",
    says: "the first 1,000 turns of a process, and its memory after 10,000",
    stores: onPostgres,
    quick: onPostgres,
    measure: async (world) => {
      const start = [
        () => world.startKernel("postgres"),
        () => world.startBaseline("baseline"),
        () => world.startBaseline("raw")
      ]
      const cold = await coldTurns(start, world.isQuick ? 2 : 5, world.effort.databaseCpu)
      return world.isQuick ? cold : [...cold, ...(await grownMemory(start))]
    }
  },
  {
    name: "slow",
    says: "500 slow streams at once in a new process: memory, lateness",
    stores: onPostgres,
    quick: onPostgres,
    measure: (world, store) => {
      const start = [() => world.startKernel(store), () => world.startBaseline("baseline")]
      return world.isQuick ? slowStreams(store, start, 16, 1) : slowStreams(store, start, 32, 3)
    }
  },
  {
    name: "turns",
    says: "plain turns, 1, 16 and 64 at once, and the size of their prompts, beside the leanest program too",
    stores: everywhere,
    quick: onPostgres,
    measure: async (world, store) => {
      const sides = await world.sides(store)
      const rows: Array<Row> = []
      for (const concurrency of [1, 16, 64]) rows.push(...(await plainTurns(store, sides, concurrency, world)))
      return rows
    }
  },
  {
    name: "stream",
    says: "streamed turns of 200 deltas, and the size of their prompts",
    stores: everywhere,
    quick: onPostgres,
    measure: async (world, store) => streamedTurns(store, await world.sides(store), world)
  },
  {
    name: "others",
    says: "plain turns, each on a thread that the process has not answered before",
    stores: onPostgres,
    quick: [],
    measure: async (world, store) => {
      const { baseline, kernel } = await world.sides(store)
      const both = [
        { side: kernel, another: () => world.startKernel(store) },
        { side: baseline, another: () => world.startBaseline("baseline") }
      ]
      const effort = world.isQuick ? { rounds: 3, turns: 64, warm: 320 } : { rounds: 7, turns: 320, warm: 3200 }
      return turnsOnOtherThreads(both, effort, world.effort.databaseCpu)
    }
  },
  {
    name: "wings",
    says: "turns with all rooms installed and none used, against none installed",
    stores: onPostgres,
    quick: onPostgres,
    measure: async (world, store) => {
      const without = await world.warm(world.startKernel(store, "without"))
      const installed = await world.warm(world.startKernel(store, "wings", { BENCH_WINGS: "1" }))
      // Five in a hundred is little: what else runs on the machine moves a single round by more.
      const effort = { ...world.effort, rounds: world.isQuick ? 8 : 24, millis: 500 }
      const rows = await wings(installed, without, effort)
      await stop([without, installed])
      return rows
    }
  },
  {
    name: "threads",
    says: "a list of 1,000 and of 10,000 messages, and a turn at its end",
    stores: onPostgres,
    quick: onPostgres,
    measure: async (world, store) => {
      const { baseline, kernel } = await world.sides(store)
      const rows: Array<Row> = []
      for (const messages of sizesFor(world, [1000], [1000, 10_000])) {
        rows.push(...(await longThread(store, kernel, baseline, messages, world.effort)))
      }
      return rows
    }
  },
  {
    name: "realtime",
    says: "how many streams of 50 deltas a second are carried in time",
    stores: onPostgres,
    quick: onPostgres,
    measure: async (world, store) => {
      const { baseline, kernel } = await world.sides(store)
      return realTimeStreams(store, kernel, baseline, sizesFor(world, [150], [100, 150, 200, 250, 300, 350]), 150)
    }
  },
  {
    name: "followers",
    says: "5,000 live followers of one run: the memory of each, and the requests of others beside them",
    stores: onPostgres,
    quick: [],
    measure: (world, store) => manyFollowers(store, () => world.startKernel(store), world.isQuick ? 5 : 20)
  },
  {
    name: "pool",
    says: "64 turns at once on two connections",
    stores: onPostgres,
    quick: onPostgres,
    measure: (world, store) => smallPool((env) => world.startKernel(store, "kernel", env))
  },
  {
    name: "search",
    says: "indexing and search of chunks, against the same SQL by hand",
    stores: onPostgres,
    quick: onPostgres,
    measure: (world) => search(world.database, sizesFor(world, [1000], [1000, 20_000, 200_000]))
  },
  {
    name: "memories",
    says: "search of memories and the recall of a turn, against the bare query",
    stores: onPostgres,
    quick: onPostgres,
    measure: async (world) => {
      const rows: Array<Row> = []
      for (const count of sizesFor(world, [1000], [1000, 10_000])) rows.push(...(await memories(world.database, count)))
      return rows
    }
  },
  {
    name: "recall",
    says: "what a recall among 100 memories adds to a turn",
    stores: onPostgres,
    quick: [],
    measure: async (world, store) => {
      const kernel = await world.startKernel(store, "recall", { BENCH_WINGS: "1" })
      const rows = await recallInTurns(kernel, world.isQuick ? 16_000 : 40_000, world.effort)
      await stop([kernel])
      return rows
    }
  },
  {
    name: "files",
    says: "files from the upload to the index",
    stores: onPostgres,
    quick: onPostgres,
    measure: (world) => files(world.database, world.isQuick ? 2 : 5)
  },
  {
    name: "start",
    says: "from the start of a process to its first turn, and its memory",
    stores: ["postgres", "pglite"],
    quick: onPostgres,
    measure: async (world, store) => {
      const rounds = world.isQuick ? 2 : 5
      const published = (env: Env) => world.startKernel(store, "start", env)
      if (store === "pglite") return embeddedStart(published, rounds)
      const baseline = () => world.startBaseline("baseline")
      const rows = await startUp({ kernel: published, baseline }, rounds)
      const bundled = (env: Env) => world.startBundledKernel(store, "start", env)
      const bundledRows = await startUp({ kernel: bundled, baseline }, rounds)
      return [...rows, ...bundledRows.map((row) => ({ ...row, what: `${row.what}, bundled`, target: null }))]
    }
  },
  {
    name: "voice",
    says: "voice sessions at the pace of speech, against a relay",
    stores: ["in-memory"],
    quick: ["in-memory"],
    measure: ({ isQuick }) => (isQuick ? voice(20, 3, 3) : voice(80, 5, 8))
  }
]

export interface Wish {
  readonly only: string | undefined
  readonly stores: string | undefined
  readonly isQuick: boolean
}

const wantedNames = (text: string | undefined, known: ReadonlyArray<string>, what: string): ReadonlyArray<string> => {
  const names = text?.split(",") ?? known
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw new Error(`There is no ${what} "${unknown.join(", ")}". There are: ${known.join(", ")}.`)
  return names
}

/** What is to be done, store by store. A run that is asked for by its name is made in a quick call too. */
export const chosen = ({ isQuick, only, stores }: Wish): ReadonlyArray<readonly [store: Store, run: Run]> => {
  const names = wantedNames(
    only,
    runs.map(({ name }) => name),
    "run"
  )
  const wanted = wantedNames(stores, everywhere, "store")
  return everywhere
    .filter((store) => wanted.includes(store))
    .flatMap((store) =>
      runs
        .filter((run) => names.includes(run.name))
        .filter((run) => (isQuick && only === undefined ? run.quick : run.stores).includes(store))
        .map((run) => [store, run] as const)
    )
}
