import {openDatabase} from '../../sql/database.ts'
import {databaseUrlOf, readConfig} from '../config.ts'
import {resealGrants} from '../crm/reseal.ts'
import {resealMarkKeys} from '../mapping/edit-marks/reseal.ts'
import {resealWebhooks} from '../notifications/reseal.ts'
import {bulkFileSeals, exportFileSeals} from '../runs/file-seal.ts'
import {resealIdempotencyKeys} from '../runs/reseal-idempotency.ts'
import {resealImageKeys} from '../runs/undo/image-key.ts'
import {resealVerifyKeys} from '../runs/verify/verify-seal.ts'
import {resealSchedules} from '../schedules/reseal.ts'
import {openLog} from '../telemetry/log.ts'

/** `npm run secrets`: reseals everything with the first key of SECRETS_KEYS. The exit code is 1 while rows remain under another key. */
const config = readConfig()
const db = await openDatabase(databaseUrlOf(config), {connections: 2})
const tools = {db, ring: config.SECRETS_KEYS, log: openLog('secrets', config.LOG_LEVEL)}
let [resealed, remaining] = [0, 0]
const ofRuns = [resealIdempotencyKeys, resealImageKeys, resealVerifyKeys, bulkFileSeals.reseal, exportFileSeals.reseal]
for (const reseal of [resealGrants, resealWebhooks, resealSchedules, resealMarkKeys, ...ofRuns]) {
  const done = await reseal(tools)
  resealed += done.resealed
  remaining += done.remaining
}
await db.end()
process.stdout.write(`Resealed with the key ${config.SECRETS_KEYS[0]!.id}: ${resealed}. Remaining under other keys: ${remaining}.\n`)
if (remaining > 0) process.exitCode = 1
