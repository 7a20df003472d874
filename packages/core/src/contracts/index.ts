/**
 * The contracts of the ports as tests. One line in a test file runs the contract for an adapter: `storageSuite("my store", MyStore.layer, {
 * testClock: false, signals: true })`. Builders and scenes also serve other tests that need valid records.
 */
export { auditStoreSuite } from "./AuditStoreContract.ts"
export { blobStoreSuite } from "./BlobStoreContract.ts"
export { type Capabilities, type Stores } from "./ContractTest.ts"
export { imageModelSuite, type ImageVendor, type SeenImageRequest } from "./ImageModelContract.ts"
export { sampleFollowUp } from "./FollowUpStoreContract.ts"
export { plainOf } from "./ListedMessages.ts"
export { outcomeStoreSuite } from "./OutcomeStoreContract.ts"
export { memoryStoreSuite } from "./MemoryStoreContract.ts"
export { documentStoreSuite } from "./DocumentStoreContract.ts"
export { retentionStoreSuite } from "./RetentionStoreContract.ts"
export * from "./Samples.ts"
export * from "./Scenes.ts"
export { type HearingVendor, speechToTextSuite } from "./SpeechToTextContract.ts"
export { type SpeakingVendor, textToSpeechSuite } from "./TextToSpeechContract.ts"
export { type VideoScene, videoModelSuite, type VideoUpstream } from "./VideoModelContract.ts"
export { chunkIndexSuite, followUpStoreSuite, realtimeSuite, storageSuite } from "./StorageSuite.ts"
export type { VoiceVendor } from "./VoiceVendor.ts"
export { type SearchVendor, webSearchSuite } from "./WebSearchContract.ts"
