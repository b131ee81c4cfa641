import {z} from 'zod'
import {announce} from '../../shared/notifications/announce.ts'
import type {NoticeKind} from '../../shared/notifications/kind.ts'
import {sql} from '../../sql/database.ts'
import {ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

/** Creates an org with an owner, and functions for tests of its notices. */
export const openNoticing = async (house: TestDeployment) => {
  const {org, token, person} = await house.makeOrg()
  const call = house.as(token)
  const addEndpoint = async (url: string, more: object = {}) => ok(call('POST', `/orgs/${org}/webhooks`, {url, ...more}), 201)
  const say = (kind: NoticeKind = 'schedule.failed', {schedule = null, about = {}}: {schedule?: string | null; about?: object} = {}) =>
    house.db.transaction(tx => announce(tx, {org, kind, schedule, about: about as never}))
  const waiting = 'select count(*)::int as count from notices where org_id = $1 and expanded_at is null'
  /** Waits until all notices have their deliveries. */
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

/** Reads every delivery of an org from the database, oldest first. This works without a session, also after sessions have expired. */
const listAll = ({db}: TestDeployment, org: string) =>
  db.any(sql.type(Row)`
    select n.id as notice, n.kind, endpoint_id as endpoint, person_id as person, state, attempts, last_status as status, last_error as error,
      extract(epoch from next_at - lading_now())::float8 as "inSeconds"
    from deliveries d join notices n using (notice_no) where d.org_id = ${org} order by d.id`)

type Noticing = Awaited<ReturnType<typeof openNoticing>>

/** Waits until `is` accepts all deliveries of the org. */
export const untilDeliveries = ({deliveries}: Noticing, is: (rows: readonly z.output<typeof Row>[]) => boolean, seconds?: number) =>
  until(deliveries, is, seconds)

/** Returns a function that advances the clock by hours. */
export const openClock = (house: TestDeployment) => {
  let hours = 0
  return async (more: number) => {
    hours += more
    await house.ahead(`${hours} hours`)
  }
}
