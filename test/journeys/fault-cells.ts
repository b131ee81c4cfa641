import type {ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import type {HttpAnswer} from '../support/client.ts'
import {until} from '../support/until.ts'
import {aimOf, ask, connectAnew, type FaultDoorPlace, letGo, observe, prepare, type Request} from './fault-operations.ts'
import type {Row} from './fault-table.ts'
import {expectedOf, verdictOf} from './fault-verdict.ts'

/** Resets the stand-in, the quota and the stored replacements. Connections stay. */
export const clear = async ({world}: FaultDoorPlace) => {
  await letGo(world)
  world.crm.clear()
  world.crm.setSwitches({legacy202: false})
  await world.db.query(sql.unsafe`delete from crm_allowances`)
  // The stand-in reuses record ids, which no CRM does.
  await world.db.query(sql.unsafe`delete from replacements`)
}

/** Runs one row of the table at all its doors at once, and compares the results with the expected ones. */
export const assertRow = async (t: ExecutionContext<any>, row: Row, places: FaultDoorPlace[]) => {
  const mine = places.filter(({door}) => expectedOf(row, door))
  const [{world}] = mine as [FaultDoorPlace]
  const requests = await Promise.all(mine.map(async place => prepare(place, row.fresh ? await connectAnew(place) : undefined)))
  if (row.switches) world.crm.setSwitches(row.switches)
  for (const request of requests) arm(row, request)
  const answers = await Promise.all(requests.map(ask))
  await letGo(world)
  await assertSeen(t, row, requests, answers)
}

/** Adds the faults of a row to the stand-in, for the calls of this request only. */
export const arm = ({faults}: Row, request: Request) => {
  const given = {ids: request.ids, keys: request.keys, org: request.key}
  for (const {action, times = 1} of faults)
    request.world.crm.faults.add({match: aimOf(request), times, action: typeof action === 'function' ? action(given) : action})
}

export const assertSeen = async (t: Pick<ExecutionContext, 'deepEqual'>, row: Row, requests: Request[], answers: HttpAnswer[]) => {
  const seen: Record<string, unknown> = {}
  const wanted: Record<string, unknown> = {}
  for (const [n, request] of requests.entries()) {
    await untilNoted(request)
    const {answer, ...one} = await observe(request, answers[n]!)
    seen[request.door] = one
    wanted[request.door] = verdictOf(row, request, {...one, answer})
  }
  t.deepEqual(seen, wanted)
}

/** Waits until the call has ended, possibly after its caller gave up. The journal records a call only when it ends. */
const untilNoted = ({world: {crm}, key}: Request) =>
  until(
    () => crm.inFlight(key),
    calls => calls === 0,
  )
