import {reserveCredits} from '../../../shared/credits/reserve.ts'
import {openDatabase} from '../../../sql/database.ts'

/** A process that reserves credits for a call, and is killed during it. */
const [url, org, ref] = process.argv.slice(2) as [string, string, string]
const db = await openDatabase(url)
await db.transaction(tx => reserveCredits(tx, {org, feature: 'formula', amount: 6, ref}))
process.stdout.write('reserved\n')
setInterval(() => {}, 1_000)
