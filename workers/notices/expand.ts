import {newId} from '../../shared/ids.ts'
import {compose} from '../../shared/notifications/compose.ts'
import type {Tx} from '../../sql/database.ts'
import {insertDelivery} from '../../sql/deliveries.ts'
import {claimNotice, keepBody, listAdmins, listEndpointsToNotify, listPeopleToNotify, type Notice} from '../../sql/notices.ts'
import type {WorkerDeps} from '../deps.ts'

const mostAdmins = 20

/**
 * Creates the deliveries of every new notice: one for each endpoint and, if mail is configured, one for each person to notify. A notice that
 * fails does not block the others and is retried in the next round.
 */
export const expandAll = async ({db, config, log, drain}: WorkerDeps): Promise<void> => {
  for (let after = 0; !drain.aborted; ) {
    let found: Notice | null = null
    try {
      await db.transaction(async tx => {
        found = await claimNotice(tx, {after})
        if (found) await expand(tx, config, found)
      })
    } catch (err) {
      if (!found) throw err
      log.error({err, notice: (found as Notice).id}, 'could not create the deliveries of a notice')
    }
    if (!found) return
    after = (found as Notice).no
  }
}

/** A dry run is announced to programs only, because the review makes one after each edit. */
const expand = async (tx: Tx, config: WorkerDeps['config'], notice: Notice) => {
  const {no, org, kind} = notice
  const isForPeople = notice.about.dryRun !== true
  const {schedule, body} = await compose(tx, config, notice)
  await keepBody(tx, {no, schedule, body: JSON.stringify(body)})
  const filter = {org, kind, schedule}
  for (const endpoint of await listEndpointsToNotify(tx, {...filter, isForPeople}))
    await insertDelivery(tx, {id: newId('dlv'), org, notice: no, endpoint})
  if (!config.SMTP_URL || !isForPeople) return
  const people = [
    ...(await listPeopleToNotify(tx, filter)),
    ...(kind === 'webhook.disabled' ? await listAdmins(tx, {org, limit: mostAdmins}) : []),
  ]
  for (const person of new Set(people)) await insertDelivery(tx, {id: newId('dlv'), org, notice: no, person})
}
