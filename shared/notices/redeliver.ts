import type {Pool, Tx} from '../../sql/database.ts'
import {beginAgain, type Delivery, findDelivery, findPending, insertDelivery, putFirst} from '../../sql/deliveries.ts'
import {wakeEndpoint} from '../../sql/endpoints.ts'
import {insertTest} from '../../sql/notices.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {lockOwn} from './endpoints.ts'

type Of = {org: string; endpoint: string}

const kind = 'webhook.test'

/** Sends a test now, before everything else that waits for the endpoint. A test that is still pending is sent again instead of a second one. */
export const sendTest = (db: Pool, {org, endpoint}: Of): Promise<Delivery> =>
  db.transaction(async tx => {
    assertOn(await lockOwn(tx, {org, id: endpoint}))
    await wakeEndpoint(tx, endpoint)
    const id = (await findPending(tx, {org, endpoint, kind}))?.id ?? (await insertNew(tx, {org, endpoint}))
    await putFirst(tx, {endpoint, id})
    return (await findDelivery(tx, {org, endpoint, id}))!
  })

const insertNew = async (tx: Tx, {org, endpoint}: Of): Promise<string> => {
  const body = {type: kind, timestamp: new Date().toISOString(), data: {org, endpoint}}
  const notice = await insertTest(tx, {id: newId('ntc'), org, kind, body: JSON.stringify(body)})
  const id = newId('dlv')
  await insertDelivery(tx, {id, org, notice, endpoint})
  return id
}

/** Once more from the first attempt on, under the id it had (`webhook-id`): whoever has it knows it again. */
export const redeliver = (db: Pool, {org, endpoint, id}: Of & {id: string}): Promise<Delivery> =>
  db.transaction(async tx => {
    const found = await lockOwn(tx, {org, id: endpoint})
    if (!(await findDelivery(tx, {org, endpoint, id})))
      throw new Refusal('NOT_FOUND', 'No such delivery: what is older than 30 days is gone')
    assertOn(found)
    await wakeEndpoint(tx, endpoint)
    await beginAgain(tx, {org, endpoint, id})
    return (await findDelivery(tx, {org, endpoint, id}))!
  })

const assertOn = ({enabled}: {enabled: boolean}) => {
  if (!enabled) throw new Refusal('ENDPOINT_DISABLED', 'This webhook endpoint is switched off: switch it on first (`enabled: true`)')
}
