import type {Pool, Tx} from '../../sql/database.ts'
import {beginAgain, type Delivery, findDelivery, findPending, insertDelivery, putFirst} from '../../sql/deliveries.ts'
import {insertTestNotice} from '../../sql/notices.ts'
import {wakeEndpoint} from '../../sql/webhooks.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {lockOwn} from './webhooks.ts'

type DeliveryOf = {org: string; endpoint: string}

const kind = 'webhook.test'

/** Puts a test before all other pending deliveries of the endpoint. If a test is already pending, moves that test instead of adding one. */
export const sendTest = (db: Pool, {org, endpoint}: DeliveryOf): Promise<Delivery> =>
  db.transaction(async tx => {
    assertOn(await lockOwn(tx, {org, id: endpoint}))
    await wakeEndpoint(tx, endpoint)
    const id = (await findPending(tx, {org, endpoint, kind}))?.id ?? (await insertNew(tx, {org, endpoint}))
    await putFirst(tx, {endpoint, id})
    return (await findDelivery(tx, {org, endpoint, id}))!
  })

const insertNew = async (tx: Tx, {org, endpoint}: DeliveryOf): Promise<string> => {
  const body = {type: kind, timestamp: new Date().toISOString(), data: {org, endpoint}}
  const notice = await insertTestNotice(tx, {id: newId('ntc'), org, kind, body: JSON.stringify(body)})
  const id = newId('dlv')
  await insertDelivery(tx, {id, org, notice, endpoint})
  return id
}

/** Repeats a delivery from the first attempt, with the same `webhook-id`, so that receivers recognise it. */
export const redeliver = (db: Pool, {org, endpoint, id}: DeliveryOf & {id: string}): Promise<Delivery> =>
  db.transaction(async tx => {
    const found = await lockOwn(tx, {org, id: endpoint})
    if (!(await findDelivery(tx, {org, endpoint, id}))) throw new Refusal('NOT_FOUND', 'No such delivery. Deliveries are kept for 30 days')
    assertOn(found)
    await wakeEndpoint(tx, endpoint)
    await beginAgain(tx, {org, endpoint, id})
    return (await findDelivery(tx, {org, endpoint, id}))!
  })

const assertOn = ({enabled}: {enabled: boolean}) => {
  if (!enabled) throw new Refusal('ENDPOINT_DISABLED', 'This webhook endpoint is disabled. Enable it first (`enabled: true`)')
}
