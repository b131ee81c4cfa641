import {setTimeout as sleep} from 'node:timers/promises'
import {openBudget} from '../../shared/crm/zz-budget.ts'
import {openLog} from '../../shared/log.ts'
import {openDatabase} from '../../sql/database.ts'
import {createDatabase} from '../database.ts'
import {medianOf, percentileOf} from './median.ts'
const database = await createDatabase('zz')
const db = await openDatabase(database.url)
const tools = {db, config: {CRM_SLOTS: 10}, log: openLog('x', 'warn')} as any
const org = {dc: 'x', crmOrgId: '1'}
const [a, b] = [openBudget(tools), openBudget(tools)]
const never = new AbortController().signal
const big = a.open(org, 1)
let over = false
let done = 0
const lanes = Array.from({length: 12}, async () => { while (!over) { await big.large.take(never); await sleep(400); big.large.give(); done++ } })
await sleep(3000)
const waits: number[] = []
const gap = Number(process.argv[2] ?? 900)
const from = performance.now(); const d0 = done
for (let n = 0; n < 40; n++) {
  await sleep(gap + Math.random() * 300)
  const t = performance.now()
  const s = b.open(org, 100 + n)
  await s.large.take(never)
  waits.push(performance.now() - t)
  await sleep(400)
  s.large.give()
  await s.close()
}
console.log({p50: medianOf(waits), p95: percentileOf(waits, 95), use: ((done - d0) + 40) * 0.4 / 10 / ((performance.now() - from) / 1000)})
over = true
await Promise.all(lanes); await big.close(); await a.close(); await b.close(); await db.end(); await database.drop()
