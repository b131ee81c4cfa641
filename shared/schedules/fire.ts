import type {Tx} from '../../sql/database.ts'
import {type Firing, findUnderWay, insertFiring} from '../../sql/firings.ts'
import {lockSchedule} from '../../sql/schedules.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {fireSchedule} from '../jobs.ts'
import {findVisible} from '../mapping/templates/find.ts'
import {enqueue, type Queue} from '../queue.ts'
import {noSchedule, type ScheduleCaller} from './schedule.ts'

type FireInput = ScheduleCaller & {template: string; id: string; again: boolean}

/** Fires a schedule immediately, enabled or not, as its creator. `again`: runs the file even if it equals that of the last run. */
export const fireNow = async (tx: Tx, queue: Queue, input: FireInput): Promise<{firing: Firing; job: string | null}> => {
  const {org, person, template, id, again} = input
  await findVisible(tx, {...input, id: template})
  const schedule = (await lockSchedule(tx, {org, template, id})) ?? noSchedule()
  const underWay = await findUnderWay(tx, id)
  if (underWay) {
    const says = 'This schedule is already running. Wait for it, or cancel its run'
    throw new Refusal('IMPORT_RUNNING', says, {firing: underWay.id, runId: underWay.runId})
  }
  const firing = await insertFiring(tx, {id: newId('fir'), org, schedule: schedule.id, dueAt: null, by: 'person', person, again})
  return {firing: firing!, job: await enqueue(queue, fireSchedule, {org, firing: firing!.id}, {tx})}
}
