import {reserveCredits} from '../../../../shared/billing/credits/reserve.ts'
import {jobs} from '../../../../shared/jobs.ts'
import {openQueue} from '../../../../shared/queue.ts'
import {openLog} from '../../../../shared/telemetry/log.ts'
import {openDatabase} from '../../../../sql/database.ts'

/** The arguments of this process, which reserves credits for a call. The test kills it during the call. */
const [url, org, ref] = process.argv.slice(2) as [string, string, string]
const db = await openDatabase(url)
const queue = await openQueue(url, jobs, {log: openLog('test', 'silent'), upkeep: false})
await db.transaction(tx => reserveCredits(tx, queue, {org, feature: 'formula', amount: 6, ref}))
process.stdout.write('reserved\n')
setInterval(() => {}, 1_000)
