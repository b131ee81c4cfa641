import {once} from 'node:events'
import {setTimeout as pause} from 'node:timers/promises'
import {mailInvitation} from '../shared/jobs.ts'
import {openMailer} from '../shared/notifications/mail.ts'
import {openOutbound} from '../shared/schedules/outbound/outbound.ts'
import {deleteOldNotices} from '../sql/notices.ts'
import type {WorkerDeps} from './deps.ts'
import {openDeliverySlots} from './notices/delivery-slots.ts'
import {expandAll} from './notices/expand.ts'
import {mailInvitation as mailInvitationOf} from './notices/invitation-mail.ts'
import * as mail from './notices/mail.ts'
import * as post from './notices/webhooks.ts'
import {periodicTask} from './periodic.ts'
import {type Worker, worker} from './worker.ts'

const lookMs = 500
/** The limit on concurrent posts of a process. Mails have a separate limit. */
const posts = 16
const mails = 2
const keptDays = 30
const noticesPerDelete = 1_000
const upkeepMs = 600_000

/**
 * Delivers notices: finds the recipients, posts and mails what is due, and deletes old notices. The database says what is due, so any
 * number of processes may poll. Invitations are mailed by a job. On shutdown, waits up to DRAIN_SECONDS for deliveries in progress.
 */
const notices: Worker = {
  name: 'notices',
  async start(queue, tools) {
    // Counted from the drain, because the process first waits for the jobs of its queue, for as long.
    const overdue = once(tools.drain, 'abort').then(() => pause(tools.config.DRAIN_SECONDS * 1000, undefined, {ref: false}))
    const outbound = openOutbound(tools.config)
    const mailer = openMailer(tools.config)
    const posting = openDeliverySlots(tools, {
      most: posts,
      claim: () => post.claimNext(tools),
      work: claimed => post.postClaimed(tools, outbound, claimed),
    })
    const mailing =
      mailer &&
      openDeliverySlots(tools, {most: mails, claim: () => mail.claimNext(tools), work: claimed => mail.mailClaimed(tools, mailer, claimed)})
    const steps = [expandAll, async () => posting.look(), async () => mailing?.look(), sweepAtTimes()]
    if (mailer) {
      const invitations = worker(mailInvitation, {concurrency: 1}, async ({org, invitation}, work) => ({
        mailed: await mailInvitationOf(work, mailer, {org, id: invitation}),
      }))
      await invitations.start(queue, tools)
    }
    await periodicTask({name: 'notices', everyMs: () => lookMs, steps}).start(queue, tools)
    return async () => {
      await Promise.race([Promise.all([posting.ended(), mailing?.ended()]), overdue])
      await outbound.close()
      mailer?.close()
    }
  },
}
export default notices

const sweepAtTimes = () => {
  let sweptAt = Number.NEGATIVE_INFINITY
  return async ({db, drain}: WorkerDeps) => {
    if (performance.now() - sweptAt <= upkeepMs) return
    while ((await deleteOldNotices(db, {days: keptDays, limit: noticesPerDelete})) === noticesPerDelete) drain.throwIfAborted()
    sweptAt = performance.now()
  }
}
