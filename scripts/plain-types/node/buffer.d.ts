export interface Buffer extends Uint8Array {}
