import {violence} from './r01-violence.ts'
import {crmNoAnswers} from './r02-unanswered-calls.ts'
import {takes} from './r03-record-claims.ts'
import {crmGarbage} from './r04-garbage.ts'
import {postgres} from './r05-postgres.ts'
import {partitions} from './r06-partitions.ts'
import {throttles} from './r07-throttles.ts'
import {slowness} from './r08-slowness.ts'
import {storageFails} from './r09-storage.ts'
import {deliveries} from './r10-deliveries.ts'
import {poison} from './r11-poison.ts'
import {webhooks} from './r12-webhooks.ts'
import {leases} from './r13-leases.ts'
import {upgrade} from './r14-upgrade.ts'
import {clocks} from './r15-clocks.ts'
import {memory} from './r16-memory.ts'
import {apiDeaths} from './r17-api-deaths.ts'
import {fullDisk} from './r18-full-disk.ts'
import {chaos} from './r19-chaos.ts'
import {idempotency} from './r20-idempotency.ts'
import {undo} from './r21-undo.ts'
import {pooler} from './r22-pooler.ts'
import {promotion} from './r23-promotion.ts'
import type {Scenario} from './scenario.ts'

/** The scenarios of the fault matrix, R1 to R23. */
export const MATRIX: readonly Scenario[] = [
  violence,
  crmNoAnswers,
  takes,
  crmGarbage,
  postgres,
  partitions,
  throttles,
  slowness,
  storageFails,
  deliveries,
  poison,
  webhooks,
  leases,
  upgrade,
  clocks,
  memory,
  apiDeaths,
  fullDisk,
  chaos,
  idempotency,
  undo,
  pooler,
  promotion,
]
