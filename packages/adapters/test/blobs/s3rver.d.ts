declare module "@20minutes/s3rver" {
  /** What the tests use of the library, which has no types. */
  export default class S3rver {
    constructor(options: object)
    configureBuckets(): Promise<unknown>
    callback(): (request: unknown, response: unknown) => void
  }
}
