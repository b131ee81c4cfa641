import type {About} from './announce.ts'
import type {Body} from './compose.ts'

/** Returns what happened and, for some types, what to do, without the last full stop. */
export const sentenceOf = ({type, data}: Body): string => {
  if (type === 'run.ended' || type === 'run.undone') return runSentenceOf(type, data)
  // A held run without counts was deleted before its notice was composed.
  if (type === 'run.held' && !data.counts) return 'An import was held, because too many of its rows ended badly, and was later deleted'
  if (type === 'usage.rows') return `${data.percent} % of the rows of this period are used`
  if (type === 'usage.credits') return `${data.percent} % of the AI credits included in this period are used`
  if (type === 'billing.payment_failed' && data.of === 'credit_pack') return 'A payment for AI credits failed. Buy the pack again'
  return SENTENCES[type] ?? `Notification: ${type}`
}

const runSentenceOf = (type: 'run.ended' | 'run.undone', data: About) => {
  const isUndo = type === 'run.undone'
  const started = data.dryRun ? 'A dry run' : 'An import'
  const subject = isUndo ? 'The undo of a run' : started
  // The counts are missing if the run was deleted before its notice was composed.
  if (!data.counts) return `${subject} has ended and was later deleted`
  if (!isUndo) return `${subject} ${endOf(data)}: ${inWords(namedCounts(totalsOf(data), data))}`
  const {restored = 0, deleted = 0} = (data.undo ?? {}) as Record<string, number>
  const {skipped: kept = 0} = totalsOf(data)
  return `${subject} ${data.stop ? (stops[String(data.stop)] ?? 'was stopped') : 'has ended'}: ${inWords({restored, deleted, kept})}`
}

const SENTENCES: Record<string, string> = {
  'webhook.test': 'This is a test of a webhook endpoint',
  'run.held': 'An import is held, because too many of its rows ended badly. Resume or cancel it',
  'plan.waiting': 'The sealed plan of an import waits for the approval of another admin',
  'plan.approved': 'The sealed plan of an import was approved and can be applied',
  'template.approved': 'A version of a template was approved for schedules',
  'schedule.stopped': 'A schedule was stopped and does not fire until it is enabled again',
  'schedule.skipped': 'A firing of a schedule was skipped',
  'schedule.failed': 'A firing of a schedule failed',
  'schedule.drifted': 'The file or the CRM no longer matches the template of a schedule',
  'template.broken': 'The CRM has changed, and rows of the newest import of a template no longer fit',
  'webhook.disabled': 'A webhook endpoint was disabled and receives nothing until it is enabled again',
  'billing.payment_failed': 'A payment for the plan failed. Pay the invoice or change the card',
  'billing.action_required': 'The bank requires a confirmation of a payment for the plan',
  'billing.trial_ending': 'The trial ends soon',
  'billing.topup_stopped': 'Automatic top-ups of AI credits were disabled until they are enabled again',
  'billing.refunded': 'A payment was refunded',
  'billing.disputed': 'A payment is disputed at the bank',
  'billing.plan_changed': 'The plan of the org has changed',
}

type Counts = Record<string, Record<string, number>>

/** Returns in words how a run ended. A test compares the result with `api/clients/run-state.ts`. */
const endOf = (data: About): string => {
  const {failed = 0, refused = 0, unanswered = 0, ...others} = totalsOf(data)
  const attention = failed + refused + unanswered
  const {created = 0, updated = 0, inherited = 0, planned = 0} = others
  const done = created + updated + inherited + planned
  const isWritten = done > 0 || (!data.dryRun && Number(data.rowsWritten ?? 0) > 0)
  const questions = Number(data.questions ?? 0)
  if (data.stop && !(data.dryRun && data.stop === 'LIMIT_ROWS_PER_RUN')) return stops[String(data.stop)] ?? 'was stopped'
  if (questions > 0 && !data.dryRun) return `needs your answer to ${questions} ${questions === 1 ? 'question' : 'questions'}`
  if (questions > 0 && attention === 0) return `has ended with ${questions} ${questions === 1 ? 'question' : 'questions'}`
  if (attention === 0) return isWritten ? 'is complete' : 'has ended and wrote nothing'
  const settled = Number(data.unchanged ?? 0) + Number(data.keptRows ?? 0)
  if (done + settled + unanswered === 0) return 'failed'
  return `has ended, and ${attention} ${attention === 1 ? 'row needs' : 'rows need'} attention`
}

