/** The package has no types of its own. */
declare module "parse-prometheus-text-format" {
  interface Sample {
    readonly value?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly buckets?: Readonly<Record<string, string>>
  }
  interface Family {
    readonly name: string
    readonly type: string
    readonly metrics: ReadonlyArray<Sample>
  }
  const parse: (text: string) => ReadonlyArray<Family>
  export default parse
}
