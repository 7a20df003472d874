export interface Duplex {
  readonly readable: boolean
  readonly writable: boolean
}