const stops: Record<string, string> = {CANCELLED: 'was cancelled', ENGINE_FAILED: 'failed'}

const totalsOf = ({counts}: About): Record<string, number> => {
  const total: Record<string, number> = {}
  for (const module of Object.values((counts ?? {}) as Counts))
    for (const [outcome, count] of Object.entries(module)) total[outcome] = (total[outcome] ?? 0) + count
  return total
}

/**
 * An undo counts restored and deleted rows as updates, so its updates are shown as undone. Another run that deletes records counts its deletes as
 * updates and writes nothing else, so its updates are shown as deleted.
 */
const namedCounts = ({updated = 0, ...others}: Record<string, number>, {deleted, undo}: About) => {
  if (undo) return {...others, undone: updated}
  return Number(deleted ?? 0) > 0 ? {...others, deleted: updated} : {...others, updated}
}

/** Lists the counts of each module, such as `Leads: 3 created`. */
export const countsOf = (data: About) =>
  Object.entries((data.counts ?? {}) as Counts).map(([module, of]) => `${module}: ${inWords(namedCounts(of, data))}`)

const inWords = (counts: Record<string, number>) => {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return some.length > 0 ? some.map(([outcome, count]) => `${count} ${outcome}`).join(', ') : 'no rows'
}

/** Lists the top-level texts and numbers of a notice except the org: ids, codes, times, amounts of money and our own sentences. */
export const detailsOf = ({org, currency, ...data}: About): [name: string, value: string][] =>
  Object.entries(data).flatMap(([name, value]) => {
    if (typeof value === 'number' && typeof currency === 'string' && AMOUNTS.has(name)) return [[name, inCurrency(value, currency)]]
    return typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : []
  })

const AMOUNTS = new Set(['amount', 'refunded'])

/**
 * The decimals of the payment provider's amounts (https://docs.stripe.com/currencies). `Intl` shows some currencies with fewer, such as HUF, ISK and
 * UGX. A test compares this list with the copy in `api/clients/widget/ui/format.ts`.
 */
const withoutDecimals = /^(?:bif|clp|djf|gnf|jpy|kmf|krw|mga|pyg|rwf|vnd|vuv|xaf|xof|xpf)$/i
const withThreeDecimals = /^(?:bhd|jod|kwd|omr|tnd)$/i

export const decimalsOf = (currency: string): number => {
  if (withoutDecimals.test(currency)) return 0
  return withThreeDecimals.test(currency) ? 3 : 2
}

/** Writes an amount for people. The amount is in the smallest unit of the currency: 4900 becomes `49.00 EUR`. */
const inCurrency = (amount: number, currency: string) => {
  const digits = decimalsOf(currency)
  return `${(amount / 10 ** digits).toFixed(digits)} ${currency.toUpperCase()}`
}

/**
 * Lists the pages of the widget that show what a notice is about. The links of a delivery are not for people, because the API requires a bearer. A
 * page shows the org in which the reader is signed in.
 */
export const pagesOf = ({type, data}: Body, publicUrl: string): [name: string, url: string][] => {
  const {import: importId, run, template, schedule, endpoint, dryRun, undo} = data
  const isPlan = type.startsWith('plan.') || (dryRun && !undo)
  const paths = {
    run: importId && run && `imports/${importId}/${isPlan ? 'review' : 'run'}?run=${run}`,
    import: importId && `imports/${importId}`,
    schedule: template && schedule && `templates/${template}/schedules/${schedule}`,
    template: template && `templates/${template}`,
    endpoint: endpoint && 'settings/notices',
    planPage: /^(billing|usage)\./.test(type) && 'settings/plan',
  }
  return Object.entries(paths).flatMap(([name, path]) => (path ? [[name, pageOf(publicUrl, path)]] : []))
}

export const pageOf = (publicUrl: string, path: string) => `${publicUrl.replace(/\/$/, '')}/#/${path}`

/** Writes the name of a value as words: `rowsWritten` is `Rows written`. */
export const wordsOf = (word: string) =>
  word.charAt(0).toUpperCase() + word.slice(1).replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
