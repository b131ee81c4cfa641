import type {ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import type {Answered} from '../client.ts'
import {until} from '../until.ts'
import {aimOf, ask, connectAnew, letGo, observe, type Place, prepare, type Request} from './fault-doors.ts'
import type {Row} from './fault-table.ts'
import {expectedOf, verdictOf} from './fault-verdict.ts'

/** As if nothing had been asked yet; connections stay. */
export const clear = async ({world}: Place) => {
  await letGo(world)
  world.crm.clear()
  world.crm.setSwitches({legacy202: false})
  await world.db.query(sql.unsafe`delete from crm_allowances`)
  // The stand-in gives the ids of its records out again, which no CRM does.
  await world.db.query(sql.unsafe`delete from replacements`)
}

/** One row of the table, at every door it speaks of, at once: what is seen at each, beside what the papers say. */
export const assertRow = async (t: ExecutionContext<any>, row: Row, places: Place[]) => {
  const mine = places.filter(({door}) => expectedOf(row, door))
  const [{world}] = mine as [Place]
  const requests = await Promise.all(mine.map(async place => prepare(place, row.fresh ? await connectAnew(place) : undefined)))
  if (row.switches) world.crm.setSwitches(row.switches)
  for (const request of requests) arm(row, request)
  const answers = await Promise.all(requests.map(ask))
  await letGo(world)
  await assertSeen(t, row, requests, answers)
}

/** Each fault meets the calls of this request alone. */
export const arm = ({faults}: Row, request: Request) => {
  const given = {ids: request.ids, keys: request.keys, org: request.key}
  for (const {action, times = 1} of faults)
    request.world.crm.faults.add({match: aimOf(request), times, action: typeof action === 'function' ? action(given) : action})
}

export const assertSeen = async (t: Pick<ExecutionContext, 'deepEqual'>, row: Row, requests: Request[], answers: Answered[]) => {
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

/** The journal has a call once it has ended, which may be after its caller has given up. */
const untilNoted = ({world: {crm}, key}: Request) =>
  until(
    () => crm.inFlight(key),
    calls => calls === 0,
  )
