import {sign} from '../simulators/payment/deliveries.ts'
import {WEBHOOK_SECRET} from './selling.ts'
import type {TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

const now = () => Math.floor(Date.now() / 1000)

/** Returns an event as the provider sends it. */
export const makeEvent = (id: string, type: string, object: object, more: object = {}): string =>
  JSON.stringify({
    id,
    object: 'event',
    api_version: '2026-10-28.endive',
    created: now(),
    type,
    livemode: false,
    pending_webhooks: 1,
    request: {id: null, idempotency_key: null},
    data: {object},
    ...more,
  })

export const signed = (body: string, {secret = WEBHOOK_SECRET, at = now()} = {}): string => sign(body, secret, at)

/** Sends an event to the webhook. Returns status, code and text. */
export const sendWebhook = async (
  {url}: Pick<TestDeployment, 'url'>,
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

/** Waits until no event is still to be processed: each was applied or ignored, or Lading gave up on it. */
export const untilApplied = ({hot}: Pick<TestDeployment, 'hot'>, seconds?: number) =>
  until(
    async () => (await hot.query(`select id, type, status, error from payment_events where ${waiting}`)).rows,
    rows => rows.length === 0,
    seconds,
  )

export const statusOf = async ({hot}: Pick<TestDeployment, 'hot'>, id: string): Promise<string | undefined> =>
  (await hot.query('select status from payment_events where id = $1', [id])).rows[0]?.status

/** Reads the values of an org's plan that provider events change, from our database. */
export const planOf = async ({hot}: Pick<TestDeployment, 'hot'>, org: string) =>
  (
    await hot.query(
      `select orgs.plan_version_id as plan, plan_status as status, s.status as subscription, cancels_at is not null as "isEnding"
       from orgs left join subscriptions s on s.org_id = orgs.id where id = $1`,
      [org],
    )
  ).rows[0]

export const historyOf = async ({hot}: Pick<TestDeployment, 'hot'>, org: string): Promise<string[]> =>
  (await hot.query(`select subject from changes where org_id = $1 and page = 'plan' order by id`, [org])).rows.map(({subject}) => subject)

/** Returns the kinds of the org's billing notices, oldest first. */
export const noticesOf = async ({hot}: Pick<TestDeployment, 'hot'>, org: string): Promise<string[]> =>
  (await hot.query(`select kind from notices where org_id = $1 and kind like 'billing.%' order by notice_no`, [org])).rows.map(
    ({kind}) => kind,
  )
