import type {Tx} from '../../sql/database.ts'
import {type Firing, findUnderWay, insertFiring} from '../../sql/firings.ts'
import {lockSchedule} from '../../sql/schedules.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {fireSchedule} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {findVisible} from '../templates/find.ts'
import {type Asker, noSchedule} from './schedule.ts'

type Asked = Asker & {template: string; id: string; again: boolean}

/** Fires a schedule out of turn, on or off, as its creator. `again`: even if the file is the one it ran last. */
export const fireNow = async (tx: Tx, queue: Queue, asked: Asked): Promise<{firing: Firing; job: string | null}> => {
  const {org, person, template, id, again} = asked
  await findVisible(tx, {...asked, id: template})
  const schedule = (await lockSchedule(tx, {org, template, id})) ?? noSchedule()
  const underWay = await findUnderWay(tx, id)
  if (underWay) {
    const says = 'This schedule is at work already: wait for it, or cancel its run'
    throw new Refusal('IMPORT_RUNNING', says, {firing: underWay.id, runId: underWay.runId})
  }
  const firing = await insertFiring(tx, {id: newId('fir'), org, schedule: schedule.id, dueAt: null, by: 'person', person, again})
  return {firing: firing!, job: await enqueue(queue, fireSchedule, {org, firing: firing!.id}, {tx})}
}
