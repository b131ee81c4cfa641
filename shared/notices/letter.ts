import type {About} from './announce.ts'
import type {Body} from './compose.ts'

type Told = {orgName: string; body: Body; publicUrl: string}

/** A notice as plain text: what happened, counts, where to look, how to be told no more. Ids and counts, as in what is posted. */
export const writeLetter = ({orgName, body, publicUrl}: Told): {subject: string; text: string} => {
  const {data, timestamp} = body
  const says = sentenceOf(body)
  const links = Object.entries((data.links ?? {}) as Record<string, string>)
  const parts = [
    `${says}.`,
    [`Org: ${orgName.replaceAll(/\s+/g, ' ')}`, `When: ${timestamp}`, ...detailsOf(data)].join('\n'),
    countsOf(data).join('\n'),
    links.map(([name, link]) => `${capital(name)}: ${link}`).join('\n'),
    `You are told because you are named in the notices of this org or of the schedule. To be told no more, ask an administrator of the org to take you off: ${publicUrl.replace(/\/$/, '')}/orgs/${data.org}/notices`,
  ]
  return {subject: says, text: `${parts.filter(Boolean).join('\n\n')}\n`}
}

const sentenceOf = ({type, data}: Body): string => {
  if (type === 'run.ended') {
    const what = data.dryRun ? 'A dry run' : 'An import'
    return `${what} ${data.state === 'stopped' ? 'was stopped' : 'has ended'}: ${totalOf(data)}`
  }
  if (type === 'usage.rows') return `${data.percent} % of the rows of this period are used`
  if (type === 'usage.credits') return `${data.percent} % of the AI credits included in this period are used`
  return SENTENCES[type] ?? `Notice: ${type}`
}

const SENTENCES: Record<string, string> = {
  'schedule.stopped': 'A schedule was stopped and fires no more until somebody switches it on',
  'schedule.skipped': 'A firing of a schedule was skipped',
  'schedule.failed': 'A firing of a schedule failed',
  'schedule.drifted': 'What a schedule reads or writes is no longer as its template has it',
  'webhook.disabled': 'A webhook endpoint was switched off and is told nothing more until somebody switches it on',
  'billing.payment_failed': 'A payment for the plan failed: pay it, or change the card',
  'billing.action_required': 'The bank wants a payment for the plan to be confirmed',
  'billing.trial_ending': 'The trial ends soon',
  'billing.topup_stopped': 'AI credits are not topped up any more until somebody enables it again',
  'billing.refunded': 'A payment was given back',
  'billing.disputed': 'A payment is disputed at the bank',
  'billing.plan_changed': 'The plan of the org has changed',
}

type Counts = Record<string, Record<string, number>>

const totalOf = ({counts}: About) => {
  const total: Record<string, number> = {}
  for (const module of Object.values((counts ?? {}) as Counts))
    for (const [outcome, count] of Object.entries(module)) total[outcome] = (total[outcome] ?? 0) + count
  return inWords(total)
}

const countsOf = ({counts}: About) => Object.entries((counts ?? {}) as Counts).map(([module, of]) => `${module}: ${inWords(of)}`)

const inWords = (counts: Record<string, number>) => {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return some.length > 0 ? some.map(([outcome, count]) => `${count} ${outcome}`).join(', ') : 'no rows'
}

/** What stands by itself: ids, codes and sentences of ours. */
const detailsOf = ({org, ...data}: About) =>
  Object.entries(data).flatMap(([name, value]) =>
    typeof value === 'string' || typeof value === 'number' ? [`${capital(name)}: ${value}`] : [],
  )

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1).replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
