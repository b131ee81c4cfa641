import {newId} from '../../shared/ids.ts'
import {compose} from '../../shared/notices/compose.ts'
import type {Tx} from '../../sql/database.ts'
import {insertDelivery} from '../../sql/deliveries.ts'
import {claimNotice, keepBody, listAdmins, listEndpointsToTell, listPeopleToTell, type Notice} from '../../sql/notices.ts'
import type {Tools} from '../tools.ts'

/** The most of an org's administrators that are told that an endpoint was switched off. */
const mostAdmins = 20

/** Hands out every new notice: one delivery for each who is to be told. One that fails keeps none of the others, and is tried next time. */
export const expandAll = async ({db, config, log, drain}: Tools): Promise<void> => {
  for (let after = 0; !drain.aborted; ) {
    let found: Notice | null = null
    try {
      await db.transaction(async tx => {
        found = await claimNotice(tx, {after})
        if (found) await expand(tx, config, found)
      })
    } catch (err) {
      if (!found) throw err
      log.error({err, notice: (found as Notice).id}, 'a notice was not handed out')
    }
    if (!found) return
    after = (found as Notice).no
  }
}

const expand = async (tx: Tx, config: Tools['config'], notice: Notice) => {
  const {no, org, kind} = notice
  const {schedule, body} = await compose(tx, config, notice)
  await keepBody(tx, {no, schedule, body: JSON.stringify(body)})
  const told = {org, kind, schedule}
  for (const endpoint of await listEndpointsToTell(tx, told)) await insertDelivery(tx, {id: newId('dlv'), org, notice: no, endpoint})
  if (!config.SMTP_URL) return
  const people = [
    ...(await listPeopleToTell(tx, told)),
    ...(kind === 'webhook.disabled' ? await listAdmins(tx, {org, limit: mostAdmins}) : []),
  ]
  for (const person of new Set(people)) await insertDelivery(tx, {id: newId('dlv'), org, notice: no, person})
}
