/** The use cases that the promises cover. */
import type { AuditLog } from "../access/AuditLog.ts"
import type { Keys } from "../access/Keys.ts"
import type { Assistants } from "../assistants/Assistants.ts"
import type { Catalog } from "../catalog/Catalog.ts"
import type { Billing } from "../metering/Billing.ts"
import type { Inbox } from "../runs/Inbox.ts"
import type { Threads } from "../threads/Threads.ts"
import type { Conversations } from "../turns/Conversations.ts"
import type { Turns } from "../turns/TurnUseCases.ts"

export type UseCases = Assistants | Threads | Turns | Inbox | Conversations | Keys | AuditLog | Catalog | Billing
