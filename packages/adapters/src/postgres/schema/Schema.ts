/**
 * The whole schema: the tables (as migrations, in order) and the SQL functions of every folder of core that stores something. To add one,
 * write its file in this folder, append its migrations to the end of `migrations`, and add its functions.
 */
import { auditTables } from "./AuditLog.ts"
import { branchFunctions, branchTables, draftRevisions, keptKeys, threadsOfKeys } from "./Branches.ts"
import { chunkFunctions, chunkTables, postingsBySegment } from "./Chunks.ts"
import { documentFunctions, documentIds, documentTables, processingDocuments, revokedAddresses } from "./Documents.ts"
import { caseDrafts, evalFunctions, evalTables, experimentTables, feedbackTables, onlineTables } from "./Evals.ts"
import { followUpEnds, followUpFunctions, followUpHolders, followUpTables, followUpTurns } from "./FollowUps.ts"
import { followersWaited, inboxFunctions, inboxTables, parentRuns } from "./Inbox.ts"
import { keyScopes, keyTables } from "./Keys.ts"
import { assistantsOfCharges, begunCharges, ledgerFunctions, ledgerTables, receiptTables } from "./Ledger.ts"
import {
  agedMemoryRuns,
  memoryFunctions,
  memoryKeys,
  memoryTables,
  spokenMemories,
  unindexedOneByOne
} from "./Memories.ts"
import { outcomeTables } from "./Outcomes.ts"
import { providerKeyTables } from "./ProviderKeys.ts"
import { erasedWriters, erasureTables, ownerFunctions } from "./Owners.ts"
import { budgetHolds, quotaFunctions, quotaTables } from "./Quotas.ts"
import { rateLimitTables } from "./RateLimits.ts"
import { realtimeFunctions, realtimeTables, sessionHolders } from "./Realtime.ts"
import { removalFunctions, removalTables } from "./Removals.ts"
import { runEndFunctions } from "./RunEnds.ts"
import { agedRows, runHolders, runTables } from "./Runs.ts"
import { runStartFunctions } from "./RunStarts.ts"
import { runStepFunctions } from "./RunSteps.ts"
import type { Migration, SqlFunction } from "./SchemaPart.ts"
import { scheduleFunctions, scheduleRevisions, scheduleTables } from "./Schedules.ts"
import { webhookFunctions, webhookTables } from "./Webhooks.ts"
import { secretTables } from "./Secrets.ts"
import {
  actingAssistants,
  assistantColleagues,
  assistantDrafts,
  assistantOptions,
  assistantVersions,
  scratchThreads,
  summaryColumns,
  threadFunctions,
  threadTables
} from "./Threads.ts"

export interface Schema {
  readonly migrations: ReadonlyArray<Migration>
  readonly functions: ReadonlyArray<SqlFunction>
}

export const schemaOfThisVersion: Schema = {
  /** Oldest first; a new step goes to the end. */
  migrations: [
    threadTables,
    runTables,
    ledgerTables,
    keyTables,
    providerKeyTables,
    rateLimitTables,
    followUpTables,
    outcomeTables,
    documentTables,
    chunkTables,
    memoryTables,
    realtimeTables,
    receiptTables,
    summaryColumns,
    documentIds,
    assistantDrafts,
    agedRows,
    secretTables,
    agedMemoryRuns,
    auditTables,
    postingsBySegment,
    quotaTables,
    processingDocuments,
    followUpTurns,
    spokenMemories,
    keyScopes,
    erasureTables,
    followUpEnds,
    begunCharges,
    erasedWriters,
    assistantOptions,
    memoryKeys,
    revokedAddresses,
    assistantVersions,
    assistantsOfCharges,
    budgetHolds,
    branchTables,
    assistantColleagues,
    inboxTables,
    actingAssistants,
    scheduleTables,
    parentRuns,
    webhookTables,
    evalTables,
    draftRevisions,
    keptKeys,
    scratchThreads,
    experimentTables,
    feedbackTables,
    threadsOfKeys,
    onlineTables,
    runHolders,
    removalTables,
    followUpHolders,
    sessionHolders,
    unindexedOneByOne,
    caseDrafts,
    scheduleRevisions,
    followersWaited
  ],
  /** In any order: PostgreSQL resolves the names in a function's body only when the function is called. */
  functions: [
    ...threadFunctions,
    ...removalFunctions,
    ...runStepFunctions,
    ...runStartFunctions,
    ...runEndFunctions,
    ...branchFunctions,
    ...ledgerFunctions,
    ...followUpFunctions,
    ...documentFunctions,
    ...chunkFunctions,
    ...memoryFunctions,
    ...realtimeFunctions,
    ...quotaFunctions,
    ...scheduleFunctions,
    ...webhookFunctions,
    ...evalFunctions,
    ...inboxFunctions,
    ...ownerFunctions
  ]
}
