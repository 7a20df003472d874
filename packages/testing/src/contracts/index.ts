/**
 * The contracts of the ports as tests. One line in a test file runs the contract for an adapter: `storageSuite("my store", MyStore.layer, {
 * testClock: false, signals: true })`. Builders and scenes also serve other tests that need valid records.
 */
export { auditStoreSuite } from "./AuditStoreContract.ts"
export { chatDriverSuite, type ChatSuiteOptions, type ChatVendor } from "./ChatDriverContract.ts"
export type { ChatAnswer, ChatScenario, HeardAnswer, RefusedWith, Said } from "./ChatScenarios.ts"
export { blobStoreSuite } from "./BlobStoreContract.ts"
export { type Capabilities, type Stores } from "./ContractTest.ts"
export { embeddingDriverSuite, type EmbeddingSuiteOptions, type EmbeddingVendor } from "./EmbeddingDriverContract.ts"
export { imageModelSuite, type ImageVendor, type SeenImageRequest } from "./ImageModelContract.ts"
export { sampleFollowUp } from "./FollowUpStoreContract.ts"
export { toPlain } from "./ListedMessages.ts"
export { outcomeStoreSuite } from "./OutcomeStoreContract.ts"
export { memoryStoreSuite } from "./MemoryStoreContract.ts"
export { type MeterAccounts, meteringSuite } from "./MeteringContract.ts"
export { documentStoreSuite } from "./DocumentStoreContract.ts"
export { pictureConverterSuite, type PictureSamples } from "./PictureConverterContract.ts"
export { providerKeysSuite, type PutKey } from "./ProviderKeysContract.ts"
export { rateLimiterSuite } from "./RateLimiterContract.ts"
export { type RankedText, rerankerSuite, type RerankVendor } from "./RerankerContract.ts"
export {
  type OpenVendor,
  realtimeModelSuite,
  type RealtimeSuiteOptions,
  type RealtimeVendor,
  type VoicePlay
} from "./RealtimeModelContract.ts"
export { retentionStoreSuite } from "./RetentionStoreContract.ts"
export { evalStoreSuite } from "./EvalStoreContract.ts"
export { scheduleStoreSuite } from "./ScheduleStoreContract.ts"
export { sealedSecretStoreSuite } from "./SealedSecretStoreContract.ts"
export { webhookStoreSuite } from "./WebhookStoreContract.ts"
export * from "./Samples.ts"
export * from "./Scenes.ts"
export { type ListenedTurn, listeningSuite, type ListeningVendor } from "./ListeningContract.ts"
export { type HearingVendor, speechToTextSuite } from "./SpeechToTextContract.ts"
export { type FileSamples, type SampleFile, textExtractorSuite } from "./TextExtractorContract.ts"
export { type SpeakingVendor, textToSpeechSuite } from "./TextToSpeechContract.ts"
export { type SampleTurn, turnPartSuite, type TurnPartSuite } from "./TurnPartContract.ts"
export { type VideoScene, videoModelSuite, type VideoUpstream } from "./VideoModelContract.ts"
export { chunkIndexSuite, followUpStoreSuite, realtimeSuite, storageSuite } from "./StorageSuite.ts"
export type { VoiceVendor } from "./VoiceVendor.ts"
export { type SearchVendor, webSearchSuite } from "./WebSearchContract.ts"
