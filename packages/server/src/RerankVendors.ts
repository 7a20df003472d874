/** The reranker of Memory Pro that the environment names; without one the assistant's own model reranks. */
import * as Rerankers from "@colloquy/adapters/rerankers"
import type { RerankerPort } from "@colloquy/core/memory"
import type { RerankVendor, Settings, VendorSettings } from "./Settings.ts"

type Maker = (settings: VendorSettings & { readonly model: string }) => RerankerPort

const makers: { readonly [Name in RerankVendor]: { readonly make: Maker; readonly usual: string } } = {
  COHERE: { make: Rerankers.cohere, usual: "rerank-v3.5" },
  VOYAGE: { make: (settings) => Rerankers.voyage(withVersion(settings)), usual: "rerank-2.5" },
  JINA: { make: (settings) => Rerankers.jina(withVersion(settings)), usual: "jina-reranker-v2-base-multilingual" }
}

/** An address without a path gets the path of the API's first version. */
export const withVersion = <A extends VendorSettings>(settings: A): A =>
  settings.baseUrl !== undefined && new URL(settings.baseUrl).pathname === "/"
    ? { ...settings, baseUrl: `${new URL(settings.baseUrl).origin}/v1` }
    : settings

export const rerankerOf = ({ reranking, vendors }: Settings): RerankerPort | null => {
  if (reranking === null) return null
  const { make, usual } = makers[reranking.vendor]
  return make({ ...vendors.get(reranking.vendor), model: reranking.model ?? usual })
}
