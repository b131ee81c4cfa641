import {z} from 'zod'
import {announce} from '../shared/notices/announce.ts'
import type {Kind} from '../shared/notices/kind.ts'
import {sql} from '../sql/database.ts'
import {ok} from './importing.ts'
import {until} from './until.ts'
import type {World} from './world.ts'

/** An org with somebody who may make endpoints in it, and what tests of notices ask of it. */
export const openNoticing = async (house: World) => {
  const {org, token, person} = await house.makeOrg()
  const call = house.as(token)
  const addEndpoint = async (url: string, more: object = {}) => ok(call('POST', `/orgs/${org}/webhooks`, {url, ...more}), 201)
  const say = (kind: Kind = 'schedule.failed', {schedule = null, about = {}}: {schedule?: string | null; about?: object} = {}) =>
    house.db.transaction(tx => announce(tx, {org, kind, schedule, about: about as never}))
  const waiting = 'select count(*)::int as count from notices where org_id = $1 and expanded_at is null'
  /** Until whom each notice so far is for has been settled. */
  const untilHandedOut = () =>
    until(
      async () => (await house.hot.query(waiting, [org])).rows[0].count,
      count => count === 0,
    )
  return {org, call, person, addEndpoint, say, untilHandedOut, deliveries: () => listAll(house, org)}
}

const Row = z.object({
  notice: z.string(),
  kind: z.string(),
  endpoint: z.string().nullable(),
  person: z.string().nullable(),
  state: z.string(),
  attempts: z.number(),
  status: z.number().nullable(),
  error: z.string().nullable(),
  inSeconds: z.number(),
})

/** Every delivery of an org as the database has it, the oldest first; sessions that have ended meanwhile play no part. */
const listAll = ({db}: World, org: string) =>
  db.any(sql.type(Row)`
    select n.id as notice, n.kind, endpoint_id as endpoint, person_id as person, state, attempts, last_status as status, last_error as error,
      extract(epoch from next_at - lading_now())::float8 as "inSeconds"
    from deliveries d join notices n using (notice_no) where d.org_id = ${org} order by d.id`)

type Noticing = Awaited<ReturnType<typeof openNoticing>>

/** Waits until every delivery of the org has had its attempts: `is` looks at all of them. */
export const untilDeliveries = ({deliveries}: Noticing, is: (rows: readonly z.output<typeof Row>[]) => boolean, seconds?: number) =>
  until(deliveries, is, seconds)

/** The clock of the house, which only goes forward. */
export const openClock = (house: World) => {
  let hours = 0
  return async (more: number) => {
    hours += more
    await house.ahead(`${hours} hours`)
  }
}
