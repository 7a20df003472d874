/** What an effect may need, and a layer may give: any service. Effect says which is missing when the kernel is opened. */
export type Kernel = unknown
export type Ports = unknown
export type Stores = unknown
export declare const layer: unknown
