/** The decisions of a release, without effects: versions, notes, and the reports against the last release. Used by `scripts/release.ts`. */

export interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

export const readVersion = (text: string): Version | null => {
  const found = /^(\d+)\.(\d+)\.(\d+)$/u.exec(text)
  return found === null ? null : { major: Number(found[1]), minor: Number(found[2]), patch: Number(found[3]) }
}

const isNewer = (a: Version, b: Version): boolean =>
  a.major !== b.major ? a.major > b.major : a.minor !== b.minor ? a.minor > b.minor : a.patch > b.patch

/** Whether the change from `last` to `next` may take public names away, by docs/versioning.md. */
const mayBreak = (next: Version, last: Version): boolean =>
  next.major > last.major || (last.major === 0 && next.minor > last.minor)

export interface NameChanges {
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
}

/** Public names by entry, such as `core.answers`, before and now. */
export const nameChanges = (
  before: ReadonlyMap<string, ReadonlyArray<string>>,
  now: ReadonlyMap<string, ReadonlyArray<string>>
): NameChanges => {
  const named = (all: ReadonlyMap<string, ReadonlyArray<string>>) =>
    new Set([...all].flatMap(([entry, names]) => names.map((name) => `${entry}: ${name}`)))
  const [old, current] = [named(before), named(now)]
  return {
    added: [...current].filter((name) => !old.has(name)).toSorted(),
    removed: [...old].filter((name) => !current.has(name)).toSorted()
  }
}

/** Why these packages cannot be released under this version. Empty: they can. */
export const refusals = (
  version: string,
  last: string,
  {
    hasNotes,
    isClean,
    isFirst,
    removed
  }: {
    readonly hasNotes: boolean
    readonly isClean: boolean
    readonly isFirst: boolean
    readonly removed: ReadonlyArray<string>
  }
): ReadonlyArray<string> => {
  const [next, before] = [readVersion(version), readVersion(last)]
  if (next === null || before === null) return [`"${version}" is no version like 1.2.3.`]
  const isRight = isFirst ? version === last || isNewer(next, before) : isNewer(next, before)
  return [
    ...(isRight ? [] : [`${version} is not newer than ${last}.`]),
    ...(removed.length === 0 || isFirst || mayBreak(next, before)
      ? []
      : [
          `${removed.length} public names are gone, which needs a ${before.major === 0 ? "minor" : "major"} version: ${removed.join(", ")}.`
        ]),
    ...(hasNotes ? [] : ["CHANGELOG.md has no line under Unreleased."]),
    ...(isClean ? [] : ["Commit or remove your changes first."])
  ]
}

const unreleased = "## Unreleased"

/** The lines under Unreleased, and the changelog in which they stand under the version. */
export const releaseNotes = (
  changelog: string,
  version: string,
  day: string
): { readonly notes: string; readonly changelog: string } => {
  const begin = changelog.indexOf(unreleased)
  if (begin < 0) return { notes: "", changelog }
  const rest = changelog.slice(begin + unreleased.length)
  const end = rest.search(/\n## /u)
  const notes = (end < 0 ? rest : rest.slice(0, end)).trim()
  const older = end < 0 ? "" : rest.slice(end)
  const released = `${unreleased}\n\n## ${version} (${day})\n\n${notes}\n${older}`
  return { notes, changelog: `${changelog.slice(0, begin)}${released}` }
}

/** A manifest with the version, also where it names the packages of this repository. */
export const nextManifest = (manifest: string, names: ReadonlySet<string>, version: string): string =>
  manifest.replaceAll(
    /^( *"([^"]+)": )"(\d+\.\d+\.\d+)"(,?)$/gmu,
    (line, key: string, name: string, _: string, comma: string) =>
      name === "version" || names.has(name) ? `${key}"${version}"${comma}` : line
  )

interface LockedPackage {
  version?: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** The lock file with the version of the packages of this repository, and of nothing else. */
export const nextLock = (lock: string, names: ReadonlySet<string>, version: string): string => {
  const whole: { readonly packages: Readonly<Record<string, LockedPackage & { readonly name?: string }>> } =
    JSON.parse(lock)
  for (const [path, entry] of Object.entries(whole.packages)) {
    if (path.includes("node_modules")) continue
    if (names.has(entry.name ?? "")) entry.version = version
    for (const dependencies of [entry.dependencies ?? {}, entry.devDependencies ?? {}]) {
      for (const name of Object.keys(dependencies)) if (names.has(name)) dependencies[name] = version
    }
  }
  return `${JSON.stringify(whole, null, 2)}\n`
}

const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`

/** One line for each tarball, with what it weighs more or less than in the last release. */
export const sizeReport = (
  now: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>
): ReadonlyArray<string> =>
  [...now].map(([name, bytes]) => {
    const old = before.get(name)
    const change = old === undefined ? "new" : `${bytes >= old ? "+" : "−"}${kilobytes(Math.abs(bytes - old))}`
    return `${name}: ${kilobytes(bytes)} (${change})`
  })
