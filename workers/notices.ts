import {setTimeout as pause} from 'node:timers/promises'
import {openMailer} from '../shared/notices/mail.ts'
import {openOutbound} from '../shared/outbound/outbound.ts'
import {deleteOldNotices} from '../sql/notices.ts'
import {expandAll} from './notices/expand.ts'
import {openLanes} from './notices/lanes.ts'
import * as mail from './notices/mail.ts'
import * as post from './notices/post.ts'
import {rounds} from './rounds.ts'
import type {Tools} from './tools.ts'
import type {Worker} from './worker.ts'

const lookMs = 500
/** Posted at once by a process, and mailed. */
const posts = 16
const mails = 2
const keptDays = 30
const noticesPerDelete = 1_000
const upkeepMs = 600_000

/**
 * Tells what was announced: finds out who is to be told, posts and mails what is due, and forgets what is old. No job: what is due says so by
 * itself, and any number of processes may look. What is under way when the process is asked to stop is ended first.
 */
const notices: Worker = {
  name: 'notices',
  async start(queue, tools) {
    const outbound = openOutbound(tools.config)
    const mailer = openMailer(tools.config)
    const posting = openLanes(tools, {
      most: posts,
      claim: () => post.claimNext(tools),
      work: claimed => post.postClaimed(tools, outbound, claimed),
    })
    const mailing =
      mailer &&
      openLanes(tools, {most: mails, claim: () => mail.claimNext(tools), work: claimed => mail.mailClaimed(tools, mailer, claimed)})
    const steps = [expandAll, async () => posting.look(), async () => mailing?.look(), sweepAtTimes()]
    await rounds({name: 'notices', everyMs: () => lookMs, steps}).start(queue, tools)
    return async () => {
      await Promise.race([
        Promise.all([posting.ended(), mailing?.ended()]),
        pause(tools.config.DRAIN_SECONDS * 1000, undefined, {ref: false}),
      ])
      await outbound.close()
      mailer?.close()
    }
  },
}
export default notices

const sweepAtTimes = () => {
  let sweptAt = Number.NEGATIVE_INFINITY
  return async ({db, drain}: Tools) => {
    if (performance.now() - sweptAt <= upkeepMs) return
    while ((await deleteOldNotices(db, {days: keptDays, limit: noticesPerDelete})) === noticesPerDelete) drain.throwIfAborted()
    sweptAt = performance.now()
  }
}
