import {WEBHOOK_SECRET} from './selling.ts'
import {sign} from './simulators/payment/deliveries.ts'
import {until} from './until.ts'
import type {World} from './world.ts'

const now = () => Math.floor(Date.now() / 1000)

/** An event as the provider would send it, without a provider. */
export const makeEvent = (id: string, type: string, object: object, more: object = {}): string =>
  JSON.stringify({
    ...{id, object: 'event', api_version: '2026-10-28.endive', created: now(), type, livemode: false, pending_webhooks: 1},
    ...{request: {id: null, idempotency_key: null}, data: {object}, ...more},
  })

export const signed = (body: string, {secret = WEBHOOK_SECRET, at = now()} = {}): string => sign(body, secret, at)

/** Sends an event to the webhook as the provider does; answers status and code. */
export const tell = async (
  {url}: Pick<World, 'url'>,
  body: string,
  signature: string | null = signed(body),
  headers: Record<string, string> = {},
) => {
  const response = await fetch(`${url}/billing/webhook`, {
    method: 'POST',
    body,
    headers: {'content-type': 'application/json; charset=utf-8', ...(signature !== null && {'stripe-signature': signature}), ...headers},
  })
  const text = await response.text()
  return {status: response.status, code: JSON.parse(text).code as string | undefined, text}
}

const waiting = `status in ('received', 'processing', 'deferred')`

/** Until every event that has come is applied, ignored or given up. */
export const untilApplied = ({hot}: Pick<World, 'hot'>, seconds?: number) =>
  until(
    async () => (await hot.query(`select id, type, status, error from payment_events where ${waiting}`)).rows,
    rows => rows.length === 0,
    seconds,
  )

/** What became of it; undefined for one that never came. */
export const statusOf = async ({hot}: Pick<World, 'hot'>, id: string): Promise<string | undefined> =>
  (await hot.query('select status from payment_events where id = $1', [id])).rows[0]?.status

/** How the plan stands with us, as far as events move it. */
export const planOf = async ({hot}: Pick<World, 'hot'>, org: string) =>
  (
    await hot.query(
      `select orgs.plan_version_id as plan, plan_status as status, s.status as subscription, cancels_at is not null as "isEnding"
       from orgs left join subscriptions s on s.org_id = orgs.id where id = $1`,
      [org],
    )
  ).rows[0]

/** The settings history of the plan, the oldest first. */
export const historyOf = async ({hot}: Pick<World, 'hot'>, org: string): Promise<string[]> =>
  (await hot.query(`select subject from changes where org_id = $1 and page = 'plan' order by id`, [org])).rows.map(({subject}) => subject)

/** What the org was told of billing: the kinds, the oldest first. */
export const noticesOf = async ({hot}: Pick<World, 'hot'>, org: string): Promise<string[]> =>
  (await hot.query(`select kind from notices where org_id = $1 and kind like 'billing.%' order by notice_no`, [org])).rows.map(
    ({kind}) => kind,
  )
