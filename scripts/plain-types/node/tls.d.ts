/** What a connection to a database needs; `ConnectionOptions` of `node:tls` fits too. */
type Pem = string | Uint8Array

export interface ConnectionOptions {
  readonly rejectUnauthorized?: boolean | undefined
  readonly ca?: Pem | ReadonlyArray<Pem> | undefined
  readonly cert?: Pem | ReadonlyArray<Pem> | undefined
  readonly key?: Pem | ReadonlyArray<unknown> | undefined
  readonly passphrase?: string | undefined
  readonly servername?: string | undefined
}
