import {openDatabase} from '../sql/database.ts'
import {databaseUrlOf, readConfig} from './config.ts'
import {resealGrants} from './crm/reseal.ts'
import {openLog} from './log.ts'
import {resealWebhooks} from './notices/reseal.ts'
import {resealSchedules} from './schedules/reseal.ts'

/** `npm run secrets`: what an older key sealed is sealed under the first of SECRETS_KEYS. Ends with 1 while something remains under another. */
const config = readConfig()
const db = await openDatabase(databaseUrlOf(config), {connections: 2})
const tools = {db, ring: config.SECRETS_KEYS, log: openLog('secrets', config.LOG_LEVEL)}
let [resealed, remaining] = [0, 0]
for (const reseal of [resealGrants, resealWebhooks, resealSchedules]) {
  const done = await reseal(tools)
  resealed += done.resealed
  remaining += done.remaining
}
await db.end()
process.stdout.write(`Sealed again under ${config.SECRETS_KEYS[0]!.id}: ${resealed}. Remaining under other keys: ${remaining}.\n`)
if (remaining > 0) process.exitCode = 1
